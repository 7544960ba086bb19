/* Appending pure trees, operands before their operator. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, which the
 * parser keeps. */
#include "ir/text/lower.h"

uint32_t vy_lower_append(vy_lowering *l, const vy_ast_node *node) {
    uint32_t a = VY_NONE, b = VY_NONE, c = VY_NONE;
    vy_irb *draft = &l->draft;
    if (!l->live || !node)
        return VY_NONE;
    if (node->kind == VY_AST_CAST && node->axis)
        return vy_lower_append(l, node->a);
    if (node->kind == VY_AST_INDEX || node->kind == VY_AST_OP || node->kind == VY_AST_CAST ||
        node->kind == VY_AST_BITCAST) {
        a = vy_lower_append(l, node->a);
        b = vy_lower_append(l, node->b);
        c = vy_lower_append(l, node->c);
    }
    draft->position = node->at;
    if (node->is_literal)
        return vy_irb_literal(draft, node->type, node->bits);
    switch (node->kind) {
    case VY_AST_INDEX:
        return node->op == VY_BOUNDS_CHECKED ? vy_irb_load(draft, node->variable, a)
                                             : vy_irb_load_unchecked(draft, node->variable, a, b);
    case VY_AST_ALIGN_OFFSET:
        return vy_irb_align_offset(draft, node->variable);
    case VY_AST_LEN:
        return vy_irb_len(draft, node->variable);
    case VY_AST_BUILTIN:
        return vy_irb_builtin(draft, node->op, node->axis);
    case VY_AST_OP:
        return vy_irb_op(draft, node->op, node->type, a, b, c);
    case VY_AST_CAST:
        return vy_irb_op(draft, VYRE_OP_CAST, node->type, a, VY_NONE, VY_NONE);
    case VY_AST_BITCAST:
        return vy_irb_op(draft, VYRE_OP_BITCAST, node->type, a, VY_NONE, VY_NONE);
    default:
        return vy_irb_variable(draft, node->variable); /* a name, or an effect that was hoisted */
    }
}
