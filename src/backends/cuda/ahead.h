/* Ahead: large outputs of a dispatch in flight come back when its kernel ends, not when somebody waits for them, so that they are on their way while the inputs of others go there.
 *
 * A thread of its own sees to it, with memory of its own, which changes hands with the caller's: what he had is kept for the next flight. */
#ifndef VY_BACKENDS_CUDA_AHEAD_H
#define VY_BACKENDS_CUDA_AHEAD_H

#include "backends/cuda/flight.h"

typedef struct vy_cuda_ahead {
    vy_cuda_flight *flight; /* NULL: nothing comes ahead */
    pthread_t thread;
    size_t output_count;
    vyre_bytes memory[VY_LIMIT_BUFFERS]; /* by output */
    int is_over;                         /* the thread has ended */
    vyre_status status;
    vyre_error error;
} vy_cuda_ahead;

/* Once the lane's event `done` is recorded. Where the outputs are small, or there is no memory or no thread, nothing comes ahead, and whoever waits copies. */
void vy_cuda_ahead_start(vy_cuda_ahead *ahead, vy_cuda_flight *flight);
/* The outputs, once the kernel has ended well. */
vyre_status vy_cuda_ahead_deliver(vy_cuda_ahead *ahead, vyre_outputs *outputs, vyre_error *error);
/* Before the flight ends: the thread has ended when it returns, and memory nobody took is kept for others. */
void vy_cuda_ahead_end(vy_cuda_ahead *ahead);

#endif
