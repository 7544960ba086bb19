/* Stages: a dispatch that one launch cannot do on this backend runs as several, one after the other, and nobody above sees it.
 *
 * Two causes: the program has a grid barrier and the backend has none (transform/grid_split.h), or the grid is over the device's
 * limit in a dimension (transform/grid_base.h). The stages stand below vy_call_run, so every path (host bytes, resident, deadline thread,
 * async, batch, pipeline) passes them alike. */
#ifndef VY_DRIVER_STAGES_H
#define VY_DRIVER_STAGES_H

#include "driver/target.h"
#include "ir/launch.h"

struct vy_call;

/* The programs to launch. Immutable, reference counted, any thread. */
typedef struct vy_stages vy_stages;

/* Whether this dispatch needs stages here, and whether its programs need a base (the grid is over the limit). */
int vy_stages_needed(const vyre_backend *backend, const vyre_program *program, const vy_launch *launch, int *with_base);
/* The stages of a program, from a small cache or made now; vy_stages_release follows. */
vyre_status vy_stages_get(const vyre_program *program, int with_base, vy_stages **out, vyre_error *error);
vy_stages *vy_stages_retain(vy_stages *stages);
void vy_stages_release(vy_stages *stages);
/* The programs, for a pipeline that compiles each; index < count. */
uint32_t vy_stages_count(const vy_stages *stages);
vyre_program *vy_stages_program(const vy_stages *stages, uint32_t index); /* borrowed */

/* Runs all launches of a call that has stages; call->resolved is the dispatch resolved against the original program. */
vyre_status vy_stages_run(const struct vy_call *call, vyre_error *error);

#endif
