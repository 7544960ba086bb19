/* Batches: independent dispatches of one code from host bytes. Small ones are spread over the threads item by item, large ones each over all threads. */
#ifndef VY_BACKENDS_CPU_BATCH_H
#define VY_BACKENDS_CPU_BATCH_H

#include "backends/cpu/cpu.h"

/* As dispatch_batched_into of the contract: the first item in order that fails is named. */
vyre_status vy_cpu_batch(vy_cpu *cpu, vy_cpu_executable *code, const vyre_launch *launches,
                         const vyre_span *const *inputs, size_t count, vyre_outputs *outputs, size_t *failed,
                         vyre_error *error);

#endif
