/* Stages: a dispatch that one launch cannot do on this backend runs as several, one after the other, and nobody above sees it.
 *
 * Two causes: the program has a grid barrier and the backend has none (split/grid_split.h) or none for so large a grid (grid_sync.h), or the grid is over the device's
 * limit in a dimension (split/grid_tile.h). The stages stand below vy_call_run, so every path (host bytes, resident, deadline thread,
 * async, batch, pipeline) passes them alike: who makes a vy_call hands it to vy_call_stage first and, after it ran, to vy_call_unstage.
 *
 * stages.c makes the programs and keeps them, stages_run.c launches them, stages_resident.c and stages_host.c have the two ways in which
 * the launches share memory. */
#ifndef VY_DRIVER_STAGES_H
#define VY_DRIVER_STAGES_H

#include "driver/target.h"
#include "ir/dispatch_resolve.h"

#include <pthread.h>

struct vy_call;

/* The programs to launch. Immutable, reference counted, any thread. */
typedef struct vy_stages vy_stages;

/* The stages of a program, from the backend's cache or made now; vy_stages_release follows. error is never NULL. */
vyre_status vy_stages_get(vyre_backend *backend, const vyre_program *program, int with_base, vy_stages **out,
                          vyre_error *error);
vy_stages *vy_stages_retain(vy_stages *stages); /* NULL stays NULL */
void vy_stages_release(vy_stages *stages);      /* NULL is ignored */
/* The programs, for a pipeline that compiles each; index < count. */
uint32_t vy_stages_count(const vy_stages *stages);
vyre_program *vy_stages_program(const vy_stages *stages, uint32_t index); /* borrowed */

/* What a pipeline knows of its program's stages: the programs, and a compiled target for each. Borrowed: the pipeline must outlive the
 * call, also one that is abandoned at its deadline. */
typedef struct vy_staged {
    vy_stages *stages;        /* NULL: not known; those of the backend are used, with the backend's own target */
    const vy_target *targets; /* by stage */
} vy_staged;

/* Makes a call ready to run: with stages if it needs them, else with the backend prepared for the program. `resolved` must live until
 * the call has run; staged (may be NULL) are two, by with_base.
 *
 * VYRE_LIMIT  what lives across a grid barrier is over a limit of the language or of the device */
vyre_status vy_call_stage(struct vy_call *call, vyre_program *program, const vy_resolved_dispatch *resolved,
                          const vy_staged staged[2], vyre_error *error);
void vy_call_unstage(struct vy_call *call);

/* Runs all launches of a call that has stages. error is never NULL. */
vyre_status vy_stages_run(const struct vy_call *call, vyre_error *error);

/* The stages a backend used last: a part of vyre_backend. */
enum { VY_STAGES_KEPT = 16 };
typedef struct vy_stages_cache {
    pthread_mutex_t lock;
    vy_stages *items[VY_STAGES_KEPT]; /* the latest first; NULL from where there are no more */
} vy_stages_cache;
void vy_stages_cache_start(vy_stages_cache *cache);
void vy_stages_cache_end(vy_stages_cache *cache);

#endif
