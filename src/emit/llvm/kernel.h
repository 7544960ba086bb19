/* The LLVM emitter: from a program to LLVM IR, SPMD on SIMD. Invariant: results do not depend on the width.
 *
 * The emitted function runs workgroups, each as gangs of `width` consecutive invocations. A divergent value is a
 * vector with a lane for each invocation; a uniform value is a scalar. docs/internals/cpu.md describes the result;
 * emit/llvm/kernel_abi.h has the function's arguments.
 *
 * Only the compiler plug-in links this code: libvyre does not depend on LLVM. */
#ifndef VY_EMIT_LLVM_KERNEL_H
#define VY_EMIT_LLVM_KERNEL_H

#include "analysis/uniformity.h"
#include "compile/target/target.h"
#include "emit/llvm/kernel_abi.h"
#include "vyre/program.h"

#include <llvm-c/Core.h>

typedef struct vy_llvm_options {
    uint32_t width;          /* lanes: 4, 8, 16, 32 or 64 */
    uint32_t narrow;         /* fewer lanes, for a second version of the code that runs dispatches with few
                              * workgroups; 0: none */
    uint32_t register_lanes; /* 32-bit words in a vector register */
    const char *name;        /* of the emitted function */
    uint32_t errata;         /* of the target: VY_LLVM_ERRATUM_… */
    int gathers;             /* the processor has gather instructions */
    int has_soft_fma;        /* the processor has no f64 fma instruction (soft_fma.c) */
    int lines;               /* emits line information; the instructions are the same */
} vy_llvm_options;

/* Sizes that the frame of a call must provide. */
typedef struct vy_llvm_sizes {
    uint64_t workgroup_bytes, spill_bytes;
    uint32_t parts, narrow_parts; /* parts of a workgroup: the units of the function's range (kernel_abi.h) */
    uint32_t private_count;
    vy_cpu_private_buffer privates[VY_CPU_PRIVATE_BUFFERS]; /* may be private copies of a thread */
} vy_llvm_sizes;

/* Selects the width for a program on a target, of which it reads the registers: the lanes of a register, or more.
 * *narrow is a smaller width for a second version of the code, or 0: if a workgroup is one gang and may take long, only
 * narrower gangs let several threads share it.
 *
 * uniform  of vy_uniform_make_with_uniform_polls
 *
 * VYRE_NO_MEMORY */
vyre_status vy_llvm_choose_width(const vyre_program *program, const vy_uniform *uniform, const vy_target_desc *target,
                                 uint32_t *width, uint32_t *narrow, vyre_error *error);

/* Writes the entry of a program into the module. The program is at level legal, inlined, without guarded accesses,
 * traps and prints, and all its barriers and collectives are in uniform control flow.
 *
 * uniform  of vy_uniform_make_with_uniform_polls, as above
 *
 * VYRE_UNSUPPORTED  the emitter cannot handle a construct; the error names it
 * VYRE_NO_MEMORY    for the emitter's memory; LLVM itself ends the process when it runs out */
vyre_status vy_llvm_emit(const vyre_program *program, const vy_uniform *uniform, const vy_llvm_options *options,
                         LLVMModuleRef module, vy_llvm_sizes *sizes, vyre_error *error);

#endif
