/* The line, and the thread at it (pipeline_store.h). */
#include "driver/pipeline_store.h"

#include "base/clock.h"
#include "base/thread.h"
#include "driver/cache_disk.h"
#include "driver/pipeline.h"
#include "driver/trace.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static const uint64_t PATIENCE_NS = 30000000000;
enum {
    QUIET_NS = 100000000, /* programs that are compiled one after the other come sooner */
    LONG = 16,            /* a line that does not wait for quiet any more */
    FULL = 64
};

typedef struct vy_store {
    struct vy_store *next;
    vy_code *code; /* a reference */
    uint32_t part;
    vy_cache_key key;
    char label[VY_PIPELINE_ID];
} vy_store;

typedef vyre_status serializer(void *self, vyre_bytes *out, vyre_error *error);

/* ---- one binary ---- */

static void store_binary(vyre_backend *backend, serializer *serialize, void *self, const vy_cache_key *key,
                         const char *label) {
    vyre_bytes binary = VYRE_BYTES_INIT;
    vyre_error error;
    if (!vy_disk_is_on())
        return;
    vy_error_clear(&error);
    vy_span span = vy_span_begin();
    vyre_status status = vy_backend_judge_bytes(backend, serialize(self, &binary, &error), &binary, &error);
    if (status == VYRE_OK && binary.size)
        vy_disk_store(key, label, (vyre_span){binary.data, binary.size});
    vy_span_end(span, cache, .backend = backend->id, .bytes = binary.size, .status = status);
    if (status != VYRE_OK)
        vy_log(1, backend->id, error.message);
    vyre_bytes_free(&binary);
}

/* The native pipelines of a code are there as long as it is not retired, and nobody retires it while somebody is inside. */
static void store_later(vyre_backend *backend, const vy_store *store) {
    const vy_part *part = &store->code->parts[store->part];
    if (vy_backend_enter(backend, NULL) != VYRE_OK)
        return;
    if (!atomic_load(&store->code->is_retired))
        store_binary(backend, part->calls.serialize_later, part->self, &store->key, store->label);
    vy_backend_leave(backend);
}

/* ---- the end of the process ----
 *
 * A driver takes itself down when the process ends, and whoever is inside it then crashes. So no binary is begun any more once that has begun, and
 * the one under way is waited for; but where somebody waits for the line, who ends the process waits with him. Whoever begins counts itself first and
 * looks at the flag afterwards; who ends does the opposite. */

static _Atomic unsigned making; /* threads that make a binary after the compile */
static _Atomic int is_ending;
static _Thread_local unsigned own; /* of `making` */

static int may_make(const vy_stores *stores) {
    atomic_fetch_add(&making, 1);
    own = !atomic_load(&is_ending) || stores->hurries;
    if (!own)
        atomic_fetch_sub(&making, 1);
    return (int)own;
}

static void have_made(void) {
    atomic_fetch_sub(&making, own);
    own = 0;
}

/* The thread that makes one may be the one that ends the process, and a driver that hangs does not keep it. */
static void end_with_process(void) {
    const struct timespec pause = {0, 1000000};
    uint64_t end = vy_clock_now() + PATIENCE_NS;
    atomic_store(&is_ending, 1);
    while (atomic_load(&making) > own && vy_clock_now() < end)
        nanosleep(&pause, NULL);
}

static void forget_threads(void) {
    atomic_store(&making, 0);
}

/* Once something was compiled: what was set up before, the driver with it, is taken down after this. */
static void watch_process(void) {
    (void)atexit(end_with_process);
    (void)pthread_atfork(NULL, NULL, forget_threads);
}

/* ---- the line ---- */

/* With the lock held, which is given up meanwhile; so is the next. */
static void wait_for_quiet(vy_stores *stores) {
    while (!stores->hurries && stores->count < LONG) {
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

static void store_next(vy_stores *stores) {
    vy_store *store = stores->first;
    stores->first = store->next;
    stores->count--;
    if (!stores->first)
        stores->last = NULL;
    pthread_mutex_unlock(&stores->lock);
    store_later(stores->backend, store);
    have_made();
    vy_code_release(store->code);
    vy_release(store, sizeof *store);
    pthread_mutex_lock(&stores->lock);
    stores->done++;
    pthread_cond_broadcast(&stores->changed);
}

/* Until as many are done as `last` says: others may put more meanwhile, and then there is somebody else. */
static void serve_until(vy_stores *stores, uint64_t last) {
    pthread_mutex_lock(&stores->lock);
    while (stores->first && stores->done < last) {
        wait_for_quiet(stores);
        if (may_make(stores))
            store_next(stores);
        else
            pthread_cond_wait(&stores->changed, &stores->lock);
    }
    stores->is_served = 0;
    pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
}

static void serve(vy_job *job) {
    serve_until((vy_stores *)((char *)job - offsetof(vy_stores, job)), UINT64_MAX);
}

/* How many were put in line so far. */
static uint64_t hurry(vy_stores *stores, int by) {
    pthread_mutex_lock(&stores->lock);
    uint64_t last = stores->put;
    stores->hurries += (unsigned)by;
    pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
    return last;
}

/* Without a thread the caller is at the line. */
static void start_serving(vy_stores *stores) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_process);
    vy_pool *pool = vy_async_pool(&stores->backend->async);
    stores->job = (vy_job){.run = serve};
    if (pool && vy_pool_submit(pool, &stores->job))
        return;
    serve_until(stores, hurry(stores, 1));
    hurry(stores, -1);
}

