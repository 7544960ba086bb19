/* Storing what was compiled on disk (cache_disk.h).
 *
 * Most backends have their binary at hand: it is stored before the compile returns. One that has to make it first (`serialize_later`) is asked
 * by a thread of the backend's pool, when nothing is compiled and nothing has been for a while: whoever compiles would wait for the
 * compiler. So that what waits in line stays bounded, a long line does not wait for quiet, and who finds it full stores its own.
 *
 * What waits keeps its code, and is dropped if the device is lost. Shutdown waits until the line is at its end. */
#ifndef VY_DRIVER_PIPELINE_STORE_H
#define VY_DRIVER_PIPELINE_STORE_H

#include "driver/cache_key.h"
#include "driver/pipeline_code.h"
#include "driver/pool.h"

typedef struct vy_stores {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vy_store *first, *last; /* in line */
    unsigned count;                /* of them */
    uint64_t put, done;            /* so far: they are served in turn */
    unsigned compiling;            /* calls of the backend's compiler under way */
    uint64_t compiled;             /* when the last one ended, in nanoseconds */
    unsigned hurries;              /* who waits for the end of the line: it does not wait for quiet */
    int is_served;                 /* a thread is at the line */
    vyre_backend *backend;
    vy_job job;
} vy_stores;

void vy_stores_start(vy_stores *stores, vyre_backend *backend);
/* After the pool's threads have ended. */
void vy_stores_end(vy_stores *stores);

/* Around a call of the backend's compiler. */
void vy_stores_begin_compile(vy_stores *stores);
void vy_stores_end_compile(vy_stores *stores);

/* Part `index` of a code was compiled from this program: now or later it is stored under the key, if its backend makes binaries and there
 * is a disk to keep them. Best effort: a pipeline that cannot be stored is still a pipeline. Inside the backend. */
void vy_store_part(vy_code *code, uint32_t index, const vyre_program *program, const vy_cache_key *key);
/* Waits until what is in line now is stored; what is put there meanwhile may be left. Not inside the backend. */
void vy_stores_finish(vy_stores *stores);

#endif
