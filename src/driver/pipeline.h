/* The handle behind vyre_pipeline: a program on a backend, and the executables it runs through.
 *
 * A dispatch asks for its executable inside the backend, when it knows what it needs: whether it can be cancelled, whether the grid is over the
 * device's limit, and whether grid barriers run inside one launch. Each of these variants is compiled when it is first asked for, and again after the device came back. */
#ifndef VY_DRIVER_PIPELINE_H
#define VY_DRIVER_PIPELINE_H

#include "driver/dispatch.h"
#include "driver/executable.h"
#include "vyre/pipeline.h"

enum { VY_PIPELINE_ID = VY_BACKEND_ID + 1 + 64 };

/* A variant: a bit, and a form (vy_executable_form) above it. */
enum {
    VY_VARIANT_CANCELLABLE = 1,
    VY_VARIANT_FORM = 2,
    VY_VARIANT_COUNT = (VY_EXECUTABLE_COOPERATIVE + 1) * VY_VARIANT_FORM
};

struct vyre_pipeline {
    _Atomic uint32_t references;
    unsigned variant; /* what it was compiled for */
    int is_implicit;  /* of the backend's table (vy_pipeline_implicit): it does not keep the backend */
    uint64_t number;  /* from 1 on, never given twice in its backend */
    vyre_backend *backend;
    vyre_program *program;
    int is_native;
    _Atomic(vy_executable *) executables[VY_VARIANT_COUNT]; /* NULL: not asked for yet. Each a reference */
    pthread_mutex_t lock;                                   /* guards replacing an executable, and `old` */
    VY_VECTOR(vy_executable *) old;                         /* retired; somebody may just be looking at one */
    char id[VY_PIPELINE_ID];
};

/* The pipeline of a program that is dispatched without one, on a backend that only compiles (its table has no `dispatch`); *out is NULL on any other backend.
 * The backend keeps the VY_IMPLICIT_PIPELINES_MAX used last. Nothing is compiled here: the first dispatch does that. vyre_pipeline_release follows, before the
 * caller gives up the backend. */
vyre_status vy_pipeline_implicit(vyre_backend *backend, vyre_program *program, vyre_pipeline **out, vyre_error *error);
/* Compiles that pipeline, or finds its executable in the caches: what the first dispatch without a deadline would do. */
vyre_status vy_pipeline_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);

/* "<backend>:<fingerprint>" */
void vy_pipeline_name(const vyre_backend *backend, const vyre_program *program, char id[VY_PIPELINE_ID]);

/* The executable for a dispatch: borrowed from the pipeline, and good until the backend is left. Inside the backend. A backend that can stop a
 * kernel gets one that looks if it may be stopped. A compile ends at the deadline. error is never NULL. */
vyre_status vy_pipeline_executable(vyre_pipeline *pipeline, vy_stop_condition stop, vy_executable_form form,
                                   vy_executable **out, vyre_error *error);
/* The same for a call that is about to be staged (multi_launch.h): its executable, and the dispatch_table or the dispatch_tables of its stages. The form is set. */
vyre_status vy_pipeline_select(vyre_pipeline *pipeline, const vy_resolved_dispatch *launch, vy_stop_condition stop,
                               vy_call *call, vy_multi_launch_tables staged[2], vyre_error *error);

/* The dispatch_table of a dispatch that was resolved and can be cancelled: for those who do not take the road of dispatch.c. Stages have none: they
 * keep the backend's. Inside the backend. */
vyre_status vy_pipeline_dispatch_table(vy_dispatch *dispatch, vyre_error *error);

/* Whether a dispatch on resources has a way here: through the executable, or through the backend's resident memory. has_host: some are host
 * bytes. */
int vy_pipeline_supports_resources(const vyre_backend *backend, const vy_executable *executable, int has_host);

/* Fills a dispatch as vy_dispatch_describe does: its dispatch_table is chosen when it runs. */
void vy_pipeline_describe(vy_dispatch *dispatch, vyre_pipeline *pipeline, const vyre_arguments *arguments,
                          const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap);

/* ---- the table of implicit pipelines ---- */

/* The value of an equal program, with a reference for the caller; NULL if there is none. */
void *vy_implicit_pipelines_find(vy_implicit_pipelines *programs, const vyre_program *program);
/* Takes over the reference to a new value and returns a reference: to that value, or to the one that another thread has kept for an equal program
 * meanwhile. */
void *vy_implicit_pipelines_insert(vy_implicit_pipelines *programs, vyre_program *program, void *value);
void vy_implicit_pipelines_clear(vy_implicit_pipelines *programs);

#endif
