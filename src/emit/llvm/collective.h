/* What the two ways to do a collective share: in the frame's memory (collective.c) and among the lanes of a gang (collective_shuffle.c). */
#ifndef VY_EMIT_LLVM_COLLECTIVE_H
#define VY_EMIT_LLVM_COLLECTIVE_H

#include "emit/llvm/emitter.h"

typedef struct vy_llvm_collective_site {
    const vy_stmt *s;
    vyre_type type;      /* of the operand */
    LLVMTypeRef element; /* as it lies in memory */
    uint64_t size;
    uint32_t width;             /* of a subgroup; the workgroup's size for all */
    uint64_t operands, results; /* places in the frame's memory */
} vy_llvm_collective_site;

/* The operand, and what changes nothing in lanes that do not execute. */
LLVMValueRef vy_llvm_operand_or_neutral(vy_emitter *e, const vy_llvm_collective_site *m);
/* Does it without memory if that is a way; else returns 0, and nothing is written. */
int vy_llvm_collective_in_register(vy_emitter *e, const vy_llvm_collective_site *m);

#endif
