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

#include "driver/dispatch_table.h"
#include "driver/lru.h"
#include "driver/multi_launch.h"

#include <pthread.h>
#include <stdatomic.h>

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

/* An executable whose entries run on the backend itself, until vy_executable_set_entry gives them native pipelines. Takes the stages over. NULL when memory
 * is out. */
vy_executable *vy_executable_new(vyre_backend *backend, vy_multi_launch *stages);
/* A native pipeline becomes entry `index`. VYRE_CORRUPT if its table is not complete; it is destroyed then, if it can be. */
vyre_status vy_executable_set_entry(vy_executable *executable, uint32_t index, const vyre_native_pipeline *native,
                                    vyre_error *error);
int vy_executable_is_native(const vy_executable *executable); /* all entries */
/* As vy_prepare (prepare_once.h), asked once of an executable. Executables are retired when the backend forgets what it is prepared for. */
vyre_status vy_executable_prepare(vy_executable *executable, vyre_program *program, vyre_error *error);

#endif
