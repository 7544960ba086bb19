/* Loops: `for` and `while` (loop rotation), load pipelining (software pipelining), and alignment versions. */
#include "emit/ptx/emitter.h"

#include "analysis/affine_index.h"
#include "analysis/trip_count.h"
#include "ir/walk.h"

/* ---- for ----
 *
 * The loop condition compares the variable with the end, if the value after the last iteration fits in the type; else
 * it compares the remaining distance. */

typedef struct bounds {
    vyre_type type;
    const char *name; /* of the type in instructions */
    int is_signed, is_wide;
    vy_ptx_value from, now, to, step;
} bounds;

static vy_ptx_value compare(vy_ptx *e, const char *how, const char *type, vy_ptx_value a, vy_ptx_value b) {
    a = vy_ptx_in_register(e, a);
    vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    VY_PTX_INSTRUCT(e, how, type, p, a, b);
    return p;
}

static vy_ptx_value both(vy_ptx *e, const char *how, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    VY_PTX_INSTRUCT(e, how, "pred", p, a, b);
    return p;
}

/* At least one of the operands is a register. */
static vy_ptx_value calculate(vy_ptx *e, const bounds *b, const char *how, vy_ptx_value x, vy_ptx_value y) {
    vy_ptx_value d = vy_ptx_new(e, b->type);
    VY_PTX_INSTRUCT(e, how, b->name, d, x, y);
    return d;
}

static vy_ptx_value zero_of(const bounds *b) {
    return vy_ptx_literal(b->type, 0);
}

/* Whether a literal step is negative. */
static int goes_back(const bounds *b) {
    return b->is_signed && b->step.is_literal && b->step.bits >> (vyre_type_bits(b->type) - 1) & 1;
}

static vy_wide number_of(const bounds *b, vy_ptx_value v) {
    return vy_integer_of((uint8_t)b->type, v.bits);
}

static vy_interval interval_of(const bounds *b, vy_ptx_value v) {
    return v.is_literal ? (vy_interval){number_of(b, v), number_of(b, v)} : vy_interval_whole((uint8_t)b->type);
}

/* Whether the value after the last iteration is in the range of the type, so that comparing it with the end decides
 * about the next iteration. Always true for a step of one, which stops at the end. */
static int may_pass_the_end(const bounds *b) {
    if (!b->step.is_literal || !b->step.bits)
        return 0;
    vy_wide step = number_of(b, b->step);
    if (step == 1 || step == -1)
        return 1;
    if (!b->to.is_literal)
        return 0;
    vy_interval whole = vy_interval_whole((uint8_t)b->type);
    vy_wide to = number_of(b, b->to);
    return step > 0 ? to + step - 1 <= whole.high : to + step + 1 >= whole.low;
}

/* Whether ptxas counts the iterations correctly, and may unroll the loop. It does not count any other form. */
static int is_counted_rightly(const bounds *b) {
    if (!may_pass_the_end(b))
        return 1;
    const vy_ptxas_trip_count counting = {.type = (uint8_t)b->type,
                                          .goes_on = goes_back(b) ? VYRE_OP_GT : VYRE_OP_LT,
                                          .step = number_of(b, b->step),
                                          .from = interval_of(b, b->from),
                                          .to = interval_of(b, b->to)};
    return vy_ptxas_counts_rightly(&counting);
}

/* Whether there is a first iteration: the end is in the direction of the step. */
static vy_ptx_value enters(vy_ptx *e, const bounds *b, vy_ptx_value first) {
    if (first.is_literal && b->to.is_literal && b->step.is_literal) {
        const vy_trips trips = {number_of(b, first), number_of(b, b->to), number_of(b, b->step)};
        return vy_ptx_literal(VYRE_TYPE_BOOL, (uint64_t)vy_trips_remain(&trips));
    }
    first = b->now;
    if (b->step.is_literal)
        return b->step.bits ? compare(e, goes_back(b) ? "setp.gt" : "setp.lt", b->name, first, b->to)
                            : vy_ptx_literal(VYRE_TYPE_BOOL, 0);
    vy_ptx_value up = compare(e, "setp.lt", b->name, first, b->to);
    if (!b->is_signed)
        return both(e, "and", up, compare(e, "setp.ne", b->name, b->step, zero_of(b)));
    up = both(e, "and", up, compare(e, "setp.gt", b->name, b->step, zero_of(b)));
    vy_ptx_value down = compare(e, "setp.gt", b->name, first, b->to);
    down = both(e, "and", down, compare(e, "setp.lt", b->name, b->step, zero_of(b)));
    return both(e, "or", up, down);
}

