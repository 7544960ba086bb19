/* Which loops ptxas counts correctly (ptxas_loops.h). Conservative: the answer is 1 only for loops that are proved
 * safe. */
#include "emit/ptxas_loops.h"

#include "ir/eval.h"

/* The value of a literal; of any other expression, all values of its type. */
static vy_interval interval_of(const vyre_program *program, uint32_t expr) {
    const vy_expr *x = vy_expr_at(program, expr);
    const vy_wide number = vy_integer_of(x->type, x->bits);
    return x->kind == VY_EXPR_LITERAL ? (vy_interval){number, number} : vy_interval_whole(x->type);
}

/* The unrolled step, the value after the last iteration, and the values on the way there must be in the range of the
 * type. */
int vy_ptxas_counts_rightly(const vy_ptxas_trip_count *c) {
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

int vy_ptxas_counts_for_rightly(const vyre_program *program, const vy_stmt *loop) {
    const vy_expr *by = loop->c == VY_NONE ? NULL : vy_expr_at(program, loop->c);
    const vy_wide step = by ? vy_integer_of(by->type, by->bits) : 1;
    const vy_ptxas_trip_count counting = {.type = vy_expr_at(program, loop->a)->type,
                                          .goes_on = step < 0 ? VYRE_OP_GT : VYRE_OP_LT,
                                          .step = step,
                                          .from = interval_of(program, loop->a),
                                          .to = interval_of(program, loop->b)};
    return (!by || by->kind == VY_EXPR_LITERAL) && vy_ptxas_counts_rightly(&counting);
}

/* ---- changes of values from iteration to iteration ---- */

enum { LOOKS = 512, MOST_SEEN = 32 };

typedef struct view {
    const vy_def_use *uses;
    const vyre_program *program;
    uint32_t loop, end;       /* statements: the loop itself, and the end of its body */
    uint32_t last_exit;       /* after its last `break` or `return`; 0 */
    unsigned looks;           /* number of visited expressions */
    uint32_t seen[MOST_SEEN]; /* variables that were visited below the current condition */
    unsigned seen_count;
} view;

/* The change of a value from iteration to iteration: none; a multiple of a varying value; varying; a varying value
 * plus an amount; or unknown before the iteration. */
typedef enum change { STEADY, SCALED, VARYING, STEPPED, LOADED } change;

static const vy_expr *expr_at(const view *w, uint32_t expr) {
    return vy_expr_at(w->program, expr);
}

static const vy_stmt *stmt_at(const view *w, uint32_t stmt) {
    return vy_stmt_at(w->program, stmt);
}

static int is_value(const vy_stmt *s) {
    return s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN;
}

/* The first statement at or after `i` that assigns a variable in the loop; the loop's end if there is none. */
static uint32_t where_set(const view *w, uint32_t variable, uint32_t i) {
    uint32_t at = vy_next_definition(w->uses, variable, i);
    return at < w->end ? at : w->end;
}

/* An expression, or the expression of the `let` of the loop that it names. */
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
    return vy_memory_at(w->program, load->a)->space == VY_SPACE_PRIVATE;
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

/* Whether multiplication, division or a shift by this operand changes a number. */
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
    const uint32_t *operands = VY_EXPR_OPERANDS(x);
    change of[3] = {STEADY, STEADY, STEADY}, most = STEADY;
    for (unsigned i = 0; i < vy_expr_arity(x); i++) {
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

/* Recursion is bounded by the number of visited expressions. */
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

/* One past the last jump of that kind in statements [first, end) that concerns the loop; 0 if there is none. */
static uint32_t last_jump(const view *w, uint32_t first, uint32_t end, vy_stmt_kind kind) {
    uint32_t last = 0, inner = first; /* the end of an inner loop, whose jumps do not count */
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = stmt_at(w, i);
        if (s->kind == kind && (i >= inner || kind == VY_STMT_RETURN))
            last = i + 1;
        if (vy_stmt_is_loop(s->kind) && s->end > inner)
            inner = s->end;
    }
    return last;
}

/* The statements of the loop that contain one of its statements, the innermost first; returns their number. */
static unsigned find_around(const view *w, uint32_t at, uint32_t around[VY_LIMIT_NESTING]) {
    unsigned count = 0;
    for (at = w->uses->parents[at]; at != VY_NONE && at > w->loop && count < VY_LIMIT_NESTING;
         at = w->uses->parents[at])
        around[count++] = at;
    return count;
}

/* Whether every iteration executes a statement: it is in the body itself, and no `continue` precedes it. */
static int is_in_every_trip(const view *w, uint32_t at) {
    uint32_t around[VY_LIMIT_NESTING];
    for (unsigned i = 0, count = find_around(w, at, around); i < count; i++)
        if (stmt_at(w, around[i])->kind != VY_STMT_REGION)
            return 0;
    return !last_jump(w, w->loop + 1, at, VY_STMT_CONTINUE);
}

/* ---- operands of conditions ---- */

static int is_counted(view *w, uint32_t expr);

static int any_is_counted(view *w, const vy_stmt *s) {
    const uint32_t *operands = VY_STMT_OPERANDS(s);
    for (unsigned i = 0; i < 3; i++)
        if (operands[i] != VY_NONE && is_counted(w, operands[i]))
            return 1;
    return 0;
}

/* Whether a statement of the loop makes a variable an induction variable, by its value or by the conditions
 * around it. */
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

/* Whether a variable is assigned a value in every iteration that is unknown before: then ptxas cannot count by it. */
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

/* Whether an expression depends on a value that changes by the same amount in every iteration. Recursion is bounded by
 * the number of visited expressions and variables. */
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
    const uint32_t *operands = VY_EXPR_OPERANDS(x);
    for (unsigned i = 0; i < vy_expr_arity(x); i++)
        if (is_counted(w, operands[i]))
            return 1;
    return 0;
}

