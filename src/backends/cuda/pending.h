/* Asynchronous dispatches: each holds a stream slot until it is destroyed. An event watcher reports completion; large
 * outputs are read back eagerly. */
#ifndef VY_BACKENDS_CUDA_PENDING_H
#define VY_BACKENDS_CUDA_PENDING_H

#include "backends/cuda/cuda.h"
#include "backends/cuda/executable.h"
#include "backends/cuda/submission.h"

/* ---- event watcher ----
 *
 * A thread that polls events and calls a function when an event is done. It is started at the first request, and ends
 * with the device. */

void vy_cuda_event_watcher_start(vy_cuda_event_watcher *watch);
/* Ends the thread. No event may be watched. */
void vy_cuda_event_watcher_end(vy_cuda_event_watcher *watch);

/* Arranges one call of done(user) when the event is done or the device is lost. Returns 0 if the thread cannot be
 * started; then done is never called. */
int vy_cuda_event_watcher_add(vy_cuda *cuda, vy_cuda_watched_event *watched);

/* ---- eager readback ----
 *
 * Large outputs of an asynchronous dispatch are read back when its kernel ends, not when the caller waits for them. So
 * they overlap with the uploads of other dispatches.
 *
 * Each such dispatch has a thread that reads the outputs into its private buffers. On delivery they are exchanged with
 * the caller's buffers, which are kept for the next submission. */

typedef struct vy_cuda_eager_readback {
    vy_cuda_submission *submission; /* NULL: no eager readback */
    pthread_t thread;
    size_t output_count;
    vyre_bytes memory[VY_LIMIT_BUFFERS]; /* one per output */
    int is_over;                         /* the thread has ended */
    vyre_status status;
    vyre_error error;
} vy_cuda_eager_readback;
/* Delivers the outputs after the kernel has succeeded. */
vyre_status vy_cuda_eager_readback_deliver(vy_cuda_eager_readback *ahead, vyre_outputs *outputs, vyre_error *error);

/* ---- pending dispatches ----
 *
 * A pending dispatch holds a stream slot until it is destroyed. */

/* Starts a dispatch. When it returns, the inputs are copied and the device works. Inside. */
vyre_status vy_cuda_pending_start(vy_cuda_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  vyre_native_pending *out, vyre_error *error);

#endif
