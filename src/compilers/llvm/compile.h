/* The LLVM compiler: from the wire form of a legal program to a code object, LLVM IR or an assembly listing. */
#ifndef VY_COMPILERS_LLVM_COMPILE_H
#define VY_COMPILERS_LLVM_COMPILE_H

#include "backends/cpu/compiler.h"

/* As the entries of the same names in vy_jit_plugin. Any thread. */
vyre_status vy_llvm_compile(const vy_jit_request *request, vyre_bytes *out, vyre_error *error);
vyre_status vy_llvm_emit_text(const vy_jit_request *request, vy_jit_text text, vyre_bytes *out, vyre_error *error);

/* For tests: how much native stack the code may need that this thread compiles from now on; 0: VY_CPU_STACK_LIMIT. */
void vy_llvm_limit_stack(uint64_t bytes);

#endif
