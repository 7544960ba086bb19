/* One dispatch (dispatch.h). */
#include "backends/cpu/dispatch.h"

#include "backends/cpu/execute.h"
#include "driver/dispatch.h"

vy_cpu_call vy_cpu_call_of(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch, vy_cpu_arguments bytes) {
    return (vy_cpu_call){
        .cpu = cpu, .code = code, .launch = launch, .bytes = bytes, .helpers = cpu->threads - 1, .trap = launch->trap};
}

static vyre_status run(const vy_cpu_call *call, const vy_cpu_bindings *bound, vyre_error *error) {
    _Atomic uint32_t stop = 0;
    vy_cpu_execution run;
    vy_cpu_execution_init(&run, call->cpu, call->code, call->launch);
    run.buffers = bound->buffers;
    run.params = bound->params;
    run.stop = call->stop ? call->stop : &stop;
    run.max_helpers = call->helpers;
    vyre_status status = vy_cpu_execution_run(&run, call->trap, error);
    if (call->timing) {
        call->timing->device_ns = run.nanoseconds;
        call->timing->present |= VYRE_TIMED_DEVICE;
    }
    return status;
}

vyre_status vy_cpu_call_run(const vy_cpu_call *call, vyre_error *error) {
    uint64_t start = call->timing ? vy_clock_now() : 0;
    vy_cpu_bindings bound;
    vyre_status status = vy_cpu_bind(call->cpu, call->code, call->launch, &call->bytes, &bound, error);
    if (status == VYRE_OK)
        status = run(call, &bound, error);
    vy_cpu_unbind(&bound);
    if (call->timing)
        call->timing->wall_ns = vy_clock_now() - start;
    return status;
}
