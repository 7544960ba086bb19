/* The road of a dispatch through the dispatch (dispatch.h). */
#include "driver/dispatch.h"

#include "base/status.h"
#include "base/thread.h"
#include "dialect/link.h"
#include "driver/pipeline.h"
#include "driver/trace.h"
#include "ir/eval.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- limits ---- */

int vy_dispatch_program_fits(const vyre_backend *backend, const vyre_program *program) {
    const uint32_t *size = program->workgroup;
    return program->level == VYRE_LEVEL_SOURCE && !vy_backend_missing_op(backend, program) &&
           size[0] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X) &&
           size[1] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y) &&
           size[2] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z) &&
           (uint64_t)size[0] * size[1] * size[2] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_INVOCATIONS);
}

vyre_status vy_dispatch_check_program(const vyre_backend *backend, const vyre_program *program, vyre_error *error) {
    static const char axes[] = "xyz";
    const uint32_t *size = program->workgroup;
    if (vy_dispatch_program_fits(backend, program))
        return VYRE_OK;
    if (program->level !=
        VYRE_LEVEL_SOURCE) /* its accesses are unguarded: only who made it knows that they are inside */
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "dispatch the program of level source it was made from",
                       "`%s` is at level legal, which the library makes for itself", vyre_program_name(program));
    const char *missing = vy_backend_missing_op(backend, program);
    if (missing) {
        vy_fail(
            error, VYRE_UNSUPPORTED,
            VY_FIX("choose a backend that lists `%s` in its supported ops, or write the program without it", missing),
            "backend `%s` does not run `%s`, which program `%s` uses", backend->id, missing,
            vyre_program_name(program));
        (void)vy_fail_parts(error, missing, backend->id, vyre_program_name(program));
        return VYRE_UNSUPPORTED;
    }
    for (int d = 0; d < 3; d++) {
        uint64_t most = vy_backend_limit(backend, (vyre_capability)(VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X + d));
        if (size[d] > most)
            return vy_fail(error, VYRE_LIMIT,
                           VY_FIX("lower `workgroup` to %" PRIu64 " in %c, or choose another backend", most, axes[d]),
                           "the workgroup size in %c (%" PRIu32 ") is over the limit of backend `%s` (%" PRIu64 ")",
                           axes[d], size[d], backend->id, most);
    }
    uint64_t most = vy_backend_limit(backend, VYRE_CAPABILITY_MAX_INVOCATIONS),
             count = (uint64_t)size[0] * size[1] * size[2];
    if (count > most)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("lower `workgroup` to %" PRIu64 " invocations in all", most),
                       "a workgroup of %" PRIu64 " invocations is over the limit of backend `%s` (%" PRIu64 ")", count,
                       backend->id, most);
    return VYRE_OK;
}

static vyre_status check_bytes(vyre_backend *backend, const vyre_program *program, const vy_resolved_dispatch *launch,
                               const vyre_dispatch_config *config, vyre_error *error) {
    uint64_t most = vy_backend_limit(backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES), outputs = 0;
    if (!most)
        most = UINT64_MAX;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &launch->buffers[i];
        vyre_buffer_info info;
        if (buffer->bytes > most && vyre_program_buffer(program, i, &info))
            return vy_fail(error, VYRE_LIMIT, "bind smaller ranges, or split the work into several dispatches",
                           "buffer `%s` has %" PRIu64 " bytes, over the limit of backend `%s` (%" PRIu64 ")", info.name,
                           buffer->bytes, backend->id, most);
        if (buffer->output != VY_NONE)
            outputs += buffer->bytes; /* 255 buffers of 2^35 bytes at most */
    }
    if (config->max_output_bytes && outputs > config->max_output_bytes)
        return vy_fail(error, VYRE_LIMIT, "raise max_output_bytes, or ask for less",
                       "the outputs have %" PRIu64 " bytes, over the bound of the dispatch (%" PRIu64 ")", outputs,
                       config->max_output_bytes);
    return VYRE_OK;
}

vyre_status vy_dispatch_check_limits(vyre_backend *backend, const vyre_program *program,
                                     const vy_resolved_dispatch *launch, const vyre_dispatch_config *config,
                                     vyre_error *error) {
    vyre_status status = vy_dispatch_check_program(backend, program, error);
    return status == VYRE_OK ? check_bytes(backend, program, launch, config, error) : status;
}

/* ---- the launch ---- */

