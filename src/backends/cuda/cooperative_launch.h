/* Launches whose blocks all run at the same time, so that a program's grid barriers run inside them (emit/ptx/grid_barrier.c): cooperative launches.
 *
 * How many blocks that can be the driver says of each kernel, when it is loaded: registers, shared memory and threads decide. The boundary asks at each dispatch, and runs
 * what has more workgroups as several launches. Should the driver still refuse a launch, because others have a part of the device, nothing ran: the dispatch runs as several,
 * and the kernel is not tried again. Graphs and tables have no such kernels. */
#ifndef VY_BACKENDS_CUDA_COOPERATIVE_LAUNCH_H
#define VY_BACKENDS_CUDA_COOPERATIVE_LAUNCH_H

#include "backends/cuda/executable.h"

/* Of the backend's table. */
uint64_t vy_cuda_grid_sync_limit(void *self, const vyre_program *program, void *pipeline);

/* Blocks of a kernel that run at the same time. Inside. */
vyre_status vy_cuda_cooperative_blocks(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t *out, vyre_error *error);
/* Launches a kernel with the bytes of its params (launch.h). The driver's result. */
int vy_cuda_cooperative_launch(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t buffers, const uint32_t grid[3],
                               uint8_t *bytes, vy_cu_stream stream);

#endif
