/* Range analysis: the interval of every expression of integers, f32 and f64, the comparisons with a known result, and
 * the accesses that are always in bounds.
 *
 * One forward walk over a program without internal calls. Intervals are narrowed by the bounds of a `for`, by
 * dominating conditions, masks, remainders and minima. A value that was compared with a length known only at the
 * dispatch has a symbolic bound (symbolic_length.h), with the amount that may be added to it (`i < len(x) && len(x)
 * - i >= 4`). At the head of a loop every variable that its body assigns is unknown; so is, after an `if`, every
 * variable that its branches assign, unless a branch does not fall through.
 *
 * Every change of statements, expressions, variables or memories invalidates the result: it is stored by index.
 * Sound, not complete: the answer 1 holds in every run; 0 means unknown. */
#ifndef VY_ANALYSIS_RANGE_H
#define VY_ANALYSIS_RANGE_H

#include "analysis/interval.h"
#include "analysis/symbolic_length.h"

/* Rules of the analysis. All are 1; a test disables one to check that the campaign of the optimiser finds the error. */
typedef struct vy_range_rules {
    uint8_t last_value_counts; /* the values of a `for` include end - 1 */
    uint8_t else_is_opposite;  /* the condition is false in the else branch */
    uint8_t length_is_outside; /* an index equal to the length is out of bounds */
} vy_range_rules;
extern const vy_range_rules vy_range_rules_sound;

/* Immutable once made, any thread; free with vy_ranges_free. The program is borrowed and must outlive it. */
typedef struct vy_ranges vy_ranges;
vyre_status vy_ranges_make(const vyre_program *program, vy_ranges **out, vyre_error *error);
/* Results to compute in addition to the ranges. Other queries return unknown. */
enum { VY_ASKS_COMPARISONS = 1, VY_ASKS_LOADS = 2, VY_ASKS_STORES = 4, VY_ASKS_ALL = 7 };
/* The same with other rules and a subset of the results. */
vyre_status vy_ranges_make_by(const vyre_program *program, const vy_range_rules *rules, unsigned asks, vy_ranges **out,
                              vyre_error *error);
void vy_ranges_free(vy_ranges *ranges);

/* The range of an expression of integer type, and of f32 and f64 (interval.h). */
vy_range vy_range_of(const vy_ranges *ranges, uint32_t expr);
/* The value of a comparison of integers wherever it is evaluated: 0, 1, or -1 if unknown. */
int vy_comparison_is(const vy_ranges *ranges, uint32_t expr);
/* Whether the index of a load (an expression), or of a store or atomic (a statement), is always in bounds. */
int vy_load_is_inside(const vy_ranges *ranges, uint32_t expr);
int vy_stmt_is_inside(const vy_ranges *ranges, uint32_t stmt);

#endif
