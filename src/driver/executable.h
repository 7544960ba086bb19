/* Compiled executable: what a backend made of a program, and what is shared behind pipelines.
 *
 * An executable has one entry for each program that is launched: one, or one for each stage (multi_launch.h). Executables are shared by pipelines, by the backend's
 * table in memory and by calls that may outlive their caller. They do not keep the backend alive, their owners do; so the table, which
 * is the backend's, makes no circle.
 *
 * The native pipelines of an executable are gone before their device is: shutdown and recovery retire all executables first, while nobody is inside the
 * backend. A pipeline that finds its executable retired gets another. Only a call that was abandoned keeps its executable's native pipelines
 * until it comes back. No lock is held while driver code runs. */
#ifndef VY_DRIVER_EXECUTABLE_H
#define VY_DRIVER_EXECUTABLE_H

#include "vyre/driver.h"

#include "base/memory.h"
#include "driver/cache_key.h"
#include "driver/multi_launch.h"

#include <pthread.h>
#include <stdatomic.h>

/* What runs a program: a backend, or a pipeline a backend compiled from it. Both have the same entries, so one caller (backend_call.c)
 * serves both, with the same defaults for those that are missing. */
typedef struct vy_dispatch_table {
    void *self;
    /* Required. */
    vyre_status (*dispatch)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error);
    /* NULL where it has none. */
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

/* A native pipeline. Without one, `calls.dispatch` is NULL, and the dispatch_table is the backend's own. */
typedef struct vy_executable_entry {
    vyre_pipeline_vtable calls; /* copied; complete */
    void *self;
} vy_executable_entry;

typedef struct vy_executable {
    _Atomic uint32_t references;
    _Atomic uint32_t users;                /* calls that may be abandoned: they keep the native pipelines */
    _Atomic int is_retired;                /* its device is gone or going */
    vyre_backend *backend;                 /* borrowed */
    struct vy_executable *previous, *next; /* the backend's live executables, under its lock */
    struct vy_executable *also;            /* a list of somebody who took it out under the lock */
    int is_destroyed;                      /* its native pipelines; under the lock */
    vy_multi_launch *stages;               /* NULL: one launch of the program itself */
    _Atomic int is_prepared;               /* the backend, for this program */
    uint8_t has_native;                    /* any entry */
    uint8_t is_resident;                   /* a native one whose entries all run on resident buffers */
    uint8_t is_persistent;                 /* likewise on those mixed with host bytes */
    uint32_t count;
    vy_executable_entry *entries;
    vy_dispatch_table dispatch_tables[]; /* one an entry */
} vy_executable;

/* A bounded table from keys to pointers that forgets what was used longest ago. What it points at, and the lock around it, are the caller's. */
/* Places in `entries`, plus one; 0 is none. */
typedef struct vy_lru_entry {
    vy_cache_key key;
    void *value;
    uint32_t next_in_bucket; /* the next of the same bucket, or of the free ones */
    uint32_t newer, older;   /* neighbours in the order of use */
} vy_lru_entry;

/* Starts as zeros. */
typedef struct vy_lru {
    VY_VECTOR(vy_lru_entry) entries;
    uint32_t *buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t count;
    uint32_t newest, oldest, free;
} vy_lru;

/* A compile under way; equal ones wait for it. */
typedef struct vy_inflight_compile {
    vy_cache_key key;
    struct vy_inflight_compile *next;
    vy_executable *executable; /* of one that succeeded; a reference */
    uint32_t waiters;
    int is_done;
} vy_inflight_compile;

/* The executables of a backend. */
typedef struct vy_executable_cache {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an inflight is done, or native pipelines are destroyed */
    vy_executable *live;
    uint32_t destroying; /* executables whose native pipelines are being destroyed now */
    vy_lru memory;       /* of vy_executable, each a reference */
    vy_inflight_compile *inflight_compiles;
    _Atomic uint64_t hits, misses; /* in memory and on disk */
    vyre_bytes identity;           /* what cache_identity said; empty: not asked yet */
} vy_executable_cache;

void vy_executable_cache_start(vy_executable_cache *executables);
/* After vy_executable_cache_retire, when no pipeline is left. */
void vy_executable_cache_end(vy_executable_cache *executables);
/* Empties the table and destroys the native pipelines of all executables, but for those of abandoned calls. Before the device ends; nobody is
 * inside the backend. */
void vy_executable_cache_retire(vyre_backend *backend);

/* What becomes of a program: as few launches as every grid takes; the same for a grid over the device's limit; one launch, grid barriers and all (grid_sync.h). */
typedef enum vy_executable_form {
    VY_EXECUTABLE_PLAIN,
    VY_EXECUTABLE_TILED,
    VY_EXECUTABLE_COOPERATIVE
} vy_executable_form;

/* What a launch of the program on this backend runs through: found in memory or on disk, or compiled now; vy_executable_release follows. Inside
 * the backend. error is never NULL. */
vyre_status vy_executable_get(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                              vy_executable_form form, vy_executable **out, vyre_error *error);
vy_executable *vy_executable_retain(vy_executable *executable);
void vy_executable_release(vy_executable *executable);
/* For a call that may be abandoned: a reference that also keeps the native pipelines. NULL is ignored. */
void vy_executable_pin(vy_executable *executable);
void vy_executable_unpin(vy_executable *executable);

int vy_executable_is_native(const vy_executable *executable); /* all entries */
/* As vy_prepare (prepare_once.h), asked once of an executable. Executables are retired when the backend forgets what it is prepared for. */
vyre_status vy_executable_prepare(vy_executable *executable, vyre_program *program, vyre_error *error);

#endif
