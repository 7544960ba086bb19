/* Submission of one dispatch: bind the buffers, upload the inputs, launch the kernel, wait, decode the result and read
 * back the outputs.
 *
 *   vy_ocl_submission_start   acquires a slot
 *   vy_ocl_submission_bind    determines the location of every buffer
 *   vy_ocl_submission_submit  copies the caller's inputs and enqueues the kernel; returns while the device works
 *   vy_ocl_submission_finish  waits, decodes the result, delivers the outputs
 *   vy_ocl_submission_end     releases the slot, after success and after failure
 *
 * A buffer of host bytes is copied through the slot's arena, or it is direct: if kernels can access host memory, its
 * memory object wraps the caller's bytes. The arena stores read-only buffers first, then read-write buffers, then
 * write-only buffers, so that a small dispatch uploads all inputs with one copy and reads back all outputs with one. */
#ifndef VY_BACKENDS_OPENCL_SUBMISSION_H
#define VY_BACKENDS_OPENCL_SUBMISSION_H

#include "backends/opencl/launch.h"

/* Large. Only the entries of existing buffers are initialised, so do not clear it. */
typedef struct vy_ocl_submission {
    vy_ocl *ocl;
    vy_ocl_executable *code; /* borrowed */
    vy_ocl_slot *slot;
    vy_ocl_kernel *kernel; /* the kernel that runs */
    vyre_trap *trap;
    const uint32_t *cancel;
    uint64_t deadline_ns;
    vyre_timing *timing; /* NULL: not requested */
    uint64_t start_ns, submitted_ns;
    uint64_t read_start, write_start, arena_bytes; /* offsets of the outputs and of the write-only buffers; size */
    uint32_t direct_count;
    uint8_t is_small;                   /* the arena fits in staging memory */
    uint8_t is_finished, was_signalled; /* no work is pending; a stop was requested */
    vy_ocl_place places[VY_LIMIT_BUFFERS];
    const void *sources[VY_LIMIT_BUFFERS]; /* host bytes of inputs */
    uint64_t sizes[VY_LIMIT_BUFFERS];      /* bytes */
    uint8_t kinds[VY_LIMIT_BUFFERS];       /* VY_OCL_RESIDENT, … */
    vy_ocl_area direct[VY_LIMIT_BUFFERS];  /* the first direct_count */
} vy_ocl_submission;
enum { VY_OCL_RESIDENT, VY_OCL_COPIED, VY_OCL_DIRECT };

vyre_status vy_ocl_submission_start(vy_ocl_submission *submission, vy_ocl_executable *code, const vyre_launch *launch,
                                    vyre_timing *timing, vyre_error *error);
/* inputs: host bytes; bindings: one resource per buffer. outputs: receives the host outputs, and buffers may be direct;
 * NULL: all host bytes are copied, so the caller may free its bytes after the submission. */
vyre_status vy_ocl_submission_bind(vy_ocl_submission *submission, const vyre_launch *launch, const vyre_span *inputs,
                                   const vyre_resource *bindings, vyre_outputs *outputs, vyre_error *error);
vyre_status vy_ocl_submission_submit(vy_ocl_submission *submission, const vyre_launch *launch, vyre_error *error);
/* outputs may be NULL if all written buffers are resident. The entries of resident outputs stay empty. */
vyre_status vy_ocl_submission_finish(vy_ocl_submission *submission, vyre_outputs *outputs, vyre_error *error);
void vy_ocl_submission_end(vy_ocl_submission *submission);

/* Runs all steps of a synchronous dispatch. Unless the program has no buffers, exactly one of inputs and bindings is
 * not NULL. */
vyre_status vy_ocl_submission_run(vy_ocl_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  const vyre_resource *bindings, vyre_outputs *outputs, vyre_timing *timing,
                                  vyre_error *error);

#endif
