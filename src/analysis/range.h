/* Range analysis: the interval of every integer expression, the comparisons with a known result, and the accesses that
 * are always in bounds.
 *
 * One forward walk over a program without calls of its own functions. Intervals are narrowed by the bounds of a `for`,
 * by dominating conditions, masks, remainders and minima. A value that was compared with a length known only at the
 * dispatch has a symbolic bound (symbolic_length.h), with the amount that may be added to it (`i < len(x) && len(x) - i
 * >= 4`). At the head of a loop every variable that its body assigns is unknown; so is, after an `if`, every variable
 * that its branches assign, unless a branch does not fall through.
 *
 * Sound, not complete: the answer 1 holds in every run; 0 means unknown. */
#ifndef VY_ANALYSIS_RANGE_H
#define VY_ANALYSIS_RANGE_H

#include "analysis/interval.h"
#include "analysis/symbolic_length.h"

/* What the analysis relies on. All are true; a test turns one off to see that the campaign of the optimiser finds
 * it. */
typedef struct vy_range_rules {
    uint8_t last_value_counts; /* the values of a `for` go up to its end, less one */
    uint8_t else_is_opposite;  /* in the second branch of an `if` its condition is false */
    uint8_t length_is_outside; /* what is not above a length may be it, and outside */
} vy_range_rules;
extern const vy_range_rules vy_range_rules_sound;

/* Immutable once made, any thread; free with vy_ranges_free. The program is borrowed and must outlive it. */
typedef struct vy_ranges vy_ranges;
vyre_status vy_ranges_make(const vyre_program *program, vy_ranges **out, vyre_error *error);
/* What somebody will ask, beyond the ranges themselves. Nothing is known of the rest. */
enum { VY_ASKS_COMPARISONS = 1, VY_ASKS_LOADS = 2, VY_ASKS_STORES = 4, VY_ASKS_ALL = 7 };
/* By other rules. */
vyre_status vy_ranges_make_by(const vyre_program *program, const vy_range_rules *rules, unsigned asks, vy_ranges **out,
                              vyre_error *error);
void vy_ranges_free(vy_ranges *ranges);

/* The range of an expression of integer type. */
vy_range vy_range_of(const vy_ranges *ranges, uint32_t expr);
/* What a comparison of integers gives wherever it is evaluated: 0, 1, or -1 if that is not known. */
int vy_comparison_is(const vy_ranges *ranges, uint32_t expr);
/* Whether the index of a load (an expression), or of a store or atomic (a statement), is always inside its memory. */
int vy_load_is_inside(const vy_ranges *ranges, uint32_t expr);
int vy_stmt_is_inside(const vy_ranges *ranges, uint32_t stmt);

#endif
