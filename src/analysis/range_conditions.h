/* Conditions: what follows for subjects where one holds, or does not. Internal to optimize_range*.c.
 *
 * What must stay true: only what follows in mathematical integers is learned, so a sum or a difference that might wrap says nothing; and where a condition cannot
 * hold, facts stay as they were, since nobody comes there. */
#ifndef VY_ANALYSIS_RANGE_CONDITIONS_H
#define VY_ANALYSIS_RANGE_CONDITIONS_H

#include "analysis/range_state.h"

/* The condition at `expr`, which was visited, is `holds` from here on, until it is undone. */
void vy_facts_assume(vy_ranges *r, uint32_t expr, int holds);

#endif
