/* The straight road (straight.h). */
#include "backends/cuda/straight.h"

#include "backends/cuda/memory.h"

vyre_status vy_cuda_straight_run(vy_cuda_code *code, const vyre_launch *launch, const vyre_resource *bindings,
                                 vyre_error *error) {
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    vy_cuda *cuda = code->cuda;
    vy_cuda_lane *lane;
    vyre_status status = vy_cuda_lane_take(cuda, &lane, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_nvtx_begin(&cuda->nvtx, launch->label, code->name);
    for (uint32_t i = 0; i < code->buffer_count; i++)
        addresses[i] = vy_cuda_resident_address(bindings[i].resident.id) + bindings[i].offset;
    status = vy_cuda_launch(cuda, lane, &code->kernel, launch, addresses, error);
    if (status == VYRE_OK)
        status = vy_cuda_lane_wait(cuda, lane, "running a kernel", error);
    if (status != VYRE_OK) { /* as a flight that failed on the way */
        lane->is_control_clean = 0;
        cuda->api.stream_synchronize(lane->stream);
    }
    vy_cuda_lane_give(cuda, lane);
    vy_cuda_nvtx_end(&cuda->nvtx);
    return status;
}
