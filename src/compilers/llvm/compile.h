/* The LLVM compiler: from the wire form of a legal program to a code object, LLVM IR or an assembly listing.
 * Invariant: a failure of LLVM is an error, not the end of the process. */
#ifndef VY_COMPILERS_LLVM_COMPILE_H
#define VY_COMPILERS_LLVM_COMPILE_H

#include "backends/cpu/compiler.h"

#include <llvm-c/Core.h>
#include <stdint.h>

/* The functions of the same names in vy_jit_plugin. Any thread. */
vyre_status vy_llvm_compile(const vy_jit_request *request, vyre_bytes *out, vyre_error *error);
vyre_status vy_llvm_emit_text(const vy_jit_request *request, vy_jit_text text, vyre_bytes *out, vyre_error *error);

/* For tests: the native stack limit of code that this thread compiles from now on; 0: VY_CPU_STACK_LIMIT. */
void vy_llvm_limit_stack(uint64_t bytes);

/* Bounds on compile time: limits on the input of LLVM passes whose time is quadratic. They apply to large programs
 * only, so that the code of other programs does not change. */
/* A block with more instructions than the limit is split into parts of about VY_LLVM_BLOCK_PART. The code generator
 * works on blocks, and its combiner and schedulers may need n steps for each of n instructions. No example has a
 * block of more than 420. */
enum { VY_LLVM_BLOCK_LIMIT = 512, VY_LLVM_BLOCK_PART = 128 };

/* Splits the long blocks of an optimised module. No optimiser pass may run afterwards: it could merge the parts
 * again. */
void vy_llvm_split_blocks(LLVMModuleRef module);

/* The cost of promoting variables to registers (sroa): the sum over all functions of the variables that are live
 * across blocks times the blocks, since sroa copies the values of all of them for every block. */
uint64_t vy_llvm_promotion_work(LLVMModuleRef module);

#endif
