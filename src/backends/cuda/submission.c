/* Submission of one dispatch, and the fast path for dispatches that need no control block (submission.h). */
#include "backends/cuda/submission.h"

#include "backends/cuda/launch.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/pending.h"
#include "backends/cuda/transfer.h"
#include "base/memory.h"
#include "base/status.h"
#include "driver/dispatch.h"

#include <sys/mman.h>

/* ---- submissions ---- */

/* Up to this many zeros are copied with the inputs, which is faster than a separate fill. */
enum { ZEROS_SENT = 16 << 10 };

vyre_status vy_cuda_submission_start(vy_cuda_submission *f, vy_cuda_executable *code, const vyre_launch *launch,
                                     vyre_timing *timing, vyre_error *error) {
    f->cuda = code->cuda;
    f->code = code;
    f->kernel = &code->kernel;
    f->trap = launch->trap;
    f->cancel = launch->cancel;
    f->deadline_ns = launch->deadline_ns;
    f->timing = timing;
    f->eager_readback = NULL;
    f->start_ns = timing ? vy_clock_now() : 0;
    f->read_start = f->clear_start = f->clear_end = f->copied_end = f->zero_start = f->arena_bytes = 0;
    f->is_small = 0;
    f->is_finished = 1;
    f->was_signalled = 0;
    return vy_cuda_stream_slot_acquire(f->cuda, &f->stream_slot, error);
}

void vy_cuda_submission_end(vy_cuda_submission *f) {
    if (!f->is_finished) /* it failed before the end */
        vy_cuda_abort(f->cuda, f->stream_slot, f->kernel);
    vy_cuda_stream_slot_release(f->cuda, f->stream_slot);
}

/* ---- binding ---- */

/* Groups of buffers in the arena, in layout order, by their use. */
enum { READ, READ_AND_WRITTEN, CLEARED, WRITTEN_WHOLE, DIRECT, DIRECT_CLEARED, RANKS };

static int rank_of(const vy_cuda_executable *code, uint32_t buffer, int is_cleared, int is_zero_copy) {
    if (is_zero_copy)
        return is_cleared ? DIRECT_CLEARED : DIRECT;
    if (!vy_cuda_is_output(code, buffer))
        return READ;
    if (vy_cuda_is_input(code, buffer))
        return READ_AND_WRITTEN;
    return is_cleared ? CLEARED : WRITTEN_WHOLE;
}

static int is_cleared(const vy_cuda_executable *code, const vyre_launch *launch, uint32_t buffer) {
    return !vy_cuda_is_input(code, buffer) && (launch->grid_buffer || /* the grid is unknown */
                                               !vy_full_write_holds(&vy_launch_full_writes(code->facts)[buffer], buffer,
                                                                    launch->elements, launch->params, launch->groups));
}

static void lay_out(vy_cuda_submission *f, const vyre_launch *launch) {
    uint64_t at = 0, first;
    uint64_t *const starts[RANKS] = {&first,        &f->read_start, &f->clear_start,
                                     &f->clear_end, &f->copied_end, &f->zero_start};
    uint8_t ranks[VY_LIMIT_BUFFERS], cleared[VY_LIMIT_BUFFERS], direct[VY_LIMIT_BUFFERS];
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        cleared[i] = (uint8_t)is_cleared(f->code, launch, i);
    vy_cuda_zero_copy_select(f, launch, cleared, direct);
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        ranks[i] = (uint8_t)rank_of(f->code, i, cleared[i], direct[i]);
    for (int rank = 0; rank < RANKS; rank++) {
        *starts[rank] = at;
        for (uint32_t i = 0; i < f->code->buffer_count; i++) {
            if (f->offsets[i] == VY_CUDA_RESIDENT || ranks[i] != rank)
                continue;
            f->offsets[i] = at;
            at += vy_cuda_align_size(f->sizes[i]);
        }
    }
    f->arena_bytes = at;
    f->is_small = at <= VY_CUDA_SMALL;
}

void vy_cuda_submission_bind_host(vy_cuda_submission *f, const vyre_launch *launch, const vyre_span *inputs) {
    for (uint32_t i = 0, input = 0; i < f->code->buffer_count; i++) {
        f->sizes[i] = launch->elements[i] * f->code->facts->buffers[i].element_bytes;
        f->sources[i] = vy_cuda_is_input(f->code, i) ? inputs[input++].data : NULL;
        f->offsets[i] = 0;
    }
    lay_out(f, launch);
}

