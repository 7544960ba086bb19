/* Asynchronous dispatch: handles of work in flight, and a queue of completions.
 *
 * A handle is used by one thread at a time (any thread); it keeps its backend alive. A queue may be used by several threads at once.
 * As many dispatches as memory allows may be in flight; they are independent, and may end in any order.
 *
 * In a child made by fork an inherited handle is ready, waiting for it gives VYRE_DEVICE_LOST, and cancelling or freeing it does nothing. An
 * inherited queue is VYRE_INVALID_ARGUMENT; freeing it closes the child's copy of its descriptor. */
#ifndef VYRE_ASYNC_H
#define VYRE_ASYNC_H

#include "vyre/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vyre_pending vyre_pending;
typedef struct vyre_completions vyre_completions;

/* Starts a dispatch (vyre_backend_dispatch says what arguments and config mean). Everything that is lent is copied or consumed before it returns.
 * What can be refused before starting is refused here; what goes wrong while running comes from vyre_pending_wait. A backend without an
 * asynchronous entry runs on a thread of the library. The deadline of the config counts from here. */
VYRE_API vyre_status vyre_backend_dispatch_async(vyre_backend *backend, vyre_program *program,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                                 vyre_pending **out, vyre_error *error);
/* The same with owned bytes as inputs (arguments->inputs is ignored): the backend's own owned entry where it has one. They stay the
 * caller's, and may be freed on return. */
VYRE_API vyre_status vyre_backend_dispatch_owned_async(vyre_backend *backend, vyre_program *program,
                                                       const vyre_bytes *inputs, size_t input_count,
                                                       const vyre_arguments *arguments,
                                                       const vyre_dispatch_config *config, vyre_pending **out,
                                                       vyre_error *error);
/* 1 when vyre_pending_wait will not block. Does not block. */
VYRE_API int vyre_pending_is_ready(vyre_pending *pending);
/* Waits at most timeout_ns (UINT64_MAX = for ever, 0 = only looks).
 *
 * VYRE_NOT_READY         not done yet: wait again
 * VYRE_TIMEOUT           done: the deadline of the dispatch passed, and nothing is delivered
 * VYRE_CANCELLED         it was cancelled before it was done; nothing is delivered
 * VYRE_INVALID_ARGUMENT  the result was taken before
 * and what vyre_backend_dispatch returns. outputs and trap as there, but that slots of a mebibyte and more are not refilled: they change hands with
 * memory at least as large. */
VYRE_API vyre_status vyre_pending_wait(vyre_pending *pending, uint64_t timeout_ns, vyre_outputs *outputs,
                                       vyre_trap *trap, vyre_error *error);
/* Asks the work to end, and returns at once. vyre_pending_wait then gives VYRE_CANCELLED, or the result if it was done before. What a backend
 * cannot stop (capability `cancel`) runs to its end unobserved. */
VYRE_API void vyre_pending_cancel(vyre_pending *pending);
/* Cancels what is not done, leaves its queue, and returns at once. NULL is ignored. Once what was started is waited for and freed, no thread of
 * the library has a reference to the backend: whoever releases the last of its own has closed it when that call returns. */
VYRE_API void vyre_pending_free(vyre_pending *pending);

/* ---- completions ---- */

VYRE_API vyre_status vyre_completions_new(vyre_completions **out, vyre_error *error);
/* Handles still attached are detached; they stay the caller's. No other thread may be using the queue. */
VYRE_API void vyre_completions_free(vyre_completions *queue);
/* From now on the queue announces the handle, once, when it is done (now, if it is already); `tag` comes back with it.
 *
 * VYRE_CONFLICT  it is attached to a queue */
VYRE_API vyre_status vyre_completions_attach(vyre_completions *queue, vyre_pending *pending, uint64_t tag,
                                             vyre_error *error);
/* Takes the next handle that is done, in order of completion, waiting at most timeout_ns (UINT64_MAX = for ever). The
 * handle is detached. tag is optional.
 *
 * VYRE_NOT_READY  none was done in time
 * VYRE_NOT_FOUND  none is attached: there is nothing to wait for */
VYRE_API vyre_status vyre_completions_next(vyre_completions *queue, uint64_t timeout_ns, vyre_pending **out,
                                           uint64_t *tag, vyre_error *error);
/* A descriptor that polls readable while vyre_completions_next would give a handle at once. It belongs to the queue: poll it, do not
 * read or close it. -1 if queue is NULL. */
VYRE_API int vyre_completions_fd(const vyre_completions *queue);

#ifdef __cplusplus
}
#endif
#endif
