/* What a backend knows of its dispatches in flight: a list in order of their start, and the threads that serve it. */
#ifndef VY_DRIVER_ASYNC_H
#define VY_DRIVER_ASYNC_H

#include "base/buffer_recycler.h"
#include "driver/thread_pool.h"
#include "vyre/base.h"

#include <pthread.h>

struct vyre_backend;
struct vyre_pending;

typedef struct vy_async {
    pthread_mutex_t lock;
    struct vyre_pending *first, *last; /* started and not finished */
    uint64_t started;
    vy_thread_pool *pool;              /* made when it is first needed */
    struct vyre_pending *free_handles; /* handles that were freed, to be used again: they are large */
    unsigned free_handle_count;
    vy_buffer_recycler hoard; /* of outputs: guards itself */
} vy_async;

void vy_async_start(vy_async *async);
/* Ends the threads; nothing is in flight. */
void vy_async_end(vy_async *async);
/* The pool, or NULL when memory is out. */
vy_thread_pool *vy_async_pool(vy_async *async);
/* Waits until everything started before this call has finished, collecting native handles nobody waits for; at most until `until_ns` (CLOCK_MONOTONIC; 0:
 * for ever). With a limit a thread of the pool collects, since a backend may not come back. */
void vy_async_wait_all(struct vyre_backend *backend, uint64_t until_ns);
/* Cancels everything in flight, as vyre_pending_cancel does. */
void vy_async_cancel(struct vyre_backend *backend);

#endif
