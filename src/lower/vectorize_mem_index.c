/* Indices of accesses (vectorize_mem_internal.h): what they are made of, and what is known of it. */
#include "ir/walk.h"
#include "lower/vectorize_mem_internal.h"

/* So many sums and names are looked through. */
enum { DEEPEST = 32 };

/* ---- bases and offsets ---- */

static int is_literal(const vy_vectorize_mem_planner *p, uint32_t expr) {
    return vy_vectorize_mem_expr(p, expr)->kind == VY_EXPR_LITERAL;
}

int vy_vectorize_mem_is_fixed_variable(const vy_vectorize_mem_planner *p, uint32_t expr) {
    const vy_expr *e = vy_vectorize_mem_expr(p, expr);
    return e->kind == VY_EXPR_VARIABLE && !p->program->variables.items[e->a].is_mutable;
}

/* Takes one literal off a sum. Returns 0 if it is none. */
static int take_literal(const vy_vectorize_mem_planner *p, vy_vectorize_mem_offset *at) {
    const vy_expr *e = vy_vectorize_mem_expr(p, at->base);
    if (e->kind != VY_EXPR_OP || (e->op != VYRE_OP_ADD && e->op != VYRE_OP_SUB))
        return 0;
    if (is_literal(p, e->b)) {
        uint32_t literal = (uint32_t)vy_vectorize_mem_expr(p, e->b)->bits;
        *at = (vy_vectorize_mem_offset){e->a, e->op == VYRE_OP_ADD ? at->offset + literal : at->offset - literal};
        return 1;
    }
    if (e->op == VYRE_OP_ADD && is_literal(p, e->a)) {
        *at = (vy_vectorize_mem_offset){e->b, at->offset + (uint32_t)vy_vectorize_mem_expr(p, e->a)->bits};
        return 1;
    }
    return 0;
}

/* Takes literals off the index, through sums and `let`s; but not to a variable that may change: the `let` does not. Other types than u32 do not wrap as
 * offsets do: they are bases as a whole. */
vy_vectorize_mem_offset vy_vectorize_mem_offset_of(const vy_vectorize_mem_planner *p, uint32_t expr) {
    vy_vectorize_mem_offset at = {expr, 0};
    if (vy_vectorize_mem_expr(p, expr)->type != VYRE_TYPE_U32)
        return at;
    for (int depth = 0; depth < DEEPEST; depth++) {
        const vy_expr *e = vy_vectorize_mem_expr(p, at.base);
        if (e->kind == VY_EXPR_LITERAL)
            return (vy_vectorize_mem_offset){VY_NONE, at.offset + (uint32_t)e->bits};
        if (e->kind == VY_EXPR_VARIABLE && p->definition[e->a] != VY_NONE) {
            vy_vectorize_mem_offset inner = {p->definition[e->a], at.offset};
            while (take_literal(p, &inner))
                ;
            if (!is_literal(p, inner.base) && !vy_vectorize_mem_is_fixed_variable(p, inner.base))
                return inner.base == p->definition[e->a] || !vy_expr_is_invariant(p->program, inner.base) ? at : inner;
            at = inner;
        } else if (!take_literal(p, &at)) {
            return at;
        }
    }
    return at;
}

