/* Workarounds for ptxas loop errata: which loops ptxas may unroll.
 *
 * ptxas computes the trip count of a loop whose only exit compares an induction variable, and unrolls by it. But it
 * computes as if nothing could wrap (docs/internals/ptx.md). So a loop is left to ptxas only if no exit is such a
 * comparison, or if all that it computes fits in the type. Any other loop has a pragma that forbids unrolling, which
 * costs nothing where ptxas would not have unrolled; and its induction variable does not start from a value that ptxas
 * knows.
 *
 * Conservative: 1 is returned only for loops that are proved safe. */
#include "emit/ptx/emitter.h"
#include "ir/eval.h"

void vy_ptx_bind_body_label(vy_ptx *e, uint32_t label, int is_right) {
    vy_ptx_bind_label(e, label);
    if (!is_right)
        vy_ptx_write(e, ".pragma \"nounroll\"");
}

/* As many steps as it takes together must be of the type, too; and so must what comes behind the last trip, and the
 * way there. */
int vy_ptx_trip_count_is_safe(const vy_ptx_trip_count *c) {
    vy_interval whole = vy_interval_whole(c->type);
    vy_wide magnitude = c->step < 0 ? -c->step : c->step;
    int includes_end = c->goes_on == VYRE_OP_LE || c->goes_on == VYRE_OP_GE;
    if (c->goes_on == VYRE_OP_NE)
        return magnitude == 1;
    if (!magnitude || magnitude > whole.high >> 5)
        return 0;
    if (c->goes_on == VYRE_OP_LT || c->goes_on == VYRE_OP_LE)
        return c->step > 0 && c->to.high + c->step - 1 + includes_end <= whole.high &&
               c->to.high - c->from.low + includes_end <= whole.high;
    return c->step < 0 && c->to.low + c->step + 1 - includes_end >= whole.low &&
           c->from.high - c->to.low + includes_end <= whole.high;
}

/* ---- what a loop does to values ---- */

enum { LOOKS = 512, MOST_SEEN = 32 };

typedef struct view {
    vy_ptx *emitter;
    const vyre_program *program;
    uint32_t loop, end;       /* statements: the loop itself, and behind its body */
    uint32_t last_exit;       /* behind its last `break` or `return`; 0 */
    unsigned looks;           /* how much was looked at */
    uint32_t seen[MOST_SEEN]; /* variables, on the way to what a condition is made of */
    unsigned seen_count;
} view;

/* What a value is from trip to trip: the same; a multiple of something that varies; something that varies; such a
 * thing with something added; or what nobody knows before the trip. */
typedef enum change { STEADY, SCALED, VARYING, STEPPED, LOADED } change;

static const vy_expr *expr_at(const view *w, uint32_t expr) {
    return &w->program->exprs.items[expr];
}

static const vy_stmt *stmt_at(const view *w, uint32_t stmt) {
    return &w->program->stmts.items[stmt];
}

static int is_value(const vy_stmt *s) {
    return s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN;
}

/* The first statement from `i` on that sets a variable in the loop; its end if there is none. */
static uint32_t where_set(const view *w, uint32_t variable, uint32_t i) {
    uint32_t at = vy_ptx_next_def(w->emitter, variable, i);
    return at < w->end ? at : w->end;
}

/* What stands for an expression: the value of a `let` of the loop. */
static uint32_t resolve(const view *w, uint32_t expr) {
    for (unsigned k = 0; k < VY_LIMIT_EXPRESSION_DEPTH && expr_at(w, expr)->kind == VY_EXPR_VARIABLE; k++) {
        uint32_t at = where_set(w, expr_at(w, expr)->a, w->loop);
        if (at == w->end || stmt_at(w, at)->kind != VY_STMT_LET)
            break;
        expr = stmt_at(w, at)->a;
    }
    return expr;
}

static int is_private(const view *w, const vy_expr *load) {
    return w->program->memories.items[load->a].space == VY_SPACE_PRIVATE;
}

static change change_of(view *w, uint32_t expr);

