/* The dispatch family of the reference backend (reference.h). */
#include "backends/reference/reference.h"

#include "driver/dispatch.h"
#include "driver/host_services.h"

static vyre_status run(vy_reference_backend *reference, const vyre_launch *launch, const vyre_span *inputs,
                       size_t input_count, const void *const *before, vyre_bytes *outputs, vyre_error *error) {
    const vyre_oracle *oracle;
    uint32_t place;
    vyre_status status = vy_reference_executable_acquire(reference, launch->program, &oracle, &place, error);
    if (status != VYRE_OK)
        return status;
    status = vy_host_run_oracle(oracle, launch, inputs, input_count, before, outputs, error);
    vy_reference_executable_release(reference, oracle, place);
    return status;
}

vyre_status vy_reference_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_error *error) {
    return run(self, launch, inputs, input_count, NULL, outputs->items, error);
}

vyre_status vy_reference_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return run(self, launch, spans, input_count, NULL, outputs->items, error);
}

/* The oracle reads inputs where they lie and works on copies of what is written, so results are copied back at the end. */
vyre_status vy_reference_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                           size_t binding_count, vyre_timing *timing, vyre_error *error) {
    const void *before[VY_LIMIT_BUFFERS] = {NULL};
    vyre_span inputs[VY_LIMIT_BUFFERS] = {{NULL, 0}};
    unsigned char *targets[VY_LIMIT_BUFFERS];
    size_t input_count = 0, output_count = 0;
    vyre_buffer_info buffer;
    vy_output_slots slots;
    uint64_t start = vy_clock_now();
    for (size_t i = 0; i < binding_count && vyre_program_buffer(launch->program, i, &buffer); i++) {
        unsigned char *bytes = vy_reference_bytes(bindings[i].resident.id, bindings[i].offset);
        before[i] = bytes;
        if (buffer.access != VYRE_ACCESS_WRITE)
            inputs[input_count++] = (vyre_span){bytes, (size_t)bindings[i].size};
        if (buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE)
            targets[output_count++] = bytes;
    }
    vy_output_slots_start(&slots, output_count);
    vyre_status status = run(self, launch, inputs, input_count, before, slots.items, error);
    for (size_t i = 0; status == VYRE_OK && i < output_count; i++)
        if (slots.items[i].size)
            memcpy(targets[i], slots.items[i].data, slots.items[i].size);
    vy_output_slots_end(&slots);
    if (timing)
        timing->wall_ns = vy_clock_now() - start;
    return status;
}
