/* Compiled pipelines: compile once, dispatch many times. The caches behind them: vyre/cache.h.
 *
 * A pipeline is reference counted and usable from any thread at once. Every dispatch form is bit-identical to vyre_backend_dispatch of its
 * program. A backend without native compile gets a passthrough. */
#ifndef VYRE_PIPELINE_H
#define VYRE_PIPELINE_H

#include "vyre/async.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vyre_pipeline vyre_pipeline;

/* Compiles, or finds in memory or on disk. options NULL = defaults. Blocks while a driver compiles; equal compiles at the same time
 * wait for one.
 *
 * VYRE_UNSUPPORTED  also when compiling is forbidden (vyre_cache_forbid_compile) and nothing was found */
VYRE_API vyre_status vyre_compile(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                                  vyre_pipeline **out, vyre_error *error);
VYRE_API vyre_pipeline *vyre_pipeline_retain(vyre_pipeline *pipeline);
VYRE_API void vyre_pipeline_release(vyre_pipeline *pipeline);
/* "<backend>:<fingerprint>" */
VYRE_API const char *vyre_pipeline_id(const vyre_pipeline *pipeline);
VYRE_API vyre_program *vyre_pipeline_program(const vyre_pipeline *pipeline); /* borrowed */
/* 1 if the backend compiled it, 0 for a passthrough. */
VYRE_API int vyre_pipeline_is_native(const vyre_pipeline *pipeline);

/* The family, as in vyre/driver.h. */
VYRE_API vyre_status vyre_pipeline_dispatch_owned(vyre_pipeline *pipeline, const vyre_bytes *inputs, size_t input_count,
                                                  const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                  vyre_outputs *outputs, vyre_trap *trap, vyre_error *error);
VYRE_API vyre_status vyre_pipeline_dispatch(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                            const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                            vyre_error *error);
VYRE_API vyre_status vyre_pipeline_dispatch_timed(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                                  const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                  vyre_timing *timing, vyre_trap *trap, vyre_error *error);
VYRE_API vyre_status vyre_pipeline_dispatch_into(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                                 const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                 vyre_trap *trap, vyre_error *error);
VYRE_API vyre_status vyre_pipeline_dispatch_async(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                                  const vyre_dispatch_config *config, vyre_pending **out,
                                                  vyre_error *error);
/* count independent dispatches, one submission where the backend can. outputs has count entries, each reused. All
 * arguments are checked before anything runs; the first failure ends the batch and *failed (optional) says which. */
VYRE_API vyre_status vyre_pipeline_dispatch_batch(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                                  size_t count, const vyre_dispatch_config *config,
                                                  vyre_outputs *outputs, size_t *failed, vyre_error *error);

/* Persistent handles: host bytes and resident buffers mixed, one resource per buffer in declaration order. Outputs bound to host bytes
 * (their span may be empty for write buffers) are delivered in `outputs`; those bound to resident buffers stay there and have an empty slot. */
VYRE_API vyre_status vyre_pipeline_dispatch_persistent(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                                       size_t binding_count, const vyre_arguments *arguments,
                                                       const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                       vyre_timing *timing, vyre_trap *trap, vyre_error *error);
/* All resident; `outputs` receives the resources of the output buffers, in order, for the next stage. */
VYRE_API vyre_status vyre_pipeline_dispatch_resident_outputs(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                                             size_t binding_count, const vyre_arguments *arguments,
                                                             const vyre_dispatch_config *config, vyre_resource *outputs,
                                                             size_t output_count, vyre_trap *trap, vyre_error *error);
/* bindings[i] are the binding_count resources of item i. arguments (params, geometry) are shared by all items. */
VYRE_API vyre_status vyre_pipeline_dispatch_persistent_batch(vyre_pipeline *pipeline,
                                                             const vyre_resource *const *bindings, size_t binding_count,
                                                             size_t count, const vyre_arguments *arguments,
                                                             const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                             size_t *failed, vyre_error *error);
/* The same for programs of exactly four buffers, without an array of pointers. */
VYRE_API vyre_status vyre_pipeline_dispatch_rows(vyre_pipeline *pipeline, const vyre_resource (*rows)[4], size_t count,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                 vyre_outputs *outputs, size_t *failed, vyre_error *error);

/* A sequence: pipelines of one backend run in order on resident buffers, each seeing what those before wrote; one submit, one wait, then
 * ranges are read back. */
typedef struct vyre_step {
    vyre_pipeline *pipeline;
    const vyre_resource *bindings; /* one per buffer, resident */
    size_t binding_count;
    const vyre_arguments *arguments;
} vyre_step;
VYRE_API vyre_status vyre_sequence_run(vyre_backend *backend, const vyre_step *steps, size_t step_count,
                                       const vyre_readback *readbacks, size_t readback_count,
                                       const vyre_dispatch_config *config, vyre_timing *timing, vyre_trap *trap,
                                       vyre_error *error);

/* The backend's own counters of its pipeline cache; 0 if it keeps none. */
VYRE_API int vyre_backend_cache_snapshot(vyre_backend *backend, vyre_cache_snapshot *out);

#ifdef __cplusplus
}
#endif
#endif
