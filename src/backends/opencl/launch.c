/* Launches: slots, arguments, control blocks, waiting, and grids in slices (launch.h). */
#include "backends/opencl/launch.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"
#include "split/grid_tile.h"

#include <inttypes.h>
#include <time.h>

/* ---- slots ---- */

enum { IDLE_SLOTS = 16 };

static void forget_times(vy_ocl *ocl, vy_ocl_slot *slot) {
    vy_cl_event events[] = {slot->first, slot->last};
    for (int i = 0; i < 2; i++)
        if (events[i])
            ocl->api.event_release(events[i]);
    slot->first = slot->last = NULL;
}

static void free_slot(vy_ocl *ocl, vy_ocl_slot *slot) {
    vy_cl_queue queues[] = {slot->plain, slot->timed};
    forget_times(ocl, slot);
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
    pthread_mutex_lock(&ocl->lock);
    vy_ocl_slot *slot = ocl->idle, *next;
    ocl->idle = NULL;
    ocl->idle_count = 0;
    pthread_mutex_unlock(&ocl->lock);
    for (; slot; slot = next) {
        next = slot->next;
        free_slot(ocl, slot);
    }
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

vyre_status vy_ocl_slot_acquire(vy_ocl *ocl, int is_timed, vy_ocl_slot **out, vyre_error *error) {
    vyre_status status = VYRE_OK;
    pthread_mutex_lock(&ocl->lock);
    vy_ocl_slot *slot = ocl->idle;
    if (slot) {
        ocl->idle = slot->next;
        ocl->idle_count--;
    }
    pthread_mutex_unlock(&ocl->lock);
    if (!slot) {
        slot = vy_allocate_zero(sizeof *slot);
        if (!slot)
            return vy_fail_memory(error, "starting a dispatch");
        status = vy_ocl_area_make(ocl, sizeof(vy_launch_control), "making a control block", &slot->control, error);
    }
    if (status == VYRE_OK)
        status = make_queue(ocl, slot, is_timed, error);
    if (status != VYRE_OK) {
        free_slot(ocl, slot);
        return status;
    }
    slot->next = NULL;
    *out = slot;
    return VYRE_OK;
}

void vy_ocl_slot_release(vy_ocl *ocl, vy_ocl_slot *slot, int is_broken) {
    forget_times(ocl, slot);
    pthread_mutex_lock(&ocl->lock);
    int is_kept = !is_broken && ocl->idle_count < IDLE_SLOTS;
    if (is_kept) {
        slot->next = ocl->idle;
        ocl->idle = slot;
        ocl->idle_count++;
    }
    pthread_mutex_unlock(&ocl->lock);
    if (!is_kept) {
        if (is_broken)
            ocl->api.finish(slot->queue);
        free_slot(ocl, slot);
    }
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
            ocl->context, VY_CL_MEMORY_READ_WRITE | VY_CL_MEMORY_ALLOCATE_HOST, VY_OCL_SMALL, NULL, &result);
        if (result != VY_CL_OK) {
            slot->staging_memory = NULL;
            return vy_ocl_failed(ocl, result, "allocating staging memory", error);
        }
    }
    slot->staging = ocl->api.enqueue_map(slot->queue, slot->staging_memory, 1, VY_CL_MAP_READ_WRITE, 0, VY_OCL_SMALL, 0,
                                         NULL, NULL, &result);
    if (result != VY_CL_OK)
        slot->staging = NULL;
    return vy_ocl_check(ocl, result, "mapping staging memory", error);
}

/* ---- the control block ---- */

static const vy_launch_control clean = {.trap_invocation = UINT64_MAX, .deadline = UINT64_MAX};

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

vyre_status vy_ocl_control_prepare(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel, uint64_t deadline_ns,
                                   vyre_error *error) {
    if (!vy_ocl_needs_control(kernel))
        return VYRE_OK;
    slot->given = clean;
    slot->given.poll_budget = kernel->header.polls ? poll_budget(ocl, deadline_ns) : 0;
    if (slot->control.host) {
        memcpy(slot->control.host, &slot->given, sizeof clean);
        return VYRE_OK;
    }
    return vy_ocl_check(
        ocl, ocl->api.enqueue_write(slot->queue, slot->control.memory, 0, 0, sizeof clean, &slot->given, 0, NULL, NULL),
        "copying a control block", error);
}