static vy_ptx_value chosen(vy_ptx *e, const bounds *b, vy_ptx_value c, vy_ptx_value yes, vy_ptx_value no) {
    vy_ptx_value d = vy_ptx_new(e, b->type);
    VY_PTX_INSTRUCT(e, "selp", vy_ptx_bits(b->type), d, yes, no, c);
    return d;
}

/* Whether there is another iteration: the remaining distance exceeds a step, so nothing wraps. */
static vy_ptx_value goes_on(vy_ptx *e, const bounds *b) {
    const char *magnitude = b->is_wide ? "u64" : "u32";
    vy_ptx_value left, stride = b->step;
    if (goes_back(b)) {
        left = calculate(e, b, "sub", b->now, b->to);
        stride.bits = -stride.bits & (b->is_wide ? UINT64_MAX : UINT32_MAX);
        stride.type = b->is_wide ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
        return compare(e, "setp.gt", magnitude, left, stride);
    }
    left = calculate(e, b, "sub", b->to, b->now);
    if (b->is_signed && !stride.is_literal) {
        vy_ptx_value back = compare(e, "setp.lt", b->name, b->step, zero_of(b));
        left = chosen(e, b, back, calculate(e, b, "sub", b->now, b->to), left);
        stride = chosen(e, b, back, calculate(e, b, "sub", zero_of(b), b->step), b->step);
    }
    return compare(e, "setp.gt", magnitude, left, stride);
}

/* Advances to the next iteration and returns whether there is one. */
static vy_ptx_value next_trip(vy_ptx *e, const bounds *b) {
    int compares = may_pass_the_end(b);
    vy_ptx_value again = compares ? b->now : goes_on(e, b);
    VY_PTX_INSTRUCT(e, "add", b->name, b->now, b->now, b->step);
    return compares ? compare(e, goes_back(b) ? "setp.gt" : "setp.lt", b->name, b->now, b->to) : again;
}

/* ---- four iterations at a time ----
 *
 * ptxas unrolls loops, but not loops with operations that it compiles to calls. */

enum { FOUR = 4, MOST_IN_FOURS = 24 };

static int is_called(const vyre_program *p, const vy_expr *x) {
    int is_division = x->op == VYRE_OP_DIV || x->op == VYRE_OP_REM,
        is_float = vyre_type_class((vyre_type)x->type) == VYRE_CLASS_FLOAT;
    return x->op == VYRE_OP_SQRT || (is_division && (is_float || p->exprs.items[x->b].kind != VY_EXPR_LITERAL));
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int has_call(const vyre_program *p, uint32_t expr) {
    const vy_expr *x = expr == VY_NONE ? NULL : &p->exprs.items[expr];
    if (!x || x->kind != VY_EXPR_OP)
        return 0;
    unsigned arity = vy_expr_arity(x);
    return is_called(p, x) || has_call(p, x->a) || (arity > 1 && has_call(p, x->b)) || (arity > 2 && has_call(p, x->c));
}

/* Whether a body is short and straight, and contains such an operation. */
static int is_for_fours(const vyre_program *p, uint32_t first, uint32_t end) {
    int calls = 0;
    if (end - first > MOST_IN_FOURS)
        return 0;
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        int is_value = s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN;
        if (!is_value && s->kind != VY_STMT_STORE && s->kind != VY_STMT_LOAD_WIDE && s->kind != VY_STMT_REGION)
            return 0;
        calls |= (is_value && has_call(p, s->a)) || (s->kind == VY_STMT_STORE && has_call(p, s->b));
    }
    return calls;
}

