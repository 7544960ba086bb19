/* Write-back queue of the disk cache, and the thread that drains it (cache_writeback.h). */
#include "driver/cache_writeback.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "driver/cache_disk.h"
#include "driver/pipeline.h"
#include "driver/telemetry.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static const uint64_t EXIT_WAIT_NS = 30000000000;
enum {
    QUIET_NS = 100000000, /* longer than the pauses of a program that compiles sequentially */
    LONG_QUEUE = 16,      /* from this length on, the queue is drained without delay */
    FULL_QUEUE = 64
};

typedef struct vy_writeback {
    struct vy_writeback *next;
    vy_executable *executable; /* a reference */
    uint32_t entry;
    vy_cache_key key;
    char label[VY_PIPELINE_ID];
} vy_writeback;

typedef vyre_status serializer(void *self, vyre_bytes *out, vyre_error *error);

/* ---- one binary ---- */

static void store_binary(vyre_backend *backend, serializer *serialize, void *self, const vy_cache_key *key,
                         const char *label) {
    vyre_bytes binary = VYRE_BYTES_INIT;
    vyre_error error;
    if (!vy_disk_cache_is_enabled())
        return;
    vy_error_clear(&error);
    vy_span span = vy_span_begin();
    vyre_status status = vy_backend_check_result_bytes(backend, serialize(self, &binary, &error), &binary, &error);
    if (status == VYRE_OK && binary.size)
        vy_disk_cache_store(key, label, (vyre_span){binary.data, binary.size});
    vy_span_end(span, cache, .backend = backend->id, .bytes = binary.size, .status = status);
    if (status != VYRE_OK)
        vy_log(1, backend->id, error.message);
    vyre_bytes_free(&binary);
}

/* The native pipelines of an executable exist until it is retired, and it is not retired while a thread is inside the
 * backend. */
static void serialize_and_store(vyre_backend *backend, const vy_writeback *store) {
    const vy_executable_entry *entry = &store->executable->entries[store->entry];
    if (vy_backend_enter(backend, NULL) != VYRE_OK)
        return;
    if (!atomic_load(&store->executable->is_retired))
        store_binary(backend, entry->calls.serialize_later, entry->self, &store->key, store->label);
    vy_backend_leave(backend);
}

/* ---- process exit ----
 *
 * A driver shuts itself down at exit, and a thread inside it then crashes. So once exit has begun, no new binary is
 * started, and exit waits for the binaries in progress. If a thread waits for the queue, exit waits until the queue is
 * empty. A thread that starts a binary increments the count first and checks the flag afterwards; exit sets the flag
 * first and reads the count afterwards. */

static _Atomic unsigned serializing; /* threads that produce a binary after the compile */
static _Atomic int is_ending;
static _Thread_local unsigned own; /* this thread's part of `serializing` */

static int begin_serialize(const vy_writeback_queue *stores) {
    atomic_fetch_add(&serializing, 1);
    own = !atomic_load(&is_ending) || stores->urgent_waiters;
    if (!own)
        atomic_fetch_sub(&serializing, 1);
    return (int)own;
}

static void end_serialize(void) {
    atomic_fetch_sub(&serializing, own);
    own = 0;
}

/* The thread that ends the process may be serializing itself. A driver that hangs does not block exit for longer than
 * EXIT_WAIT_NS. */
static void wait_at_exit(void) {
    const struct timespec pause = {0, 1000000};
    uint64_t end = vy_clock_now() + EXIT_WAIT_NS;
    atomic_store(&is_ending, 1);
    while (atomic_load(&serializing) > own && vy_clock_now() < end)
        nanosleep(&pause, NULL);
}

static void reset_after_fork(void) {
    atomic_store(&serializing, 0);
}

/* Installed after the first compile: libraries that were initialised before, including the driver, are torn down after
 * this handler. */
static void install_exit_handlers(void) {
    (void)atexit(wait_at_exit);
    (void)pthread_atfork(NULL, NULL, reset_after_fork);
}

/* ---- the queue ---- */

/* Waits until no compile has run for QUIET_NS. With the lock held, which is released during the wait; the same for
 * store_next. */
static void wait_until_quiet(vy_writeback_queue *stores) {
    while (!stores->urgent_waiters && stores->count < LONG_QUEUE) {
        uint64_t end = stores->compiled + QUIET_NS;
        struct timespec until = vy_clock_timespec(end);
        if (stores->compiling)
            pthread_cond_wait(&stores->changed, &stores->lock);
        else if (vy_clock_now() >= end)
            return;
        else
            pthread_cond_timedwait(&stores->changed, &stores->lock, &until);
    }
}

static void store_next(vy_writeback_queue *stores) {
    vy_writeback *store = stores->first;
    stores->first = store->next;
    stores->count--;
    if (!stores->first)
        stores->last = NULL;
    pthread_mutex_unlock(&stores->lock);
    serialize_and_store(stores->backend, store);
    end_serialize();
    vy_executable_release(store->executable);
    vy_release(store, sizeof *store);
    pthread_mutex_lock(&stores->lock);
    stores->done++;
    pthread_cond_broadcast(&stores->changed);
}

