/* Pipelines of the `cpu` backend: programs that were compiled or loaded once. */
#ifndef VY_BACKENDS_CPU_PIPELINE_H
#define VY_BACKENDS_CPU_PIPELINE_H

#include "backends/cpu/cpu.h"

/* Entries of the backend's table. */
vyre_status vy_cpu_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_cpu_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_cpu_pipeline_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                                     const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                     size_t *failed, vyre_error *error);

#endif
