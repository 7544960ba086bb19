/* Values: what an expression is for an invocation of the workgroup, without running the program. Internal to legal_fill_*.c.
 *
 * What must stay true: whether a value is known does not depend on the invocation; f->uses_place is set, and never cleared here, once one depends on the place in the
 * workgroup; they are computed in the environment of vy_fenv_enter, which the walk as a whole is in; and every node counts as a step, also of those that are computed for all invocations together. */
#ifndef VY_LOWER_DEFINITE_INIT_EVAL_H
#define VY_LOWER_DEFINITE_INIT_EVAL_H

#include "lower/definite_init.h"
#include "opt/pass_manager.h"

/* The bits of a value; 0 if it is not known. */
int vy_definite_init_value(vy_definite_init *f, uint32_t expr, uint32_t invocation, uint64_t *out);
/* The same as a mathematical integer. */
int vy_definite_init_integer(vy_definite_init *f, uint32_t expr, uint32_t invocation, vy_wide *out);

/* An index that is computed for one invocation after the other, from the first on. Of one that depends on the place those of all are computed together. */
typedef struct vy_definite_init_lanes {
    uint64_t *values; /* by invocation, once the first is known */
    uint32_t cost;    /* steps of one */
    vy_arena arena;
} vy_definite_init_lanes;

/* As long as those of all are not there. May fail: f->failed. */
int vy_definite_init_first(vy_definite_init *f, vy_definite_init_lanes *lanes, uint32_t expr, uint32_t invocation,
                           vy_wide *out);

/* vy_definite_init_integer, for one invocation after the other. The caller frees the arena. Inline, since it is asked for every invocation. */
static inline int vy_definite_init_next(vy_definite_init *f, vy_definite_init_lanes *lanes, uint32_t expr,
                                        uint32_t invocation, vy_wide *out) {
    if (!lanes->values)
        return vy_definite_init_first(f, lanes, expr, invocation, out);
    int goes_on = f->steps + lanes->cost <= VY_DEFINITE_INIT_STEPS;
    f->steps = goes_on ? f->steps + lanes->cost : VY_DEFINITE_INIT_STEPS + 1;
    f->uses_place = 1;
    *out = vy_integer_of(f->p->exprs.items[expr].type, lanes->values[invocation]);
    return goes_on;
}

#endif
