/* Backends: selection, dispatch, resident memory, capabilities and lifecycle. A vyre_backend is a reference-counted
 * instance of a backend on one device. The library validates every call (sizes, geometry, bindings, limits) before the
 * backend sees it, enforces deadlines, and checks the results; it holds no lock while backend code runs.
 *
 *     vyre_policy policy = VYRE_POLICY_DEFAULT;
 *     vyre_outputs outputs = VYRE_OUTPUTS_INIT;
 *     status = vyre_select(&policy, &backend, NULL, &error);
 *     if (status == VYRE_OK)
 *         status = vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, &error);
 *     vyre_outputs_free(&outputs);
 *     vyre_backend_release(backend);
 *
 * Threads:       any thread, concurrently.
 * Cancellation:  pthread_cancel does not end a thread in a function that blocks, dispatches, compiles or performs I/O:
 *                the request stays pending until the function returns. Callbacks run with cancellation disabled. The
 *                same applies to vyre/async.h, vyre/pipeline.h, vyre/interop.h, vyre/cache.h, vyre/manifest.h and
 *                vyre_oracle_run.
 * Fork:          a backend belongs to the process that acquired it, with its pipelines, resident buffers and dispatches
 *                in flight. In a child process every call on an inherited object returns VYRE_DEVICE_LOST immediately,
 *                vyre_backend_device_lost returns 1, and releasing or freeing has no effect. A child acquires its
 *                backends itself; `cuda` and `opencl` only if the parent had neither selected nor acquired a backend
 *                before the fork. Callbacks must not fork, unless the child executes another program.
 *
 * docs/driver.md is the guide. */
#ifndef VYRE_DRIVER_H
#define VYRE_DRIVER_H

#include "vyre/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A backend instance on one device. Reference counted.
 *
 * Constructors:  vyre_acquire, vyre_select
 * Destructor:    vyre_backend_release
 * Methods:       vyre_backend_…, vyre_resident_…, vyre_compile (vyre/pipeline.h), vyre_backend_dispatch_async
 *                (vyre/async.h) */
typedef struct vyre_backend vyre_backend;

/* ---- acquiring ---- */

/* Acquires a backend by name.
 *
 * id   "cuda", or "cuda#1" for its second device.
 * out  Release with vyre_backend_release.
 *
 * Blocking:  blocks while a driver starts. If the id is not registered, plug-ins are loaded first (once per process).
 *
 * VYRE_NOT_FOUND         the id is not registered; the error lists the registered ids, and the nearest match
 * VYRE_INVALID_ARGUMENT  the device number is not an integer from 0 to 4294967295
 * VYRE_ABI_MISMATCH      the constructor returned a table without its required entries
 * VYRE_NO_MEMORY         out of host memory
 * other                  any status of the constructor; `where` of the error names the backend */
VYRE_API vyre_status vyre_acquire(const char *id, vyre_backend **out, vyre_error *error);

/* The backends that vyre_select may choose. No policy selects the reference interpreter unless `only` names it. A
 * backend without a probe has no known device class, so the two flags do not exclude it.
 *
 * zero-initialised     GPUs only
 * VYRE_POLICY_DEFAULT  a GPU if one is usable, otherwise the native CPU backend */
typedef struct vyre_policy {
    int allow_software; /* also GPU APIs that run on the CPU: lavapipe, PoCL */
    int allow_cpu;      /* also the native CPU backend */
    /* This "id" or "id#ordinal" and no other; the two flags are ignored. NULL: the environment variable VYRE_BACKEND if
     * it is set and not empty (set-user-id programs ignore it), else any. */
    const char *only;
    /* Optional, borrowed for the call: excludes backends that do not support an op of this program, or whose limits are
     * below its workgroup size. Calls of ops of dialects are resolved as by vyre_compile; a failure to resolve is
     * returned by vyre_select. */
    vyre_program *program;
    /* 1: also probe backends whose answer cannot change the choice, for a complete report. The probe of a defective
     * plug-in may crash the process. */
    int probe_all;
} vyre_policy;
/* The policy of `vyre run`, of generated bindings and of the examples. */
#define VYRE_POLICY_DEFAULT                                                                                            \
    { 0, 1, NULL, NULL, 0 }