/* A loop before the loop, which executes groups of four iterations. */
static void write_fours(vy_ptx *e, uint32_t index, const vy_stmt *s, const bounds *b, uint32_t exit) {
    const char *type = b->is_wide ? "u64" : "u32";
    if (!b->step.is_literal || b->step.bits != 1 || !is_for_fours(e->program, index + 1, s->end))
        return;
    uint32_t rest = vy_ptx_label(e), fours = vy_ptx_label(e);
    vy_ptx_value left = calculate(e, b, "sub", b->to, b->now), four = vy_ptx_literal(b->type, FOUR);
    vy_ptx_jump_if(e, compare(e, "setp.ge", type, left, four), 0, rest);
    vy_ptx_bind_label(e, fours);
    for (int i = 0; i < FOUR; i++) {
        vy_ptx_statements(e, index + 1, s->end);
        vy_ptx_write(e, "add.%s %s, %s, 1", b->name, vy_ptx_name(e, b->now), vy_ptx_name(e, b->now));
    }
    vy_ptx_write(e, "sub.%s %s, %s, %d", type, vy_ptx_name(e, left), vy_ptx_name(e, left), FOUR);
    vy_ptx_jump_if(e, compare(e, "setp.ge", type, left, four), 1, fours);
    vy_ptx_jump_if(e, compare(e, "setp.eq", type, left, zero_of(b)), 1, exit);
    vy_ptx_bind_label(e, rest);
}

void vy_ptx_for(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    if (vy_ptx_for_convert(e, index, s))
        return;
    vyre_type type = (vyre_type)e->program->variables.items[s->variable].type;
    bounds b = {.type = type,
                .name = vy_ptx_type(type),
                .is_signed = vyre_type_class(type) == VYRE_CLASS_SIGNED,
                .is_wide = vyre_type_bits(type) == 64};
    vy_ptx_value from = vy_ptx_expr(e, s->a);
    b.to = vy_ptx_expr_kept(e, s->b);
    b.step = s->c == VY_NONE ? vy_ptx_literal(type, 1) : vy_ptx_expr_kept(e, s->c);
    b.from = from;
    b.now = vy_ptx_new(e, type);
    b.now.maybe_negated = 1; /* because the initial value may be */
    vy_ptx_move(e, b.now, from);
    vy_ptx_value is_entered = enters(e, &b, from);
    if (vy_ptx_is_constant(is_entered, 0))
        return;
    e->variables[s->variable] = b.now;
    vy_ptx_loop loop;
    if (!vy_ptx_loop_begin(e, &loop))
        return;
    uint32_t body = vy_ptx_label(e);
    int exits_are_right = vy_ptx_exits_are_safe(e, index);
    if (!exits_are_right)
        vy_ptx_hide_constants(e, index);
    if (!vy_ptx_is_constant(is_entered, 1))
        vy_ptx_jump_if(e, is_entered, 0, loop.exit);
    write_fours(e, index, s, &b, loop.exit);
    vy_ptx_bind_body_label(e, body, is_counted_rightly(&b) && exits_are_right);
    vy_ptx_statements(e, index + 1, s->end);
    vy_ptx_bind_label(e, loop.next);
    vy_ptx_jump_if(e, next_trip(e, &b), 1, body);
    vy_ptx_bind_label(e, loop.exit);
    e->loops.count--;
}

/* ---- while ----
 *
 * The condition is tested before the loop and at its end, or earlier in the iteration, after the last change of its
 * operands. */

/* The condition that is tested before every iteration: that of the loop, or for an endless loop that of an `if c {
 * break }` at its start, after some `let`s. */
typedef struct question {
    uint32_t first, end; /* the `let`s */
    uint32_t condition;
    int wanted; /* its value for another iteration */
    uint32_t body;
} question;

static question question_of(const vyre_program *p, uint32_t index, const vy_stmt *s) {
    const vy_stmt *stmts = p->stmts.items;
    const vy_expr *condition = &p->exprs.items[s->a];
    uint32_t i = index + 1;
    while (i < s->end && stmts[i].kind == VY_STMT_LET)
        i++;
    int breaks = i < s->end && stmts[i].kind == VY_STMT_IF && stmts[i].end == i + 2 && stmts[i].middle == i + 2 &&
                 stmts[i + 1].kind == VY_STMT_BREAK;
    if (condition->kind == VY_EXPR_LITERAL && condition->bits && breaks)
        return (question){index + 1, i, stmts[i].a, 0, i + 2};
    return (question){index + 1, index + 1, s->a, 1, index + 1};
}

