/* Where accesses go, and in what shape. Internal to load.c, store.c and address.c; what others need of it is in emitter.h. */
#ifndef VY_EMIT_LLVM_ADDRESS_H
#define VY_EMIT_LLVM_ADDRESS_H

#include "emit/llvm/emitter.h"

/* How the places of the lanes lie, by their index. */
typedef enum vy_llvm_shape { VY_LLVM_SCALAR, VY_LLVM_SAME_IN_ROW, VY_LLVM_CONTIGUOUS, VY_LLVM_SCATTERED } vy_llvm_shape;
vy_llvm_shape vy_llvm_shape_of(const vy_emitter *e, uint32_t index);
/* Whether lanes lie a known way apart: there is nothing to ask. */
int vy_llvm_has_stride(const vy_emitter *e, uint32_t index);

int vy_llvm_is_private(const vy_emitter *e, uint32_t memory);
/* Of an element, in bytes. */
unsigned vy_llvm_alignment(const vy_emitter *e, uint32_t memory);

/* The indices of the first lanes of all rows, and the addresses there. With a mask the first lane may be none. */
void vy_llvm_first_indices(vy_emitter *e, uint32_t expr, LLVMValueRef *first);
void vy_llvm_row_addresses(vy_emitter *e, uint32_t memory, const LLVMValueRef *first, LLVMValueRef mask,
                           LLVMValueRef *at);

/* Lanes of addresses behind a base, of elements of so many bytes. */
LLVMValueRef vy_llvm_lane_addresses(vy_emitter *e, LLVMValueRef base, LLVMValueRef index, uint64_t size,
                                    int may_be_long);

LLVMValueRef vy_llvm_plain_load(vy_emitter *e, LLVMTypeRef type, LLVMValueRef at, unsigned alignment);

/* Two ways, by a condition; the caller starts the first. */
typedef struct vy_llvm_branches {
    LLVMBasicBlockRef yes, no, end;
} vy_llvm_branches;
vy_llvm_branches vy_llvm_branch(vy_emitter *e, LLVMValueRef condition);

#endif
