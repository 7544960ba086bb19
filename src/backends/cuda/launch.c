/* Launches (launch.h). */
#include "backends/cuda/launch.h"

#include "backends/cuda/clock.h"
#include "backends/cuda/cooperative_launch.h"
#include "backends/cuda/indirect.h"
#include "base/status.h"
#include "driver/dispatch.h"

#include <inttypes.h>
#include <time.h>

/* A kernel that looks at its clock ends by itself; one that is so late has another idea of the time. */
#define LATE_NS UINT64_C(20000000)
/* Waiting with an eye on something else: for so long without a pause, then with pauses. */
#define SPIN_NS UINT64_C(100000)
#define PAUSE_NS 20000

/* ---- params ---- */

size_t vy_cuda_pack(const vy_cuda_kernel *kernel, const vyre_launch *launch, const vy_cu_address *addresses,
                    vy_cu_address control, uint8_t *bytes, uint32_t grid[3]) {
    memcpy(bytes, addresses, 8 * launch->buffer_count);
    return vy_cuda_pack_scalars(kernel, launch, control, bytes, grid);
}

uint64_t vy_cuda_warps(const vy_cuda_kernel *kernel, const uint32_t groups[3], uint64_t limit) {
    enum { WARP = 32 };
    const uint32_t *block = kernel->header.block;
    uint64_t count = ((uint64_t)block[0] * block[1] * block[2] + WARP - 1) / WARP;
    for (int d = 0; d < 3; d++)
        count = count > limit ? count : count * groups[d];
    return count;
}

static vyre_status launch_cooperative(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                      const vyre_launch *launch, const uint32_t grid[3], uint8_t *bytes,
                                      vyre_error *error) {
    int result =
        vy_cuda_cooperative_launch(cuda, kernel, (uint32_t)launch->buffer_count, grid, bytes, stream_slot->stream);
    if (result != VY_CU_TOO_LARGE)
        return vy_cuda_check(cuda, result, "launching a kernel with grid barriers", error);
    return vy_fail(error, VYRE_LIMIT, "dispatch fewer workgroups",
                   "not all workgroups of the grid (%" PRIu32 ", %" PRIu32 ", %" PRIu32 ") run at the same time",
                   grid[0], grid[1], grid[2]);
}

vyre_status vy_cuda_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                           const vyre_launch *launch, const vy_cu_address *addresses, vyre_error *error) {
    alignas(8) uint8_t bytes[VY_CUDA_PARAM_BYTES];
    uint32_t grid[3];
    const uint32_t *block = kernel->header.block;
    size_t size = vy_cuda_pack(kernel, launch, addresses, stream_slot->control, bytes, grid);
    void *extra[] = {VY_CU_PARAMS_BYTES, bytes, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    if (kernel->header.needs_cooperative)
        return launch_cooperative(cuda, stream_slot, kernel, launch, grid, bytes, error);
    return vy_cuda_check(cuda,
                         cuda->api.launch(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                          kernel->header.dynamic_bytes, stream_slot->stream, NULL, extra),
                         "launching a kernel", error);
}

/* ---- the control block ---- */

static const vy_ptx_control clean = {.trap_invocation = UINT64_MAX, .deadline = UINT64_MAX};

vyre_status vy_cuda_control_prepare(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                    const vyre_launch *launch, vyre_error *error) {
    uint64_t deadline = UINT64_MAX;
    vyre_status status = VYRE_OK;
    if (!vy_cuda_needs_control(kernel))
        return VYRE_OK;
    if (kernel->header.polls && launch->deadline_ns)
        status = vy_cuda_clock_deadline(cuda, stream_slot, launch->deadline_ns, &deadline, error);
    if (status != VYRE_OK || (stream_slot->is_control_clean && deadline == UINT64_MAX))
        return status;
    stream_slot->mirror->given = clean;
    stream_slot->mirror->given.deadline = deadline;
    stream_slot->is_control_clean = 0;
    status = vy_cuda_check(
        cuda,
        cuda->api.copy_to_device(stream_slot->control, &stream_slot->mirror->given, sizeof clean, stream_slot->stream),
        "copying a control block", error);
    stream_slot->is_control_clean = status == VYRE_OK && deadline == UINT64_MAX;
    return status;
}

vyre_status vy_cuda_control_fetch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                  vyre_error *error) {
    if (!vy_cuda_writes_control(kernel))
        return VYRE_OK;
    return vy_cuda_check(
        cuda,
        cuda->api.copy_to_host(&stream_slot->mirror->taken, stream_slot->control, sizeof clean, stream_slot->stream),
        "reading a control block", error);
}

vyre_status vy_cuda_signal_stop(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error) {
    stream_slot->is_control_clean = 0;
    return vy_cuda_check(cuda,
                         cuda->api.copy_to_device(stream_slot->control + offsetof(vy_ptx_control, cancel),
                                                  &stream_slot->mirror->cancel, sizeof stream_slot->mirror->cancel,
                                                  cuda->signal),
                         "telling a kernel to end", error);
}

void vy_cuda_signal_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot) {
    stream_slot->is_control_clean = 0;
    cuda->api.stream_synchronize(cuda->signal);
}

/* ---- waiting ---- */

static void back_off(uint64_t since) {
    if (vy_clock_now() - since < SPIN_NS)
        return;
    const struct timespec time = {.tv_nsec = PAUSE_NS};
    nanosleep(&time, NULL);
}

static int is_over(uint64_t now, uint64_t deadline_ns, const uint32_t *cancel) {
    return (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) ||
           (deadline_ns && now > deadline_ns && now - deadline_ns > LATE_NS);
}

