/* Slots of outputs: made for a call, checked after it, handed over (dispatch.h).
 *
 * A backend resizes the slots it is given and changes nothing else. What else it may do to the struct is undone: the storage is
 * ours and known, so it can be freed whatever the struct says afterwards. */
#include "driver/dispatch.h"

#include "base/buffer_recycler.h"
#include "base/status.h"
#include "driver/trace.h"

#include <inttypes.h>

void vy_output_slots_start(vy_output_slots *slots, size_t count) {
    slots->count = count;
    memset(slots->items, 0, count * sizeof *slots->items);
    slots->outputs = (vyre_outputs){slots->items, count, count};
}

int vy_bytes_are_valid(const vyre_bytes *bytes) {
    return bytes->capacity >= bytes->size && (bytes->data || !bytes->capacity);
}

void vy_output_slots_end(vy_output_slots *slots) {
    for (size_t i = 0; i < slots->count; i++)
        if (vy_bytes_are_valid(&slots->items[i]))
            vyre_bytes_free(&slots->items[i]);
}

void vy_outputs_sanitize(vyre_outputs *outputs) {
    for (size_t i = 0; i < outputs->capacity; i++)
        if (!vy_bytes_are_valid(&outputs->items[i]))
            outputs->items[i] = (vyre_bytes)VYRE_BYTES_INIT;
}

vyre_status vy_outputs_check_resources(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                                       size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                                       const vyre_resource *bindings, vyre_error *error) {
    if (outputs->count != expected)
        return vy_backend_violation(backend, error, "it returned %zu outputs for a program with %zu", outputs->count,
                                    expected);
    if (outputs->items != items)
        return vy_backend_violation(backend, error, "it replaced the list of outputs");
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &launch->buffers[i];
        uint64_t bytes = bindings && bindings[i].kind == VYRE_RESOURCE_RESIDENT ? 0 : buffer->bytes;
        if (buffer->output == VY_NONE)
            continue;
        if (!vy_bytes_are_valid(&items[buffer->output]))
            return vy_backend_violation(backend, error, "output %" PRIu32 " has no memory for its bytes",
                                        buffer->output);
        if (items[buffer->output].size != bytes)
            return vy_backend_violation(backend, error, "output %" PRIu32 " has %zu bytes instead of %" PRIu64,
                                        buffer->output, items[buffer->output].size, bytes);
    }
    return VYRE_OK;
}

vyre_status vy_outputs_check(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                             size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                             vyre_error *error) {
    return vy_outputs_check_resources(backend, outputs, items, expected, program, launch, NULL, error);
}

vyre_status vy_outputs_reserve(vyre_outputs *outputs, size_t count, vyre_error *error) {
    size_t used = outputs->capacity < count ? outputs->capacity : count;
    if (outputs->capacity && !outputs->items)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "start from VYRE_OUTPUTS_INIT",
                       "`outputs` has room for %zu slots at a NULL pointer", outputs->capacity);
    for (size_t i = 0; i < used; i++)
        if (!vy_bytes_are_valid(&outputs->items[i]))
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "start every slot from VYRE_BYTES_INIT",
                           "slot %zu of `outputs` has %zu of %zu bytes%s", i, outputs->items[i].size,
                           outputs->items[i].capacity, outputs->items[i].data ? "" : " at a NULL pointer");
    if (used == count)
        return VYRE_OK;
    vyre_bytes *items = vy_resize(outputs->items, outputs->capacity * sizeof *items, count * sizeof *items);
    if (!items)
        return vy_fail_memory(error, "making room for the outputs");
    memset(items + outputs->capacity, 0, (count - outputs->capacity) * sizeof *items);
    outputs->items = items;
    outputs->capacity = count;
    return VYRE_OK;
}

/* Returns the counter of what was done. */
static vy_counter deliver_slot(vyre_bytes *slot, vyre_bytes *fresh, int is_new, int may_exchange) {
    int is_better = may_exchange && fresh->size >= VY_BUFFER_RECYCLER_MIN_BYTES && fresh->capacity >= slot->capacity;
    if (fresh->size <= slot->capacity && !is_better) {
        if (fresh->size)
            memcpy(slot->data, fresh->data, fresh->size);
        slot->size = fresh->size;
        return is_new ? VY_COUNTER_slots_appended : VY_COUNTER_slots_reused;
    }
    vyre_bytes old = *slot;
    *slot = *fresh;
    *fresh = old;
    return is_new ? VY_COUNTER_slots_appended : VY_COUNTER_slots_moved;
}

static void count(vy_counter counter, uint64_t amount) {
    if (amount)
        vy_count(counter, amount);
}

static void deliver_all(vyre_outputs *outputs, vyre_outputs *fresh, int may_exchange) {
    enum { FIRST = VY_COUNTER_slots_reused, FATES = VY_COUNTER_slots_appended - FIRST + 1 };
    uint64_t done[FATES] = {0}, bytes = 0;
    vy_span span = vy_span_begin();
    for (size_t i = 0; i < fresh->count; i++) {
        done[deliver_slot(&outputs->items[i], &fresh->items[i], i >= outputs->count, may_exchange) - FIRST]++;
        bytes += outputs->items[i].size;
    }
    outputs->count = fresh->count;
    for (int i = 0; i < FATES; i++)
        count((vy_counter)(FIRST + i), done[i]);
    count(VY_COUNTER_output_bytes, bytes);
    vy_span_end(span, deliver, .bytes = bytes, .count = fresh->count);
}

void vy_outputs_deliver(vyre_outputs *outputs, vyre_outputs *fresh) {
    deliver_all(outputs, fresh, 0);
}

void vy_outputs_deliver_swapping(vyre_outputs *outputs, vyre_outputs *fresh) {
    deliver_all(outputs, fresh, 1);
}

void vy_outputs_swap(vyre_outputs *outputs, vyre_outputs *fresh) {
    for (size_t i = 0; i < fresh->count; i++) {
        vyre_bytes old = outputs->items[i];
        outputs->items[i] = fresh->items[i];
        fresh->items[i] = old;
    }
    outputs->count = fresh->count;
}

void vy_outputs_reclaim(vyre_outputs *outputs, size_t lent, int went_well, const size_t *capacities) {
    uint64_t reused = 0, bytes = 0;
    size_t before = outputs->count < lent ? outputs->count : lent;
    vy_outputs_sanitize(outputs);
    outputs->count = went_well ? lent : 0;
    if (!outputs->count)
        return;
    for (size_t i = 0; i < lent; i++) {
        reused += i < before && outputs->items[i].capacity == capacities[i];
        bytes += outputs->items[i].size;
    }
    count(VY_COUNTER_slots_reused, reused);
    count(VY_COUNTER_slots_moved, before - reused);
    count(VY_COUNTER_slots_appended, lent - before);
    count(VY_COUNTER_output_bytes, bytes);
}

void vyre_outputs_free(vyre_outputs *outputs) {
    if (!outputs)
        return;
    for (size_t i = 0; outputs->items && i < outputs->capacity; i++)
        vyre_bytes_free(&outputs->items[i]);
    vy_release(outputs->items, outputs->capacity * sizeof *outputs->items);
    *outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
}