void vy_dispatch_make_launch(vyre_program *program, const vyre_arguments *arguments, const vy_resolved_dispatch *launch,
                             const vyre_dispatch_config *config, vyre_scalar *params, uint64_t *elements,
                             vyre_trap *trap, vyre_launch *out) {
    for (uint32_t i = 0; i < program->param_count; i++)
        params[i] = (vyre_scalar){arguments->params[i].type, launch->params[i]};
    for (uint32_t i = 0; i < program->buffer_count; i++)
        elements[i] = launch->buffers[i].count;
    vy_dispatch_fill_launch(out, program, params, elements, launch->groups, config->label, trap);
    if (launch->grid_buffer) {
        memset(out->groups, 0, sizeof out->groups);
        out->grid_buffer = launch->grid_buffer, out->grid_offset = program->grid.offset;
    }
}

uint64_t vy_dispatch_deadline(const vyre_dispatch_config *config) {
    uint64_t deadline = 0;
    if (config->timeout_ns && __builtin_add_overflow(vy_clock_now(), config->timeout_ns, &deadline))
        deadline = 0; /* past the end of the clock: none */
    return deadline;
}

vyre_status vy_dispatch_check_expired(const vyre_program *program, uint64_t deadline_ns, const uint32_t *cancel,
                                      vyre_error *error) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
        return vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled before it could start",
                       vyre_program_name(program));
    if (!deadline_ns || vy_clock_now() < deadline_ns)
        return VYRE_OK;
    vy_count(VY_COUNTER_timeouts, 1);
    return vy_fail(error, VYRE_TIMEOUT, NULL, "`%s` could not start before its deadline", vyre_program_name(program));
}

vyre_status vy_dispatch_fail_labelled(vyre_status status, const char *label, vyre_error *error) {
    char tag[sizeof error->where], before[sizeof error->where];
    if (!label || !*label || !error || status == VYRE_OK)
        return status;
    snprintf(tag, sizeof tag, "dispatch `%.200s`", label);
    if (strstr(error->where, tag))
        return status;
    memcpy(before, error->where, sizeof before);
    vy_fail_where(error, "%s%s%s", before, before[0] ? ", " : "", tag);
    return status;
}

int vy_dispatch_needs_watchdog(const vyre_backend *backend, const vyre_launch *launch) {
    return launch->deadline_ns && !vy_backend_keeps_deadlines(backend);
}

vyre_status vy_dispatch_finish_failed(vyre_backend *backend, vyre_status status, const vy_resolved_dispatch *launch,
                                      vyre_trap *trap, vyre_error *error) {
    if (status == VYRE_TRAPPED && trap->invocation >= launch->invocations)
        status = vy_backend_violation(backend, error, "invocation %" PRIu64 " of %" PRIu64 " is said to have trapped",
                                      trap->invocation, launch->invocations);
    vy_count(VY_COUNTER_dispatch_failures, 1);
    if (status == VYRE_TRAPPED)
        vy_count(VY_COUNTER_traps, 1);
    if (status == VYRE_TIMEOUT)
        vy_count(VY_COUNTER_timeouts, 1);
    return status;
}

/* ---- dispatch from host bytes ---- */

/* Nothing runs: a read_write buffer comes back as it was, a `write` one as zeros. */
static vyre_status deliver_empty(vy_dispatch *d, vyre_error *error) {
    vy_output_slots slots;
    vyre_status status = VYRE_OK;
    vy_output_slots_start(&slots, d->output_count);
    for (uint32_t i = 0; i < d->program->buffer_count && status == VYRE_OK; i++) {
        const vy_resolved_buffer *buffer = &d->launch.buffers[i];
        if (buffer->output == VY_NONE)
            continue;
        status = vyre_bytes_resize(&slots.items[buffer->output], (size_t)buffer->bytes, error);
        if (status == VYRE_OK && buffer->data)
            memcpy(slots.items[buffer->output].data, buffer->data, (size_t)buffer->bytes);
    }
    if (status == VYRE_OK)
        (d->is_held ? vy_outputs_swap : vy_outputs_deliver)(d->outputs, &slots.outputs);
    if (status == VYRE_OK && d->timing)
        memset(d->timing, 0, sizeof *d->timing);
    vy_output_slots_end(&slots);
    return status;
}

/* Straight into the caller's slots. Whatever the backend does to the struct, the caller keeps its own list. */
static vyre_status run_in_place(vy_dispatch *d, vy_call *call, vyre_error *error) {
    size_t capacities[VY_LIMIT_BUFFERS];
    vyre_outputs view;
    vy_outputs_expose(d->outputs, d->output_count, &view, capacities);
    call->outputs = &view;
    vyre_status status = vy_call_run(call, error);
    if (status == VYRE_OK)
        status = vy_outputs_check(d->backend, &view, d->outputs->items, d->output_count, d->program, &d->launch, error);
    call->outputs = NULL;
    vy_outputs_reclaim(d->outputs, d->output_count, status == VYRE_OK, capacities);
    return status;
}