int vy_vectorize_mem_is_same(const vy_vectorize_mem_planner *p, uint32_t one, uint32_t other) {
    if (one == VY_NONE || other == VY_NONE)
        return one == other;
    if (vy_vectorize_mem_expr(p, one)->kind == VY_EXPR_VARIABLE)
        return vy_vectorize_mem_is_fixed_variable(p, one) &&
               vy_vectorize_mem_expr(p, other)->kind == VY_EXPR_VARIABLE &&
               vy_vectorize_mem_expr(p, one)->a == vy_vectorize_mem_expr(p, other)->a;
    return vy_expr_equal(p->program, one, other) && vy_expr_is_invariant(p->program, one);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
unsigned vy_vectorize_mem_factor_of(const vy_vectorize_mem_planner *p, uint32_t expr) {
    const vy_expr *e = vy_vectorize_mem_expr(p, expr);
    const unsigned most = 8;
    if (e->kind == VY_EXPR_LITERAL)
        return e->bits & 0xff ? (unsigned)__builtin_ctzll(e->bits) : most;
    if (e->kind == VY_EXPR_VARIABLE)
        return p->factor[e->a];
    if (e->kind != VY_EXPR_OP || e->type != VYRE_TYPE_U32)
        return 0;
    unsigned a, b;
    switch ((vyre_op)e->op) {
    case VYRE_OP_ADD:
    case VYRE_OP_SUB:
        b = vy_vectorize_mem_factor_of(p, e->b); /* of a long sum the shorter side */
        a = b ? vy_vectorize_mem_factor_of(p, e->a) : 0;
        return a < b ? a : b;
    case VYRE_OP_AND:
        a = vy_vectorize_mem_factor_of(p, e->a);
        b = vy_vectorize_mem_factor_of(p, e->b);
        return a > b ? a : b;
    case VYRE_OP_MUL:
        a = vy_vectorize_mem_factor_of(p, e->a) + vy_vectorize_mem_factor_of(p, e->b);
        return a < most ? a : most;
    case VYRE_OP_SHL:
        a = is_literal(p, e->b)
                ? vy_vectorize_mem_factor_of(p, e->a) + (unsigned)(vy_vectorize_mem_expr(p, e->b)->bits & 31)
                : 0;
        return a < most ? a : most;
    default:
        return 0;
    }
}

/* ---- neighbours ---- */

/* Whether any of the expressions [first, end) is from memory. */
static int has_loaded(const vy_vectorize_mem_planner *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = vy_vectorize_mem_expr(p, i);
        if (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && p->loaded[e->a]))
            return 1;
    }
    return 0;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int is_loaded(const vy_vectorize_mem_planner *p, uint32_t expr) {
    const vy_expr *e = expr == VY_NONE ? NULL : vy_vectorize_mem_expr(p, expr);
    if (e && e->kind == VY_EXPR_OP)
        return is_loaded(p, e->a) || is_loaded(p, e->b) || is_loaded(p, e->c);
    return e && (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && p->loaded[e->a]));
}

/* Finds out which variables come from memory, as far as statements have been seen. */
static void find_loaded_variables(vy_vectorize_mem_planner *p) {
    for (uint32_t end; p->scanned < p->seen; p->scanned_exprs = end) {
        const vy_stmt *s = &p->program->stmts.items[p->scanned++];
        end = vy_stmt_exprs_end(p->program, s, p->scanned_exprs);
        if (s->kind == VY_STMT_FOR)
            p->loaded[s->variable] = (uint8_t)is_loaded(p, s->a);
        else if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN)
            p->loaded[s->variable] |= (uint8_t)has_loaded(p, p->scanned_exprs, end);
    }
}

/* Whether an expression is an id that grows by one along a row, by whatever name: so much is known without looking at the whole program. */
static int is_id(const vy_vectorize_mem_planner *p, uint32_t expr) {
    const vy_expr *e = vy_vectorize_mem_expr(p, expr);
    while (e->kind == VY_EXPR_VARIABLE && p->definition[e->a] != VY_NONE)
        e = vy_vectorize_mem_expr(p, p->definition[e->a]);
    return e->kind == VY_EXPR_BUILTIN && p->program->workgroup[0] > 1 &&
           (e->op == VYRE_BUILTIN_LOCAL_INDEX ||
            ((e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_GLOBAL_ID) && e->axis == 0));
}

int vy_vectorize_mem_is_tested_alike(vy_vectorize_mem_planner *p, uint32_t base, uint32_t count) {
    uint64_t stride;
    if (base == VY_NONE || is_id(p, base))
        return base == VY_NONE;
    if (!p->uniform && vy_uniform_make(p->program, &p->uniform, NULL) != VYRE_OK) {
        p->out_of_memory = 1;
        return 1;
    }
    if (vy_stride_of(p->uniform, base, &stride))
        return stride % count == 0;
    find_loaded_variables(p);
    return !is_loaded(p, base);
}