/* Verdicts on candidates. X(ID, name, doc) */
#define VYRE_VERDICT_LIST(X)                                                                                           \
    X(CHOSEN, "chosen", "it was constructed, and the caller received it")                                              \
    X(REFUSED_BY_POLICY, "refused", "the policy does not allow its device class; not constructed")                     \
    X(NO_DISPATCH, "no_dispatch", "it emits code only; not constructed")                                               \
    X(PROBE_NEVER, "never", "its probe reports that it cannot start in this process; not constructed")                 \
    X(PROBE_NOT_NOW, "not_now", "its probe reports that it may start later; not constructed")                          \
    X(FAILED, "failed", "its constructor failed, or its probe gave an answer that does not exist")                     \
    X(NOT_NEEDED, "not_needed", "it was probed, and one before it was chosen; not constructed")                        \
    X(NOT_PROBED, "not_probed", "its answer could not change the choice; neither probed nor constructed")              \
    X(PROBE_ABANDONED, "abandoned", "its probe did not return in time and still runs; not constructed")                \
    X(UNSUPPORTED, "unsupported", "it does not run the program that the policy names")
typedef enum vyre_verdict {
#define X(ID, name, doc) VYRE_VERDICT_##ID,
    VYRE_VERDICT_LIST(X)
#undef X
        VYRE_VERDICT_COUNT
} vyre_verdict;
/* Names of verdicts and device classes. */
VYRE_API const char *vyre_verdict_name(vyre_verdict verdict); /* "unknown" outside the list */
VYRE_API const char *vyre_device_class_name(vyre_device_class device_class);

/* The report of a selection: one candidate per registered backend, in order of precedence, with the reason for its
 * verdict. Immutable; any thread.
 *
 * Constructor:  vyre_select
 * Destructor:   vyre_selection_free
 * Methods:      vyre_selection_count, vyre_selection_get, vyre_selection_render */
typedef struct vyre_selection vyre_selection;
typedef struct vyre_candidate {
    const char *id, *owner; /* the module that registered it */
    uint32_t rank;
    vyre_verdict verdict;
    vyre_device_class device_class; /* from its probe; UNKNOWN if it was not probed */
    uint32_t device_count;          /* from its probe; 0 = unknown */
    const char *reason, *fix;       /* "" if absent */
} vyre_candidate;

/* Acquires the first registered backend, in ascending order of rank, that can dispatch, is allowed by the policy,
 * supports the policy's program, and starts.
 *
 * policy  NULL: zero-initialised, that is GPUs only.
 * out     Release with vyre_backend_release.
 * report  Optional; also set on failure, except for VYRE_NO_MEMORY. Free with vyre_selection_free.
 *
 * Probes:    each call probes again, so a device that has become available is found. Backends of a higher rank than the
 *            selected one are not probed unless policy->probe_all is 1, and neither are the others if one was named. A
 *            probe runs on a separate thread and is abandoned after 2 seconds; until it returns, later calls report it
 *            without waiting.
 * Blocking:  blocks while a driver starts. The first call of a process loads the plug-ins.
 * Log:       one line for each backend that fails to start or whose probe is abandoned.
 *
 * VYRE_NOT_FOUND         no backend is usable (the error lists the reasons), or the named one is not registered
 * VYRE_INVALID_ARGUMENT  the name in the policy or in VYRE_BACKEND has an invalid device number
 * VYRE_NO_MEMORY         nothing was acquired
 * other                  the policy's program calls an op that cannot be resolved (vyre_program_resolve) */
VYRE_API vyre_status vyre_select(const vyre_policy *policy, vyre_backend **out, vyre_selection **report,
                                 vyre_error *error);
/* Frees a selection. NULL is ignored. */
VYRE_API void vyre_selection_free(vyre_selection *selection);
/* The number of candidates. */
VYRE_API size_t vyre_selection_count(const vyre_selection *selection);
/* Returns one candidate; 0 past the end. Strings are borrowed from the selection. */
VYRE_API int vyre_selection_get(const vyre_selection *selection, size_t index, vyre_candidate *out);
/* Renders a selection as lines of text, or as one JSON array if json is 1. */
VYRE_API vyre_status vyre_selection_render(const vyre_selection *selection, int json, vyre_bytes *out,
                                           vyre_error *error);

/* Adds a reference. Returns its argument. */
VYRE_API vyre_backend *vyre_backend_retain(vyre_backend *backend);