static vyre_status run_in_fresh(vy_dispatch *d, vy_call *call, vyre_error *error) {
    vy_output_slots slots;
    vy_output_slots_start(&slots, d->output_count);
    call->outputs = &slots.outputs;
    vyre_status status;
    if (vy_dispatch_needs_watchdog(d->backend, &call->launch)) {
        status = vy_call_run_with_watchdog(call, &d->launch, NULL, 0, error);
    } else {
        status = vy_call_run(call, error);
        if (status == VYRE_OK)
            status = vy_outputs_check(d->backend, &slots.outputs, slots.items, d->output_count, d->program, &d->launch,
                                      error);
    }
    call->outputs = NULL;
    if (status == VYRE_OK)
        (d->is_held ? vy_outputs_swap : vy_outputs_deliver)(d->outputs, &slots.outputs);
    vy_output_slots_end(&slots);
    return status;
}

/* may_cooperate: grid barriers may run inside one launch. *is_refused: they cannot, says the backend now; nothing ran. */
static vyre_status try_to_run(vy_dispatch *d, int may_cooperate, int *is_refused, vyre_error *error) {
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t elements[VY_LIMIT_BUFFERS];
    vyre_trap trap = {0, 0};
    vy_call call;
    vy_call_describe(&call, d->backend, d->dispatch_table, d->form);
    call.inputs = d->arguments->inputs, call.input_count = d->arguments->input_count;
    call.owned = d->owned, call.timing = d->timing;
    vy_multi_launch_tables staged[2] = {{NULL, NULL}, {NULL, NULL}};
    vyre_status status = VYRE_OK;
    vy_stop_condition stop = {d->deadline_ns || d->cancel, d->deadline_ns};
    if (may_cooperate)
        vy_call_try_cooperative(&call, d->pipeline, d->program, &d->launch, stop);
    if (d->pipeline && !call.cooperative)
        status = vy_pipeline_select(d->pipeline, &d->launch, stop, &call, staged, error);
    if (status == VYRE_OK)
        status = vy_dispatch_check_expired(d->program, d->deadline_ns, d->cancel, error);
    if (status == VYRE_OK)
        status = vy_call_prepare(&call, d->program, &d->launch, staged, error);
    if (status != VYRE_OK) {
        vy_call_cleanup(&call);
        return status;
    }
    vy_dispatch_make_launch(d->program, d->arguments, &d->launch, d->config, params, elements, &trap, &call.launch);
    call.launch.cancel = d->cancel;
    call.launch.deadline_ns = d->deadline_ns;
    uint64_t bytes = 0;
    for (size_t i = 0; i < call.input_count; i++)
        bytes += call.inputs[i].size;
    if (bytes && may_cooperate) /* once */
        vy_count(VY_COUNTER_input_bytes, bytes);
    int in_place = d->form == VY_FORM_INTO && call.dispatch_table->dispatch_borrowed_into &&
                   !vy_dispatch_needs_watchdog(d->backend, &call.launch);
    status = in_place ? run_in_place(d, &call, error) : run_in_fresh(d, &call, error);
    *is_refused = call.cooperative && status == VYRE_LIMIT;
    if (call.cooperative && !*is_refused)
        vy_count(VY_COUNTER_grid_syncs, 1);
    vy_call_cleanup(&call);
    if (*is_refused)
        return status;
    status = vy_dispatch_finish(d->backend, status, &d->launch, &trap, error);
    if (status == VYRE_TRAPPED && d->trap)
        *d->trap = trap;
    return status;
}

static vyre_status run(vy_dispatch *d, vyre_error *error) {
    int is_refused = 0;
    vyre_status status = try_to_run(d, 1, &is_refused, error);
    return is_refused ? try_to_run(d, 0, &is_refused, error) : status;
}

vyre_status vy_dispatch_host_resolve(vy_dispatch *d, vyre_error *error) {
    static const vyre_dispatch_config defaults;
    static const vyre_arguments nothing;
    if (!d->config)
        d->config = &defaults;
    if (!d->arguments)
        d->arguments = &nothing;
    vy_span span = vy_span_begin();
    vyre_status status = vy_resolve_dispatch(d->program, d->arguments, &d->launch, error);
    if (status == VYRE_OK)
        status = vy_dispatch_check_limits(d->backend, d->program, &d->launch, d->config, error);
    vy_span_end(span, resolve, .program = vyre_program_name(d->program), .status = status);
    return status;
}

