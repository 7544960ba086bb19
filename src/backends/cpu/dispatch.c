/* The dispatch family of the backend (dispatch.h). */
#include "backends/cpu/dispatch.h"

#include "backends/cpu/pending.h"
#include "backends/cpu/run.h"
#include "driver/boundary.h"

vy_cpu_call vy_cpu_call_of(vy_cpu *cpu, vy_cpu_code *code, const vyre_launch *launch, vy_cpu_bytes bytes) {
    return (vy_cpu_call){
        .cpu = cpu, .code = code, .launch = launch, .bytes = bytes, .helpers = cpu->threads - 1, .trap = launch->trap};
}

static vyre_status run(const vy_cpu_call *call, const vy_cpu_bound *bound, vyre_error *error) {
    _Atomic uint32_t stop = 0;
    vy_cpu_run run;
    vy_cpu_run_describe(&run, call->cpu, call->code, call->launch);
    run.buffers = bound->buffers;
    run.params = bound->params;
    run.stop = call->stop ? call->stop : &stop;
    run.helpers_most = call->helpers;
    vyre_status status = vy_cpu_run_now(&run, call->trap, error);
    if (call->timing) {
        call->timing->device_ns = run.nanoseconds;
        call->timing->present |= VYRE_TIMED_DEVICE;
    }
    return status;
}

vyre_status vy_cpu_call_run(const vy_cpu_call *call, vyre_error *error) {
    uint64_t start = call->timing ? vy_clock_now() : 0;
    vy_cpu_bound bound;
    vyre_status status = vy_cpu_bind(call->cpu, call->code, call->launch, &call->bytes, &bound, error);
    if (status == VYRE_OK)
        status = run(call, &bound, error);
    vy_cpu_unbind(&bound);
    if (call->timing)
        call->timing->wall_ns = vy_clock_now() - start;
    return status;
}

/* ---- entries ---- */

static vyre_status find_code(vy_cpu *cpu, const vyre_launch *launch, vy_cpu_code **out, vyre_error *error) {
    return vy_cpu_program_code(cpu, launch->program, launch->deadline_ns || launch->cancel, launch->deadline_ns, out,
                               error);
}

static vyre_status dispatch(vy_cpu *cpu, const vyre_launch *launch, vy_cpu_bytes bytes, vyre_timing *timing,
                            vyre_error *error) {
    vy_cpu_code *code;
    vyre_status status = find_code(cpu, launch, &code, error);
    if (status != VYRE_OK)
        return status;
    vy_cpu_call call = vy_cpu_call_of(cpu, code, launch, bytes);
    call.timing = timing;
    status = vy_cpu_call_run(&call, error);
    vy_cpu_code_release(code);
    return status;
}

vyre_status vy_cpu_dispatch_timed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)input_count;
    return dispatch(self, launch, (vy_cpu_bytes){.inputs = inputs, .outputs = outputs}, timing, error);
}

vyre_status vy_cpu_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error) {
    return vy_cpu_dispatch_timed(self, launch, inputs, input_count, outputs, NULL, error);
}

vyre_status vy_cpu_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return vy_cpu_dispatch_timed(self, launch, spans, input_count, outputs, NULL, error);
}

vyre_status vy_cpu_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                     size_t binding_count, vyre_timing *timing, vyre_error *error) {
    (void)binding_count;
    return dispatch(self, launch, (vy_cpu_bytes){.bindings = bindings}, timing, error);
}

vyre_status vy_cpu_dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error) {
    vy_cpu_code *code;
    vyre_status status = find_code(self, launch, &code, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cpu_pending_start(self, code, launch, inputs, input_count, out, error);
    vy_cpu_code_release(code);
    return status;
}
