/* Submission of one dispatch (gpu.h). */
#include "backends/gpu/gpu.h"
#include "base/status.h"
#include "base/thread.h"

#include <inttypes.h>
#include <sys/mman.h>

vyre_status vy_gpu_submission_start(vy_gpu_submission *f, vy_gpu_executable *code, const vyre_launch *launch,
                                    vyre_timing *timing, vyre_error *error) {
    f->gpu = code->gpu;
    f->code = code;
    f->kernel = NULL;
    f->trap = launch->trap;
    f->cancel = launch->cancel;
    f->deadline_ns = launch->deadline_ns;
    f->timing = timing;
    f->readback = NULL;
    f->start_ns = timing ? vy_clock_now() : 0;
    f->read_start = f->clear_start = f->clear_end = f->copied_end = f->zero_start = f->arena_bytes = 0;
    f->staging = NULL;
    f->is_small = f->was_signalled = 0;
    f->is_finished = 1;
    return f->gpu->calls->slot_acquire(f->gpu, timing != NULL, &f->slot, error);
}

void vy_gpu_submission_end(vy_gpu_submission *f) {
    if (!f->is_finished) /* an earlier step failed */
        vy_gpu_abort(f->slot, f->kernel);
    f->gpu->calls->slot_release(f->slot, !f->is_finished);
}

/* ---- binding ---- */

/* Groups of buffers in the arena, in layout order, by their use. */
enum { READ, READ_AND_WRITTEN, CLEARED, WRITTEN_WHOLE, DIRECT, DIRECT_CLEARED, RANKS };

static int rank_of(const vy_gpu_executable *code, uint32_t buffer, int is_cleared, int is_direct) {
    if (is_direct)
        return is_cleared ? DIRECT_CLEARED : DIRECT;
    if (!vy_launch_is_output(code->facts, buffer))
        return READ;
    if (vy_launch_is_input(code->facts, buffer))
        return READ_AND_WRITTEN;
    return is_cleared ? CLEARED : WRITTEN_WHOLE;
}

int vy_gpu_is_cleared(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t buffer) {
    return !vy_launch_is_input(code->facts, buffer) &&
           (launch->grid_buffer || /* the grid is unknown */
            !vy_full_write_holds(&vy_launch_full_writes(code->facts)[buffer], buffer, launch->elements, launch->params,
                                 launch->groups));
}

static void lay_out(vy_gpu_submission *f, const vyre_launch *launch) {
    uint64_t at = 0, first;
    uint64_t *const starts[RANKS] = {&first,        &f->read_start, &f->clear_start,
                                     &f->clear_end, &f->copied_end, &f->zero_start};
    uint8_t ranks[VY_LIMIT_BUFFERS], cleared[VY_LIMIT_BUFFERS], direct[VY_LIMIT_BUFFERS];
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        cleared[i] = (uint8_t)vy_gpu_is_cleared(f->code, launch, i), direct[i] = 0;
    if (f->gpu->calls->select_direct)
        f->gpu->calls->select_direct(f, launch, cleared, direct);
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        ranks[i] = (uint8_t)rank_of(f->code, i, cleared[i], direct[i]);
    for (int rank = 0; rank < RANKS; rank++) {
        *starts[rank] = at;
        for (uint32_t i = 0; i < f->code->buffer_count; i++) {
            if (f->offsets[i] == VY_GPU_ELSEWHERE || ranks[i] != rank)
                continue;
            f->offsets[i] = at;
            at += vy_gpu_align_size(f->sizes[i]);
        }
    }
    f->arena_bytes = at;
    f->is_small = at <= VY_GPU_SMALL || f->gpu->has_host_arena;
}

