/* Loads and stores: addresses, and accesses as scalars, contiguous vectors, gathers and scatters. Invariant: an
 * inactive lane accesses no memory. */
#include "emit/llvm/emitter.h"

#include <stdio.h>

/* Access pattern of the lanes, determined by the index. */
typedef enum shape { SCALAR, SAME_IN_ROW, CONTIGUOUS, SCATTERED } shape;

/* The blocks of a two-way branch; the caller fills `yes` first. */
typedef struct branches {
    LLVMBasicBlockRef yes, no, end;
} branches;

/* ---- addresses ---- */

static shape shape_of(const vy_emitter *e, uint32_t index) {
    uint64_t stride;
    if (vy_expr_uniformity(e->uniform, index) != VY_UNIFORMITY_DIVERGENT)
        return SCALAR;
    if (!e->row || !vy_stride_of(e->uniform, index, &stride) || (uint32_t)stride > 1)
        return SCATTERED;
    return stride ? CONTIGUOUS : SAME_IN_ROW;
}

static int is_private(const vy_emitter *e, uint32_t memory) {
    return vy_memory_at(e->program, memory)->space == VY_SPACE_PRIVATE;
}

/* A constant array is a private global, so that LLVM can fold loads from it; equal contents share one global.
 * Alignment beyond a cache line has no benefit. */
static LLVMValueRef constant_global(vy_emitter *e, const vy_memory *m) {
    const vy_table *table = &e->program->tables.items[m->table];
    char name[32];
    snprintf(name, sizeof name, "table.%u", m->table);
    LLVMValueRef global = LLVMGetNamedGlobal(e->module, name);
    if (global)
        return global;
    const char *bytes = (const char *)e->program->table_bytes.items + table->offset;
    LLVMValueRef contents = LLVMConstStringInContext(e->context, bytes, table->size, 1);
    global = LLVMAddGlobal(e->module, LLVMTypeOf(contents), name);
    LLVMSetInitializer(global, contents);
    LLVMSetGlobalConstant(global, 1);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 64);
    return global;
}

LLVMValueRef vy_llvm_base(vy_emitter *e, uint32_t memory) {
    const vy_memory *m = vy_memory_at(e->program, memory);
    if (m->space == VY_SPACE_CONSTANT)
        return constant_global(e, m);
    if (m->space == VY_SPACE_BUFFER)
        return e->data[memory - e->body->first_memory];
    LLVMValueRef offset = vy_llvm_number(e, 64, e->array_offsets[memory]);
    if (m->space == VY_SPACE_WORKGROUP)
        return vy_llvm_offset_pointer(e, e->workgroup, offset);
    if (!e->has_sync)
        return vy_llvm_offset_pointer(e, e->spill, offset);
    /* A private array has storage per gang, because it may be live across barriers. */
    uint64_t bytes = (uint64_t)m->elements * e->width * vy_llvm_size((vyre_type)m->type);
    /* Between regions the array is uniform, so any gang's copy has the value. */
    LLVMValueRef gang = e->gang ? LLVMBuildZExt(e->builder, e->gang, vy_llvm_int(e, 64), "") : vy_llvm_number(e, 64, 0);
    LLVMValueRef at = LLVMBuildMul(e->builder, gang, vy_llvm_number(e, 64, bytes), "");
    return vy_llvm_offset_pointer(e, e->spill, LLVMBuildAdd(e->builder, at, offset, ""));
}

static LLVMValueRef wide(vy_emitter *e, LLVMValueRef index) {
    return LLVMBuildZExt(e->builder, index, vy_llvm_int(e, 64), "");
}

static LLVMValueRef scaled(vy_emitter *e, LLVMValueRef index, uint64_t by) {
    return by == 1 ? index : LLVMBuildMul(e->builder, index, vy_llvm_number(e, 64, by), "");
}

/* Addresses of lanes relative to a base, for elements of `size` bytes. Gather instructions sign-extend 32-bit
 * indices, so the base is moved to the middle of the index range. An array in the frame is too short to need that. */
static LLVMValueRef lane_addresses(vy_emitter *e, LLVMValueRef base, LLVMValueRef index, uint64_t size,
                                   int may_be_long) {
    LLVMTypeRef element = vy_llvm_int(e, (unsigned)size * 8), i64 = vy_llvm_int(e, 64);
    if (may_be_long) {
        base = vy_llvm_offset_pointer(e, base, vy_llvm_number(e, 64, size << 31));
        index = LLVMBuildXor(e->builder, index, vy_llvm_splat(e, vy_llvm_number(e, 32, UINT32_C(1) << 31)), "");
    }
    index = LLVMBuildSExt(e->builder, index, vy_llvm_lanes(e, i64), "");
    return LLVMBuildGEP2(e->builder, element, base, &index, 1, "");
}

