/* Where the bytes of a dispatch are: inputs in place where they lie, outputs in the caller's slots, resident buffers where they are. Copied is only what is not
 * aligned for its elements, and what an output would overwrite. */
#ifndef VY_BACKENDS_CPU_BIND_H
#define VY_BACKENDS_CPU_BIND_H

#include "backends/cpu/cpu.h"

typedef struct vy_cpu_copy vy_cpu_copy;
/* Large, and filled only as far as there are buffers and params: not to be cleared. */
typedef struct vy_cpu_bound {
    vy_cpu_copy *copies;
    vy_cpu_buffer buffers[VY_LIMIT_BUFFERS];
    uint64_t params[VY_LIMIT_PARAMS];
} vy_cpu_bound;

/* Host bytes: inputs and outputs as in the contract's `dispatch`. Whatever it returns, vy_cpu_unbind follows.
 *
 * VYRE_LIMIT  a buffer has more than VY_CPU_ELEMENTS_MAX elements
 * VYRE_NO_MEMORY */
vyre_status vy_cpu_bind_host(vy_cpu *cpu, const vy_cpu_code *code, const vyre_launch *launch, const vyre_span *inputs,
                             vyre_outputs *outputs, vy_cpu_bound *bound, vyre_error *error);
/* Resources, one for each buffer; outputs (NULL if none is bound to host bytes) has a slot for each output, those of resident ones stay empty. */
vyre_status vy_cpu_bind_resources(vy_cpu *cpu, const vy_cpu_code *code, const vyre_launch *launch,
                                  const vyre_resource *bindings, vyre_outputs *outputs, vy_cpu_bound *bound,
                                  vyre_error *error);
void vy_cpu_unbind(vy_cpu_bound *bound);

#endif
