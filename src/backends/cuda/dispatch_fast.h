/* The straight road of a dispatch: one launch on resident buffers of a kernel that tells nothing, and a wait. It is what flights (submission.h) do with such, without asking what they
 * might need: such dispatches are made again and again, and what each costs is noticed. */
#ifndef VY_BACKENDS_CUDA_DISPATCH_FAST_H
#define VY_BACKENDS_CUDA_DISPATCH_FAST_H

#include "backends/cuda/launch.h"

/* Whether it is such a dispatch. bindings may be NULL: host bytes. */
static inline int vy_cuda_is_fast_dispatch(const vy_cuda_executable *code, const vyre_launch *launch,
                                           const vyre_resource *bindings, const vyre_timing *timing) {
    if (!bindings || timing || launch->grid_buffer || vy_cuda_needs_control(&code->kernel) ||
        vy_cuda_needs_tiles(code->cuda, launch->groups))
        return 0;
    for (uint32_t i = 0; i < code->buffer_count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}
/* Inside. */
vyre_status vy_cuda_dispatch_fast(vy_cuda_executable *code, const vyre_launch *launch, const vyre_resource *bindings,
                                  vyre_error *error);

#endif
