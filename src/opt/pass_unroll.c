/* Full loop unrolling: a `for` with literal bounds and few iterations is replaced by its iterations, with the loop
 * variable as a literal. So is a counting `while`: its condition depends on one variable, which is a literal before the
 * loop and is assigned, from literals and itself, only at the end of the body.
 *
 * Only innermost loops without break or continue are unrolled; an enclosing loop thereby becomes innermost, and the
 * next round examines it with its new size. With vy_opt_unroll_aggressive, a counting `while` is also unrolled around
 * loops that cannot be counted yet, and a `for` over private arrays around loops that touch none. The cost of a loop is
 * the number of statements and expressions it becomes; a single iteration is always unrolled. If the policy says so,
 * the output is folded while it is written (constant_fold.h). A body may end in a return: then there is one iteration,
 * and nothing after it.
 *
 * When folding is on, dead `let`s of literals and dead counter updates are not emitted, except in loops that are not
 * unrolled here: their size decides whether a later round unrolls them, and that decision must not depend on whether
 * folding is on. The room counts what was not emitted. */
#include "base/status.h"
#include "ir/walk.h"
#include "opt/constant_fold.h"
#include "opt/pass_manager.h"

enum { TRIPS = VY_TRIPS, EFFORT = 64, GROWTH = 3, NAME_LENGTH = 8 };

/* Why a variable is a literal: it counts a loop that is being unrolled, in its last trip or before, or it is a `let` of
 * a literal or of such a variable. */
enum { COUNTS = 1, COUNTS_LAST, IS_LET };

/* What a statement is that is left out: itself and its literal. */
enum { LEFT_OUT = 2 };

typedef struct unrolling {
    const vy_opt_policy *rules;
    uint32_t *first_expr; /* by statement; of the end of the program, too */
    vy_literals literals; /* is_known: one of these */
    size_t size;
    uint64_t room;            /* left */
    uint32_t uncounted_nodes; /* nodes */
} unrolling;

unsigned vy_count_trips(const vy_opt_policy *rules, const vy_expr *from, const vy_expr *to, const vy_expr *by,
                        uint64_t at[VY_TRIPS]) {
    if (from->kind != VY_EXPR_LITERAL || to->kind != VY_EXPR_LITERAL || (by && by->kind != VY_EXPR_LITERAL))
        return VY_TRIPS + 1;
    vy_wide step = by ? vy_integer_of(by->type, by->bits) : 1, end = vy_integer_of(to->type, to->bits);
    vy_wide i = vy_integer_of(from->type, from->bits);
    uint64_t mask = vy_type_layouts[from->type].mask;
    unsigned trips = 0;
    end += rules->last_trip_counts ? 0 : step > 0 ? 1 - step : -1 - step;
    for (; step && (step > 0 ? i < end : i > end); i += step) {
        if (trips == VY_TRIPS)
            return VY_TRIPS + 1;
        at[trips++] = (uint64_t)i & mask;
        if (!rules->trips_are_exact)
            i = vy_integer_of(from->type, (uint64_t)(i + step) & mask) - step;
    }
    return trips;
}

/* ---- a while that counts ---- */

/* What a variable stands for that is a `let` of the body, not in a block of it; VY_NONE if it is none. */
static uint32_t let_of(const vyre_program *p, uint32_t loop, uint32_t variable) {
    const vy_stmt *stmts = p->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i = stmts[i].end)
        if (stmts[i].kind == VY_STMT_LET && stmts[i].variable == variable)
            return stmts[i].a;
    return VY_NONE;
}

/* The only variable of a tree of literals and ops, none of them floats, in *variable; 0 if there is anything else in
 * it. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, and through `let`s by effort. */