/* In a private array the lanes of an element are adjacent. */
LLVMValueRef vy_llvm_address(vy_emitter *e, uint32_t memory, LLVMValueRef index) {
    uint64_t size = vy_llvm_element_size(e, memory);
    int is_own = is_private(e, memory);
    if (!vy_llvm_is_lanes(index)) { /* a GEP of elements, since addressing modes scale the index */
        index = scaled(e, wide(e, index), is_own ? e->width : 1);
        return LLVMBuildGEP2(e->builder, vy_llvm_int(e, (unsigned)size * 8), vy_llvm_base(e, memory), &index, 1, "");
    }
    if (is_own) {
        LLVMValueRef row = LLVMBuildMul(e->builder, index, vy_llvm_splat(e, vy_llvm_number(e, 32, e->width)), "");
        index = LLVMBuildAdd(e->builder, row, vy_llvm_iota(e, 32), "");
    }
    return lane_addresses(e, vy_llvm_base(e, memory), index, size,
                          vy_memory_at(e->program, memory)->space == VY_SPACE_BUFFER);
}

/* The address of the element of a row's first lane. That lane may be inactive with an index below zero, so an index
 * close to 2^32 counts as negative; no buffer is that long. */
static LLVMValueRef row_address(vy_emitter *e, uint32_t memory, LLVMValueRef first, int is_masked) {
    uint64_t size = vy_llvm_element_size(e, memory);
    if (is_masked) {
        first = wide(e, LLVMBuildAdd(e->builder, first, vy_llvm_number(e, 32, e->row), ""));
        first = LLVMBuildSub(e->builder, first, vy_llvm_number(e, 64, e->row), "");
    } else {
        first = wide(e, first);
    }
    return vy_llvm_offset_pointer(e, vy_llvm_base(e, memory), scaled(e, first, size));
}

/* The indices of the first lanes of all rows, and their addresses. With a mask, the first lane may be inactive. */
static void first_indices(vy_emitter *e, uint32_t expr, LLVMValueRef *first) {
    for (uint32_t k = 0; k < e->row_count; k++)
        first[k] = vy_llvm_row_base(e, expr, k);
}

static void row_addresses(vy_emitter *e, uint32_t memory, const LLVMValueRef *first, LLVMValueRef mask,
                          LLVMValueRef *at) {
    for (uint32_t k = 0; k < e->row_count; k++)
        at[k] = row_address(e, memory, first[k], mask != NULL);
}

/* Whether the lanes have a known stride, so that no run-time check is needed. */
static int has_stride(const vy_emitter *e, uint32_t index) {
    uint64_t stride;
    return e->row && vy_stride_of(e->uniform, index, &stride);
}

/* Lanes of different rows could access the same element, so only one row. */
int vy_llvm_is_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index) {
    return shape_of(e, index) == CONTIGUOUS && e->row_count == 1 && !is_private(e, memory);
}

/* ---- two-way branches ---- */

static branches branch(vy_emitter *e, LLVMValueRef condition) {
    branches b = {vy_llvm_block(e, "yes"), vy_llvm_block(e, "no"), vy_llvm_block(e, "end")};
    LLVMBuildCondBr(e->builder, condition, b.yes, b.no);
    return b;
}

/* One of two values, by the block from which control comes. */
static LLVMValueRef merged(vy_emitter *e, LLVMValueRef one, LLVMBasicBlockRef from_one, LLVMValueRef other,
                           LLVMBasicBlockRef from_other) {
    LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(other), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){one, other}, (LLVMBasicBlockRef[]){from_one, from_other}, 2);
    return phi;
}

/* ---- loads ---- The index decides the kind of access. If it is uniform, or the same in all lanes of a gang, the
 * access is scalar; with a stride of one it is a vector access at the index of the first lane; else it is a gather.
 * Where lanes are masked, a vector access with all lanes is tried first, because masks are mostly full. */

static LLVMValueRef plain_load(vy_emitter *e, LLVMTypeRef type, LLVMValueRef at, unsigned alignment) {
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

/* A load if `condition` (i1) is true, else zero. */
static LLVMValueRef scalar_load_if(vy_emitter *e, LLVMTypeRef type, uint32_t memory, LLVMValueRef index,
                                   LLVMValueRef condition) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder), yes = vy_llvm_block(e, "load"),
                      end = vy_llvm_block(e, "loaded");
    LLVMBuildCondBr(e->builder, condition, yes, end);
    vy_llvm_position_at(e, yes);
    LLVMValueRef loaded = plain_load(e, type, vy_llvm_address(e, memory, index), vy_llvm_element_size(e, memory));
    vy_llvm_continue_at(e, end);
    return merged(e, LLVMConstNull(type), before, loaded, yes);
}

static LLVMTypeRef row_type(const vy_emitter *e, LLVMTypeRef type) {
    return LLVMVectorType(type, e->row);
}

