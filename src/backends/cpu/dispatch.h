/* Dispatches: binding and running put together, for pipelines and for work in flight. */
#ifndef VY_BACKENDS_CPU_DISPATCH_H
#define VY_BACKENDS_CPU_DISPATCH_H

#include "backends/cpu/binding.h"

/* One dispatch. helpers: threads beside the caller's, at most. stop: NULL, or a word of the caller's (execute.h). timing may be NULL. */
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

/* As a launch asks for it, on all threads. */
vy_cpu_call vy_cpu_call_of(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch, vy_cpu_arguments bytes);
/* Binds, runs, and gives back what was made for it. */
vyre_status vy_cpu_call_run(const vy_cpu_call *call, vyre_error *error);

#endif
