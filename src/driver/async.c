/* Asynchronous dispatch: the list of dispatches in flight, their handles, collection, waiting, cancellation, start
 * (async.h, pending.h).
 *
 * A handle is reference counted. The caller holds one reference, the work one; a queued job and a requested
 * notification hold one each. At most one thread at a time is inside a native handle (`is_collecting`), and no lock is
 * held during a call of the backend. */
#include "driver/pending.h"

#include "base/status.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "driver/op_code.h"
#include "driver/pipeline.h"
#include "driver/telemetry.h"

#include <errno.h>
#include <stdio.h>

/* ---- the list of a backend ---- */

void vy_async_start(vy_async *async) {
    pthread_mutex_init(&async->lock, NULL);
    vy_buffer_recycler_init(&async->recycler);
}

void vy_async_end(vy_async *async) {
    vy_thread_pool_close(async->pool);
    while (async->free_handles) {
        vyre_pending *p = async->free_handles;
        async->free_handles = p->next;
        vy_release(p, sizeof *p);
    }
    vy_buffer_recycler_destroy(&async->recycler);
    pthread_mutex_destroy(&async->lock);
}

enum { MAX_FREE_HANDLES = 64 }; /* at most: about a megabyte */

static vyre_pending *acquire_handle(vy_async *async) {
    pthread_mutex_lock(&async->lock);
    vyre_pending *p = async->free_handles;
    if (p) {
        async->free_handles = p->next;
        async->free_handle_count--;
    }
    pthread_mutex_unlock(&async->lock);
    return p ? p : vy_allocate(sizeof *p);
}

static void recycle_handle(vy_async *async, vyre_pending *p) {
    pthread_mutex_lock(&async->lock);
    int keep = async->free_handle_count < MAX_FREE_HANDLES;
    if (keep) {
        p->next = async->free_handles;
        async->free_handles = p;
        async->free_handle_count++;
    }
    pthread_mutex_unlock(&async->lock);
    if (!keep)
        vy_release(p, sizeof *p);
}

vy_thread_pool *vy_async_pool(vy_async *async) {
    pthread_mutex_lock(&async->lock);
    if (!async->pool)
        async->pool = vy_thread_pool_new();
    vy_thread_pool *pool = async->pool;
    pthread_mutex_unlock(&async->lock);
    return pool;
}

static void append_inflight(vy_async *async, vyre_pending *p) {
    pthread_mutex_lock(&async->lock);
    p->serial = ++async->started;
    p->previous = async->last;
    *(async->last ? &async->last->next : &async->first) = p;
    async->last = p;
    pthread_mutex_unlock(&async->lock);
    vy_count(VY_COUNTER_async_dispatches, 1);
    vy_count(VY_COUNTER_pending, 1);
}

/* ---- recycled output memory ---- */

/* Fills the output slots with recycled memory where the recycler has some. */
static void acquire_buffers(vyre_pending *p) {
    for (uint32_t i = 0; i < p->dispatch.program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &p->dispatch.launch.buffers[i];
        if (buffer->output != VY_NONE)
            vy_buffer_recycler_acquire(&p->dispatch.backend->async.recycler, buffer->bytes,
                                       &p->slots.items[buffer->output]);
    }
}

/* Returns the memory of the output slots to the recycler. Only native dispatches use it. Inconsistent slots are
 * skipped. */
static void recycle_buffers(vyre_pending *p) {
    for (size_t i = 0; i < p->slots.count && p->calls.wait; i++)
        if (vy_bytes_are_valid(&p->slots.items[i]))
            vy_buffer_recycler_release(&p->dispatch.backend->async.recycler, &p->slots.items[i]);
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
    recycle_handle(&backend->async, p);
    vyre_backend_release(backend);
}

/* Releases the lock, which the caller holds, and a reference. While the caller of the API still has its handle, that
 * reference is dropped under the lock. A caller that observes the end and frees all its handles then drops the last
 * reference, so the backend's threads are joined when its call returns. */