static int depends_on_single_variable(const vyre_program *p, uint32_t loop, uint32_t expr, uint32_t *variable,
                                      unsigned *effort) {
    const vy_expr *e = &p->exprs.items[expr];
    if (vyre_type_class((vyre_type)e->type) == VYRE_CLASS_FLOAT || (*effort)-- == 0)
        return 0;
    if (e->kind == VY_EXPR_LITERAL)
        return 1;
    if (e->kind == VY_EXPR_VARIABLE) {
        uint32_t let = e->a == *variable ? VY_NONE : let_of(p, loop, e->a);
        if (let != VY_NONE)
            return depends_on_single_variable(p, loop, let, variable, effort);
        int is_same = *variable == VY_NONE || *variable == e->a;
        *variable = e->a;
        return is_same;
    }
    if (e->kind != VY_EXPR_OP)
        return 0;
    const uint32_t operands[3] = {e->a, e->b, e->c};
    for (unsigned i = 0; i < vyre_op_get((vyre_op)e->op)->arity; i++)
        if (!depends_on_single_variable(p, loop, operands[i], variable, effort))
            return 0;
    return 1;
}

/* What such a tree is for a value of its variable. */
static uint64_t evaluate(const vyre_program *p, uint32_t loop, uint32_t expr, uint32_t variable, uint64_t value) {
    const vy_expr *e = &p->exprs.items[expr];
    if (e->kind == VY_EXPR_LITERAL)
        return e->bits;
    if (e->kind == VY_EXPR_VARIABLE)
        return e->a == variable ? value : evaluate(p, loop, let_of(p, loop, e->a), variable, value);
    const uint32_t operands[3] = {e->a, e->b, e->c};
    uint64_t args[3] = {0, 0, 0};
    for (unsigned i = 0; i < vyre_op_get((vyre_op)e->op)->arity; i++)
        args[i] = evaluate(p, loop, operands[i], variable, value);
    vyre_type operand = (vyre_type)p->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
    return vy_eval_canonical((vyre_op)e->op, (vyre_type)e->type, operand, args);
}

static int sets(const vy_stmt *s, uint32_t variable) {
    return (s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN) && s->variable == variable;
}

/* The block that a statement stands in: the first of its statements. */
static uint32_t block_of(const vyre_program *p, uint32_t stmt) {
    const vy_stmt *stmts = p->stmts.items;
    uint32_t around = stmt;
    while (around-- > 0)
        if (stmts[around].end > stmt)
            return stmts[around].kind == VY_STMT_IF && stmt >= stmts[around].middle ? stmts[around].middle : around + 1;
    return 0;
}

/* Whether the variable is a literal before the loop: what set it last stands in the same block. */
static int starts_as_literal(const vyre_program *p, uint32_t loop, uint32_t variable, uint64_t *bits) {
    uint32_t set = loop;
    do {
        if (set-- == 0)
            return 0;
    } while (!sets(&p->stmts.items[set], variable));
    const vy_expr *value = &p->exprs.items[p->stmts.items[set].a];
    *bits = value->bits;
    return value->kind == VY_EXPR_LITERAL && block_of(p, set) == block_of(p, loop);
}

/* The assignment of the variable, if it is the only one in the body and its last statement; or VY_NONE. */
static uint32_t only_assignment(const vyre_program *p, uint32_t loop, uint32_t variable) {
    const vy_stmt *stmts = p->stmts.items;
    uint32_t last = VY_NONE;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i = stmts[i].end)
        last = i;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i++)
        if (sets(&stmts[i], variable) && i != last)
            return VY_NONE;
    return last != VY_NONE && stmts[last].kind == VY_STMT_ASSIGN && stmts[last].variable == variable ? last : VY_NONE;
}

/* As vy_count_trips; *variable is the one that counts. */
static unsigned count_while(const vyre_program *p, uint32_t loop, uint32_t *variable, uint64_t at[TRIPS]) {
    const vy_stmt *s = &p->stmts.items[loop];
    uint64_t now;
    unsigned trips = 0, effort = EFFORT;
    *variable = VY_NONE;
    if (!depends_on_single_variable(p, loop, s->a, variable, &effort) || *variable == VY_NONE ||
        !starts_as_literal(p, loop, *variable, &now))
        return TRIPS + 1;
    uint32_t assignment = only_assignment(p, loop, *variable), same = *variable;
    if (assignment == VY_NONE || !depends_on_single_variable(p, loop, p->stmts.items[assignment].a, &same, &effort))
        return TRIPS + 1;
    uint32_t next = p->stmts.items[assignment].a;
    for (; evaluate(p, loop, s->a, *variable, now); now = evaluate(p, loop, next, *variable, now)) {
        if (trips == TRIPS)
            return TRIPS + 1;
        at[trips++] = now;
    }
    return trips;
}

