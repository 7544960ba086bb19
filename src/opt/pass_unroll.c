/* Full loop unrolling: a `for` with literal bounds and few iterations is replaced by its iterations, with the loop
 * variable as a literal. So is a counting `while`: its condition depends on one variable, which is a literal before
 * the loop and is assigned, from literals and itself, only at the end of the body.
 *
 * Only innermost loops without break or continue are unrolled; an enclosing loop thereby becomes innermost, and the
 * next round examines it with its new size. If the limits of the target allow it, a counting `while` is also
 * unrolled around loops that cannot be counted yet, and a `for` over private arrays around loops that access none.
 * The cost of a loop is the number of statements and expressions it becomes; a single iteration is always unrolled.
 * With the policy folds, the output is folded while it is written (constant_fold.h). A body may end in a return:
 * then there is one iteration, and no statement after it.
 *
 * Invariant: when folding is on, dead `let`s of literals and dead counter updates are not emitted, except in loops
 * that are not unrolled here: their size decides whether a later round unrolls them, and that decision must not
 * depend on whether folding is on. The room includes the statements that were not emitted. */
#include "analysis/control_flow.h"
#include "analysis/trip_count.h"
#include "base/status.h"
#include "ir/walk.h"
#include "opt/constant_fold.h"
#include "opt/pass_manager.h"

enum { TRIPS = VY_TRIPS, EFFORT = 64, GROWTH = 3, NAME_LENGTH = 8 };

/* Why a variable is a literal: it is the counter of a loop being unrolled, in the last iteration or an earlier one,
 * or a `let` of a literal or of such a counter. */
enum { COUNTS = 1, COUNTS_LAST, IS_LET };

/* Nodes of an omitted statement: itself and its literal. */
enum { LEFT_OUT = 2 };

typedef struct unrolling {
    const vy_opt_policy *rules;
    vy_def_use uses;
    vy_arena arena;
    vy_literals literals;     /* is_known: one of the values above */
    uint64_t room;            /* remaining size budget */
    uint32_t uncounted_nodes; /* nodes that were omitted */
} unrolling;

unsigned vy_count_trips(const vy_opt_policy *rules, const vy_expr *from, const vy_expr *to, const vy_expr *by,
                        uint64_t at[VY_TRIPS]) {
    vy_trips t;
    if (!vy_trips_of_literals(from, to, by, &t))
        return VY_TRIPS + 1;
    uint64_t mask = vy_type_layouts[from->type].mask;
    unsigned trips = 0;
    t.end += rules->last_trip_counts ? 0 : t.step > 0 ? 1 - t.step : -1 - t.step;
    for (; vy_trips_remain(&t); t.next += t.step) {
        if (trips == VY_TRIPS)
            return VY_TRIPS + 1;
        at[trips++] = (uint64_t)t.next & mask;
        if (!rules->trips_are_exact)
            t.next = vy_integer_of(from->type, (uint64_t)(t.next + t.step) & mask) - t.step;
    }
    return trips;
}

/* ---- counting while-loops ---- */

/* The value of a variable that is a `let` directly in the loop body; VY_NONE if it is not. */
static uint32_t let_of(const vy_def_use *u, uint32_t loop, uint32_t variable) {
    uint32_t value = vy_let_value(u, variable);
    return value != VY_NONE && u->parents[u->declarations[variable]] == loop ? value : VY_NONE;
}

/* Whether a tree consists of literals, non-float ops and a single variable, which is stored in *variable. Recursion
 * is bounded by VY_LIMIT_EXPRESSION_DEPTH, and through `let`s by effort. */
static int depends_on_single_variable(const vy_def_use *u, uint32_t loop, uint32_t expr, uint32_t *variable,
                                      unsigned *effort) {
    const vy_expr *e = vy_expr_at(u->program, expr);
    if (vyre_type_class((vyre_type)e->type) == VYRE_CLASS_FLOAT || (*effort)-- == 0)
        return 0;
    if (e->kind == VY_EXPR_LITERAL)
        return 1;
    if (e->kind == VY_EXPR_VARIABLE) {
        uint32_t let = e->a == *variable ? VY_NONE : let_of(u, loop, e->a);
        if (let != VY_NONE)
            return depends_on_single_variable(u, loop, let, variable, effort);
        int is_same = *variable == VY_NONE || *variable == e->a;
        *variable = e->a;
        return is_same;
    }
    if (e->kind != VY_EXPR_OP)
        return 0;
    const uint32_t *operands = VY_EXPR_OPERANDS(e);
    for (unsigned i = 0; i < vyre_op_get((vyre_op)e->op)->arity; i++)
        if (!depends_on_single_variable(u, loop, operands[i], variable, effort))
            return 0;
    return 1;
}

