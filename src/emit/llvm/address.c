/* Addresses (address.h). */
#include "emit/llvm/address.h"

vy_llvm_shape vy_llvm_shape_of(const vy_emitter *e, uint32_t index) {
    uint64_t stride;
    if (vy_expr_uniformity(e->uniform, index) != VY_UNIFORMITY_DIVERGENT)
        return VY_LLVM_SCALAR;
    if (!e->row || !vy_stride_of(e->uniform, index, &stride) || (uint32_t)stride > 1)
        return VY_LLVM_SCATTERED;
    return stride ? VY_LLVM_CONTIGUOUS : VY_LLVM_SAME_IN_ROW;
}

int vy_llvm_is_private(const vy_emitter *e, uint32_t memory) {
    return e->program->memories.items[memory].space == VY_SPACE_PRIVATE;
}

LLVMValueRef vy_llvm_base(vy_emitter *e, uint32_t memory) {
    const vy_memory *m = &e->program->memories.items[memory];
    if (m->space == VY_SPACE_BUFFER)
        return e->data[memory - e->body->first_memory];
    LLVMValueRef offset = vy_llvm_number(e, 64, e->array_offsets[memory]);
    if (m->space == VY_SPACE_WORKGROUP)
        return vy_llvm_offset_pointer(e, e->workgroup, offset);
    if (!e->has_sync)
        return vy_llvm_offset_pointer(e, e->spill, offset);
    /* A private array of each gang: it may live across meetings. */
    uint64_t bytes = (uint64_t)m->elements * e->width * vy_llvm_size((vyre_type)m->type);
    /* Between regions any invocation will do: there all have the same. */
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

/* Processors add 32-bit indices to a base, with their sign: so the base is that of the middle of all indices. An array is not so long that it would need that. */
LLVMValueRef vy_llvm_lane_addresses(vy_emitter *e, LLVMValueRef base, LLVMValueRef index, uint64_t size,
                                    int may_be_long) {
    LLVMTypeRef element = vy_llvm_int(e, (unsigned)size * 8), i64 = vy_llvm_int(e, 64);
    if (may_be_long) {
        base = vy_llvm_offset_pointer(e, base, vy_llvm_number(e, 64, size << 31));
        index = LLVMBuildXor(e->builder, index, vy_llvm_splat(e, vy_llvm_number(e, 32, UINT32_C(1) << 31)), "");
    }
    index = LLVMBuildSExt(e->builder, index, vy_llvm_lanes(e, i64), "");
    return LLVMBuildGEP2(e->builder, element, base, &index, 1, "");
}

/* In a private array the lanes of an element lie side by side. */
LLVMValueRef vy_llvm_address(vy_emitter *e, uint32_t memory, LLVMValueRef index) {
    uint64_t size = vy_llvm_size((vyre_type)e->program->memories.items[memory].type);
    int is_own = vy_llvm_is_private(e, memory);
    if (!vy_llvm_is_lanes(index)) { /* elements, not bytes: that processors scale by themselves */
        index = scaled(e, wide(e, index), is_own ? e->width : 1);
        return LLVMBuildGEP2(e->builder, vy_llvm_int(e, (unsigned)size * 8), vy_llvm_base(e, memory), &index, 1, "");
    }
    if (is_own) {
        LLVMValueRef row = LLVMBuildMul(e->builder, index, vy_llvm_splat(e, vy_llvm_number(e, 32, e->width)), "");
        index = LLVMBuildAdd(e->builder, row, vy_llvm_iota(e, 32), "");
    }
    return vy_llvm_lane_addresses(e, vy_llvm_base(e, memory), index, size,
                                  e->program->memories.items[memory].space == VY_SPACE_BUFFER);
}

/* The address of the element of a row's first lane. That lane may be masked and its index below zero, so a small distance from the end of u32 counts as
 * that; no buffer is so long. */
static LLVMValueRef row_address(vy_emitter *e, uint32_t memory, LLVMValueRef first, int is_masked) {
    uint64_t size = vy_llvm_size((vyre_type)e->program->memories.items[memory].type);
    if (is_masked) {
        first = wide(e, LLVMBuildAdd(e->builder, first, vy_llvm_number(e, 32, e->row), ""));
        first = LLVMBuildSub(e->builder, first, vy_llvm_number(e, 64, e->row), "");
    } else {
        first = wide(e, first);
    }
    return vy_llvm_offset_pointer(e, vy_llvm_base(e, memory), scaled(e, first, size));
}

unsigned vy_llvm_alignment(const vy_emitter *e, uint32_t memory) {
    return (unsigned)vy_llvm_size((vyre_type)e->program->memories.items[memory].type);
}

void vy_llvm_first_indices(vy_emitter *e, uint32_t expr, LLVMValueRef *first) {
    for (uint32_t k = 0; k < e->row_count; k++)
        first[k] = vy_llvm_row_base(e, expr, k);
}

void vy_llvm_row_addresses(vy_emitter *e, uint32_t memory, const LLVMValueRef *first, LLVMValueRef mask,
                           LLVMValueRef *at) {
    for (uint32_t k = 0; k < e->row_count; k++)
        at[k] = row_address(e, memory, first[k], mask != NULL);
}

int vy_llvm_has_stride(const vy_emitter *e, uint32_t index) {
    uint64_t stride;
    return e->row && vy_stride_of(e->uniform, index, &stride);
}

/* Of two rows the lanes could meet. */
int vy_llvm_is_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index) {
    return vy_llvm_shape_of(e, index) == VY_LLVM_CONTIGUOUS && e->row_count == 1 && !vy_llvm_is_private(e, memory);
}

/* ---- two ways, by a condition ---- */

vy_llvm_branches vy_llvm_branch(vy_emitter *e, LLVMValueRef condition) {
    vy_llvm_branches b = {vy_llvm_block(e, "yes"), vy_llvm_block(e, "no"), vy_llvm_block(e, "end")};
    LLVMBuildCondBr(e->builder, condition, b.yes, b.no);
    return b;
}
