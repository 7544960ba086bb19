/* Cost function of if-conversion (branch_cost.h). */
#include "emit/branch_cost.h"

static int is_simple(const vy_expr *x, const vy_branch_cost *cost) {
    return x->op != VYRE_OP_DIV && x->op != VYRE_OP_REM && x->op != VYRE_OP_SQRT && x->op != VYRE_OP_APPROX_DIV &&
           x->op != VYRE_OP_APPROX_SQRT && (x->op != VYRE_OP_MUL_HIGH || (cost->is_trip && x->type == VYRE_TYPE_U32)) &&
           x->type != VYRE_TYPE_F64;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH and by the limits of the cost. */
static void add_expr(const vyre_program *p, uint32_t expr, vy_branch_cost *cost) {
    const vy_expr *x = expr == VY_NONE ? NULL : vy_expr_at(p, expr);
    if (!x || vy_branch_cost_is_high(cost))
        return;
    if (x->kind == VY_EXPR_LOAD) {
        cost->accesses++;
        add_expr(p, x->b, cost);
        add_expr(p, x->c, cost);
    } else if (x->kind == VY_EXPR_OP) {
        const uint32_t *operands = VY_EXPR_OPERANDS(x);
        cost->ops++;
        cost->is_long |= !is_simple(x, cost);
        for (unsigned i = 0; i < vy_expr_arity(x); i++)
            add_expr(p, operands[i], cost);
    }
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
void vy_branch_cost_add(const vyre_program *p, uint32_t first, uint32_t end, vy_branch_cost *cost) {
    for (uint32_t i = first; i < end && !vy_branch_cost_is_high(cost); i = vy_stmt_at(p, i)->end) {
        const vy_stmt *s = vy_stmt_at(p, i);
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_LET:
        case VY_STMT_VAR:
        case VY_STMT_ASSIGN:
            add_expr(p, s->a, cost);
            break;
        case VY_STMT_STORE:
            cost->accesses++;
            cost->is_long |= cost->is_local;
            add_expr(p, s->a, cost);
            add_expr(p, s->b, cost);
            break;
        case VY_STMT_IF:
            cost->ops++;
            add_expr(p, s->a, cost);
            vy_branch_cost_add(p, i + 1, s->end, cost);
            break;
        case VY_STMT_REGION:
            vy_branch_cost_add(p, i + 1, s->end, cost);
            break;
        default:
            cost->is_long = 1;
        }
    }
}