static change change_of_variable(view *w, const vy_expr *x) {
    uint32_t at = where_set(w, x->a, w->loop);
    if (at == w->end)
        return STEADY;
    const vy_stmt *s = stmt_at(w, at);
    if (vyre_type_class((vyre_type)x->type) == VYRE_CLASS_FLOAT)
        return LOADED;
    if (s->kind == VY_STMT_LET)
        return change_of(w, s->a);
    return is_value(s) || s->kind == VY_STMT_FOR ? VARYING : LOADED;
}

/* Whether times, divided or shifted by it is another number. */
static int scales(const view *w, const vy_expr *x, uint32_t by) {
    const vy_expr *factor = expr_at(w, by);
    if (factor->kind != VY_EXPR_LITERAL)
        return 0;
    uint64_t mask = vy_type_layouts[x->type].mask;
    if (x->op == VYRE_OP_SHL || x->op == VYRE_OP_SHR)
        return (factor->bits & (vyre_type_bits((vyre_type)x->type) - 1)) != 0;
    return factor->bits > 1 && factor->bits != mask;
}

static change change_of_op(view *w, const vy_expr *x) {
    const uint32_t operands[3] = {x->a, x->b, x->c};
    change of[3] = {STEADY, STEADY, STEADY}, most = STEADY;
    for (unsigned i = 0; i < vy_ptx_arity(x); i++) {
        of[i] = change_of(w, operands[i]);
        most = of[i] > most ? of[i] : most;
    }
    if (most == STEADY || most == LOADED)
        return most;
    switch (x->op) {
    case VYRE_OP_ADD:
    case VYRE_OP_SUB:
        return most == SCALED && (of[0] == STEADY || of[1] == STEADY) ? SCALED : STEPPED;
    case VYRE_OP_MUL:
        return scales(w, x, x->a) || scales(w, x, x->b) ? SCALED : most;
    case VYRE_OP_DIV:
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
        return scales(w, x, x->b) ? SCALED : most;
    default:
        return most;
    }
}

/* Recursion is bounded by what is looked at. */
static change change_of(view *w, uint32_t expr) {
    const vy_expr *x = expr_at(w, expr);
    if (w->looks++ >= LOOKS)
        return STEPPED;
    if (x->kind == VY_EXPR_VARIABLE)
        return change_of_variable(w, x);
    if (x->kind == VY_EXPR_LOAD)
        return is_private(w, x) ? VARYING : LOADED;
    return x->kind == VY_EXPR_OP ? change_of_op(w, x) : STEADY;
}

/* ---- jumps ---- */

/* Behind the last jump of that kind in statements [first, end) that concerns the loop; 0 if there is none. */
static uint32_t last_jump(const view *w, uint32_t first, uint32_t end, vy_stmt_kind kind) {
    uint32_t last = 0, inner = first; /* behind a loop inside, whose jumps are its own */
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = stmt_at(w, i);
        if (s->kind == kind && (i >= inner || kind == VY_STMT_RETURN))
            last = i + 1;
        if (vy_stmt_is_loop(s->kind) && s->end > inner)
            inner = s->end;
    }
    return last;
}

/* The statements of the loop around one of its statements, the innermost first; gives how many. */
static unsigned find_around(const view *w, uint32_t at, uint32_t around[VY_LIMIT_NESTING]) {
    unsigned count = 0;
    for (at = vy_ptx_parent(w->emitter, at); at != VY_NONE && at > w->loop && count < VY_LIMIT_NESTING;
         at = vy_ptx_parent(w->emitter, at))
        around[count++] = at;
    return count;
}

/* Whether every trip comes to a statement: it stands straight in the body, and nobody goes on with the next trip
 * before. */
static int is_in_every_trip(const view *w, uint32_t at) {
    uint32_t around[VY_LIMIT_NESTING];
    for (unsigned i = 0, count = find_around(w, at, around); i < count; i++)
        if (stmt_at(w, around[i])->kind != VY_STMT_REGION)
            return 0;
    return !last_jump(w, w->loop + 1, at, VY_STMT_CONTINUE);
}

/* ---- what conditions are made of ---- */

static int is_counted(view *w, uint32_t expr);