/* 0: it is full. */
static int put_in_line(vy_stores *stores, vy_store *store) {
    pthread_mutex_lock(&stores->lock);
    int is_full = stores->count >= FULL, must_serve = !stores->is_served;
    stores->is_served = 1;
    if (!is_full) {
        *(stores->last ? &stores->last->next : &stores->first) = store;
        stores->last = store;
        stores->count++;
        stores->put++;
        pthread_cond_broadcast(&stores->changed);
    }
    pthread_mutex_unlock(&stores->lock);
    if (must_serve)
        start_serving(stores);
    return !is_full;
}

void vy_store_part(vy_code *code, uint32_t index, const vyre_program *program, const vy_cache_key *key) {
    vyre_backend *backend = code->backend;
    const vy_part *part = &code->parts[index];
    serializer *serialize = part->calls.serialize ? part->calls.serialize : part->calls.serialize_later;
    char label[VY_PIPELINE_ID];
    if (!serialize || !backend->calls.load || !vy_disk_is_on())
        return;
    vy_pipeline_name(backend, program, label);
    vy_store *store = part->calls.serialize ? NULL : vy_allocate_zero(sizeof *store);
    if (store) {
        *store = (vy_store){.code = vy_code_retain(code), .part = index, .key = *key};
        memcpy(store->label, label, sizeof label);
        if (put_in_line(&backend->stores, store))
            return;
        vy_code_release(code);
        vy_release(store, sizeof *store);
    }
    store_binary(backend, serialize, part->self, key, label);
}

/* Who drops the last reference may be the one thread that could be started: nobody else comes for the job then. */
static void serve_own(vy_stores *stores) {
    vy_pool *pool = vy_async_pool(&stores->backend->async);
    if (pool && vy_pool_take_back(pool, &stores->job))
        serve(&stores->job);
}

void vy_stores_finish(vy_stores *stores) {
    if (vy_backend_is_inherited(stores->backend))
        return;
    uint64_t last = hurry(stores, 1);
    pthread_mutex_lock(&stores->lock);
    int is_done = stores->done >= last;
    pthread_mutex_unlock(&stores->lock);
    if (!is_done)
        serve_own(stores);
    pthread_mutex_lock(&stores->lock);
    while (stores->done < last) {
        if (stores->is_served) {
            pthread_cond_wait(&stores->changed, &stores->lock);
            continue;
        }
        stores->is_served = 1; /* whoever was there has left, and nobody has come since */
        pthread_mutex_unlock(&stores->lock);
        start_serving(stores);
        serve_own(stores);
        pthread_mutex_lock(&stores->lock);
    }
    pthread_mutex_unlock(&stores->lock);
    hurry(stores, -1);
}

void vyre_backend_store(vyre_backend *backend) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (backend)
        vy_stores_finish(&backend->stores);
}

/* ---- when ---- */

void vy_stores_begin_compile(vy_stores *stores) {
    pthread_mutex_lock(&stores->lock);
    stores->compiling++;
    pthread_mutex_unlock(&stores->lock);
}

void vy_stores_end_compile(vy_stores *stores) {
    pthread_mutex_lock(&stores->lock);
    stores->compiling--;
    stores->compiled = vy_clock_now();
    if (stores->is_served)
        pthread_cond_broadcast(&stores->changed);
    pthread_mutex_unlock(&stores->lock);
}

void vy_stores_start(vy_stores *stores, vyre_backend *backend) {
    pthread_mutex_init(&stores->lock, NULL);
    vy_cond_init_monotonic(&stores->changed);
    stores->backend = backend;
}

void vy_stores_end(vy_stores *stores) {
    pthread_cond_destroy(&stores->changed);
    pthread_mutex_destroy(&stores->lock);
}