/* Evaluates the condition again: the `let`s keep their registers. */
static vy_ptx_value ask_again(vy_ptx *e, const question *q) {
    for (uint32_t i = q->first; i < q->end; i++) {
        const vy_stmt *let = &e->program->stmts.items[i];
        vy_ptx_value has = e->variables[let->variable], now = vy_ptx_expr(e, let->a);
        if (!has.is_literal && (now.is_literal || now.name != has.name))
            vy_ptx_move(e, has, now);
    }
    return vy_ptx_expr(e, q->condition);
}

/* ---- early evaluation of the condition ----
 *
 * A condition whose operands do not change any more in an iteration is evaluated at that point, so that its value is
 * available at the end of the iteration. After a load that is waited for, or a branch that leaves the loop, it would
 * add its latency. */

enum { MOST_READS = 4, MOST_VISITED = 32 };

/* The variables that an expression depends on, if they are few and it has no load. */
typedef struct reads {
    uint32_t variables[MOST_READS];
    unsigned count, visited;
    int is_too_much;
} reads;

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, and by `visited`. */
static void add_reads(const vyre_program *p, uint32_t expr, reads *r) {
    const vy_expr *x = &p->exprs.items[expr];
    r->is_too_much |= ++r->visited > MOST_VISITED || x->kind == VY_EXPR_LOAD ||
                      (x->kind == VY_EXPR_VARIABLE && r->count == MOST_READS);
    if (r->is_too_much)
        return;
    if (x->kind == VY_EXPR_VARIABLE)
        r->variables[r->count++] = x->a;
    if (x->kind != VY_EXPR_OP)
        return;
    const uint32_t operands[3] = {x->a, x->b, x->c};
    for (unsigned i = 0; i < vy_expr_arity(x); i++)
        add_reads(p, operands[i], r);
}

static int depends(const reads *r, uint32_t variable) {
    for (unsigned i = 0; i < r->count; i++)
        if (r->variables[i] == variable)
            return 1;
    return 0;
}

/* The first statement of the body before which the condition has its final value; `end` if there is none. */
static uint32_t find_invariant_point(const vyre_program *p, const question *q, uint32_t end) {
    const vy_stmt *stmts = p->stmts.items;
    uint32_t settled = q->body;
    reads r = {.count = 0};
    add_reads(p, q->condition, &r);
    if (q->first != q->end || r.is_too_much)
        return end;
    for (uint32_t i = q->body; i < end; i = stmts[i].end)
        for (uint32_t k = i; k < stmts[i].end; k++)
            if (stmts[k].kind == VY_STMT_ASSIGN && depends(&r, stmts[k].variable))
                settled = stmts[i].end;
    for (uint32_t k = q->body; k < settled; k++)
        if (stmts[k].kind == VY_STMT_CONTINUE)
            return end;
    return settled;
}

/* An iteration of a loop whose condition is evaluated early, up to the jump. A load at the start of the next iteration
 * is issued early, too. Returns the condition. */
static vy_ptx_value write_rotated_body(vy_ptx *e, const question *q, uint32_t end, uint32_t settled, uint32_t body,
                                       int is_right) {
    uint32_t next = e->loops.items[e->loops.count - 1].next, before = e->ahead;
    vy_ptx_value given = e->given, later = given;
    uint32_t ahead = q->wanted ? vy_ptx_find_pipelined_load(e, q->body, settled, end) : VY_NONE;
    e->ahead = ahead;
    if (ahead != VY_NONE)
        e->given = vy_ptx_load_next_iteration(e, ahead, vy_ptx_literal(VYRE_TYPE_BOOL, 1));
    vy_ptx_bind_body_label(e, body, is_right);
    vy_ptx_statements(e, q->body, settled);
    vy_ptx_value condition = vy_ptx_expr_kept(e, q->condition);
    if (ahead != VY_NONE)
        later = vy_ptx_load_next_iteration(e, ahead, condition);
    vy_ptx_statements(e, settled, end);
    vy_ptx_bind_label(e, next);
    if (ahead != VY_NONE)
        vy_ptx_move(e, e->given, later);
    e->ahead = before;
    e->given = given;
    return condition;
}