static int any_is_counted(view *w, const vy_stmt *s) {
    const uint32_t *operands = VY_STMT_OPERANDS(s);
    for (unsigned i = 0; i < 3; i++)
        if (operands[i] != VY_NONE && is_counted(w, operands[i]))
            return 1;
    return 0;
}

/* Whether a statement of the loop makes a variable something that is counted, by its value or by what it stands
 * under. */
static int makes_counted(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    if (!is_value(s) && s->kind != VY_STMT_FOR)
        return 0;
    if ((s->kind == VY_STMT_ASSIGN && change_of(w, s->a) == STEPPED) || any_is_counted(w, s))
        return 1;
    uint32_t around[VY_LIMIT_NESTING];
    for (unsigned i = s->kind == VY_STMT_LET ? 0 : find_around(w, at, around); i-- > 0;)
        if (any_is_counted(w, stmt_at(w, around[i])))
            return 1;
    return 0;
}

/* Whether a variable gets in every trip what nobody knows before: then it does not count, whatever else is done to
 * it. */
static int is_loaded(view *w, uint32_t variable) {
    for (uint32_t at = where_set(w, variable, w->loop + 1); at < w->end; at = where_set(w, variable, at + 1))
        if (is_value(stmt_at(w, at)) && change_of(w, stmt_at(w, at)->a) == LOADED && is_in_every_trip(w, at))
            return 1;
    return 0;
}

static int is_counted_variable(view *w, uint32_t variable) {
    for (unsigned i = 0; i < w->seen_count; i++)
        if (w->seen[i] == variable)
            return 0;
    if (w->seen_count == MOST_SEEN)
        return 1;
    w->seen[w->seen_count++] = variable;
    if (is_loaded(w, variable))
        return 0;
    for (uint32_t at = where_set(w, variable, w->loop); at < w->end; at = where_set(w, variable, at + 1))
        if (at == w->loop || makes_counted(w, at))
            return 1;
    return 0;
}

/* Whether an expression is made, in some way, of what grows or shrinks by the same in every trip. Recursion is bounded
 * by what is looked at, and by what was seen. */
static int is_counted(view *w, uint32_t expr) {
    const vy_expr *x = expr_at(w, expr);
    if (w->looks++ >= LOOKS)
        return 1;
    if (x->kind == VY_EXPR_VARIABLE)
        return is_counted_variable(w, x->a);
    if (x->kind == VY_EXPR_LOAD)
        return is_private(w, x);
    if (x->kind != VY_EXPR_OP)
        return 0;
    const uint32_t operands[3] = {x->a, x->b, x->c};
    for (unsigned i = 0; i < vy_ptx_arity(x); i++)
        if (is_counted(w, operands[i]))
            return 1;
    return 0;
}

static int is_made_of_counted(view *w, uint32_t expr) {
    w->seen_count = 0;
    return is_counted(w, expr);
}

/* ---- comparisons ---- */

static vy_interval interval_of(const view *w, uint32_t expr) {
    const vy_expr *x = expr_at(w, expr);
    vy_wide number = vy_integer_of(x->type, x->bits);
    return x->kind == VY_EXPR_LITERAL ? (vy_interval){number, number} : vy_interval_whole(x->type);
}

/* Whether what statement `at` does has always been done, last, when control comes to the loop. */
static int leads_to_loop(const view *w, uint32_t at) {
    for (uint32_t i = vy_ptx_parent(w->emitter, at); i != VY_NONE; i = vy_ptx_parent(w->emitter, i)) {
        const vy_stmt *s = stmt_at(w, i);
        if (s->end <= w->loop || (s->middle > at && s->middle <= w->loop))
            return 0;
    }
    for (uint32_t i = vy_ptx_parent(w->emitter, w->loop); i != VY_NONE && i > at; i = vy_ptx_parent(w->emitter, i))
        if (vy_stmt_is_loop(stmt_at(w, i)->kind))
            return 0;
    return 1;
}

/* What a variable is when control comes to the loop. */
static vy_interval start_of(const view *w, uint32_t variable) {
    uint32_t at = vy_ptx_last_def(w->emitter, variable, w->loop);
    int is_known = at != VY_NONE && is_value(stmt_at(w, at)) && leads_to_loop(w, at);
    return is_known ? interval_of(w, stmt_at(w, at)->a) : vy_interval_whole(w->program->variables.items[variable].type);
}

