/* Alignment versioning: recognises `if misalignment(x) & 3 == 0 { one wide access } else { the same elements one by
 * one }`, as legalisation writes it.
 *
 * For elements that are accessed one by one, either branch is correct; where the buffer is aligned, either branch is
 * correct in any case. So an earlier test may decide for several such ifs. An `if` that differs from this form is
 * emitted like any other. */
#include "emit/ptx/emitter.h"

static const vy_expr *expr_at(const vy_ptx *e, uint32_t expr) {
    return &e->program->exprs.items[expr];
}

static const vy_stmt *stmt_at(const vy_ptx *e, uint32_t stmt) {
    return &e->program->stmts.items[stmt];
}

/* A literal, or a variable that does not change. */
static int is_simple(const vy_ptx *e, uint32_t expr) {
    const vy_expr *x = expr_at(e, expr);
    return x->kind == VY_EXPR_LITERAL || (x->kind == VY_EXPR_VARIABLE && !e->program->variables.items[x->a].is_mutable);
}

static int is_same(const vy_ptx *e, uint32_t one, uint32_t other) {
    const vy_expr *a = expr_at(e, one), *b = expr_at(e, other);
    return is_simple(e, one) && a->kind == b->kind && a->type == b->type &&
           (a->kind == VY_EXPR_LITERAL ? a->bits == b->bits : a->a == b->a);
}

/* Whether `expr` is index + k. */
static int is_element(const vy_ptx *e, uint32_t expr, uint32_t index, uint32_t k) {
    const vy_expr *x = expr_at(e, expr), *from = expr_at(e, index);
    if (from->type != VYRE_TYPE_U32 || x->type != VYRE_TYPE_U32)
        return 0;
    if (k == 0 || from->kind == VY_EXPR_LITERAL)
        return k == 0 ? is_same(e, index, expr) : x->kind == VY_EXPR_LITERAL && x->bits == (uint32_t)(from->bits + k);
    return x->kind == VY_EXPR_OP && x->op == VYRE_OP_ADD && is_same(e, index, x->a) &&
           expr_at(e, x->b)->kind == VY_EXPR_LITERAL && expr_at(e, x->b)->bits == k;
}

/* load_wide and an assignment of each result; assignments of the same elements to the same variables. */
static int is_load(const vy_ptx *e, uint32_t wide, const vy_stmt *s) {
    const vy_stmt *load = stmt_at(e, wide);
    uint32_t count = load->result_count;
    if (s->middle != wide + 1 + count || s->end != s->middle + count)
        return 0;
    for (uint32_t k = 0; k < count; k++) {
        const vy_stmt *together = stmt_at(e, wide + 1 + k), *alone = stmt_at(e, s->middle + k);
        if (together->kind != VY_STMT_ASSIGN || alone->kind != VY_STMT_ASSIGN || together->variable != alone->variable)
            return 0;
        const vy_expr *given = expr_at(e, together->a), *loaded = expr_at(e, alone->a);
        if (given->kind != VY_EXPR_VARIABLE || given->a != load->variable + k || loaded->kind != VY_EXPR_LOAD ||
            loaded->op != VY_BOUNDS_UNCHECKED || loaded->a != load->memory || loaded->c != VY_NONE ||
            !is_element(e, loaded->b, load->a, k))
            return 0;
    }
    return 1;
}

/* store_wide; stores of the same values to the same elements. */
static int is_store(const vy_ptx *e, uint32_t wide, const vy_stmt *s) {
    const vy_stmt *store = stmt_at(e, wide);
    if (s->middle != wide + 1 || s->end != s->middle + store->arg_count)
        return 0;
    for (uint32_t k = 0; k < store->arg_count; k++) {
        const vy_stmt *alone = stmt_at(e, s->middle + k);
        if (alone->kind != VY_STMT_STORE || alone->bounds_check != VY_BOUNDS_UNCHECKED ||
            alone->memory != store->memory || !is_element(e, alone->a, store->a, k) ||
            !is_same(e, e->program->args.items[store->args + k].index, alone->b))
            return 0;
    }
    return 1;
}

/* The buffer of misalignment(x) & m == 0. */
static uint32_t buffer_of(const vy_ptx *e, uint32_t condition) {
    const vy_expr *x = expr_at(e, condition);
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_EQ || expr_at(e, x->b)->kind != VY_EXPR_LITERAL ||
        expr_at(e, x->b)->bits)
        return VY_NONE;
    x = expr_at(e, x->a);
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_AND || expr_at(e, x->a)->kind != VY_EXPR_ALIGN_OFFSET)
        return VY_NONE;
    uint32_t buffer = expr_at(e, x->a)->a - e->body->first_memory;
    return buffer < e->program->buffer_count ? buffer : VY_NONE;
}

uint32_t vy_ptx_alignment_test_buffer(const vy_ptx *e, uint32_t index) {
    const vy_stmt *s = stmt_at(e, index);
    uint32_t buffer = s->kind == VY_STMT_IF && s->middle > index + 1 ? buffer_of(e, s->a) : VY_NONE;
    if (buffer == VY_NONE)
        return VY_NONE;
    uint8_t kind = stmt_at(e, index + 1)->kind;
    int is_access =
        kind == VY_STMT_LOAD_WIDE ? is_load(e, index + 1, s) : kind == VY_STMT_STORE_WIDE && is_store(e, index + 1, s);
    return is_access ? buffer : VY_NONE;
}
