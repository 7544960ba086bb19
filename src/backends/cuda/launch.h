/* Kernel launches: params, grid, and the control block through which a kernel reports a trap and polls for its end. */
#ifndef VY_BACKENDS_CUDA_LAUNCH_H
#define VY_BACKENDS_CUDA_LAUNCH_H

#include "backends/cuda/executable.h"
#include "backends/cuda/stream_slot.h"

#include <string.h>

/* ---- device clock ----
 *
 * Deadlines are given in the host's time (CLOCK_MONOTONIC); kernels compare them with the device's (%globaltimer). */

/* Converts a deadline to the device's time. Compares the clocks if the last comparison is older than a minute; that
 * uses the stream_slot and leaves its control block dirty. Inside. */
vyre_status vy_cuda_clock_deadline(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t deadline_ns, uint64_t *out,
                                   vyre_error *error);
/* Loads the kernel for the comparison, so that no dispatch has to. Inside. */
vyre_status vy_cuda_clock_prepare(vy_cuda *cuda, vyre_error *error);
/* Called before the context ends. */
void vy_cuda_clock_end(vy_cuda *cuda);

/* ---- cooperative launches ----
 *
 * All blocks of a cooperative launch run at the same time, so that a program's grid barriers can run inside it
 * (emit/ptx/control.c).
 *
 * When a kernel is loaded, NVIDIA's driver reports how many of its blocks can do so, which depends on registers,
 * shared memory and threads. libvyre's driver layer queries this limit at each dispatch, and runs a dispatch with more
 * workgroups as several launches. If CUDA still refuses a launch, because other processes use a part of the device,
 * nothing ran: the dispatch runs as several launches, and the kernel is not tried again. Graphs and batched launches
 * have no such kernels. */

/* Entry of the backend's table. */
uint64_t vy_cuda_grid_sync_limit(void *self, const vyre_program *program, void *pipeline);

/* The number of blocks of a kernel that can run concurrently. Inside. */
vyre_status vy_cuda_cooperative_blocks(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t *out, vyre_error *error);

/* ---- launches ---- */

/* Whether the kernel has a control block. */
static inline int vy_cuda_needs_control(const vy_cuda_kernel *kernel) {
    return kernel->base.writes_control || kernel->header.needs_cooperative;
}

/* Whether the grid exceeds the limit of a launch in y or z. The driver layer checks x. */
static inline int vy_cuda_needs_tiles(const vy_cuda *cuda, const uint32_t groups[3]) {
    return groups[1] > cuda->device_info.grid[1] || groups[2] > cuda->device_info.grid[2];
}

/* Warps of a grid, or a number above `limit`. */
uint64_t vy_cuda_warps(const vy_cuda_kernel *kernel, const uint32_t groups[3], uint64_t limit);

/* Groups in x of a coarsened kernel. */
static inline uint32_t vy_cuda_coarsened(const vy_cuda_kernel *kernel, uint32_t groups_x) {
    uint32_t factor = kernel->header.factor;
    return groups_x / factor + (groups_x % factor != 0);
}

/* The params of tiled axes. groups: of the launch; tile: NULL if that is the whole grid. */
static inline void vy_cuda_pack_tile(const vy_cuda_kernel *kernel, const uint32_t groups[3], const vy_grid_tiles *tile,
                                     uint8_t *bytes) {
    uint8_t *at = bytes + kernel->tile_offset;
    for (unsigned axes = kernel->header.tiled_axes; axes; axes &= axes - 1) {
        int axis = __builtin_ctz(axes);
        uint32_t values[2] = {tile ? tile->base[axis] : 0, tile ? tile->whole[axis] : groups[axis]};
        if (axis == 0 && kernel->header.factor > 1)
            values[0] /= kernel->header.factor, values[1] = vy_cuda_coarsened(kernel, values[1]);
        memcpy(at, values, sizeof values);
        at += sizeof values;
    }
}

