/* Slots: queues, control blocks, arguments, and the limits of a launch (launch.h). */
#include "backends/opencl/launch.h"

#include "base/status.h"
#include "base/thread.h"

/* ---- slots ---- */

enum { IDLE_SLOTS = 16 };

static void forget_events(vy_ocl *ocl, vy_ocl_slot *slot) {
    vy_cl_event events[] = {slot->first, slot->last, slot->marker};
    for (int i = 0; i < 3; i++)
        if (events[i])
            ocl->api.event_release(events[i]);
    slot->first = slot->last = slot->marker = NULL;
}

static void free_slot(vy_ocl *ocl, vy_ocl_slot *slot) {
    vy_cl_queue queues[] = {slot->plain, slot->timed};
    forget_events(ocl, slot);
    if (slot->staging) {
        vy_cl_queue queue = slot->plain ? slot->plain : slot->timed;
        ocl->api.enqueue_unmap(queue, slot->staging_memory, slot->staging, 0, NULL, NULL);
        ocl->api.finish(queue);
    }
    if (slot->staging_memory)
        ocl->api.memory_release(slot->staging_memory);
    vy_ocl_area_free(ocl, &slot->arena);
    vy_ocl_area_free(ocl, &slot->control);
    for (int i = 0; i < 2; i++)
        if (queues[i])
            ocl->api.queue_release(queues[i]);
    vy_release(slot, sizeof *slot);
}

void vy_ocl_slots_free(vy_ocl *ocl) {
    for (vy_gpu_slot *slot; (slot = vy_gpu_slot_pop(&ocl->base));)
        free_slot(ocl, (vy_ocl_slot *)slot);
}

static vyre_status make_queue(vy_ocl *ocl, vy_ocl_slot *slot, int is_timed, vyre_error *error) {
    vy_cl_queue *queue = is_timed ? &slot->timed : &slot->plain;
    int32_t result = VY_CL_OK;
    if (!*queue)
        *queue = ocl->api.queue_create(ocl->context, ocl->info.device, is_timed ? VY_CL_QUEUE_PROFILING : 0, &result);
    if (result != VY_CL_OK)
        *queue = NULL;
    slot->queue = *queue;
    return vy_ocl_check(ocl, result, "making a command queue", error);
}

vyre_status vy_ocl_slot_acquire(vy_gpu *gpu, int is_timed, vy_gpu_slot **out, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)vy_gpu_slot_pop(gpu);
    vyre_status status = VYRE_OK;
    if (!slot) {
        slot = vy_allocate_zero(sizeof *slot);
        if (!slot)
            return vy_fail_memory(error, "starting a dispatch");
        slot->base.gpu = gpu;
        status = vy_ocl_area_make(ocl, sizeof(vy_launch_control), "making a control block", &slot->control, error);
        slot->base.taken = slot->control.host ? (vy_launch_control *)(void *)slot->control.host : &slot->mirror;
    }
    if (status == VYRE_OK)
        status = make_queue(ocl, slot, is_timed, error);
    if (status != VYRE_OK) {
        free_slot(ocl, slot);
        return status;
    }
    *out = &slot->base;
    return VYRE_OK;
}

void vy_ocl_slot_release(vy_gpu_slot *base, int is_broken) {
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)base;
    forget_events(ocl, slot);
    if (is_broken)
        ocl->api.finish(slot->queue);
    while (slot->direct_count)
        vy_ocl_area_free(ocl, &slot->direct[--slot->direct_count]);
    if (is_broken || !vy_gpu_slot_push(base, IDLE_SLOTS))
        free_slot(ocl, slot);
}

vyre_status vy_ocl_slot_reserve(vy_ocl *ocl, vy_ocl_slot *slot, uint64_t size, vyre_error *error) {
    vy_ocl_area larger;
    if (size <= slot->arena.size)
        return VYRE_OK;
    vy_ocl_area_free(ocl, &slot->arena); /* freed first, to lower the peak memory use */
    vyre_status status = vy_ocl_area_make(ocl, size, "allocating memory for the buffers of a dispatch", &larger, error);
    if (status == VYRE_OK)
        slot->arena = larger;
    return status;
}

vyre_status vy_ocl_slot_stage(vy_ocl *ocl, vy_ocl_slot *slot, vyre_error *error) {
    int32_t result;
    if (slot->staging || ocl->findings.shares_memory)
        return VYRE_OK;
    if (!slot->staging_memory) {
        slot->staging_memory = ocl->api.memory_create(
            ocl->context, VY_CL_MEMORY_READ_WRITE | VY_CL_MEMORY_ALLOCATE_HOST, VY_GPU_SMALL, NULL, &result);
        if (result != VY_CL_OK) {
            slot->staging_memory = NULL;
            return vy_ocl_failed(ocl, result, "allocating staging memory", error);
        }
    }
    slot->staging = ocl->api.enqueue_map(slot->queue, slot->staging_memory, 1, VY_CL_MAP_READ_WRITE, 0, VY_GPU_SMALL, 0,
                                         NULL, NULL, &result);
    if (result != VY_CL_OK)
        slot->staging = NULL;
    return vy_ocl_check(ocl, result, "mapping staging memory", error);
}

