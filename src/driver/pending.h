/* The handle behind vyre_pending: a dispatch in flight (vyre/async.h).
 *
 * A dispatch runs natively, started by the backend's own asynchronous entry and collected by whoever waits first; or it runs on a thread of
 * the backend's pool, as a synchronous one would. `done` means that the caller can have a result, `finished` that the work has ended: a
 * cancelled dispatch is done at once and finished later. Between start and finish it stands in its backend's list, so that flush, shutdown
 * and recovery find it.
 *
 * Locks: a handle's, then its queue's or the list's or the backend's. None is held while the backend runs. */
#ifndef VY_DRIVER_PENDING_H
#define VY_DRIVER_PENDING_H

#include "driver/dispatch.h"
#include "vyre/async.h"

struct vyre_pending {
    vy_thread_pool_job job;
    _Atomic uint32_t references; /* the caller's, the work's, one for a job in line, one for a notification */
    _Atomic uint32_t cancel;     /* what the backend looks at */
    char label[64];              /* as much as fits of the config's */
    vyre_pipeline *kept;         /* released with the handle; may be NULL */

    /* In the list of the backend, under its lock. */
    uint64_t serial;
    vyre_pending *previous, *next;

    pthread_mutex_t lock; /* guards what follows, but for what one collector at a time works on */
    pthread_cond_t changed;
    int is_done, is_finished, is_taken, is_cancelled;
    int is_freed;      /* the caller gave its reference up */
    int is_collecting; /* a thread is inside the native handle */
    int is_cancelling; /* a thread is inside its `cancel` */
    int is_watched;    /* the native handle was asked to say when it is ready: a reference */
    int is_announced;  /* it said so */
    int is_ready;      /* it is known to be ready: whoever collects it will not be long */
    int is_queued;     /* the job is submitted */
    vyre_completions *queue;
    uint64_t tag;
    vyre_pending *queue_previous, *queue_next; /* under the queue's lock, like the queue_state */
    enum { VY_QUEUE_STATE_NONE, VY_QUEUE_STATE_QUEUED, VY_QUEUE_STATE_DELIVERED } queue_state;

    vyre_native_pending native; /* vtable NULL: on the pool */
    vyre_pending_vtable calls;
    vyre_status status;
    vyre_trap trap;
    unsigned char *copies; /* of what the caller lent, for the pool */
    size_t copies_size;
    vyre_arguments arguments;
    vyre_dispatch_config config;

    /* Large, and filled late: not cleared. */
    vyre_error error;
    vy_dispatch dispatch;
    vy_output_slots slots;
};

/* Starts what is asked (described, not resolved). `kept` (may be NULL) is retained by the caller for the handle, which releases it; also on failure.
 * The family of vyre/async.h and pipelines end here. error may be NULL. */
vyre_status vy_pending_start(vy_dispatch *asked, vyre_pipeline *kept, vyre_pending **out, vyre_error *error);
void vy_pending_unreference(vyre_pending *pending);
/* Sees to it that a native handle is collected without anybody waiting. With the lock held; gives it up for a moment. */
void vy_pending_watch(vyre_pending *pending);

/* The queue's side, with the handle's lock held. */
void vy_completions_push(vyre_completions *queue, vyre_pending *pending);
void vy_completions_remove(vyre_pending *pending);

#endif
