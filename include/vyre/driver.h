/* Acquired backends: selection with its reasons, the dispatch family, resident memory, capabilities, lifecycle.
 *
 * A vyre_backend is reference counted and usable from any thread at once. Everything that runs passes one boundary, which resolves
 * sizes and geometry, checks bindings and limits, enforces deadlines, contains what a backend does wrong and counts. No lock is held while driver code runs. docs/driver.md tells the whole story.
 *
 * Cancellation: pthread_cancel does not end a thread inside a function that blocks, dispatches, compiles or does I/O, whatever its
 * cancellation type: the request is pending until the function returns. Functions the library calls back run with cancellation
 * disabled. The same holds for vyre/async.h, vyre/pipeline.h, vyre/interop.h, vyre/cache.h, vyre/manifest.h and vyre_oracle_run.
 *
 * Fork: a backend belongs to the process that acquired it, and so do its pipelines, resident buffers and dispatches in flight. In a child
 * made by fork every call on an inherited one returns VYRE_DEVICE_LOST at once, vyre_backend_device_lost is 1, and releasing or freeing one does
 * nothing. The child acquires backends of its own; `cuda` only if its parent neither selected nor acquired a backend before. Functions the
 * library calls back must not fork, unless the child executes another program. */
#ifndef VYRE_DRIVER_H
#define VYRE_DRIVER_H

#include "vyre/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constructors: vyre_acquire, vyre_select. Destructor: vyre_backend_release. */
typedef struct vyre_backend vyre_backend;

/* ---- acquiring ---- */

/* Constructs the backend "id" or, for a certain device, "id#ordinal". Blocks while a driver starts.
 *
 * VYRE_NOT_FOUND         not registered: the error names what is, and the nearest match
 * VYRE_INVALID_ARGUMENT  what follows the # is no number below 2^32
 * VYRE_ABI_MISMATCH      the constructor gave a table without its required entries
 * and whatever the constructor returns, with the backend named in `where` */
VYRE_API vyre_status vyre_acquire(const char *id, vyre_backend **out, vyre_error *error);

/* Which backends vyre_select may choose. Zero-initialised: GPUs only. VYRE_POLICY_DEFAULT: a GPU if one is usable, otherwise the native CPU backend.
 * No policy chooses the reference interpreter unless `only` names it. A backend without a probe has no known device class: the two flags do not
 * exclude it. */
typedef struct vyre_policy {
    int allow_software; /* also GPU APIs that run on the CPU: lavapipe, PoCL */
    int allow_cpu;      /* also the native CPU backend */
    /* This "id" or "id#ordinal" and no other; the two flags are ignored. NULL: the environment variable VYRE_BACKEND if it is set (set-user-id
     * programs ignore it), else any. */
    const char *only;
    /* Optional, borrowed for the call: a backend that does not run an op of this program, or whose limits are below its workgroup, is not chosen.
     * Calls of ops of dialects are resolved as vyre_compile does; one that cannot be is the error of vyre_select. */
    vyre_program *program;
    /* 1: also probe the backends whose answer cannot change the choice, for a complete report. A probe of a plug-in may crash the process. */
    int probe_all;
} vyre_policy;
/* The policy of `vyre run`, of generated bindings and of the examples. */
#define VYRE_POLICY_DEFAULT                                                                                            \
    { 0, 1, NULL, NULL, 0 }

/* X(ID, name, doc) */
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
VYRE_API const char *vyre_verdict_name(vyre_verdict verdict); /* "unknown" outside the list */
VYRE_API const char *vyre_device_class_name(vyre_device_class device_class);

/* A selection: why this backend and not the others. Made by vyre_select; immutable; any thread; free with vyre_selection_free.
 * Candidates come in the order of precedence. */