/* ---- the control block ---- */

/* The number of polls in the remaining time at the rate of the shortest loop. An invocation that has polled this often
 * has reached the deadline. */
static uint32_t poll_budget(const vy_ocl *ocl, uint64_t deadline_ns) {
    uint64_t now = vy_clock_now(), left = deadline_ns > now ? deadline_ns - now : 0;
    uint64_t each = ocl->findings.poll_ps ? ocl->findings.poll_ps : 1;
    if (ocl->findings.signal != VY_OCL_SIGNAL_SLICES || !deadline_ns)
        return 0;
    uint64_t polls = left > UINT64_MAX / 1000 ? UINT32_MAX : left * 1000 / each + 1;
    return polls < UINT32_MAX ? (uint32_t)polls : UINT32_MAX;
}

vyre_status vy_ocl_control_prepare(vy_gpu_slot *base, const vy_gpu_kernel *kernel, const vyre_launch *launch,
                                   vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)base;
    if (!kernel->writes_control)
        return VYRE_OK;
    slot->given = vy_gpu_control_clean;
    slot->given.poll_budget = kernel->polls ? poll_budget(ocl, launch->deadline_ns) : 0;
    if (slot->control.host) {
        memcpy(slot->control.host, &slot->given, sizeof slot->given);
        return VYRE_OK;
    }
    return vy_ocl_copy(base, &slot->control, 0, &slot->given, sizeof slot->given, 1, 0, error);
}

vyre_status vy_ocl_control_fetch(vy_gpu_slot *base, const vy_gpu_kernel *kernel, vyre_error *error) {
    vy_ocl_slot *slot = (vy_ocl_slot *)base;
    return kernel->writes_control && !slot->control.host
               ? vy_ocl_copy(base, &slot->control, 0, &slot->mirror, sizeof slot->mirror, 0, 0, error)
               : (vyre_status)VYRE_OK;
}

vyre_status vy_ocl_signal_stop(vy_gpu_slot *base, vyre_error *error) {
    static const uint32_t stop = 1;
    const size_t offset = offsetof(vy_launch_control, cancel);
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)base;
    if (slot->control.host && ocl->findings.signal == VY_OCL_SIGNAL_MEMORY) {
        __atomic_store_n((uint32_t *)(void *)(slot->control.host + offset), 1, __ATOMIC_SEQ_CST);
        return VYRE_OK;
    }
    if (!ocl->signal_queue)
        return VYRE_OK;
    int32_t result =
        ocl->api.enqueue_write(ocl->signal_queue, slot->control.memory, 0, offset, sizeof stop, &stop, 0, NULL, NULL);
    if (result == VY_CL_OK)
        result = ocl->api.flush(ocl->signal_queue);
    return vy_ocl_check(ocl, result, "telling a kernel to end", error);
}

void vy_ocl_signal_wait(vy_gpu_slot *slot) {
    vy_ocl *ocl = (vy_ocl *)slot->gpu;
    if (ocl->signal_queue)
        ocl->api.finish(ocl->signal_queue);
}

/* ---- launching ---- */

/* Copies bytes; returns whether they differed. */
static int store(uint8_t *to, const void *from, size_t size) {
    int differs = memcmp(to, from, size) != 0;
    memcpy(to, from, size);
    return differs;
}

/* Updates the values; returns whether they changed. The params of a slice follow those of the program. */
static int pack_values(const vy_ocl_executable *code, const vy_ocl_kernel *kernel, const vyre_launch *launch,
                       const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, uint8_t *bytes) {
    const vy_launch_values *values = &kernel->header.values;
    vyre_scalar hidden[VY_GRID_TILE_PARAMS];
    int differ = 0;
    if (tile)
        vy_grid_tile_params(tile, hidden);
    for (uint32_t i = 0; i < values->buffers; i++) {
        uint64_t before = buffers->addresses[i] / code->base.facts->buffers[i].element_bytes;
        uint32_t count = (uint32_t)launch->elements[i];
        differ |= store(bytes + 8 * (size_t)i, &before, sizeof before);
        differ |= store(bytes + values->counts + 4 * (size_t)i, &count, sizeof count);
    }
    for (uint32_t i = 0; i < values->params; i++) { /* little-endian: a u32 is its lower half */
        const vyre_scalar *param =
            i < launch->param_count ? &launch->params[i] : &hidden[i - (uint32_t)launch->param_count];
        uint8_t *at = bytes + values->param_at[i];
        differ |= values->is_wide[i] ? store(at, &param->bits, 8) : store(at, &param->bits, 4);
    }
    return differ;
}