static void unlock_unreference(vyre_pending *p) {
    int is_last_possible = p->is_freed;
    if (!is_last_possible)
        atomic_fetch_sub_explicit(&p->references, 1, memory_order_acq_rel);
    pthread_mutex_unlock(&p->lock);
    if (is_last_possible)
        vy_pending_unreference(p);
}

/* ---- the end of the work, and collection ---- */

static void set_done(vyre_pending *p) {
    p->is_done = 1;
    if (p->queue)
        vy_completions_push(p->queue, p);
    pthread_cond_broadcast(&p->changed);
}

/* Marks the work as finished with this status; its error and outputs are in the handle. Acquires the lock and leaves it
 * held. The caller drops the work's reference. */
static void finish(vyre_pending *p, vyre_status status) {
    vyre_backend *backend = p->dispatch.backend;
    vy_async *async = &backend->async;
    pthread_mutex_lock(&p->lock); /* a thread that finds an empty list must find this dispatch done */
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

/* After a native handle was destroyed, no notification follows; drops the reference of a notification that has not
 * arrived. The collecting thread holds another reference. */
static void cancel_notification(vyre_pending *p) {
    pthread_mutex_lock(&p->lock);
    int is_owed = p->is_watched && !p->is_announced;
    p->is_announced |= is_owed;
    pthread_mutex_unlock(&p->lock);
    if (is_owed)
        vy_pending_unreference(p);
}

/* Waits in the backend until the dispatch ends or the deadline passes (0: no deadline). With the lock held, which is
 * released during the call. */
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
        finish(p, status);
        atomic_fetch_sub_explicit(&p->references, 1,
                                  memory_order_acq_rel); /* the work's reference; the collecting thread holds another */
    } else {
        pthread_mutex_lock(&p->lock);
    }
    p->is_collecting = 0;
    pthread_cond_broadcast(&p->changed);
}

/* Whether a native handle exists that no thread is collecting. With the lock held. */
static int is_open(const vyre_pending *p) {
    return p->native.vtable && !p->is_collecting;
}

static void collect_job(vy_thread_pool_job *job) {
    vyre_pending *p = (vyre_pending *)job;
    pthread_mutex_lock(&p->lock);
    p->is_queued = 0;
    if (is_open(p))
        collect(p, 0);
    unlock_unreference(p);
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
    if (is_first) { /* the notification holds one reference */
        unlock_unreference(p);
        return;
    }
    pthread_mutex_unlock(&p->lock);
    vy_backend_violation(p->dispatch.backend, &unseen, "it notified twice that a dispatch is ready");
}

/* Lets a thread of the pool collect the handle, or collects it here if there is none. */
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
    /* `is_collecting` keeps the handle alive: no other thread collects it during the call. */
    void (*notify)(void *, void (*)(void *), void *) = p->calls.notify;
    p->calls.notify = NULL; /* only once: a second watch uses a pool thread */
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

/* ---- public functions ---- */

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
        } else if (!deadline_ns || p->is_ready) { /* another thread is collecting it, which does not block for long */
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
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "wait once for each dispatch, and keep its outputs",
                       "the outputs of `%s` were collected before", name);
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
                                              "`%s` has not finished yet", vyre_program_name(p->dispatch.program));
    pthread_mutex_unlock(&p->lock);
    vy_span_end(span, wait, .program = vyre_program_name(p->dispatch.program), .backend = p->dispatch.backend->id,
                .status = status);
    return status;
}

