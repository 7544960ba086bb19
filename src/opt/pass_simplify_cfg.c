/* Control-flow simplification: replaces an `if` with a literal condition by the branch taken, and removes empty blocks,
 * loops without iterations, and unreachable statements after a jump or trap.
 *
 * A branch that is spliced into the enclosing block may end in a jump: the rewriter then drops the rest of that block,
 * which is unreachable. Names that collide there get suffixes. Conditions and bounds have no effects, so they can be
 * dropped. A `while` is removed only if its condition is false: an endless loop stays endless. */
#include "analysis/trip_count.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

/* Whether a `for` certainly makes no iteration. */
static int makes_no_trip(const vyre_program *p, const vy_stmt *s) {
    const vy_expr *step = vy_literal_at(p, s->c);
    vy_trips trips;
    return (step && step->bits == 0) || (vy_trips_of(p, s, &trips) && !vy_trips_remain(&trips));
}

/* Whether a statement is removed or replaced by one of its branches. */
static int goes(const vyre_program *p, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(p, index);
    const vy_expr *condition = vy_literal_at(p, s->a);
    switch (s->kind) {
    case VY_STMT_IF:
        return condition || s->end == index + 1;
    case VY_STMT_FOR:
        return s->end == index + 1 || makes_no_trip(p, s);
    case VY_STMT_WHILE:
        return condition && !condition->bits;
    case VY_STMT_REGION:
        return s->end == index + 1;
    default:
        return 0;
    }
}

static int simplify_stmt(vy_rewrite *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    if (!vy_stmt_is_structured(s->kind) || !goes(rw->from, index))
        return 0;
    rw->changes++;
    const vy_expr *condition = s->kind == VY_STMT_IF ? vy_literal_at(rw->from, s->a) : NULL;
    if (condition && condition->bits)
        vy_rewrite_block(rw, index + 1, s->middle);
    else if (condition)
        vy_rewrite_block(rw, s->middle, s->end);
    return 1;
}

/* Fast check whether the pass may change anything. In a valid program no statement follows a jump, but statements
 * may follow a trap. */
static int may_change(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        uint8_t kind = vy_stmt_at(p, i)->kind;
        if (kind == VY_STMT_TRAP || (vy_stmt_is_structured(kind) && goes(p, i)))
            return 1;
    }
    return 0;
}

vyre_status vy_pass_simplify_cfg(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                                 uint64_t *changes, vyre_error *error) {
    (void)rules;
    static const vy_rewriter hooks = {.stmt = simplify_stmt, .trap_ends = 1, .supports_dry_run = 1};
    if (!may_change(from)) {
        *changes = 0;
        return vy_program_unchanged(from, out);
    }
    return vy_rewrite_run(from, &hooks, NULL, NULL, out, changes, error);
}
