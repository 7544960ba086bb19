/* From a program to code (executable.h): optimised, widened where that pays, legalised for the device, written as PTX, and loaded, which is when the driver compiles it. The cubin
 * that the disk cache keeps is made afterwards, for itself: the driver does not give what it made of a text when it loaded it. */
#ifndef VY_BACKENDS_CUDA_COMPILE_H
#define VY_BACKENDS_CUDA_COMPILE_H

#include "backends/cuda/executable.h"

/* The program as PTX, and the factor it was widened by. Needs no device: the architecture and what it computes exactly say all. */
typedef struct vy_cuda_lowered {
    vy_ptx_code code; /* vy_ptx_free */
    uint32_t factor;
    uint8_t reports, polls;
} vy_cuda_lowered;
vyre_status vy_cuda_lower(vyre_program *program, uint32_t architecture, uint64_t exact, int cancellable, int may_widen,
                          vy_cuda_lowered *out, vyre_error *error);

/* Inside, as all that follow.
 *
 * VYRE_LIMIT        its arrays are over the device's shared memory
 * VYRE_UNSUPPORTED  the driver refuses it: the error has what its compiler says */
vyre_status vy_cuda_compile(vy_cuda *cuda, vyre_program *program, int cancellable, vy_cuda_executable **out,
                            vyre_error *error);
/* The object with what the driver's linker makes of its text; a driver without a linker leaves it as it is. */
vyre_status vy_cuda_compile_link(vy_cuda *cuda, const vyre_bytes *object, vyre_bytes *out, vyre_error *error);
/* The object of compiled code with a cubin, and behind it that of the kernel whose grid lies in device memory, if the program says that it does. Takes as long as compiling. */
vyre_status vy_cuda_compile_binary(vy_cuda_executable *code, vyre_bytes *out, vyre_error *error);
/* The kernel for pieces of a grid. */
vyre_status vy_cuda_compile_tiled(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error);
/* The one that takes its params from a table. */
vyre_status vy_cuda_compile_batched(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error);
/* The one whose grid lies in device memory. */
vyre_status vy_cuda_compile_indirect(vy_cuda_executable *code, vy_cuda_kernel *out, vyre_error *error);

#endif
