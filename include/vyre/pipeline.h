/* Compiled pipelines: compile a program once, dispatch it many times. A pipeline is reference counted and keeps its
 * backend and its program alive. Every form of dispatch yields the bytes of vyre_backend_dispatch; a form without an
 * entry in the backend is implemented with the other entries.
 *
 *     status = vyre_compile(backend, program, NULL, &pipeline, &error);
 *     for (int i = 0; i < 1000 && status == VYRE_OK; i++)
 *         status = vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, &error);
 *     vyre_pipeline_release(pipeline);
 *
 * Threads:   any thread, concurrently.
 * Recovery:  after a lost device was recovered, a pipeline is compiled again at its next use.
 *
 * The caches: vyre/cache.h. The guide: docs/driver.md#pipelines. */
#ifndef VYRE_PIPELINE_H
#define VYRE_PIPELINE_H

#include "vyre/async.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program compiled for a backend. Reference counted.
 *
 * Constructor:  vyre_compile
 * Destructor:   vyre_pipeline_release
 * Methods:      vyre_pipeline_…, vyre_sequence_run */
typedef struct vyre_pipeline vyre_pipeline;

/* Compiles a program, or finds it in the memory or disk cache. A backend without a compiler yields a pipeline that
 * forwards every dispatch to the backend.
 *
 * options  NULL: defaults; otherwise set struct_size. deadline_ns bounds the whole compile on `cpu`: passes, LLVM, and
 *          the wait for an equal compile. On `cuda` it bounds everything except the driver's compiler, which is not
 *          started after the deadline and cannot be stopped.
 * out      Release with vyre_pipeline_release.
 *
 * Blocking:  blocks while the program is compiled. Concurrent compiles of the same program share one compilation.
 * Dispatches: a dispatch of the pipeline neither runs a pass nor compiles (counters `passes` and `compiles`,
 *            vyre/telemetry.h), with these exceptions. The first dispatch that can be stopped (it has a timeout or a
 *            cancel word, or is asynchronous) of a pipeline compiled without `cancellable`, on a backend that can stop
 *            kernels, compiles the program once more; that time counts against its timeout. So do the first with a
 *            grid that exceeds the capability `max_compute_workgroups_per_dimension`, and the first after a
 *            recovery. On `cuda`, the driver compiles a kernel for batches when batches of the pipeline have had 8192
 *            items.
 * Ops:       calls of ops of dialects are resolved against the newest snapshot; for another snapshot pass the result of
 *            vyre_program_resolve. Later changes of the dialects do not affect the pipeline.
 *
 * VYRE_INVALID_ARGUMENT  the program is a library or of level legal; struct_size of the options is too small
 * VYRE_NOT_FOUND, VYRE_INVALID_PROGRAM  an op is unknown, or its call does not match it (vyre_program_resolve)
 * VYRE_LIMIT             the workgroup exceeds a limit of the device, or the compiler exceeds its memory or time limit
 *                        (docs/cpu.md)
 * VYRE_TIMEOUT           the deadline passed; nothing is kept of the compile
 * VYRE_UNSUPPORTED       the backend cannot run the program; or compiling is forbidden (vyre_cache_forbid_compile) and
 *                        no cache has the program
 * VYRE_CORRUPT           the backend violated its contract
 * VYRE_DEVICE_LOST       the device is lost, or the backend is shut down
 * VYRE_NO_MEMORY         out of host memory
 * other                  any status of the backend */
VYRE_API vyre_status vyre_compile(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                                  vyre_pipeline **out, vyre_error *error);
/* Adds a reference. Returns its argument. */
VYRE_API vyre_pipeline *vyre_pipeline_retain(vyre_pipeline *pipeline);
/* Drops a reference; the last release frees the pipeline and releases its backend. NULL is ignored. */
VYRE_API void vyre_pipeline_release(vyre_pipeline *pipeline);
/* The name "<backend>:<fingerprint>"; borrowed. */
VYRE_API const char *vyre_pipeline_id(const vyre_pipeline *pipeline);
/* The compiled program, with its calls of ops resolved; borrowed. */
VYRE_API vyre_program *vyre_pipeline_program(const vyre_pipeline *pipeline);
/* 1 if the backend compiled the program, 0 if every dispatch is forwarded to the backend. */
VYRE_API int vyre_pipeline_is_native(const vyre_pipeline *pipeline);

/* ---- dispatch from host bytes ---- */

/* Dispatch from host memory. The forms, arguments, results and errors are those of the functions of the same name in
 * vyre/driver.h and vyre/async.h. */
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

/* Batches. The following applies to all batch functions. A batch is `count` independent dispatches, in one
 * submission if the backend can. All items are checked before anything runs. The first failure ends the batch.
 *
 * config   The timeout is for the whole batch; max_output_bytes applies to each item.
 * outputs  `count` entries, whose slots are reused. After a failure the outputs of earlier items may have been
 *          delivered; the others are empty or unchanged.
 * failed   Optional; set on failure only: the index of the failed item, or `count` if the backend does not report
 *          it. */

