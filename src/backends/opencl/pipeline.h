/* Pipelines: programs compiled or loaded once, and all forms of dispatch: single, batched, sequences of several
 * pipelines. */
#ifndef VY_BACKENDS_OPENCL_PIPELINE_H
#define VY_BACKENDS_OPENCL_PIPELINE_H

#include "backends/opencl/executable.h"

/* The state of a native pipeline: the target of `self`. */
typedef struct vy_ocl_pipeline {
    vy_ocl *ocl;
    vy_ocl_executable *code;
} vy_ocl_pipeline;

/* Entries of the backend's table. */
vyre_status vy_ocl_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_ocl_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_ocl_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                            const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                            vyre_error *error);

#endif