static LLVMValueRef load_rows(vy_emitter *e, LLVMTypeRef type, const LLVMValueRef *at, LLVMValueRef mask,
                              unsigned alignment) {
    LLVMValueRef rows[VY_LLVM_ROWS];
    for (uint32_t k = 0; k < e->row_count; k++)
        rows[k] = mask ? masked_load(e, row_type(e, type), at[k], vy_llvm_row_lanes(e, mask, k), alignment)
                       : plain_load(e, row_type(e, type), at[k], alignment);
    return vy_llvm_join(e, rows, e->row, e->width);
}

/* `all`: whether the mask is full, if that is available more cheaply; or NULL. Addresses are computed at each use:
 * without a mask they are folded into the addressing mode. */
static LLVMValueRef contiguous_load(vy_emitter *e, uint32_t memory, const LLVMValueRef *first, LLVMValueRef mask,
                                    LLVMValueRef all) {
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)vy_memory_at(e->program, memory)->type);
    unsigned alignment = vy_llvm_element_size(e, memory);
    LLVMValueRef at[VY_LLVM_ROWS];
    branches b = {0};
    if (mask && e->is_part) {
        row_addresses(e, memory, first, mask, at);
        return load_rows(e, type, at, mask, alignment);
    }
    if (mask) {
        b = branch(e, all ? all : vy_llvm_all(e, mask));
        vy_llvm_position_at(e, b.yes);
    }
    row_addresses(e, memory, first, NULL, at);
    LLVMValueRef whole = load_rows(e, type, at, NULL, alignment);
    if (!mask)
        return whole;
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    row_addresses(e, memory, first, mask, at);
    LLVMValueRef part = load_rows(e, type, at, mask, alignment);
    vy_llvm_continue_at(e, b.end);
    return merged(e, whole, b.yes, part, b.no);
}

/* A vector from an array of the workgroup, at an index that is a multiple of the width; zeros if it is out of
 * bounds. NULL: partly out of bounds. */
static LLVMValueRef aligned_lanes(vy_emitter *e, uint32_t memory, int64_t first) {
    const vy_memory *m = vy_memory_at(e->program, memory);
    LLVMTypeRef lanes = vy_llvm_lanes(e, vy_llvm_type(e, (vyre_type)m->type));
    if (first < 0 || first >= m->elements)
        return LLVMConstNull(lanes);
    if (first + e->width > m->elements)
        return NULL;
    uint64_t at = (uint64_t)first * vy_llvm_size((vyre_type)m->type);
    return plain_load(e, lanes, vy_llvm_offset_pointer(e, vy_llvm_base(e, memory), vy_llvm_number(e, 64, at)),
                      vy_llvm_element_size(e, memory));
}

/* Lanes from such an array at a constant index, shuffled from the vectors that gangs stored, so that LLVM can
 * forward the stores. NULL: not possible. */
static LLVMValueRef known_load(vy_emitter *e, uint32_t memory, uint32_t index, LLVMValueRef mask) {
    if (vy_memory_at(e->program, memory)->space != VY_SPACE_WORKGROUP || e->row != e->width)
        return NULL;
    LLVMValueRef start = vy_llvm_row_base(e, index, 0);
    if (!LLVMIsAConstantInt(start))
        return NULL;
    int64_t first = LLVMConstIntGetSExtValue(start), ahead = first & (e->width - 1);
    LLVMValueRef low = aligned_lanes(e, memory, first - ahead), high = low;
    if (ahead)
        high = aligned_lanes(e, memory, first - ahead + e->width);
    if (!low || !high)
        return NULL;
    LLVMValueRef lanes = vy_llvm_numbers(e, (uint32_t)ahead, e->width);
    LLVMValueRef value = ahead ? LLVMBuildShuffleVector(e->builder, low, high, lanes, "") : low;
    return mask ? LLVMBuildSelect(e->builder, mask, value, LLVMConstNull(LLVMTypeOf(value)), "") : value;
}

static LLVMValueRef gather(vy_emitter *e, LLVMTypeRef lanes, LLVMValueRef at, LLVMValueRef mask, unsigned alignment) {
    LLVMTypeRef types[2] = {lanes, LLVMTypeOf(at)};
    LLVMValueRef all = LLVMConstAllOnes(vy_llvm_lanes(e, vy_llvm_int(e, 1)));
    LLVMValueRef args[4] = {at, vy_llvm_number(e, 32, alignment), mask ? mask : all, LLVMConstNull(lanes)};
    return vy_llvm_intrinsic(e, "llvm.masked.gather", types, 2, args, 4);
}

/* Gathers elements of one or two bytes through the aligned words that contain them. An aligned word does not cross a
 * page boundary, so the adjacent bytes are mapped. */
