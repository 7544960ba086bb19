/* The straight road (dispatch_fast.h). */
#include "backends/cuda/dispatch_fast.h"

#include "backends/cuda/memory.h"

vyre_status vy_cuda_dispatch_fast(vy_cuda_executable *code, const vyre_launch *launch, const vyre_resource *bindings,
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
    vy_cuda_nvtx_begin(&cuda->nvtx, launch->label, code->name);
    for (uint32_t i = 0; i < code->buffer_count; i++) {
        vy_cu_address address = vy_cuda_resident_address(bindings[i].resident.id) + bindings[i].offset;
        memcpy(bytes + sizeof address * i, &address, sizeof address);
    }
    size_t size = vy_cuda_pack_scalars(kernel, launch, stream_slot->control, bytes, grid);
    void *extra[] = {VY_CU_PARAMS_BYTES, bytes, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    int result = cuda->api.launch(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                  kernel->header.dynamic_bytes, stream_slot->stream, NULL, extra);
    status = vy_cuda_check(cuda, result, "launching a kernel", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, cuda->api.stream_synchronize(stream_slot->stream), "running a kernel", error);
    if (status != VYRE_OK) { /* as a submission that failed on the way */
        stream_slot->is_control_clean = 0;
        cuda->api.stream_synchronize(stream_slot->stream);
    }
    vy_cuda_stream_slot_release(cuda, stream_slot);
    vy_cuda_nvtx_end(&cuda->nvtx);
    return status;
}