/* Drops a reference. NULL is ignored. The last release frees resident buffers, shuts the backend down
 * (vyre_backend_shutdown) and destroys it. If a call that was abandoned at its deadline has not returned, all this
 * happens when it returns. */
VYRE_API void vyre_backend_release(vyre_backend *backend);

/* ---- identity and capabilities ---- */

/* The id, the version ("unspecified" if the backend has none) and the supported ops. Borrowed, valid as long as the
 * backend. count may be NULL. */
VYRE_API const char *vyre_backend_id(const vyre_backend *backend);
VYRE_API const char *vyre_backend_version(vyre_backend *backend);
VYRE_API const char *const *vyre_backend_supported_ops(vyre_backend *backend, size_t *count);

/* Returns a capability of VYRE_CAPABILITY_LIST: its conservative default if the backend does not report it, 0
 * outside the list. The library queries the backend when it is acquired and after recovery; this call reads the
 * stored value. */
VYRE_API uint64_t vyre_backend_capability(const vyre_backend *backend, vyre_capability capability);

/* Returns the operations that the device computes exactly as the language defines (VYRE_NUMERIC_LIST), as measured by
 * the backend with profile->cases operands per operation. Without a measurement both are 0. Other operations are
 * emulated, with the same results.
 *
 * profile  Set struct_size before the call. */
VYRE_API void vyre_backend_numerics(const vyre_backend *backend, vyre_numerics_profile *profile);
/* The name of an operation of VYRE_NUMERIC_LIST. */
VYRE_API const char *vyre_numeric_name(vyre_numeric numeric); /* "unknown" outside the list */
/* Returns the properties of the device. A lost or shut-down device is not queried.
 *
 * profile  Set struct_size before the call. An unknown value is 0 or "". */
VYRE_API void vyre_backend_profile(vyre_backend *backend, vyre_device_profile *profile);

/* ---- dispatch ---- */

/* Options of a dispatch. Zero-initialised: no deadline, no limit, no label, not cancellable. */
typedef struct vyre_dispatch_config {
    uint64_t timeout_ns;       /* of the whole dispatch, including compilation (vyre/pipeline.h); 0 = none */
    uint64_t max_output_bytes; /* 0 = unlimited; larger outputs are VYRE_LIMIT, before anything runs */
    const char *label;         /* shown in errors; may be NULL */
    /* NULL, or a word with value 0: another thread sets it (atomically) to cancel the dispatch, which then ends with
     * VYRE_CANCELLED. It is read until the call returns. For a backend that cannot stop a kernel (without capability
     * `cancel`) it is read before the start, and between the launches of a dispatch that needs several. Asynchronous
     * dispatches ignore it: use vyre_pending_cancel. */
    const uint32_t *cancel;
} vyre_dispatch_config;

/* Dispatch functions. The following applies to all of them.
 *
 * arguments  See vyre/dispatch.h.
 * config     NULL is equivalent to a zero-initialised struct.
 * outputs    On success, one entry per output buffer in declaration order. A slot is reused if its capacity suffices,
 *            else its memory is replaced. On failure the outputs are unchanged; vyre_backend_dispatch_into is the
 *            exception, see there.
 * trap       May be NULL. Set only if the result is VYRE_TRAPPED.
 *
 * Threads:     any thread, concurrently.
 * Blocking:    blocks until the dispatch ends, and while the program is compiled, if it is in no cache.
 * Ops:         calls of ops of dialects are resolved against the newest snapshot (vyre_program_resolve) in every call;
 *              a pipeline resolves them once.
 * Empty grid:  the backend is not called. read_write outputs equal their inputs; write outputs are zero.
 * Timeout:     the call returns at the deadline. `cpu`, `cuda`, `opencl` and `reference` stop the kernel. Any other
 *              backend is called on a thread of the library, with copies of the inputs. If it has not returned at the
 *              deadline (with capability `cancel`: 0.5 s after it), that thread is abandoned, nothing is delivered, and
 *              the backend is lost (vyre_backend_try_recover).
 *
 * VYRE_INVALID_ARGUMENT  the arguments do not match the program
 * VYRE_LIMIT             a size exceeds a limit of the language, the device or the config
 * VYRE_UNSUPPORTED       the backend cannot run the program; the message names the missing feature
 * VYRE_CORRUPT           the backend violated its contract: wrong number or sizes of outputs, unknown status
 * VYRE_TRAPPED           an invocation executed `trap`
 * VYRE_TIMEOUT           the deadline passed
 * VYRE_CANCELLED         config->cancel was set
 * VYRE_DEVICE_LOST       the device is lost, or the backend is shut down
 * VYRE_NO_MEMORY         out of host memory
 * VYRE_NO_DEVICE_MEMORY  out of device memory
 * other                  any status of vyre_program_resolve, vyre_compile or the backend */

