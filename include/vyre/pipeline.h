/* Compiled pipelines: compile once, dispatch many times. The caches behind them: vyre/cache.h; the whole story: docs/pipelines.md.
 *
 * A pipeline is reference counted, keeps its backend and its program, and is usable from any thread at once. Every form of dispatch gives the bytes
 * of vyre_backend_dispatch of its program. What a backend has no entry for is done with those it has. When a lost device came back, a pipeline
 * is compiled again at its next use. */
#ifndef VYRE_PIPELINE_H
#define VYRE_PIPELINE_H

#include "vyre/async.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constructor: vyre_compile. Destructor: vyre_pipeline_release. */
typedef struct vyre_pipeline vyre_pipeline;

/* Compiles, or finds in memory or on disk. options NULL = defaults; otherwise set options->struct_size. Blocks while a driver compiles; equal
 * compiles at the same time wait for one. A backend without a compiler gives a pipeline that hands every dispatch to it.
 *
 * A dispatch with a timeout on a pipeline that was not compiled as cancellable, on a backend that can stop a kernel, compiles it once more. The
 * timeout of a dispatch is for all of it, compiling too.
 *
 * options->deadline_ns bounds the compile on backend `cpu`: passes, LLVM, and the wait for an equal compile. On `cuda` it bounds all but the
 * driver's compiler, which is not started after it and cannot be stopped.
 *
 * Calls of ops of dialects are resolved against the newest snapshot; for another snapshot, pass the result of vyre_program_resolve. The pipeline
 * keeps the bodies that were compiled: a later change of the dialects does not affect it.
 *
 * VYRE_INVALID_ARGUMENT  a library, which has nothing to run
 * VYRE_NOT_FOUND, VYRE_INVALID_PROGRAM  an op is unknown, or its call does not fit it: see vyre_program_resolve
 * VYRE_LIMIT             the workgroup is over a limit of the device; or the compiler needs more memory or time than its limits (docs/cpu.md)
 * VYRE_TIMEOUT           the deadline passed; nothing is kept of the compile
 * VYRE_UNSUPPORTED       the backend cannot run this program; or compiling is forbidden (vyre_cache_forbid_compile) and nothing was found
 * VYRE_CORRUPT           the backend broke its contract
 * VYRE_DEVICE_LOST, VYRE_NO_MEMORY, and what the backend returns */
VYRE_API vyre_status vyre_compile(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                                  vyre_pipeline **out, vyre_error *error);
VYRE_API vyre_pipeline *vyre_pipeline_retain(vyre_pipeline *pipeline);
/* The last release frees it and gives up its backend. NULL is ignored. */
VYRE_API void vyre_pipeline_release(vyre_pipeline *pipeline);
/* "<backend>:<fingerprint>"; borrowed. */
VYRE_API const char *vyre_pipeline_id(const vyre_pipeline *pipeline);
/* The program that was compiled, its calls of ops resolved; borrowed. */
VYRE_API vyre_program *vyre_pipeline_program(const vyre_pipeline *pipeline);
/* 1 if the backend compiled it, 0 if every dispatch is handed to the backend. */
VYRE_API int vyre_pipeline_is_native(const vyre_pipeline *pipeline);

/* ---- dispatch from host bytes ---- */

/* As in vyre/driver.h: arguments, config, outputs, trap, timing, errors. */
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

/* What the batches share. count independent dispatches, one submission where the backend can. `outputs` has count entries, each one's slots
 * reused. Everything is checked before anything runs. The timeout of the config is for all items together, its bound on outputs for each. The
 * first failure ends the batch; *failed (optional) is the index of its item, or count if the backend cannot say. After a failure the outputs of
 * items before it may have been delivered; those of the others are empty or as they were. */

/* arguments: count of them. */
VYRE_API vyre_status vyre_pipeline_dispatch_batch(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                                  size_t count, const vyre_dispatch_config *config,
                                                  vyre_outputs *outputs, size_t *failed, vyre_trap *trap,
                                                  vyre_error *error);

/* ---- persistent handles ---- */

