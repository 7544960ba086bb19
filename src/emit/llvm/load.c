/* Loads.
 *
 * The index decides: the same for all, or for all lanes of a gang, is a scalar access; a stride of one a vector access at the index of the first lane; anything else
 * a gather. Where lanes are masked a vector access is tried with all of them first: masks are mostly full. */
#include "emit/llvm/address.h"

LLVMValueRef vy_llvm_plain_load(vy_emitter *e, LLVMTypeRef type, LLVMValueRef at, unsigned alignment) {
    LLVMValueRef load = LLVMBuildLoad2(e->builder, type, at, "");
    LLVMSetAlignment(load, alignment);
    return load;
}

static LLVMValueRef masked_load(vy_emitter *e, LLVMTypeRef type, LLVMValueRef at, LLVMValueRef mask,
                                unsigned alignment) {
    LLVMTypeRef types[2] = {type, vy_llvm_pointer(e)};
    LLVMValueRef args[4] = {at, vy_llvm_number(e, 32, alignment), mask, LLVMConstNull(type)};
    return vy_llvm_intrinsic(e, "llvm.masked.load", types, 2, args, 4);
}

/* What `condition` (i1) chooses; a load, or zeros. */
static LLVMValueRef scalar_load_if(vy_emitter *e, LLVMTypeRef type, uint32_t memory, LLVMValueRef index,
                                   LLVMValueRef condition) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), yes = vy_llvm_block(e, "load"),
                      end = vy_llvm_block(e, "loaded");
    LLVMBuildCondBr(e->builder, condition, yes, end);
    vy_llvm_position_at(e, yes);
    LLVMValueRef loaded = vy_llvm_plain_load(e, type, vy_llvm_address(e, memory, index), vy_llvm_alignment(e, memory));
    vy_llvm_branch_to(e, end);
    vy_llvm_position_at(e, end);
    LLVMValueRef phi = LLVMBuildPhi(e->builder, type, "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){LLVMConstNull(type), loaded}, (LLVMBasicBlockRef[]){before, yes}, 2);
    return phi;
}

static LLVMTypeRef row_type(const vy_emitter *e, LLVMTypeRef type) {
    return LLVMVectorType(type, e->row);
}

static LLVMValueRef load_rows(vy_emitter *e, LLVMTypeRef type, const LLVMValueRef *at, LLVMValueRef mask,
                              unsigned alignment) {
    LLVMValueRef rows[VY_LLVM_ROWS];
    for (uint32_t k = 0; k < e->row_count; k++)
        rows[k] = mask ? masked_load(e, row_type(e, type), at[k], vy_llvm_row_lanes(e, mask, k), alignment)
                       : vy_llvm_plain_load(e, row_type(e, type), at[k], alignment);
    return vy_llvm_join(e, rows);
}

/* `all` tells whether the mask is full, if somebody knows a shorter way to find out. Addresses are computed where they are used: without a mask they are parts of
 * instructions. */
static LLVMValueRef contiguous_load(vy_emitter *e, uint32_t memory, const LLVMValueRef *first, LLVMValueRef mask,
                                    LLVMValueRef all) {
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)e->program->memories.items[memory].type);
    unsigned alignment = vy_llvm_alignment(e, memory);
    LLVMValueRef at[VY_LLVM_ROWS];
    vy_llvm_branches b = {0};
    if (mask && e->is_part) {
        vy_llvm_row_addresses(e, memory, first, mask, at);
        return load_rows(e, type, at, mask, alignment);
    }
    if (mask) {
        b = vy_llvm_branch(e, all ? all : vy_llvm_all(e, mask));
        vy_llvm_position_at(e, b.yes);
    }
    vy_llvm_row_addresses(e, memory, first, NULL, at);
    LLVMValueRef whole = load_rows(e, type, at, NULL, alignment);
    if (!mask)
        return whole;
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    vy_llvm_row_addresses(e, memory, first, mask, at);
    LLVMValueRef part = load_rows(e, type, at, mask, alignment);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.end);
    LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(whole), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){whole, part}, (LLVMBasicBlockRef[]){b.yes, b.no}, 2);
    return phi;
}

