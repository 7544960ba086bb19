/* Slots, control blocks, waiting for kernels, and grids in slices (gpu.h). */
#include "backends/gpu/gpu.h"
#include "base/status.h"
#include "base/thread.h"
#include "ir/dispatch_resolve.h"

#include <inttypes.h>
#include <time.h>

/* ---- slots ---- */

vy_gpu_slot *vy_gpu_slot_pop(vy_gpu *gpu) {
    vy_gpu_slot *slot = atomic_exchange_explicit(&gpu->last_used, NULL, memory_order_acquire);
    if (slot)
        return slot;
    pthread_mutex_lock(&gpu->lock);
    slot = gpu->idle;
    if (slot) {
        gpu->idle = slot->next;
        gpu->idle_count--;
    }
    pthread_mutex_unlock(&gpu->lock);
    return slot;
}

int vy_gpu_slot_push(vy_gpu_slot *slot, unsigned most) {
    vy_gpu *gpu = slot->gpu;
    vy_gpu_slot *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&gpu->last_used, &none, slot, memory_order_release,
                                                memory_order_relaxed))
        return 1;
    pthread_mutex_lock(&gpu->lock);
    int is_kept = gpu->idle_count < most;
    if (is_kept) {
        slot->next = gpu->idle;
        gpu->idle = slot;
        gpu->idle_count++;
    }
    pthread_mutex_unlock(&gpu->lock);
    return is_kept;
}

/* ---- waiting ---- */

/* A kernel that reads a clock ends at its deadline. One that is later by this amount is signalled. */
#define LATE_NS UINT64_C(20000000)

void vy_gpu_pause(uint64_t since) {
    const struct timespec pause = {.tv_nsec = VY_GPU_PAUSE_NS};
    if (vy_clock_now() - since > VY_GPU_SPIN_NS)
        nanosleep(&pause, NULL);
}

static int is_over(const vy_gpu *gpu, uint64_t now, uint64_t deadline_ns, const uint32_t *cancel) {
    return vy_gpu_is_set(cancel) ||
           (deadline_ns && now > deadline_ns && now - deadline_ns > (gpu->has_deadline ? LATE_NS : 0));
}

vyre_status vy_gpu_wait(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, uint64_t deadline_ns, const uint32_t *cancel,
                        vyre_error *error) {
    const vy_gpu *gpu = slot->gpu;
    vyre_status status, signalled = VYRE_OK;
    int is_done;
    if (!kernel || !kernel->polls || (!deadline_ns && !cancel) || !gpu->can_signal)
        return gpu->calls->finish(slot, error);
    uint64_t since = vy_clock_now(), signalled_ns = 0;
    while ((status = gpu->calls->query(slot, &is_done, error)) == VYRE_OK && !is_done) {
        uint64_t now = vy_clock_now();
        if (now - signalled_ns >= VY_GPU_SIGNAL_RETRY_NS && is_over(gpu, now, deadline_ns, cancel)) {
            signalled_ns = now;
            signalled = gpu->calls->signal_stop(slot, error);
        }
        vy_gpu_pause(since);
    }
    if (signalled_ns)
        gpu->calls->signal_wait(slot);
    return status != VYRE_OK ? status : signalled;
}

void vy_gpu_abort(vy_gpu_slot *slot, const vy_gpu_kernel *kernel) {
    static const uint32_t at_once = 1;
    vyre_error ignored;
    slot->is_control_clean = 0;
    if (kernel)
        vy_gpu_wait(slot, kernel, 0, &at_once, &ignored);
    slot->gpu->calls->finish(slot, &ignored);
}

/* ---- control blocks ---- */

const vy_launch_control vy_gpu_control_clean = {.trap_invocation = UINT64_MAX, .deadline = UINT64_MAX};

/* The error of the refused grid, as if the host had read it. */
static vyre_status fail_refused(const vy_gpu_executable *code, const uint32_t grid[3], vyre_error *error) {
    vyre_status status = vy_program_check_grid(code->program, grid, error);
    return status != VYRE_OK ? status
                             : vy_fail(error, VYRE_CORRUPT, NULL,
                                       "the device refuses a grid that is within all limits (%u x %u x %u workgroups)",
                                       grid[0], grid[1], grid[2]);
}

