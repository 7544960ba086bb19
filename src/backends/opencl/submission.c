/* Submission of one dispatch (submission.h). */
#include "backends/opencl/submission.h"

#include "base/status.h"
#include "base/thread.h"

#include <inttypes.h>

vyre_status vy_ocl_submission_start(vy_ocl_submission *f, vy_ocl_executable *code, const vyre_launch *launch,
                                    vyre_timing *timing, vyre_error *error) {
    f->ocl = code->ocl;
    f->code = code;
    f->kernel = &code->kernel;
    f->trap = launch->trap;
    f->cancel = launch->cancel;
    f->deadline_ns = launch->deadline_ns;
    f->timing = timing;
    f->start_ns = timing ? vy_clock_now() : 0;
    f->read_start = f->write_start = f->arena_bytes = 0;
    f->direct_count = 0;
    f->is_small = f->was_signalled = 0;
    f->is_finished = 1;
    return vy_ocl_slot_acquire(f->ocl, timing != NULL, &f->slot, error);
}

void vy_ocl_submission_end(vy_ocl_submission *f) {
    if (!f->is_finished) /* an earlier step failed */
        vy_ocl_abort(f->ocl, f->slot, f->kernel);
    for (uint32_t i = 0; i < f->direct_count; i++)
        vy_ocl_area_free(f->ocl, &f->direct[i]);
    vy_ocl_slot_release(f->ocl, f->slot, !f->is_finished);
}

/* ---- binding ---- */

static uint64_t align_size(uint64_t size) {
    return (size + VY_OCL_ALIGNMENT - 1) / VY_OCL_ALIGNMENT * VY_OCL_ALIGNMENT;
}

/* Resizes the output without clearing it. */
static vyre_status reserve_output(vyre_bytes *slot, uint64_t size, vyre_error *error) {
    if (slot->capacity < size) {
        void *data = size < PTRDIFF_MAX ? vy_allocate((size_t)size) : NULL;
        if (!data)
            return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a buffer (%" PRIu64 " bytes)", size);
        vy_release(slot->data, slot->capacity);
        slot->data = data;
        slot->capacity = (size_t)size;
    }
    slot->size = (size_t)size;
    return VYRE_OK;
}

/* Whether the host bytes overlap the memory of an output slot. */
static int overlaps(const void *data, uint64_t size, const vyre_bytes *slot) {
    uintptr_t first = (uintptr_t)data, start = (uintptr_t)slot->data;
    return slot->capacity && size && first < start + slot->capacity && first + size > start;
}

static int overlaps_any_output(const void *data, uint64_t size, const vyre_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++)
        if (overlaps(data, size, &outputs->items[i]))
            return 1;
    return 0;
}

static int overlaps_any_input(const vy_ocl_submission *f, const vyre_bytes *slot) {
    for (uint32_t i = 0; i < f->code->facts->buffer_count; i++)
        if (f->kinds[i] != VY_OCL_RESIDENT && vy_launch_is_input(f->code->facts, i) &&
            overlaps(f->sources[i], f->sizes[i], slot))
            return 1;
    return 0;
}

static int is_fully_written(const vy_ocl_submission *f, const vyre_launch *launch, uint32_t i) {
    return vy_full_write_holds(&vy_launch_full_writes(f->code->facts)[i], i, launch->elements, launch->params,
                               launch->groups);
}

/* A direct input is used in place. A direct output uses the memory of its output slot, which is first cleared or filled
 * with the input. Inputs that overlap an output slot are copied instead. */
static vyre_status bind_direct(vy_ocl_submission *f, const vyre_launch *launch, uint32_t i, vyre_bytes *slot,
                               vyre_error *error) {
    int is_output = vy_launch_is_output(f->code->facts, i), is_input = vy_launch_is_input(f->code->facts, i);
    const void *host = f->sources[i];
    if (is_output) {
        vyre_status status = reserve_output(slot, f->sizes[i], error);
        if (status != VYRE_OK)
            return status;
        host = slot->data;
    }
    if ((uintptr_t)host % 16)
        return VYRE_OK;
    if (is_output && is_input)
        memcpy(slot->data, f->sources[i], (size_t)f->sizes[i]);
    else if (is_output && !is_fully_written(f, launch, i))
        memset(slot->data, 0, (size_t)f->sizes[i]);
    vy_ocl_area *area = &f->direct[f->direct_count];
    vyre_status status = vy_ocl_area_wrap(f->ocl, is_output ? VY_CL_MEMORY_READ_WRITE : VY_CL_MEMORY_READ_ONLY, host,
                                          f->sizes[i], "binding a buffer", area, error);
    if (status != VYRE_OK)
        return status;
    f->direct_count++;
    f->kinds[i] = VY_OCL_DIRECT;
    f->places[i] = (vy_ocl_place){area->memory, 0};
    return VYRE_OK;
}