/* A vector of an array of the workgroup that starts at a multiple of the lanes; zeros outside. NULL: it is partly outside. */
static LLVMValueRef aligned_lanes(vy_emitter *e, uint32_t memory, int64_t first) {
    const vy_memory *m = &e->program->memories.items[memory];
    LLVMTypeRef lanes = vy_llvm_lanes(e, vy_llvm_type(e, (vyre_type)m->type));
    if (first < 0 || first >= m->elements)
        return LLVMConstNull(lanes);
    if (first + e->width > m->elements)
        return NULL;
    uint64_t at = (uint64_t)first * vy_llvm_size((vyre_type)m->type);
    return vy_llvm_plain_load(e, lanes, vy_llvm_offset_pointer(e, vy_llvm_base(e, memory), vy_llvm_number(e, 64, at)),
                              vy_llvm_alignment(e, memory));
}

/* Lanes of such an array from a place that is known: pieces of what gangs stored there, so that LLVM sees the values and not the memory. NULL: another way. */
static LLVMValueRef known_load(vy_emitter *e, uint32_t memory, uint32_t index, LLVMValueRef mask) {
    if (e->program->memories.items[memory].space != VY_SPACE_WORKGROUP || e->row != e->width)
        return NULL;
    LLVMValueRef start = vy_llvm_row_base(e, index, 0), places[VY_LLVM_LANES];
    if (!LLVMIsAConstantInt(start))
        return NULL;
    int64_t first = LLVMConstIntGetSExtValue(start), ahead = first & (e->width - 1);
    LLVMValueRef low = aligned_lanes(e, memory, first - ahead), high = low;
    if (ahead)
        high = aligned_lanes(e, memory, first - ahead + e->width);
    if (!low || !high)
        return NULL;
    for (uint32_t i = 0; i < e->width; i++)
        places[i] = vy_llvm_number(e, 32, (uint64_t)ahead + i);
    LLVMValueRef value =
        ahead ? LLVMBuildShuffleVector(e->builder, low, high, LLVMConstVector(places, e->width), "") : low;
    return mask ? LLVMBuildSelect(e->builder, mask, value, LLVMConstNull(LLVMTypeOf(value)), "") : value;
}

static LLVMValueRef gather(vy_emitter *e, LLVMTypeRef lanes, LLVMValueRef at, LLVMValueRef mask, unsigned alignment) {
    LLVMTypeRef types[2] = {lanes, LLVMTypeOf(at)};
    LLVMValueRef all = LLVMConstAllOnes(vy_llvm_lanes(e, vy_llvm_int(e, 1)));
    LLVMValueRef args[4] = {at, vy_llvm_number(e, 32, alignment), mask ? mask : all, LLVMConstNull(lanes)};
    return vy_llvm_intrinsic(e, "llvm.masked.gather", types, 2, args, 4);
}

/* Elements of one or two bytes, as parts of the aligned words they lie in: no page ends in such a word, so that what is loaded beside an element is there. */
static LLVMValueRef gather_parts(vy_emitter *e, LLVMTypeRef lanes, uint32_t memory, LLVMValueRef index,
                                 LLVMValueRef mask) {
    LLVMBuilderRef b = e->builder;
    unsigned size = vy_llvm_alignment(e, memory), log = size == 1 ? 2 : 1;
    LLVMTypeRef i32 = vy_llvm_int(e, 32), i64 = vy_llvm_int(e, 64), words = vy_llvm_lanes(e, i32);
    LLVMTypeRef types[2] = {vy_llvm_pointer(e), i64};
    LLVMValueRef base = vy_llvm_base(e, memory), args[2] = {base, vy_llvm_number(e, 64, ~UINT64_C(3))};
    LLVMValueRef aligned = vy_llvm_intrinsic(e, "llvm.ptrmask", types, 2, args, 2);
    LLVMValueRef behind = LLVMBuildTrunc(b, LLVMBuildPtrToInt(b, base, i64, ""), i32, "");
    behind =
        LLVMBuildLShr(b, LLVMBuildAnd(b, behind, vy_llvm_number(e, 32, 3), ""), vy_llvm_number(e, 32, 2 - log), "");
    LLVMValueRef last = vy_llvm_splat(e, vy_llvm_number(e, 32, (1u << log) - 1)),
                 by = vy_llvm_splat(e, vy_llvm_number(e, 32, log));
    /* The index may be the last of all u32: its upper and lower bits are added apart. */
    LLVMValueRef low = LLVMBuildAdd(b, LLVMBuildAnd(b, index, last, ""), vy_llvm_splat(e, behind), "");
    LLVMValueRef word = LLVMBuildAdd(b, LLVMBuildLShr(b, index, by, ""), LLVMBuildLShr(b, low, by, ""), "");
    LLVMValueRef shift =
        LLVMBuildMul(b, LLVMBuildAnd(b, low, last, ""), vy_llvm_splat(e, vy_llvm_number(e, 32, 8 * size)), "");
    LLVMValueRef loaded = gather(e, words, vy_llvm_lane_addresses(e, aligned, word, 4, 0), mask, 4);
    return LLVMBuildTrunc(b, LLVMBuildLShr(b, loaded, shift, ""), lanes, "");
}

