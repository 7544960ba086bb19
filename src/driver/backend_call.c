/* Calling a backend: one function per form, with what stands for an entry it does not have (vyre/backend.h says what that is). */
#include "driver/dispatch.h"

#include "base/status.h"
#include "driver/trace.h"

static vyre_status run_owned(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    return dispatch_table->dispatch(dispatch_table->self, &call->launch, call->owned, call->input_count, call->outputs,
                                    error);
}

vyre_status vy_inputs_copy(const vyre_span *inputs, size_t count, vyre_bytes *owned, vyre_error *error) {
    for (size_t i = 0; i < count; i++) {
        owned[i] = (vyre_bytes)VYRE_BYTES_INIT;
        vyre_status status = vyre_bytes_resize(&owned[i], inputs[i].size, error);
        if (status != VYRE_OK) {
            vy_inputs_free(owned, i + 1);
            return status;
        }
        if (inputs[i].size)
            memcpy(owned[i].data, inputs[i].data, inputs[i].size);
    }
    return VYRE_OK;
}

void vy_inputs_free(vyre_bytes *owned, size_t count) {
    while (count > 0)
        vyre_bytes_free(&owned[--count]);
}

/* Without the entry: owned copies of the inputs, and dispatch. */
static vyre_status copy_and_run(const vy_call *call, vyre_error *error) {
    vyre_bytes owned[VY_LIMIT_BUFFERS];
    owned[0] = (vyre_bytes)VYRE_BYTES_INIT; /* there may be no inputs at all */
    vyre_status status = vy_inputs_copy(call->inputs, call->input_count, owned, error);
    if (status != VYRE_OK)
        return status;
    vy_call delegated = *call;
    delegated.owned = owned;
    status = run_owned(&delegated, error);
    vy_inputs_free(owned, call->input_count);
    return status;
}

static vyre_status run_borrowed(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    return dispatch_table->dispatch_borrowed
               ? dispatch_table->dispatch_borrowed(dispatch_table->self, &call->launch, call->inputs, call->input_count,
                                                   call->outputs, error)
               : copy_and_run(call, error);
}

/* Without the entry: the wall time around the borrowed form; nothing else is known. */
static vyre_status run_timed(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    uint64_t start = vy_clock_now();
    memset(call->timing, 0, sizeof *call->timing);
    if (dispatch_table->dispatch_borrowed_timed)
        return dispatch_table->dispatch_borrowed_timed(dispatch_table->self, &call->launch, call->inputs,
                                                       call->input_count, call->outputs, call->timing, error);
    vyre_status status = run_borrowed(call, error);
    call->timing->wall_ns = vy_clock_now() - start;
    return status;
}

static vyre_status run_into(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    return dispatch_table->dispatch_borrowed_into
               ? dispatch_table->dispatch_borrowed_into(dispatch_table->self, &call->launch, call->inputs,
                                                        call->input_count, call->outputs, error)
               : run_borrowed(call, error);
}

/* Without the entry, a pipeline: all bindings resident is a case of bindings mixed. */
static vyre_status run_resident(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    if (call->timing)
        memset(call->timing, 0, sizeof *call->timing);
    if (!vy_dispatch_table_is_resident(dispatch_table))
        return vy_backend_unsupported(call->backend, "resident timed dispatch", error);
    if (!dispatch_table->dispatch_resident) {
        vy_output_slots slots;
        vy_output_slots_start(&slots, vyre_program_output_count(call->launch.program));
        vyre_status status =
            dispatch_table->dispatch_persistent(dispatch_table->self, &call->launch, call->bindings,
                                                call->binding_count, &slots.outputs, call->timing, error);
        vy_output_slots_end(&slots);
        return status;
    }
    return dispatch_table->dispatch_resident(dispatch_table->self, &call->launch, call->bindings, call->binding_count,
                                             call->timing, error);
}

/* ---- host bytes and resident buffers mixed ---- */

/* Bindings that are all resident: host bytes get buffers of the library's own for the call. */
typedef struct temporaries {
    vyre_resource all[VY_LIMIT_BUFFERS];
    vy_resident_use uses[VY_LIMIT_BUFFERS];
    size_t made; /* bindings looked at */
} temporaries;

