/* Asynchronous dispatches: each holds a stream slot until it is destroyed. An event watcher reports completion; large
 * outputs are read back eagerly. */
#ifndef VY_BACKENDS_CUDA_PENDING_H
#define VY_BACKENDS_CUDA_PENDING_H

#include "backends/cuda/cuda.h"
#include "backends/cuda/executable.h"
#include "backends/cuda/submission.h"

/* ---- event watcher ----
 *
 * A thread that looks at events and tells who wants to know that they are done. Started when somebody first asks,
 * ended with the device. */

void vy_cuda_event_watcher_start(vy_cuda_event_watcher *watch);
/* Ends the thread; nothing is watched. */
void vy_cuda_event_watcher_end(vy_cuda_event_watcher *watch);

/* Calls done(user) once, when the event is done or the device is lost. 0: there is no thread, and nobody will be
 * called. */
int vy_cuda_event_watcher_add(vy_cuda *cuda, vy_cuda_watched_event *watched);

/* ---- eager readback ----
 *
 * Ahead: large outputs of a dispatch in flight come back when its kernel ends, not when somebody waits for them, so
 * that they are on their way while the inputs of others go there.
 *
 * A thread of its own sees to it, with memory of its own, which changes hands with the caller's: what he had is kept
 * for the next submission. */

typedef struct vy_cuda_eager_readback {
    vy_cuda_submission *submission; /* NULL: nothing comes ahead */
    pthread_t thread;
    size_t output_count;
    vyre_bytes memory[VY_LIMIT_BUFFERS]; /* by output */
    int is_over;                         /* the thread has ended */
    vyre_status status;
    vyre_error error;
} vy_cuda_eager_readback;
/* The outputs, once the kernel has ended well. */
vyre_status vy_cuda_eager_readback_deliver(vy_cuda_eager_readback *ahead, vyre_outputs *outputs, vyre_error *error);

/* ---- pending dispatches ----
 *
 * Dispatches in flight: a stream_slot of their own until they are destroyed. */

/* Starts one: when it returns, the inputs are copied and the device works. Inside. */
vyre_status vy_cuda_pending_start(vy_cuda_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  vyre_native_pending *out, vyre_error *error);

#endif
