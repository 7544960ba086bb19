/* Binding buffers (binding.h).
 *
 * Inputs first: one that lies in the memory of an output's slot is copied before the slot is filled or grown. Only the input of a read_write buffer that lies at
 * the start of its own slot stays: it is where it has to be. */
#include "backends/cpu/binding.h"

#include "backends/cpu/memory.h"
#include "base/memory.h"
#include "base/status.h"

#include <inttypes.h>

struct vy_cpu_copy {
    vy_cpu_copy *next;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

/* Empty buffers point somewhere, too; nobody reads or writes there. */
static alignas(VY_CPU_ALIGNMENT) const uint8_t nowhere[VY_CPU_ALIGNMENT];

typedef struct binder {
    vy_cpu *cpu;
    const vy_cpu_executable *code;
    const vyre_launch *launch;
    const vy_cpu_arguments *bytes;
    vy_cpu_bindings *bound;
    vyre_error *error;
} binder;

static int is_output(const binder *b, size_t index) {
    uint8_t access = b->code->buffers[index].access;
    return access == VYRE_ACCESS_WRITE || access == VYRE_ACCESS_READ_WRITE;
}

static int is_input(const binder *b, size_t index) {
    return b->code->buffers[index].access != VYRE_ACCESS_WRITE;
}

static int is_resident(const binder *b, size_t index) {
    return b->bytes->bindings && b->bytes->bindings[index].kind == VYRE_RESOURCE_RESIDENT;
}

static size_t bytes_of(const binder *b, size_t index) {
    return (size_t)(b->launch->elements[index] * b->code->buffers[index].element);
}

static void set(const binder *b, size_t index, const void *data) {
    uint32_t element = b->code->buffers[index].element;
    const void *place = b->launch->elements[index] ? data : nowhere;
    b->bound->buffers[index] = (vy_cpu_buffer){.data = (uint8_t *)(uintptr_t)place,
                                               .count = (uint32_t)b->launch->elements[index],
                                               .misalignment = (uint32_t)((uintptr_t)place % 16 / element)};
}

static vyre_status start(const binder *b) {
    b->bound->copies = NULL;
    for (size_t i = 0; i < b->launch->param_count; i++)
        b->bound->params[i] = b->launch->params[i].bits;
    for (size_t i = 0; i < b->code->buffer_count; i++)
        if (b->launch->elements[i] > VY_CPU_ELEMENTS_MAX)
            return vy_fail(b->error, VYRE_LIMIT, "bind smaller ranges, or split the work into several dispatches",
                           "buffer %zu has %" PRIu64 " elements, over the limit of backend `cpu` (%" PRIu32 ")", i,
                           b->launch->elements[i], VY_CPU_ELEMENTS_MAX);
    return VYRE_OK;
}

/* ---- inputs ---- */

static void *copy(const binder *b, const void *data, size_t size) {
    vy_cpu_copy *made = size < PTRDIFF_MAX / 2 ? vy_allocate(sizeof *made + size) : NULL;
    if (!made)
        return NULL;
    made->next = b->bound->copies;
    made->size = size;
    b->bound->copies = made;
    vy_cpu_pool_copy_or_clear(b->cpu->pool, made->bytes, data, size);
    return made->bytes;
}

/* Whether the bytes lie in memory of a slot other than at its start, if it is their own and large enough. */
static int overlaps_output(const binder *b, const void *data, size_t size, size_t own) {
    uintptr_t first = (uintptr_t)data;
    const vyre_outputs *outputs = b->bytes->outputs;
    for (size_t i = 0; outputs && i < outputs->count; i++) {
        const vyre_bytes *slot = &outputs->items[i];
        uintptr_t start = (uintptr_t)slot->data;
        if (!slot->capacity || first >= start + slot->capacity || first + size <= start)
            continue;
        if (i != own || first != start || slot->capacity < size)
            return 1;
    }
    return 0;
}

static vyre_status bind_input(const binder *b, size_t index, vyre_span input, size_t own) {
    size_t size = bytes_of(b, index);
    const void *place = input.data;
    int is_misaligned = own == SIZE_MAX && (uintptr_t)place % b->code->buffers[index].element;
    if (size && (is_misaligned || overlaps_output(b, place, size, own)))
        place = copy(b, place, size);
    if (size && !place)
        return vy_fail_memory(b->error, "copying an input");
    set(b, index, place);
    return VYRE_OK;
}

/* ---- outputs ---- */

/* Room without clearing it. What the slot held is not needed: its input is elsewhere, or there is room. */
static vyre_status reserve_output(const binder *b, vyre_bytes *slot, size_t size) {
    if (slot->capacity < size) {
        void *data = size < PTRDIFF_MAX ? vy_allocate(size) : NULL;
        if (!data)
            return vy_fail(b->error, VYRE_NO_MEMORY, NULL, "no host memory for a buffer (%zu bytes)", size);
        vy_cpu_memory_advise(data, size);
        vy_release(slot->data, slot->capacity);
        slot->data = data;
        slot->capacity = size;
    }
    slot->size = size;
    return VYRE_OK;
}

/* What the program stores to from its first element to its last need not start as zero. */
static int is_fully_written(const binder *b, size_t index) {
    return vy_full_write_holds(&b->code->full_writes[index], (uint32_t)index, b->launch->elements, b->launch->params,
                               b->launch->groups);
}

static vyre_status bind_output(const binder *b, size_t index, vyre_bytes *slot) {
    size_t size = bytes_of(b, index);
    const void *from = is_input(b, index) ? b->bound->buffers[index].data : NULL;
    vyre_status status = reserve_output(b, slot, size);
    if (status != VYRE_OK)
        return status;
    if (size && from != slot->data && (from || !is_fully_written(b, index)))
        vy_cpu_pool_copy_or_clear(b->cpu->pool, slot->data, from, size);
    set(b, index, slot->data);
    return VYRE_OK;
}

/* ---- both ---- */

static vyre_status bind_inputs(const binder *b) {
    const vy_cpu_arguments *from = b->bytes;
    vyre_status status = VYRE_OK;
    size_t input = 0, output = 0;
    for (size_t i = 0; i < b->code->buffer_count && status == VYRE_OK; i++) {
        size_t own = is_output(b, i) ? output++ : SIZE_MAX;
        if (is_resident(b, i))
            set(b, i, vy_cpu_resident_bytes(from->bindings[i].resident.id) + from->bindings[i].offset);
        else if (is_input(b, i))
            status = bind_input(b, i, from->bindings ? from->bindings[i].host : from->inputs[input++], own);
    }
    return status;
}

static vyre_status bind_outputs(const binder *b) {
    vyre_outputs *outputs = b->bytes->outputs;
    vyre_status status = VYRE_OK;
    size_t output = 0;
    for (size_t i = 0; i < b->code->buffer_count && status == VYRE_OK; i++) {
        size_t own = is_output(b, i) ? output++ : SIZE_MAX;
        if (own == SIZE_MAX || is_resident(b, i))
            continue;
        status = outputs ? bind_output(b, i, &outputs->items[own])
                         : vy_fail(b->error, VYRE_INVALID_ARGUMENT, "bind what is written to resident buffers",
                                   "buffer %zu is written, and bound to host bytes that are not read back", i);
    }
    return status;
}

vyre_status vy_cpu_bind(vy_cpu *cpu, const vy_cpu_executable *code, const vyre_launch *launch,
                        const vy_cpu_arguments *bytes, vy_cpu_bindings *bound, vyre_error *error) {
    binder b = {cpu, code, launch, bytes, bound, error};
    vyre_status status = start(&b);
    if (status == VYRE_OK)
        status = bind_inputs(&b);
    return status == VYRE_OK ? bind_outputs(&b) : status;
}

void vy_cpu_unbind(vy_cpu_bindings *bound) {
    vy_cpu_copy *next;
    for (vy_cpu_copy *made = bound->copies; made; made = next) {
        next = made->next;
        vy_release(made, sizeof *made + made->size);
    }
    bound->copies = NULL;
}
