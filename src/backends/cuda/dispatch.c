/* The dispatch family of the backend (dispatch.h): the code of the program is found or made, the rest is flights. */
#include "backends/cuda/dispatch.h"

#include "backends/cuda/flight.h"
#include "backends/cuda/pending.h"
#include "backends/cuda/straight.h"

static vyre_status find_code(vy_cuda *cuda, const vyre_launch *launch, vy_cuda_code **out, vyre_error *error) {
    return vy_cuda_program_code(cuda, launch->program, launch->deadline_ns || launch->cancel, launch->deadline_ns, out,
                                error);
}

static vyre_status run(vy_cuda *cuda, const vyre_launch *launch, const vyre_span *inputs, const vyre_resource *bindings,
                       vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    vy_cuda_code *code;
    int was_pushed;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = find_code(cuda, launch, &code, error);
    if (status == VYRE_OK) {
        status = vy_cuda_is_straight(code, launch, bindings, timing)
                     ? vy_cuda_straight_run(code, launch, bindings, error)
                     : vy_cuda_flight_run(code, launch, inputs, bindings, outputs, timing, error);
        vy_cuda_code_release(code);
    }
    vy_cuda_leave(cuda, was_pushed);
    return status;
}

vyre_status vy_cuda_dispatch_timed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                   vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)input_count;
    return run(self, launch, inputs, NULL, outputs, timing, error);
}

vyre_status vy_cuda_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                      size_t input_count, vyre_outputs *outputs, vyre_error *error) {
    (void)input_count;
    return run(self, launch, inputs, NULL, outputs, NULL, error);
}

vyre_status vy_cuda_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                             vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return run(self, launch, spans, NULL, outputs, NULL, error);
}

vyre_status vy_cuda_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                      size_t binding_count, vyre_timing *timing, vyre_error *error) {
    (void)binding_count;
    return run(self, launch, NULL, bindings, NULL, timing, error);
}

vyre_status vy_cuda_dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                   vyre_native_pending *out, vyre_error *error) {
    (void)input_count;
    vy_cuda *cuda = self;
    vy_cuda_code *code;
    int was_pushed;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = find_code(cuda, launch, &code, error);
    if (status == VYRE_OK) {
        status = vy_cuda_pending_start(code, launch, inputs, out, error);
        vy_cuda_code_release(code);
    }
    vy_cuda_leave(cuda, was_pushed);
    return status;
}
