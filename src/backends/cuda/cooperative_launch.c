/* Cooperative launches (cooperative_launch.h). */
#include "backends/cuda/cooperative_launch.h"

#include "backends/cuda/pipeline.h"
#include "ir/limits.h"

/* Warps are whole. */
static uint64_t threads_of(const vy_cuda *cuda, const vyre_program *program) {
    uint32_t size[3], warp = cuda->device_info.warp ? cuda->device_info.warp : 1;
    vyre_program_workgroup(program, size);
    uint64_t threads = (uint64_t)size[0] * size[1] * size[2];
    return (threads + warp - 1) / warp * warp;
}

uint64_t vy_cuda_grid_sync_limit(void *self, const vyre_program *program, void *pipeline) {
    const vy_cuda *cuda = self;
    if (!cuda->device_info.has_cooperative_launch)
        return 0;
    if (pipeline)
        return atomic_load(&((vy_cuda_pipeline *)pipeline)->code->cooperative_blocks);
    uint64_t each = cuda->device_info.threads_per_multiprocessor / threads_of(cuda, program);
    return cuda->device_info.multiprocessors * (each ? each : 1);
}

vyre_status vy_cuda_cooperative_blocks(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t *out, vyre_error *error) {
    const uint32_t *block = kernel->header.block;
    int blocks = 0;
    vyre_status status =
        vy_cuda_check(cuda,
                      cuda->api.occupancy(&blocks, kernel->function, (int)(block[0] * block[1] * block[2]),
                                          kernel->header.dynamic_bytes),
                      "asking how many blocks run at the same time", error);
    *out = status == VYRE_OK && blocks > 0 ? (uint32_t)blocks * cuda->device_info.multiprocessors : 0;
    return status;
}

/* This entry of the driver takes params one by one, in the order of the text (emit/ptx/ptx.h). */
int vy_cuda_cooperative_launch(vy_cuda *cuda, const vy_cuda_kernel *kernel, uint32_t buffers, const uint32_t grid[3],
                               uint8_t *bytes, vy_cu_stream stream) {
    void *params[2 * VY_LIMIT_BUFFERS + VY_CUDA_PARAMS + 1];
    const uint32_t *block = kernel->header.block;
    uint32_t n = 0;
    for (uint32_t i = 0; i < buffers; i++)
        params[n++] = bytes + 8 * (size_t)i;
    for (uint32_t i = 0; i < buffers; i++)
        params[n++] = bytes + 8 * (size_t)buffers + 4 * (size_t)i;
    for (uint32_t i = 0; i < kernel->param_count; i++)
        params[n++] = bytes + (kernel->param_offsets[i] & ~VY_CUDA_PARAM_WIDE);
    params[n] = bytes + kernel->control_offset;
    return cuda->api.launch_cooperative(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                        kernel->header.dynamic_bytes, stream, params);
}