static LLVMValueRef gather_parts(vy_emitter *e, LLVMTypeRef lanes, uint32_t memory, LLVMValueRef index,
                                 LLVMValueRef mask) {
    LLVMBuilderRef b = e->builder;
    unsigned size = vy_llvm_element_size(e, memory), log = size == 1 ? 2 : 1;
    LLVMTypeRef i32 = vy_llvm_int(e, 32), i64 = vy_llvm_int(e, 64), words = vy_llvm_lanes(e, i32);
    LLVMTypeRef types[2] = {vy_llvm_pointer(e), i64};
    LLVMValueRef base = vy_llvm_base(e, memory), args[2] = {base, vy_llvm_number(e, 64, ~UINT64_C(3))};
    LLVMValueRef aligned = vy_llvm_intrinsic(e, "llvm.ptrmask", types, 2, args, 2);
    LLVMValueRef behind = LLVMBuildTrunc(b, LLVMBuildPtrToInt(b, base, i64, ""), i32, "");
    behind =
        LLVMBuildLShr(b, LLVMBuildAnd(b, behind, vy_llvm_number(e, 32, 3), ""), vy_llvm_number(e, 32, 2 - log), "");
    LLVMValueRef last = vy_llvm_splat(e, vy_llvm_number(e, 32, (1u << log) - 1)),
                 by = vy_llvm_splat(e, vy_llvm_number(e, 32, log));
    /* The index may be close to 2^32, so its upper and lower bits are added separately. */
    LLVMValueRef low = LLVMBuildAdd(b, LLVMBuildAnd(b, index, last, ""), vy_llvm_splat(e, behind), "");
    LLVMValueRef word = LLVMBuildAdd(b, LLVMBuildLShr(b, index, by, ""), LLVMBuildLShr(b, low, by, ""), "");
    LLVMValueRef shift =
        LLVMBuildMul(b, LLVMBuildAnd(b, low, last, ""), vy_llvm_splat(e, vy_llvm_number(e, 32, 8 * size)), "");
    LLVMValueRef loaded = gather(e, words, lane_addresses(e, aligned, word, 4, 0), mask, 4);
    return LLVMBuildTrunc(b, LLVMBuildLShr(b, loaded, shift, ""), lanes, "");
}

/* One element of a private array, which has a copy per lane. If the element is uniform, the copy of any active lane
 * is used. */
static LLVMValueRef own_element(vy_emitter *e, uint32_t expr, LLVMValueRef index, LLVMValueRef condition) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    LLVMTypeRef lanes = vy_llvm_lanes(e, vy_llvm_type(e, (vyre_type)x->type));
    if (condition) /* an arbitrary element, which is not used */
        index = LLVMBuildSelect(e->builder, condition, index, vy_llvm_number(e, 32, 0), "");
    LLVMValueRef value = plain_load(e, lanes, vy_llvm_address(e, x->a, index), vy_llvm_element_size(e, x->a));
    if (condition)
        value = LLVMBuildSelect(e->builder, condition, value, LLVMConstNull(lanes), "");
    if (vy_expr_uniformity(e->uniform, expr) == VY_UNIFORMITY_DIVERGENT)
        return value;
    return LLVMBuildExtractElement(e->builder, value, vy_llvm_first(e, e->mask), "");
}

/* Whether all lanes of a row load one element, or none does. */
static int is_one_load(const vy_emitter *e, const vy_expr *x) {
    uint64_t stride;
    return shape_of(e, x->b) == SAME_IN_ROW && !is_private(e, x->a) &&
           (x->c == VY_NONE || (vy_stride_of(e->uniform, x->c, &stride) && !stride));
}

/* A row without active lanes does not load. */
LLVMValueRef vy_llvm_load_row(vy_emitter *e, uint32_t expr, uint32_t k) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)x->type);
    if (is_private(e, x->a))
        return vy_llvm_row_of_lanes(e, expr, vy_llvm_load(e, expr), k);
    LLVMValueRef index = vy_llvm_row_base(e, x->b, k),
                 condition = x->c == VY_NONE ? NULL : vy_llvm_row_base(e, x->c, k);
    condition = vy_llvm_both(e, condition, vy_llvm_row_executes(e, k));
    return condition ? scalar_load_if(e, type, x->a, index, condition)
                     : plain_load(e, type, vy_llvm_address(e, x->a, index), vy_llvm_element_size(e, x->a));
}

static LLVMValueRef load_by_rows(vy_emitter *e, uint32_t expr) {
    LLVMValueRef rows[VY_LLVM_ROWS];
    for (uint32_t k = 0; k < e->row_count; k++)
        rows[k] = vy_llvm_load_row(e, expr, k);
    return vy_llvm_lanes_of(e, rows, 0);
}

