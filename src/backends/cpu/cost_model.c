/* Cost model: starts with an estimate of the time of a workgroup, and corrects it by measurements (cost_model.h). It
 * affects no result. */
#include "backends/cpu/cost_model.h"

/* An estimate for a node of straight-line code on one lane. The first measurement replaces it. */
enum { NODE_PICOSECONDS = 300 };

void vy_cpu_cost_start(vy_cpu_cost *cost, uint64_t nodes, int varies) {
    uint64_t picoseconds;
    if (__builtin_mul_overflow(nodes, NODE_PICOSECONDS, &picoseconds))
        picoseconds = UINT64_MAX;
    atomic_init(&cost->picoseconds, picoseconds);
    atomic_init(&cost->is_measured, 0);
    cost->varies = varies != 0;
}

uint64_t vy_cpu_cost_get(const vy_cpu_cost *cost) {
    return atomic_load_explicit(&cost->picoseconds, memory_order_relaxed);
}

/* Disturbances only lengthen a measurement: a shorter one is adopted; a longer one at most doubles the value, unless
 * that is still the estimate. */
void vy_cpu_cost_update(vy_cpu_cost *cost, uint64_t picoseconds, int may_be_more) {
    uint64_t before = vy_cpu_cost_get(cost);
    int is_measured = (int)atomic_load_explicit(&cost->is_measured, memory_order_relaxed);
    if (picoseconds > before && !may_be_more)
        return;
    if (picoseconds > before && is_measured && picoseconds - before > before)
        picoseconds = before + before + 1;
    atomic_store_explicit(&cost->picoseconds, picoseconds, memory_order_relaxed);
    if (!is_measured)
        atomic_store_explicit(&cost->is_measured, 1, memory_order_relaxed);
}