/* One element of a private array, of which each lane has its own. If all have the same there, any lane that executes knows it. */
static LLVMValueRef own_element(vy_emitter *e, uint32_t expr, LLVMValueRef index, LLVMValueRef condition) {
    const vy_expr *x = &e->program->exprs.items[expr];
    LLVMTypeRef lanes = vy_llvm_lanes(e, vy_llvm_type(e, (vyre_type)x->type));
    if (condition) /* any element will do where it is not loaded */
        index = LLVMBuildSelect(e->builder, condition, index, vy_llvm_number(e, 32, 0), "");
    LLVMValueRef value = vy_llvm_plain_load(e, lanes, vy_llvm_address(e, x->a, index), vy_llvm_alignment(e, x->a));
    if (condition)
        value = LLVMBuildSelect(e->builder, condition, value, LLVMConstNull(lanes), "");
    if (vy_expr_uniformity(e->uniform, expr) == VY_UNIFORMITY_DIVERGENT)
        return value;
    return LLVMBuildExtractElement(e->builder, value, vy_llvm_first(e, e->mask), "");
}

/* All lanes of a row load one element, or none does. */
static int is_one_load(const vy_emitter *e, const vy_expr *x) {
    uint64_t stride;
    return vy_llvm_shape_of(e, x->b) == VY_LLVM_SAME_IN_ROW && !vy_llvm_is_private(e, x->a) &&
           (x->c == VY_NONE || (vy_stride_of(e->uniform, x->c, &stride) && !stride));
}

/* Rows of which no lane executes do not load. */
LLVMValueRef vy_llvm_load_row(vy_emitter *e, uint32_t expr, uint32_t k) {
    const vy_expr *x = &e->program->exprs.items[expr];
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)x->type);
    if (vy_llvm_is_private(e, x->a))
        return vy_llvm_row_of_lanes(e, expr, vy_llvm_load(e, expr), k);
    LLVMValueRef index = vy_llvm_row_base(e, x->b, k),
                 condition = x->c == VY_NONE ? NULL : vy_llvm_row_base(e, x->c, k);
    condition = vy_llvm_both(e, condition, vy_llvm_row_executes(e, k));
    return condition ? scalar_load_if(e, type, x->a, index, condition)
                     : vy_llvm_plain_load(e, type, vy_llvm_address(e, x->a, index), vy_llvm_alignment(e, x->a));
}

static LLVMValueRef load_by_rows(vy_emitter *e, uint32_t expr) {
    LLVMValueRef rows[VY_LLVM_ROWS];
    for (uint32_t k = 0; k < e->row_count; k++)
        rows[k] = vy_llvm_load_row(e, expr, k);
    return vy_llvm_lanes_of(e, rows, 0);
}

/* From anywhere. */
static LLVMValueRef scattered_load(vy_emitter *e, LLVMTypeRef lanes, uint32_t memory, LLVMValueRef index,
                                   LLVMValueRef mask) {
    if (e->gathers && vy_llvm_alignment(e, memory) < 4 && !vy_llvm_is_private(e, memory))
        return gather_parts(e, lanes, memory, index, mask);
    return gather(e, lanes, vy_llvm_address(e, memory, index), mask, vy_llvm_alignment(e, memory));
}