/* A batch from host memory.
 *
 * arguments  `count` entries; NULL: zero-initialised for all items. */
VYRE_API vyre_status vyre_pipeline_dispatch_batch(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                                  size_t count, const vyre_dispatch_config *config,
                                                  vyre_outputs *outputs, size_t *failed, vyre_trap *trap,
                                                  vyre_error *error);

/* ---- persistent handles ---- */

/* Dispatches on host bytes and resident buffers. config, trap, timeouts and errors as for vyre_backend_dispatch.
 *
 * bindings   One resource per buffer, in declaration order.
 * arguments  inputs is ignored. Element counts come from the resident ranges, the host bytes of inputs, the program,
 *            and, for `write` buffers bound to host bytes whose count the program does not fix, from `counts`; the span
 *            of such a binding is ignored.
 * outputs    Outputs bound to host bytes are delivered; those bound to resident buffers stay there and have an empty
 *            slot.
 * timing     May be NULL; set on success.
 *
 * On failure, resident buffers that the program writes have unspecified contents.
 *
 * VYRE_CONFLICT     two ranges overlap and the program writes one of them
 * VYRE_UNSUPPORTED  "persistent handle dispatch": neither the pipeline has this entry nor the backend the substitutes
 *                   (resident memory and dispatch on it) */
VYRE_API vyre_status vyre_pipeline_dispatch_persistent(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                                       size_t binding_count, const vyre_arguments *arguments,
                                                       const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                       vyre_timing *timing, vyre_trap *trap, vyre_error *error);

/* Dispatches on resident buffers only, and returns the resources of the output buffers, in order, as inputs for the
 * next pipeline. The buffers remain the caller's.
 *
 * output_count  The number of the program's outputs, otherwise VYRE_INVALID_ARGUMENT.
 *
 * VYRE_UNSUPPORTED  "persistent resident output dispatch" */
VYRE_API vyre_status vyre_pipeline_dispatch_resident_outputs(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                                             size_t binding_count, const vyre_arguments *arguments,
                                                             const vyre_dispatch_config *config, vyre_resource *outputs,
                                                             size_t output_count, vyre_trap *trap, vyre_error *error);

/* A batch on resources. Items run as if sequentially, so they may use the same resident buffers.
 *
 * bindings   bindings[i] are the binding_count resources of item i.
 * arguments  Shared by all items. */
VYRE_API vyre_status vyre_pipeline_dispatch_persistent_batch(vyre_pipeline *pipeline,
                                                             const vyre_resource *const *bindings, size_t binding_count,
                                                             size_t count, const vyre_arguments *arguments,
                                                             const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                             size_t *failed, vyre_trap *trap, vyre_error *error);

/* Like vyre_pipeline_dispatch_persistent_batch, for programs with exactly four buffers, without an array of pointers.
 *
 * VYRE_INVALID_ARGUMENT  the program does not have four buffers */
VYRE_API vyre_status vyre_pipeline_dispatch_rows(vyre_pipeline *pipeline, const vyre_resource (*rows)[4], size_t count,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                 vyre_outputs *outputs, size_t *failed, vyre_trap *trap,
                                                 vyre_error *error);

/* ---- sequences ---- */

/* One step of a sequence. A sequence runs pipelines of one backend in order on resident buffers; each step sees the
 * writes of the steps before. Zero-initialise. */
typedef struct vyre_step {
    vyre_pipeline *pipeline;
    const vyre_resource *bindings; /* one per buffer, resident */
    size_t binding_count;
    const vyre_arguments *arguments; /* params and geometry; may be NULL */
} vyre_step;

/* Runs a sequence, in one submission with one wait if the backend can, then reads ranges back. Steps, bindings and
 * ranges are checked before anything runs. The first failing step ends the sequence, and nothing is read back.
 *
 * config  The timeout is for the whole sequence.
 * timing  May be NULL; set on success.
 * failed  Optional; set on failure only: the index of the failed step, or step_count if the backend does not report it
 *         or no step failed.
 *
 * Blocking:        blocks until the sequence ends.
 * Indirect grids:  a step may write the grid of a later one; the grid is read when that step starts. If the device
 *                  reads it (capability `indirect_dispatch`), a grid that exceeds the limits may be detected only at
 *                  the end: later steps may have run.
 *
 * VYRE_INVALID_ARGUMENT  also if the pipeline of a step belongs to another backend
 * other                  any status of vyre_backend_dispatch_resident */
VYRE_API vyre_status vyre_sequence_run(vyre_backend *backend, const vyre_step *steps, size_t step_count,
                                       const vyre_readback *readbacks, size_t readback_count,
                                       const vyre_dispatch_config *config, vyre_timing *timing, size_t *failed,
                                       vyre_trap *trap, vyre_error *error);

/* Reads the counters of the backend's pipeline cache since the backend was acquired. Returns 0, with zeros, if the
 * backend has no counters. `cpu`, `cuda` and `opencl` have them. */
VYRE_API int vyre_backend_cache_snapshot(vyre_backend *backend, vyre_cache_snapshot *out);

#ifdef __cplusplus
}
#endif
#endif
