/* The pool (rewriter_exprs.h). */
#include "opt/rewriter_exprs.h"

#include "opt/rewriter_names.h"

/* ---- the pool ---- */

static uint32_t depth_of(const vy_rewrite *rw, uint32_t node) {
    return node == VY_NONE ? 0 : rw->pool.items[node].depth + 1;
}

static uint8_t loads_in(const vy_rewrite *rw, uint32_t node) {
    return node != VY_NONE && rw->pool.items[node].loads;
}

/* Whoever makes a node changes something. */
static uint32_t note_change(vy_rewrite *rw) {
    rw->changes++;
    return VY_NONE;
}

static uint32_t add_node(vy_rewrite *rw, const vy_expr *expr, vy_position position) {
    uint32_t depth = 0;
    uint8_t loads = expr->kind == VY_EXPR_LOAD;
    if (rw->is_dry_run)
        return note_change(rw);
    if (expr->kind == VY_EXPR_LOAD || expr->kind == VY_EXPR_OP) {
        uint32_t first = expr->kind == VY_EXPR_OP ? expr->a : VY_NONE;
        uint32_t a = depth_of(rw, first), b = depth_of(rw, expr->b), c = depth_of(rw, expr->c);
        depth = a > b ? a : b;
        depth = depth > c ? depth : c;
        loads |= loads_in(rw, first) | loads_in(rw, expr->b) | loads_in(rw, expr->c);
    }
    if (!VY_RESERVE(&rw->pool, 1)) {
        rw->draft.failed = 1;
        return VY_NONE;
    }
    vy_thread_pool_node *node = &rw->pool.items[rw->pool.count];
    node->expr = *expr;
    node->position = position;
    node->depth = depth;
    node->loads = loads;
    return rw->pool.count++;
}

uint32_t vy_thread_pool_literal(vy_rewrite *rw, vyre_type type, uint64_t bits) {
    vy_expr expr = {
        .kind = VY_EXPR_LITERAL, .type = (uint8_t)type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = bits};
    return add_node(rw, &expr, rw->draft.position);
}

uint32_t vy_thread_pool_expr(vy_rewrite *rw, const vy_expr *expr) {
    return add_node(rw, expr, rw->draft.position);
}

uint32_t vy_thread_pool_variable(vy_rewrite *rw, uint32_t variable) {
    if (variable == VY_NONE)
        return VY_NONE;
    if (rw->is_dry_run)
        return note_change(rw);
    vy_expr expr = {.kind = VY_EXPR_VARIABLE,
                    .type = rw->draft.program->variables.items[variable].type,
                    .a = variable,
                    .b = VY_NONE,
                    .c = VY_NONE};
    return add_node(rw, &expr, rw->draft.position);
}

uint32_t vy_thread_pool_op(vy_rewrite *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    uint8_t arity = vyre_op_get(op)->arity;
    if (rw->is_dry_run)
        return note_change(rw);
    if (a == VY_NONE || (arity > 1 && b == VY_NONE) || (arity > 2 && c == VY_NONE))
        return VY_NONE;
    vy_expr expr = {.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op, .a = a, .b = b, .c = c};
    return add_node(rw, &expr, rw->pool.items[a].position);
}

uint32_t vy_thread_pool_leaf(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE)
        return VY_NONE;
    uint8_t kind = vy_thread_pool_get(rw, node)->kind;
    if (kind != VY_EXPR_OP && kind != VY_EXPR_LOAD)
        return node;
    return rw->may_bind ? vy_thread_pool_variable(rw, vy_rewrite_let(rw, node)) : VY_NONE;
}

/* ---- reading; recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH ---- */

/* Whether a hook may replace such an expression. */
static int asks_tree(const vy_rewriter *hooks, const vy_expr *e) {
    return hooks->tree && (!hooks->tree_kinds || hooks->tree_kinds >> e->kind & 1);
}

static int asks_node(const vy_rewriter *hooks, const vy_expr *e) {
    return hooks->node && (!hooks->node_kinds || hooks->node_kinds >> e->kind & 1) &&
           (!hooks->node_ops || e->kind != VY_EXPR_OP || hooks->node_ops >> e->op & 1);
}