/* By how much a literal makes a number more: what wraps goes back. */
static vy_wide step_of(const vy_expr *literal) {
    unsigned unused = 64 - vyre_type_bits((vyre_type)literal->type);
    return (int64_t)(literal->bits << unused) >> unused;
}

/* `v = v + 3` as the only assignment to v, at most once in a trip: its step; else 0. */
static vy_wide only_step(const view *w, uint32_t variable) {
    uint32_t at = where_set(w, variable, w->loop);
    if (at == w->end || stmt_at(w, at)->kind != VY_STMT_ASSIGN || where_set(w, variable, at + 1) != w->end)
        return 0;
    uint32_t around[VY_LIMIT_NESTING];
    for (unsigned i = 0, count = find_around(w, at, around); i < count; i++)
        if (vy_stmt_is_loop(stmt_at(w, around[i])->kind))
            return 0;
    const vy_expr *x = expr_at(w, resolve(w, stmt_at(w, at)->a));
    if (x->kind != VY_EXPR_OP || (x->op != VYRE_OP_ADD && x->op != VYRE_OP_SUB))
        return 0;
    const vy_expr *a = expr_at(w, resolve(w, x->a)), *b = expr_at(w, resolve(w, x->b));
    if (x->op == VYRE_OP_ADD && a->kind == VY_EXPR_LITERAL) {
        const vy_expr *swap = a;
        a = b;
        b = swap;
    }
    if (a->kind != VY_EXPR_VARIABLE || a->a != variable || b->kind != VY_EXPR_LITERAL)
        return 0;
    return x->op == VYRE_OP_ADD ? step_of(b) : -step_of(b);
}

/* From where, and by which steps, a side of a comparison goes: a variable, perhaps with something steady added or
 * taken from something steady. 0 if it is none. */
static int follow(view *w, uint32_t expr, vy_ptx_trip_count *c) {
    const vy_expr *x = expr_at(w, expr = resolve(w, expr));
    int is_sum = 0, is_back = 0;
    while (x->kind == VY_EXPR_OP && (x->op == VYRE_OP_ADD || x->op == VYRE_OP_SUB)) {
        int first = change_of(w, x->a) != STEADY, second = change_of(w, x->b) != STEADY;
        if (first == second)
            return 0;
        is_sum = 1;
        is_back ^= second && x->op == VYRE_OP_SUB;
        x = expr_at(w, expr = resolve(w, first ? x->a : x->b));
    }
    if (x->kind != VY_EXPR_VARIABLE)
        return 0;
    const vy_stmt *loop = stmt_at(w, w->loop);
    int is_own = loop->kind == VY_STMT_FOR && loop->variable == x->a;
    if (is_own && loop->c != VY_NONE && expr_at(w, loop->c)->kind != VY_EXPR_LITERAL)
        return 0;
    c->step = !is_own ? only_step(w, x->a) : loop->c == VY_NONE ? 1 : step_of(expr_at(w, loop->c));
    c->step = is_back ? -c->step : c->step;
    c->from = is_sum ? vy_interval_whole(c->type) : is_own ? interval_of(w, loop->a) : start_of(w, x->a);
    return c->step != 0;
}

/* A comparison that must be `wanted` for the loop to go on. */
static int comparison_is_right(view *w, const vy_expr *x, int wanted) {
    vyre_op goes_on = wanted ? (vyre_op)x->op : vy_op_opposite((vyre_op)x->op);
    int is_left = !is_made_of_counted(w, x->b);
    uint32_t side = is_left ? x->a : x->b, other = is_left ? x->b : x->a;
    vy_ptx_trip_count c = {.type = expr_at(w, side)->type, .goes_on = is_left ? goes_on : vy_op_mirrored(goes_on)};
    if (goes_on == VYRE_OP_COUNT || goes_on == VYRE_OP_EQ || !vy_is_integer(c.type) ||
        vyre_type_bits((vyre_type)c.type) < 32 || is_made_of_counted(w, other))
        return 0;
    c.to = interval_of(w, other);
    return follow(w, side, &c) && vy_ptx_trip_count_is_safe(&c);
}