/* Dispatches a program. The inputs are borrowed. */
VYRE_API vyre_status vyre_backend_dispatch(vyre_backend *backend, vyre_program *program,
                                           const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                           vyre_outputs *outputs, vyre_trap *trap, vyre_error *error);

/* Like vyre_backend_dispatch, with owned bytes as inputs; arguments->inputs is ignored. Avoids a copy on a backend that
 * only has an entry for owned bytes. The inputs remain the caller's. */
VYRE_API vyre_status vyre_backend_dispatch_owned(vyre_backend *backend, vyre_program *program, const vyre_bytes *inputs,
                                                 size_t input_count, const vyre_arguments *arguments,
                                                 const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                 vyre_trap *trap, vyre_error *error);

/* Like vyre_backend_dispatch, with times.
 *
 * timing  Optional; set on success. All zeros for an empty grid. */
VYRE_API vyre_status vyre_backend_dispatch_timed(vyre_backend *backend, vyre_program *program,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                 vyre_outputs *outputs, vyre_timing *timing, vyre_trap *trap,
                                                 vyre_error *error);

/* Like vyre_backend_dispatch, but the backend writes directly into the caller's slots if it can. Inputs must not
 * overlap the slots. On failure outputs->count may be 0; the slots keep their memory, with unspecified contents. */
VYRE_API vyre_status vyre_backend_dispatch_into(vyre_backend *backend, vyre_program *program,
                                                const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                vyre_outputs *outputs, vyre_trap *trap, vyre_error *error);
/* Frees all slots and resets the struct to VYRE_OUTPUTS_INIT. NULL is ignored. */
VYRE_API void vyre_outputs_free(vyre_outputs *outputs);

/* ---- resident memory ---- */

/* Resident buffers: buffers on the device that persist between dispatches. The following applies to all functions of
 * this section.
 *
 * resident  A handle of this backend. A stale handle, or one of another backend, is VYRE_INVALID_ARGUMENT, never an
 *           alias.
 *
 * Threads:   any thread, concurrently.
 * Blocking:  transfers block until they are complete.
 *
 * VYRE_INVALID_ARGUMENT  invalid handle or range; an upload to a read-only buffer (vyre_resident_wrap)
 * VYRE_UNSUPPORTED       the backend has no resident memory
 * VYRE_DEVICE_LOST       the device is lost, or the backend is shut down */

/* Allocates a zeroed buffer.
 *
 * host_source  Optional: `size` bytes that are uploaded now, and again by recovery if the buffer has not been written
 *              since. They must stay valid until the buffer is freed.
 * out          Free with vyre_resident_free.
 *
 * VYRE_LIMIT  size exceeds the largest buffer of the device
 * VYRE_NO_MEMORY, VYRE_NO_DEVICE_MEMORY  out of memory */
VYRE_API vyre_status vyre_resident_allocate(vyre_backend *backend, uint64_t size, const void *host_source,
                                            vyre_resident *out, vyre_error *error);

/* Frees a buffer.
 *
 * VYRE_CONFLICT  a call is using the buffer, or it is exported (vyre_resident_export) */
VYRE_API vyre_status vyre_resident_free(vyre_backend *backend, vyre_resident resident, vyre_error *error);
/* Returns the size of a buffer in bytes. Does not block. */
VYRE_API vyre_status vyre_resident_size(vyre_backend *backend, vyre_resident resident, uint64_t *size,
                                        vyre_error *error);

/* Transfer the whole buffer.
 *
 * size  Exactly the size of the buffer, otherwise VYRE_INVALID_ARGUMENT.
 * out   Resized to the size of the buffer. Contents are unspecified on failure. */
VYRE_API vyre_status vyre_resident_upload(vyre_backend *backend, vyre_resident resident, const void *data,
                                          uint64_t size, vyre_error *error);