static vyre_status bind_all_direct(vy_ocl_submission *f, const vyre_launch *launch, vyre_outputs *outputs,
                                   vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0, output = 0; i < f->code->facts->buffer_count && status == VYRE_OK; i++) {
        vyre_bytes *slot = vy_launch_is_output(f->code->facts, i) ? &outputs->items[output++] : NULL;
        if (f->kinds[i] == VY_OCL_RESIDENT || f->sizes[i] < f->ocl->direct_bytes || !f->sizes[i])
            continue;
        if (slot ? overlaps_any_input(f, slot) : overlaps_any_output(f->sources[i], f->sizes[i], outputs))
            continue;
        status = bind_direct(f, launch, i, slot, error);
    }
    return status;
}

enum { READ, READ_AND_WRITTEN, WRITTEN, RANKS };

static int rank_of(const vy_launch_facts *facts, uint32_t buffer) {
    return !vy_launch_is_output(facts, buffer) ? READ : vy_launch_is_input(facts, buffer) ? READ_AND_WRITTEN : WRITTEN;
}

/* Assigns the offsets in the arena. */
static void lay_out(vy_ocl_submission *f) {
    uint64_t at = 0, first;
    uint64_t *const starts[RANKS] = {&first, &f->read_start, &f->write_start};
    for (int rank = 0; rank < RANKS; rank++) {
        *starts[rank] = at;
        for (uint32_t i = 0; i < f->code->facts->buffer_count; i++)
            if (f->kinds[i] == VY_OCL_COPIED && f->sizes[i] && rank_of(f->code->facts, i) == rank) {
                f->places[i].offset = at;
                at += align_size(f->sizes[i]);
            }
    }
    f->arena_bytes = at;
    f->is_small = at <= VY_OCL_SMALL;
}

vyre_status vy_ocl_submission_bind(vy_ocl_submission *f, const vyre_launch *launch, const vyre_span *inputs,
                                   const vyre_resource *bindings, vyre_outputs *outputs, vyre_error *error) {
    const vy_launch_facts *facts = f->code->facts;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0, input = 0; i < facts->buffer_count; i++) {
        f->sizes[i] = launch->elements[i] * facts->buffers[i].element_bytes;
        f->kinds[i] = VY_OCL_COPIED;
        f->places[i] = (vy_ocl_place){NULL, 0};
        if (bindings && bindings[i].kind == VYRE_RESOURCE_RESIDENT) {
            vy_ocl_block *block = vy_ocl_block_of(bindings[i].resident.id);
            f->kinds[i] = VY_OCL_RESIDENT;
            f->places[i] = (vy_ocl_place){vy_ocl_block_area(block)->memory, block->offset + bindings[i].offset};
        } else if (bindings) {
            f->sources[i] = bindings[i].host.data;
        } else {
            f->sources[i] = vy_launch_is_input(facts, i) ? inputs[input++].data : NULL;
        }
    }
    if (outputs && f->ocl->findings.shares_memory && f->ocl->direct_bytes)
        status = bind_all_direct(f, launch, outputs, error);
    if (status == VYRE_OK)
        lay_out(f);
    return status;
}

/* ---- submitting ---- */

static int is_copied(const vy_ocl_submission *f, uint32_t i) {
    return f->kinds[i] == VY_OCL_COPIED && f->sizes[i];
}

static vyre_status write_arena(vy_ocl_submission *f, const void *from, uint64_t at, uint64_t size, int is_blocking,
                               vyre_error *error) {
    return size ? vy_ocl_check(f->ocl,
                               f->ocl->api.enqueue_write(f->slot->queue, f->slot->arena.memory, (uint32_t)is_blocking,
                                                         (size_t)at, (size_t)size, from, 0, NULL, NULL),
                               "copying to the device", error)
                : (vyre_status)VYRE_OK;
}

