/* Running a dispatch on resources (resource_dispatch.h). */
#include "base/status.h"

#include "base/thread.h"
#include "dialect/link.h"
#include "driver/resource_dispatch.h"
#include "driver/trace.h"

/* Host outputs of a grid without workgroups: what was given, and zeros. */
static vyre_status deliver_empty(vy_resource_dispatch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_output_slots slots;
    if (b->timing)
        memset(b->timing, 0, sizeof *b->timing);
    if (!b->outputs)
        return VYRE_OK;
    vy_output_slots_start(&slots, vyre_program_output_count(b->program));
    for (uint32_t i = 0; i < b->program->buffer_count && status == VYRE_OK; i++) {
        const vy_resolved_buffer *buffer = &b->launch.buffers[i];
        if (buffer->output == VY_NONE || b->native[i].kind == VYRE_RESOURCE_RESIDENT)
            continue;
        status = vyre_bytes_resize(&slots.items[buffer->output], (size_t)buffer->bytes, error);
        if (status == VYRE_OK && buffer->data && buffer->bytes)
            memcpy(slots.items[buffer->output].data, buffer->data, (size_t)buffer->bytes);
    }
    if (status == VYRE_OK)
        vy_outputs_deliver(b->outputs, &slots.outputs);
    vy_output_slots_end(&slots);
    return status;
}

/* On a thread of its own, which keeps the pins for as long as it needs them. */
static vyre_status run_with_watchdog(vy_resource_dispatch *b, vy_call *call, vyre_error *error) {
    size_t count = b->outputs ? vyre_program_output_count(b->program) : 0;
    vy_output_slots slots;
    vy_output_slots_start(&slots, count);
    call->outputs = b->outputs ? &slots.outputs : NULL;
    vyre_status status = vy_call_run_with_watchdog(call, &b->launch, b->uses, b->use_count, error);
    b->use_count = 0;
    if (status == VYRE_OK && b->outputs)
        vy_outputs_deliver(b->outputs, &slots.outputs);
    vy_output_slots_end(&slots);
    return status;
}

static vyre_status run_in_place(vy_resource_dispatch *b, vy_call *call, vyre_error *error) {
    size_t capacities[VY_LIMIT_BUFFERS], count = vyre_program_output_count(b->program);
    vyre_outputs view;
    if (!b->outputs)
        return vy_call_run(call, error);
    vy_outputs_expose(b->outputs, count, &view, capacities);
    call->outputs = &view;
    vyre_status status = vy_call_run(call, error);
    if (status == VYRE_OK)
        status = vy_outputs_check_resources(b->backend, &view, b->outputs->items, count, b->program, &b->launch,
                                            b->native, error);
    vy_outputs_reclaim(b->outputs, count, status == VYRE_OK, capacities);
    return status;
}

static uint64_t host_bytes(const vy_resource_dispatch *b) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->program->buffer_count; i++)
        bytes += b->native[i].host.size;
    return bytes;
}

/* What runs it: the pipeline's executable, if it can, or the backend itself; cut into stages if one launch cannot do it. */
static vyre_status select_dispatch_table(vy_resource_dispatch *b, int may_cooperate, vy_call *call, vyre_error *error) {
    vy_multi_launch_tables staged[2] = {{NULL, NULL}, {NULL, NULL}};
    vyre_status status = VYRE_OK;
    vy_stop_condition stop = {b->deadline_ns || b->config->cancel, b->deadline_ns};
    if (may_cooperate)
        vy_call_try_cooperative(call, b->pipeline, b->program, &b->launch, stop);
    if (b->pipeline && !call->cooperative)
        status = vy_pipeline_select(b->pipeline, &b->launch, stop, call, staged, error);
    if (status == VYRE_OK)
        status = vy_dispatch_check_expired(b->program, b->deadline_ns, b->config->cancel, error);
    if (status == VYRE_OK)
        status = vy_call_prepare(call, b->program, &b->launch, staged, error);
    if (status != VYRE_OK)
        vy_call_cleanup(call);
    return status;
}

