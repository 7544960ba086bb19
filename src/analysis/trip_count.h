/* Trip count of a `for`: the iterations of a loop whose bounds are known, in mathematical integers.
 *
 * The semantics is that of the language: a, a + c, … while below b, or above b if c is negative; no iteration if c is
 * zero; no value wraps. Nothing is stored, so nothing can become invalid. */
#ifndef VY_ANALYSIS_TRIP_COUNT_H
#define VY_ANALYSIS_TRIP_COUNT_H

#include "analysis/interval.h"
#include "analysis/literal.h"

/* The iterations that are left: the next value, the bound, and the step. */
typedef struct vy_trips {
    vy_wide next, end, step;
} vy_trips;

/* Whether there is another iteration. After it, add `step` to `next`. */
static inline int vy_trips_remain(const vy_trips *t) {
    return t->step > 0 ? t->next < t->end : t->step < 0 && t->next > t->end;
}

/* The number of iterations that are left. */
static inline uint64_t vy_trips_count(const vy_trips *t) {
    vy_wide way = t->end - t->next;
    return vy_trips_remain(t) ? (uint64_t)(way / t->step + (way % t->step != 0)) : 0;
}

/* The iterations of a loop whose bounds have these bits. */
static inline vy_trips vy_trips_from(uint8_t type, uint64_t from, uint64_t to, uint64_t step) {
    return (vy_trips){vy_integer_of(type, from), vy_integer_of(type, to), vy_integer_of(type, step)};
}

/* The iterations of a loop from literal `from` to literal `to` by literal `by` (NULL: 1). Returns 0 if one of them is
 * not a literal. */
static inline int vy_trips_of_literals(const vy_expr *from, const vy_expr *to, const vy_expr *by, vy_trips *out) {
    if (from->kind != VY_EXPR_LITERAL || to->kind != VY_EXPR_LITERAL || (by && by->kind != VY_EXPR_LITERAL))
        return 0;
    *out = vy_trips_from(from->type, from->bits, to->bits, by ? by->bits : 1);
    return 1;
}

/* The same for a `for` statement. */
static inline int vy_trips_of(const vyre_program *p, const vy_stmt *s, vy_trips *out) {
    const vy_expr *exprs = p->exprs.items;
    return vy_trips_of_literals(&exprs[s->a], &exprs[s->b], s->c == VY_NONE ? NULL : &exprs[s->c], out);
}

#endif
