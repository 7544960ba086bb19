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

/* Large, and filled only as far as there are buffers: not to be cleared. */
struct vy_cuda_submission {
    vy_cuda *cuda;
    vy_cuda_executable *code; /* borrowed */
    vy_cuda_stream_slot *stream_slot;
    const vy_cuda_kernel *kernel; /* that runs */
    vyre_trap *trap;
    const uint32_t *cancel;
    uint64_t deadline_ns;
    vyre_timing *timing;                           /* NULL: not asked for */
    struct vy_cuda_eager_readback *eager_readback; /* brings the outputs; NULL: nobody does before they are asked for */
    uint64_t start_ns, submitted_ns;
    uint64_t read_start, clear_start, clear_end;  /* in the arena: what comes back; what starts as zero */
    uint64_t copied_end, zero_start, arena_bytes; /* behind it: what is direct; what of that starts as zero; all */
    uint8_t is_small;                             /* passes through the first chunk as a whole */
    uint8_t is_finished;                          /* nothing is under way on the stream_slot */
    uint8_t was_signalled;                        /* somebody else told the kernel to end */
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    const void *sources[VY_LIMIT_BUFFERS]; /* host bytes of inputs */
    uint64_t offsets[VY_LIMIT_BUFFERS];    /* in the arena; VY_CUDA_RESIDENT: not there */
    uint64_t sizes[VY_LIMIT_BUFFERS];      /* bytes */
};
#define VY_CUDA_RESIDENT UINT64_MAX

/* Buffers in the arena start at multiples of 256, as the driver's own do: the bytes that one takes there. */
static inline uint64_t vy_cuda_align_size(uint64_t size) {
    return (size + 255) / 256 * 256;
}

/* Inside, as all here. */
vyre_status vy_cuda_submission_start(vy_cuda_submission *submission, vy_cuda_executable *code,
                                     const vyre_launch *launch, vyre_timing *timing, vyre_error *error);
void vy_cuda_submission_bind_host(vy_cuda_submission *submission, const vyre_launch *launch, const vyre_span *inputs);
vyre_status vy_cuda_submission_submit(vy_cuda_submission *submission, const vyre_launch *launch, vyre_error *error);
/* outputs may be NULL: then all that is written is resident. Outputs that are resident stay empty. */
vyre_status vy_cuda_submission_finish(vy_cuda_submission *submission, vyre_outputs *outputs, vyre_error *error);
void vy_cuda_submission_end(vy_cuda_submission *submission);

/* Its steps, for submission.h: memory for what lies in the arena, and the addresses of it; room for an output,
 * not cleared. */
vyre_status vy_cuda_submission_allocate(vy_cuda_submission *submission, vyre_error *error);
vyre_status vy_cuda_output_reserve(vyre_bytes *slot, uint64_t size, vyre_error *error);

/* All of it, for one that waits. Exactly one of inputs and bindings is not NULL, unless there are no buffers. */
vyre_status vy_cuda_submission_run(vy_cuda_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                   const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing,
                                   vyre_error *error);

/* ---- fast path ----
 *
 * All bindings resident, no control block (the kernel neither traps nor polls), grid within limits: one launch and one
 * wait. Any other dispatch is a submission. Such dispatches are frequent and short, so their overhead matters. */

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

/* Pipelined dispatch: a large dispatch from host bytes in pieces, each of which is uploaded, computed and read back
 * while others are.
 *
 * The program must be elementwise in the buffers that are divided: every invocation reads and writes only the element
 * at global_id.x of them. All other buffers are uploaded whole before. Pieces are whole workgroups. Several threads
 * take pieces one by one, each with a stream slot of its own. */
/* How a buffer is used. */
typedef enum vy_cuda_buffer_role { VY_CUDA_BUFFER_WHOLE, VY_CUDA_BUFFER_ELEMENTWISE } vy_cuda_buffer_role;

/* Whether the program can be cut; roles: one a buffer. Sound, not complete. The program has no calls.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_cuda_pipelined_analyze(const vyre_program *program, int *is_elementwise, uint8_t *roles,
                                      vyre_error *error);

/* Runs a dispatch that way, if it is large enough and can be; *was_run says whether. Bound from host bytes, not
 * submitted. */
vyre_status vy_cuda_pipelined_run(vy_cuda_submission *submission, const vyre_launch *launch, vyre_outputs *outputs,
                                  int *was_run, vyre_error *error);

#endif