/* ---- loops ---- */

/* What is known of a loop. */
typedef struct counted {
    uint32_t variable;
    unsigned trips; /* TRIPS + 1: many, or not known */
    uint64_t at[TRIPS];
} counted;

/* Where there is no room nobody looks for a `while` that counts: to look takes time in the order of the program, for
 * each. */
static void count(const unrolling *u, const vyre_program *p, uint32_t loop, counted *out) {
    const vy_stmt *s = &p->stmts.items[loop];
    out->variable = s->variable;
    out->trips = TRIPS + 1;
    if (s->kind == VY_STMT_FOR)
        out->trips = vy_count_trips(u->rules, &p->exprs.items[s->a], &p->exprs.items[s->b],
                                    s->c == VY_NONE ? NULL : &p->exprs.items[s->c], out->at);
    else if (s->kind == VY_STMT_WHILE && u->rules->unroll.counter_cost && u->room)
        out->trips = count_while(p, loop, &out->variable, out->at);
}

static int is_private(const vyre_program *p, uint32_t memory) {
    return p->memories.items[memory].space == VY_SPACE_PRIVATE;
}

static int touches_private(const unrolling *u, const vyre_program *p, uint32_t loop) {
    uint32_t end = p->stmts.items[loop].end;
    for (uint32_t i = loop + 1; i < end; i++)
        if (p->stmts.items[i].kind == VY_STMT_STORE && is_private(p, p->stmts.items[i].memory))
            return 1;
    for (uint32_t i = u->first_expr[loop + 1]; i < u->first_expr[end]; i++)
        if (p->exprs.items[i].kind == VY_EXPR_LOAD && is_private(p, p->exprs.items[i].a))
            return 1;
    return 0;
}

/* Whether a loop inside may stay one when the loop around it is unrolled: it gains nothing by being first. */
static int may_stay(const unrolling *u, const vyre_program *p, uint32_t loop, uint32_t inside) {
    counted inner;
    if (p->stmts.items[loop].kind == VY_STMT_FOR)
        return u->rules->unroll.counter_cost && touches_private(u, p, loop) && !touches_private(u, p, inside);
    count(u, p, inside, &inner);
    return inner.trips > TRIPS;
}

/* Whether the body can be written in a row: no jump of this loop, and no loop in it but such as may stay. */
static int is_unrollable(const unrolling *u, const vyre_program *p, uint32_t loop) {
    const vy_stmt *stmts = p->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        int is_loop = vy_stmt_is_loop(stmts[i].kind);
        if (stmts[i].kind == VY_STMT_BREAK || stmts[i].kind == VY_STMT_CONTINUE ||
            (is_loop && !may_stay(u, p, loop, i)))
            return 0;
        i = is_loop ? stmts[i].end : i + 1;
    }
    return 1;
}

/* *size is what the loop becomes, or 0 if that is no more than it is. */
static int pays(const unrolling *u, const vyre_program *p, uint32_t loop, unsigned trips, uint64_t *size) {
    const vy_unroll_limits *limits = &u->rules->unroll;
    const vy_stmt *s = &p->stmts.items[loop];
    uint64_t body = (uint64_t)(s->end - loop - 1) + (u->first_expr[s->end] - u->first_expr[loop + 1]);
    *size = 0;
    uint32_t most = limits->trips, cost = limits->cost;
    if (trips <= 1)
        return 1;
    if (s->kind == VY_STMT_WHILE) {
        most = limits->counter_trips;
        cost = limits->counter_cost;
    } else if (touches_private(u, p, loop)) {
        most = limits->private_trips;
        cost = limits->private_cost;
    }
    *size = body * trips;
    return trips <= most && *size <= cost && *size <= u->room;
}

