/* Pipelines: programs compiled or loaded once, and all forms of dispatch: single, batched, sequences of several
 * pipelines. */
#ifndef VY_BACKENDS_CUDA_PIPELINE_H
#define VY_BACKENDS_CUDA_PIPELINE_H

#include "backends/cuda/executable.h"

/* ---- pipelines ---- */

/* What `self` of a native pipeline points at. */
typedef struct vy_cuda_pipeline {
    vy_cuda *cuda;
    vy_cuda_executable *code;
} vy_cuda_pipeline;

/* Entries of the backend's table. */
vyre_status vy_cuda_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                     vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_cuda_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                  vyre_span binary, vyre_native_pipeline *out, vyre_error *error);

/* ---- sequences and batches ----
 *
 * Several launches on one stream, with one wait for all that cannot trap.
 *
 * A step that traps is the last: its trap must be seen before the next step starts. So each step that may trap is
 * waited for, and the others are not. Steps that cannot trap are launched as graphs when they are repeated
 * (graph.h). */

/* The bindings of a batch: a list for each item, or rows of four. */
typedef struct vy_cuda_batch_bindings {
    const vyre_resource *const *each; /* or NULL, and */
    const vyre_resource (*four)[4];
} vy_cuda_batch_bindings;
/* Of the backend's. */
vyre_status vy_cuda_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                             const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                             vyre_error *error);

#endif
