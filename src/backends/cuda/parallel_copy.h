/* Large copies between host bytes and the device: by several threads, each with a stream_slot of its own, because one processor copies more slowly than the device. */
#ifndef VY_BACKENDS_CUDA_PARALLEL_COPY_H
#define VY_BACKENDS_CUDA_PARALLEL_COPY_H

#include "backends/cuda/stream_slot.h"

/* Below it one thread does. */
#define VY_CUDA_PARALLEL_COPY_MIN (UINT64_C(16) << 20)

/* How many threads so many pieces of work are worth. */
unsigned vy_cuda_copy_threads(uint64_t pieces);

/* Copies are done when it returns; what else is under way on the device is not waited for. Inside. */
vyre_status vy_cuda_parallel_copy(vy_cuda *cuda, const vy_cuda_copy *copies, size_t count, int is_upload,
                                  vyre_error *error);

#endif
