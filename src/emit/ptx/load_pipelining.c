/* Software pipelining of loads: a load at the start of a loop's trip is issued in the trip before, as soon as its
 * index is known.
 *
 * A chain of dependent loads, as in an automaton that reads byte by byte, becomes shorter by one.
 *
 * The results are the same: no invocation writes the buffer in the dispatch, and the load's own condition guarantees
 * that the index is inside. The load is made if there is another trip, which a `break` may still prevent. */
#include "emit/ptx/emitter.h"

/* Statements of a body that are looked at, for it begins with what they load; and loads that are: each is compared
 * with the whole body. */
enum { BEGINNING = 16, TRIES = 8 };

/* The body of a loop, whose condition is known from statement `settled` on; the load is in statement `at`. */
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

/* Whether an expression has at `settled` the value that it will have in the next trip. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
static int is_iteration_invariant(const body *b, uint32_t expr) {
    const vy_expr *x = expr_at(b, expr);
    if (x->kind == VY_EXPR_VARIABLE)
        return !is_set(b, x->a, b->first, b->at) && !is_set(b, x->a, b->settled, b->end);
    if (x->kind != VY_EXPR_OP)
        return x->kind != VY_EXPR_LOAD;
    unsigned arity = vy_ptx_arity(x);
    return is_iteration_invariant(b, x->a) && (arity < 2 || is_iteration_invariant(b, x->b)) &&
           (arity < 3 || is_iteration_invariant(b, x->c));
}

/* The condition of a load itself, or of the `let` before it that names it. */
static const vy_expr *condition_of(const body *b, const vy_expr *load) {
    const vy_stmt *stmts = b->program->stmts.items;
    if (load->c == VY_NONE)
        return NULL;
    const vy_expr *c = expr_at(b, load->c);
    if (c->kind != VY_EXPR_VARIABLE)
        return c;
    for (uint32_t i = b->first; i < b->at; i = stmts[i].end)
        if (stmts[i].kind == VY_STMT_LET && stmts[i].variable == c->a)
            return expr_at(b, stmts[i].a);
    return NULL;
}

/* `index < len(memory)`: where nothing in the index is set, both mean the same index. */
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

/* The first such load of an expression; VY_NONE. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static uint32_t find_in(body *b, uint32_t expr) {
    const vy_expr *x = expr_at(b, expr);
    if (x->kind == VY_EXPR_LOAD)
        return can_be_pipelined(b, x) ? expr : find_in(b, x->b);
    if (x->kind != VY_EXPR_OP)
        return VY_NONE;
    const uint32_t operands[3] = {x->a, x->b, x->c};
    uint32_t found = VY_NONE;
    for (unsigned i = 0; i < vy_ptx_arity(x) && found == VY_NONE; i++)
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
