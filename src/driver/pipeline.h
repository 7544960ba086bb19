/* Pipeline handle (vyre_pipeline): a program on a backend, and its executables.
 *
 * A dispatch selects its executable inside the backend, when its requirements are fixed: whether it can be cancelled,
 * whether the grid exceeds the device's limit, and whether grid barriers run inside one launch. vyre_compile compiles
 * the variants that most dispatches use; the others are compiled at their first use, and all again after a recovery
 * (docs/decisions/launch-facts.md). */
#ifndef VY_DRIVER_PIPELINE_H
#define VY_DRIVER_PIPELINE_H

#include "driver/dispatch.h"
#include "driver/executable.h"
#include "vyre/pipeline.h"

enum { VY_PIPELINE_ID = VY_BACKEND_ID + 1 + 64 };

/* A variant: one bit, and a form (vy_executable_form) in the upper bits. */
enum {
    VY_VARIANT_CANCELLABLE = 1,
    VY_VARIANT_FORM = 2,
    VY_VARIANT_COUNT = (VY_EXECUTABLE_COOPERATIVE + 1) * VY_VARIANT_FORM
};

struct vyre_pipeline {
    _Atomic uint32_t references;
    unsigned variant; /* as requested at compile time */
    int is_implicit;  /* in the backend's table (vy_pipeline_implicit): it does not retain the backend */
    uint64_t number;  /* from 1, unique in its backend */
    vyre_backend *backend;
    vyre_program *program;
    _Atomic int is_native; /* threads that prepare an implicit pipeline write the same value */
    _Atomic(vy_executable *) executables[VY_VARIANT_COUNT]; /* NULL: not used yet. Each a reference */
    pthread_mutex_t lock;                                   /* guards replacing an executable, and `old` */
    VY_VECTOR(vy_executable *) old;                         /* retired; another thread may still read one */
    char id[VY_PIPELINE_ID];
};

/* Returns the implicit pipeline of a program that is dispatched without one, on a backend that only compiles (its table
 * has no `dispatch`). *out is NULL on any other backend. The backend keeps the VY_IMPLICIT_PIPELINES_MAX most recently
 * used. Nothing is compiled here: the first dispatch does that. vyre_pipeline_release must follow, before the caller
 * releases the backend. */
vyre_status vy_pipeline_implicit(vyre_backend *backend, vyre_program *program, vyre_pipeline **out, vyre_error *error);
/* Compiles the implicit pipeline as vyre_compile would, or finds its executables in the caches. */
vyre_status vy_pipeline_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);

/* Emits the code that the backend generates of a program whose ops are resolved (vyre_emit). error is never NULL.
 *
 * VYRE_UNSUPPORTED  the backend has no entry for it, or does not run the program */
vyre_status vy_backend_emit(vyre_backend *backend, vyre_program *program, int cancellable, vyre_bytes *out,
                            vyre_error *error);

/* "<backend>:<fingerprint>" */
void vy_pipeline_name(const vyre_backend *backend, const vyre_program *program, char id[VY_PIPELINE_ID]);

/* Returns the executable for a dispatch: borrowed from the pipeline, valid until the backend is left. Inside the
 * backend. If the backend can stop a kernel and the dispatch may be stopped, the executable polls for it. A compile
 * ends at the deadline. error is never NULL. */
vyre_status vy_pipeline_executable(vyre_pipeline *pipeline, vy_stop_condition stop, vy_executable_form form,
                                   vy_executable **out, vyre_error *error);
/* The same for a call before vy_call_prepare: sets its executable, and its dispatch_table or those of its stages.
 * call->form is set. */
vyre_status vy_pipeline_select(vyre_pipeline *pipeline, const vy_resolved_dispatch *launch, vy_stop_condition stop,
                               vy_call *call, vy_multi_launch_tables staged[2], vyre_error *error);

/* Sets the dispatch_table of a resolved dispatch that can be cancelled, for callers that bypass dispatch.c. A dispatch
 * in stages keeps the backend's table. Inside the backend. */
vyre_status vy_pipeline_dispatch_table(vy_dispatch *dispatch, vyre_error *error);

/* Whether a dispatch on resources is possible: through the executable, or through the backend's resident memory.
 * has_host: some resources are host bytes. */
int vy_pipeline_supports_resources(const vyre_backend *backend, const vy_executable *executable, int has_host);

/* Initialises a dispatch like vy_dispatch_describe; its dispatch_table is selected when it runs. */
void vy_pipeline_describe(vy_dispatch *dispatch, vyre_pipeline *pipeline, const vyre_arguments *arguments,
                          const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap);

/* ---- the table of implicit pipelines ---- */

/* The value of an equal program, with a reference for the caller; NULL if absent. */
void *vy_implicit_pipelines_find(vy_implicit_pipelines *programs, const vyre_program *program);
/* Owns the reference to a new value. Returns a reference to it, or to the value that another thread has inserted for an
 * equal program meanwhile. */
void *vy_implicit_pipelines_insert(vy_implicit_pipelines *programs, vyre_program *program, void *value);
void vy_implicit_pipelines_clear(vy_implicit_pipelines *programs);

#endif
