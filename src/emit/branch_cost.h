/* Cost function of if-conversion: whether the statements of an `if` are cheap enough to become straight-line code. */
#ifndef VY_EMIT_BRANCH_COST_H
#define VY_EMIT_BRANCH_COST_H

#include "ir/model.h"

/* The cost of statements, and its limits. Loads and stores are accesses, not ops; a nested `if` is an op. */
typedef struct vy_branch_cost {
    uint32_t ops, accesses, most_ops, most_accesses;
    int is_trip;  /* the statements are an iteration of a loop, which always executes */
    int is_long;  /* there is an expensive op, or a statement that cannot be converted */
    int is_local; /* stores are not allowed: only variables are assigned */
} vy_branch_cost;

/* Adds the cost of the statements [first, end), which include their bodies; stops when the cost is high. */
void vy_branch_cost_add(const vyre_program *program, uint32_t first, uint32_t end, vy_branch_cost *cost);

static inline int vy_branch_cost_is_high(const vy_branch_cost *cost) {
    return cost->is_long || cost->ops > cost->most_ops || cost->accesses > cost->most_accesses;
}

#endif