vyre_status vy_gpu_submission_bind(vy_gpu_submission *f, const vyre_launch *launch, const vyre_span *inputs,
                                   const vyre_resource *bindings, vyre_outputs *outputs, vyre_error *error) {
    const vy_gpu_calls *calls = f->gpu->calls;
    const vy_launch_facts *facts = f->code->facts;
    int has_host = 0;
    for (uint32_t i = 0, input = 0; i < f->code->buffer_count; i++) {
        f->sizes[i] = launch->elements[i] * facts->buffers[i].element_bytes;
        f->buffers.addresses[i] = 0;
        f->buffers.memories[i] = NULL;
        if (bindings && bindings[i].kind == VYRE_RESOURCE_RESIDENT) {
            calls->resident_locate(&bindings[i], &f->buffers.addresses[i], &f->buffers.memories[i]);
            f->offsets[i] = VY_GPU_ELSEWHERE;
            continue;
        }
        has_host = 1;
        f->offsets[i] = 0;
        f->sources[i] = bindings ? bindings[i].host.data : vy_launch_is_input(facts, i) ? inputs[input++].data : NULL;
    }
    if (!has_host)
        return VYRE_OK;
    vyre_status status =
        calls->bind_direct && outputs ? calls->bind_direct(f, launch, outputs, error) : (vyre_status)VYRE_OK;
    if (status == VYRE_OK)
        lay_out(f, launch);
    return status;
}

/* ---- submitting ---- */

/* Up to this many zeros are copied with the inputs, which is faster than a separate fill. */
enum { ZEROS_SENT = 16 << 10 };

static vyre_status upload_small(vy_gpu_submission *f, uint64_t *cleared, vyre_error *error) {
    uint64_t end = f->clear_start;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (vy_gpu_is_copied_in(f, i))
            memcpy(f->staging + f->offsets[i], f->sources[i], (size_t)f->sizes[i]);
    if (f->clear_end - end <= ZEROS_SENT) {
        memset(f->staging + end, 0, (size_t)(f->clear_end - end));
        end = f->clear_end;
    }
    memset(f->staging + f->zero_start, 0, (size_t)(f->arena_bytes - f->zero_start));
    *cleared = end;
    return end ? f->gpu->calls->staging_in(f, end, error) : (vyre_status)VYRE_OK;
}

static vyre_status upload(vy_gpu_submission *f, vyre_error *error) {
    const vy_gpu_calls *calls = f->gpu->calls;
    uint64_t cleared = f->clear_start;
    vyre_status status = calls->allocate(f, error);
    if (status == VYRE_OK)
        status = f->is_small ? upload_small(f, &cleared, error) : calls->upload_large(f, error);
    if (status == VYRE_OK && cleared < f->clear_end)
        status = calls->clear(f, cleared, f->clear_end - cleared, error);
    return status;
}

static vyre_status launch_all(vy_gpu_submission *f, const vyre_launch *launch, vyre_error *error) {
    const vy_gpu_calls *calls = f->gpu->calls;
    int is_sliced = calls->needs_slices(f->code, launch, NULL);
    vyre_status status = calls->choose_kernel(f->code, launch, is_sliced, &f->kernel, error);
    if (status != VYRE_OK)
        return status;
    return is_sliced ? vy_gpu_launch_slices(f->slot, f->code, f->kernel, launch, &f->buffers, error)
                     : vy_gpu_launch(f->slot, f->code, f->kernel, launch, NULL, &f->buffers, error);
}

vyre_status vy_gpu_submission_submit(vy_gpu_submission *f, const vyre_launch *launch, vyre_error *error) {
    const vy_gpu_calls *calls = f->gpu->calls;
    vyre_status status = VYRE_OK;
    f->is_finished = 0;
    if (f->arena_bytes)
        status = upload(f, error);
    if (status == VYRE_OK && f->timing && calls->time_mark)
        status = calls->time_mark(f->slot, 0, error);
    if (status == VYRE_OK)
        status = launch_all(f, launch, error);
    if (status == VYRE_OK && f->timing && calls->time_mark)
        status = calls->time_mark(f->slot, 1, error);
    if (status == VYRE_OK && f->is_small && f->copied_end > f->read_start)
        status = calls->staging_out(f, f->read_start, f->copied_end - f->read_start, error);
    if (f->timing)
        f->submitted_ns = vy_clock_now();
    return status;
}

/* ---- finishing ---- */

/* The page faults of a large new output cost more time than writing the data. Requests huge pages, as a hint to the
 * kernel. */
