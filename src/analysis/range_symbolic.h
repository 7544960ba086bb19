/* Bounds of expressions: which lengths, known only to the dispatch, a value is below. Internal to optimize_range*.c.
 *
 * What must stay true: bounds are of mathematical integers, so only what cannot wrap, and is not below zero, passes them on; and more bounds are never wrong to
 * leave out. The caller sets r->effort where a question begins. */
#ifndef VY_ANALYSIS_RANGE_SYMBOLIC_H
#define VY_ANALYSIS_RANGE_SYMBOLIC_H

#include "analysis/range_state.h"

/* The lengths a value is below for certain: those of a subject, or of something that is not above one or not far above. Recursion is bounded by
 * VY_RANGE_DEPTH, also through the values of `let`s. */
vy_symbolic_bounds vy_symbolic_bounds_of(vy_ranges *r, uint32_t expr);
/* The lengths that something less than an expression is below; `less` 0: something that is not more. */
void vy_symbolic_bounds_add_less(vy_ranges *r, vy_symbolic_bounds *all, uint32_t expr, int less);
/* Whether an expression is less than a length for certain; of VY_NONE it is not. A question of its own: sets r->effort. */
int vy_is_below_length(vy_ranges *r, uint32_t expr, uint32_t length);

#endif