static void submission_bind_resources(vy_cuda_submission *f, const vyre_launch *launch, const vyre_resource *bindings) {
    int has_host = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        int is_resident = bindings[i].kind == VYRE_RESOURCE_RESIDENT;
        if (is_resident)
            f->addresses[i] = vy_cuda_resident_address(bindings[i].resident.id) + bindings[i].offset;
        has_host |= !is_resident;
        f->offsets[i] = is_resident ? VY_CUDA_RESIDENT : 0;
        f->sizes[i] = launch->elements[i] * f->code->facts->buffers[i].element_bytes;
        f->sources[i] = bindings[i].host.data;
    }
    if (has_host)
        lay_out(f, launch);
}

/* ---- submitting ---- */

static int is_uploaded(const vy_cuda_submission *f, uint32_t buffer) {
    return f->offsets[buffer] != VY_CUDA_RESIDENT && f->sizes[buffer] && vy_cuda_is_input(f->code, buffer);
}

static vyre_status copy_in(vy_cuda_submission *f, const void *from, uint64_t size, vyre_error *error) {
    return size ? vy_cuda_check(
                      f->cuda,
                      f->cuda->api.copy_to_device(f->stream_slot->arena, from, (size_t)size, f->stream_slot->stream),
                      "copying to the device", error)
                : (vyre_status)VYRE_OK;
}

static vyre_status upload_small(vy_cuda_submission *f, uint64_t *cleared, vyre_error *error) {
    uint8_t *staging = f->stream_slot->staging.chunks[0];
    uint64_t end = f->clear_start;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (is_uploaded(f, i))
            memcpy(staging + f->offsets[i], f->sources[i], (size_t)f->sizes[i]);
    if (f->clear_end - end <= ZEROS_SENT) {
        memset(staging + end, 0, (size_t)(f->clear_end - end));
        end = f->clear_end;
    }
    memset(staging + f->zero_start, 0, (size_t)(f->arena_bytes - f->zero_start));
    *cleared = end;
    return copy_in(f, staging, end, error);
}

/* Several threads copy if that pays off. They use separate stream slots, so the arena must already be allocated on the
 * device. */
static vyre_status upload_large(vy_cuda_submission *f, vyre_error *error) {
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
    size_t count = 0;
    uint64_t size = 0;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (is_uploaded(f, i)) {
            copies[count++] = (vy_cuda_copy){f->addresses[i], (void *)(uintptr_t)f->sources[i], f->sizes[i]};
            size += f->sizes[i];
        }
    if (size >= VY_CUDA_PARALLEL_COPY_MIN) {
        status = vy_cuda_stream_slot_wait(f->cuda, f->stream_slot, "allocating device memory", error);
        return status == VYRE_OK ? vy_cuda_parallel_copy(f->cuda, copies, count, 1, error) : status;
    }
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status = vy_cuda_stage_in(f->cuda, &f->stream_slot->staging, f->stream_slot->stream, copies[i].device,
                                  copies[i].host, copies[i].size, error);
    return status;
}

/* Direct buffers rely on pinned memory having the same address on host and device. */
vyre_status vy_cuda_submission_allocate(vy_cuda_submission *f, vyre_error *error) {
    uint8_t *staging = NULL;
    vyre_status status = vy_cuda_stream_slot_reserve(f->cuda, f->stream_slot, f->copied_end, error);
    if (status == VYRE_OK && f->is_small)
        status = vy_cuda_staging_first(f->cuda, &f->stream_slot->staging, (size_t)f->arena_bytes, &staging, error);
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (f->offsets[i] != VY_CUDA_RESIDENT)
            f->addresses[i] =
                (f->offsets[i] < f->copied_end ? f->stream_slot->arena : (uintptr_t)staging) + f->offsets[i];
    return status;
}

static vyre_status upload(vy_cuda_submission *f, vyre_error *error) {
    uint64_t cleared = f->clear_start;
    vyre_status status = vy_cuda_submission_allocate(f, error);
    if (status != VYRE_OK)
        return status;
    status = f->is_small ? upload_small(f, &cleared, error) : upload_large(f, error);
    if (status == VYRE_OK && cleared < f->clear_end)
        status = vy_cuda_check(f->cuda,
                               f->cuda->api.fill(f->stream_slot->arena + cleared, 0, (size_t)(f->clear_end - cleared),
                                                 f->stream_slot->stream),
                               "clearing the outputs", error);
    return status;
}