/* may_cooperate: grid barriers may run inside one launch. *is_refused: they cannot, says the backend now; nothing ran. */
static vyre_status try_to_run(vy_resource_dispatch *b, int may_cooperate, int *is_refused, vyre_error *error) {
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t elements[VY_LIMIT_BUFFERS];
    vyre_trap trap = {0, 0};
    vy_call call;
    vy_call_describe(&call, b->backend, &b->backend->dispatch_table, b->form);
    call.bindings = b->native, call.binding_count = b->program->buffer_count;
    call.timing = b->timing;
    vyre_status status = select_dispatch_table(b, may_cooperate, &call, error);
    if (status != VYRE_OK)
        return status;
    vy_dispatch_make_launch(b->program, b->arguments, &b->launch, b->config, params, elements, &trap, &call.launch);
    call.launch.deadline_ns = b->deadline_ns, call.launch.cancel = b->config->cancel;
    uint64_t bytes = b->use_count < b->program->buffer_count ? host_bytes(b) : 0;
    if (bytes && may_cooperate) /* once */
        vy_count(VY_COUNTER_input_bytes, bytes);
    status = vy_dispatch_needs_watchdog(b->backend, &call.launch) ? run_with_watchdog(b, &call, error)
                                                                  : run_in_place(b, &call, error);
    *is_refused = call.cooperative && status == VYRE_LIMIT;
    if (call.cooperative && !*is_refused)
        vy_count(VY_COUNTER_grid_syncs, 1);
    vy_call_cleanup(&call);
    if (*is_refused)
        return status;
    status = vy_dispatch_finish(b->backend, status, &b->launch, &trap, error);
    if (status == VYRE_TRAPPED && b->trap)
        *b->trap = trap;
    return status;
}

static vyre_status run(vy_resource_dispatch *b, vyre_error *error) {
    int is_refused = 0;
    vyre_status status = try_to_run(b, 1, &is_refused, error);
    return is_refused ? try_to_run(b, 0, &is_refused, error) : status;
}

vyre_status vy_resource_dispatch_run(vy_resource_dispatch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_span span = vy_span_begin();
    vy_resource_dispatch_start_clock(b);
    if (b->form == VY_FORM_PERSISTENT)
        status = vy_outputs_reserve(b->outputs, vyre_program_output_count(b->program), error);
    if (status == VYRE_OK)
        status = b->launch.group_count ? run(b, error) : deliver_empty(b, error);
    vy_resource_dispatch_unpin(b);
    vy_span_end(span, dispatch, .label = b->config->label, .program = vyre_program_name(b->program),
                .backend = b->backend->id, .status = status);
    return status;
}

vyre_status vy_resource_dispatch_dispatch(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                          vyre_error *error) {
    vyre_status status;
    if (vy_resource_dispatch_run_slot(b, bindings, count, &status, error))
        return status;
    status = vy_backend_enter(b->backend, error);
    if (status != VYRE_OK)
        return status;
    if (!vy_resource_dispatch_run_pinned(b, bindings, count, &status, error)) {
        status = vy_resource_dispatch_resolve(b, bindings, count, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_run(b, error);
    }
    vy_backend_leave(b->backend);
    return status;
}

/* On the backend itself; where it only compiles, through the program's implicit pipeline. */
static vyre_status dispatch_program(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                    vyre_error *error) {
    vy_output_slots slots; /* large: not cleared */
    vyre_status status = vy_pipeline_implicit(b->backend, b->program, &b->pipeline, error);
    if (status == VYRE_OK && !b->pipeline && !b->backend->calls.dispatch_resident)
        status = vy_backend_unsupported(b->backend, "resident timed dispatch", error);
    if (status != VYRE_OK)
        return status;
    int is_persistent = b->pipeline && count == b->program->buffer_count &&
                        vy_resource_dispatch_are_resident(bindings, count);
    if (is_persistent) { /* pipelines have a fast path for it; all outputs stay on the device, so the slots stay empty */
        vy_output_slots_start(&slots, vyre_program_output_count(b->program));
        b->form = VY_FORM_PERSISTENT, b->outputs = &slots.outputs;
    }
    status = vy_resource_dispatch_dispatch(b, bindings, count, error);
    if (is_persistent)
        vy_output_slots_end(&slots);
    vyre_pipeline_release(b->pipeline);
    return vy_dispatch_label_error(status, b->config, error);
}

vyre_status vyre_backend_dispatch_resident(vyre_backend *backend, vyre_program *program, const vyre_resource *bindings,
                                           size_t binding_count, const vyre_arguments *arguments,
                                           const vyre_dispatch_config *config, vyre_timing *timing, vyre_trap *trap,
                                           vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE_ARRAY(error, bindings, binding_count);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_timing measured;
    vy_resource_dispatch b;
    vyre_program *resolved;
    vyre_status status = vy_program_resolve_newest(program, &resolved, e);
    if (status == VYRE_OK) {
        vy_resource_dispatch_describe(&b, backend, resolved, arguments, config);
        b.timing = timing ? &measured : NULL, b.trap = trap;
        status = dispatch_program(&b, bindings, binding_count, e);
    }
    vyre_program_release(resolved);
    if (status == VYRE_OK && timing)
        *timing = measured;
    return status;
}