/* From places that may lie side by side. */
static LLVMValueRef run_load(vy_emitter *e, LLVMTypeRef lanes, uint32_t memory, LLVMValueRef index, LLVMValueRef mask) {
    vy_llvm_branches b = vy_llvm_branch(e, vy_llvm_is_contiguous_dyn(e, index, mask));
    vy_llvm_position_at(e, b.yes);
    LLVMValueRef run = vy_llvm_load_contiguous_dyn(e, memory, index, mask);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    LLVMValueRef scattered = scattered_load(e, lanes, memory, index, mask);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.end);
    LLVMValueRef phi = LLVMBuildPhi(e->builder, lanes, "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){run, scattered}, (LLVMBasicBlockRef[]){b.yes, b.no}, 2);
    return phi;
}

/* From places of which nothing is known. */
static LLVMValueRef anywhere_load(vy_emitter *e, const vy_expr *x, LLVMValueRef mask) {
    LLVMTypeRef lanes = vy_llvm_lanes(e, vy_llvm_type(e, (vyre_type)x->type));
    LLVMValueRef index = vy_llvm_expr(e, x->b);
    if (vy_llvm_is_lanes(index) && !vy_llvm_has_stride(e, x->b) && vy_llvm_may_be_contiguous(e, x->a, x->b))
        return run_load(e, lanes, x->a, index, mask);
    return scattered_load(e, lanes, x->a, vy_llvm_splat(e, index), mask);
}

/* Indices that turn out to follow each other, or to be the same, in lanes of which all load; else the lanes go their ways. */
static LLVMValueRef lucky_load(vy_emitter *e, const vy_expr *x, LLVMValueRef mask, LLVMValueRef all, uint64_t stride) {
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)x->type);
    unsigned alignment = vy_llvm_alignment(e, x->a);
    if (e->is_part)
        return scattered_load(e, vy_llvm_lanes(e, type), x->a, vy_llvm_expr_lanes(e, x->b), mask);
    LLVMValueRef at[VY_LLVM_ROWS], stride_guard = !mask ? NULL : all ? all : vy_llvm_all(e, mask), lucky;
    for (uint32_t k = 0; k < e->row_count; k++)
        at[k] = vy_llvm_address(e, x->a, vy_llvm_guarded_row_base(e, x->b, k, &stride_guard));
    vy_llvm_branches b = vy_llvm_branch(e, stride_guard);
    vy_llvm_position_at(e, b.yes);
    if (stride) {
        lucky = load_rows(e, type, at, NULL, alignment);
    } else {
        for (uint32_t k = 0; k < e->row_count; k++)
            at[k] = vy_llvm_plain_load(e, type, at[k], alignment);
        lucky = vy_llvm_lanes_of(e, at, 0);
    }
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    /* Nothing else is asked: what lanes are computed of is only needed here then, and only computed here. */
    LLVMValueRef other = scattered_load(e, LLVMTypeOf(lucky), x->a, vy_llvm_expr_lanes(e, x->b), mask);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.end);
    LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(lucky), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){lucky, other}, (LLVMBasicBlockRef[]){b.yes, from}, 2);
    return phi;
}

/* Whether rows lie in an array of the workgroup, all of their lanes: then those that do not execute may load, too. */
static int are_inside(const vy_emitter *e, uint32_t memory, const LLVMValueRef *first) {
    const vy_memory *m = &e->program->memories.items[memory];
    int inside = m->space == VY_SPACE_WORKGROUP;
    for (uint32_t k = 0; inside && k < e->row_count; k++)
        inside = LLVMIsAConstantInt(first[k]) && LLVMConstIntGetZExtValue(first[k]) + e->row <= m->elements;
    return inside;
}

/* Every lane its own element, where `condition` (lanes or one for all; NULL: everywhere) holds and the lane executes; zeros elsewhere. `all` tells whether the
 * condition holds in all lanes, if it is known. */
