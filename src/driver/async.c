/* Starting asynchronous dispatches (pending.h), and the backend's side of them (async.h). */
#include "driver/pending.h"

#include "base/status.h"
#include "base/thread.h"
#include "dialect/link.h"
#include "driver/packed_copy.h"
#include "driver/pipeline.h"
#include "driver/trace.h"

#include <stdio.h>

/* ---- the backend's side ---- */

void vy_async_start(vy_async *async) {
    pthread_mutex_init(&async->lock, NULL);
    vy_buffer_recycler_init(&async->hoard);
}

void vy_async_end(vy_async *async) {
    vy_thread_pool_close(async->pool);
    while (async->free_handles) {
        vyre_pending *p = async->free_handles;
        async->free_handles = p->next;
        vy_release(p, sizeof *p);
    }
    vy_buffer_recycler_destroy(&async->hoard);
    pthread_mutex_destroy(&async->lock);
}

enum { MAX_FREE_HANDLES = 64 }; /* at most: about a megabyte */

vyre_pending *vy_async_acquire(vy_async *async) {
    pthread_mutex_lock(&async->lock);
    vyre_pending *p = async->free_handles;
    if (p) {
        async->free_handles = p->next;
        async->free_handle_count--;
    }
    pthread_mutex_unlock(&async->lock);
    return p ? p : vy_allocate(sizeof *p);
}

void vy_async_recycle(vy_async *async, vyre_pending *p) {
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

/* ---- making a handle ---- */

/* Of the launch only what the program uses: the rest is large, and was never filled. */
static void copy_dispatch(vy_dispatch *to, const vy_dispatch *from) {
    const vy_resolved_dispatch *launch = &from->launch;
    memcpy(to, from, offsetof(vy_dispatch, launch));
    memcpy(to->launch.params, launch->params, from->program->param_count * sizeof *launch->params);
    memcpy(to->launch.buffers, launch->buffers, from->program->buffer_count * sizeof *launch->buffers);
    memcpy(to->launch.groups, launch->groups, sizeof *launch - offsetof(vy_resolved_dispatch, groups));
}

static vyre_pending *pending_new(const vy_dispatch *asked, vyre_pipeline *kept) {
    vyre_pending *p = vy_async_acquire(&asked->backend->async);
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

/* All that the caller lent, in one block. The first walk only measures. */
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

/* ---- on the pool ---- */

static vyre_status run_now(vyre_pending *p) {
    vyre_backend *backend = p->dispatch.backend;
    if (atomic_load(&p->cancel))
        return VYRE_CANCELLED; /* nobody will look at it */
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
    vy_pending_finish(p, status);
    vy_pending_unlock_unreference(p);
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

/* ---- natively ---- */

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

/* A table that lacks what is required cannot even be given back. */
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
    /* Whoever closes or recovers looked at the list before or sees this one: one of the two collects it. */
    if (atomic_load(&backend->is_closing) || atomic_load(&backend->is_lost)) {
        pthread_mutex_lock(&p->lock);
        vy_pending_watch(p);
        pthread_mutex_unlock(&p->lock);
    }
    return VYRE_OK;
}

/* ---- starting ---- */

/* Stages, and deadlines the backend cannot keep, take the synchronous road. */
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

/* Through the program's implicit pipeline, where the backend only compiles. Ops of dialects are resolved for this dispatch alone. */
static vyre_status start_program(vy_dispatch *asked, vyre_pending **out, vyre_error *error) {
    vyre_program *resolved;
    vyre_status status = vy_backend_check_process(asked->backend, error);
    if (status != VYRE_OK)
        return status;
    status = vy_program_resolve_newest(asked->program, &resolved, error);
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
