/* Unrolling: a `for` whose bounds are literals and whose trips are few is written trip by trip, with the loop variable as a literal.
 *
 * Only innermost loops, and only those that no break or continue leaves; a loop around becomes innermost by that and is looked at in the next round,
 * with the size it then has. The cost of a loop is the statements and expressions it becomes; one trip is always unrolled. A body may end in
 * a return: then there is one trip, and nothing behind it. */
#include "base/status.h"
#include "ir/validate/check.h"
#include "transform/optimize.h"
#include "transform/optimize_rewrite.h"

enum { TRIPS = 16, COST = 96 };

typedef struct unrolling {
    const vy_rules *rules;
    uint32_t *first_expr; /* by statement; of the end of the program, too */
    uint64_t *bits;       /* by variable */
    uint8_t *is_literal;  /* by variable: it is `bits` here */
    size_t size;
} unrolling;

/* The trips of a `for` with literal bounds: from, from + step, …; TRIPS + 1 if they are more or not known. */
static unsigned count_trips(const vy_rules *rules, const vyre_program *p, const vy_stmt *s, uint64_t at[TRIPS]) {
    const vy_expr *from = &p->exprs.items[s->a], *to = &p->exprs.items[s->b];
    const vy_expr *by = s->c == VY_NONE ? NULL : &p->exprs.items[s->c];
    if (from->kind != VY_EXPR_LITERAL || to->kind != VY_EXPR_LITERAL || (by && by->kind != VY_EXPR_LITERAL))
        return TRIPS + 1;
    vy_wide step = by ? vy_integer_of(by->type, by->bits) : 1, end = vy_integer_of(to->type, to->bits);
    vy_wide i = vy_integer_of(from->type, from->bits);
    uint64_t mask = vy_type_layouts[from->type].mask;
    unsigned trips = 0;
    end += rules->last_trip_counts ? 0 : step > 0 ? 1 - step : -1 - step;
    for (; step && (step > 0 ? i < end : i > end); i += step) {
        if (trips == TRIPS)
            return TRIPS + 1;
        at[trips++] = (uint64_t)i & mask;
        if (!rules->trips_are_exact)
            i = vy_integer_of(from->type, (uint64_t)(i + step) & mask) - step;
    }
    return trips;
}

/* Whether the body is straight: no loop in it, and no jump but returns. */
static int is_straight(const vyre_program *p, uint32_t loop) {
    for (uint32_t i = loop + 1; i < p->stmts.items[loop].end; i++) {
        uint8_t kind = p->stmts.items[i].kind;
        if (vy_stmt_is_loop(kind) || kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE)
            return 0;
    }
    return 1;
}

static int unroll(vy_rewrite *rw, uint32_t index) {
    unrolling *u = rw->user;
    const vyre_program *p = rw->from;
    const vy_stmt *s = &p->stmts.items[index];
    uint64_t at[TRIPS];
    if (s->kind != VY_STMT_FOR)
        return 0;
    unsigned trips = count_trips(u->rules, p, s, at);
    uint64_t body = (uint64_t)(s->end - index - 1) + (u->first_expr[s->end] - u->first_expr[index + 1]);
    if (trips > TRIPS || (trips > 1 && body * trips > COST) || !is_straight(p, index))
        return 0;
    rw->changes++;
    u->is_literal[s->variable] = 1;
    for (unsigned i = 0; i < trips && !rw->ended; i++) {
        u->bits[s->variable] = at[i];
        vy_rewrite_block(rw, index + 1, s->end);
    }
    return 1;
}

static uint32_t put_literal(vy_rewrite *rw, uint32_t expr) {
    const unrolling *u = rw->user;
    const vy_expr *e = &rw->from->exprs.items[expr];
    if (e->kind != VY_EXPR_VARIABLE || !u->is_literal[e->a])
        return VY_NONE;
    return vy_pool_literal(rw, (vyre_type)e->type, u->bits[e->a]);
}

static int prepare(unrolling *u, const vyre_program *p) {
    size_t variables = p->variables.count + 1u, stmts = p->stmts.count + 1u;
    u->size = vy_array_size(variables * 9 + stmts * 4, 1);
    u->bits = vy_allocate_zero(u->size);
    if (!u->bits)
        return 0;
    u->first_expr = (uint32_t *)(u->bits + variables);
    u->is_literal = (uint8_t *)(u->first_expr + stmts);
    uint32_t expr = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        u->first_expr[i] = expr;
        expr = vy_stmt_exprs_end(p, &p->stmts.items[i], expr);
    }
    u->first_expr[p->stmts.count] = expr;
    return 1;
}

vyre_status vy_pass_unroll(const vyre_program *from, const vy_rules *rules, vyre_program **out, uint64_t *changes,
                           vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = unroll, .tree = put_literal};
    unrolling u = {.rules = rules};
    *out = NULL;
    *changes = 0;
    if (!prepare(&u, from))
        return vy_fail_memory(error, "a pass");
    vyre_status status = vy_rewrite_run(from, &hooks, &u, NULL, out, changes, error);
    vy_release(u.bits, u.size);
    return status;
}