vyre_status vy_gpu_decode(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vy_gpu_executable *code,
                          int was_cancelled, vyre_trap *trap, vyre_error *error) {
    const vy_launch_control *taken = slot->taken;
    if (!kernel->writes_control || (taken->trap_invocation == UINT64_MAX && !taken->stopped && !taken->refused))
        return VYRE_OK;
    slot->is_control_clean = 0;
    if (taken->stopped)
        return was_cancelled ? vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled while it ran", code->name)
                             : vy_fail(error, VYRE_TIMEOUT, NULL,
                                       "`%s` was still running at its deadline, and was stopped", code->name);
    if (taken->refused)
        return fail_refused(code, taken->refused_grid, error);
    if (trap)
        *trap = (vyre_trap){taken->trap_invocation, taken->trap_code};
    return vy_fail(error, VYRE_TRAPPED, NULL, "invocation %" PRIu64 " trapped with code %" PRIu32,
                   taken->trap_invocation, taken->trap_code);
}

/* ---- launches ---- */

vyre_status vy_gpu_launch(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel, const vyre_launch *launch,
                          const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, vyre_error *error) {
    const vy_gpu_calls *calls = slot->gpu->calls;
    vyre_status status = calls->control_prepare(slot, kernel, launch, error);
    if (status == VYRE_OK)
        status = calls->launch(slot, code, kernel, launch, tile, buffers, 1, error);
    return status == VYRE_OK ? calls->control_fetch(slot, kernel, error) : status;
}

/* Adds the result of a slice to that of the whole grid. */
static void merge(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vy_gpu_executable *code,
                  const vy_grid_tiles *tile, vy_launch_control *whole) {
    const uint32_t *size = code->facts->workgroup;
    const vy_launch_control *taken = slot->taken;
    if (!kernel->writes_control)
        return;
    whole->stopped |= taken->stopped;
    if (taken->trap_invocation == UINT64_MAX)
        return;
    slot->is_control_clean = 0;
    uint64_t invocation = taken->trap_invocation;
    if (kernel->is_per_slice)
        invocation = vy_grid_tile_invocation(tile, size[0] * size[1] * size[2], invocation);
    if (invocation < whole->trap_invocation)
        whole->trap_invocation = invocation, whole->trap_code = taken->trap_code;
}

/* Advances to the next slice, x fastest; 0 after the last one. */
static int next_slice(vy_grid_tiles *tile, const uint32_t step[3]) {
    for (int d = 0; d < 3; d++) {
        tile->base[d] += tile->size[d];
        uint32_t left = tile->whole[d] - tile->base[d];
        tile->size[d] = left < step[d] ? left : step[d];
        if (left)
            return 1;
        tile->base[d] = 0;
        tile->size[d] = tile->whole[d] < step[d] ? tile->whole[d] : step[d];
    }
    return 0;
}

vyre_status vy_gpu_launch_slices(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel,
                                 const vyre_launch *launch, const vy_gpu_buffers *buffers, vyre_error *error) {
    const vy_gpu *gpu = slot->gpu;
    vy_launch_control whole = vy_gpu_control_clean;
    vy_grid_tiles tile = vy_grid_tiles_start(launch->groups, UINT32_MAX);
    vyre_launch part = *launch;
    uint32_t step[3];
    vyre_status status = VYRE_OK;
    gpu->calls->needs_slices(code, launch, step);
    for (int d = 0; d < 3; d++)
        tile.size[d] = tile.whole[d] < step[d] ? tile.whole[d] : step[d];
    *slot->taken = whole;
    do {
        if (is_over(gpu, vy_clock_now(), launch->deadline_ns, launch->cancel)) {
            whole.stopped = 1;
            break;
        }
        memcpy(part.groups, tile.size, sizeof part.groups);
        status = vy_gpu_launch(slot, code, kernel, &part, &tile, buffers, error);
        if (status == VYRE_OK)
            status = vy_gpu_wait(slot, kernel, launch->deadline_ns, launch->cancel, error);
        if (status != VYRE_OK)
            return status;
        merge(slot, kernel, code, &tile, &whole);
    } while (!whole.stopped && next_slice(&tile, step));
    *slot->taken = whole;
    return VYRE_OK;
}