static vyre_status make_temporary(temporaries *t, const vy_call *call, const vyre_buffer_info *buffer,
                                  vyre_error *error) {
    size_t i = t->made;
    const vyre_resource *binding = &call->bindings[i];
    uint64_t size = call->launch.elements[i] * vyre_type_size(buffer->type);
    vyre_status status = vy_temporary_buffer_create(call->backend, size, &t->uses[i], error);
    if (status != VYRE_OK)
        return status;
    t->made++;
    t->all[i] = (vyre_resource){
        .kind = VYRE_RESOURCE_RESIDENT, .resident = {call->backend->owner, t->uses[i].native}, .size = size};
    return buffer->access == VYRE_ACCESS_WRITE
               ? VYRE_OK
               : vy_temporary_buffer_upload(call->backend, &t->uses[i], binding->host.data, binding->host.size, error);
}

static vyre_status fetch_outputs(const temporaries *t, const vy_call *call, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vyre_buffer_info buffer;
    size_t output = 0;
    for (size_t i = 0; status == VYRE_OK && vyre_program_buffer(call->launch.program, i, &buffer); i++) {
        if (buffer.access != VYRE_ACCESS_WRITE && buffer.access != VYRE_ACCESS_READ_WRITE)
            continue;
        vyre_bytes *slot = &call->outputs->items[output++];
        if (call->bindings[i].kind != VYRE_RESOURCE_HOST)
            continue;
        status = vyre_bytes_resize(slot, (size_t)t->all[i].size, error);
        if (status == VYRE_OK)
            status = vy_temporary_buffer_download(call->backend, &t->uses[i], slot->data, t->all[i].size, error);
    }
    return status;
}

static vyre_status run_in_temporaries(const vy_call *call, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vyre_buffer_info buffer;
    temporaries t;
    t.made = 0;
    while (status == VYRE_OK && t.made < call->binding_count &&
           vyre_program_buffer(call->launch.program, t.made, &buffer)) {
        if (call->bindings[t.made].kind == VYRE_RESOURCE_HOST) {
            status = make_temporary(&t, call, &buffer, error);
        } else {
            t.all[t.made] = call->bindings[t.made];
            t.made++;
        }
    }
    if (status == VYRE_OK) {
        vy_call inner = *call;
        inner.form = VY_FORM_RESIDENT;
        inner.outputs = NULL;
        inner.bindings = t.all;
        status = vy_call_run(&inner, error);
    }
    if (status == VYRE_OK)
        status = fetch_outputs(&t, call, error);
    for (size_t i = 0; i < t.made; i++)
        if (call->bindings[i].kind == VYRE_RESOURCE_HOST)
            vy_temporary_buffer_destroy(call->backend, &t.uses[i]);
    return status;
}

static vyre_status run_persistent(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    if (call->timing)
        memset(call->timing, 0, sizeof *call->timing);
    return dispatch_table->dispatch_persistent(dispatch_table->self, &call->launch, call->bindings, call->binding_count,
                                               call->outputs, call->timing, error);
}

vyre_status vy_call_run(const vy_call *call, vyre_error *error) {
    static vyre_status (*const forms[VY_FORM_COUNT])(const vy_call *, vyre_error *) = {
        [VY_FORM_OWNED] = run_owned, [VY_FORM_BORROWED] = run_borrowed, [VY_FORM_TIMED] = run_timed,
        [VY_FORM_INTO] = run_into,   [VY_FORM_RESIDENT] = run_resident, [VY_FORM_PERSISTENT] = run_persistent,
    };
    vy_error_clear(error);
    if (vy_call_is_abandoned()) /* there may be another device by now; nobody reads this */
        return vy_fail(error, VYRE_TIMEOUT, NULL, "the dispatch was abandoned");
    /* These come back here: with resident bindings only, launch by launch. */
    if (call->form == VY_FORM_PERSISTENT && (call->stages || !call->dispatch_table->dispatch_persistent))
        return run_in_temporaries(call, error);
    if (call->stages)
        return vy_multi_launch_run(call, error);
    vy_span span = vy_span_begin();
    vyre_status status = forms[call->form](call, error);
    vy_span_end(span, launch, .backend = call->backend->id, .program = vyre_program_name(call->launch.program),
                .status = status);
    return status == VYRE_OK ? VYRE_OK : vy_backend_check_result_run(call->backend, status, error);
}
