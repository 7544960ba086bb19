/* Kernel launches: params, grid, and the control block through which a kernel reports a trap and is told to stop. */
#ifndef VY_BACKENDS_CUDA_LAUNCH_H
#define VY_BACKENDS_CUDA_LAUNCH_H

#include "backends/cuda/executable.h"
#include "backends/cuda/stream_slot.h"

#include <string.h>

/* ---- device clock ----
 *
 * Deadlines are given in the host's time (CLOCK_MONOTONIC); kernels compare them with the device's (%globaltimer). */

/* A deadline in the device's time. The clocks are compared when they were not for a minute: on the stream_slot, whose
 * control block is not clean then. Inside. */
vyre_status vy_cuda_clock_deadline(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t deadline_ns, uint64_t *out,
                                   vyre_error *error);
/* Before the context ends. */
void vy_cuda_clock_end(vy_cuda *cuda);

/* ---- cooperative launches ----
 *
 * All blocks of a cooperative launch run at the same time, so that a program's grid barriers can run inside it
 * (emit/ptx/control.c).
 *
 * The driver reports how many blocks of a kernel can do so when it is loaded; registers, shared memory and threads
 * decide. The driver layer asks for this limit at each dispatch, and runs a dispatch with more workgroups as several
 * launches. If CUDA still refuses a launch, because other processes use a part of the device, nothing ran: the
 * dispatch runs as several launches, and the kernel is not tried again. Graphs and batched launches have no such
 * kernels. */

/* Of the backend's table. */
uint64_t vy_cuda_grid_sync_limit(void *self, const vyre_program *program, void *pipeline);

/* Blocks of a kernel that run at the same time. Inside. */
vyre_status vy_cuda_cooperative_blocks(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t *out, vyre_error *error);

/* ---- launches ---- */

/* Whether it says something in its control block, and whether it has one at all. */
static inline int vy_cuda_writes_control(const vy_cuda_kernel *kernel) {
    return kernel->header.reports || kernel->header.polls || kernel->header.indirect;
}

static inline int vy_cuda_needs_control(const vy_cuda_kernel *kernel) {
    return vy_cuda_writes_control(kernel) || kernel->header.needs_cooperative;
}

/* Whether the grid is more than one launch takes, in y or z; the boundary sees to x. */
static inline int vy_cuda_needs_tiles(const vy_cuda *cuda, const uint32_t groups[3]) {
    return groups[1] > cuda->device_info.grid[1] || groups[2] > cuda->device_info.grid[2];
}

/* Warps of a grid, or a number above `limit`. */
uint64_t vy_cuda_warps(const vy_cuda_kernel *kernel, const uint32_t groups[3], uint64_t limit);

/* The bytes of a kernel's params, but for the addresses of its buffers, which come first. grid: the blocks to launch.
 * Returns their number, at most VY_CUDA_PARAM_BYTES. */
static inline size_t vy_cuda_pack_scalars(const vy_cuda_kernel *kernel, const vyre_launch *launch,
                                          vy_cu_address control, uint8_t *bytes, uint32_t grid[3]) {
    uint32_t buffers = (uint32_t)launch->buffer_count, factor = kernel->header.factor;
    uint8_t *counts = bytes + 8 * (size_t)buffers;
    for (uint32_t i = 0; i < buffers; i++) {
        uint32_t count = (uint32_t)launch->elements[i];
        memcpy(counts + 4 * (size_t)i, &count, sizeof count);
    }
    for (uint32_t i = 0; i < launch->param_count; i++) {
        uint32_t offset = kernel->param_offsets[i]; /* little-endian: a u32 is its lower half */
        memcpy(bytes + (offset & ~VY_CUDA_PARAM_WIDE), &launch->params[i].bits, offset & VY_CUDA_PARAM_WIDE ? 8 : 4);
    }
    memcpy(grid, launch->groups, 3 * sizeof *grid);
    if (factor > 1) {
        memcpy(bytes + kernel->param_offsets[launch->param_count], &grid[0], sizeof grid[0]);
        grid[0] = grid[0] / factor + (grid[0] % factor != 0);
    }
    memcpy(bytes + kernel->control_offset, &control, sizeof control);
    return kernel->param_bytes;
}

/* All of them; addresses: one a buffer. */
size_t vy_cuda_pack(const vy_cuda_kernel *kernel, const vyre_launch *launch, const vy_cu_address *addresses,
                    vy_cu_address control, uint8_t *bytes, uint32_t grid[3]);

