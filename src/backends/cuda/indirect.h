/* Launches whose grid lies in device memory: nobody on the host knows it (emit/ptx/indirect_grid.c).
 *
 * The kernel is one of its own, part of a pipeline's object or compiled when it is first needed, and launched with as many blocks as run at the same time, which take the workgroups by turns. It reads the grid where it lies, if the
 * program only reads that buffer; else from a copy in the stream_slot's control block, made in the stream before it.
 *
 * A grid over the limits of the language is refused by the kernel, in the control block, which is looked at when everything is done: so several such launches need no wait in between. Of those with one control
 * block the first that is refused says so with its ticket. The ones behind it that have grids of this kind run nothing; others do not know, and run. */
#ifndef VY_BACKENDS_CUDA_INDIRECT_H
#define VY_BACKENDS_CUDA_INDIRECT_H

#include "backends/cuda/launch.h"

/* Says how many blocks of a kernel are launched. */
vyre_status vy_cuda_indirect_count(vy_cuda *cuda, vy_cuda_kernel *kernel, vyre_error *error);
/* Puts it into the stream_slot's stream; the control block is prepared. ticket: from 1 on. Inside. */
vyre_status vy_cuda_indirect_launch(vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                                    const vy_cuda_kernel *kernel, const vyre_launch *launch,
                                    const vy_cu_address *addresses, uint32_t ticket, vyre_error *error);
/* What is wrong with the grid that the mirror's `taken` has: as if the host had read it. */
vyre_status vy_cuda_indirect_refused(const vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                                     vyre_error *error);

#endif