static vyre_status clear_arena(vy_ocl_submission *f, uint64_t at, uint64_t size, vyre_error *error) {
    static const uint32_t zeros[4];
    return vy_ocl_check(f->ocl,
                        f->ocl->api.enqueue_fill(f->slot->queue, f->slot->arena.memory, zeros, sizeof zeros, (size_t)at,
                                                 (size_t)align_size(size), 0, NULL, NULL),
                        "clearing the outputs", error);
}

/* to: host memory, which is the arena or staging memory. */
static void copy_inputs(const vy_ocl_submission *f, uint8_t *to) {
    for (uint32_t i = 0; i < f->code->facts->buffer_count; i++)
        if (is_copied(f, i) && vy_launch_is_input(f->code->facts, i))
            memcpy(to + f->places[i].offset, f->sources[i], (size_t)f->sizes[i]);
}

/* After the return the caller's bytes are no longer used. */
static vyre_status copy_to_device(vy_ocl_submission *f, vyre_error *error) {
    vyre_status status = VYRE_OK;
    if (f->is_small) {
        status = vy_ocl_slot_stage(f->ocl, f->slot, error);
        if (status != VYRE_OK)
            return status;
        copy_inputs(f, f->slot->staging);
        return write_arena(f, f->slot->staging, 0, f->write_start, 0, error);
    }
    for (uint32_t i = 0; i < f->code->facts->buffer_count && status == VYRE_OK; i++)
        if (is_copied(f, i) && vy_launch_is_input(f->code->facts, i))
            status = write_arena(f, f->sources[i], f->places[i].offset, f->sizes[i], 1, error);
    return status;
}

static vyre_status upload(vy_ocl_submission *f, const vyre_launch *launch, vyre_error *error) {
    vyre_status status = vy_ocl_slot_reserve(f->ocl, f->slot, f->arena_bytes, error);
    uint8_t *host = f->slot->arena.host;
    if (status == VYRE_OK && host)
        copy_inputs(f, host);
    else if (status == VYRE_OK)
        status = copy_to_device(f, error);
    for (uint32_t i = 0; i < f->code->facts->buffer_count && status == VYRE_OK; i++) {
        if (!is_copied(f, i))
            continue;
        f->places[i].memory = f->slot->arena.memory;
        if (vy_launch_is_input(f->code->facts, i) || is_fully_written(f, launch, i))
            continue;
        if (host)
            memset(host + f->places[i].offset, 0, (size_t)f->sizes[i]);
        else
            status = clear_arena(f, f->places[i].offset, f->sizes[i], error);
    }
    return status;
}

static vyre_status launch_all(vy_ocl_submission *f, const vyre_launch *launch, vyre_error *error) {
    if (vy_ocl_needs_slices(f->code, launch))
        return vy_ocl_launch_slices(f->slot, f->code, launch, f->places, &f->kernel, error);
    vyre_status status = vy_ocl_control_prepare(f->ocl, f->slot, f->kernel, launch->deadline_ns, error);
    if (status == VYRE_OK)
        status = vy_ocl_launch(f->ocl, f->slot, f->code, f->kernel, launch, f->places, error);
    return status == VYRE_OK ? vy_ocl_control_fetch(f->ocl, f->slot, f->kernel, error) : status;
}

static vyre_status read_back(vy_ocl_submission *f, vyre_error *error) {
    uint64_t size = f->arena_bytes - f->read_start;
    if (!f->is_small || !size || f->slot->arena.host)
        return VYRE_OK;
    vyre_status status = vy_ocl_slot_stage(f->ocl, f->slot, error);
    return status == VYRE_OK
               ? vy_ocl_check(f->ocl,
                              f->ocl->api.enqueue_read(f->slot->queue, f->slot->arena.memory, 0, (size_t)f->read_start,
                                                       (size_t)size, f->slot->staging + f->read_start, 0, NULL, NULL),
                              "copying from the device", error)
               : status;
}