/* Drains until `last` entries are done. Entries that are added meanwhile are left to another thread. */
static void drain_until(vy_writeback_queue *stores, uint64_t last) {
    pthread_mutex_lock(&stores->lock);
    while (stores->first && stores->done < last) {
        wait_until_quiet(stores);
        if (begin_serialize(stores))
            store_next(stores);
        else
            pthread_cond_wait(&stores->changed, &stores->lock);
    }
    stores->is_draining = 0;
    pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
}

static void drain(vy_thread_pool_job *job) {
    drain_until((vy_writeback_queue *)((char *)job - offsetof(vy_writeback_queue, job)), UINT64_MAX);
}

/* Returns the number of entries added so far. */
static uint64_t set_urgent(vy_writeback_queue *stores, int by) {
    pthread_mutex_lock(&stores->lock);
    uint64_t last = stores->put;
    stores->urgent_waiters += (unsigned)by;
    pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
    return last;
}

/* If no thread can be started, the caller drains the queue. */
static void start_drain(vy_writeback_queue *stores) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_exit_handlers);
    vy_thread_pool *pool = vy_async_pool(&stores->backend->async);
    stores->job = (vy_thread_pool_job){.run = drain};
    if (pool && vy_thread_pool_submit(pool, &stores->job))
        return;
    drain_until(stores, set_urgent(stores, 1));
    set_urgent(stores, -1);
}

/* Returns 0 if the queue is full. */
static int enqueue(vy_writeback_queue *stores, vy_writeback *store) {
    pthread_mutex_lock(&stores->lock);
    int is_full = stores->count >= FULL_QUEUE, must_serve = !stores->is_draining;
    stores->is_draining = 1;
    if (!is_full) {
        *(stores->last ? &stores->last->next : &stores->first) = store;
        stores->last = store;
        stores->count++;
        stores->put++;
        pthread_cond_broadcast(&stores->changed);
    }
    pthread_mutex_unlock(&stores->lock);
    if (must_serve)
        start_drain(stores);
    return !is_full;
}

void vy_writeback_store(vy_executable *executable, uint32_t index, const vyre_program *program,
                        const vy_cache_key *key) {
    vyre_backend *backend = executable->backend;
    const vy_executable_entry *entry = &executable->entries[index];
    serializer *serialize = entry->calls.serialize ? entry->calls.serialize : entry->calls.serialize_later;
    char label[VY_PIPELINE_ID];
    if (!serialize || !backend->calls.load || !vy_disk_cache_is_enabled())
        return;
    vy_pipeline_name(backend, program, label);
    vy_writeback *store = entry->calls.serialize ? NULL : vy_allocate_zero(sizeof *store);
    if (store) {
        *store = (vy_writeback){.executable = vy_executable_retain(executable), .entry = index, .key = *key};
        memcpy(store->label, label, sizeof label);
        if (enqueue(&backend->writebacks, store))
            return;
        vy_executable_release(executable);
        vy_release(store, sizeof *store);
    }
    store_binary(backend, serialize, entry->self, key, label);
}

/* The thread that drops the last reference may be the only thread of the pool; no other thread would run the job. */
static void drain_own(vy_writeback_queue *stores) {
    vy_thread_pool *pool = vy_async_pool(&stores->backend->async);
    if (pool && vy_thread_pool_remove(pool, &stores->job))
        drain(&stores->job);
}

void vy_writeback_queue_flush(vy_writeback_queue *stores) {
    if (vy_backend_is_inherited(stores->backend))
        return;
    uint64_t last = set_urgent(stores, 1);
    pthread_mutex_lock(&stores->lock);
    int is_done = stores->done >= last;
    pthread_mutex_unlock(&stores->lock);
    if (!is_done)
        drain_own(stores);
    pthread_mutex_lock(&stores->lock);
    while (stores->done < last) {
        if (stores->is_draining) {
            pthread_cond_wait(&stores->changed, &stores->lock);
            continue;
        }
        stores->is_draining = 1; /* the previous thread has ended, and no other has started */
        pthread_mutex_unlock(&stores->lock);
        start_drain(stores);
        drain_own(stores);
        pthread_mutex_lock(&stores->lock);
    }
    pthread_mutex_unlock(&stores->lock);
    set_urgent(stores, -1);
}

void vyre_backend_flush_cache(vyre_backend *backend) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (backend)
        vy_writeback_queue_flush(&backend->writebacks);
}

/* ---- compiles in progress ---- */

void vy_writeback_queue_begin_compile(vy_writeback_queue *stores) {
    pthread_mutex_lock(&stores->lock);
    stores->compiling++;
    pthread_mutex_unlock(&stores->lock);
}

void vy_writeback_queue_end_compile(vy_writeback_queue *stores) {
    pthread_mutex_lock(&stores->lock);
    stores->compiling--;
    stores->compiled = vy_clock_now();
    if (stores->is_draining)
        pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
}

void vy_writeback_queue_start(vy_writeback_queue *stores, vyre_backend *backend) {
    pthread_mutex_init(&stores->lock, NULL);
    vy_cond_init_monotonic(&stores->changed);
    stores->backend = backend;
}

void vy_writeback_queue_end(vy_writeback_queue *stores) {
    pthread_cond_destroy(&stores->changed);
    pthread_mutex_destroy(&stores->lock);
}
