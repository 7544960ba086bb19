/* The device's clock: deadlines are given in ours (CLOCK_MONOTONIC) and watched by kernels in theirs (%globaltimer). */
#ifndef VY_BACKENDS_CUDA_CLOCK_H
#define VY_BACKENDS_CUDA_CLOCK_H

#include "backends/cuda/stream_slot.h"

/* A deadline in the device's time. The clocks are compared when they were not for a minute: on the stream_slot, whose control block is not clean then. Inside. */
vyre_status vy_cuda_clock_deadline(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t deadline_ns, uint64_t *out,
                                   vyre_error *error);
/* Before the context ends. */
void vy_cuda_clock_end(vy_cuda *cuda);

#endif