/* Evaluates such a tree for a value of its variable. */
static uint64_t evaluate(const vy_def_use *u, uint32_t loop, uint32_t expr, uint32_t variable, uint64_t value) {
    const vy_expr *e = vy_expr_at(u->program, expr);
    if (e->kind == VY_EXPR_LITERAL)
        return e->bits;
    if (e->kind == VY_EXPR_VARIABLE)
        return e->a == variable ? value : evaluate(u, loop, let_of(u, loop, e->a), variable, value);
    const uint32_t *operands = VY_EXPR_OPERANDS(e);
    uint64_t args[3] = {0, 0, 0};
    for (unsigned i = 0; i < vyre_op_get((vyre_op)e->op)->arity; i++)
        args[i] = evaluate(u, loop, operands[i], variable, value);
    return vy_op_value(u->program, e, args);
}

/* The block of a statement, identified by its first statement. */
static uint32_t block_of(const vy_def_use *u, uint32_t stmt) {
    uint32_t around = u->parents[stmt];
    const vy_stmt *s = vy_stmt_at(u->program, around);
    return around == VY_NONE ? 0 : s->kind == VY_STMT_IF && stmt >= s->middle ? s->middle : around + 1;
}

/* Whether the variable is a literal before the loop: its last definition is in the same block. */
static int starts_as_literal(const vy_def_use *u, uint32_t loop, uint32_t variable, uint64_t *bits) {
    uint32_t set = vy_last_definition(u, variable, loop);
    const vy_stmt *s = vy_stmt_at(u->program, set);
    if (set == VY_NONE || (s->kind != VY_STMT_VAR && s->kind != VY_STMT_ASSIGN))
        return 0;
    const vy_expr *value = vy_expr_at(u->program, s->a);
    *bits = value->bits;
    return value->kind == VY_EXPR_LITERAL && block_of(u, set) == block_of(u, loop);
}

/* The assignment to the variable, if it is the only one in the body and its last statement; else VY_NONE. */
static uint32_t only_assignment(const vy_def_use *u, uint32_t loop, uint32_t variable) {
    uint32_t set = vy_next_definition(u, variable, loop + 1);
    return set != VY_NONE && set + 1 == vy_stmt_at(u->program, loop)->end && u->parents[set] == loop ? set : VY_NONE;
}

/* vy_count_trips for a `while`; *variable is its counter. */
static unsigned count_while(const vy_def_use *u, uint32_t loop, uint32_t *variable, uint64_t at[TRIPS]) {
    const vy_stmt *stmts = u->program->stmts.items, *s = &stmts[loop];
    uint64_t now;
    unsigned trips = 0, effort = EFFORT;
    *variable = VY_NONE;
    if (!depends_on_single_variable(u, loop, s->a, variable, &effort) || *variable == VY_NONE ||
        !starts_as_literal(u, loop, *variable, &now))
        return TRIPS + 1;
    uint32_t assignment = only_assignment(u, loop, *variable), same = *variable;
    if (assignment == VY_NONE || !depends_on_single_variable(u, loop, stmts[assignment].a, &same, &effort))
        return TRIPS + 1;
    uint32_t next = stmts[assignment].a;
    for (; evaluate(u, loop, s->a, *variable, now); now = evaluate(u, loop, next, *variable, now)) {
        if (trips == TRIPS)
            return TRIPS + 1;
        at[trips++] = now;
    }
    return trips;
}

/* ---- loops ---- */

/* Iterations of a loop. */
typedef struct counted {
    uint32_t variable;
    unsigned trips; /* TRIPS + 1: more, or unknown */
    uint64_t at[TRIPS];
} counted;

