/* Grids in device memory (indirect.h). */
#include "backends/cuda/indirect.h"

#include "backends/cuda/cooperative_launch.h"
#include "base/status.h"
#include "ir/dispatch_resolve.h"

/* More do not hurt: they find nothing left. */
vyre_status vy_cuda_indirect_count(vy_cuda *cuda, vy_cuda_kernel *kernel, vyre_error *error) {
    vyre_status status = VYRE_OK;
    kernel->blocks = 0;
    if (cuda->api.occupancy)
        status = vy_cuda_cooperative_blocks(cuda, kernel, &kernel->blocks, error);
    if (!kernel->blocks)
        kernel->blocks = cuda->device_info.multiprocessors ? cuda->device_info.multiprocessors : 1;
    return status;
}

/* Where the words are that the kernel reads. What the program may write is copied first: the grid is what it was when the launch's turn came. */
static vyre_status place_words(vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                               const vyre_launch *launch, const vy_cu_address *addresses, vy_cu_address *out,
                               vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    uint32_t buffer = launch->grid_buffer - 1;
    vy_cu_address there = addresses[buffer] + 4 * (uint64_t)launch->grid_offset,
                  here = stream_slot->control + offsetof(vy_ptx_control, grid);
    *out = there;
    if (!vy_cuda_is_output(code, buffer))
        return VYRE_OK;
    *out = here;
    return vy_cuda_check(cuda,
                         cuda->api.copy_on_device(here, there, sizeof((vy_ptx_control *)0)->grid, stream_slot->stream),
                         "copying a grid on the device", error);
}

vyre_status vy_cuda_indirect_launch(vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                                    const vy_cuda_kernel *kernel, const vyre_launch *launch,
                                    const vy_cu_address *addresses, uint32_t ticket, vyre_error *error) {
    vy_cuda *cuda = code->cuda;
    alignas(8) uint8_t bytes[VY_CUDA_PARAM_BYTES];
    const uint32_t *block = kernel->header.block;
    vy_cu_address words;
    uint32_t unknown[3];
    vyre_status status = place_words(stream_slot, code, launch, addresses, &words, error);
    if (status != VYRE_OK)
        return status;
    size_t size = vy_cuda_pack(kernel, launch, addresses, stream_slot->control, bytes, unknown);
    uint8_t *behind = bytes + kernel->control_offset + sizeof stream_slot->control;
    memcpy(behind, &words, sizeof words);
    memcpy(behind + sizeof words, &ticket, sizeof ticket);
    void *extra[] = {VY_CU_PARAMS_BYTES, bytes, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    return vy_cuda_check(cuda,
                         cuda->api.launch(kernel->function, kernel->blocks, 1, 1, block[0], block[1], block[2],
                                          kernel->header.dynamic_bytes, stream_slot->stream, NULL, extra),
                         "launching a kernel", error);
}

vyre_status vy_cuda_indirect_refused(const vy_cuda_stream_slot *stream_slot, const vy_cuda_executable *code,
                                     vyre_error *error) {
    const uint32_t *grid = stream_slot->mirror->taken.refused_grid;
    vyre_status status = vy_program_check_grid(code->program, grid, error);
    return status != VYRE_OK ? status
                             : vy_fail(error, VYRE_CORRUPT, NULL,
                                       "the device refuses a grid that is within all limits (%u x %u x %u workgroups)",
                                       grid[0], grid[1], grid[2]);
}
