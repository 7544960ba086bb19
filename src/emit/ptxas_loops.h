/* Which loops ptxas counts correctly: NVIDIA's compiler of PTX, and the last part of its compiler of OpenCL C.
 *
 * ptxas computes the trip count of a loop whose only exit compares an induction variable, and unrolls by it. But it
 * assumes that nothing wraps (E13, docs/internals/ptx.md). So a loop is left to ptxas only if no exit is such a
 * comparison, or if all computed values fit in the type. */
#ifndef VY_EMIT_PTXAS_LOOPS_H
#define VY_EMIT_PTXAS_LOOPS_H

#include "analysis/def_use.h"
#include "analysis/interval.h"

/* The condition of a loop: there is another iteration while a number of the type, initially in `from`, compares with
 * one in `to`. */
typedef struct vy_ptxas_trip_count {
    uint8_t type;
    vyre_op goes_on; /* LT, LE, GT, GE, NE */
    vy_wide step;
    vy_interval from, to;
} vy_ptxas_trip_count;

/* Whether ptxas counts the iterations of such a loop correctly. */
int vy_ptxas_counts_rightly(const vy_ptxas_trip_count *counting);

/* The same for a `for` without other exits. */
int vy_ptxas_counts_for_rightly(const vyre_program *program, const vy_stmt *loop);

enum { VY_PTXAS_LOOPS_NEED = VY_DEF_USE_DEFINITIONS | VY_DEF_USE_PARENTS };

/* The same for the condition of a `while` and the exits in the body of any loop. `uses` has VY_PTXAS_LOOPS_NEED. */
int vy_ptxas_exits_are_safe(const vy_def_use *uses, uint32_t loop);

/* Whether a statement of the loop is the first that adds an amount to a certain integer from outside. `uses` as
 * above. */
int vy_ptxas_steps_first(const vy_def_use *uses, uint32_t loop, uint32_t at);

#endif
