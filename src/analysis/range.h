/* Ranges: between which values an integer expression lies wherever it is evaluated, and which accesses are always inside.
 *
 * One walk over a program without calls of its own functions, in order: intervals of integers for every expression, narrowed by bounds of
 * `for`, conditions around the place, masks, remainders, minima; and "below the length of this buffer" for values that were compared with a
 * length only the dispatch knows, also with how much may be added (`i < len(x) && len(x) - i >= 4`). At the head of a loop whatever its body assigns may be anything, and behind an `if` whatever its branches
 * assigned, unless a branch does not come back.
 *
 * Sound, not complete: an answer of 1 holds in every run; 0 says nothing. */
#ifndef VY_ANALYSIS_RANGE_H
#define VY_ANALYSIS_RANGE_H

#include "analysis/interval.h"
#include "analysis/symbolic_length.h"

/* What the analysis relies on. All are true; a test turns one off to see that the campaign of the optimiser finds it. */
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