/* Whether two launches of one call have the same params and grid, where that is seen at once: only addresses are
 * theirs alone then, which are the first of their bytes. */
static inline int vy_cuda_launches_equal(const vyre_launch *a, const vyre_launch *b) {
    return a->elements == b->elements && a->params == b->params && a->groups[0] == b->groups[0] &&
           a->groups[1] == b->groups[1] && a->groups[2] == b->groups[2] && a->grid_buffer == b->grid_buffer;
}

/* Makes the stream_slot's control block ready for the launch, if it needs one. Inside, as all here. */
vyre_status vy_cuda_control_prepare(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                    const vyre_launch *launch, vyre_error *error);
/* Puts the kernel into the stream_slot's stream.
 *
 * VYRE_LIMIT  one with grid barriers whose blocks do not all run at the same time: it was not launched */
vyre_status vy_cuda_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                           const vyre_launch *launch, const vy_cu_address *addresses, vyre_error *error);
/* Puts a copy of the control block into the stream: to the mirror's `taken`, if it is not there already. */
vyre_status vy_cuda_control_fetch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                  vyre_error *error);
/* Tells the kernel that runs on the stream_slot to end. The signal may still be under way afterwards:
 * vy_cuda_signal_wait. One that comes before the block's own copy is overwritten by it: so it is said again every so
 * often, until the kernel has ended. */
#define VY_CUDA_SIGNAL_RETRY_NS UINT64_C(1000000)
vyre_status vy_cuda_signal_stop(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error);
void vy_cuda_signal_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot);
/* All of a grid that is more than one launch takes: prepares, launches and fetches, piece by piece, and waits for
 * each. The mirror's `taken` says what the whole did. *kernel is the one that ran. */
vyre_status vy_cuda_launch_tiles(vy_cuda_stream_slot *stream_slot, vy_cuda_executable *code, const vyre_launch *launch,
                                 const vy_cu_address *addresses, const vy_cuda_kernel **kernel, vyre_error *error);

/* Waits for the stream_slot's work; tells the kernel to end when the caller's word or the deadline says so. */
vyre_status vy_cuda_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                         uint64_t deadline_ns, const uint32_t *cancel, vyre_error *error);

/* Nobody wants what is under way on the stream_slot: tells the kernel to end, if it asks, and waits. kernel: the last
 * that was launched, or NULL. */
void vy_cuda_abort(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel);

/* What the mirror says of a launch that is done.
 *
 * VYRE_TRAPPED  *trap (if not NULL) has the smallest invocation
 * VYRE_TIMEOUT, VYRE_CANCELLED  what was written is not to be used
 * VYRE_LIMIT    the grid of an indirect dispatch is over the limits: `refused` of the mirror's `taken` is the ticket,
 *               and `code` is the executable that it was given to */
vyre_status vy_cuda_decode_result(vy_cuda_stream_slot *stream_slot, const vy_cuda_kernel *kernel,
                                  const vy_cuda_executable *code, int was_cancelled, vyre_trap *trap,
                                  vyre_error *error);

/* ---- indirect grids ----
 *
 * The grid is in device memory, and the host does not know it (emit/ptx/indirect_grid.c).
 *
 * The kernel is a separate one, part of a pipeline's object or compiled when it is first needed. It is launched with
 * as many blocks as run at the same time, which run the workgroups in a grid-stride loop. It reads the grid in place,
 * if the program only reads that buffer; else from a copy in the stream slot's control block, made in the stream
 * before it.
 *
 * The kernel refuses a grid over the limits of the language, in the control block, which is read when everything is
 * done: so several such launches need no wait in between. Of the launches with one control block, the first that is
 * refused stores its ticket. Later launches with indirect grids run nothing; launches of other kinds do not read the
 * ticket, and run. */

/* Says how many blocks of a kernel are launched. */
vyre_status vy_cuda_indirect_count(vy_cuda *cuda, vy_cuda_kernel *kernel, vyre_error *error);
/* Puts it into the stream_slot's stream; the control block is prepared. ticket: from 1 on. Inside. */
vyre_status vy_cuda_indirect_launch(vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                                    const vy_cuda_kernel *kernel, const vyre_launch *launch,
                                    const vy_cu_address *addresses, uint32_t ticket, vyre_error *error);

#endif