/* How much room to make where so much is needed: loops are seldom alone, and to make room copies what is there. */
static uint32_t ample(uint32_t there, uint32_t needed) {
    return needed > there * GROWTH ? needed : there * GROWTH;
}

#define RESERVE(vector, needed)                                                                                        \
    ((vector)->capacity - (vector)->count >= (needed) || VY_RESERVE(vector, ample((vector)->capacity, needed)))

/* Makes room for what a loop becomes, at once. */
static void reserve(vy_rewrite *rw, uint32_t loop, unsigned trips) {
    const unrolling *u = rw->user;
    vyre_program *made = rw->draft.program;
    uint32_t end = rw->from->stmts.items[loop].end, names = 0;
    uint32_t stmts = trips * (end - loop - 1), exprs = trips * (u->first_expr[end] - u->first_expr[loop + 1]);
    for (uint32_t i = loop + 1; i < end; i++)
        names += trips * rw->from->stmts.items[i].result_count;
    rw->draft.failed |=
        !RESERVE(&made->stmts, stmts) || !RESERVE(&made->exprs, exprs) || !RESERVE(&made->variables, stmts);
    if (rw->draft.keep_positions)
        rw->draft.failed |= !RESERVE(&made->stmt_positions, stmts);
    if (vy_irb_keeps_expr_positions(&rw->draft))
        rw->draft.failed |= !RESERVE(&made->expr_positions, exprs);
    if (made->names.slot_count / 2 < made->names.used + names)
        rw->draft.failed |=
            !vy_intern_pool_reserve_more(&made->names, ample(made->names.slot_count / 2, names), NAME_LENGTH);
}

/* Whether a loop is unrolled, and what it becomes. */
static int unrolls(const unrolling *u, const vyre_program *p, uint32_t index, counted *loop, uint64_t *size) {
    count(u, p, index, loop);
    return loop->trips <= TRIPS && is_unrollable(u, p, index) && pays(u, p, index, loop->trips, size);
}

static int unroll(vy_rewrite *rw, uint32_t index) {
    unrolling *u = rw->user;
    const vy_stmt *s = &rw->from->stmts.items[index];
    counted loop;
    uint64_t size;
    if (!unrolls(u, rw->from, index, &loop, &size))
        return 0;
    rw->changes++;
    u->room -= size;
    if (size)
        reserve(rw, index, loop.trips);
    for (unsigned i = 0; i < loop.trips && !rw->ended; i++) {
        u->literals.bits[loop.variable] = loop.at[i];
        u->literals.is_known[loop.variable] = i + 1 < loop.trips ? COUNTS : COUNTS_LAST;
        vy_rewrite_block(rw, index + 1, s->end);
    }
    u->literals.is_known[loop.variable] = 0;
    return 1;
}

/* Notes of a `let` that is about to be written whether it is a literal before anything is folded: the pass `const-fold`
 * would see it. */
static void note_let(unrolling *u, const vyre_program *p, const vy_stmt *s) {
    const vy_expr *e = &p->exprs.items[s->a];
    int is_literal = e->kind == VY_EXPR_LITERAL,
        counts = e->kind == VY_EXPR_VARIABLE && u->literals.is_known[e->a] && u->literals.is_known[e->a] != IS_LET;
    u->literals.is_known[s->variable] = is_literal || counts ? IS_LET : 0;
    u->literals.bits[s->variable] = is_literal ? e->bits : counts ? u->literals.bits[e->a] : 0;
}

static int is_in_loop(const vy_irb *draft) {
    for (uint32_t i = 0; i < draft->depth; i++)
        if (draft->depth > VY_LIMIT_NESTING || vy_stmt_is_loop(draft->program->stmts.items[draft->open[i]].kind))
            return 1;
    return 0;
}