static void ask_for_large_pages(void *data, uint64_t size) {
    enum { PAGE = 2 << 20 };
    uintptr_t first = ((uintptr_t)data + PAGE - 1) / PAGE * PAGE, end = ((uintptr_t)data + size) / PAGE * PAGE;
    if (size >= 4 * (uint64_t)PAGE && first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
}

vyre_status vy_gpu_output_reserve(vyre_bytes *output, uint64_t size, vyre_error *error) {
    if (output->capacity < size) {
        void *data = size < PTRDIFF_MAX ? vy_allocate((size_t)size) : NULL;
        if (!data)
            return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a buffer (%" PRIu64 " bytes)", size);
        vy_release(output->data, output->capacity);
        ask_for_large_pages(data, size);
        output->data = data;
        output->capacity = (size_t)size;
    }
    output->size = (size_t)size;
    return VYRE_OK;
}

int vy_gpu_overlaps(const void *data, uint64_t size, const vyre_bytes *output) {
    uintptr_t first = (uintptr_t)data, start = (uintptr_t)output->data;
    return output->capacity && size && first < start + output->capacity && first + size > start;
}

static vyre_status deliver(vy_gpu_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0, output = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        if (!vy_launch_is_output(f->code->facts, i))
            continue;
        vyre_bytes *slot = outputs ? &outputs->items[output++] : NULL;
        if (f->offsets[i] == VY_GPU_ELSEWHERE)
            continue;
        if (!slot)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "bind what is written to resident buffers",
                           "buffer %" PRIu32 " is written, and bound to host bytes that are not read back", i);
        status = vy_gpu_output_reserve(slot, f->sizes[i], error);
        if (status == VYRE_OK && f->is_small && f->sizes[i])
            memcpy(slot->data, f->staging + f->offsets[i], (size_t)f->sizes[i]);
    }
    return status == VYRE_OK && !f->is_small ? f->gpu->calls->download_large(f, outputs, error) : status;
}

static vyre_status read_timing(vy_gpu_submission *f, uint64_t waited_ns, vyre_error *error) {
    vyre_status status = f->gpu->calls->time_read(f->slot, &f->timing->device_ns, error);
    f->timing->enqueue_ns = f->submitted_ns - f->start_ns;
    f->timing->wait_ns = waited_ns - f->submitted_ns;
    f->timing->present |= VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT;
    return status;
}

vyre_status vy_gpu_submission_finish(vy_gpu_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = vy_gpu_wait(f->slot, f->kernel, f->deadline_ns, f->cancel, error);
    uint64_t waited_ns = f->timing ? vy_clock_now() : 0;
    if (status != VYRE_OK)
        return status;
    f->is_finished = 1;
    status = vy_gpu_decode(f->slot, f->kernel, f->code, f->was_signalled || vy_gpu_is_set(f->cancel), f->trap, error);
    if (status == VYRE_OK && f->arena_bytes) {
        f->is_finished = f->is_small;
        status = f->readback ? f->gpu->calls->download_large(f, outputs, error) : deliver(f, outputs, error);
        f->is_finished |= status == VYRE_OK;
    }
    if (status == VYRE_OK && f->timing)
        status = read_timing(f, waited_ns, error);
    if (f->timing)
        f->timing->wall_ns = vy_clock_now() - f->start_ns;
    return status;
}

vyre_status vy_gpu_submission_run(vy_gpu_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing,
                                  vyre_error *error) {
    const vy_gpu_calls *calls = code->gpu->calls;
    vy_gpu_submission f;
    int was_run = 0;
    vyre_status status = vy_gpu_submission_start(&f, code, launch, timing, error);
    if (status != VYRE_OK)
        return status;
    vy_gpu_range_begin(f.gpu, launch->label, code->name);
    status = vy_gpu_submission_bind(&f, launch, inputs, bindings, outputs, error);
    if (status == VYRE_OK && calls->run_pieces && !bindings)
        status = calls->run_pieces(&f, launch, outputs, &was_run, error);
    if (status == VYRE_OK && !was_run)
        status = vy_gpu_submission_submit(&f, launch, error);
    if (status == VYRE_OK && !was_run)
        status = vy_gpu_submission_finish(&f, outputs, error);
    vy_gpu_submission_end(&f);
    vy_gpu_range_end(f.gpu);
    return status;
}