/* The condition is tested before the loop and at its end. A loop with no iteration is then an ordinary branch for
 * ptxas, which crashes on some loops that start with the test (E3, docs/internals/ptx.md). */
void vy_ptx_while(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    question q = question_of(e->program, index, s);
    int is_right = vy_ptx_exits_are_safe(e, index);
    if (!is_right)
        vy_ptx_hide_constants(e, index);
    vy_ptx_statements(e, q.first, q.end);
    for (uint32_t i = q.first; i < q.end; i++) /* they are declared again */
        e->variables[e->program->stmts.items[i].variable].part = 0;
    vy_ptx_value condition = vy_ptx_expr(e, q.condition);
    if (vy_ptx_is_constant(condition, (uint64_t)!q.wanted))
        return;
    vy_ptx_loop loop;
    if (!vy_ptx_loop_begin(e, &loop))
        return;
    uint32_t body = vy_ptx_label(e);
    vy_ptx_byte_loads near;
    if (!condition.is_literal)
        vy_ptx_jump_if(e, condition, !q.wanted, loop.exit);
    uint32_t settled = find_invariant_point(e->program, &q, s->end);
    if (settled < s->end) {
        condition = write_rotated_body(e, &q, s->end, settled, body, is_right);
    } else {
        int is_near = vy_ptx_find_byte_loads(e, q.body, s->end, &near);
        if (is_near)
            vy_ptx_byte_loads_limit(e, &near);
        vy_ptx_bind_body_label(e, body, is_right);
        if (is_near)
            vy_ptx_write_combined_body(e, &near, q.body, s->end);
        else
            vy_ptx_statements(e, q.body, s->end);
        vy_ptx_bind_label(e, loop.next);
        condition = ask_again(e, &q);
    }
    if (condition.is_literal)
        vy_ptx_jump(e, body);
    else
        vy_ptx_jump_if(e, condition, q.wanted, body);
    vy_ptx_bind_label(e, loop.exit);
    e->loops.count--;
}

/* Software pipelining of loads: a load at the start of an iteration is issued in the iteration before, as soon as its
 * index is known.
 *
 * This shortens a chain of dependent loads, as in an automaton that reads byte by byte, by one.
 *
 * The results are the same: no invocation writes the buffer in the dispatch, and the condition of the load guarantees
 * that the index is in bounds. The load is issued if there is another iteration, which a `break` may still prevent. */
/* Limits of the statements at the start of a body that are examined, and of the loads that are compared with the whole
 * body. */
enum { BEGINNING = 16, TRIES = 8 };

/* The body of a loop whose condition has its final value from statement `settled` on; the load is in statement
 * `at`. */
typedef struct body {
    vy_ptx *emitter;
    const vyre_program *program;
    uint32_t first, settled, end, at;
    unsigned tries;
} body;

static const vy_expr *expr_at(const body *b, uint32_t expr) {
    return &b->program->exprs.items[expr];
}

/* Whether statements of [first, end) declare a variable or assign to it. */
static int is_set(const body *b, uint32_t variable, uint32_t first, uint32_t end) {
    uint32_t at = vy_ptx_next_def(b->emitter, variable, first);
    return at != VY_NONE && at < end;
}

/* Whether an expression has at `settled` the value that it will have in the next iteration. */
static int is_iteration_invariant(const body *b, uint32_t expr) {
    VY_EACH_EXPR (b->program, i, expr) {
        const vy_expr *x = expr_at(b, i);
        if (x->kind == VY_EXPR_LOAD ||
            (x->kind == VY_EXPR_VARIABLE && (is_set(b, x->a, b->first, b->at) || is_set(b, x->a, b->settled, b->end))))
            return 0;
    }
    return 1;
}

/* The condition of a load, or the expression of the `let` that defines it. */
static const vy_expr *condition_of(const body *b, const vy_expr *load) {
    const vy_stmt *stmts = b->program->stmts.items;
    if (load->c == VY_NONE)
        return NULL;
    const vy_expr *c = expr_at(b, load->c);
    if (c->kind != VY_EXPR_VARIABLE)
        return c;
    uint32_t declared = vy_ptx_next_def(b->emitter, c->a, b->first);
    return declared < b->at && stmts[declared].kind == VY_STMT_LET ? expr_at(b, stmts[declared].a) : NULL;
}

