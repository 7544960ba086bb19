/* Cost model: the time that a workgroup takes on one thread, first estimated from the program, then measured. It
 * decides how many threads a dispatch uses. */
#ifndef VY_BACKENDS_CPU_COST_MODEL_H
#define VY_BACKENDS_CPU_COST_MODEL_H

#include "vyre/program.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct vy_cpu_cost {
    _Atomic uint64_t picoseconds;
    _Atomic uint32_t is_measured;
    /* it loops as often as only the data or the dispatch knows: one dispatch says little of the next */
    uint32_t varies;
} vy_cpu_cost;

void vy_cpu_cost_estimate(const vyre_program *program, vy_cpu_cost *out);
uint64_t vy_cpu_cost_get(const vy_cpu_cost *cost);
/* What a dispatch took, for each of its workgroups. may_be_more: 0 if it cannot show that they take longer than was
 * known. */
void vy_cpu_cost_update(vy_cpu_cost *cost, uint64_t picoseconds, int may_be_more);

#endif