typedef struct vyre_selection vyre_selection;
typedef struct vyre_candidate {
    const char *id, *owner; /* the module that registered it */
    uint32_t rank;
    vyre_verdict verdict;
    vyre_device_class device_class; /* from its probe; UNKNOWN if it was not probed */
    uint32_t device_count;          /* likewise; 0 = unknown */
    const char *reason, *fix;       /* "" if there is none */
} vyre_candidate;

/* Acquires the first registered backend, in ascending order of rank, that can dispatch, is allowed by the policy, runs the policy's program, and
 * starts. It stops there: backends of a higher rank are not probed (policy->probe_all probes them too), and neither are the others if one was
 * named. Each call probes again, so a device that has become available is found. Blocks while a driver starts. A probe runs on a separate thread
 * and is abandoned after two seconds; until it returns, later calls report it without waiting. Each backend that fails is also one line of the
 * log.
 *
 * policy  NULL: zeros, that is GPUs only.
 * report  optional; also filled on failure, except for VYRE_NO_MEMORY. Free with vyre_selection_free.
 *
 * VYRE_NOT_FOUND         no backend is usable: the error lists each with its reason
 * VYRE_INVALID_ARGUMENT  the name in the policy or in VYRE_BACKEND has a device number that is not one
 * VYRE_NO_MEMORY         nothing was acquired */
VYRE_API vyre_status vyre_select(const vyre_policy *policy, vyre_backend **out, vyre_selection **report,
                                 vyre_error *error);
VYRE_API void vyre_selection_free(vyre_selection *selection);
VYRE_API size_t vyre_selection_count(const vyre_selection *selection);
/* Strings are borrowed from the selection. Returns 0 past the end. */
VYRE_API int vyre_selection_get(const vyre_selection *selection, size_t index, vyre_candidate *out);
/* As lines for people or as one JSON array. */
VYRE_API vyre_status vyre_selection_render(const vyre_selection *selection, int json, vyre_bytes *out,
                                           vyre_error *error);

VYRE_API vyre_backend *vyre_backend_retain(vyre_backend *backend);
/* The last release frees resident buffers, shuts the backend down and destroys it. If a call was abandoned at its deadline and has
 * not come back, that happens when it does. */
VYRE_API void vyre_backend_release(vyre_backend *backend);

/* ---- identity and capabilities ---- */

/* Borrowed, valid while the backend lives. count may be NULL. */
VYRE_API const char *vyre_backend_id(const vyre_backend *backend);
VYRE_API const char *vyre_backend_version(vyre_backend *backend);
VYRE_API const char *const *vyre_backend_supported_ops(vyre_backend *backend, size_t *count);
/* One query for all of VYRE_CAPABILITY_LIST; the conservative default where the backend says nothing; 0 outside the list. The backend is asked
 * when it is acquired and after recovery. */
VYRE_API uint64_t vyre_backend_capability(const vyre_backend *backend, vyre_capability capability);
/* What the device computes exactly as the language asks (VYRE_NUMERIC_LIST), as the backend measured it with profile->cases operands for each operation;
 * without a measurement both are 0. What is not there is computed in other ways, with the same bits. Set profile->struct_size first. */
VYRE_API void vyre_backend_numerics(const vyre_backend *backend, vyre_numerics_profile *profile);
VYRE_API const char *vyre_numeric_name(vyre_numeric numeric); /* "unknown" outside the list */
/* Set profile->struct_size first; what is not known is 0 or "". A device that is lost or shut down is not asked. */
VYRE_API void vyre_backend_profile(vyre_backend *backend, vyre_device_profile *profile);

/* ---- dispatch ---- */

/* How a dispatch is run; zero-initialised means no deadline, no bound, no label. */
typedef struct vyre_dispatch_config {
    uint64_t timeout_ns;       /* for the whole dispatch, compiling too (vyre/pipeline.h); 0 = none */
    uint64_t max_output_bytes; /* 0 = unbounded; more is VYRE_LIMIT, before anything runs */
    const char *label;         /* shown in errors; may be NULL */
    /* NULL, or a word that is 0: another thread sets it (atomically) to cancel the dispatch, which then ends with VYRE_CANCELLED. It is read
     * until the call returns. A backend that cannot stop a kernel (capability `cancel`) looks at it before it starts, and between the launches
     * of a dispatch that takes several. An asynchronous dispatch ignores it: vyre_pending_cancel. */
    const uint32_t *cancel;
} vyre_dispatch_config;

