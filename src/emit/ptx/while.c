/* `while`: the question stands before the loop and at its end, or where the answer is settled. */
#include "emit/ptx/emitter.h"

/* What is asked before every trip: the condition; or, of an endless loop, that of an `if c { break }` that it begins with, behind some `let`s. */
typedef struct question {
    uint32_t first, end; /* the `let`s */
    uint32_t condition;
    int wanted; /* what it must be for another trip */
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

/* Asks again: the `let`s get the registers that they have. */
static vy_ptx_value ask_again(vy_ptx *e, const question *q) {
    for (uint32_t i = q->first; i < q->end; i++) {
        const vy_stmt *let = &e->program->stmts.items[i];
        vy_ptx_value has = e->variables[let->variable], now = vy_ptx_expr(e, let->a);
        if (!has.is_literal && (now.is_literal || now.name != has.name))
            vy_ptx_move(e, has, now);
    }
    return vy_ptx_expr(e, q->condition);
}

/* ---- asking early ----
 *
 * A condition that nothing changes any more in a trip is asked for there, so that the answer is known when the trip ends: behind a load that somebody waits for, and a branch that is
 * left by, it would be waited for again. */

enum { MOST_READS = 4, MOST_VISITED = 32 };

/* What an expression depends on, if that is little and no load. */
typedef struct reads {
    uint32_t variables[MOST_READS];
    unsigned count, visited;
    int is_too_much;
} reads;

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, and by what is visited. */
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
    for (unsigned i = 0; i < vy_ptx_arity(x); i++)
        add_reads(p, operands[i], r);
}

static int depends(const reads *r, uint32_t variable) {
    for (unsigned i = 0; i < r->count; i++)
        if (r->variables[i] == variable)
            return 1;
    return 0;
}

/* The statement of the body before which the condition has the value that it has at the end: `end` if there is none. */
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

/* A trip of a loop whose question is asked early, up to the jump; what the next begins by loading is loaded early too. Returns the answer. */
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

/* The question stands before the loop and at its end: a loop that nobody enters is then a branch like any other to the driver's compiler, which does not survive some of
 * those that begin with it (docs/ptx.md). */
void vy_ptx_while(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    question q = question_of(e->program, index, s);
    int is_right = vy_ptx_exits_are_safe(e, index);
    if (!is_right)
        vy_ptx_hide_constants(e, index);
    vy_ptx_statements(e, q.first, q.end);
    for (uint32_t i = q.first; i < q.end; i++) /* they are set again */
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
