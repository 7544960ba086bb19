/* The cost of statements without their branches: whether an `if` may become straight-line code (if-conversion). */
#ifndef VY_EMIT_BRANCH_COST_H
#define VY_EMIT_BRANCH_COST_H

#include "ir/model.h"

/* The cost, and its limits. An access is also an op. */
typedef struct vy_branch_cost {
    uint32_t ops, accesses, most_ops, most_accesses;
    int is_trip;  /* of an iteration, which is always executed */
    int is_long;  /* it contains anything else */
    int is_local; /* stores are not allowed: only variables are assigned */
} vy_branch_cost;

/* Adds the statements [first, end), whole ones, until the cost is high. */
void vy_branch_cost_add(const vyre_program *program, uint32_t first, uint32_t end, vy_branch_cost *cost);

static inline int vy_branch_cost_is_high(const vy_branch_cost *cost) {
    return cost->is_long || cost->ops > cost->most_ops || cost->accesses > cost->most_accesses;
}

#endif
