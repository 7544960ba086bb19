/* Asynchronous dispatch: handles of dispatches in flight, and completion queues. A dispatch function returns a handle
 * as soon as the work is submitted; the result is collected later, from any thread. The number of dispatches in flight
 * is bounded by memory only; they are independent and end in any order.
 *
 *     vyre_pending *pending;
 *     status = vyre_backend_dispatch_async(backend, program, &arguments, NULL, &pending, &error);
 *     status = vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, &error);
 *     vyre_pending_free(pending);
 *
 * Threads:  a handle may be used from any thread, by one thread at a time. A queue may be used by several threads
 *           concurrently.
 * Fork:     in a child process an inherited handle is ready, waiting for it returns VYRE_DEVICE_LOST, and cancelling or
 *           freeing it has no effect. An inherited queue is VYRE_INVALID_ARGUMENT; freeing it closes the child's copy
 *           of its descriptor. */
#ifndef VYRE_ASYNC_H
#define VYRE_ASYNC_H

#include "vyre/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dispatch in flight. It keeps its backend alive.
 *
 * Constructors:  vyre_backend_dispatch_async, vyre_backend_dispatch_owned_async, vyre_pipeline_dispatch_async
 * Destructor:    vyre_pending_free
 * Methods:       vyre_pending_is_ready, vyre_pending_wait, vyre_pending_cancel, vyre_completions_attach */
typedef struct vyre_pending vyre_pending;

/* A queue of handles in the order of their completion, with a pollable descriptor.
 *
 * Constructor:  vyre_completions_new
 * Destructor:   vyre_completions_free
 * Methods:      vyre_completions_attach, vyre_completions_next, vyre_completions_fd */
typedef struct vyre_completions vyre_completions;

/* Starts a dispatch.
 *
 * arguments, config  As for vyre_backend_dispatch. Copied or consumed before the call returns. config->cancel is
 *                    ignored: use vyre_pending_cancel. config->timeout_ns is measured from this call.
 * out                Free with vyre_pending_free.
 *
 * Blocking:  blocks while the program is compiled, if it is in no cache. Does not wait for the dispatch. A backend
 *            without an asynchronous entry runs the dispatch on a thread of the library.
 * Errors:    whatever can be rejected before the dispatch starts is returned here; errors of the running dispatch are
 *            returned by vyre_pending_wait.
 *
 * VYRE_INVALID_ARGUMENT  the arguments do not match the program
 * VYRE_LIMIT             a size exceeds a limit of the language, the device or the config
 * VYRE_UNSUPPORTED       the backend cannot run the program; the message names the missing feature
 * VYRE_DEVICE_LOST       the device is lost, or the backend is shut down
 * VYRE_NO_MEMORY         out of host memory
 * other                  any status of vyre_compile or of the backend */
VYRE_API vyre_status vyre_backend_dispatch_async(vyre_backend *backend, vyre_program *program,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                 vyre_pending **out, vyre_error *error);

/* Like vyre_backend_dispatch_async, with owned bytes as inputs; arguments->inputs is ignored. Calls the backend's entry
 * for owned bytes if it has one.
 *
 * inputs  Remain the caller's; may be freed when the call returns. */
VYRE_API vyre_status vyre_backend_dispatch_owned_async(vyre_backend *backend, vyre_program *program,
                                                       const vyre_bytes *inputs, size_t input_count,
                                                       const vyre_arguments *arguments,
                                                       const vyre_dispatch_config *config, vyre_pending **out,
                                                       vyre_error *error);
/* Returns 1 if vyre_pending_wait will not block, 0 otherwise. Does not block. */
VYRE_API int vyre_pending_is_ready(vyre_pending *pending);

/* Waits for a dispatch and delivers its result.
 *
 * timeout_ns     UINT64_MAX waits without limit; 0 only polls.
 * outputs, trap  As for vyre_backend_dispatch. Exception: an output of 1 MiB or more is delivered by exchanging memory
 *                with the slot, if the new memory is at least as large as the slot's; the slot is not refilled.
 *
 * Blocking:  blocks until the dispatch is done or timeout_ns has passed.
 *
 * VYRE_NOT_READY         the dispatch is not done yet; wait again
 * VYRE_TIMEOUT           the dispatch is done: its deadline passed, and nothing is delivered
 * VYRE_CANCELLED         it was cancelled before it was done; nothing is delivered
 * VYRE_INVALID_ARGUMENT  the outputs were delivered by an earlier call
 * other                  any status of vyre_backend_dispatch; a failure is returned again by each later call */
VYRE_API vyre_status vyre_pending_wait(vyre_pending *pending, uint64_t timeout_ns, vyre_outputs *outputs,
                                       vyre_trap *trap, vyre_error *error);

/* Requests the dispatch to end. vyre_pending_wait then returns VYRE_CANCELLED, or the result if the dispatch was done
 * before. A backend without the capability `cancel` cannot stop the kernel: it runs to its end, and its results are
 * dropped. Does not block. */
VYRE_API void vyre_pending_cancel(vyre_pending *pending);

/* Cancels the dispatch if it is not done, detaches the handle from its queue and frees it. NULL is ignored. Does not
 * block. After every dispatch of a backend was waited for and its handle freed, no thread of the library holds a
 * reference to that backend: the caller's last vyre_backend_release then closes it before returning. */
VYRE_API void vyre_pending_free(vyre_pending *pending);

/* ---- completions ---- */

/* Creates an empty queue.
 *
 * VYRE_IO         no descriptor could be created
 * VYRE_NO_MEMORY  out of host memory */
VYRE_API vyre_status vyre_completions_new(vyre_completions **out, vyre_error *error);

/* Frees a queue. NULL is ignored. Handles that are still attached are detached and remain the caller's. No other thread
 * may use the queue during or after the call. */
VYRE_API void vyre_completions_free(vyre_completions *queue);

/* Attaches a handle to a queue. When the dispatch is done, vyre_completions_next returns the handle once, with `tag`;
 * immediately if it is already done.
 *
 * VYRE_CONFLICT          the handle is attached to a queue
 * VYRE_INVALID_ARGUMENT  the queue was created by another process
 * VYRE_DEVICE_LOST       the handle was created by another process */
VYRE_API vyre_status vyre_completions_attach(vyre_completions *queue, vyre_pending *pending, uint64_t tag,
                                             vyre_error *error);

/* Removes the next completed handle from the queue, in order of completion, and detaches it.
 *
 * timeout_ns  UINT64_MAX waits without limit.
 * tag         Optional; receives the tag of vyre_completions_attach.
 *
 * Blocking:  blocks until a handle is done or timeout_ns has passed.
 *
 * VYRE_NOT_READY         no handle was done in time
 * VYRE_NOT_FOUND         no handle is attached
 * VYRE_INVALID_ARGUMENT  the queue was created by another process */
VYRE_API vyre_status vyre_completions_next(vyre_completions *queue, uint64_t timeout_ns, vyre_pending **out,
                                           uint64_t *tag, vyre_error *error);

/* Returns a descriptor that is readable while vyre_completions_next would return a handle without waiting; -1 if queue
 * is NULL. The queue owns it: poll it, do not read or close it. */
VYRE_API int vyre_completions_fd(const vyre_completions *queue);

#ifdef __cplusplus
}
#endif
#endif
