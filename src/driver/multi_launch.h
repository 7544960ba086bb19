/* Stages: a dispatch that one launch cannot do on this backend runs as several, one after the other, and nobody above sees it.
 *
 * Two causes: the program has a grid barrier and the backend has none (split/grid_split.h) or none for so large a grid (grid_sync.h), or the grid is over the device's
 * limit in a dimension (split/grid_tile.h). The stages stand below vy_call_run, so every path (host bytes, resident, deadline thread,
 * async, batch, pipeline) passes them alike: who makes a vy_call hands it to vy_call_prepare first and, after it ran, to vy_call_cleanup.
 *
 * multi_launch.c makes the programs and keeps them, multi_launch_run.c launches them, multi_launch_resident.c and multi_launch_host.c have the two ways in which
 * the launches share memory. */
#ifndef VY_DRIVER_MULTI_LAUNCH_H
#define VY_DRIVER_MULTI_LAUNCH_H

#include "driver/dispatch_table.h"
#include "ir/dispatch_resolve.h"

#include <pthread.h>

struct vy_call;

/* The programs to launch. Immutable, reference counted, any thread. */
typedef struct vy_multi_launch vy_multi_launch;

/* The stages of a program, from the backend's cache or made now; vy_multi_launch_release follows. error is never NULL. */
vyre_status vy_multi_launch_get(vyre_backend *backend, const vyre_program *program, int is_tiled, vy_multi_launch **out,
                                vyre_error *error);
vy_multi_launch *vy_multi_launch_retain(vy_multi_launch *stages); /* NULL stays NULL */
void vy_multi_launch_release(vy_multi_launch *stages);            /* NULL is ignored */
/* The programs, for a pipeline that compiles each; index < count. */
uint32_t vy_multi_launch_count(const vy_multi_launch *stages);
vyre_program *vy_multi_launch_program(const vy_multi_launch *stages, uint32_t index); /* borrowed */

/* What a pipeline knows of its program's stages: the programs, and a compiled dispatch_table for each. Borrowed: the pipeline must outlive the
 * call, also one that is abandoned at its deadline. */
typedef struct vy_multi_launch_tables {
    vy_multi_launch *stages; /* NULL: not known; those of the backend are used, with the backend's own dispatch_table */
    const vy_dispatch_table *dispatch_tables; /* by stage */
} vy_multi_launch_tables;

/* Makes a call ready to run: with stages if it needs them, else with the backend prepared for the program. `resolved` must live until
 * the call has run; staged (may be NULL) are two, by is_tiled.
 *
 * VYRE_LIMIT  what lives across a grid barrier is over a limit of the language or of the device */
vyre_status vy_call_prepare(struct vy_call *call, vyre_program *program, const vy_resolved_dispatch *resolved,
                            const vy_multi_launch_tables staged[2], vyre_error *error);
void vy_call_cleanup(struct vy_call *call);

/* Runs all launches of a call that has stages. error is never NULL. */
vyre_status vy_multi_launch_run(const struct vy_call *call, vyre_error *error);

/* The stages a backend used last: a part of vyre_backend. */
enum { VY_MULTI_LAUNCH_CACHE_SIZE = 16 };
typedef struct vy_multi_launch_cache {
    pthread_mutex_t lock;
    vy_multi_launch *items[VY_MULTI_LAUNCH_CACHE_SIZE]; /* the latest first; NULL from where there are no more */
} vy_multi_launch_cache;
void vy_multi_launch_cache_start(vy_multi_launch_cache *cache);
void vy_multi_launch_cache_end(vy_multi_launch_cache *cache);

#endif
