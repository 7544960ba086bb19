/* Dispatches in flight: a stream_slot of their own until they are destroyed. */
#ifndef VY_BACKENDS_CUDA_PENDING_H
#define VY_BACKENDS_CUDA_PENDING_H

#include "backends/cuda/executable.h"

/* Starts one: when it returns, the inputs are copied and the device works. Inside. */
vyre_status vy_cuda_pending_start(vy_cuda_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  vyre_native_pending *out, vyre_error *error);

#endif