/* `index < len(memory)`. If no operand of the index changes, both indices are equal. */
static int is_bounds_check_of(const body *b, const vy_expr *condition, const vy_expr *load) {
    if (!condition || condition->kind != VY_EXPR_OP || condition->op != VYRE_OP_LT)
        return 0;
    const vy_expr *length = expr_at(b, condition->b);
    return length->kind == VY_EXPR_LEN && length->a == load->a && vy_expr_equal(b->program, condition->a, load->b);
}

static int can_be_pipelined(body *b, const vy_expr *load) {
    const vy_memory *m = &b->program->memories.items[load->a];
    int is_constant = m->access == VYRE_ACCESS_READ || m->access == VYRE_ACCESS_UNIFORM;
    return m->space == VY_SPACE_BUFFER && is_constant && load->op == VY_BOUNDS_UNCHECKED && b->tries++ < TRIES &&
           is_bounds_check_of(b, condition_of(b, load), load) && is_iteration_invariant(b, load->b);
}

/* The first load of an expression that can be pipelined; VY_NONE. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
static uint32_t find_in(body *b, uint32_t expr) {
    const vy_expr *x = expr_at(b, expr);
    if (x->kind == VY_EXPR_LOAD)
        return can_be_pipelined(b, x) ? expr : find_in(b, x->b);
    if (x->kind != VY_EXPR_OP)
        return VY_NONE;
    const uint32_t operands[3] = {x->a, x->b, x->c};
    uint32_t found = VY_NONE;
    for (unsigned i = 0; i < vy_expr_arity(x) && found == VY_NONE; i++)
        found = find_in(b, operands[i]);
    return found;
}

uint32_t vy_ptx_find_pipelined_load(vy_ptx *e, uint32_t first, uint32_t settled, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    body b = {e, e->program, first, settled, end, first, 0};
    uint32_t found = VY_NONE;
    for (unsigned k = 0; k < BEGINNING && b.at < settled && found == VY_NONE; k++, b.at = stmts[b.at].end) {
        uint8_t kind = stmts[b.at].kind;
        if (kind == VY_STMT_LET || kind == VY_STMT_VAR || kind == VY_STMT_ASSIGN)
            found = find_in(&b, stmts[b.at].a);
    }
    return found;
}

vy_ptx_value vy_ptx_load_next_iteration(vy_ptx *e, uint32_t load, vy_ptx_value condition) {
    const vy_expr *x = &e->program->exprs.items[load];
    vy_ptx_value inside = vy_ptx_new(e, VYRE_TYPE_BOOL), index = vy_ptx_expr(e, x->b);
    vy_ptx_value count = vy_ptx_count(e, x->a - e->body->first_memory);
    vy_ptx_write(e, "setp.lt.u32 %s, %s, %s", vy_ptx_name(e, inside), vy_ptx_register(e, index), vy_ptx_name(e, count));
    return vy_ptx_load_if(e, load, vy_ptx_both(e, condition, inside));
}

/* Alignment versioning: recognises `if misalignment(x) & 3 == 0 { one wide access } else { the same elements one by
 * one }`, the form that legalisation emits.
 *
 * For elements that are accessed one by one, either branch is correct; if the buffer is aligned, either branch is
 * correct in any case. So one earlier test may decide several such ifs. An `if` in any other form is emitted
 * unchanged. */
static const vy_expr *index_expr(const vy_ptx *e, uint32_t expr) {
    return &e->program->exprs.items[expr];
}

static const vy_stmt *index_stmt(const vy_ptx *e, uint32_t stmt) {
    return &e->program->stmts.items[stmt];
}

/* A literal, or a variable that does not change. */
static int is_simple(const vy_ptx *e, uint32_t expr) {
    const vy_expr *x = index_expr(e, expr);
    return x->kind == VY_EXPR_LITERAL || (x->kind == VY_EXPR_VARIABLE && !e->program->variables.items[x->a].is_mutable);
}

