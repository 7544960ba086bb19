/* Dispatches in flight: a task of the pool with copies of all it was lent. */
#ifndef VY_BACKENDS_CPU_PENDING_H
#define VY_BACKENDS_CPU_PENDING_H

#include "backends/cpu/cpu.h"

/* Starts one. If there is no thread for it, it has run when this returns. VYRE_NO_MEMORY */
vyre_status vy_cpu_pending_start(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launch,
                                 const vyre_span *inputs, size_t input_count, vyre_native_pending *out,
                                 vyre_error *error);

#endif