/* A gather. */
static LLVMValueRef scattered_load(vy_emitter *e, LLVMTypeRef lanes, uint32_t memory, LLVMValueRef index,
                                   LLVMValueRef mask) {
    if (e->gathers && vy_llvm_element_size(e, memory) < 4 && !is_private(e, memory))
        return gather_parts(e, lanes, memory, index, mask);
    return gather(e, lanes, vy_llvm_address(e, memory, index), mask, vy_llvm_element_size(e, memory));
}

/* A load whose lanes may be contiguous, checked at run time. */
static LLVMValueRef run_load(vy_emitter *e, LLVMTypeRef lanes, uint32_t memory, LLVMValueRef index, LLVMValueRef mask) {
    branches b = branch(e, vy_llvm_is_contiguous_dyn(e, index, mask));
    vy_llvm_position_at(e, b.yes);
    LLVMValueRef run = vy_llvm_load_contiguous_dyn(e, memory, index, mask);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    LLVMValueRef scattered = scattered_load(e, lanes, memory, index, mask);
    vy_llvm_continue_at(e, b.end);
    return merged(e, run, b.yes, scattered, b.no);
}

/* A load with an unknown access pattern. */
static LLVMValueRef anywhere_load(vy_emitter *e, const vy_expr *x, LLVMValueRef mask) {
    LLVMTypeRef lanes = vy_llvm_lanes(e, vy_llvm_type(e, (vyre_type)x->type));
    LLVMValueRef index = vy_llvm_expr(e, x->b);
    if (vy_llvm_is_lanes(index) && !has_stride(e, x->b) && vy_llvm_may_be_contiguous(e, x->a, x->b))
        return run_load(e, lanes, x->a, index, mask);
    return scattered_load(e, lanes, x->a, vy_llvm_splat(e, index), mask);
}

/* A load with a speculative stride: a vector or scalar load if the guard holds and all lanes load; otherwise a
 * gather. */
static LLVMValueRef lucky_load(vy_emitter *e, const vy_expr *x, LLVMValueRef mask, LLVMValueRef all, uint64_t stride) {
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)x->type);
    unsigned alignment = vy_llvm_element_size(e, x->a);
    if (e->is_part)
        return scattered_load(e, vy_llvm_lanes(e, type), x->a, vy_llvm_expr_lanes(e, x->b), mask);
    LLVMValueRef at[VY_LLVM_ROWS], stride_guard = !mask ? NULL : all ? all : vy_llvm_all(e, mask), lucky;
    for (uint32_t k = 0; k < e->row_count; k++)
        at[k] = vy_llvm_address(e, x->a, vy_llvm_guarded_row_base(e, x->b, k, &stride_guard));
    branches b = branch(e, stride_guard);
    vy_llvm_position_at(e, b.yes);
    if (stride) {
        lucky = load_rows(e, type, at, NULL, alignment);
    } else {
        for (uint32_t k = 0; k < e->row_count; k++)
            at[k] = plain_load(e, type, at[k], alignment);
        lucky = vy_llvm_lanes_of(e, at, 0);
    }
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    /* The lanes of the index are needed only here, so they are computed only here. */
    LLVMValueRef other = scattered_load(e, LLVMTypeOf(lucky), x->a, vy_llvm_expr_lanes(e, x->b), mask);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder);
    vy_llvm_continue_at(e, b.end);
    return merged(e, lucky, b.yes, other, from);
}

/* Whether all lanes of the rows are in bounds of a workgroup or constant array: then inactive lanes may load too. */
static int are_inside(const vy_emitter *e, uint32_t memory, const LLVMValueRef *first) {
    const vy_memory *m = vy_memory_at(e->program, memory);
    int inside = m->space == VY_SPACE_WORKGROUP || m->space == VY_SPACE_CONSTANT;
    for (uint32_t k = 0; inside && k < e->row_count; k++)
        inside = LLVMIsAConstantInt(first[k]) && LLVMConstIntGetZExtValue(first[k]) + e->row <= m->elements;
    return inside;
}

/* Loads an element per lane where `condition` (lanes or a scalar; NULL: true) holds and the lane is active; zero
 * elsewhere. `all`: whether the condition holds in all lanes, or NULL if unknown. */
static LLVMValueRef load_lanes(vy_emitter *e, const vy_expr *x, LLVMValueRef condition, LLVMValueRef all) {
    LLVMValueRef mask = condition ? vy_llvm_both(e, e->mask, vy_llvm_splat(e, condition)) : e->mask;
    uint64_t stride;
    vy_lane_affine k;
    all = e->mask ? NULL : all;
    if (is_private(e, x->a))
        return anywhere_load(e, x, mask);
    if (shape_of(e, x->b) == CONTIGUOUS) {
        LLVMValueRef first[VY_LLVM_ROWS], known = known_load(e, x->a, x->b, mask);
        if (known)
            return known;
        first_indices(e, x->b, first);
        return contiguous_load(e, x->a, first, !condition && are_inside(e, x->a, first) ? NULL : mask, all);
    }
    if (vy_llvm_has_pieces(e, x->a, x->b, mask, &k))
        return vy_llvm_load_pieces(e, x->a, &k, mask);
    if (!vy_stride_of(e->uniform, x->b, &stride) && vy_llvm_guarded_stride(e, x->b, &stride) && stride <= 1)
        return lucky_load(e, x, mask, all, stride);
    return anywhere_load(e, x, mask);
}

