/* Handles of dispatches in flight: collecting, waiting, cancelling, freeing (pending.h). Starting is in async.c. */
#include "driver/pending.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/pipeline.h"
#include "driver/trace.h"

#include <errno.h>

/* ---- memory of outputs ---- */

/* What is filled next was used before, where there is such memory. */
static void acquire_buffers(vyre_pending *p) {
    for (uint32_t i = 0; i < p->dispatch.program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &p->dispatch.launch.buffers[i];
        if (buffer->output != VY_NONE)
            vy_buffer_recycler_acquire(&p->dispatch.backend->async.hoard, buffer->bytes,
                                       &p->slots.items[buffer->output]);
    }
}

/* For those that come next, if they take it; slots that a backend left with contradictory parts are not. */
static void recycle_buffers(vyre_pending *p) {
    for (size_t i = 0; i < p->slots.count && p->calls.wait; i++)
        if (vy_bytes_are_valid(&p->slots.items[i]))
            vy_buffer_recycler_release(&p->dispatch.backend->async.hoard, &p->slots.items[i]);
}

/* ---- references ---- */

static vyre_pending *reference(vyre_pending *p) {
    atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed);
    return p;
}

void vy_pending_unreference(vyre_pending *p) {
    if (atomic_fetch_sub_explicit(&p->references, 1, memory_order_acq_rel) != 1)
        return;
    vyre_backend *backend = p->dispatch.backend;
    recycle_buffers(p);
    vy_output_slots_end(&p->slots);
    vyre_program_release(p->dispatch.program);
    vyre_pipeline_release(p->kept);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    vy_release(p->copies, p->copies_size);
    vy_async_recycle(&backend->async, p);
    vyre_backend_release(backend);
}

void vy_pending_unlock_unreference(vyre_pending *p) {
    int is_last_possible = p->is_freed;
    if (!is_last_possible)
        atomic_fetch_sub_explicit(&p->references, 1, memory_order_acq_rel);
    pthread_mutex_unlock(&p->lock);
    if (is_last_possible)
        vy_pending_unreference(p);
}

/* ---- the end of the work ---- */

static void set_done(vyre_pending *p) {
    p->is_done = 1;
    if (p->queue)
        vy_completions_push(p->queue, p);
    pthread_cond_broadcast(&p->changed);
}

void vy_pending_finish(vyre_pending *p, vyre_status status) {
    vyre_backend *backend = p->dispatch.backend;
    vy_async *async = &backend->async;
    pthread_mutex_lock(&p->lock); /* whoever finds nothing in flight any more finds this one done */
    p->status = status;
    p->is_finished = 1;
    pthread_mutex_lock(&async->lock);
    *(p->previous ? &p->previous->next : &async->first) = p->next;
    *(p->next ? &p->next->previous : &async->last) = p->previous;
    pthread_mutex_unlock(&async->lock);
    vy_count(VY_COUNTER_pending, UINT64_MAX); /* one less */
    vy_backend_leave(backend);
    if (p->is_done)
        pthread_cond_broadcast(&p->changed);
    else
        set_done(p);
}

/* A handle that is destroyed and has not said that it is ready will not say so any more. Whoever collects has a reference. */
static void cancel_notification(vyre_pending *p) {
    pthread_mutex_lock(&p->lock);
    int is_owed = p->is_watched && !p->is_announced;
    p->is_announced |= is_owed;
    pthread_mutex_unlock(&p->lock);
    if (is_owed)
        vy_pending_unreference(p);
}

/* With the lock held; gives it up during the call. Waits natively until done or the deadline (0 = for ever). */
static void collect(vyre_pending *p, uint64_t deadline_ns) {
    vyre_backend *backend = p->dispatch.backend;
    p->is_collecting = 1;
    pthread_mutex_unlock(&p->lock);

    vy_error_clear(&p->error);
    acquire_buffers(p);
    vyre_status status = p->calls.wait(p->native.self, deadline_ns, &p->slots.outputs, &p->error);
    int is_over = status != VYRE_NOT_READY;
    if (!is_over && !deadline_ns) {
        is_over = 1;
        status = vy_backend_violation(backend, &p->error, "it stopped waiting for a dispatch that has no deadline");
    }
    if (is_over && status == VYRE_OK)
        status = vy_outputs_check(backend, &p->slots.outputs, p->slots.items, p->slots.count, p->dispatch.program,
                                  &p->dispatch.launch, &p->error);
    else if (is_over)
        status = vy_backend_check_result_run(backend, status, &p->error);
    if (is_over)
        status = vy_dispatch_finish(backend, status, &p->dispatch.launch, &p->trap, &p->error);

    if (is_over) {
        pthread_mutex_lock(&p->lock);
        while (p->is_cancelling)
            pthread_cond_wait(&p->changed, &p->lock);
        p->native.vtable = NULL;
        pthread_mutex_unlock(&p->lock);
        p->calls.destroy(p->native.self);
        cancel_notification(p);
        vy_pending_finish(p, status);
        atomic_fetch_sub_explicit(&p->references, 1,
                                  memory_order_acq_rel); /* the work's; whoever collects has another */
    } else {
        pthread_mutex_lock(&p->lock);
    }
    p->is_collecting = 0;
    pthread_cond_broadcast(&p->changed);
}