static vyre_status launch_all(vy_cuda_submission *f, const vyre_launch *launch, vyre_error *error) {
    vy_cuda *cuda = f->cuda;
    vy_cuda_stream_slot *stream_slot = f->stream_slot;
    if (vy_cuda_needs_tiles(cuda, launch->groups))
        return vy_cuda_launch_tiles(stream_slot, f->code, launch, f->addresses, error);
    vyre_status status = VYRE_OK;
    if (launch->grid_buffer)
        status = vy_cuda_executable_indirect(f->code, &f->kernel, error);
    if (status == VYRE_OK)
        status = vy_cuda_control_prepare(cuda, stream_slot, f->kernel, launch, error);
    if (status == VYRE_OK)
        status = launch->grid_buffer
                     ? vy_cuda_indirect_launch(stream_slot, f->code, f->kernel, launch, f->addresses, 1, error)
                     : vy_cuda_launch(cuda, stream_slot, f->kernel, launch, NULL, f->addresses, error);
    if (status == VYRE_LIMIT) /* the next query of the limit returns 0 */
        atomic_store(&f->code->cooperative_blocks, 0);
    return status == VYRE_OK ? vy_cuda_control_fetch(cuda, stream_slot, f->kernel, error) : status;
}

static vyre_status launch_timed(vy_cuda_submission *f, const vyre_launch *launch, vyre_error *error) {
    vy_cuda_stream_slot *stream_slot = f->stream_slot;
    vyre_status status = vy_cuda_stream_slot_make_events(f->cuda, stream_slot, error);
    if (status == VYRE_OK)
        status = vy_cuda_check(f->cuda, f->cuda->api.event_record(stream_slot->begin, stream_slot->stream),
                               "recording an event", error);
    if (status == VYRE_OK)
        status = launch_all(f, launch, error);
    if (status == VYRE_OK)
        status = vy_cuda_check(f->cuda, f->cuda->api.event_record(stream_slot->end, stream_slot->stream),
                               "recording an event", error);
    return status;
}

static vyre_status read_back(vy_cuda_submission *f, vyre_error *error) {
    uint64_t size = f->copied_end - f->read_start;
    if (!f->is_small || !size)
        return VYRE_OK;
    return vy_cuda_check(f->cuda,
                         f->cuda->api.copy_to_host(f->stream_slot->staging.chunks[0] + f->read_start,
                                                   f->stream_slot->arena + f->read_start, (size_t)size,
                                                   f->stream_slot->stream),
                         "copying from the device", error);
}

vyre_status vy_cuda_submission_submit(vy_cuda_submission *f, const vyre_launch *launch, vyre_error *error) {
    vyre_status status = VYRE_OK;
    f->is_finished = 0;
    if (f->arena_bytes)
        status = upload(f, error);
    if (status == VYRE_OK)
        status = f->timing ? launch_timed(f, launch, error) : launch_all(f, launch, error);
    if (status == VYRE_OK)
        status = read_back(f, error);
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

/* Memory that is not cleared, because it is filled immediately. */
vyre_status vy_cuda_output_reserve(vyre_bytes *slot, uint64_t size, vyre_error *error) {
    if (slot->capacity < size) {
        void *data = size < PTRDIFF_MAX ? vy_allocate((size_t)size) : NULL;
        if (!data)
            return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a buffer (%llu bytes)",
                           (unsigned long long)size);
        vy_release(slot->data, slot->capacity);
        ask_for_large_pages(data, size);
        slot->data = data;
        slot->capacity = (size_t)size;
    }
    slot->size = (size_t)size;
    return VYRE_OK;
}

static vyre_status deliver(vy_cuda_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
    size_t count = 0, output = 0;
    uint64_t size = 0;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        if (!vy_cuda_is_output(f->code, i))
            continue;
        vyre_bytes *slot = outputs ? &outputs->items[output++] : NULL;
        if (f->offsets[i] == VY_CUDA_RESIDENT)
            continue;
        if (!slot)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "bind what is written to resident buffers",
                           "buffer %u is written, and bound to host bytes that are not read back", i);
        status = vy_cuda_output_reserve(slot, f->sizes[i], error);
        if (status == VYRE_OK && f->is_small && f->sizes[i])
            memcpy(slot->data, f->stream_slot->staging.chunks[0] + f->offsets[i], (size_t)f->sizes[i]);
        copies[count++] = (vy_cuda_copy){f->stream_slot->arena + f->offsets[i], slot->data, f->sizes[i]};
        size += f->sizes[i];
    }
    if (status != VYRE_OK || f->is_small)
        return status;
    return size >= VY_CUDA_PARALLEL_COPY_MIN
               ? vy_cuda_parallel_copy(f->cuda, copies, count, 0, error)
               : vy_cuda_stage_out(f->cuda, &f->stream_slot->staging, f->stream_slot->stream, copies, count, error);
}