LLVMValueRef vy_llvm_load(vy_emitter *e, uint32_t expr) {
    const vy_expr *x = vy_expr_at(e->program, expr);
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)x->type);
    if (x->op != VY_BOUNDS_UNCHECKED) {
        vy_llvm_refuse(e, "a guarded load");
        return LLVMGetPoison(type);
    }
    LLVMValueRef condition = x->c == VY_NONE ? NULL : vy_llvm_expr(e, x->c);
    if (shape_of(e, x->b) == SCALAR && (!condition || !vy_llvm_is_lanes(condition))) {
        LLVMValueRef index = vy_llvm_expr(e, x->b);
        if (is_private(e, x->a))
            return own_element(e, expr, index, condition);
        return condition ? scalar_load_if(e, type, x->a, index, condition)
                         : plain_load(e, type, vy_llvm_address(e, x->a, index), vy_llvm_element_size(e, x->a));
    }
    if (is_one_load(e, x))
        return load_by_rows(e, expr);
    return load_lanes(e, x, condition, condition ? vy_llvm_all_true(e, x->c) : NULL);
}

/* A masked load yields zero in inactive lanes, so a select between a load and zero only adds its condition to the
 * mask. */
LLVMValueRef vy_llvm_load_or_zero(vy_emitter *e, const vy_expr *select) {
    const vy_expr *x = vy_expr_at(e->program, select->b), *other = vy_expr_at(e->program, select->c);
    if (x->kind != VY_EXPR_LOAD || x->op != VY_BOUNDS_UNCHECKED || other->kind != VY_EXPR_LITERAL || other->bits ||
        vy_expr_uniformity(e->uniform, select->a) != VY_UNIFORMITY_DIVERGENT || is_one_load(e, x) ||
        shape_of(e, x->b) == SCALAR || is_private(e, x->a))
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

/* ---- stores ---- Stores have the same kinds of access as loads: scalar, contiguous, scattered. Data that is not
 * read soon is stored past the caches (non-temporal stores). */

static void plain_store(vy_emitter *e, LLVMValueRef value, LLVMValueRef at, unsigned alignment) {
    LLVMSetAlignment(LLVMBuildStore(e->builder, value, at), alignment);
}

static void masked_store(vy_emitter *e, LLVMValueRef value, LLVMValueRef at, LLVMValueRef mask, unsigned alignment) {
    LLVMTypeRef types[2] = {LLVMTypeOf(value), vy_llvm_pointer(e)};
    LLVMValueRef args[4] = {value, at, vy_llvm_number(e, 32, alignment), mask};
    vy_llvm_intrinsic(e, "llvm.masked.store", types, 2, args, 4);
}

static void store_rows(vy_emitter *e, LLVMValueRef value, const LLVMValueRef *at, LLVMValueRef mask,
                       unsigned alignment) {
    for (uint32_t k = 0; k < e->row_count; k++)
        if (mask)
            masked_store(e, vy_llvm_row_lanes(e, value, k), at[k], vy_llvm_row_lanes(e, mask, k), alignment);
        else
            plain_store(e, vy_llvm_row_lanes(e, value, k), at[k], alignment);
}

/* Bytes of a cache line, which is written as a whole or read first; and of the smallest non-temporal store, to which
 * allocators align. */
enum { LINE = 64, STREAM_LEAST = 16 };

/* Whether the next gang completes a cache line that this gang begins, before its write-combining buffer is flushed. */
static int goes_on(const vy_emitter *e) {
    return e->program->workgroup[1] * e->program->workgroup[2] == 1;
}

/* The alignment that a row needs for non-temporal stores of its size: its size, up to a cache line. 0: regular
 * stores. */
static unsigned stream_alignment(const vy_emitter *e, uint32_t memory) {
    const vy_memory *m = vy_memory_at(e->program, memory);
    uint64_t bytes = vy_llvm_size((vyre_type)m->type) * e->row;
    if (!e->cached || m->space != VY_SPACE_BUFFER || m->access != VYRE_ACCESS_WRITE ||
        bytes < (goes_on(e) ? STREAM_LEAST : LINE))
        return 0;
    return bytes < LINE ? (unsigned)bytes : LINE;
}

/* Non-temporal stores, which do not read the line first. A row that is less aligned than its size becomes several
 * stores. */
static void stream_rows(vy_emitter *e, LLVMValueRef value, const LLVMValueRef *at, unsigned alignment) {
    static const char kind[] = "nontemporal";
    LLVMMetadataRef one = LLVMValueAsMetadata(vy_llvm_number(e, 32, 1));
    LLVMValueRef node = LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &one, 1));
    for (uint32_t k = 0; k < e->row_count; k++) {
        LLVMValueRef store = LLVMBuildStore(e->builder, vy_llvm_row_lanes(e, value, k), at[k]);
        LLVMSetAlignment(store, alignment);
        LLVMSetMetadata(store, LLVMGetMDKindIDInContext(e->context, kind, sizeof kind - 1), node);
    }
}

