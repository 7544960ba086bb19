/* The LLVM emitter: from a program to LLVM IR, SPMD on SIMD.
 *
 * The emitted function runs workgroups, each as gangs of `width` consecutive invocations. A value that differs between
 * invocations is a vector with a lane for each; a uniform value is a scalar. docs/internals/cpu.md describes the
 * result; emit/llvm/kernel_abi.h has the function's arguments.
 *
 * Part of the compiler alone: libvyre does not depend on LLVM. */
#ifndef VY_EMIT_LLVM_KERNEL_H
#define VY_EMIT_LLVM_KERNEL_H

#include "emit/llvm/kernel_abi.h"
#include "vyre/program.h"

#include <llvm-c/Core.h>

typedef struct vy_llvm_options {
    uint32_t width;          /* lanes: 4, 8, 16, 32 or 64 */
    uint32_t narrow;         /* fewer, of a second code for dispatches with few workgroups; 0: none */
    uint32_t register_lanes; /* words of 32 bits in a register of the processor */
    const char *name;        /* of the function */
    int gathers;             /* the processor loads lanes from anywhere at once */
    int lines;               /* the code names the lines of the source it was made from; it is the same code */
} vy_llvm_options;

/* What the frame of a call has to bring. */
typedef struct vy_llvm_sizes {
    uint64_t workgroup_bytes, spill_bytes;
    uint32_t parts, narrow_parts; /* of a workgroup: what the function is called with counts them (kernel_abi.h) */
    uint32_t private_count;
    vy_cpu_private_buffer privates[VY_CPU_PRIVATE_BUFFERS]; /* may be a thread's own */
} vy_llvm_sizes;

/* Lanes that fit a program on a processor with these features (VY_CPU_FEATURE_…): those of a register, or more. And
 * fewer, of a second code, or 0: where a workgroup is one gang and may take long, several threads have something of it
 * only if there is another way to cut it.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_llvm_choose_width(const vyre_program *program, uint64_t features, uint32_t *width, uint32_t *narrow,
                                 vyre_error *error);

/* Writes the entry of a program into the module. The program is at level legal, inlined, without guarded accesses,
 * traps and prints, and every meeting in it stands in control that all invocations of a workgroup take alike.
 *
 * VYRE_UNSUPPORTED  something in it is not for this emitter; the error names it
 * VYRE_NO_MEMORY    ours; LLVM itself ends the process when it has none */
vyre_status vy_llvm_emit(const vyre_program *program, const vy_llvm_options *options, LLVMModuleRef module,
                         vy_llvm_sizes *sizes, vyre_error *error);

#endif
