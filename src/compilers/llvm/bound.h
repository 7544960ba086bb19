/* Bounds on compile time: limits on the input of LLVM passes whose time is quadratic. They apply to large programs
 * only, so that the code of other programs does not change. */
#ifndef VY_COMPILERS_LLVM_BOUND_H
#define VY_COMPILERS_LLVM_BOUND_H

#include <llvm-c/Core.h>

#include <stdint.h>

/* A block with more instructions than the limit is split into parts of about so many. The code generator works block
 * by block: what its combiner and its schedulers do for a block of n instructions may take n steps for each. Of the
 * examples none has a block of more than 420. */
enum { VY_LLVM_BLOCK_LIMIT = 512, VY_LLVM_BLOCK_PART = 128 };

/* Splits the long blocks of an optimised module. No pass of the optimiser may run afterwards: it could join the parts
 * again. */
void vy_llvm_split_blocks(LLVMModuleRef module);

/* How many values it takes to promote variables to registers (sroa): over all functions, variables that live in
 * several blocks times blocks, since the values of all of them are copied for every block. */
uint64_t vy_llvm_promotion_work(LLVMModuleRef module);

#endif
