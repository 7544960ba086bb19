/* Where the bytes of a dispatch are: inputs in place where they lie, outputs in the caller's slots, resident buffers where they are. Copied is only what is not
 * aligned for its elements, and what an output would overwrite. */
#ifndef VY_BACKENDS_CPU_BINDING_H
#define VY_BACKENDS_CPU_BINDING_H

#include "backends/cpu/cpu.h"

typedef struct vy_cpu_copy vy_cpu_copy;
/* Large, and filled only as far as there are buffers and params: not to be cleared. */
typedef struct vy_cpu_bindings {
    vy_cpu_copy *copies;
    vy_cpu_buffer buffers[VY_LIMIT_BUFFERS];
    uint64_t params[VY_LIMIT_PARAMS];
} vy_cpu_bindings;

/* What the buffers of a dispatch are bound to: host bytes, or resources. */
typedef struct vy_cpu_arguments {
    const vyre_span *inputs;       /* as in the contract's `dispatch`; or … */
    const vyre_resource *bindings; /* … one for each buffer, if not NULL */
    vyre_outputs *outputs; /* a slot for each output, those of resident ones stay empty; NULL if none is host bytes */
} vy_cpu_arguments;

/* Whatever it returns, vy_cpu_unbind follows.
 *
 * VYRE_LIMIT             a buffer has more than VY_CPU_ELEMENTS_MAX elements
 * VYRE_INVALID_ARGUMENT  what is written is bound to host bytes, and there are no outputs
 * VYRE_NO_MEMORY */
vyre_status vy_cpu_bind(vy_cpu *cpu, const vy_cpu_executable *code, const vyre_launch *launch,
                        const vy_cpu_arguments *bytes, vy_cpu_bindings *bound, vyre_error *error);
void vy_cpu_unbind(vy_cpu_bindings *bound);

#endif
