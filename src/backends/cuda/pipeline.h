/* Pipelines: code that was compiled or loaded once, in all forms of dispatch. */
#ifndef VY_BACKENDS_CUDA_PIPELINE_H
#define VY_BACKENDS_CUDA_PIPELINE_H

#include "backends/cuda/executable.h"

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

#endif
