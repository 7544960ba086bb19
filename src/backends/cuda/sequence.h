/* Several launches on one stream, with one wait for all that cannot trap: sequences and batches.
 *
 * A step that traps is the last: its trap is seen before the next one starts. So each step that may trap is waited for, and the others are not. Those that cannot
 * are graphs, where they come again (graph.h). */
#ifndef VY_BACKENDS_CUDA_SEQUENCE_H
#define VY_BACKENDS_CUDA_SEQUENCE_H

#include "backends/cuda/executable.h"

/* The bindings of a batch: a list for each item, or rows of four. */
typedef struct vy_cuda_batch_bindings {
    const vyre_resource *const *each; /* or NULL, and */
    const vyre_resource (*four)[4];
} vy_cuda_batch_bindings;

/* Entries of a pipeline's table; they enter. */
vyre_status vy_cuda_batch_host(vy_cuda_executable *code, const vyre_launch *launches, const vyre_span *const *inputs,
                               size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error);
vyre_status vy_cuda_batch_resources(vy_cuda_executable *code, const vyre_launch *launches,
                                    const vy_cuda_batch_bindings *rows, size_t count, vyre_outputs *outputs,
                                    size_t *failed, vyre_error *error);
/* Of the backend's. */
vyre_status vy_cuda_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                             const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                             vyre_error *error);

#endif