static int is_made_of_counted(view *w, uint32_t expr) {
    w->seen_count = 0;
    return is_counted(w, expr);
}

/* ---- comparisons ---- */

/* Whether statement `at` is certainly the last that was executed for its variable when control reaches the loop. */
static int leads_to_loop(const view *w, uint32_t at) {
    for (uint32_t i = w->uses->parents[at]; i != VY_NONE; i = w->uses->parents[i]) {
        const vy_stmt *s = stmt_at(w, i);
        if (s->end <= w->loop || (s->middle > at && s->middle <= w->loop))
            return 0;
    }
    for (uint32_t i = w->uses->parents[w->loop]; i != VY_NONE && i > at; i = w->uses->parents[i])
        if (vy_stmt_is_loop(stmt_at(w, i)->kind))
            return 0;
    return 1;
}

/* The range of a variable when control reaches the loop. */
static vy_interval start_of(const view *w, uint32_t variable) {
    uint32_t at = vy_last_definition(w->uses, variable, w->loop);
    int is_known = at != VY_NONE && is_value(stmt_at(w, at)) && leads_to_loop(w, at);
    return is_known ? interval_of(w->program, stmt_at(w, at)->a)
                    : vy_interval_whole(vy_variable_at(w->program, variable)->type);
}

/* The amount that adding a literal increases a number by; negative if it wraps. */
static vy_wide step_of(const vy_expr *literal) {
    unsigned unused = 64 - vyre_type_bits((vyre_type)literal->type);
    return (int64_t)(literal->bits << unused) >> unused;
}

/* The step of a variable whose only assignment is `v = v + 3`, at most once per iteration; else 0. */
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

/* The start and the step of a side of a comparison: a variable, possibly plus or minus an unchanging value. Returns 0
 * if it is any other expression. */
static int follow(view *w, uint32_t expr, vy_ptxas_trip_count *c) {
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
    c->from = is_sum ? vy_interval_whole(c->type) : is_own ? interval_of(w->program, loop->a) : start_of(w, x->a);
    return c->step != 0;
}

/* A comparison that must be `wanted` for the loop to continue. */
static int comparison_is_right(view *w, const vy_expr *x, int wanted) {
    vyre_op goes_on = wanted ? (vyre_op)x->op : vy_op_opposite((vyre_op)x->op);
    int is_left = !is_made_of_counted(w, x->b);
    uint32_t side = is_left ? x->a : x->b, other = is_left ? x->b : x->a;
    vy_ptxas_trip_count c = {.type = expr_at(w, side)->type, .goes_on = is_left ? goes_on : vy_op_mirrored(goes_on)};
    if (goes_on == VYRE_OP_COUNT || goes_on == VYRE_OP_EQ || !vy_is_integer(c.type) ||
        vyre_type_bits((vyre_type)c.type) < 32 || is_made_of_counted(w, other))
        return 0;
    c.to = interval_of(w->program, other);
    return follow(w, side, &c) && vy_ptxas_counts_rightly(&c);
}

/* A condition that must be `wanted` for the loop to continue. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH and by
 * the number of visited expressions. */
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

/* ---- exits ---- */

static uint32_t last_exit(const view *w, uint32_t first, uint32_t end) {
    uint32_t breaks = last_jump(w, first, end, VY_STMT_BREAK), returns = last_jump(w, first, end, VY_STMT_RETURN);
    return breaks > returns ? breaks : returns;
}

/* An `if` that may decide whether there is another iteration: a `continue` in it skips the exits after it. */
static int if_is_right(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    int then_leaves = last_exit(w, at + 1, s->middle) != 0, else_leaves = last_exit(w, s->middle, s->end) != 0;
    int skips = w->last_exit > at && last_jump(w, at + 1, s->end, VY_STMT_CONTINUE) != 0;
    if ((then_leaves && else_leaves) || skips)
        return !is_made_of_counted(w, s->a);
    return (!then_leaves && !else_leaves) || condition_is_right(w, s->a, else_leaves);
}

static view view_of(const vy_def_use *uses, uint32_t loop) {
    return (view){.uses = uses, .program = uses->program, .loop = loop, .end = vy_stmt_at(uses->program, loop)->end};
}

int vy_ptxas_exits_are_safe(const vy_def_use *uses, uint32_t loop) {
    view w = view_of(uses, loop);
    const vy_stmt *s = stmt_at(&w, loop);
    w.last_exit = last_exit(&w, loop + 1, s->end);
    if (s->kind == VY_STMT_WHILE && !condition_is_right(&w, s->a, 1))
        return 0;
    for (uint32_t i = loop + 1; i < w.last_exit; i++)
        if (stmt_at(&w, i)->kind == VY_STMT_IF && !if_is_right(&w, i))
            return 0;
    return 1;
}

/* ---- stepped variables ---- */

static int steps(view *w, uint32_t at) {
    const vy_stmt *s = stmt_at(w, at);
    w->looks = 0;
    return s->kind == VY_STMT_ASSIGN && vy_is_integer(expr_at(w, s->a)->type) && change_of(w, s->a) == STEPPED;
}

int vy_ptxas_steps_first(const vy_def_use *uses, uint32_t loop, uint32_t at) {
    view w = view_of(uses, loop);
    if (!steps(&w, at))
        return 0;
    const uint32_t variable = stmt_at(&w, at)->variable, first = where_set(&w, variable, loop);
    if (stmt_at(&w, first)->kind != VY_STMT_ASSIGN)
        return 0;
    for (uint32_t i = first; i < at; i = where_set(&w, variable, i + 1))
        if (steps(&w, i))
            return 0;
    return 1;
}
