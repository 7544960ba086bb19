/* Cost model: estimates the time of a workgroup from the program, and corrects it by measurements (cost_model.h). */
#include "backends/cpu/cost_model.h"

#include "ir/model.h"

/* A third of a nanosecond for each node of the program and invocation is about right for straight code of one lane.
 * How often a loop is run whose trips are not numbers in the program is anybody's guess, and the first measurement
 * replaces it. */
enum { NODE_PICOSECONDS = 300, UNKNOWN_TRIPS = 8 };
#define MOST_TRIPS (UINT64_C(1) << 20) /* of all loops around a statement together */

/* Trips of a `for` between literals; 0: not known. */
static uint64_t trip_count_of(const vyre_program *p, uint32_t index) {
    const vy_stmt *s = &p->stmts.items[index];
    const uint32_t bounds[3] = {s->a, s->b, s->c};
    uint64_t bits[3] = {0, 0, 1};
    if (vy_loop_runs_once(p, index))
        return 1;
    if (s->kind != VY_STMT_FOR)
        return 0;
    for (int i = 0; i < 3; i++)
        if (bounds[i] != VY_NONE) {
            if (p->exprs.items[bounds[i]].kind != VY_EXPR_LITERAL)
                return 0;
            bits[i] = p->exprs.items[bounds[i]].bits;
        }
    uint64_t trips = bits[1] > bits[0] && bits[2] ? (bits[1] - bits[0] - 1) / bits[2] + 1 : 1;
    return trips < MOST_TRIPS ? trips : MOST_TRIPS;
}

/* Statements as often as they are run. Recursion is bounded by VY_LIMIT_NESTING. */
static uint64_t count(const vyre_program *p, uint32_t first, uint32_t end, uint64_t trips, uint32_t *varies) {
    const vy_stmt *stmts = p->stmts.items;
    uint64_t all = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        uint64_t inside = 1;
        if (vy_stmt_is_loop(stmts[i].kind)) {
            inside = trip_count_of(p, i);
            *varies |= !inside;
            inside = inside ? inside : UNKNOWN_TRIPS;
        }
        inside = trips * inside < MOST_TRIPS ? trips * inside : MOST_TRIPS;
        all += inside + count(p, i + 1, stmts[i].end, inside, varies);
    }
    return all;
}

void vy_cpu_cost_estimate(const vyre_program *program, vy_cpu_cost *out) {
    const uint32_t *size = program->workgroup;
    uint32_t varies = 0, stmts = program->stmts.count;
    uint64_t run = count(program, 0, stmts, 1, &varies);
    uint64_t nodes = run * (1 + program->exprs.count / (stmts ? stmts : 1)) + 1;
    atomic_init(&out->picoseconds, nodes * NODE_PICOSECONDS * ((uint64_t)size[0] * size[1] * size[2]));
    atomic_init(&out->is_measured, 0);
    out->varies = varies;
}

uint64_t vy_cpu_cost_get(const vy_cpu_cost *cost) {
    return atomic_load_explicit(&cost->picoseconds, memory_order_relaxed);
}

/* What disturbs a measurement makes it longer: down at once, up to twice as much. A guess is no measurement. */
void vy_cpu_cost_update(vy_cpu_cost *cost, uint64_t picoseconds, int may_be_more) {
    uint64_t before = vy_cpu_cost_get(cost);
    int is_measured = (int)atomic_load_explicit(&cost->is_measured, memory_order_relaxed);
    if (picoseconds > before && !may_be_more)
        return;
    if (picoseconds > before && is_measured && picoseconds - before > before)
        picoseconds = before + before + 1;
    atomic_store_explicit(&cost->picoseconds, picoseconds, memory_order_relaxed);
    if (!is_measured)
        atomic_store_explicit(&cost->is_measured, 1, memory_order_relaxed);
}
