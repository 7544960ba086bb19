/* Write-back of compiled binaries to the disk cache (cache_disk.h).
 *
 * Most backends have their binary ready, and it is stored before the compile returns. A backend that must first produce
 * it has `serialize_later`. A thread of the backend's pool calls that when no compile has run for a while, because the
 * call would delay a compile. To bound the queue, a long queue is drained without waiting, and a thread that finds the
 * queue full stores its binary itself.
 *
 * A queued entry holds a reference to its executable and is dropped if the device is lost. Shutdown waits until the
 * queue is empty. */
#ifndef VY_DRIVER_CACHE_WRITEBACK_H
#define VY_DRIVER_CACHE_WRITEBACK_H

#include "driver/cache_key.h"
#include "driver/executable.h"
#include "driver/thread_pool.h"

typedef struct vy_writeback_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vy_writeback *first, *last; /* queued */
    unsigned count;                    /* of them */
    uint64_t put, done;                /* counts so far; entries are processed in order */
    unsigned compiling;                /* calls of the backend's compiler in progress */
    uint64_t compiled;                 /* when the last one ended, in nanoseconds */
    unsigned urgent_waiters;           /* threads that wait for the end of the queue: it is drained without delay */
    int is_draining;                   /* a thread drains the queue */
    vyre_backend *backend;
    vy_thread_pool_job job;
} vy_writeback_queue;

void vy_writeback_queue_start(vy_writeback_queue *stores, vyre_backend *backend);
/* After the pool's threads have ended. */
void vy_writeback_queue_end(vy_writeback_queue *stores);

/* Around a call of the backend's compiler. */
void vy_writeback_queue_begin_compile(vy_writeback_queue *stores);
void vy_writeback_queue_end_compile(vy_writeback_queue *stores);

/* Stores part `index` of an executable, compiled from this program, under the key: now or later, if the backend can
 * serialize and the disk cache is enabled. Best effort: a pipeline that cannot be stored is still valid. Inside the
 * backend. */
void vy_writeback_store(vy_executable *executable, uint32_t index, const vyre_program *program,
                        const vy_cache_key *key);
/* Waits until all entries queued before the call are stored. Not inside the backend. */
void vy_writeback_queue_flush(vy_writeback_queue *stores);

#endif