uint32_t vy_rewrite_read_below(vy_rewrite *rw, uint32_t root) {
    if (rw->is_dry_run)
        return root;
    vy_expr expr = rw->from->exprs.items[root];
    uint8_t in_arm = rw->in_arm;
    switch (expr.kind) {
    case VY_EXPR_VARIABLE:
        expr.a = rw->variables[expr.a];
        break;
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        expr.a = rw->memories[expr.a];
        break;
    case VY_EXPR_LOAD:
        expr.a = rw->memories[expr.a];
        expr.b = vy_rewrite_read(rw, expr.b);
        expr.c = vy_rewrite_read(rw, expr.c);
        break;
    case VY_EXPR_OP:
        expr.a = vy_rewrite_read(rw, expr.a);
        rw->in_arm |= vy_op_has_arms(expr.op);
        expr.b = vy_rewrite_read(rw, expr.b);
        expr.c = vy_rewrite_read(rw, expr.c);
        rw->in_arm = in_arm;
        break;
    default:
        break;
    }
    if (rw->draft.failed)
        return VY_NONE;
    rw->draft.position = vy_expr_position(rw->from, root);
    uint32_t node = add_node(rw, &expr, rw->draft.position);
    return asks_node(rw->hooks, &expr) && node != VY_NONE ? rw->hooks->node(rw, node) : node;
}

uint32_t vy_rewrite_read(vy_rewrite *rw, uint32_t root) {
    if (root == VY_NONE || rw->draft.failed)
        return VY_NONE;
    if (rw->is_dry_run)
        return root;
    rw->draft.position = vy_expr_position(rw->from, root);
    uint32_t node = asks_tree(rw->hooks, &rw->from->exprs.items[root]) ? rw->hooks->tree(rw, root) : VY_NONE;
    return node != VY_NONE ? node : vy_rewrite_read_below(rw, root);
}

/* ---- writing ---- */

/* Recursion is bounded by the depth of the node, which is checked before. */
uint32_t vy_rewrite_write(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE || rw->draft.failed)
        return VY_NONE;
    vy_thread_pool_node at = rw->pool.items[node];
    if (at.expr.kind == VY_EXPR_LOAD) {
        at.expr.b = vy_rewrite_write(rw, at.expr.b);
        at.expr.c = vy_rewrite_write(rw, at.expr.c);
    } else if (at.expr.kind == VY_EXPR_OP) {
        at.expr.a = vy_rewrite_write(rw, at.expr.a);
        at.expr.b = vy_rewrite_write(rw, at.expr.b);
        at.expr.c = vy_rewrite_write(rw, at.expr.c);
    }
    rw->draft.position = at.position;
    return at.expr.kind == VY_EXPR_LITERAL ? vy_irb_literal(&rw->draft, (vyre_type)at.expr.type, at.expr.bits)
                                           : vy_irb_expr(&rw->draft, &at.expr);
}

uint32_t vy_rewrite_write_tree(vy_rewrite *rw, uint32_t root, uint32_t node) {
    if (node != VY_NONE && rw->pool.items[node].depth > VY_LIMIT_EXPRESSION_DEPTH)
        return vy_irb_clone_expr(&rw->draft, rw->from, root, rw->variables, rw->memories);
    return vy_rewrite_write(rw, node);
}

uint32_t vy_rewrite_let(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE || rw->draft.failed)
        return VY_NONE;
    if (rw->is_dry_run)
        return note_change(rw);
    vy_symbol name = vy_rewrite_new_name(rw);
    vyre_type type = (vyre_type)rw->pool.items[node].expr.type;
    vy_position position = rw->pool.items[node].position;
    uint32_t value = vy_rewrite_write(rw, node);
    rw->draft.position = position;
    vy_rewrite_show_name(rw, name);
    return rw->draft.failed ? VY_NONE : vy_irb_let(&rw->draft, name, type, value);
}