vyre_status vy_dispatch_host_run(vy_dispatch *d, vyre_error *error) {
    if (!d->deadline_ns)
        d->deadline_ns = vy_dispatch_deadline(d->config); /* from here on: the time that compiling takes counts */
    d->output_count = vyre_program_output_count(d->program);
    vyre_status status = vy_outputs_reserve(d->outputs, d->output_count, error);
    if (status != VYRE_OK)
        return status;
    return d->launch.group_count ? run(d, error) : deliver_empty(d, error);
}

vyre_status vy_dispatch_host(vy_dispatch *d, vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vy_span span = vy_span_begin();
    vyre_status status = vy_dispatch_host_resolve(d, e);
    if (status == VYRE_OK)
        status = vy_backend_enter(d->backend, e);
    if (status == VYRE_OK) {
        status = vy_dispatch_host_run(d, e);
        vy_backend_leave(d->backend);
    }
    vy_span_end(span, dispatch, .label = d->config->label, .program = vyre_program_name(d->program),
                .backend = d->backend->id, .status = status);
    return vy_dispatch_label_error(status, d->config, e);
}

/* ---- the family ---- */

void vy_dispatch_describe(vy_dispatch *d, vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                          const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap) {
    d->backend = backend, d->dispatch_table = &backend->dispatch_table, d->pipeline = NULL, d->program = program;
    d->arguments = arguments, d->config = config, d->deadline_ns = 0, d->is_held = 0;
    d->cancel = config ? config->cancel : NULL;
    d->form = VY_FORM_BORROWED, d->owned = NULL, d->outputs = outputs, d->timing = NULL, d->trap = trap;
}

/* On the backend itself; where it only compiles, through the program's implicit pipeline. Ops of dialects are resolved for this dispatch alone. */
static vyre_status dispatch_program(vy_dispatch *d, vyre_error *error) {
    vyre_program *given = d->program, *resolved = NULL;
    vyre_status status = VYRE_OK;
    if (given->facts & VY_PROGRAM_HAS_OP_CALL) {
        status = vy_program_resolve_newest(given, &resolved, error);
        d->program = resolved;
    }
    if (status == VYRE_OK)
        status = vy_pipeline_implicit(d->backend, d->program, &d->pipeline, error);
    if (status == VYRE_OK)
        status = vy_dispatch_host(d, error);
    vyre_pipeline_release(d->pipeline);
    d->program = given;
    vyre_program_release(resolved);
    return vy_dispatch_label_error(status, d->config, error);
}

vyre_status vyre_backend_dispatch(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                  const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                  vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, outputs);
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, arguments, config, outputs, trap);
    return dispatch_program(&d, error);
}

vyre_status vyre_backend_dispatch_timed(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                        const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_timing *timing,
                                        vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, outputs);
    vyre_timing measured;
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, arguments, config, outputs, trap);
    d.form = VY_FORM_TIMED;
    d.timing = &measured;
    vyre_status status = dispatch_program(&d, error);
    if (status == VYRE_OK && timing)
        *timing = measured;
    return status;
}

vyre_status vyre_backend_dispatch_into(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                       const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                       vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, outputs);
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, arguments, config, outputs, trap);
    d.form = VY_FORM_INTO;
    return dispatch_program(&d, error);
}

vyre_arguments vy_arguments_of_owned(const vyre_bytes *inputs, size_t count, const vyre_arguments *arguments,
                                     vyre_span *spans) {
    vyre_arguments given = {0};
    if (arguments)
        given = *arguments;
    for (size_t i = 0; inputs && i < count && i < VY_LIMIT_BUFFERS; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    given.inputs = inputs ? spans : NULL;
    given.input_count = count; /* more than there can be are refused by their number */
    return given;
}

vyre_status vyre_backend_dispatch_owned(vyre_backend *backend, vyre_program *program, const vyre_bytes *inputs,
                                        size_t input_count, const vyre_arguments *arguments,
                                        const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                        vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE_ARRAY(error, inputs, input_count);
    VY_REQUIRE(error, outputs);
    vyre_span spans[VY_LIMIT_BUFFERS];
    vyre_arguments given = vy_arguments_of_owned(inputs, input_count, arguments, spans);
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, &given, config, outputs, trap);
    d.form = VY_FORM_OWNED;
    d.owned = inputs;
    return dispatch_program(&d, error);
}

vyre_status vyre_backend_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_program *resolved;
    vyre_status status = vy_program_resolve_newest(program, &resolved, e);
    if (status == VYRE_OK)
        status = vy_backend_enter(backend, e);
    if (status == VYRE_OK) {
        status = vy_prepare(backend, resolved, e);
        if (status == VYRE_OK)
            status = vy_pipeline_prepare(backend, resolved, e);
        vy_backend_leave(backend);
    }
    vyre_program_release(resolved);
    return status;
}