vyre_status vy_cuda_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                         uint64_t deadline_ns, const uint32_t *cancel, vyre_error *error) {
    vyre_status status = VYRE_OK;
    uint64_t signalled_ns = 0;
    int result, was_signalled = 0;
    if (!kernel->header.polls || (!deadline_ns && !cancel))
        return vy_cuda_stream_slot_wait(cuda, stream_slot, "running a kernel", error);
    uint64_t since = vy_clock_now();
    while ((result = cuda->api.stream_query(stream_slot->stream)) == VY_CU_NOT_READY) {
        uint64_t now = vy_clock_now();
        if ((!was_signalled || now - signalled_ns >= VY_CUDA_SIGNAL_RETRY_NS) && is_over(now, deadline_ns, cancel)) {
            was_signalled = 1;
            signalled_ns = now;
            status = vy_cuda_signal_stop(cuda, stream_slot, error);
        }
        back_off(since);
    }
    if (was_signalled)
        vy_cuda_signal_wait(cuda, stream_slot);
    vyre_status ended = vy_cuda_check(cuda, result, "running a kernel", error);
    return ended != VYRE_OK ? ended : status;
}

void vy_cuda_abort(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel) {
    static const uint32_t at_once = 1;
    vyre_error ignored;
    stream_slot->is_control_clean = 0;
    if (kernel)
        vy_cuda_wait(cuda, stream_slot, kernel, 0, &at_once, &ignored);
    cuda->api.stream_synchronize(stream_slot->stream);
}

vyre_status vy_cuda_decode_result(vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                  const vy_cuda_executable *code, int was_cancelled, vyre_trap *trap,
                                  vyre_error *error) {
    const vy_ptx_control *taken = &stream_slot->mirror->taken;
    const char *name = code->name;
    if (!vy_cuda_writes_control(kernel) || (taken->trap_invocation == UINT64_MAX && !taken->stopped && !taken->refused))
        return VYRE_OK;
    stream_slot->is_control_clean = 0;
    if (taken->stopped)
        return was_cancelled ? vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled while it ran", name)
                             : vy_fail(error, VYRE_TIMEOUT, NULL,
                                       "`%s` was still running at its deadline, and was stopped", name);
    if (taken->refused)
        return vy_cuda_indirect_refused(stream_slot, code, error);
    if (trap)
        *trap = (vyre_trap){taken->trap_invocation, taken->trap_code};
    return vy_fail(error, VYRE_TRAPPED, NULL, "invocation %" PRIu64 " trapped with code %" PRIu32,
                   taken->trap_invocation, taken->trap_code);
}

/* ---- pieces ---- */

vyre_status vy_cuda_launch_tile(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                const vyre_launch *launch, const vy_cu_address *addresses, vyre_error *error) {
    vyre_status status = vy_cuda_control_prepare(cuda, stream_slot, kernel, launch, error);
    if (status == VYRE_OK)
        status = vy_cuda_launch(cuda, stream_slot, kernel, launch, addresses, error);
    if (status == VYRE_OK)
        status = vy_cuda_control_fetch(cuda, stream_slot, kernel, error);
    return status == VYRE_OK ? vy_cuda_wait(cuda, stream_slot, kernel, launch->deadline_ns, launch->cancel, error)
                             : status;
}

/* As vy_grid_tiles_next, but x stays whole: `most` bounds y and z alone. 0: that was the last. */
static int next_tile(vy_grid_tiles *piece) {
    for (int d = 1; d < 3; d++) {
        piece->base[d] += piece->size[d];
        uint32_t left = piece->whole[d] - piece->base[d];
        piece->size[d] = left < piece->most ? left : piece->most;
        if (left)
            return 1;
        piece->base[d] = 0;
        piece->size[d] = piece->whole[d] < piece->most ? piece->whole[d] : piece->most;
    }
    return 0;
}

vyre_status vy_cuda_launch_tiles(vy_cuda_stream_slot *stream_slot, vy_cuda_executable *code, const vyre_launch *launch,
                                 const vy_cu_address *addresses, const vy_cuda_kernel **out, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    const vy_cuda_kernel *kernel;
    vyre_scalar params[VY_CUDA_PARAMS];
    vyre_launch part = *launch;
    vy_ptx_control whole = clean, *taken = &stream_slot->mirror->taken;
    uint32_t most =
        cuda->device_info.grid[1] < cuda->device_info.grid[2] ? cuda->device_info.grid[1] : cuda->device_info.grid[2];
    vy_grid_tiles piece = vy_grid_tiles_start(launch->groups, most);
    uint32_t size[3];
    piece.size[0] = launch->groups[0];
    vyre_program_workgroup(code->program, size);
    vyre_status status = vy_cuda_executable_tiled(code, &kernel, error);
    *out = kernel;
    memcpy(params, launch->params, launch->param_count * sizeof *params);
    part.params = params;
    part.param_count += VY_GRID_TILE_PARAMS;
    *taken = clean;
    do {
        if (status != VYRE_OK)
            return status;
        vy_grid_tile_params(&piece, params + launch->param_count);
        memcpy(part.groups, piece.size, sizeof part.groups);
        status = vy_cuda_launch_tile(cuda, stream_slot, kernel, &part, addresses, error);
        if (status != VYRE_OK || !vy_cuda_writes_control(kernel))
            continue;
        whole.stopped |= taken->stopped;
        if (taken->trap_invocation == UINT64_MAX)
            continue;
        stream_slot->is_control_clean = 0;
        uint64_t id = vy_grid_tile_invocation(&piece, size[0] * size[1] * size[2], taken->trap_invocation);
        if (id < whole.trap_invocation)
            whole.trap_invocation = id, whole.trap_code = taken->trap_code;
    } while (!whole.stopped && next_tile(&piece));
    *taken = whole;
    return status;
}