static vyre_status read_timing(vy_cuda_submission *f, uint64_t waited_ns, vyre_error *error) {
    float milliseconds = 0;
    vyre_status status =
        vy_cuda_check(f->cuda, f->cuda->api.event_elapsed(&milliseconds, f->stream_slot->begin, f->stream_slot->end),
                      "reading the time of a kernel", error);
    if (status != VYRE_OK)
        return status;
    f->timing->device_ns = milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
    f->timing->enqueue_ns = f->submitted_ns - f->start_ns;
    f->timing->wait_ns = waited_ns - f->submitted_ns;
    f->timing->present |= VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT;
    return VYRE_OK;
}

vyre_status vy_cuda_submission_finish(vy_cuda_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = vy_cuda_wait(f->cuda, f->stream_slot, f->kernel, f->deadline_ns, f->cancel, error);
    uint64_t waited_ns = f->timing ? vy_clock_now() : 0;
    if (status != VYRE_OK)
        return status;
    f->is_finished = 1;
    int was_cancelled = f->was_signalled || (f->cancel && __atomic_load_n(f->cancel, __ATOMIC_RELAXED));
    status = vy_cuda_decode_result(f->stream_slot, f->kernel, f->code, was_cancelled, f->trap, error);
    if (status == VYRE_OK && f->arena_bytes) {
        f->is_finished = 0;
        status = f->eager_readback ? vy_cuda_eager_readback_deliver(f->eager_readback, outputs, error)
                                   : deliver(f, outputs, error);
        f->is_finished = status == VYRE_OK;
    }
    if (status == VYRE_OK && f->timing)
        status = read_timing(f, waited_ns, error);
    if (f->timing)
        f->timing->wall_ns = vy_clock_now() - f->start_ns;
    return status;
}

vyre_status vy_cuda_submission_run(vy_cuda_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                   const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing,
                                   vyre_error *error) {
    vy_cuda_submission f;
    vyre_status status = vy_cuda_submission_start(&f, code, launch, timing, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_nvtx_begin(&f.cuda->nvtx, launch->label, code->name);
    if (bindings)
        submission_bind_resources(&f, launch, bindings);
    else
        vy_cuda_submission_bind_host(&f, launch, inputs);
    int was_run = 0;
    if (!bindings)
        status = vy_cuda_pipelined_run(&f, launch, outputs, &was_run, error);
    if (status == VYRE_OK && !was_run)
        status = vy_cuda_submission_submit(&f, launch, error);
    if (status == VYRE_OK && !was_run)
        status = vy_cuda_submission_finish(&f, outputs, error);
    vy_cuda_submission_end(&f);
    vy_cuda_nvtx_end(&code->cuda->nvtx);
    return status;
}

/* ---- fast path ---- */

vyre_status vy_cuda_dispatch_fast(vy_cuda_executable *code, const vyre_launch *launch, const vyre_resource *bindings,
                                  vyre_error *error) {
    alignas(8) uint8_t bytes[VY_CUDA_PARAM_BYTES];
    uint32_t grid[3];
    vy_cuda *cuda = code->cuda;
    const vy_cuda_kernel *kernel = &code->kernel;
    const uint32_t *block = kernel->header.block;
    vy_cuda_stream_slot *stream_slot;
    vyre_status status = vy_cuda_stream_slot_acquire(cuda, &stream_slot, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_nvtx_begin(&cuda->nvtx, launch->label, code->name);
    for (uint32_t i = 0; i < code->buffer_count; i++) {
        vy_cu_address address = vy_cuda_resident_address(bindings[i].resident.id) + bindings[i].offset;
        memcpy(bytes + sizeof address * i, &address, sizeof address);
    }
    size_t size = vy_cuda_pack_scalars(kernel, launch, NULL, stream_slot->control, bytes, grid);
    void *extra[] = {VY_CU_PARAMS_BYTES, bytes, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    int result = cuda->api.launch(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                  kernel->header.dynamic_bytes, stream_slot->stream, NULL, extra);
    status = vy_cuda_check(cuda, result, "launching a kernel", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, cuda->api.stream_synchronize(stream_slot->stream), "running a kernel", error);
    if (status != VYRE_OK) { /* like a submission that failed before its end */
        stream_slot->is_control_clean = 0;
        cuda->api.stream_synchronize(stream_slot->stream);
    }
    vy_cuda_stream_slot_release(cuda, stream_slot);
    vy_cuda_nvtx_end(&cuda->nvtx);
    return status;
}