/* With the lock held, which is released during the backend's `cancel`. */
static void cancel(vyre_pending *p) {
    if (p->is_done)
        return;
    p->is_cancelled = 1;
    atomic_store(&p->cancel, 1);
    vy_count(VY_COUNTER_cancellations, 1);
    set_done(p);
    if (p->native.vtable && p->calls.cancel) {
        p->is_cancelling = 1; /* keeps the native handle from being destroyed */
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

/* ---- creating a handle ---- */

/* Copies only the part of the launch that the program uses: the rest is large and uninitialised. */
static void copy_dispatch(vy_dispatch *to, const vy_dispatch *from) {
    const vy_resolved_dispatch *launch = &from->launch;
    memcpy(to, from, offsetof(vy_dispatch, launch));
    memcpy(to->launch.params, launch->params, from->program->param_count * sizeof *launch->params);
    memcpy(to->launch.buffers, launch->buffers, from->program->buffer_count * sizeof *launch->buffers);
    memcpy(to->launch.groups, launch->groups, sizeof *launch - offsetof(vy_resolved_dispatch, groups));
}

static vyre_pending *pending_new(const vy_dispatch *asked, vyre_pipeline *kept) {
    vyre_pending *p = acquire_handle(&asked->backend->async);
    if (!p)
        return NULL;
    memset(p, 0, offsetof(struct vyre_pending, error));
    vy_error_clear(&p->error);
    copy_dispatch(&p->dispatch, asked);
    vy_output_slots_start(&p->slots, vyre_program_output_count(asked->program));
    p->kept = kept;
    if (asked->config->label)
        snprintf(p->label, sizeof p->label, "%s", asked->config->label);
    atomic_init(&p->references, 1);
    pthread_mutex_init(&p->lock, NULL);
    vy_cond_init_monotonic(&p->changed);
    vyre_program_retain(asked->program);
    vyre_backend_retain(asked->backend);
    return p;
}

/* Copies all memory borrowed from the caller into one block. The first pass only measures. */
static void copy_asked(vyre_pending *p, const vy_dispatch *asked, vy_bump *c) {
    const vyre_arguments *from = asked->arguments;
    vyre_arguments *to = &p->arguments;
    *to = *from;
    p->config = *asked->config;
    to->params = vy_bump_copy(c, from->params, from->param_count * sizeof *from->params);
    to->counts = vy_bump_copy(c, from->counts, from->count_count * sizeof *from->counts);
    if (p->config.label)
        p->config.label = vy_bump_copy(c, p->config.label, strlen(p->config.label) + 1);
    vyre_span *spans = vy_bump_copy(c, NULL, from->input_count * sizeof *spans);
    for (size_t i = 0; i < from->input_count; i++) {
        void *bytes = vy_bump_copy(c, from->inputs[i].data, from->inputs[i].size);
        if (c->block)
            spans[i] = (vyre_span){bytes, from->inputs[i].size};
    }
    to->inputs = spans;
}

static vyre_status keep_copies(vyre_pending *p, const vy_dispatch *asked, vyre_error *error) {
    vy_bump measure = {NULL, 0};
    copy_asked(p, asked, &measure);
    p->copies_size = measure.used ? measure.used : 1;
    p->copies = vy_allocate(p->copies_size);
    if (!p->copies)
        return vy_fail_memory(error, "copying the inputs of an asynchronous dispatch");
    vy_bump copy = {p->copies, 0};
    copy_asked(p, asked, &copy);
    p->dispatch.arguments = &p->arguments;
    p->dispatch.config = &p->config;
    p->dispatch.form = VY_FORM_BORROWED;
    p->dispatch.outputs = &p->slots.outputs;
    p->dispatch.is_held = 1;
    p->dispatch.trap = &p->trap;
    p->dispatch.cancel = (const uint32_t *)&p->cancel;
    return vy_dispatch_host_resolve(&p->dispatch, error); /* again: the launch points into the inputs */
}

/* ---- start on the pool ---- */

static vyre_status run_now(vyre_pending *p) {
    vyre_backend *backend = p->dispatch.backend;
    if (atomic_load(&p->cancel))
        return VYRE_CANCELLED; /* the result is not read */
    if (atomic_load(&backend->is_lost))
        return vy_fail(&p->error, VYRE_DEVICE_LOST, NULL, "the device of backend `%s` was lost before `%s` could start",
                       backend->id, vyre_program_name(p->dispatch.program));
    vyre_status status = vy_dispatch_check_expired(p->dispatch.program, p->dispatch.deadline_ns, NULL, &p->error);
    return status == VYRE_OK ? vy_dispatch_host_run(&p->dispatch, &p->error) : status;
}

static void work(vy_thread_pool_job *job) {
    vyre_pending *p = (vyre_pending *)job;
    vy_span span = vy_span_begin();
    vyre_status status = run_now(p);
    vy_span_end(span, dispatch, .label = p->config.label, .program = vyre_program_name(p->dispatch.program),
                .backend = p->dispatch.backend->id, .status = status);
    finish(p, status);
    unlock_unreference(p);
}

static vyre_status start_on_pool(vyre_pending *p, const vy_dispatch *asked, vyre_error *error) {
    vy_async *async = &asked->backend->async;
    vyre_status status = keep_copies(p, asked, error);
    if (status != VYRE_OK)
        return status;
    vy_thread_pool *pool = vy_async_pool(async);
    p->job.run = work;
    atomic_fetch_add(&p->references, 1);
    append_inflight(async, p);
    if (!pool || !vy_thread_pool_submit(pool, &p->job))
        work(&p->job);
    return VYRE_OK;
}

/* ---- native start ---- */

static vyre_status call_native(vyre_pending *p, const vy_dispatch *asked, const vyre_launch *launch,
                               vyre_error *error) {
    const vy_dispatch_table *dispatch_table = asked->dispatch_table;
    const vyre_arguments *arguments = asked->arguments;
    if (dispatch_table->dispatch_async && asked->owned)
        return dispatch_table->dispatch_async(dispatch_table->self, launch, asked->owned, arguments->input_count,
                                              &p->native, error);
    if (dispatch_table->dispatch_borrowed_async)
        return dispatch_table->dispatch_borrowed_async(dispatch_table->self, launch, arguments->inputs,
                                                       arguments->input_count, &p->native, error);
    vyre_bytes owned[VY_LIMIT_BUFFERS];
    vyre_status status = vy_inputs_copy(arguments->inputs, arguments->input_count, owned, error);
    if (status != VYRE_OK)
        return status;
    status =
        dispatch_table->dispatch_async(dispatch_table->self, launch, owned, arguments->input_count, &p->native, error);
    vy_inputs_free(owned, arguments->input_count);
    return status;
}

/* An incomplete table: its `destroy` is not called either. */
static vyre_status complete(vyre_pending *p, vyre_error *error) {
    const vyre_pending_vtable *given = p->native.vtable;
    uint32_t size = given ? given->struct_size : 0;
    if (size >= offsetof(vyre_pending_vtable, notify))
        memcpy(&p->calls, given, size < sizeof p->calls ? size : sizeof p->calls);
    if (p->calls.is_ready && p->calls.wait && p->calls.destroy)
        return VYRE_OK;
    p->native.vtable = NULL;
    return vy_backend_violation(p->dispatch.backend, error,
                                "its handle of a dispatch in flight lacks required entries");
}

static vyre_status start_natively(vyre_pending *p, const vy_dispatch *asked, vyre_error *error) {
    vyre_backend *backend = asked->backend;
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t elements[VY_LIMIT_BUFFERS], bytes = 0;
    vyre_launch launch;
    vyre_status status = vy_prepare(backend, asked->program, error);
    if (status != VYRE_OK)
        return status;
    vy_dispatch_make_launch(asked->program, asked->arguments, &asked->launch, asked->config, params, elements, &p->trap,
                            &launch);
    launch.deadline_ns = asked->deadline_ns;
    launch.cancel = (const uint32_t *)&p->cancel;
    for (size_t i = 0; i < asked->arguments->input_count; i++)
        bytes += asked->arguments->inputs[i].size;
    vy_count(VY_COUNTER_input_bytes, bytes);
    vy_error_clear(error);
    status = call_native(p, asked, &launch, error);
    if (status == VYRE_OK)
        status = complete(p, error);
    else
        status = vy_backend_check_result(backend, status, error);
    if (status != VYRE_OK) {
        p->native.vtable = NULL;
        return status;
    }
    atomic_fetch_add(&p->references, 1);
    append_inflight(&backend->async, p);
    /* A thread that closes or recovers the backend either sees this entry in its list, or this thread sees its flag:
     * one of the two collects it. */
    if (atomic_load(&backend->is_closing) || atomic_load(&backend->is_lost)) {
        pthread_mutex_lock(&p->lock);
        vy_pending_watch(p);
        pthread_mutex_unlock(&p->lock);
    }
    return VYRE_OK;
}

/* ---- start ---- */

/* Stages, and deadlines that the backend cannot keep, use the synchronous path on the pool. */
static int runs_natively(const vy_dispatch *asked) {
    int is_tiled;
    return (asked->dispatch_table->dispatch_async || asked->dispatch_table->dispatch_borrowed_async) &&
           asked->launch.group_count && (!asked->deadline_ns || vy_backend_keeps_deadlines(asked->backend)) &&
           !vy_multi_launch_needed(asked->backend, asked->program, &asked->launch, &is_tiled);
}

static vyre_status start(vy_dispatch *asked, vyre_pending *p, vyre_error *error) {
    vyre_status status = vy_backend_enter(asked->backend, error);
    if (status != VYRE_OK)
        return status;
    if (asked->pipeline)
        status = vy_pipeline_dispatch_table(asked, error);
    if (status == VYRE_OK)
        status = runs_natively(asked) ? start_natively(p, asked, error) : start_on_pool(p, asked, error);
    if (status != VYRE_OK)
        vy_backend_leave(asked->backend);
    return status;
}

vyre_status vy_pending_start(vy_dispatch *asked, vyre_pipeline *kept, vyre_pending **out, vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_pending *p = NULL;
    *out = NULL;
    vyre_status status = vy_backend_check_process(asked->backend, e);
    if (status == VYRE_OK)
        status = vy_dispatch_host_resolve(asked, e);
    if (status == VYRE_OK) {
        asked->deadline_ns = vy_dispatch_deadline(asked->config);
        p = pending_new(asked, kept);
        status = p ? start(asked, p, e) : vy_fail_memory(e, "starting an asynchronous dispatch");
    }
    if (status == VYRE_OK)
        *out = p;
    else if (p)
        vy_pending_unreference(p);
    else
        vyre_pipeline_release(kept);
    return vy_dispatch_label_error(status, asked->config, e);
}

/* Dispatches a program, through its implicit pipeline if the backend only compiles. Ops of dialects are resolved for
 * this dispatch only. */
static vyre_status start_program(vy_dispatch *asked, vyre_pending **out, vyre_error *error) {
    vyre_program *resolved;
    vyre_status status = vy_backend_check_process(asked->backend, error);
    if (status != VYRE_OK)
        return status;
    status = vy_backend_resolve(asked->backend, asked->program, &resolved, error);
    asked->program = resolved;
    if (status == VYRE_OK)
        status = vy_pipeline_implicit(asked->backend, resolved, &asked->pipeline, error);
    if (status == VYRE_OK)
        status = vy_pending_start(asked, asked->pipeline, out, error);
    vyre_program_release(resolved); /* the pending dispatch has retained it */
    return status;
}

vyre_status vyre_backend_dispatch_async(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                        const vyre_dispatch_config *config, vyre_pending **out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    vy_dispatch asked;
    vy_dispatch_describe(&asked, backend, program, arguments, config, NULL, NULL);
    return start_program(&asked, out, error);
}

vyre_status vyre_backend_dispatch_owned_async(vyre_backend *backend, vyre_program *program, const vyre_bytes *inputs,
                                              size_t input_count, const vyre_arguments *arguments,
                                              const vyre_dispatch_config *config, vyre_pending **out,
                                              vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE_ARRAY(error, inputs, input_count);
    vyre_span spans[VY_LIMIT_BUFFERS];
    vyre_arguments given = vy_arguments_of_owned(inputs, input_count, arguments, spans);
    vy_dispatch asked;
    vy_dispatch_describe(&asked, backend, program, &given, config, NULL, NULL);
    asked.owned = inputs;
    return start_program(&asked, out, error);
}
