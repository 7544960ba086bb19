/* Dispatches of the `cpu` backend: binding of buffers, execution, batches, and asynchronous dispatches as tasks of
 * the pool. Invariant: an input is never overwritten before it is read. */
#ifndef VY_BACKENDS_CPU_DISPATCH_H
#define VY_BACKENDS_CPU_DISPATCH_H

#include "backends/cpu/cpu.h"

/* ---- binding ---- Inputs, resident buffers and the caller's output slots are accessed directly. An input is copied
 * only if it is not aligned for its elements, or if an output would overwrite it. */

/* The arguments of a dispatch: host bytes, or resources. */
typedef struct vy_cpu_arguments {
    const vyre_span *inputs;       /* as in the contract's `dispatch`; or … */
    const vyre_resource *bindings; /* … one for each buffer, if not NULL */
    vyre_outputs *outputs; /* a slot for each output; slots of resident outputs stay empty; NULL if no output is host
                            * bytes */
} vy_cpu_arguments;

/* ---- dispatches ---- */

/* One dispatch. helpers: most threads in addition to the caller's. stop: NULL, or a word of the caller (execute.h).
 * timing may be NULL. */
typedef struct vy_cpu_call {
    vy_cpu *cpu;
    vy_cpu_executable *code;
    const vyre_launch *launch;
    vy_cpu_arguments bytes;
    unsigned helpers;
    _Atomic uint32_t *stop;
    vyre_trap *trap;
    vyre_timing *timing;
} vy_cpu_call;

/* A call for a launch, on all threads. */
vy_cpu_call vy_cpu_call_of(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch, vy_cpu_arguments bytes);
/* Binds the arguments, runs the dispatch, and releases temporary copies. */
vyre_status vy_cpu_call_run(const vy_cpu_call *call, vyre_error *error);

/* ---- batches ----
 *
 * Independent dispatches of one executable from host bytes. Small items are distributed over the threads one by one;
 * large items each run on all threads. */

/* Like dispatch_batched_into of the contract: reports the first item in order that fails. */
vyre_status vy_cpu_batch(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launches,
                         const vyre_span *const *inputs, size_t count, vyre_outputs *outputs, size_t *failed,
                         vyre_error *error);

/* ---- asynchronous dispatches ----
 *
 * A task of the pool, with copies of all borrowed arguments. */

/* Starts a dispatch. If no thread is available, it has run when this returns. VYRE_NO_MEMORY */
vyre_status vy_cpu_pending_start(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch,
                                 const vyre_span *inputs, size_t input_count, vyre_native_pending *out,
                                 vyre_error *error);

/* Pipelines of the `cpu` backend: programs that were compiled or loaded once. */
/* Functions of the backend table. */
vyre_status vy_cpu_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_cpu_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_cpu_pipeline_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                                     const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                     size_t *failed, vyre_error *error);

#endif