VYRE_API vyre_status vyre_resident_download(vyre_backend *backend, vyre_resident resident, vyre_bytes *out,
                                            vyre_error *error);
/* Transfer a range. One that ends past the buffer is VYRE_INVALID_ARGUMENT. */
VYRE_API vyre_status vyre_resident_upload_at(vyre_backend *backend, vyre_resident resident, uint64_t offset,
                                             const void *data, uint64_t size, vyre_error *error);
VYRE_API vyre_status vyre_resident_download_at(vyre_backend *backend, vyre_resident resident, uint64_t offset,
                                               void *data, uint64_t size, vyre_error *error);
/* Transfer several ranges, in one submission if the backend can. All ranges are checked before the first transfer. */
VYRE_API vyre_status vyre_resident_upload_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                                vyre_error *error);
VYRE_API vyre_status vyre_resident_download_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                                  vyre_error *error);

/* Dispatches a program on resident buffers. config, trap, timeouts and errors as for the dispatch functions above.
 *
 * bindings   One resource per buffer, in declaration order, all resident. They determine the element counts.
 * arguments  inputs and counts are ignored.
 * timing     May be NULL; set on success.
 *
 * On failure, buffers that the program writes have unspecified contents.
 *
 * VYRE_CONFLICT  two ranges overlap and the program writes one of them */
VYRE_API vyre_status vyre_backend_dispatch_resident(vyre_backend *backend, vyre_program *program,
                                                    const vyre_resource *bindings, size_t binding_count,
                                                    const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                    vyre_timing *timing, vyre_trap *trap, vyre_error *error);

/* ---- lifecycle ---- */

/* Prepares a program for its first dispatch without a timeout: `cpu`, `cuda` and `opencl` compile it or load it from
 * the caches, and the reference interpreter translates it. Once per program suffices; a backend keeps the 32 most
 * recently used programs. Blocks meanwhile.
 *
 * other  any status of vyre_compile (vyre/pipeline.h) */
VYRE_API vyre_status vyre_backend_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);

/* Waits for all work submitted before the call.
 *
 * VYRE_DEVICE_LOST  the device is lost, or the backend is shut down */
VYRE_API vyre_status vyre_backend_flush(vyre_backend *backend, vyre_error *error);

/* Waits until all pipelines compiled before the call are in the disk cache (vyre/cache.h). On `cuda` the binary for the
 * cache is produced some time after the compile, when nothing else is compiled; other backends store it before the
 * compile returns. vyre_backend_shutdown and the last release wait as well; this function is for processes that end
 * without them, and for measurements. No effect on a lost device. */
VYRE_API void vyre_backend_flush_cache(vyre_backend *backend);

/* Shuts the backend down: rejects new work, waits for work in flight and for pipelines to be stored, and releases the
 * device. Later calls on the backend return VYRE_DEVICE_LOST; a second shutdown returns VYRE_OK.
 *
 * Blocking:  asynchronous dispatches still in flight after 2 seconds are cancelled; after 1 more second the call
 *            returns VYRE_TIMEOUT. Storing pipelines is not limited in time.
 *
 * VYRE_TIMEOUT  a call did not end. The backend is shut down; the device is released with the last reference to the
 *               backend
 * other         any status of the backend */
VYRE_API vyre_status vyre_backend_shutdown(vyre_backend *backend, vyre_error *error);
/* Queries the device. Returns 1 if it is lost; every dispatch then returns VYRE_DEVICE_LOST until recovery succeeds. */
VYRE_API int vyre_backend_device_lost(vyre_backend *backend);

/* Recovers a lost device. On success the generation is incremented, and buffers with a host source that have not been
 * written since are uploaded again; every other handle is stale. Pipelines are compiled again at their next use.
 * VYRE_OK without effect if the device is not lost.
 *
 * Blocking:  waits for calls in flight, except abandoned ones.
 *
 * VYRE_UNSUPPORTED  the backend cannot recover, whether or not the device is lost
 * VYRE_DEVICE_LOST  the backend is shut down
 * other             any status of the backend; the device is still lost */
VYRE_API vyre_status vyre_backend_try_recover(vyre_backend *backend, vyre_error *error);
/* 1 plus the number of recoveries; 0 if backend is NULL. */
VYRE_API uint64_t vyre_backend_generation(const vyre_backend *backend);

#ifdef __cplusplus
}
#endif
#endif
