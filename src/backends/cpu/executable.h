/* Code: a loaded object and what a dispatch has to know of its program. Counted references; constant but for the measured time. */
#ifndef VY_BACKENDS_CPU_EXECUTABLE_H
#define VY_BACKENDS_CPU_EXECUTABLE_H

#include "analysis/full_write.h"
#include "backends/cpu/code_object.h"
#include "backends/cpu/cost_model.h"
#include "ir/limits.h"
#include "vyre/backend.h"

#include <stdatomic.h>

typedef struct vy_cpu_executable_buffer {
    uint8_t element; /* bytes */
    uint8_t access;  /* vyre_access */
} vy_cpu_executable_buffer;

typedef struct vy_cpu_executable {
    _Atomic uint32_t references;
    vy_cpu_code_object object;
    vy_cpu_cost cost; /* of a workgroup */
    uint32_t buffer_count;
    vy_cpu_executable_buffer buffers[VY_LIMIT_BUFFERS];
    vy_full_write *full_writes; /* by buffer */
    char name[VY_LIMIT_NAME + 1];
} vy_cpu_executable;

/* Loads an object of this program. Fails as vy_cpu_code_object_load. */
vyre_status vy_cpu_executable_new(const vyre_program *program, vyre_span object, uint64_t features,
                                  vy_cpu_executable **out, vyre_error *error);
vy_cpu_executable *vy_cpu_executable_retain(vy_cpu_executable *code);
void vy_cpu_executable_release(vy_cpu_executable *code);

#endif
