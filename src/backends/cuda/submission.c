/* The copies of a dispatch, the fast path, and the calls that src/backends/gpu makes (gpu.h). */
#include "backends/cuda/submission.h"

#include "backends/cuda/graph.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/transfer.h"
#include "base/status.h"

/* ---- copies ---- */

/* Direct buffers rely on pinned memory having the same address on host and device. */
vyre_status vy_cuda_submission_allocate(vy_gpu_submission *f, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)f->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)f->slot;
    vyre_status status = vy_cuda_stream_slot_reserve(cuda, stream_slot, f->copied_end, error);
    if (status == VYRE_OK && f->is_small)
        status = vy_cuda_staging_first(cuda, &stream_slot->staging, (size_t)f->arena_bytes, &f->staging, error);
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (f->offsets[i] != VY_GPU_ELSEWHERE)
            f->buffers.addresses[i] =
                (f->offsets[i] < f->copied_end ? stream_slot->arena : (uintptr_t)f->staging) + f->offsets[i];
    return status;
}

static vyre_status staging_in(vy_gpu_submission *f, uint64_t size, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)f->gpu;
    const vy_cuda_stream_slot *stream_slot = (const vy_cuda_stream_slot *)f->slot;
    return vy_cuda_check(cuda,
                         cuda->api.copy_to_device(stream_slot->arena, f->staging, (size_t)size, stream_slot->stream),
                         "copying to the device", error);
}

static vyre_status staging_out(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)f->gpu;
    const vy_cuda_stream_slot *stream_slot = (const vy_cuda_stream_slot *)f->slot;
    return vy_cuda_check(
        cuda, cuda->api.copy_to_host(f->staging + from, stream_slot->arena + from, (size_t)size, stream_slot->stream),
        "copying from the device", error);
}

static vyre_status clear(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)f->gpu;
    const vy_cuda_stream_slot *stream_slot = (const vy_cuda_stream_slot *)f->slot;
    return vy_cuda_check(cuda, cuda->api.fill(stream_slot->arena + from, 0, (size_t)size, stream_slot->stream),
                         "clearing the outputs", error);
}

/* Several threads copy if that pays off. They use separate stream slots, so the arena must already be allocated on the
 * device. */
static vyre_status upload_large(vy_gpu_submission *f, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)f->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)f->slot;
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
    size_t count = 0;
    uint64_t size = 0;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (vy_gpu_is_copied_in(f, i)) {
            copies[count++] = (vy_cuda_copy){f->buffers.addresses[i], (void *)(uintptr_t)f->sources[i], f->sizes[i]};
            size += f->sizes[i];
        }
    if (size >= VY_CUDA_PARALLEL_COPY_MIN) {
        status = vy_cuda_stream_slot_wait(cuda, stream_slot, "allocating device memory", error);
        return status == VYRE_OK ? vy_cuda_parallel_copy(cuda, copies, count, 1, error) : status;
    }
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status = vy_cuda_stage_in(cuda, &stream_slot->staging, stream_slot->stream, copies[i].device, copies[i].host,
                                  copies[i].size, error);
    return status;
}

static vyre_status download_large(vy_gpu_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)f->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)f->slot;
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
    size_t count = 0, output = 0;
    uint64_t size = 0;
    if (f->readback)
        return vy_cuda_eager_readback_deliver(f, outputs, error);
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        if (!vy_launch_is_output(f->code->facts, i))
            continue;
        const vyre_bytes *slot = &outputs->items[output++];
        if (f->offsets[i] == VY_GPU_ELSEWHERE)
            continue;
        copies[count++] = (vy_cuda_copy){stream_slot->arena + f->offsets[i], slot->data, f->sizes[i]};
        size += f->sizes[i];
    }
    return size >= VY_CUDA_PARALLEL_COPY_MIN
               ? vy_cuda_parallel_copy(cuda, copies, count, 0, error)
               : vy_cuda_stage_out(cuda, &stream_slot->staging, stream_slot->stream, copies, count, error);
}

static void resident_locate(const vyre_resource *resource, uint64_t *address, void **memory) {
    *address = vy_cuda_resident_address(resource->resident.id) + resource->offset;
    *memory = NULL;
}

/* ---- times ---- */

static vyre_status time_mark(vy_gpu_slot *slot, int is_end, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)slot->gpu;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)slot;
    vy_cu_event *event = is_end ? &stream_slot->end : &stream_slot->begin;
    vyre_status status = VYRE_OK;
    if (!*event)
        status = vy_cuda_check(cuda, cuda->api.event_create(event, VY_CU_EVENT_DEFAULT), "making an event", error);
    return status == VYRE_OK
               ? vy_cuda_check(cuda, cuda->api.event_record(*event, stream_slot->stream), "recording an event", error)
               : status;
}

static vyre_status time_read(vy_gpu_slot *slot, uint64_t *nanoseconds, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)slot->gpu;
    const vy_cuda_stream_slot *stream_slot = (const vy_cuda_stream_slot *)slot;
    float milliseconds = 0;
    vyre_status status =
        vy_cuda_check(cuda, cuda->api.event_elapsed(&milliseconds, stream_slot->begin, stream_slot->end),
                      "reading the time of a kernel", error);
    *nanoseconds = status == VYRE_OK && milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
    return status;
}

