/* Lowering (legalizer_exprs.h). */
#include "lower/legalizer_exprs.h"

#include "lower/legalizer_nodes.h"

static int is_param(const vy_legalizer *rw, uint32_t variable) {
    return variable - rw->copy.entry->first_variable < rw->from->param_count;
}

uint32_t vy_legalizer_lower_index(vy_legalizer *rw, uint32_t root) {
    uint32_t tree = vy_legalizer_lower(rw, root);
    return rw->phase->index ? rw->phase->index(rw, tree) : tree;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
uint32_t vy_legalizer_lower(vy_legalizer *rw, uint32_t root) {
    if (root == VY_NONE || rw->copy.draft.failed || rw->status != VYRE_OK)
        return VY_NONE;
    vy_expr e = rw->from->exprs.items[root];
    vyre_type type = (vyre_type)e.type, carrier;
    uint32_t leaf;
    if (rw->phase->leaf && rw->phase->leaf(rw, &e, &leaf))
        return leaf;
    switch ((vy_expr_kind)e.kind) {
    case VY_EXPR_LITERAL:
        carrier = rw->phase->carrier(rw, type);
        if (carrier != type)
            return vy_legalizer_literal(rw, carrier, vyre_op_evaluate(VYRE_OP_CAST, carrier, type, e.bits, 0, 0));
        return vy_legalizer_add(rw, &e, 0);
    case VY_EXPR_VARIABLE: {
        uint32_t tree = vy_legalizer_variable(rw, rw->copy.variables[e.a]);
        return is_param(rw, e.a) ? rw->phase->widen(rw, type, tree) : tree;
    }
    case VY_EXPR_LOAD:
        e.a = rw->copy.memories[e.a];
        e.b = vy_legalizer_lower_index(rw, e.b);
        e.c = vy_legalizer_lower(rw, e.c);
        return e.b == VY_NONE ? VY_NONE : rw->phase->widen(rw, type, vy_legalizer_node(rw, e));
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        e.a = rw->copy.memories[e.a];
        return vy_legalizer_add(rw, &e, 0);
    case VY_EXPR_OP: {
        uint32_t trees[3] = {vy_legalizer_lower(rw, e.a), vy_legalizer_lower(rw, e.b), vy_legalizer_lower(rw, e.c)};
        if (rw->copy.draft.failed || rw->status != VYRE_OK)
            return VY_NONE;
        return rw->phase->op(rw, &rw->from->exprs.items[root], vy_legalizer_operand_type(rw->from, &e), trees);
    }
    default:
        return vy_legalizer_add(rw, &e, 0);
    }
}

int vy_legalizer_is_kept(const vy_legalizer *rw, uint32_t root, unsigned depth) {
    if (root == VY_NONE)
        return 1;
    const vy_expr *e = &rw->from->exprs.items[root];
    vyre_type type = (vyre_type)e->type;
    int is_same = rw->phase->carrier(rw, type) == type && depth < VY_LEGALIZER_MAX_DEPTH;
    if (e->kind == VY_EXPR_LOAD)
        return is_same && vy_legalizer_is_kept(rw, e->b, depth + 1) && vy_legalizer_is_kept(rw, e->c, depth + 1);
    if (e->kind != VY_EXPR_OP)
        return is_same;
    return is_same && rw->phase->keeps(rw, e, vy_legalizer_operand_type(rw->from, e)) &&
           vy_legalizer_is_kept(rw, e->a, depth + 1) && vy_legalizer_is_kept(rw, e->b, depth + 1) &&
           vy_legalizer_is_kept(rw, e->c, depth + 1);
}
