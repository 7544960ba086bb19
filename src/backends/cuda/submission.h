/* The ways of a dispatch that differ from src/backends/gpu: the fast path, pieces, eager readback. */
#ifndef VY_BACKENDS_CUDA_SUBMISSION_H
#define VY_BACKENDS_CUDA_SUBMISSION_H

#include "backends/cuda/launch.h"

/* Call of src/backends/gpu: memory for the arena, and the addresses of its buffers. Inside, as all here. */
vyre_status vy_cuda_submission_allocate(vy_gpu_submission *submission, vyre_error *error);

/* ---- fast path ----
 *
 * All bindings resident, no control block (the kernel neither traps nor polls), grid within limits: one launch and one
 * wait. Any other dispatch is a submission. Such dispatches are frequent and short, so their overhead matters. */

/* Whether the fast path applies. bindings may be NULL: host bytes. */
static inline int vy_cuda_is_fast_dispatch(const vy_cuda_executable *code, const vyre_launch *launch,
                                           const vyre_resource *bindings, const vyre_timing *timing) {
    if (!bindings || timing || launch->grid_buffer || vy_cuda_needs_control(&code->kernel) ||
        vy_cuda_needs_tiles(code->cuda, launch->groups))
        return 0;
    for (uint32_t i = 0; i < code->base.buffer_count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

/* Pipelined dispatch: a large dispatch from host bytes in pieces, each of which is uploaded, computed and read back
 * while others are.
 *
 * The program must be divisible (analysis/elementwise.h). Its elementwise buffers are divided, all others are uploaded
 * whole before. A piece is a part of the grid, in whole workgroups, for the kernel of the whole grid (emit/ptx/ptx.h,
 * tiled entries). Several threads run the pieces, each with its own stream slots. */

/* Runs a pipelined dispatch if it is large enough and its program divisible; *was_run: whether it did. The submission
 * must be bound to host bytes and not submitted. */
vyre_status vy_cuda_pipelined_run(vy_gpu_submission *submission, const vyre_launch *launch, vyre_outputs *outputs,
                                  int *was_run, vyre_error *error);

/* ---- eager readback ---- */

/* Called when the event of the slot was recorded. If the outputs are small, or memory or a thread is unavailable, eager
 * readback is not used, and the waiting thread copies the outputs. */
void vy_cuda_eager_readback_start(vy_gpu_submission *submission);
/* Delivers the outputs after the kernel has succeeded. */
vyre_status vy_cuda_eager_readback_deliver(vy_gpu_submission *submission, vyre_outputs *outputs, vyre_error *error);
/* Called before the submission ends. */
void vy_cuda_eager_readback_end(vy_gpu_submission *submission);

#endif
