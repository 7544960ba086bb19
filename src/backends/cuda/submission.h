/* Submission of one dispatch: its buffers bound, its host bytes uploaded, its kernel launched and awaited, its result
 * decoded, its outputs read back.
 *
 *   vy_cuda_submission_start      acquires a stream slot
 *   vy_cuda_submission_bind_…     sets the address of every buffer
 *   vy_cuda_submission_submit     does all that needs the caller's bytes; the device works when it returns
 *   vy_cuda_submission_finish     waits, decodes the result, delivers the outputs
 *   vy_cuda_submission_end        releases the stream slot, whatever happened
 *
 * Host bytes are copied to the stream slot's arena in this order: inputs; buffers that are read and written; buffers
 * that are only written and start as zero; buffers that are written whole. So if they are small, one copy uploads all
 * inputs and one copy reads back all outputs. Large buffers pass through the staging in pieces. The layout ends with
 * the zero-copy buffers, which stay in the staging (transfer.h). */
#ifndef VY_BACKENDS_CUDA_SUBMISSION_H
#define VY_BACKENDS_CUDA_SUBMISSION_H

#include "backends/cuda/launch.h"

/* Large, and set only for existing buffers, so it is not cleared. */
struct vy_cuda_submission {
    vy_cuda *cuda;
    vy_cuda_executable *code; /* borrowed */
    vy_cuda_stream_slot *stream_slot;
    const vy_cuda_kernel *kernel; /* the one to run */
    vyre_trap *trap;
    const uint32_t *cancel;
    uint64_t deadline_ns;
    vyre_timing *timing;                           /* NULL: not measured */
    struct vy_cuda_eager_readback *eager_readback; /* NULL: outputs are read back when they are requested */
    uint64_t start_ns, submitted_ns;
    uint64_t read_start, clear_start, clear_end;  /* in the arena: outputs; outputs that start as zero */
    uint64_t copied_end, zero_start, arena_bytes; /* after it: direct buffers; cleared direct buffers; the size */
    uint8_t is_small;                             /* all bytes fit into the first chunk of the staging */
    uint8_t is_finished;                          /* the stream slot has no pending work */
    uint8_t was_signalled;                        /* another thread has signalled the kernel to end */
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    const void *sources[VY_LIMIT_BUFFERS]; /* host bytes of inputs */
    uint64_t offsets[VY_LIMIT_BUFFERS];    /* in the arena; VY_CUDA_RESIDENT: not in the arena */
    uint64_t sizes[VY_LIMIT_BUFFERS];      /* bytes */
};
#define VY_CUDA_RESIDENT UINT64_MAX

/* The bytes of a buffer in the arena, where buffers start at multiples of 256, as those of the driver do. */
static inline uint64_t vy_cuda_align_size(uint64_t size) {
    return (size + 255) / 256 * 256;
}

/* Inside, like all functions of this section. */
vyre_status vy_cuda_submission_start(vy_cuda_submission *submission, vy_cuda_executable *code,
                                     const vyre_launch *launch, vyre_timing *timing, vyre_error *error);
void vy_cuda_submission_bind_host(vy_cuda_submission *submission, const vyre_launch *launch, const vyre_span *inputs);
vyre_status vy_cuda_submission_submit(vy_cuda_submission *submission, const vyre_launch *launch, vyre_error *error);
/* outputs may be NULL if all written buffers are resident. Entries for resident outputs stay empty. */
vyre_status vy_cuda_submission_finish(vy_cuda_submission *submission, vyre_outputs *outputs, vyre_error *error);
void vy_cuda_submission_end(vy_cuda_submission *submission);

/* Steps of a submission: memory for the arena, and the addresses of its buffers; memory for an output, not cleared. */
vyre_status vy_cuda_submission_allocate(vy_cuda_submission *submission, vyre_error *error);
vyre_status vy_cuda_output_reserve(vyre_bytes *slot, uint64_t size, vyre_error *error);

/* A whole submission. Exactly one of inputs and bindings is not NULL, unless the program has no buffers. */
vyre_status vy_cuda_submission_run(vy_cuda_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                   const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing,
                                   vyre_error *error);

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
    for (uint32_t i = 0; i < code->buffer_count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

/* Inside. */
vyre_status vy_cuda_dispatch_fast(vy_cuda_executable *code, const vyre_launch *launch, const vyre_resource *bindings,
                                  vyre_error *error);

/* Pipelined dispatch: a large dispatch from host bytes in pieces, each of which is uploaded, computed and read back
 * while others are.
 *
 * The program must be divisible (analysis/elementwise.h). Its elementwise buffers are divided, all others are uploaded
 * whole before. A piece is a part of the grid, in whole workgroups, for the kernel of the whole grid (emit/ptx/ptx.h,
 * tiled entries). Several threads run the pieces, each with its own stream slots. */

/* Runs a pipelined dispatch if it is large enough and its program divisible; *was_run: whether it did. The submission
 * must be bound to host bytes and not submitted. */
vyre_status vy_cuda_pipelined_run(vy_cuda_submission *submission, const vyre_launch *launch, vyre_outputs *outputs,
                                  int *was_run, vyre_error *error);

#endif
