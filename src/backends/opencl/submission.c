/* The copies and the end of a dispatch, and the calls that src/backends/gpu makes (gpu.h).
 *
 * A buffer of host bytes is copied through the slot's arena, or it is direct: if kernels can access host memory, its
 * memory object wraps the caller's bytes. */
#include "backends/opencl/launch.h"
#include "base/status.h"

/* ---- direct buffers ---- */

static int overlaps_any_output(const void *data, uint64_t size, const vyre_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++)
        if (vy_gpu_overlaps(data, size, &outputs->items[i]))
            return 1;
    return 0;
}

static int is_resident(const vy_gpu_submission *f, uint32_t i) {
    return f->offsets[i] == VY_GPU_ELSEWHERE;
}

static int overlaps_any_input(const vy_gpu_submission *f, const uint8_t *is_host, const vyre_bytes *output) {
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (is_host[i] && vy_launch_is_input(f->code->facts, i) && vy_gpu_overlaps(f->sources[i], f->sizes[i], output))
            return 1;
    return 0;
}

/* A direct input is used in place. A direct output uses the memory of its output slot, which is first cleared or filled
 * with the input. Inputs that overlap an output slot are copied instead. */
static vyre_status bind_one(vy_gpu_submission *f, const vyre_launch *launch, uint32_t i, vyre_bytes *output,
                            vyre_error *error) {
    vy_ocl_slot *slot = (vy_ocl_slot *)f->slot;
    vy_ocl_area *area = &slot->direct[slot->direct_count];
    const void *host = f->sources[i];
    if (output) {
        vyre_status status = vy_gpu_output_reserve(output, f->sizes[i], error);
        if (status != VYRE_OK)
            return status;
        host = output->data;
    }
    if ((uintptr_t)host % 16)
        return VYRE_OK;
    if (output && vy_launch_is_input(f->code->facts, i))
        memcpy(output->data, f->sources[i], (size_t)f->sizes[i]);
    else if (output && vy_gpu_is_cleared(f->code, launch, i))
        memset(output->data, 0, (size_t)f->sizes[i]);
    vyre_status status = vy_ocl_area_wrap((vy_ocl *)f->gpu, output ? VY_CL_MEMORY_READ_WRITE : VY_CL_MEMORY_READ_ONLY,
                                          host, f->sizes[i], "binding a buffer", area, error);
    if (status != VYRE_OK)
        return status;
    slot->direct_count++;
    f->offsets[i] = VY_GPU_ELSEWHERE;
    f->buffers.memories[i] = area;
    return VYRE_OK;
}

static vyre_status bind_direct(vy_gpu_submission *f, const vyre_launch *launch, vyre_outputs *outputs,
                               vyre_error *error) {
    const vy_ocl *ocl = (const vy_ocl *)f->gpu;
    uint8_t is_host[VY_LIMIT_BUFFERS];
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        is_host[i] = (uint8_t)!is_resident(f, i);
    for (uint32_t i = 0, output = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        vyre_bytes *slot = vy_launch_is_output(f->code->facts, i) ? &outputs->items[output++] : NULL;
        if (!ocl->findings.shares_memory || !ocl->direct_bytes || !is_host[i] || f->sizes[i] < ocl->direct_bytes ||
            !f->sizes[i])
            continue;
        if (!(slot ? overlaps_any_input(f, is_host, slot) : overlaps_any_output(f->sources[i], f->sizes[i], outputs)))
            status = bind_one(f, launch, i, slot, error);
    }
    return status;
}

/* ---- copies ---- */

/* An arena in host memory is its own staging memory. */
static vyre_status allocate(vy_gpu_submission *f, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)f->gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)f->slot;
    vyre_status status = vy_ocl_slot_reserve(ocl, slot, f->arena_bytes, error);
    if (status == VYRE_OK && f->is_small)
        status = vy_ocl_slot_stage(ocl, slot, error);
    f->staging = slot->arena.host ? slot->arena.host : slot->staging;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (f->offsets[i] != VY_GPU_ELSEWHERE && f->sizes[i])
            f->buffers.memories[i] = &slot->arena, f->buffers.addresses[i] = f->offsets[i];
    return status;
}

static vyre_status copy_arena(vy_gpu_submission *f, const void *host, uint64_t at, uint64_t size, int is_upload,
                              int is_blocking, vyre_error *error) {
    return vy_ocl_copy(f->slot, &((vy_ocl_slot *)f->slot)->arena, at, (void *)(uintptr_t)host, size, is_upload,
                       is_blocking, error);
}

static vyre_status staging_in(vy_gpu_submission *f, uint64_t size, vyre_error *error) {
    return f->gpu->has_host_arena ? (vyre_status)VYRE_OK : copy_arena(f, f->staging, 0, size, 1, 0, error);
}

static vyre_status staging_out(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error) {
    return f->gpu->has_host_arena ? (vyre_status)VYRE_OK : copy_arena(f, f->staging + from, from, size, 0, 0, error);
}