/* Whether somebody has to collect. With the lock held. */
static int is_open(const vyre_pending *p) {
    return p->native.vtable && !p->is_collecting;
}

static void collect_job(vy_thread_pool_job *job) {
    vyre_pending *p = (vyre_pending *)job;
    pthread_mutex_lock(&p->lock);
    p->is_queued = 0;
    if (is_open(p))
        collect(p, 0);
    vy_pending_unlock_unreference(p);
}

static void on_ready(void *user) {
    vyre_pending *p = user;
    vyre_error unseen;
    pthread_mutex_lock(&p->lock);
    int is_first = !p->is_announced;
    p->is_announced = p->is_ready = 1;
    if (p->queue && !p->is_done)
        vy_completions_push(p->queue, p);
    pthread_cond_broadcast(&p->changed);
    if (is_first) { /* there is one reference for it */
        vy_pending_unlock_unreference(p);
        return;
    }
    pthread_mutex_unlock(&p->lock);
    vy_backend_violation(p->dispatch.backend, &unseen, "it said twice that a dispatch in flight is ready");
}

/* A thread of the pool collects it; without one, this thread does. */
static void collect_on_pool(vyre_pending *p) {
    if (!is_open(p) || p->is_queued)
        return;
    vy_thread_pool *pool = vy_async_pool(&p->dispatch.backend->async);
    p->is_queued = 1;
    p->job.run = collect_job;
    reference(p);
    pthread_mutex_unlock(&p->lock);
    if (!pool || !vy_thread_pool_submit(pool, &p->job))
        collect_job(&p->job);
    pthread_mutex_lock(&p->lock);
}

void vy_pending_watch(vyre_pending *p) {
    if (!is_open(p) || !p->calls.notify) {
        collect_on_pool(p);
        return;
    }
    /* The handle stays until it is collected, and nobody collects while this thread is counted as inside. */
    void (*notify)(void *, void (*)(void *), void *) = p->calls.notify;
    p->calls.notify = NULL; /* once: if it is watched again, a thread does it */
    p->is_collecting = 1;
    p->is_watched = 1;
    reference(p);
    pthread_mutex_unlock(&p->lock);
    notify(p->native.self, on_ready, p);
    pthread_mutex_lock(&p->lock);
    p->is_collecting = 0;
    pthread_cond_broadcast(&p->changed);
}

/* With the lock held. */
static void wait_finished(vyre_pending *p, uint64_t until_ns) {
    const struct timespec until = vy_clock_timespec(until_ns);
    int result = 0;
    while (!p->is_finished && result != ETIMEDOUT) {
        if (until_ns)
            collect_on_pool(p);
        if (p->is_finished)
            break;
        if (!until_ns && is_open(p))
            collect(p, 0);
        else
            result = until_ns ? pthread_cond_timedwait(&p->changed, &p->lock, &until)
                              : pthread_cond_wait(&p->changed, &p->lock);
    }
}

void vy_async_wait_all(vyre_backend *backend, uint64_t until_ns) {
    vy_async *async = &backend->async;
    int is_late = 0;
    pthread_mutex_lock(&async->lock);
    uint64_t last = async->started;
    while (!is_late && async->first && async->first->serial <= last) {
        vyre_pending *p = reference(async->first);
        pthread_mutex_unlock(&async->lock);
        pthread_mutex_lock(&p->lock);
        wait_finished(p, until_ns);
        is_late = !p->is_finished;
        pthread_mutex_unlock(&p->lock);
        vy_pending_unreference(p);
        pthread_mutex_lock(&async->lock);
    }
    pthread_mutex_unlock(&async->lock);
}

/* ---- the caller's side ---- */

int vyre_pending_is_ready(vyre_pending *p) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!p)
        return 0;
    if (vy_backend_is_inherited(p->dispatch.backend))
        return 1;
    pthread_mutex_lock(&p->lock);
    if (!p->is_done && !p->is_ready && is_open(p)) {
        p->is_collecting = 1;
        pthread_mutex_unlock(&p->lock);
        int is_ready = p->calls.is_ready(p->native.self) != 0;
        pthread_mutex_lock(&p->lock);
        p->is_ready |= is_ready;
        p->is_collecting = 0;
        pthread_cond_broadcast(&p->changed);
    }
    int is_ready = p->is_done || p->is_ready;
    pthread_mutex_unlock(&p->lock);
    return is_ready;
}