/* Sets an argument unless it has the value already. `id` identifies the value and is never reused for another one. */
static int32_t set_argument(vy_ocl *ocl, vy_ocl_object *object, uint32_t argument, uint64_t id, size_t size,
                            const void *value) {
    if (argument == VY_NONE || object->set[argument] == id)
        return VY_CL_OK;
    int32_t result = ocl->api.set_argument(object->kernel, argument, size, value);
    object->set[argument] = result == VY_CL_OK ? id : 0;
    return result;
}

static int32_t set_area(vy_ocl *ocl, vy_ocl_object *object, uint32_t argument, const vy_ocl_area *area) {
    return set_argument(ocl, object, argument, area->id, sizeof area->memory, &area->memory);
}

static int32_t set_arguments(vy_ocl *ocl, const vy_ocl_slot *slot, const vy_ocl_executable *code,
                             const vy_ocl_kernel *kernel, vy_ocl_object *object, const vyre_launch *launch,
                             const vy_grid_tiles *tile, const vy_gpu_buffers *buffers) {
    const vy_ocl_header *header = &kernel->header;
    uint8_t *values = (uint8_t *)&object->set[header->arguments];
    int32_t result = VY_CL_OK;
    object->values_id += (uint64_t)pack_values(code, kernel, launch, tile, buffers, values);
    for (uint32_t i = 0; i < code->base.buffer_count && result == VY_CL_OK; i++) {
        /* An empty buffer has no memory object, and drivers refuse NULL: the kernel does not access this one. */
        const vy_ocl_area *area = buffers->memories[i];
        result = set_area(ocl, object, i, area && area->memory ? area : &slot->control);
    }
    if (result == VY_CL_OK)
        result = set_area(ocl, object, header->tables_argument, &kernel->tables);
    if (result == VY_CL_OK)
        result = set_argument(ocl, object, header->values_argument, object->values_id, header->values.bytes, values);
    return result == VY_CL_OK ? set_area(ocl, object, header->control_argument, &slot->control) : result;
}

vyre_status vy_ocl_launch(vy_gpu_slot *base, vy_gpu_executable *code, vy_gpu_kernel *chosen, const vyre_launch *launch,
                          const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, uint32_t ticket,
                          vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)base;
    vy_ocl_kernel *kernel = (vy_ocl_kernel *)chosen;
    const uint32_t *block = kernel->header.block;
    int is_timed = slot->queue == slot->timed;
    size_t local[3], global[3];
    vy_cl_event event = NULL;
    vy_ocl_object *object;
    (void)ticket;
    vyre_status status = vy_ocl_object_take(ocl, kernel, &object, error);
    if (status != VYRE_OK)
        return status;
    for (int d = 0; d < 3; d++)
        local[d] = block[d], global[d] = (size_t)launch->groups[d] * block[d];
    uint32_t dimensions = global[2] > 1 || local[2] > 1 ? 3 : global[1] > 1 || local[1] > 1 ? 2 : 1;
    int32_t result = set_arguments(ocl, slot, (vy_ocl_executable *)code, kernel, object, launch, tile, buffers);
    if (result == VY_CL_OK)
        result = ocl->api.enqueue_kernel(slot->queue, object->kernel, dimensions, NULL, global, local, 0, NULL,
                                         is_timed ? &event : NULL);
    vy_ocl_object_give(ocl, kernel, object);
    if (result != VY_CL_OK)
        return vy_ocl_failed(ocl, result, "launching a kernel", error);
    if (event && slot->last)
        ocl->api.event_release(slot->last);
    if (event && !slot->first)
        slot->first = event;
    else if (event)
        slot->last = event;
    return VYRE_OK;
}

/* From the start of the first kernel to the end of the last. */
vyre_status vy_ocl_time_read(vy_gpu_slot *base, uint64_t *nanoseconds, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)base;
    uint64_t start = 0, end = 0;
    vy_cl_event last = slot->last ? slot->last : slot->first;
    *nanoseconds = 0;
    if (!last)
        return VYRE_OK;
    int32_t result = ocl->api.event_profile(slot->first, VY_CL_PROFILE_START, sizeof start, &start, NULL);
    if (result == VY_CL_OK)
        result = ocl->api.event_profile(last, VY_CL_PROFILE_END, sizeof end, &end, NULL);
    *nanoseconds = end > start ? end - start : 0;
    return vy_ocl_check(ocl, result, "reading the time of a kernel", error);
}

/* ---- waiting ---- */