static LLVMValueRef load_lanes(vy_emitter *e, const vy_expr *x, LLVMValueRef condition, LLVMValueRef all) {
    LLVMValueRef mask = condition ? vy_llvm_both(e, e->mask, vy_llvm_splat(e, condition)) : e->mask;
    uint64_t stride;
    vy_lane_affine k;
    all = e->mask ? NULL : all;
    if (vy_llvm_is_private(e, x->a))
        return anywhere_load(e, x, mask);
    if (vy_llvm_shape_of(e, x->b) == VY_LLVM_CONTIGUOUS) {
        LLVMValueRef first[VY_LLVM_ROWS], known = known_load(e, x->a, x->b, mask);
        if (known)
            return known;
        vy_llvm_first_indices(e, x->b, first);
        return contiguous_load(e, x->a, first, !condition && are_inside(e, x->a, first) ? NULL : mask, all);
    }
    if (vy_llvm_has_pieces(e, x->a, x->b, mask, &k))
        return vy_llvm_load_pieces(e, x->a, &k, mask);
    if (!vy_stride_of(e->uniform, x->b, &stride) && vy_llvm_guarded_stride(e, x->b, &stride) && stride <= 1)
        return lucky_load(e, x, mask, all, stride);
    return anywhere_load(e, x, mask);
}

LLVMValueRef vy_llvm_load(vy_emitter *e, uint32_t expr) {
    const vy_expr *x = &e->program->exprs.items[expr];
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)x->type);
    if (x->op != VY_BOUNDS_UNCHECKED) {
        vy_llvm_refuse(e, "a guarded load");
        return LLVMGetPoison(type);
    }
    LLVMValueRef condition = x->c == VY_NONE ? NULL : vy_llvm_expr(e, x->c);
    if (vy_llvm_shape_of(e, x->b) == VY_LLVM_SCALAR && (!condition || !vy_llvm_is_lanes(condition))) {
        LLVMValueRef index = vy_llvm_expr(e, x->b);
        if (vy_llvm_is_private(e, x->a))
            return own_element(e, expr, index, condition);
        return condition ? scalar_load_if(e, type, x->a, index, condition)
                         : vy_llvm_plain_load(e, type, vy_llvm_address(e, x->a, index), vy_llvm_alignment(e, x->a));
    }
    if (is_one_load(e, x))
        return load_by_rows(e, expr);
    return load_lanes(e, x, condition, condition ? vy_llvm_all_true(e, x->c) : NULL);
}

/* Where a load gives zeros, so does a choice between it and zero: one condition more. */
LLVMValueRef vy_llvm_load_or_zero(vy_emitter *e, const vy_expr *select) {
    const vy_expr *x = &e->program->exprs.items[select->b], *other = &e->program->exprs.items[select->c];
    if (x->kind != VY_EXPR_LOAD || x->op != VY_BOUNDS_UNCHECKED || other->kind != VY_EXPR_LITERAL || other->bits ||
        vy_expr_uniformity(e->uniform, select->a) != VY_UNIFORMITY_DIVERGENT || is_one_load(e, x) ||
        vy_llvm_shape_of(e, x->b) == VY_LLVM_SCALAR || vy_llvm_is_private(e, x->a))
        return NULL;
    LLVMValueRef condition = vy_llvm_expr_lanes(e, select->a), all = vy_llvm_all_true(e, select->a);
    if (x->c != VY_NONE) {
        LLVMValueRef also = all ? vy_llvm_all_true(e, x->c) : NULL;
        condition = vy_llvm_both(e, condition, vy_llvm_expr_lanes(e, x->c));
        all = also ? LLVMBuildAnd(e->builder, all, also, "") : NULL;
    }
    return load_lanes(e, x, condition, all);
}

LLVMValueRef vy_llvm_gather_words(vy_emitter *e, LLVMValueRef at) {
    return gather(e, vy_llvm_lanes(e, vy_llvm_int(e, 32)), at, e->mask, 1);
}

LLVMValueRef vy_llvm_load_contiguous(vy_emitter *e, uint32_t memory, uint32_t index) {
    LLVMValueRef first = vy_llvm_row_base(e, index, 0);
    return contiguous_load(e, memory, &first, e->mask, NULL);
}