/* Returns 0 if the deadline (0 = none) came first. With the lock held. */
static int wait_done(vyre_pending *p, uint64_t deadline_ns) {
    struct timespec until = vy_clock_timespec(deadline_ns);
    while (!p->is_done) {
        if (is_open(p)) {
            collect(p, deadline_ns);
            if (!p->is_done && deadline_ns && vy_clock_now() >= deadline_ns)
                return 0;
        } else if (!deadline_ns || p->is_ready) { /* another thread is collecting it: it does not count as waiting */
            pthread_cond_wait(&p->changed, &p->lock);
        } else if (pthread_cond_timedwait(&p->changed, &p->lock, &until) == ETIMEDOUT && !p->is_done) {
            return 0;
        }
    }
    return 1;
}

static vyre_status take(vyre_pending *p, vyre_outputs *outputs, vyre_trap *trap, vyre_error *error) {
    const char *name = vyre_program_name(p->dispatch.program);
    if (p->is_cancelled)
        return vy_fail(error, VYRE_CANCELLED, NULL, "the dispatch of `%s` was cancelled", name);
    if (p->is_taken)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "wait once for each dispatch, and keep what it gave",
                       "the outputs of `%s` were taken before", name);
    if (p->status == VYRE_TRAPPED && trap)
        *trap = p->trap;
    if (p->status != VYRE_OK) {
        if (error)
            *error = p->error;
        return p->status;
    }
    vyre_status status = vy_outputs_reserve(outputs, p->slots.count, error);
    if (status != VYRE_OK)
        return status;
    vy_outputs_deliver_swapping(outputs, &p->slots.outputs);
    recycle_buffers(p);
    p->is_taken = 1;
    return VYRE_OK;
}

vyre_status vyre_pending_wait(vyre_pending *pending, uint64_t timeout_ns, vyre_outputs *outputs, vyre_trap *trap,
                              vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, pending);
    VY_REQUIRE(error, outputs);
    vyre_pending *p = pending;
    vyre_status status = vy_backend_check_process(p->dispatch.backend, error);
    if (status != VYRE_OK)
        return status;
    uint64_t deadline = 0;
    if (timeout_ns != UINT64_MAX && __builtin_add_overflow(vy_clock_now(), timeout_ns, &deadline))
        deadline = 0;
    vy_span span = vy_span_begin();
    pthread_mutex_lock(&p->lock);
    status = wait_done(p, deadline) ? vy_dispatch_fail_labelled(take(p, outputs, trap, error), p->label, error)
                                    : vy_fail(error, VYRE_NOT_READY, "wait again, longer, or cancel it",
                                              "`%s` is not done yet", vyre_program_name(p->dispatch.program));
    pthread_mutex_unlock(&p->lock);
    vy_span_end(span, wait, .program = vyre_program_name(p->dispatch.program), .backend = p->dispatch.backend->id,
                .status = status);
    return status;
}

/* With the lock held; gives it up for a moment. */
static void cancel(vyre_pending *p) {
    if (p->is_done)
        return;
    p->is_cancelled = 1;
    atomic_store(&p->cancel, 1);
    vy_count(VY_COUNTER_cancellations, 1);
    set_done(p);
    if (p->native.vtable && p->calls.cancel) {
        p->is_cancelling = 1; /* nobody destroys it meanwhile */
        pthread_mutex_unlock(&p->lock);
        p->calls.cancel(p->native.self);
        pthread_mutex_lock(&p->lock);
        p->is_cancelling = 0;
        pthread_cond_broadcast(&p->changed);
    }
    collect_on_pool(p);
}

void vy_async_cancel(vyre_backend *backend) {
    vy_async *async = &backend->async;
    uint64_t serial = 0;
    pthread_mutex_lock(&async->lock);
    for (vyre_pending *p = async->first; p;) {
        if (p->serial <= serial) {
            p = p->next;
            continue;
        }
        serial = p->serial;
        reference(p);
        pthread_mutex_unlock(&async->lock);
        pthread_mutex_lock(&p->lock);
        cancel(p);
        pthread_mutex_unlock(&p->lock);
        vy_pending_unreference(p);
        pthread_mutex_lock(&async->lock);
        p = async->first; /* the list may have changed */
    }
    pthread_mutex_unlock(&async->lock);
}

void vyre_pending_cancel(vyre_pending *p) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!p || vy_backend_is_inherited(p->dispatch.backend))
        return;
    pthread_mutex_lock(&p->lock);
    cancel(p);
    pthread_mutex_unlock(&p->lock);
}

void vyre_pending_free(vyre_pending *p) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!p || vy_backend_is_inherited(p->dispatch.backend))
        return;
    pthread_mutex_lock(&p->lock);
    vy_completions_remove(p);
    cancel(p);
    p->is_freed = 1;
    pthread_mutex_unlock(&p->lock);
    vy_pending_unreference(p);
}