/* Leaves out a statement that sets a variable nobody reads: everybody has a literal instead. A `let` takes its name all
 * the same, for others are named by what they meet. */
static int leave_out(vy_rewrite *rw, const vy_stmt *s) {
    unrolling *u = rw->user;
    if (u->literals.is_known[s->variable] != (s->kind == VY_STMT_LET ? IS_LET : COUNTS) || is_in_loop(&rw->draft))
        return 0;
    if (s->kind == VY_STMT_LET)
        vy_rewrite_declare(rw, s->variable);
    u->uncounted_nodes += LEFT_OUT;
    rw->changes++;
    return 1;
}

static int write_stmt(vy_rewrite *rw, uint32_t index) {
    unrolling *u = rw->user;
    const vy_stmt *s = &rw->from->stmts.items[index];
    if (vy_stmt_is_loop(s->kind))
        return unroll(rw, index);
    if (!u->rules->unroll.folds || (s->kind != VY_STMT_LET && s->kind != VY_STMT_ASSIGN))
        return 0;
    if (s->kind == VY_STMT_LET)
        note_let(u, rw->from, s);
    return leave_out(rw, s);
}

/* A literal takes the place of a variable: the trees keep their shape. */
static void put_literals(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const unrolling *u = rw->user;
    if (u->rules->unroll.folds) {
        vy_fold_exprs(rw, &u->literals, first, end);
        return;
    }
    uint32_t at = vy_rewrite_copy_exprs(rw, first, end);
    for (uint32_t i = first; i < end && at != VY_NONE; i++) {
        const vy_expr *e = &rw->from->exprs.items[i];
        if (e->kind == VY_EXPR_VARIABLE && u->literals.is_known[e->a])
            rw->draft.program->exprs.items[at + (i - first)] =
                vy_literal_expr((vyre_type)e->type, u->literals.bits[e->a]);
    }
}

static int prepare(unrolling *u, const vyre_program *p) {
    size_t variables = p->variables.count + 1u, stmts = p->stmts.count + 1u;
    u->size = vy_array_size(variables * 9 + stmts * 4, 1);
    u->literals.bits = vy_allocate_zero(u->size);
    if (!u->literals.bits)
        return 0;
    u->first_expr = (uint32_t *)(u->literals.bits + variables);
    u->literals.is_known = (uint8_t *)(u->first_expr + stmts);
    uint32_t expr = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        u->first_expr[i] = expr;
        expr = vy_stmt_exprs_end(p, &p->stmts.items[i], expr);
    }
    u->first_expr[p->stmts.count] = expr;
    return 1;
}

static int has_unrolled(const unrolling *u, const vyre_program *p) {
    counted loop;
    uint64_t size;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_is_loop(p->stmts.items[i].kind) && unrolls(u, p, i, &loop, &size))
            return 1;
    return 0;
}

vyre_status vy_pass_unroll(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                           vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = write_stmt, .rewrite_exprs = put_literals};
    uint64_t size = (uint64_t)from->stmts.count + from->exprs.count + from->uncounted_nodes;
    unrolling u = {.rules = rules, .room = rules->unroll.room > size ? rules->unroll.room - size : 0};
    *out = NULL;
    *changes = 0;
    if (!prepare(&u, from))
        return vy_fail_memory(error, "a pass");
    vyre_status status = VYRE_OK;
    if (has_unrolled(&u, from))
        status = vy_rewrite_run(from, &hooks, &u, NULL, out, changes, error);
    else
        *out = vyre_program_retain((vyre_program *)from);
    vy_release(u.literals.bits, u.size);
    if (u.uncounted_nodes && *out)
        (*out)->uncounted_nodes = from->uncounted_nodes + u.uncounted_nodes;
    if (status != VYRE_OK || *changes || rules->unroll.folds != VY_FOLDS_ALL)
        return status;
    vyre_program_release(*out);
    return vy_pass_const_fold(from, rules, out, changes, error);
}
