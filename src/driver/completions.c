/* Completion queues (vyre/async.h): handles in order of completion, and an eventfd that is readable while the queue is
 * not empty.
 *
 * A freed queue stays allocated, closed, until no handle points to it. */
#include "base/diagnostics.h"
#include "driver/pending.h"

#include "base/status.h"
#include "base/thread.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct vyre_completions {
    _Atomic uint32_t references;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    vyre_pending *first, *last;
    size_t attached; /* queued or not yet done */
    int is_closed;
    int fd;
    vy_process_bound bound;
};

/* The parent shares the descriptor of a queue created before fork. */
static vyre_status check_process(const vyre_completions *queue, vyre_error *error) {
    if (!vy_process_is_other(&queue->bound))
        return VYRE_OK;
    return vy_fail(error, VYRE_INVALID_ARGUMENT, "create a queue in this process",
                   "the completion queue was created by process %ld and cannot be used after fork",
                   queue->bound.process);
}

static void unreference(vyre_completions *queue) {
    if (atomic_fetch_sub(&queue->references, 1) != 1)
        return;
    vy_process_unbind(&queue->bound);
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    vy_release(queue, sizeof *queue);
}

vyre_status vyre_completions_new(vyre_completions **out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    vyre_completions *queue = vy_allocate_zero(sizeof *queue);
    *out = NULL;
    if (!queue)
        return vy_fail_memory(error, "creating a completion queue");
    queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->fd < 0) {
        int why = errno;
        vy_release(queue, sizeof *queue);
        return vy_fail(error, VYRE_IO, "close files, or raise the limit of open ones (ulimit -n)",
                       "the descriptor of a completion queue cannot be created (errno %d)", why);
    }
    vyre_status status = vy_process_bind(&queue->bound, error);
    if (status != VYRE_OK) {
        close(queue->fd);
        vy_release(queue, sizeof *queue);
        return status;
    }
    atomic_init(&queue->references, 1);
    pthread_mutex_init(&queue->lock, NULL);
    vy_cond_init_monotonic(&queue->filled);
    *out = queue;
    return VYRE_OK;
}

/* ---- the list; with the lock held ---- */

/* The descriptor is readable exactly while the list is not empty: it holds one token then. */
static void signal_fd(vyre_completions *queue) {
    uint64_t one = 1;
    if (write(queue->fd, &one, sizeof one) < 0)
        vy_log(1, "completions", "the descriptor of a completion queue cannot be signalled");
}

static void clear_fd(vyre_completions *queue) {
    uint64_t token;
    if (read(queue->fd, &token, sizeof token) < 0)
        vy_log(1, "completions", "the descriptor of a completion queue was read by other code");
}

static void remove_from(vyre_completions *queue, vyre_pending *p) {
    *(p->queue_previous ? &p->queue_previous->queue_next : &queue->first) = p->queue_next;
    *(p->queue_next ? &p->queue_next->queue_previous : &queue->last) = p->queue_previous;
    p->queue_previous = p->queue_next = NULL;
    if (!queue->first)
        clear_fd(queue);
}

void vy_completions_push(vyre_completions *queue, vyre_pending *p) {
    pthread_mutex_lock(&queue->lock);
    if (!queue->is_closed && p->queue_state == VY_QUEUE_STATE_NONE) {
        if (!queue->first)
            signal_fd(queue);
        p->queue_state = VY_QUEUE_STATE_QUEUED;
        p->queue_previous = queue->last;
        *(queue->last ? &queue->last->queue_next : &queue->first) = p;
        queue->last = p;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
}

void vy_completions_remove(vyre_pending *p) {
    vyre_completions *queue = p->queue;
    if (!queue)
        return;
    p->queue = NULL;
    pthread_mutex_lock(&queue->lock);
    if (!queue->is_closed) {
        if (p->queue_state == VY_QUEUE_STATE_QUEUED)
            remove_from(queue, p);
        if (p->queue_state != VY_QUEUE_STATE_DELIVERED && --queue->attached == 0)
            pthread_cond_broadcast(&queue->filled); /* no dispatch is left to wait for */
    }
    pthread_mutex_unlock(&queue->lock);
    unreference(queue);
}

/* ---- public functions ---- */

void vyre_completions_free(vyre_completions *queue) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!queue)
        return;
    if (vy_process_is_other(&queue->bound)) {
        close(queue->fd);
        return;
    }
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = 1;
    while (queue->first) {
        vyre_pending *p = queue->first;
        queue->first = p->queue_next;
        p->queue_previous = p->queue_next = NULL;
    }
    close(queue->fd);
    pthread_mutex_unlock(&queue->lock);
    unreference(queue);
}