static vyre_status clear(vy_gpu_submission *f, uint64_t from, uint64_t size, vyre_error *error) {
    static const uint32_t zeros[4];
    vy_ocl *ocl = (vy_ocl *)f->gpu;
    if (f->gpu->has_host_arena) {
        memset(f->staging + from, 0, (size_t)size);
        return VYRE_OK;
    }
    return vy_ocl_check(ocl,
                        ocl->api.enqueue_fill(vy_ocl_queue(f->slot), ((vy_ocl_slot *)f->slot)->arena.memory, zeros,
                                              sizeof zeros, (size_t)from, (size_t)size, 0, NULL, NULL),
                        "clearing the outputs", error);
}

static vyre_status upload_large(vy_gpu_submission *f, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < f->code->buffer_count && status == VYRE_OK; i++)
        if (vy_gpu_is_copied_in(f, i))
            status = copy_arena(f, f->sources[i], f->offsets[i], f->sizes[i], 1, 1, error);
    return status;
}

static vyre_status download_large(vy_gpu_submission *f, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0, output = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        if (!vy_launch_is_output(f->code->facts, i))
            continue;
        vyre_bytes *slot = &outputs->items[output++];
        if (f->offsets[i] != VY_GPU_ELSEWHERE && f->sizes[i])
            status = copy_arena(f, slot->data, f->offsets[i], f->sizes[i], 0, 0, error);
    }
    return status == VYRE_OK ? vy_ocl_finish(f->slot, error) : status;
}

static void resident_locate(const vyre_resource *resource, uint64_t *address, void **memory) {
    vy_ocl_block *block = vy_ocl_block_of(resource->resident.id);
    *memory = vy_ocl_block_area(block);
    *address = block->offset + resource->offset;
}

/* ---- asynchronous dispatches ----
 *
 * The OpenCL driver calls event_done when the device has completed the dispatch. A callback must not make blocking
 * calls of the driver, so it only sets a flag and wakes the waiting threads. */

static void event_done(vy_cl_event event, int32_t state, void *user) {
    (void)event;
    (void)state; /* `wait` gets the same result from the queue */
    vy_gpu_pending_done(user);
}

static vyre_status flush(vy_gpu_slot *slot, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)slot->gpu;
    return vy_ocl_check(ocl, ocl->api.flush(vy_ocl_queue(slot)), "starting a dispatch", error);
}

static void unwatch(vy_gpu_pending *p) {
    ((vy_ocl *)p->gpu)->api.event_release(p->event);
}

static vyre_status watch(vy_gpu_pending *p, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)p->gpu;
    vy_gpu_slot *slot = p->submission.slot;
    vy_cl_event event;
    int32_t result = ocl->api.enqueue_marker(vy_ocl_queue(slot), 0, NULL, &event);
    if (result != VY_CL_OK)
        return vy_ocl_failed(ocl, result, "starting a dispatch", error);
    p->event = event;
    vyre_status status = flush(slot, error);
    if (status == VYRE_OK)
        status = vy_ocl_check(ocl, ocl->api.event_callback(event, VY_CL_COMPLETE, event_done, p), "starting a dispatch",
                              error);
    if (status != VYRE_OK)
        unwatch(p);
    return status;
}

/* ---- the calls ---- */

static vyre_status enter(vy_gpu *gpu, int *was_pushed, vyre_error *error) {
    *was_pushed = 0;
    return vy_ocl_enter((vy_ocl *)gpu, error);
}

static void enter_for_release(vy_gpu *gpu, int *was_pushed) {
    (void)gpu;
    *was_pushed = 0;
}

static void leave(vy_gpu *gpu, int was_pushed) {
    (void)gpu;
    (void)was_pushed;
}

const vy_gpu_calls vy_ocl_calls = {
    .enter = enter,
    .enter_for_release = enter_for_release,
    .leave = leave,
    .executable_destroy = vy_ocl_executable_destroy,
    .compile = vy_ocl_compile,
    .load = vy_ocl_load,
    .serialize = vy_ocl_serialize,
    .run = vy_gpu_submission_run,
    .slot_acquire = vy_ocl_slot_acquire,
    .slot_release = vy_ocl_slot_release,
    .finish = vy_ocl_finish,
    .query = vy_ocl_query,
    .signal_stop = vy_ocl_signal_stop,
    .signal_wait = vy_ocl_signal_wait,
    .resident_locate = resident_locate,
    .transfer = vy_ocl_transfer,
    .needs_slices = vy_ocl_needs_slices,
    .choose_kernel = vy_ocl_choose_kernel,
    .control_prepare = vy_ocl_control_prepare,
    .launch = vy_ocl_launch,
    .control_fetch = vy_ocl_control_fetch,
    .time_read = vy_ocl_time_read,
    .bind_direct = bind_direct,
    .allocate = allocate,
    .staging_in = staging_in,
    .staging_out = staging_out,
    .clear = clear,
    .upload_large = upload_large,
    .download_large = download_large,
    .flush = flush,
    .download = vy_ocl_download,
    .watch = watch,
    .unwatch = unwatch,
};