/* Host bytes and resident buffers mixed: one resource per buffer, in declaration order. Outputs bound to host bytes are delivered in
 * `outputs`; those bound to resident buffers stay there and have an empty slot. arguments->inputs is ignored. Element counts come from the
 * resident ranges, from the host bytes of inputs, from the program, and, for `write` buffers bound to host bytes whose count the program leaves
 * open, from arguments->counts; what such a binding's span says is ignored. timing may be NULL. After a failure resident buffers the program
 * writes hold anything.
 *
 * VYRE_CONFLICT     two ranges overlap and the program writes one of them
 * VYRE_UNSUPPORTED  "persistent handle dispatch": the pipeline has no such entry, nor has the backend what stands for it (resident memory
 *                   and dispatch on it) */
VYRE_API vyre_status vyre_pipeline_dispatch_persistent(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                                       size_t binding_count, const vyre_arguments *arguments,
                                                       const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                       vyre_timing *timing, vyre_trap *trap, vyre_error *error);
/* All resident; `outputs` receives the resources of the output buffers, in order, for the next pipeline. They stay the caller's to free. output_count is
 * the number of the program's outputs.
 *
 * VYRE_UNSUPPORTED  "persistent resident output dispatch" */
VYRE_API vyre_status vyre_pipeline_dispatch_resident_outputs(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                                             size_t binding_count, const vyre_arguments *arguments,
                                                             const vyre_dispatch_config *config, vyre_resource *outputs,
                                                             size_t output_count, vyre_trap *trap, vyre_error *error);
/* A batch; bindings[i] are the binding_count resources of item i, and arguments are those of all. Items run as if one after the other, so
 * they may name the same resident buffers. */
VYRE_API vyre_status vyre_pipeline_dispatch_persistent_batch(vyre_pipeline *pipeline,
                                                             const vyre_resource *const *bindings, size_t binding_count,
                                                             size_t count, const vyre_arguments *arguments,
                                                             const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                             size_t *failed, vyre_trap *trap, vyre_error *error);
/* The same for programs of exactly four buffers, without an array of pointers. VYRE_INVALID_ARGUMENT for any other program. */
VYRE_API vyre_status vyre_pipeline_dispatch_rows(vyre_pipeline *pipeline, const vyre_resource (*rows)[4], size_t count,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                 vyre_outputs *outputs, size_t *failed, vyre_trap *trap,
                                                 vyre_error *error);

/* ---- sequences ---- */

/* A sequence: pipelines of one backend run in order on resident buffers, each seeing what those before wrote; one submit and one wait where the
 * backend can, then ranges are read back. Zero-initialise and fill. */
typedef struct vyre_step {
    vyre_pipeline *pipeline;
    const vyre_resource *bindings; /* one per buffer, resident */
    size_t binding_count;
    const vyre_arguments *arguments; /* params and geometry; may be NULL */
} vyre_step;
/* Everything is checked before anything runs: steps, bindings, ranges to read back. A step that fails is the last, and nothing is read back; *failed
 * (optional) is its index, or step_count if the backend cannot say or it was no step. The timeout of the config is for all of it. timing may be
 * NULL.
 *
 * A step may make the grid of a later one: an indirect grid is read when its step's turn comes. Where the device reads it (capability `indirect_dispatch`), a grid that is over the limits may be noticed only when all is done: steps
 * behind it may have run then.
 *
 * VYRE_INVALID_ARGUMENT  also when a step's pipeline is of another backend */
VYRE_API vyre_status vyre_sequence_run(vyre_backend *backend, const vyre_step *steps, size_t step_count,
                                       const vyre_readback *readbacks, size_t readback_count,
                                       const vyre_dispatch_config *config, vyre_timing *timing, size_t *failed,
                                       vyre_trap *trap, vyre_error *error);

/* The counters of the backend's pipeline cache, since it was acquired; 0, and zeros, if it keeps none. `cpu` and `cuda` do. */
VYRE_API int vyre_backend_cache_snapshot(vyre_backend *backend, vyre_cache_snapshot *out);

#ifdef __cplusplus
}
#endif
#endif