static int is_attached(vyre_pending *p) {
    if (!p->queue)
        return 0;
    pthread_mutex_lock(&p->queue->lock);
    int is_open = !p->queue->is_closed;
    pthread_mutex_unlock(&p->queue->lock);
    return is_open;
}

vyre_status vyre_completions_attach(vyre_completions *queue, vyre_pending *pending, uint64_t tag, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, queue);
    VY_REQUIRE(error, pending);
    vyre_pending *p = pending;
    vyre_status status = check_process(queue, error);
    if (status == VYRE_OK)
        status = vy_backend_check_process(p->dispatch.backend, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&p->lock);
    if (is_attached(p)) {
        pthread_mutex_unlock(&p->lock);
        return vy_fail(error, VYRE_CONFLICT, "receive it from its queue first, or free that queue",
                       "the dispatch of `%s` is already attached to a completion queue",
                       vyre_program_name(p->dispatch.program));
    }
    vy_completions_remove(p);
    p->queue = queue;
    p->tag = tag;
    atomic_fetch_add(&queue->references, 1);
    pthread_mutex_lock(&queue->lock);
    p->queue_state = VY_QUEUE_STATE_NONE;
    queue->attached++;
    pthread_mutex_unlock(&queue->lock);
    atomic_fetch_add(&p->references, 1); /* another thread may receive and free it before this call returns */
    if (p->is_done || p->is_ready)
        vy_completions_push(queue, p);
    else
        vy_pending_watch(p);
    pthread_mutex_unlock(&p->lock);
    vy_pending_unreference(p);
    return VYRE_OK;
}

vyre_status vyre_completions_next(vyre_completions *queue, uint64_t timeout_ns, vyre_pending **out, uint64_t *tag,
                                  vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, queue);
    uint64_t deadline = 0;
    if (timeout_ns != UINT64_MAX && __builtin_add_overflow(vy_clock_now(), timeout_ns, &deadline))
        timeout_ns = UINT64_MAX;
    struct timespec until = vy_clock_timespec(deadline);
    int is_late = 0;
    vyre_status status = check_process(queue, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&queue->lock);
    while (!queue->first && queue->attached && !is_late)
        is_late = timeout_ns == UINT64_MAX ? pthread_cond_wait(&queue->filled, &queue->lock) != 0
                                           : pthread_cond_timedwait(&queue->filled, &queue->lock, &until) == ETIMEDOUT;
    vyre_pending *p = queue->first;
    size_t attached = queue->attached;
    if (p) {
        remove_from(queue, p);
        p->queue_state = VY_QUEUE_STATE_DELIVERED; /* not announced again when its work ends */
        if (--queue->attached == 0)
            pthread_cond_broadcast(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
    if (!p && !attached)
        return vy_fail(error, VYRE_NOT_FOUND, "attach a dispatch first", "nothing is attached to the queue");
    if (!p)
        return vy_fail(error, VYRE_NOT_READY, "wait longer", "none of the %zu attached dispatches finished in time",
                       attached);
    pthread_mutex_lock(&p->lock); /* it is in no list: only its pointer to the queue is left */
    p->queue = NULL;
    if (tag)
        *tag = p->tag;
    pthread_mutex_unlock(&p->lock);
    unreference(queue);
    *out = p;
    return VYRE_OK;
}

int vyre_completions_fd(const vyre_completions *queue) {
    return queue ? queue->fd : -1;
}
