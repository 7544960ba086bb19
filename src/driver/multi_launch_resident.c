/* Stages on buffers of the device: what the call binds is used as it is, everything else gets a temporary one. */
#include "base/status.h"
#include "driver/multi_launch_internal.h"

static vyre_status make(vy_multi_launch_state *run, uint32_t buffer, vyre_error *error) {
    vy_resident_use *use = &run->made[buffer];
    vyre_status status = vy_temporary_buffer_create(run->call->backend, run->bytes[buffer], use, error);
    if (status != VYRE_OK)
        return status;
    run->is_temporary[buffer] = 1;
    run->bindings[buffer] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                                            .resident = {run->call->backend->owner, use->native},
                                            .size = run->bytes[buffer]};
    vyre_span input = buffer < run->declared ? vy_multi_launch_input(run, buffer) : (vyre_span){NULL, 0};
    return vy_temporary_buffer_upload(run->call->backend, use, input.data, input.size, error);
}

/* What a call on the caller's buffers needs beside them; a call from host bytes comes here only if everything is there. */
static vyre_status check(const vy_multi_launch_state *run, vyre_error *error) {
    const vyre_backend *backend = run->call->backend;
    const vy_split *split = run->call->stages->split;
    if (run->count > run->declared && !backend->calls.resident_allocate)
        return vy_backend_unsupported(backend, "resident buffer allocation", error);
    if (run->count > run->declared && !backend->calls.resident_free)
        return vy_backend_unsupported(backend, "resident buffer free", error);
    if (split && split->decision != VY_NONE && !backend->calls.resident_download)
        return vy_backend_unsupported(backend, "resident buffer download", error);
    return VYRE_OK;
}

static vyre_status start(vy_multi_launch_state *run, vyre_error *error) {
    const vy_call *call = run->call;
    vyre_status status = check(run, error);
    memset(run->is_temporary, 0, run->count);
    for (uint32_t i = 0; i < run->count && status == VYRE_OK; i++) {
        if (i < run->declared && call->form == VY_FORM_RESIDENT)
            run->bindings[i] = call->bindings[i];
        else
            status = make(run, i, error);
    }
    return status;
}

static vyre_status launch(vy_multi_launch_state *run, vy_call *call, vyre_error *error) {
    call->form = VY_FORM_RESIDENT;
    call->bindings = run->bindings;
    call->binding_count = run->count;
    return vy_call_run(call, error);
}

static vyre_status read(vy_multi_launch_state *run, uint32_t buffer, uint32_t *out, vyre_error *error) {
    return vy_temporary_buffer_download(run->call->backend, &run->made[buffer], out, sizeof *out, error);
}

static vyre_status deliver(vy_multi_launch_state *run, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < run->declared && status == VYRE_OK; i++) {
        uint32_t output = run->call->resolved->buffers[i].output;
        if (output == VY_NONE || !run->is_temporary[i])
            continue;
        vyre_bytes *slot = &run->call->outputs->items[output];
        status = vyre_bytes_resize(slot, (size_t)run->bytes[i], error);
        if (status == VYRE_OK)
            status = vy_temporary_buffer_download(run->call->backend, &run->made[i], slot->data, run->bytes[i], error);
    }
    return status;
}

static void end(vy_multi_launch_state *run) {
    for (uint32_t i = 0; i < run->count; i++)
        if (run->is_temporary[i])
            vy_temporary_buffer_destroy(run->call->backend, &run->made[i]);
}

const vy_multi_launch_storage vy_multi_launch_resident = {start, launch, read, deliver, end};