vyre_status vy_ocl_submission_submit(vy_ocl_submission *f, const vyre_launch *launch, vyre_error *error) {
    vyre_status status = VYRE_OK;
    f->is_finished = 0;
    if (f->arena_bytes)
        status = upload(f, launch, error);
    if (status == VYRE_OK)
        status = launch_all(f, launch, error);
    if (status == VYRE_OK && f->arena_bytes)
        status = read_back(f, error);
    if (f->timing)
        f->submitted_ns = vy_clock_now();
    return status;
}

/* ---- finishing ---- */

static vyre_status deliver_one(vy_ocl_submission *f, uint32_t i, vyre_bytes *slot, vyre_error *error) {
    const uint64_t at = f->places[i].offset;
    const size_t size = (size_t)f->sizes[i];
    vyre_status status = reserve_output(slot, f->sizes[i], error);
    if (status != VYRE_OK || !size)
        return status;
    if (f->slot->arena.host || f->is_small) {
        memcpy(slot->data, (f->slot->arena.host ? f->slot->arena.host : f->slot->staging) + at, size);
        return VYRE_OK;
    }
    return vy_ocl_check(
        f->ocl,
        f->ocl->api.enqueue_read(f->slot->queue, f->slot->arena.memory, 0, (size_t)at, size, slot->data, 0, NULL, NULL),
        "copying from the device", error);
}

static vyre_status deliver(vy_ocl_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0, output = 0; i < f->code->facts->buffer_count && status == VYRE_OK; i++) {
        if (!vy_launch_is_output(f->code->facts, i))
            continue;
        vyre_bytes *slot = outputs ? &outputs->items[output++] : NULL;
        if (f->kinds[i] != VY_OCL_COPIED)
            continue;
        status = slot ? deliver_one(f, i, slot, error)
                      : vy_fail(error, VYRE_INVALID_ARGUMENT, "bind what is written to resident buffers",
                                "buffer %" PRIu32 " is written, and bound to host bytes that are not read back", i);
    }
    if (status == VYRE_OK && f->arena_bytes && !f->is_small && !f->slot->arena.host)
        status = vy_ocl_check(f->ocl, f->ocl->api.finish(f->slot->queue), "copying from the device", error);
    return status;
}

static vyre_status read_timing(vy_ocl_submission *f, uint64_t waited_ns, vyre_error *error) {
    vyre_status status = vy_ocl_read_time(f->ocl, f->slot, &f->timing->device_ns, error);
    f->timing->enqueue_ns = f->submitted_ns - f->start_ns;
    f->timing->wait_ns = waited_ns - f->submitted_ns;
    f->timing->present |= VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT;
    return status;
}

vyre_status vy_ocl_submission_finish(vy_ocl_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = vy_ocl_wait(f->ocl, f->slot, f->kernel, f->deadline_ns, f->cancel, error);
    uint64_t waited_ns = f->timing ? vy_clock_now() : 0;
    if (status != VYRE_OK)
        return status;
    int was_cancelled = f->was_signalled || (f->cancel && __atomic_load_n(f->cancel, __ATOMIC_RELAXED));
    status = vy_ocl_decode_result(f->slot, f->kernel, f->code->name, was_cancelled, f->trap, error);
    if (status != VYRE_OK) {
        f->is_finished = 1; /* the kernel has ended: a trap, a timeout or a cancellation */
        return status;
    }
    status = deliver(f, outputs, error);
    f->is_finished = status == VYRE_OK || status == VYRE_INVALID_ARGUMENT;
    if (status == VYRE_OK && f->timing)
        status = read_timing(f, waited_ns, error);
    if (f->timing)
        f->timing->wall_ns = vy_clock_now() - f->start_ns;
    return status;
}

vyre_status vy_ocl_submission_run(vy_ocl_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing,
                                  vyre_error *error) {
    vy_ocl_submission f;
    vyre_status status = vy_ocl_submission_start(&f, code, launch, timing, error);
    if (status != VYRE_OK)
        return status;
    status = vy_ocl_submission_bind(&f, launch, inputs, bindings, outputs, error);
    if (status == VYRE_OK)
        status = vy_ocl_submission_submit(&f, launch, error);
    if (status == VYRE_OK)
        status = vy_ocl_submission_finish(&f, outputs, error);
    vy_ocl_submission_end(&f);
    return status;
}
