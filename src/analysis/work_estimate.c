/* Work estimate (work_estimate.h): one walk over the statements, which multiplies by the trip counts of loops. It
 * affects no result. */
#include "analysis/work_estimate.h"

#include "analysis/trip_count.h"

enum { UNKNOWN_TRIPS = 8 };
#define MOST_TRIPS (UINT64_C(1) << 20) /* the product over all loops around a statement */

/* The iterations of a loop; 0: unknown. */
static uint64_t trips_of(const vyre_program *p, uint32_t index) {
    const vy_stmt *s = &p->stmts.items[index];
    vy_trips trips;
    if (vy_loop_runs_once(p, index))
        return 1;
    if (s->kind != VY_STMT_FOR || !vy_trips_of(p, s, &trips))
        return 0;
    uint64_t count = vy_trips_count(&trips);
    return count > MOST_TRIPS ? MOST_TRIPS : count ? count : 1;
}

/* Counts statements, weighted by their executions. Recursion is bounded by VY_LIMIT_NESTING. */
static uint64_t count(const vyre_program *p, uint32_t first, uint32_t end, uint64_t trips, uint8_t *varies) {
    const vy_stmt *stmts = p->stmts.items;
    uint64_t all = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        uint64_t inside = 1;
        if (vy_stmt_is_loop(stmts[i].kind)) {
            inside = trips_of(p, i);
            *varies |= !inside;
            inside = inside ? inside : UNKNOWN_TRIPS;
        }
        inside = trips * inside < MOST_TRIPS ? trips * inside : MOST_TRIPS;
        all += inside + count(p, i + 1, stmts[i].end, inside, varies);
    }
    return all;
}

vy_work_estimate vy_work_estimate_of(const vyre_program *program) {
    const uint32_t *size = program->workgroup;
    vy_work_estimate made = {.varies = 0};
    uint32_t stmts = program->stmts.count;
    uint64_t executed = count(program, 0, stmts, 1, &made.varies);
    uint64_t nodes = executed * (1 + program->exprs.count / (stmts ? stmts : 1)) + 1;
    made.nodes = nodes * ((uint64_t)size[0] * size[1] * size[2]);
    return made;
}