/* Emits non-temporal stores for rows whose addresses are all aligned (`low`: the OR of the addresses), then branches
 * to `end`. The builder is left in the block for unaligned rows. */
static void stream_if_aligned(vy_emitter *e, LLVMValueRef value, const LLVMValueRef *at, LLVMValueRef low,
                              unsigned alignment, LLVMBasicBlockRef end) {
    LLVMBasicBlockRef yes = vy_llvm_block(e, "aligned"), no = vy_llvm_block(e, "not_aligned");
    LLVMValueRef below = LLVMBuildAnd(e->builder, low, vy_llvm_number(e, 64, alignment - 1), "");
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, below, vy_llvm_number(e, 64, 0), ""), yes, no);
    vy_llvm_position_at(e, yes);
    stream_rows(e, value, at, alignment);
    vy_llvm_branch_to(e, end);
    vy_llvm_position_at(e, no);
}

/* A store by all lanes. */
static void whole_store(vy_emitter *e, uint32_t memory, LLVMValueRef value, const LLVMValueRef *at) {
    unsigned alignment = vy_llvm_element_size(e, memory), stream = stream_alignment(e, memory);
    if (!stream) {
        store_rows(e, value, at, NULL, alignment);
        return;
    }
    LLVMBasicBlockRef streams = vy_llvm_block(e, "streams"), plain = vy_llvm_block(e, "plain"),
                      end = vy_llvm_block(e, "stored");
    LLVMBuildCondBr(e->builder, e->cached, plain, streams);
    vy_llvm_position_at(e, streams);
    LLVMValueRef low = vy_llvm_number(e, 64, 0);
    for (uint32_t k = 0; k < e->row_count; k++)
        low = LLVMBuildOr(e->builder, low, LLVMBuildPtrToInt(e->builder, at[k], vy_llvm_int(e, 64), ""), "");
    stream_if_aligned(e, value, at, low, stream, end);
    if (stream > STREAM_LEAST && goes_on(e))
        stream_if_aligned(e, value, at, low, STREAM_LEAST, end);
    vy_llvm_continue_at(e, plain);
    store_rows(e, value, at, NULL, alignment);
    vy_llvm_continue_at(e, end);
}

static void contiguous_store(vy_emitter *e, uint32_t memory, LLVMValueRef value, const LLVMValueRef *first) {
    LLVMValueRef at[VY_LLVM_ROWS];
    branches b = {0};
    if (e->mask && e->is_part) {
        row_addresses(e, memory, first, e->mask, at);
        store_rows(e, value, at, e->mask, vy_llvm_element_size(e, memory));
        return;
    }
    if (e->mask) {
        b = branch(e, vy_llvm_all(e, e->mask));
        vy_llvm_position_at(e, b.yes);
    }
    row_addresses(e, memory, first, NULL, at);
    whole_store(e, memory, value, at);
    if (!e->mask)
        return;
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    row_addresses(e, memory, first, e->mask, at);
    store_rows(e, value, at, e->mask, vy_llvm_element_size(e, memory));
    vy_llvm_continue_at(e, b.end);
}

static int is_narrow_scatter(const vy_emitter *e, LLVMValueRef value);

static void scatter_narrow(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value);

static void scatter(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value) {
    if (!is_private(e, memory) && is_narrow_scatter(e, value)) {
        scatter_narrow(e, memory, index, value);
        return;
    }
    LLVMValueRef at = vy_llvm_address(e, memory, index), all = LLVMConstAllOnes(vy_llvm_lanes(e, vy_llvm_int(e, 1)));
    LLVMTypeRef types[2] = {LLVMTypeOf(value), LLVMTypeOf(at)};
    LLVMValueRef args[4] = {value, at, vy_llvm_number(e, 32, vy_llvm_element_size(e, memory)), e->mask ? e->mask : all};
    vy_llvm_intrinsic(e, "llvm.masked.scatter", types, 2, args, 4);
}