/* A condition that must be `wanted` for the loop to go on. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, and by
 * what is looked at. */
static int condition_is_right(view *w, uint32_t expr, int wanted) {
    if (!is_made_of_counted(w, expr))
        return 1;
    if (w->looks >= LOOKS)
        return 0;
    const vy_expr *x = expr_at(w, resolve(w, expr));
    if (x->kind != VY_EXPR_OP)
        return 0;
    if (x->op == VYRE_OP_LNOT)
        return condition_is_right(w, x->a, !wanted);
    if (x->op == VYRE_OP_LAND || x->op == VYRE_OP_LOR)
        return condition_is_right(w, x->a, wanted) && condition_is_right(w, x->b, wanted);
    return comparison_is_right(w, x, wanted);
}

/* ---- ways out ---- */

static uint32_t last_exit(const view *w, uint32_t first, uint32_t end) {
    uint32_t breaks = last_jump(w, first, end, VY_STMT_BREAK), returns = last_jump(w, first, end, VY_STMT_RETURN);
    return breaks > returns ? breaks : returns;
}

/* An `if` that may decide whether there is another trip: who goes on with the next one there does not come to a way
 * out behind it. */
static int if_is_right(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    int then_leaves = last_exit(w, at + 1, s->middle) != 0, else_leaves = last_exit(w, s->middle, s->end) != 0;
    int skips = w->last_exit > at && last_jump(w, at + 1, s->end, VY_STMT_CONTINUE) != 0;
    if ((then_leaves && else_leaves) || skips)
        return !is_made_of_counted(w, s->a);
    return (!then_leaves && !else_leaves) || condition_is_right(w, s->a, else_leaves);
}

static view view_of(vy_ptx *e, uint32_t loop) {
    return (view){.emitter = e, .program = e->program, .loop = loop, .end = e->program->stmts.items[loop].end};
}

int vy_ptx_exits_are_safe(vy_ptx *e, uint32_t loop) {
    const vy_stmt *s = &e->program->stmts.items[loop];
    view w = view_of(e, loop);
    w.last_exit = last_exit(&w, loop + 1, s->end);
    if (s->kind == VY_STMT_WHILE && !condition_is_right(&w, s->a, 1))
        return 0;
    for (uint32_t i = loop + 1; i < w.last_exit; i++)
        if (stmt_at(&w, i)->kind == VY_STMT_IF && !if_is_right(&w, i))
            return 0;
    return 1;
}

/* ---- hiding ---- */

/* Whether a statement steps an integer from outside the loop that has not been seen. */
static int is_to_be_hidden(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    if (s->kind != VY_STMT_ASSIGN || !vy_is_integer(expr_at(w, s->a)->type) || change_of(w, s->a) != STEPPED)
        return 0;
    for (unsigned i = 0; i < w->seen_count; i++)
        if (w->seen[i] == s->variable)
            return 0;
    uint32_t first = where_set(w, s->variable, w->loop);
    if (first == w->end || stmt_at(w, first)->kind != VY_STMT_ASSIGN)
        return 0;
    if (w->seen_count < MOST_SEEN)
        w->seen[w->seen_count++] = s->variable;
    return 1;
}

void vy_ptx_hide_constants(vy_ptx *e, uint32_t loop) {
    view w = view_of(e, loop);
    for (uint32_t i = loop + 1; i < w.end; i++) {
        if (!is_to_be_hidden(&w, i))
            continue;
        vy_ptx_value v = e->variables[stmt_at(&w, i)->variable], zero = vy_ptx_zero(e);
        int is_wide = vyre_type_bits((vyre_type)v.type) == 64;
        zero = is_wide ? zero : vy_ptx_cast(e, VYRE_TYPE_U32, zero);
        vy_ptx_write(e, "add.%s %s, %s, %s", is_wide ? "u64" : "u32", vy_ptx_name(e, v), vy_ptx_name(e, v),
                     vy_ptx_name(e, zero));
    }
}