/* ---- asynchronous dispatches ---- */

static vyre_status watch(vy_gpu_pending *p, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)p->gpu;
    const vy_cuda_stream_slot *stream_slot = (const vy_cuda_stream_slot *)p->submission.slot;
    vyre_status status = vy_cuda_check(cuda, cuda->api.event_record(stream_slot->done, stream_slot->stream),
                                       "recording an event", error);
    if (status == VYRE_OK)
        vy_cuda_eager_readback_start(&p->submission);
    return status;
}

static void unwatch(vy_gpu_pending *p) {
    vy_cuda_eager_readback_end(&p->submission);
}

static int is_done(vy_gpu_slot *slot) {
    return ((vy_cuda *)slot->gpu)->api.event_query(((vy_cuda_stream_slot *)slot)->done) != VY_CU_NOT_READY;
}

/* ---- fast path ---- */

static vyre_status dispatch_fast(vy_cuda_executable *code, const vyre_launch *launch, const vyre_resource *bindings,
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
    vy_cuda_nvtx_begin(&cuda->nvtx, launch->label, code->base.name);
    for (uint32_t i = 0; i < code->base.buffer_count; i++) {
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
        stream_slot->base.is_control_clean = 0;
        cuda->api.stream_synchronize(stream_slot->stream);
    }
    vy_cuda_stream_slot_release(cuda, stream_slot);
    vy_cuda_nvtx_end(&cuda->nvtx);
    return status;
}

static vyre_status run(vy_gpu_executable *base, const vyre_launch *launch, const vyre_span *inputs,
                       const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    vy_cuda_executable *code = (vy_cuda_executable *)base;
    return vy_cuda_is_fast_dispatch(code, launch, bindings, timing)
               ? dispatch_fast(code, launch, bindings, error)
               : vy_gpu_submission_run(base, launch, inputs, bindings, outputs, timing, error);
}

/* ---- the calls ---- */

static vyre_status enter(vy_gpu *gpu, int *was_pushed, vyre_error *error) {
    return vy_cuda_enter((vy_cuda *)gpu, was_pushed, error);
}

static void enter_for_release(vy_gpu *gpu, int *was_pushed) {
    vy_cuda_enter_for_release((vy_cuda *)gpu, was_pushed);
}

static void leave(vy_gpu *gpu, int was_pushed) {
    vy_cuda_leave((vy_cuda *)gpu, was_pushed);
}

static void range_begin(vy_gpu *gpu, const char *label, const char *name) {
    vy_cuda_nvtx_begin(&((vy_cuda *)gpu)->nvtx, label, name);
}

static void range_end(vy_gpu *gpu) {
    vy_cuda_nvtx_end(&((vy_cuda *)gpu)->nvtx);
}

static vyre_status slot_acquire(vy_gpu *gpu, int is_timed, vy_gpu_slot **out, vyre_error *error) {
    vy_cuda_stream_slot *stream_slot;
    (void)is_timed;
    vyre_status status = vy_cuda_stream_slot_acquire((vy_cuda *)gpu, &stream_slot, error);
    *out = status == VYRE_OK ? &stream_slot->base : NULL;
    return status;
}

static void slot_release(vy_gpu_slot *slot, int is_broken) {
    (void)is_broken;
    vy_cuda_stream_slot_release((vy_cuda *)slot->gpu, (vy_cuda_stream_slot *)slot);
}

const vy_gpu_calls vy_cuda_calls = {
    .enter = enter,
    .enter_for_release = enter_for_release,
    .leave = leave,
    .range_begin = range_begin,
    .range_end = range_end,
    .executable_destroy = vy_cuda_executable_destroy,
    .compile = vy_cuda_compile,
    .load = vy_cuda_load,
    .serialize = vy_cuda_compile_binary,
    .has_slow_serialize = 1,
    .run = run,
    .slot_acquire = slot_acquire,
    .slot_release = slot_release,
    .finish = vy_cuda_finish,
    .query = vy_cuda_query,
    .signal_stop = vy_cuda_signal_stop,
    .signal_wait = vy_cuda_signal_wait,
    .resident_locate = resident_locate,
    .transfer = vy_cuda_transfer,
    .needs_slices = vy_cuda_needs_slices,
    .choose_kernel = vy_cuda_choose_kernel,
    .control_prepare = vy_cuda_control_prepare,
    .launch = vy_cuda_launch,
    .control_fetch = vy_cuda_control_fetch,
    .time_mark = time_mark,
    .time_read = time_read,
    .select_direct = vy_cuda_zero_copy_select,
    .allocate = vy_cuda_submission_allocate,
    .staging_in = staging_in,
    .staging_out = staging_out,
    .clear = clear,
    .upload_large = upload_large,
    .download_large = download_large,
    .run_pieces = vy_cuda_pipelined_run,
    .add_many = vy_cuda_add_many,
    .release_held = vy_cuda_release_held,
    .download = vy_cuda_download,
    .watch = watch,
    .unwatch = unwatch,
    .is_done = is_done,
};
