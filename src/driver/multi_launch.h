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

#include "ir/dispatch_resolve.h"
#include "vyre/backend.h"
#include "vyre/pipeline.h"

#include <pthread.h>

struct vy_call;
typedef struct vy_dispatch_table vy_dispatch_table; /* executable.h */

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

/* ---- grid barriers inside one launch ---- */

/* Grid barriers inside one launch, where a backend can do that for some grids and not for others (`grid_sync_limit`, vyre/backend.h).
 *
 * It is decided at each dispatch, on the road of dispatch.h and resource_dispatch.h: if all workgroups of the grid run at the same time, the program is launched once, as it is, through a
 * native pipeline; else in stages. That pipeline is compiled when a grid is first small enough for it, and kept as all executables are. Whatever stands in the way is no error: there
 * are always the stages. Batches, sequences and dispatches in flight come here one by one. */
/* Programs that cannot be compiled whole, the latest first: they are not tried again. A part of vyre_backend. */
enum { VY_GRID_REFUSALS = 16 };
typedef struct vy_grid_sync {
    pthread_mutex_t lock;
    vyre_digest refused[VY_GRID_REFUSALS];
    uint32_t next; /* place; counts on */
} vy_grid_sync;
void vy_grid_sync_start(vy_grid_sync *sync);
void vy_grid_sync_end(vy_grid_sync *sync);

/* What may end a dispatch. */
typedef struct vy_stop_condition {
    int may_stop;         /* there is a deadline or a word to cancel */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
} vy_stop_condition;

/* Why the grid barriers of a dispatch run as they do. X(ID, sentence) */
#define VY_GRID_SYNC_LIST(X)                                                                                           \
    X(NONE, "it has none")                                                                                             \
    X(ALWAYS, "inside one launch: the backend does that for every grid")                                               \
    X(FITS, "inside one launch: all workgroups of the grid run at the same time")                                      \
    X(NO_OTHER_WAY, "as several launches: the device has no other way")                                                \
    X(CANNOT_STOP, "as several launches: the backend cannot stop one at its deadline, and ends between two")           \
    X(TOO_LARGE, "as several launches: the grid has more workgroups than run at the same time")                        \
    X(REFUSED, "as several launches: the backend did not compile the program as a whole")
typedef enum vy_grid_sync_reason {
#define X(ID, sentence) VY_GRID_SYNC_##ID,
    VY_GRID_SYNC_LIST(X)
#undef X
        VY_GRID_SYNC_COUNT
} vy_grid_sync_reason;
const char *vy_grid_sync_sentence(vy_grid_sync_reason reason);

/* Decides, for a call that has its form and is not staged yet. FITS: the call has the executable and dispatch_table that run it; vy_call_cleanup follows. pipeline may be NULL. Inside the
 * backend. */
vy_grid_sync_reason vy_call_try_cooperative(struct vy_call *call, vyre_pipeline *pipeline, vyre_program *program,
                                            const vy_resolved_dispatch *resolved, vy_stop_condition stop);

/* What would be decided now for a dispatch of the pipeline on host bytes. From outside the backend. */
vy_grid_sync_reason vy_pipeline_grid_sync(vyre_pipeline *pipeline, const vy_resolved_dispatch *resolved);

#endif