/* What the calls below share. Arguments are those of vyre/dispatch.h; config NULL means zeros. A call blocks until done; any
 * thread. On success `outputs` holds one entry per output buffer in declaration order: slots are refilled in place where their capacity suffices.
 * On failure it is untouched. trap (optional) is filled with VYRE_TRAPPED. An empty grid reaches no backend: outputs are the inputs, and zeros.
 *
 * Calls of ops of dialects are resolved against the newest snapshot (vyre_program_resolve), in every call anew: a pipeline resolves them once.
 *
 * A dispatch with a timeout returns when that is over, whatever the backend does. `cpu`, `cuda` and the reference stop the kernel themselves. Any other
 * backend is called on a thread of the library with copies of the inputs. If it has not come back by then, the thread is abandoned, nothing is
 * delivered, and the backend is lost; one that claims to stop kernels (capability `cancel`) gets half a second more.
 *
 * VYRE_INVALID_ARGUMENT  the arguments do not fit the program
 * VYRE_LIMIT             a size is over a limit of the language, the device or the config
 * VYRE_UNSUPPORTED       the backend cannot run this program: names the feature
 * VYRE_CORRUPT           the backend broke its contract: wrong number or sizes of outputs, an unknown status
 * VYRE_TRAPPED, VYRE_TIMEOUT, VYRE_DEVICE_LOST, VYRE_NO_MEMORY, VYRE_NO_DEVICE_MEMORY, and what the backend returns */

/* Inputs are spans the caller lends. */
VYRE_API vyre_status vyre_backend_dispatch(vyre_backend *backend, vyre_program *program,
                                           const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                           vyre_outputs *outputs, vyre_trap *trap, vyre_error *error);
/* Inputs are owned bytes (arguments->inputs is ignored): the backend's own owned entry, without a copy. They stay the caller's. */
VYRE_API vyre_status vyre_backend_dispatch_owned(vyre_backend *backend, vyre_program *program, const vyre_bytes *inputs,
                                                 size_t input_count, const vyre_arguments *arguments,
                                                 const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                 vyre_trap *trap, vyre_error *error);
/* timing (optional) is filled on success. */
VYRE_API vyre_status vyre_backend_dispatch_timed(vyre_backend *backend, vyre_program *program,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                 vyre_outputs *outputs, vyre_timing *timing, vyre_trap *trap,
                                                 vyre_error *error);
/* Writes straight into the caller's slots where the backend can: inputs may not lie in them. On failure outputs->count may be 0; slots keep their memory. */
VYRE_API vyre_status vyre_backend_dispatch_into(vyre_backend *backend, vyre_program *program,
                                                const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                vyre_outputs *outputs, vyre_trap *trap, vyre_error *error);
/* Frees all slots and resets to VYRE_OUTPUTS_INIT. */
VYRE_API void vyre_outputs_free(vyre_outputs *outputs);

/* ---- resident memory ---- */

/* A buffer on the device, zeroed. Handles carry owner and generation: a stale or foreign one is VYRE_INVALID_ARGUMENT, never an alias.
 * host_source (optional): `size` bytes the buffer is registered with; uploaded now, and again by recovery if nothing has written
 * the buffer since; must stay valid until the buffer is freed. */
VYRE_API vyre_status vyre_resident_allocate(vyre_backend *backend, uint64_t size, const void *host_source,
                                            vyre_resident *out, vyre_error *error);
/* VYRE_CONFLICT while a call uses it. */
VYRE_API vyre_status vyre_resident_free(vyre_backend *backend, vyre_resident resident, vyre_error *error);
VYRE_API vyre_status vyre_resident_size(vyre_backend *backend, vyre_resident resident, uint64_t *size,
                                        vyre_error *error);
