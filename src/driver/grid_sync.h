/* Grid barriers inside one launch, where a backend can do that for some grids and not for others (`grid_sync_limit`, vyre/backend.h).
 *
 * It is decided at each dispatch, on the road of dispatch.h and resource_dispatch.h: if all workgroups of the grid run at the same time, the program is launched once, as it is, through a
 * native pipeline; else in stages. That pipeline is compiled when a grid is first small enough for it, and kept as all executables are. Whatever stands in the way is no error: there
 * are always the stages. Batches, sequences and dispatches in flight come here one by one. */
#ifndef VY_DRIVER_GRID_SYNC_H
#define VY_DRIVER_GRID_SYNC_H

#include "ir/dispatch_resolve.h"
#include "vyre/pipeline.h"

#include <pthread.h>

struct vy_call;

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
