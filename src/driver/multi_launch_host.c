/* Stages through the host: every launch is given all buffers and gives those back that it writes, which the next one is given. Two sets of
 * memory take turns, so that nothing is allocated after the second launch. */
#include "base/status.h"
#include "driver/multi_launch_internal.h"

/* A stage reads every buffer (none is `write`), and writes those the program writes and the hidden ones. */
static int is_written(const vy_multi_launch_state *run, uint32_t buffer) {
    return buffer >= run->declared || run->call->resolved->buffers[buffer].output != VY_NONE;
}

static vyre_status start(vy_multi_launch_state *run, vyre_error *error) {
    vyre_status status = VYRE_OK;
    uint32_t outputs = 0;
    memset(run->contents, 0, run->count * sizeof *run->contents);
    for (uint32_t i = 0; i < run->count; i++)
        run->check.buffers[i] = (vy_resolved_buffer){.count = run->elements[i],
                                                     .bytes = run->bytes[i],
                                                     .input = i,
                                                     .output = is_written(run, i) ? outputs++ : VY_NONE};
    vy_output_slots_start(&run->slots, outputs);
    for (uint32_t i = 0; i < run->count && status == VYRE_OK; i++) {
        int is_input = i < run->declared && run->call->resolved->buffers[i].input != VY_NONE;
        if (!is_input) /* zeros */
            status = vyre_bytes_resize(&run->contents[i], (size_t)run->bytes[i], error);
        run->inputs[i] =
            is_input ? vy_multi_launch_input(run, i) : (vyre_span){run->contents[i].data, run->contents[i].size};
    }
    return status;
}

static void swap(vyre_bytes *a, vyre_bytes *b) {
    vyre_bytes kept = *a;
    *a = *b;
    *b = kept;
}

/* What a launch wrote becomes what the next one reads. */
static void take(vy_multi_launch_state *run) {
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t output = run->check.buffers[i].output;
        if (output == VY_NONE)
            continue;
        swap(&run->contents[i], &run->slots.items[output]);
        run->inputs[i] = (vyre_span){run->contents[i].data, run->contents[i].size};
    }
}

static vyre_status launch(vy_multi_launch_state *run, vy_call *call, vyre_error *error) {
    vy_output_slots *slots = &run->slots;
    slots->outputs = (vyre_outputs){slots->items, slots->count, slots->count};
    for (size_t i = 0; i < slots->count; i++)
        slots->items[i].size = 0;
    call->form = call->timing ? VY_FORM_TIMED : VY_FORM_INTO;
    call->inputs = run->inputs;
    call->input_count = run->count;
    call->outputs = &slots->outputs;
    vyre_status status = vy_call_run(call, error);
    if (status == VYRE_OK)
        status = vy_outputs_check(call->backend, &slots->outputs, slots->items, slots->count, call->launch.program,
                                  &run->check, error);
    slots->outputs = (vyre_outputs){slots->items, slots->count, slots->count};
    vy_outputs_sanitize(&slots->outputs);
    if (status == VYRE_OK)
        take(run);
    return status;
}

static vyre_status read(vy_multi_launch_state *run, uint32_t buffer, uint32_t *out, vyre_error *error) {
    (void)error;
    memcpy(out, run->contents[buffer].data, sizeof *out);
    return VYRE_OK;
}

/* Slots of the caller keep their memory where it suffices. */
static vyre_status deliver(vy_multi_launch_state *run, vyre_error *error) {
    (void)error;
    for (uint32_t i = 0; i < run->declared; i++) {
        uint32_t output = run->call->resolved->buffers[i].output;
        if (output == VY_NONE)
            continue;
        vyre_bytes *slot = &run->call->outputs->items[output];
        if (slot->capacity < run->bytes[i]) {
            swap(slot, &run->contents[i]);
        } else if (run->bytes[i]) {
            memcpy(slot->data, run->contents[i].data, (size_t)run->bytes[i]);
            slot->size = (size_t)run->bytes[i];
        }
    }
    return VYRE_OK;
}

static void end(vy_multi_launch_state *run) {
    for (uint32_t i = 0; i < run->count; i++)
        vyre_bytes_free(&run->contents[i]);
    vy_output_slots_end(&run->slots);
}

const vy_multi_launch_storage vy_multi_launch_host = {start, launch, read, deliver, end};