/* A store whose lanes may be contiguous, checked at run time. */
static void run_store(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value) {
    branches b = branch(e, vy_llvm_is_contiguous_dyn(e, index, e->mask));
    vy_llvm_position_at(e, b.yes);
    vy_llvm_store_contiguous_dyn(e, memory, index, value, e->mask);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    scatter(e, memory, index, value);
    vy_llvm_continue_at(e, b.end);
}

void vy_llvm_store(vy_emitter *e, uint32_t stmt) {
    const vy_stmt *s = vy_stmt_at(e->program, stmt);
    unsigned alignment = vy_llvm_element_size(e, s->memory);
    if (s->bounds_check != VY_BOUNDS_UNCHECKED) {
        vy_llvm_refuse(e, "a guarded store");
        return;
    }
    shape how = shape_of(e, s->a);
    LLVMValueRef index = vy_llvm_expr(e, s->a), value = vy_llvm_expr(e, s->b);
    if (!is_private(e, s->memory) && how == SCALAR && !vy_llvm_is_lanes(value)) {
        plain_store(e, value, vy_llvm_address(e, s->memory, index), alignment);
        return;
    }
    value = vy_llvm_splat(e, value);
    if (is_private(e, s->memory) && how == SCALAR && !e->mask)
        plain_store(e, value, vy_llvm_address(e, s->memory, index), alignment);
    else if (is_private(e, s->memory) && how == SCALAR) {
        LLVMValueRef at = vy_llvm_address(e, s->memory, index);
        LLVMValueRef old = plain_load(e, LLVMTypeOf(value), at, alignment);
        plain_store(e, LLVMBuildSelect(e->builder, e->mask, value, old, ""), at, alignment);
    } else if (how == CONTIGUOUS && !is_private(e, s->memory)) {
        LLVMValueRef first[VY_LLVM_ROWS];
        first_indices(e, s->a, first);
        contiguous_store(e, s->memory, value, first);
    } else if (vy_llvm_is_lanes(index) && !has_stride(e, s->a) && vy_llvm_may_be_contiguous(e, s->memory, s->a))
        run_store(e, s->memory, index, value);
    else
        scatter(e, s->memory, vy_llvm_splat(e, index), value);
}

void vy_llvm_store_contiguous(vy_emitter *e, uint32_t memory, LLVMValueRef value, uint32_t index) {
    LLVMValueRef first = vy_llvm_row_base(e, index, 0);
    contiguous_store(e, memory, value, &first);
}

/* ---- scatter of narrow elements ---- Processors have no scatter of bytes, and LLVM expands such a scatter to a
 * branch for every lane, which takes long to compile. A loop over the active lanes is as fast, and small. */

#define B e->builder

/* Whether to store the lanes of a value one by one: the active ones, in order. Not for private arrays. */
static int is_narrow_scatter(const vy_emitter *e, LLVMValueRef value) {
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    return e->mask && LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           (LLVMGetIntTypeWidth(type) == 8 || LLVMGetIntTypeWidth(type) == 16);
}

/* Stores the lanes in an alloca, which all stores of the type share. */
static LLVMValueRef put(vy_emitter *e, LLVMValueRef lanes, LLVMValueRef *place) {
    if (!*place)
        *place = vy_llvm_alloca(e, LLVMTypeOf(lanes), "apart");
    LLVMBuildStore(B, lanes, *place);
    return *place;
}

static LLVMValueRef get(vy_emitter *e, LLVMTypeRef type, LLVMValueRef place, LLVMValueRef lane) {
    return LLVMBuildLoad2(B, type, LLVMBuildGEP2(B, type, place, &lane, 1, ""), "");
}

static void scatter_narrow(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value) {
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    unsigned bits = LLVMGetIntTypeWidth(type);
    LLVMValueRef indices = put(e, index, &e->apart[0]), values = put(e, value, &e->apart[bits / 8]);
    LLVMValueRef all = vy_llvm_bits(e, e->mask);
    LLVMTypeRef set = LLVMTypeOf(all);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), loop = vy_llvm_block(e, "lane"), end = vy_llvm_block(e, "apart");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, all, LLVMConstNull(set), ""), loop, end);
    vy_llvm_position_at(e, loop);
    LLVMValueRef left = LLVMBuildPhi(B, set, ""), args[2] = {left, vy_llvm_number(e, 1, 1)};
    LLVMValueRef lane = vy_llvm_intrinsic(e, "llvm.cttz", &set, 1, args, 2);
    LLVMValueRef at = vy_llvm_address(e, memory, get(e, vy_llvm_int(e, 32), indices, lane));
    LLVMSetAlignment(LLVMBuildStore(B, get(e, type, values, lane), at), bits / 8);
    LLVMValueRef next = LLVMBuildAnd(B, left, LLVMBuildSub(B, left, LLVMConstInt(set, 1, 0), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){all, next}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, next, LLVMConstNull(set), ""), loop, end);
    vy_llvm_position_at(e, end);
}