/* The bytes of a kernel's params, except the addresses of its buffers, which come first. tile: the part of a grid that
 * the launch covers, or NULL; it starts at a multiple of the kernel's factor in x. grid: the blocks to launch. Returns
 * their number, at most VY_CUDA_PARAM_BYTES. */
static inline size_t vy_cuda_pack_scalars(const vy_cuda_kernel *kernel, const vyre_launch *launch,
                                          const vy_grid_tiles *tile, vy_cu_address control, uint8_t *bytes,
                                          uint32_t grid[3]) {
    uint32_t buffers = (uint32_t)launch->buffer_count;
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
    if (kernel->header.tiled_axes)
        vy_cuda_pack_tile(kernel, launch->groups, tile, bytes);
    if (kernel->header.factor > 1) {
        const uint32_t *groups_x = tile ? &tile->whole[0] : &launch->groups[0];
        memcpy(bytes + kernel->param_offsets[launch->param_count], groups_x, sizeof *groups_x);
        grid[0] = vy_cuda_coarsened(kernel, grid[0]);
    }
    memcpy(bytes + kernel->control_offset, &control, sizeof control);
    return kernel->param_bytes;
}

/* Packs all params; addresses: one per buffer. */
size_t vy_cuda_pack(const vy_cuda_kernel *kernel, const vyre_launch *launch, const vy_grid_tiles *tile,
                    const vy_cu_address *addresses, vy_cu_address control, uint8_t *bytes, uint32_t grid[3]);

/* Whether two launches of one call obviously have the same params and grid. Then their bytes differ in the addresses
 * only, which come first. */
static inline int vy_cuda_launches_equal(const vyre_launch *a, const vyre_launch *b) {
    return a->elements == b->elements && a->params == b->params && a->groups[0] == b->groups[0] &&
           a->groups[1] == b->groups[1] && a->groups[2] == b->groups[2] && a->grid_buffer == b->grid_buffer;
}

/* Calls of src/backends/gpu. Inside, as all here. A control block is prepared for the launch if the kernel has one. */
vyre_status vy_cuda_control_prepare(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vyre_launch *launch,
                                    vyre_error *error);
/* VYRE_LIMIT  a kernel with grid barriers was not launched, because its blocks do not all run at the same time */
vyre_status vy_cuda_launch(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel, const vyre_launch *launch,
                           const vy_grid_tiles *tile, const vy_gpu_buffers *buffers, uint32_t ticket,
                           vyre_error *error);
vyre_status vy_cuda_control_fetch(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, vyre_error *error);
vyre_status vy_cuda_signal_stop(vy_gpu_slot *slot, vyre_error *error);
void vy_cuda_signal_wait(vy_gpu_slot *slot);
vyre_status vy_cuda_finish(vy_gpu_slot *slot, vyre_error *error);
vyre_status vy_cuda_query(vy_gpu_slot *slot, int *is_done, vyre_error *error);
/* The slices of a grid are in y and z, so that a kernel reports invocations of the whole grid. */
int vy_cuda_needs_slices(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t step[3]);
vyre_status vy_cuda_choose_kernel(vy_gpu_executable *code, const vyre_launch *launch, int is_sliced,
                                  vy_gpu_kernel **out, vyre_error *error);

/* ---- indirect grids ----
 *
 * The grid is in device memory, unknown to the host (emit/ptx/indirect_grid.c).
 *
 * A separate kernel of the pipeline's object is launched with as many blocks as run at the same time, which run the
 * workgroups in a grid-stride loop. It reads the grid directly if the program only reads that buffer, otherwise from a
 * copy in the control block of the stream slot, made in the stream before it.
 *
 * The kernel refuses a grid over the limits of the language, in the control block, which is read when everything has
 * completed: so several such launches need no wait in between. Of the launches with one control block, the first
 * refused one stores its ticket. Later launches with indirect grids run nothing; launches of other kinds do not read
 * the ticket, and run. */

/* Computes how many blocks of a kernel are launched. */
vyre_status vy_cuda_indirect_count(vy_cuda *cuda, vy_cuda_kernel *kernel, vyre_error *error);

#endif