vyre_status vy_ocl_finish(vy_gpu_slot *slot, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)slot->gpu;
    return vy_ocl_check(ocl, ocl->api.finish(vy_ocl_queue(slot)), "running a kernel", error);
}

/* The first query enqueues a marker. Once its event has completed or failed, finish returns the result. */
vyre_status vy_ocl_query(vy_gpu_slot *base, int *is_done, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)base->gpu;
    vy_ocl_slot *slot = (vy_ocl_slot *)base;
    int32_t state = VY_CL_COMPLETE, result = VY_CL_OK;
    *is_done = 0;
    if (!slot->marker) {
        result = ocl->api.enqueue_marker(slot->queue, 0, NULL, &slot->marker);
        if (result == VY_CL_OK)
            result = ocl->api.flush(slot->queue);
        else
            slot->marker = NULL;
    }
    if (result == VY_CL_OK)
        result = ocl->api.event_info(slot->marker, VY_CL_EVENT_STATUS, sizeof state, &state, NULL);
    if (result != VY_CL_OK || state > VY_CL_COMPLETE)
        return vy_ocl_check(ocl, result, "running a kernel", error);
    ocl->api.event_release(slot->marker);
    slot->marker = NULL;
    *is_done = 1;
    return vy_ocl_finish(base, error);
}

/* ---- limits ---- */

/* SLICE_PER_UNIT: workgroups per compute unit in a slice of a cancellable grid, if running kernels cannot be stopped.
 * GROUPS_X, GROUPS_YZ: the largest grid, in x and in y and z, that all GPU drivers accept.
 *
 * Processors: PoCL counts the workgroups of a launch in 32 bits, so a launch has at most GROUPS_CPU. After a request to
 * stop, PoCL still starts the remaining workgroups, and a kernel without a loop does not poll. A slice of a cancellable
 * grid therefore has at most GROUPS_STOPPABLE workgroups and INVOCATIONS_STOPPABLE invocations. */
enum {
    SLICE_PER_UNIT = 64,
    GROUPS_YZ = 65535,
    GROUPS_X = INT32_MAX,
    GROUPS_CPU = 1 << 30,
    GROUPS_STOPPABLE = 1 << 20,
    INVOCATIONS_STOPPABLE = 1 << 26
};

/* The most workgroups of a launch. */
static uint64_t most_groups(const vy_ocl *ocl, const vy_ocl_kernel *kernel, int is_cancellable) {
    const uint32_t *block = kernel->header.block;
    if (is_cancellable && kernel->base.polls && !ocl->base.can_signal)
        return (uint64_t)SLICE_PER_UNIT * (ocl->info.compute_units + 1);
    if (ocl->info.device_class == VYRE_DEVICE_GPU || !is_cancellable)
        return ocl->info.device_class == VYRE_DEVICE_GPU ? UINT64_MAX : GROUPS_CPU;
    const uint64_t most = INVOCATIONS_STOPPABLE / ((uint64_t)block[0] * block[1] * block[2]);
    return most < GROUPS_STOPPABLE ? most : GROUPS_STOPPABLE;
}

int vy_ocl_needs_slices(const vy_gpu_executable *base, const vyre_launch *launch, uint32_t step[3]) {
    const vy_ocl *ocl = (const vy_ocl *)base->gpu;
    const vy_ocl_kernel *kernel = &((const vy_ocl_executable *)base)->kernel;
    const uint32_t *groups = launch->groups;
    const int is_cancellable = launch->deadline_ns || launch->cancel;
    uint64_t count, most = most_groups(ocl, kernel, is_cancellable);
    int is_large = __builtin_mul_overflow((uint64_t)groups[0] * groups[1], groups[2], &count) || count > most;
    is_large |= is_cancellable && kernel->base.polls && !ocl->base.can_signal;
    is_large |= ocl->info.device_class == VYRE_DEVICE_GPU &&
                (groups[0] > GROUPS_X || groups[1] > GROUPS_YZ || groups[2] > GROUPS_YZ);
    for (int d = 0; step && d < 3; d++) {
        uint64_t limit = d ? GROUPS_YZ : GROUPS_X;
        uint64_t size = groups[d] < limit ? groups[d] : limit;
        step[d] = (uint32_t)(size < most ? size : most);
        most = most / step[d] ? most / step[d] : 1;
    }
    return is_large;
}

vyre_status vy_ocl_choose_kernel(vy_gpu_executable *base, const vyre_launch *launch, int is_sliced, vy_gpu_kernel **out,
                                 vyre_error *error) {
    vy_ocl_executable *code = (vy_ocl_executable *)base;
    (void)launch;
    *out = &code->kernel.base;
    return is_sliced ? vy_ocl_executable_tiled(code, out, error) : (vyre_status)VYRE_OK;
}
