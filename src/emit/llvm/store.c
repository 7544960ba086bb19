/* Stores, in the shapes of loads (load.c): scalar, a row, scattered; and past the caches what nobody reads soon. */
#include "emit/llvm/address.h"

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

/* Bytes of a line, which is written whole or read before; of the least store that goes past the caches. Allocators align to the latter. */
enum { LINE = 64, STREAM_LEAST = 16 };

/* Whether a line that one gang begins is ended by the next one, before there is no place for it any more where lines wait to be whole. */
static int goes_on(const vy_emitter *e) {
    return e->program->workgroup[1] * e->program->workgroup[2] == 1;
}

/* How a row has to be aligned to go past the caches in stores of this size: to itself, up to a line. 0: it does not. */
static unsigned stream_alignment(const vy_emitter *e, uint32_t memory) {
    const vy_memory *m = &e->program->memories.items[memory];
    uint64_t bytes = vy_llvm_size((vyre_type)m->type) * e->row;
    if (!e->cached || m->space != VY_SPACE_BUFFER || m->access != VYRE_ACCESS_WRITE ||
        bytes < (goes_on(e) ? STREAM_LEAST : LINE))
        return 0;
    return bytes < LINE ? (unsigned)bytes : LINE;
}

/* Past the caches: what is written only is not read before. Rows that are less aligned than they are long become several stores. */
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

/* Streams rows if `low`, bits of all addresses, has none below the alignment; goes to `end` then. Goes on where it has some. */
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

/* All lanes store. */
static void whole_store(vy_emitter *e, uint32_t memory, LLVMValueRef value, const LLVMValueRef *at) {
    unsigned alignment = vy_llvm_alignment(e, memory), stream = stream_alignment(e, memory);
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
    vy_llvm_branch_to(e, plain);
    vy_llvm_position_at(e, plain);
    store_rows(e, value, at, NULL, alignment);
    vy_llvm_branch_to(e, end);
    vy_llvm_position_at(e, end);
}

static void contiguous_store(vy_emitter *e, uint32_t memory, LLVMValueRef value, const LLVMValueRef *first) {
    LLVMValueRef at[VY_LLVM_ROWS];
    vy_llvm_branches b = {0};
    if (e->mask && e->is_part) {
        vy_llvm_row_addresses(e, memory, first, e->mask, at);
        store_rows(e, value, at, e->mask, vy_llvm_alignment(e, memory));
        return;
    }
    if (e->mask) {
        b = vy_llvm_branch(e, vy_llvm_all(e, e->mask));
        vy_llvm_position_at(e, b.yes);
    }
    vy_llvm_row_addresses(e, memory, first, NULL, at);
    whole_store(e, memory, value, at);
    if (!e->mask)
        return;
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    vy_llvm_row_addresses(e, memory, first, e->mask, at);
    store_rows(e, value, at, e->mask, vy_llvm_alignment(e, memory));
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.end);
}

static void scatter(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value) {
    if (!vy_llvm_is_private(e, memory) && vy_llvm_is_narrow_scatter(e, value)) {
        vy_llvm_scatter_narrow(e, memory, index, value);
        return;
    }
    LLVMValueRef at = vy_llvm_address(e, memory, index), all = LLVMConstAllOnes(vy_llvm_lanes(e, vy_llvm_int(e, 1)));
    LLVMTypeRef types[2] = {LLVMTypeOf(value), LLVMTypeOf(at)};
    LLVMValueRef args[4] = {value, at, vy_llvm_number(e, 32, vy_llvm_alignment(e, memory)), e->mask ? e->mask : all};
    vy_llvm_intrinsic(e, "llvm.masked.scatter", types, 2, args, 4);
}

/* To places that may lie side by side. */
static void run_store(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value) {
    vy_llvm_branches b = vy_llvm_branch(e, vy_llvm_is_contiguous_dyn(e, index, e->mask));
    vy_llvm_position_at(e, b.yes);
    vy_llvm_store_contiguous_dyn(e, memory, index, value, e->mask);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.no);
    scatter(e, memory, index, value);
    vy_llvm_branch_to(e, b.end);
    vy_llvm_position_at(e, b.end);
}

void vy_llvm_store(vy_emitter *e, uint32_t stmt) {
    const vy_stmt *s = &e->program->stmts.items[stmt];
    unsigned alignment = vy_llvm_alignment(e, s->memory);
    if (s->bounds_check != VY_BOUNDS_UNCHECKED) {
        vy_llvm_refuse(e, "a guarded store");
        return;
    }
    vy_llvm_shape how = vy_llvm_shape_of(e, s->a);
    LLVMValueRef index = vy_llvm_expr(e, s->a), value = vy_llvm_expr(e, s->b);
    if (!vy_llvm_is_private(e, s->memory) && how == VY_LLVM_SCALAR && !vy_llvm_is_lanes(value)) {
        plain_store(e, value, vy_llvm_address(e, s->memory, index), alignment);
        return;
    }
    value = vy_llvm_splat(e, value);
    if (vy_llvm_is_private(e, s->memory) && how == VY_LLVM_SCALAR && !e->mask)
        plain_store(e, value, vy_llvm_address(e, s->memory, index), alignment);
    else if (vy_llvm_is_private(e, s->memory) && how == VY_LLVM_SCALAR) {
        LLVMValueRef at = vy_llvm_address(e, s->memory, index);
        LLVMValueRef old = vy_llvm_plain_load(e, LLVMTypeOf(value), at, alignment);
        plain_store(e, LLVMBuildSelect(e->builder, e->mask, value, old, ""), at, alignment);
    } else if (how == VY_LLVM_CONTIGUOUS && !vy_llvm_is_private(e, s->memory)) {
        LLVMValueRef first[VY_LLVM_ROWS];
        vy_llvm_first_indices(e, s->a, first);
        contiguous_store(e, s->memory, value, first);
    } else if (vy_llvm_is_lanes(index) && !vy_llvm_has_stride(e, s->a) && vy_llvm_may_be_contiguous(e, s->memory, s->a))
        run_store(e, s->memory, index, value);
    else
        scatter(e, s->memory, vy_llvm_splat(e, index), value);
}

void vy_llvm_store_contiguous(vy_emitter *e, uint32_t memory, LLVMValueRef value, uint32_t index) {
    LLVMValueRef first = vy_llvm_row_base(e, index, 0);
    contiguous_store(e, memory, value, &first);
}