/* Without room a `while` is not examined: that costs time in the order of the program, for each loop. */
static void count(const unrolling *u, const vyre_program *p, uint32_t loop, counted *out) {
    const vy_stmt *s = vy_stmt_at(p, loop);
    out->variable = s->variable;
    out->trips = TRIPS + 1;
    if (s->kind == VY_STMT_FOR)
        out->trips = vy_count_trips(u->rules, vy_expr_at(p, s->a), vy_expr_at(p, s->b),
                                    s->c == VY_NONE ? NULL : vy_expr_at(p, s->c), out->at);
    else if (s->kind == VY_STMT_WHILE && u->rules->unroll.counter_cost && u->room)
        out->trips = count_while(&u->uses, loop, &out->variable, out->at);
}

static int is_private(const vyre_program *p, uint32_t memory) {
    return vy_memory_at(p, memory)->space == VY_SPACE_PRIVATE;
}

static int touches_private(const unrolling *u, const vyre_program *p, uint32_t loop) {
    uint32_t end = vy_stmt_at(p, loop)->end;
    for (uint32_t i = loop + 1; i < end; i++)
        if (vy_stmt_at(p, i)->kind == VY_STMT_STORE && is_private(p, vy_stmt_at(p, i)->memory))
            return 1;
    for (uint32_t i = u->uses.first_expr[loop + 1]; i < u->uses.first_expr[end]; i++)
        if (vy_expr_at(p, i)->kind == VY_EXPR_LOAD && is_private(p, vy_expr_at(p, i)->a))
            return 1;
    return 0;
}

/* Whether an inner loop may remain when the enclosing loop is unrolled, because unrolling the inner loop first has
 * no benefit. */
static int may_stay(const unrolling *u, const vyre_program *p, uint32_t loop, uint32_t inside) {
    counted inner;
    if (vy_stmt_at(p, loop)->kind == VY_STMT_FOR)
        return u->rules->unroll.counter_cost && touches_private(u, p, loop) && !touches_private(u, p, inside);
    count(u, p, inside, &inner);
    return inner.trips > TRIPS;
}

/* Whether the body can be unrolled: it has no jump of this loop, and only inner loops that may remain. */
static int is_unrollable(const unrolling *u, const vyre_program *p, uint32_t loop) {
    const vy_stmt *stmts = p->stmts.items;
    if (vy_block_has_loop_jump(p, loop + 1, stmts[loop].end))
        return 0;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        int is_loop = vy_stmt_is_loop(stmts[i].kind);
        if (is_loop && !may_stay(u, p, loop, i))
            return 0;
        i = is_loop ? stmts[i].end : i + 1;
    }
    return 1;
}

