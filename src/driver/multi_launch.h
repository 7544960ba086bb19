/* Multi-launch dispatch: a dispatch that one launch cannot run on a backend runs as several sequential launches,
 * invisibly to the caller.
 *
 * There are two reasons. The program has a grid barrier, and the backend supports none (split/grid_split.h) or none for
 * a grid of this size (below). Or the grid exceeds the device's limit in a dimension (split/grid_tile.h). The stages
 * are below vy_call_run, so every path uses them: host bytes, resident, deadline, async, batch, pipeline. The creator
 * of a vy_call passes it to vy_call_prepare before it runs, and to vy_call_cleanup afterwards. */
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

/* Returns the stages of a program, from the backend's cache or created now. vy_multi_launch_release must follow. error
 * is never NULL. */
vyre_status vy_multi_launch_get(vyre_backend *backend, const vyre_program *program, int is_tiled, vy_multi_launch **out,
                                vyre_error *error);
vy_multi_launch *vy_multi_launch_retain(vy_multi_launch *stages); /* NULL stays NULL */
void vy_multi_launch_release(vy_multi_launch *stages);            /* NULL is ignored */

/* The programs, for a pipeline that compiles each of them; index < count. */
uint32_t vy_multi_launch_count(const vy_multi_launch *stages);
vyre_program *vy_multi_launch_program(const vy_multi_launch *stages, uint32_t index); /* borrowed */

/* Stages of a pipeline's program, with a compiled dispatch_table for each. Borrowed: the pipeline must outlive the
 * call, including an abandoned one. */
typedef struct vy_multi_launch_tables {
    vy_multi_launch *stages;                  /* NULL: the backend's stages and its own dispatch_table are used */
    const vy_dispatch_table *dispatch_tables; /* by stage */
} vy_multi_launch_tables;

/* Prepares a call: creates stages if it needs them, else prepares the backend for the program. `resolved` must stay
 * valid until the call has run. staged (may be NULL) has two elements, indexed by is_tiled.
 *
 * VYRE_LIMIT  values that live across a grid barrier exceed a limit of the language or of the device */
vyre_status vy_call_prepare(struct vy_call *call, vyre_program *program, const vy_resolved_dispatch *resolved,
                            const vy_multi_launch_tables staged[2], vyre_error *error);
void vy_call_cleanup(struct vy_call *call);

/* Runs all launches of a call that has stages. error is never NULL. */
vyre_status vy_multi_launch_run(const struct vy_call *call, vyre_error *error);

/* The most recently used stages of a backend. */
enum { VY_MULTI_LAUNCH_CACHE_SIZE = 16 };
typedef struct vy_multi_launch_cache {
    pthread_mutex_t lock;
    vy_multi_launch *items[VY_MULTI_LAUNCH_CACHE_SIZE]; /* most recently used first; NULL after the last */
} vy_multi_launch_cache;
void vy_multi_launch_cache_start(vy_multi_launch_cache *cache);
void vy_multi_launch_cache_end(vy_multi_launch_cache *cache);

/* ---- cooperative launch ---- */

/* Cooperative launch: grid barriers inside one launch, on a backend that supports that for some grids
 * (`grid_sync_limit`, vyre/backend.h).
 *
 * Every dispatch decides. If all workgroups of the grid can run at the same time, the unmodified program is launched
 * once, through a native pipeline; else in stages. That pipeline is compiled with the stages, and cached like all
 * executables. If the program cannot be compiled as a whole, dispatches use stages. Batches, sequences and
 * asynchronous dispatches decide per item. */

/* Programs that cannot be compiled as a whole and are not tried again: a ring buffer. */
enum { VY_GRID_REFUSALS = 16 };
typedef struct vy_grid_sync {
    pthread_mutex_t lock;
    vyre_digest refused[VY_GRID_REFUSALS];
    uint32_t next; /* next index; wraps */
} vy_grid_sync;
void vy_grid_sync_start(vy_grid_sync *sync);
void vy_grid_sync_end(vy_grid_sync *sync);

/* Conditions that may end a dispatch early. */
typedef struct vy_stop_condition {
    int may_stop;         /* a deadline or a cancel word exists */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
} vy_stop_condition;

/* How the grid barriers of a dispatch run, and why. X(ID, sentence) */
#define VY_GRID_SYNC_LIST(X)                                                                                           \
    X(NONE, "it has none")                                                                                             \
    X(ALWAYS, "inside one launch: the backend supports that for every grid")                                           \
    X(FITS, "inside one launch: all workgroups of the grid run at the same time")                                      \
    X(NO_OTHER_WAY, "as several launches: the backend has no cooperative launch")                                      \
    X(CANNOT_STOP, "as several launches: the backend cannot stop a launch at its deadline")                            \
    X(TOO_LARGE, "as several launches: the grid has more workgroups than run at the same time")                        \
    X(REFUSED, "as several launches: the backend did not compile the program as a whole")
typedef enum vy_grid_sync_reason {
#define X(ID, sentence) VY_GRID_SYNC_##ID,
    VY_GRID_SYNC_LIST(X)
#undef X
        VY_GRID_SYNC_COUNT
} vy_grid_sync_reason;
const char *vy_grid_sync_sentence(vy_grid_sync_reason reason);

/* Compiles the program of the pipeline as a whole, if it has grid barriers and the backend launches cooperatively, so
 * that no dispatch has to. A failure that would repeat is not an error. Inside the backend. error is never NULL.
 *
 * VYRE_TIMEOUT, VYRE_NO_MEMORY, VYRE_NO_DEVICE_MEMORY, VYRE_DEVICE_LOST */
vyre_status vy_pipeline_prepare_cooperative(vyre_pipeline *pipeline, uint64_t deadline_ns, vyre_error *error);

/* Decides for a call that has its form and no stages yet. FITS: the call has the executable and dispatch_table to run;
 * vy_call_cleanup must follow. pipeline may be NULL. Inside the backend. */
vy_grid_sync_reason vy_call_try_cooperative(struct vy_call *call, vyre_pipeline *pipeline, vyre_program *program,
                                            const vy_resolved_dispatch *resolved, vy_stop_condition stop);

/* The decision for a dispatch of the pipeline on host bytes. From outside the backend. */
vy_grid_sync_reason vy_pipeline_grid_sync(vyre_pipeline *pipeline, const vy_resolved_dispatch *resolved);

#endif