static int is_same(const vy_ptx *e, uint32_t one, uint32_t other) {
    const vy_expr *a = index_expr(e, one), *b = index_expr(e, other);
    return is_simple(e, one) && a->kind == b->kind && a->type == b->type &&
           (a->kind == VY_EXPR_LITERAL ? a->bits == b->bits : a->a == b->a);
}

/* Whether `expr` is index + k. */
static int is_element(const vy_ptx *e, uint32_t expr, uint32_t index, uint32_t k) {
    const vy_expr *x = index_expr(e, expr), *from = index_expr(e, index);
    if (from->type != VYRE_TYPE_U32 || x->type != VYRE_TYPE_U32)
        return 0;
    if (k == 0 || from->kind == VY_EXPR_LITERAL)
        return k == 0 ? is_same(e, index, expr) : x->kind == VY_EXPR_LITERAL && x->bits == (uint32_t)(from->bits + k);
    vy_affine_index at = {expr, 0};
    return vy_affine_index_peel(e->program, &at) && at.offset == k && is_same(e, index, at.base);
}

/* load_wide and an assignment of each result; assignments of the same elements to the same variables. */
static int is_load(const vy_ptx *e, uint32_t wide, const vy_stmt *s) {
    const vy_stmt *load = index_stmt(e, wide);
    uint32_t count = load->result_count;
    if (s->middle != wide + 1 + count || s->end != s->middle + count)
        return 0;
    for (uint32_t k = 0; k < count; k++) {
        const vy_stmt *together = index_stmt(e, wide + 1 + k), *alone = index_stmt(e, s->middle + k);
        if (together->kind != VY_STMT_ASSIGN || alone->kind != VY_STMT_ASSIGN || together->variable != alone->variable)
            return 0;
        const vy_expr *given = index_expr(e, together->a), *loaded = index_expr(e, alone->a);
        if (given->kind != VY_EXPR_VARIABLE || given->a != load->variable + k || loaded->kind != VY_EXPR_LOAD ||
            loaded->op != VY_BOUNDS_UNCHECKED || loaded->a != load->memory || loaded->c != VY_NONE ||
            !is_element(e, loaded->b, load->a, k))
            return 0;
    }
    return 1;
}

/* store_wide; stores of the same values to the same elements. */
static int is_store(const vy_ptx *e, uint32_t wide, const vy_stmt *s) {
    const vy_stmt *store = index_stmt(e, wide);
    if (s->middle != wide + 1 || s->end != s->middle + store->arg_count)
        return 0;
    for (uint32_t k = 0; k < store->arg_count; k++) {
        const vy_stmt *alone = index_stmt(e, s->middle + k);
        if (alone->kind != VY_STMT_STORE || alone->bounds_check != VY_BOUNDS_UNCHECKED ||
            alone->memory != store->memory || !is_element(e, alone->a, store->a, k) ||
            !is_same(e, e->program->args.items[store->args + k].index, alone->b))
            return 0;
    }
    return 1;
}

/* The buffer of misalignment(x) & m == 0. */
static uint32_t buffer_of(const vy_ptx *e, uint32_t condition) {
    const vy_expr *x = index_expr(e, condition);
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_EQ || index_expr(e, x->b)->kind != VY_EXPR_LITERAL ||
        index_expr(e, x->b)->bits)
        return VY_NONE;
    x = index_expr(e, x->a);
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_AND || index_expr(e, x->a)->kind != VY_EXPR_ALIGN_OFFSET)
        return VY_NONE;
    uint32_t buffer = index_expr(e, x->a)->a - e->body->first_memory;
    return buffer < e->program->buffer_count ? buffer : VY_NONE;
}

uint32_t vy_ptx_alignment_test_buffer(const vy_ptx *e, uint32_t index) {
    const vy_stmt *s = index_stmt(e, index);
    uint32_t buffer = s->kind == VY_STMT_IF && s->middle > index + 1 ? buffer_of(e, s->a) : VY_NONE;
    if (buffer == VY_NONE)
        return VY_NONE;
    uint8_t kind = index_stmt(e, index + 1)->kind;
    int is_access =
        kind == VY_STMT_LOAD_WIDE ? is_load(e, index + 1, s) : kind == VY_STMT_STORE_WIDE && is_store(e, index + 1, s);
    return is_access ? buffer : VY_NONE;
}
