/* Dispatches in flight of a backend: a list in the order of their start, and the thread pool that serves it. */
#ifndef VY_DRIVER_ASYNC_H
#define VY_DRIVER_ASYNC_H

#include "base/memory.h"
#include "driver/thread_pool.h"
#include "vyre/base.h"

#include <pthread.h>

struct vyre_backend;
struct vyre_pending;

typedef struct vy_async {
    pthread_mutex_t lock;
    struct vyre_pending *first, *last; /* started and not finished */
    uint64_t started;
    vy_thread_pool *pool;              /* created at its first use */
    struct vyre_pending *free_handles; /* freed handles, kept for reuse: they are large */
    unsigned free_handle_count;
    vy_buffer_recycler recycler; /* recycles outputs; has its own lock */
} vy_async;

void vy_async_start(vy_async *async);
/* Ends the threads; nothing is in flight. */
void vy_async_end(vy_async *async);
/* The pool, created by the first call. NULL: out of memory. */
vy_thread_pool *vy_async_pool(vy_async *async);
/* Waits until all dispatches that started before this call have finished, and collects native handles without a waiter.
 * Returns at `until_ns` (CLOCK_MONOTONIC; 0: no limit). With a limit a pool thread collects, because the backend may
 * never return. */
void vy_async_wait_all(struct vyre_backend *backend, uint64_t until_ns);
/* Cancels everything in flight, as vyre_pending_cancel does. */
void vy_async_cancel(struct vyre_backend *backend);

#endif
