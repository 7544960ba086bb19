/* Storing what was compiled on disk (cache_disk.h).
 *
 * Most backends have their binary at hand: it is stored before the compile returns. One that has to make it first (`serialize_later`) is asked
 * by a thread of the backend's pool, when nothing is compiled and nothing has been for a while: whoever compiles would wait for the
 * compiler. So that what waits in line stays bounded, a long line does not wait for quiet, and who finds it full stores its own.
 *
 * What waits keeps its executable, and is dropped if the device is lost. Shutdown waits until the line is at its end. */
#ifndef VY_DRIVER_CACHE_WRITEBACK_H
#define VY_DRIVER_CACHE_WRITEBACK_H

#include "driver/cache_key.h"
#include "driver/executable.h"
#include "driver/thread_pool.h"

typedef struct vy_writeback_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vy_writeback *first, *last; /* in line */
    unsigned count;                    /* of them */
    uint64_t put, done;                /* so far: they are served in turn */
    unsigned compiling;                /* calls of the backend's compiler under way */
    uint64_t compiled;                 /* when the last one ended, in nanoseconds */
    unsigned urgent_waiters;           /* who waits for the end of the line: it does not wait for quiet */
    int is_draining;                   /* a thread is at the line */
    vyre_backend *backend;
    vy_thread_pool_job job;
} vy_writeback_queue;

void vy_writeback_queue_start(vy_writeback_queue *stores, vyre_backend *backend);
/* After the pool's threads have ended. */
void vy_writeback_queue_end(vy_writeback_queue *stores);

/* Around a call of the backend's compiler. */
void vy_writeback_queue_begin_compile(vy_writeback_queue *stores);
void vy_writeback_queue_end_compile(vy_writeback_queue *stores);

/* Part `index` of an executable was compiled from this program: now or later it is stored under the key, if its backend makes binaries and there
 * is a disk to keep them. Best effort: a pipeline that cannot be stored is still a pipeline. Inside the backend. */
void vy_writeback_store(vy_executable *executable, uint32_t index, const vyre_program *program,
                        const vy_cache_key *key);
/* Waits until what is in line now is stored; what is put there meanwhile may be left. Not inside the backend. */
void vy_writeback_queue_flush(vy_writeback_queue *stores);

#endif
