/* Handle of a dispatch in flight (vyre_pending, vyre/async.h).
 *
 * A dispatch runs natively: the backend's asynchronous entry starts it, and the first thread that waits collects it. Or
 * it runs on a thread of the backend's pool, like a synchronous dispatch. `done` means that the caller can obtain a
 * result, `finished` that the work has ended. A cancelled dispatch is done immediately and finished later. From start
 * to finish it is in its backend's list, where flush, shutdown and recovery find it.
 *
 * Lock order: a handle's lock, then that of its queue, of the list or of the backend. No lock is held during a call of
 * the backend. */
#ifndef VY_DRIVER_PENDING_H
#define VY_DRIVER_PENDING_H

#include "driver/dispatch.h"
#include "vyre/async.h"

struct vyre_pending {
    vy_thread_pool_job job;
    _Atomic uint32_t references; /* held by the caller, the work, a queued job, a requested notification */
    _Atomic uint32_t cancel;     /* the word that the backend polls */
    char label[64];              /* the config's label, possibly truncated */
    vyre_pipeline *kept;         /* released with the handle; may be NULL */

    /* In the backend's list, under its lock. */
    uint64_t serial;
    vyre_pending *previous, *next;

    pthread_mutex_t lock; /* guards the members below, except the ones that only the collecting thread uses */
    pthread_cond_t changed;
    int is_done, is_finished, is_taken, is_cancelled;
    int is_freed;      /* the caller has released its reference */
    int is_collecting; /* a thread is inside the native handle */
    int is_cancelling; /* a thread is inside its `cancel` */
    int is_watched;    /* the native handle will notify when it is ready: a reference */
    int is_announced;  /* it did */
    int is_ready;      /* it is ready: collecting it does not block for long */
    int is_queued;     /* the job is submitted */
    vyre_completions *queue;
    uint64_t tag;
    vyre_pending *queue_previous, *queue_next; /* under the queue's lock, like queue_state */
    enum { VY_QUEUE_STATE_NONE, VY_QUEUE_STATE_QUEUED, VY_QUEUE_STATE_DELIVERED } queue_state;

    vyre_native_pending native; /* vtable NULL: runs on the pool */
    vyre_pending_vtable calls;
    vyre_status status;
    vyre_trap trap;
    unsigned char *copies; /* copies of borrowed memory, for the pool */
    size_t copies_size;
    vyre_arguments arguments;
    vyre_dispatch_config config;

    /* Large, and filled late: not cleared. */
    vyre_error error;
    vy_dispatch dispatch;
    vy_output_slots slots;
};

/* Starts a dispatch that was described and not yet resolved. The caller has retained `kept` (may be NULL) for the
 * handle, which releases it, also on failure. The functions of vyre/async.h and of pipelines call this. error may be
 * NULL. */
vyre_status vy_pending_start(vy_dispatch *asked, vyre_pipeline *kept, vyre_pending **out, vyre_error *error);
void vy_pending_unreference(vyre_pending *pending);
/* Ensures that a native handle is collected without a waiter. With the lock held, which is released temporarily. */
void vy_pending_watch(vyre_pending *pending);

/* Completion queue; with the handle's lock held. */
void vy_completions_push(vyre_completions *queue, vyre_pending *pending);
void vy_completions_remove(vyre_pending *pending);

#endif