vyre_status vy_ocl_control_fetch(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel, vyre_error *error) {
    if (!vy_ocl_needs_control(kernel) || slot->control.host)
        return VYRE_OK;
    return vy_ocl_check(
        ocl, ocl->api.enqueue_read(slot->queue, slot->control.memory, 0, 0, sizeof clean, &slot->taken, 0, NULL, NULL),
        "reading a control block", error);
}

vyre_status vy_ocl_signal_stop(vy_ocl *ocl, vy_ocl_slot *slot, vyre_error *error) {
    static const uint32_t stop = 1;
    const size_t offset = offsetof(vy_launch_control, cancel);
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

/* ---- launching ---- */

static uint32_t pack_values(const vy_ocl_executable *code, const vy_ocl_kernel *kernel, const vyre_launch *launch,
                            const vy_ocl_place *places, uint8_t *bytes) {
    const vy_launch_values *values = &kernel->header.values;
    for (uint32_t i = 0; i < values->buffers; i++) {
        uint64_t before = places[i].offset / code->facts->buffers[i].element_bytes;
        uint32_t count = (uint32_t)launch->elements[i];
        memcpy(bytes + 8 * (size_t)i, &before, sizeof before);
        memcpy(bytes + values->counts + 4 * (size_t)i, &count, sizeof count);
    }
    for (uint32_t i = 0; i < values->params; i++) /* little-endian: a u32 is its lower half */
        memcpy(bytes + values->param_at[i], &launch->params[i].bits, values->is_wide[i] ? 8 : 4);
    return values->bytes;
}

static int32_t set_arguments(vy_ocl *ocl, const vy_ocl_slot *slot, const vy_ocl_executable *code,
                             const vy_ocl_kernel *kernel, vy_cl_kernel object, const vyre_launch *launch,
                             const vy_ocl_place *places) {
    alignas(8) uint8_t bytes[VY_OCL_VALUE_BYTES];
    const vy_ocl_header *header = &kernel->header;
    int32_t result = VY_CL_OK;
    for (uint32_t i = 0; i < code->facts->buffer_count && result == VY_CL_OK; i++) {
        vy_cl_memory memory = places[i].memory ? places[i].memory : slot->control.memory; /* a placeholder */
        result = ocl->api.set_argument(object, i, sizeof memory, &memory);
    }
    if (result == VY_CL_OK && header->tables_argument != VY_NONE)
        result = ocl->api.set_argument(object, header->tables_argument, sizeof kernel->tables.memory,
                                       &kernel->tables.memory);
    if (result == VY_CL_OK && header->values_argument != VY_NONE)
        result = ocl->api.set_argument(object, header->values_argument,
                                       pack_values(code, kernel, launch, places, bytes), bytes);
    if (result == VY_CL_OK && header->control_argument != VY_NONE)
        result =
            ocl->api.set_argument(object, header->control_argument, sizeof slot->control.memory, &slot->control.memory);
    return result;
}

vyre_status vy_ocl_launch(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_executable *code, vy_ocl_kernel *kernel,
                          const vyre_launch *launch, const vy_ocl_place *places, vyre_error *error) {
    const uint32_t *block = kernel->header.block;
    int is_timed = slot->queue == slot->timed;
    size_t local[3], global[3];
    vy_cl_event event = NULL;
    vy_cl_kernel object;
    vyre_status status = vy_ocl_kernel_take(ocl, kernel, &object, error);
    if (status != VYRE_OK)
        return status;
    for (int d = 0; d < 3; d++)
        local[d] = block[d], global[d] = (size_t)launch->groups[d] * block[d];
    uint32_t dimensions = global[2] > 1 || local[2] > 1 ? 3 : global[1] > 1 || local[1] > 1 ? 2 : 1;
    int32_t result = set_arguments(ocl, slot, code, kernel, object, launch, places);
    if (result == VY_CL_OK)
        result = ocl->api.enqueue_kernel(slot->queue, object, dimensions, NULL, global, local, 0, NULL,
                                         is_timed ? &event : NULL);
    vy_ocl_kernel_give(ocl, kernel, object);
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

vyre_status vy_ocl_read_time(vy_ocl *ocl, vy_ocl_slot *slot, uint64_t *nanoseconds, vyre_error *error) {
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

/* The wait spins for SPIN_NS, then sleeps PAUSE_NS between checks; a stop request can be that much late. */
#define SPIN_NS UINT64_C(100000)
enum { PAUSE_NS = 20000 };

static int is_over(uint64_t deadline_ns, const uint32_t *cancel) {
    return (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) || (deadline_ns && vy_clock_now() > deadline_ns);
}

static vyre_status finish(vy_ocl *ocl, vy_ocl_slot *slot, vyre_error *error) {
    return vy_ocl_check(ocl, ocl->api.finish(slot->queue), "running a kernel", error);
}

/* Waits until the event has completed or failed. */
static vyre_status watch(vy_ocl *ocl, vy_ocl_slot *slot, vy_cl_event event, uint64_t deadline_ns,
                         const uint32_t *cancel, vyre_error *error) {
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t since = vy_clock_now(), signalled_ns = 0;
    vyre_status status = VYRE_OK;
    for (;;) {
        int32_t state = VY_CL_COMPLETE;
        vyre_status asked = vy_ocl_check(
            ocl, ocl->api.event_info(event, VY_CL_EVENT_STATUS, sizeof state, &state, NULL), "running a kernel", error);
        if (asked != VYRE_OK)
            return asked;
        if (state <= VY_CL_COMPLETE)
            break;
        uint64_t now = vy_clock_now();
        if (status == VYRE_OK && now - signalled_ns >= VY_OCL_SIGNAL_RETRY_NS && is_over(deadline_ns, cancel)) {
            signalled_ns = now;
            status = vy_ocl_signal_stop(ocl, slot, error);
        }
        if (now - since > SPIN_NS)
            nanosleep(&pause, NULL);
    }
    return status;
}

vyre_status vy_ocl_wait(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel, uint64_t deadline_ns,
                        const uint32_t *cancel, vyre_error *error) {
    vy_cl_event event;
    if (!kernel || !kernel->header.polls || (!deadline_ns && !cancel) || ocl->findings.signal == VY_OCL_SIGNAL_SLICES)
        return finish(ocl, slot, error);
    int32_t result = ocl->api.enqueue_marker(slot->queue, 0, NULL, &event);
    vyre_status status = vy_ocl_check(ocl, result, "running a kernel", error);
    if (status != VYRE_OK)
        return status;
    status = vy_ocl_check(ocl, ocl->api.flush(slot->queue), "running a kernel", error);
    if (status == VYRE_OK)
        status = watch(ocl, slot, event, deadline_ns, cancel, error);
    ocl->api.event_release(event);
    return status == VYRE_OK ? finish(ocl, slot, error) : status;
}

void vy_ocl_abort(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_kernel *kernel) {
    static const uint32_t at_once = 1;
    vyre_error ignored;
    if (kernel)
        vy_ocl_wait(ocl, slot, kernel, 0, &at_once, &ignored);
    ocl->api.finish(slot->queue);
}

static const vy_launch_control *taken_of(const vy_ocl_slot *slot) {
    return slot->control.host ? (const vy_launch_control *)(const void *)slot->control.host : &slot->taken;
}

vyre_status vy_ocl_decode_result(const vy_ocl_slot *slot, const vy_ocl_kernel *kernel, const char *name,
                                 int was_cancelled, vyre_trap *trap, vyre_error *error) {
    const vy_launch_control *taken = taken_of(slot);
    if (!vy_ocl_needs_control(kernel) || (taken->trap_invocation == UINT64_MAX && !taken->stopped))
        return VYRE_OK;
    if (taken->stopped)
        return was_cancelled ? vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled while it ran", name)
                             : vy_fail(error, VYRE_TIMEOUT, NULL,
                                       "`%s` was still running at its deadline, and was stopped", name);
    if (trap)
        *trap = (vyre_trap){taken->trap_invocation, taken->trap_code};
    return vy_fail(error, VYRE_TRAPPED, NULL, "invocation %" PRIu64 " trapped with code %" PRIu32,
                   taken->trap_invocation, taken->trap_code);
}

/* ---- slices ----
 *
 * Slices use a separate kernel (split/grid_tile.h) and run sequentially. Before each slice the deadline and the
 * caller's cancellation word are checked. */

/* SLICE_PER_UNIT: workgroups per compute unit in a slice of a cancellable grid. GROUPS_X, GROUPS_YZ: the largest grid,
 * in x and in y and z, that all GPU drivers accept. */
enum { SLICE_PER_UNIT = 64, GROUPS_YZ = 65535, GROUPS_X = INT32_MAX };

static int has_large_grid(const vy_ocl *ocl, const uint32_t groups[3]) {
    return ocl->info.device_class == VYRE_DEVICE_GPU &&
           (groups[0] > GROUPS_X || groups[1] > GROUPS_YZ || groups[2] > GROUPS_YZ);
}

int vy_ocl_needs_slices(const vy_ocl_executable *code, const vyre_launch *launch) {
    const vy_ocl *ocl = code->ocl;
    int is_stoppable = code->kernel.header.polls && (launch->deadline_ns || launch->cancel);
    return has_large_grid(ocl, launch->groups) || (is_stoppable && ocl->findings.signal == VY_OCL_SIGNAL_SLICES);
}

/* Advances to the next slice, x fastest; 0 after the last one. */
static int next_slice(vy_grid_tiles *piece, const uint32_t step[3]) {
    for (int d = 0; d < 3; d++) {
        piece->base[d] += piece->size[d];
        uint32_t left = piece->whole[d] - piece->base[d];
        piece->size[d] = left < step[d] ? left : step[d];
        if (left)
            return 1;
        piece->base[d] = 0;
        piece->size[d] = piece->whole[d] < step[d] ? piece->whole[d] : step[d];
    }
    return 0;
}

static void choose_step(const vy_ocl *ocl, const uint32_t groups[3], int is_stoppable, uint32_t step[3]) {
    uint64_t most = is_stoppable ? (uint64_t)SLICE_PER_UNIT * (ocl->info.compute_units + 1) : UINT64_MAX;
    for (int d = 0; d < 3; d++) {
        uint64_t limit = d ? GROUPS_YZ : GROUPS_X;
        uint64_t size = groups[d] < limit ? groups[d] : limit;
        step[d] = (uint32_t)(size < most ? size : most);
        most = most / step[d] ? most / step[d] : 1;
    }
}

static vyre_status launch_slice(vy_ocl *ocl, vy_ocl_slot *slot, const vy_ocl_executable *code, vy_ocl_kernel *kernel,
                                const vyre_launch *launch, const vy_ocl_place *places, vyre_error *error) {
    vyre_status status = vy_ocl_control_prepare(ocl, slot, kernel, launch->deadline_ns, error);
    if (status == VYRE_OK)
        status = vy_ocl_launch(ocl, slot, code, kernel, launch, places, error);
    if (status == VYRE_OK)
        status = vy_ocl_control_fetch(ocl, slot, kernel, error);
    return status == VYRE_OK ? vy_ocl_wait(ocl, slot, kernel, launch->deadline_ns, launch->cancel, error) : status;
}

vyre_status vy_ocl_launch_slices(vy_ocl_slot *slot, vy_ocl_executable *code, const vyre_launch *launch,
                                 const vy_ocl_place *places, vy_ocl_kernel **kernel, vyre_error *error) {
    vy_ocl *ocl = code->ocl;
    vyre_scalar params[VY_LIMIT_PARAMS];
    vy_launch_control whole = clean;
    const uint32_t *size;
    uint32_t step[3];
    vyre_launch part = *launch;
    int is_stoppable = code->kernel.header.polls && (launch->deadline_ns || launch->cancel) &&
                       ocl->findings.signal == VY_OCL_SIGNAL_SLICES;
    vy_grid_tiles piece = vy_grid_tiles_start(launch->groups, UINT32_MAX);
    choose_step(ocl, launch->groups, is_stoppable, step);
    memcpy(piece.size, step, sizeof step);
    vyre_status status = vy_ocl_executable_tiled(code, kernel, error);
    if (status != VYRE_OK)
        return status;
    size = (*kernel)->header.block;
    memcpy(params, launch->params, launch->param_count * sizeof *params);
    part.params = params;
    part.param_count = launch->param_count + VY_GRID_TILE_PARAMS;
    do {
        if (is_stoppable && is_over(launch->deadline_ns, launch->cancel)) {
            whole.stopped = 1;
            break;
        }
        vy_grid_tile_params(&piece, params + launch->param_count);
        memcpy(part.groups, piece.size, sizeof part.groups);
        status = launch_slice(ocl, slot, code, *kernel, &part, places, error);
        if (status != VYRE_OK)
            return status;
        const vy_launch_control *taken = taken_of(slot);
        if (!vy_ocl_needs_control(*kernel))
            continue;
        whole.stopped |= taken->stopped;
        if (taken->trap_invocation == UINT64_MAX)
            continue;
        uint64_t number = vy_grid_tile_invocation(&piece, size[0] * size[1] * size[2], taken->trap_invocation);
        if (number < whole.trap_invocation)
            whole.trap_invocation = number, whole.trap_code = taken->trap_code;
    } while (!whole.stopped && next_slice(&piece, step));
    if (slot->control.host)
        memcpy(slot->control.host, &whole, sizeof whole);
    slot->taken = whole;
    return VYRE_OK;
}
