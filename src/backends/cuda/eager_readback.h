/* Ahead: large outputs of a dispatch in flight come back when its kernel ends, not when somebody waits for them, so that they are on their way while the inputs of others go there.
 *
 * A thread of its own sees to it, with memory of its own, which changes hands with the caller's: what he had is kept for the next submission. */
#ifndef VY_BACKENDS_CUDA_EAGER_READBACK_H
#define VY_BACKENDS_CUDA_EAGER_READBACK_H

#include "backends/cuda/submission.h"

typedef struct vy_cuda_eager_readback {
    vy_cuda_submission *submission; /* NULL: nothing comes ahead */
    pthread_t thread;
    size_t output_count;
    vyre_bytes memory[VY_LIMIT_BUFFERS]; /* by output */
    int is_over;                         /* the thread has ended */
    vyre_status status;
    vyre_error error;
} vy_cuda_eager_readback;

/* Once the stream_slot's event `done` is recorded. Where the outputs are small, or there is no memory or no thread, nothing comes ahead, and whoever waits copies. */
void vy_cuda_eager_readback_start(vy_cuda_eager_readback *ahead, vy_cuda_submission *submission);
/* The outputs, once the kernel has ended well. */
vyre_status vy_cuda_eager_readback_deliver(vy_cuda_eager_readback *ahead, vyre_outputs *outputs, vyre_error *error);
/* Before the submission ends: the thread has ended when it returns, and memory nobody took is kept for others. */
void vy_cuda_eager_readback_end(vy_cuda_eager_readback *ahead);

#endif
