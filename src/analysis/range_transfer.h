/* Expressions: between which values each lies, what a comparison of them gives, and whether an index is inside. Internal to optimize_range*.c.
 *
 * What must stay true: operands come before what uses them, so one run over the expressions of a statement finds every operand visited; and an answer holds
 * for what is known at that statement, before it does anything. */
#ifndef VY_ANALYSIS_RANGE_TRANSFER_H
#define VY_ANALYSIS_RANGE_TRANSFER_H

#include "analysis/range_state.h"

/* All expressions of a statement, which follow those of the statement visited before. */
void vy_ranges_visit_exprs(vy_ranges *r, const vy_stmt *s);
/* Whether an index that was visited is inside a memory for certain. */
uint8_t vy_index_is_inside(vy_ranges *r, uint32_t memory, uint32_t index);

#endif
