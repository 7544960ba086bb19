/* Cost model: the time of a workgroup on one thread, first estimated from the program, then measured. It determines
 * how many threads a dispatch uses. It affects no result. */
#ifndef VY_BACKENDS_CPU_COST_MODEL_H
#define VY_BACKENDS_CPU_COST_MODEL_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct vy_cpu_cost {
    _Atomic uint64_t picoseconds;
    _Atomic uint32_t is_measured;
    uint32_t varies; /* trip counts depend on data or arguments, so measurements vary between dispatches */
} vy_cpu_cost;

/* Starts with an estimate: the nodes that a workgroup evaluates, and whether they vary (analysis/launch_facts.h). */
void vy_cpu_cost_start(vy_cpu_cost *cost, uint64_t nodes, int varies);
uint64_t vy_cpu_cost_get(const vy_cpu_cost *cost);
/* Records the measured time per workgroup of a dispatch. may_be_more: 0 if the measurement may not increase the
 * value. */
void vy_cpu_cost_update(vy_cpu_cost *cost, uint64_t picoseconds, int may_be_more);

#endif