/* Exactly the whole buffer: any other length is VYRE_INVALID_ARGUMENT. */
VYRE_API vyre_status vyre_resident_upload(vyre_backend *backend, vyre_resident resident, const void *data,
                                          uint64_t size, vyre_error *error);
VYRE_API vyre_status vyre_resident_download(vyre_backend *backend, vyre_resident resident, vyre_bytes *out,
                                            vyre_error *error);
/* A range; one that ends past the buffer is VYRE_INVALID_ARGUMENT. */
VYRE_API vyre_status vyre_resident_upload_at(vyre_backend *backend, vyre_resident resident, uint64_t offset,
                                             const void *data, uint64_t size, vyre_error *error);
VYRE_API vyre_status vyre_resident_download_at(vyre_backend *backend, vyre_resident resident, uint64_t offset,
                                               void *data, uint64_t size, vyre_error *error);
/* Many ranges, one submission where the backend can. Every range is checked before the first moves. */
VYRE_API vyre_status vyre_resident_upload_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                                vyre_error *error);
VYRE_API vyre_status vyre_resident_download_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                                  vyre_error *error);
/* One resource per buffer, in declaration order, all resident; arguments->inputs and counts are ignored: element counts come from the
 * ranges. timing may be NULL. After a failure the buffers the program writes hold anything.
 *
 * VYRE_CONFLICT  two ranges overlap and the program writes one of them */
VYRE_API vyre_status vyre_backend_dispatch_resident(vyre_backend *backend, vyre_program *program,
                                                    const vyre_resource *bindings, size_t binding_count,
                                                    const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                    vyre_timing *timing, vyre_trap *trap, vyre_error *error);

/* ---- lifecycle ---- */

/* Does what the first dispatch of a program without a timeout does before it runs: `cpu` and `cuda` compile it, or find it in the caches, and the
 * reference translates it. Blocks meanwhile. Once per program is enough; a backend keeps the 32 programs used last.
 *
 * What vyre_compile returns (vyre/pipeline.h). */
VYRE_API vyre_status vyre_backend_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error);
/* Waits for everything submitted before. */
VYRE_API vyre_status vyre_backend_flush(vyre_backend *backend, vyre_error *error);
/* Waits until the pipelines compiled before are in the disk cache (vyre/cache.h). Where a binary takes long to make (`cuda`), that is done some time
 * after the compile, when nothing else is compiled; otherwise nothing waits. Shutdown and the last release wait as well: this is for
 * those who end without them, or measure. Does nothing on a lost device. */
VYRE_API void vyre_backend_flush_cache(vyre_backend *backend);
/* Refuses new work, waits for what is in flight and for what is to be stored, and releases the device. Asynchronous dispatches that have not ended after
 * two seconds are cancelled. Later calls on the backend: VYRE_DEVICE_LOST. Twice is fine.
 *
 * VYRE_TIMEOUT  a call did not end within three seconds. The backend is shut down; the device is released with the last reference to the backend. */
VYRE_API vyre_status vyre_backend_shutdown(vyre_backend *backend, vyre_error *error);
/* Sticky: once 1, every dispatch ends with VYRE_DEVICE_LOST until recovery. Asks the device. */
VYRE_API int vyre_backend_device_lost(vyre_backend *backend);
/* Opt-in. Waits for calls in flight. On success the generation is bumped, and buffers with an unwritten host source are uploaded
 * again; every other old handle is stale. Nothing happens if the device is not lost. VYRE_UNSUPPORTED where the backend cannot. */
VYRE_API vyre_status vyre_backend_try_recover(vyre_backend *backend, vyre_error *error);
/* Counts recoveries, from 1. */
VYRE_API uint64_t vyre_backend_generation(const vyre_backend *backend);

#ifdef __cplusplus
}
#endif
#endif
