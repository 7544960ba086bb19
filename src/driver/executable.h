/* Executables: the compiled form of a program on a backend, shared by pipelines, and the LRU cache of them in memory.
 *
 * An executable has one entry for each launched program: one, or one per stage (multi_launch.h). It is shared by
 * pipelines, by the backend's table in memory, and by calls that may outlive their caller. An executable does not
 * retain its backend, its owners do. So the table, which belongs to the backend, creates no reference cycle.
 *
 * The native pipelines of an executable end before their device: shutdown and recovery retire all executables first,
 * while no thread is inside the backend. A pipeline whose executable was retired gets a new one. Only an abandoned call
 * keeps the native pipelines of its executable until it returns. No lock is held while backend code runs. */
#ifndef VY_DRIVER_EXECUTABLE_H
#define VY_DRIVER_EXECUTABLE_H

#include "vyre/driver.h"

#include "base/memory.h"
#include "driver/cache_entry.h"
#include "driver/multi_launch.h"

#include <pthread.h>
#include <stdatomic.h>

/* Dispatch entries of a backend, or of a pipeline that a backend compiled. Both have the same entries, so
 * backend_call.c serves both, with the same fallbacks for missing entries. */
typedef struct vy_dispatch_table {
    void *self;
    /* Required. */
    vyre_status (*dispatch)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error);
    /* Optional; may be NULL. */
    vyre_status (*dispatch_borrowed)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error);
    vyre_status (*dispatch_borrowed_timed)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_timing *timing,
                                           vyre_error *error);
    vyre_status (*dispatch_borrowed_into)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                          size_t input_count, vyre_outputs *outputs, vyre_error *error);
    /* Of a backend: owned bytes. */
    vyre_status (*dispatch_async)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error);
    vyre_status (*dispatch_borrowed_async)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_native_pending *out, vyre_error *error);
    /* Of a backend: all bindings resident. */
    vyre_status (*dispatch_resident)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                     size_t binding_count, vyre_timing *timing, vyre_error *error);
    /* Of a pipeline: host bytes and resident buffers mixed. */
    vyre_status (*dispatch_persistent)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                       size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                       vyre_error *error);
} vy_dispatch_table;

/* Whether it runs on resident buffers. */
static inline int vy_dispatch_table_is_resident(const vy_dispatch_table *dispatch_table) {
    return dispatch_table->dispatch_resident || dispatch_table->dispatch_persistent;
}

/* A native pipeline. If absent, `calls.dispatch` is NULL, and the dispatch_table is the backend's. */
typedef struct vy_executable_entry {
    vyre_pipeline_vtable calls; /* copied; complete */
    void *self;
} vy_executable_entry;

typedef struct vy_executable {
    _Atomic uint32_t references;
    _Atomic uint32_t users;                /* calls that may be abandoned: they keep the native pipelines */
    _Atomic int is_retired;                /* its device has ended or is about to */
    vyre_backend *backend;                 /* borrowed */
    struct vy_executable *previous, *next; /* the backend's live executables, under its lock */
    struct vy_executable *also;            /* next in a list of executables removed under the lock */
    int is_destroyed;                      /* the native pipelines; under the lock */
    vy_multi_launch *stages;               /* NULL: one launch of the program itself */
    _Atomic int is_prepared;               /* the backend is prepared for this program */
    uint8_t has_native;                    /* at least one entry is native */
    uint8_t is_resident;                   /* native, and all entries run on resident buffers */
    uint8_t is_persistent;                 /* native, and all entries accept a mix of these and host bytes */
    uint32_t count;
    vy_executable_entry *entries;
    vy_dispatch_table dispatch_tables[]; /* one per entry */
} vy_executable;

/* Bounded LRU table from keys to pointers. The caller owns the pointed-to values and the lock. */

/* Links are indices into `entries` plus one; 0: none. */
typedef struct vy_lru_entry {
    vy_cache_key key;
    void *value;
    uint32_t next_in_bucket; /* in the bucket, or in the list of free entries */
    uint32_t newer, older;   /* neighbours in the order of use */
} vy_lru_entry;

/* Starts zeroed. */
typedef struct vy_lru {
    VY_VECTOR(vy_lru_entry) entries;
    uint32_t *buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t count;
    uint32_t newest, oldest, free;
} vy_lru;

/* A compile in progress; equal ones wait for it. */
typedef struct vy_inflight_compile {
    vy_cache_key key;
    struct vy_inflight_compile *next;
    vy_executable *executable; /* the result; a reference, or NULL */
    uint32_t waiters;
    int is_done;
} vy_inflight_compile;

/* The executables of a backend. */
typedef struct vy_executable_cache {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a compile has ended, or native pipelines are destroyed */
    vy_executable *live;
    uint32_t destroying; /* executables whose native pipelines are being destroyed */
    vy_lru memory;       /* of vy_executable, each a reference */
    vy_inflight_compile *inflight_compiles;
    _Atomic uint64_t hits, misses; /* in memory and on disk */
    vyre_bytes identity;           /* result of cache_identity; empty: not queried yet */
} vy_executable_cache;

void vy_executable_cache_start(vy_executable_cache *executables);
/* After vy_executable_cache_retire, when no pipeline exists. */
void vy_executable_cache_end(vy_executable_cache *executables);
/* Empties the table and destroys the native pipelines of all executables except those of abandoned calls. Called before
 * the device ends, while no thread is inside the backend. */
void vy_executable_cache_retire(vyre_backend *backend);

/* The forms of an executable: as few launches as any grid within the limit allows; the same for a grid over the
 * device's limit; one cooperative launch with grid barriers inside (multi_launch.h). */
typedef enum vy_executable_form {
    VY_EXECUTABLE_PLAIN,
    VY_EXECUTABLE_TILED,
    VY_EXECUTABLE_COOPERATIVE
} vy_executable_form;

/* Returns the executable of a program: from memory, from disk, or compiled now. vy_executable_release must follow.
 * Inside the backend. error is never NULL. */
vyre_status vy_executable_get(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                              vy_executable_form form, vy_executable **out, vyre_error *error);
vy_executable *vy_executable_retain(vy_executable *executable);
void vy_executable_release(vy_executable *executable);
/* For a call that may be abandoned: a reference that also keeps the native pipelines. NULL is ignored. */
void vy_executable_pin(vy_executable *executable);
void vy_executable_unpin(vy_executable *executable);

int vy_executable_is_native(const vy_executable *executable); /* all entries */

/* As vy_prepare (backend.h), called once per executable. Executables are retired when the backend discards its prepared
 * programs. */
vyre_status vy_executable_prepare(vy_executable *executable, vyre_program *program, vyre_error *error);

#endif