/* Whether unrolling pays. *size is the size after unrolling, or 0 if the program does not grow. */
static int pays(const unrolling *u, const vyre_program *p, uint32_t loop, unsigned trips, uint64_t *size) {
    const vy_unroll_limits *limits = &u->rules->unroll;
    const vy_stmt *s = vy_stmt_at(p, loop);
    uint64_t body = (uint64_t)(s->end - loop - 1) + (u->uses.first_expr[s->end] - u->uses.first_expr[loop + 1]);
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

/* The capacity to request: loops are seldom alone, and every reallocation copies the array. */
static uint32_t ample(uint32_t there, uint32_t needed) {
    return needed > there * GROWTH ? needed : there * GROWTH;
}

#define RESERVE(vector, needed)                                                                                        \
    ((vector)->capacity - (vector)->count >= (needed) || VY_RESERVE(vector, ample((vector)->capacity, needed)))

/* Reserves memory for all iterations of a loop. */
static void reserve(vy_rewrite *rw, uint32_t loop, unsigned trips) {
    const unrolling *u = rw->user;
    vyre_program *made = rw->draft.program;
    uint32_t end = vy_stmt_at(rw->from, loop)->end, names = 0;
    uint32_t stmts = trips * (end - loop - 1), exprs = trips * (u->uses.first_expr[end] - u->uses.first_expr[loop + 1]);
    for (uint32_t i = loop + 1; i < end; i++)
        names += trips * vy_stmt_at(rw->from, i)->result_count;
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

/* Whether a loop is unrolled; *loop and *size describe the result. */
static int unrolls(const unrolling *u, const vyre_program *p, uint32_t index, counted *loop, uint64_t *size) {
    count(u, p, index, loop);
    return loop->trips <= TRIPS && is_unrollable(u, p, index) && pays(u, p, index, loop->trips, size);
}

static int unroll(vy_rewrite *rw, uint32_t index) {
    unrolling *u = rw->user;
    const vy_stmt *s = vy_stmt_at(rw->from, index);
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

/* Records whether a `let` about to be written is a literal before folding, as the pass `const-fold` would see it. */
static void note_let(unrolling *u, const vyre_program *p, const vy_stmt *s) {
    const vy_expr *e = vy_expr_at(p, s->a);
    int is_literal = e->kind == VY_EXPR_LITERAL,
        counts = e->kind == VY_EXPR_VARIABLE && u->literals.is_known[e->a] && u->literals.is_known[e->a] != IS_LET;
    u->literals.is_known[s->variable] = is_literal || counts ? IS_LET : 0;
    u->literals.bits[s->variable] = is_literal ? e->bits : counts ? u->literals.bits[e->a] : 0;
}

static int is_in_loop(const vy_irb *draft) {
    for (uint32_t i = 0; i < draft->depth; i++)
        if (draft->depth > VY_LIMIT_NESTING || vy_stmt_is_loop(vy_stmt_at(draft->program, draft->open[i])->kind))
            return 1;
    return 0;
}

/* Omits a definition whose variable is unused, because all its uses became literals. A `let` still reserves its
 * name, since suffixes depend on the names in scope. */
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
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    if (vy_stmt_is_loop(s->kind))
        return unroll(rw, index);
    if (!u->rules->unroll.folds || (s->kind != VY_STMT_LET && s->kind != VY_STMT_ASSIGN))
        return 0;
    if (s->kind == VY_STMT_LET)
        note_let(u, rw->from, s);
    return leave_out(rw, s);
}

/* Replaces variables by literals; the trees keep their shape. */
static void put_literals(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const unrolling *u = rw->user;
    if (u->rules->unroll.folds) {
        vy_fold_exprs(rw, &u->literals, first, end);
        return;
    }
    uint32_t at = vy_rewrite_copy_exprs(rw, first, end);
    for (uint32_t i = first; i < end && at != VY_NONE; i++) {
        const vy_expr *e = vy_expr_at(rw->from, i);
        if (e->kind == VY_EXPR_VARIABLE && u->literals.is_known[e->a])
            rw->draft.program->exprs.items[at + (i - first)] =
                vy_literal_expr((vyre_type)e->type, u->literals.bits[e->a]);
    }
}

/* The parts of the def-use analysis that unrolling this program requires; 0 if it has no loops. */
static unsigned parts_of(const unrolling *u, const vyre_program *p) {
    unsigned parts = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        if (vy_stmt_is_loop(vy_stmt_at(p, i)->kind))
            parts |= VY_DEF_USE_EXPRS;
        if (vy_stmt_at(p, i)->kind == VY_STMT_WHILE && u->rules->unroll.counter_cost && u->room)
            parts |= VY_DEF_USE_PARENTS | VY_DEF_USE_DECLARATIONS | VY_DEF_USE_DEFINITIONS;
    }
    return parts;
}

static int prepare(unrolling *u, const vyre_program *p, unsigned parts) {
    u->uses = (vy_def_use){.program = p, .arena = &u->arena};
    u->literals.bits = vy_arena_allocate(&u->arena, vy_array_size(p->variables.count + 1u, sizeof *u->literals.bits));
    u->literals.is_known = vy_arena_allocate(&u->arena, p->variables.count + 1u);
    return u->literals.bits && u->literals.is_known && vy_def_use_need(&u->uses, parts);
}

static int has_unrolled(const unrolling *u, const vyre_program *p) {
    counted loop;
    uint64_t size;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_is_loop(vy_stmt_at(p, i)->kind) && unrolls(u, p, i, &loop, &size))
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
    unsigned parts = parts_of(&u, from);
    vyre_status status = !parts || prepare(&u, from, parts) ? VYRE_OK : vy_fail_memory(error, "a pass");
    if (status == VYRE_OK && parts && has_unrolled(&u, from))
        status = vy_rewrite_run(from, &hooks, &u, NULL, out, changes, error);
    else if (status == VYRE_OK)
        vy_program_unchanged(from, out);
    vy_arena_free(&u.arena);
    if (u.uncounted_nodes && *out)
        (*out)->uncounted_nodes = from->uncounted_nodes + u.uncounted_nodes;
    if (status != VYRE_OK || *changes || rules->unroll.folds != VY_FOLDS_ALL)
        return status;
    vyre_program_release(*out);
    return vy_pass_const_fold(from, rules, out, changes, error);
}
