/* Instruction combining: algebraic identities (algebraic_rules.h), chains of two ops with literals, unary ops that
 * cancel, and selects with a known result.
 *
 * Invariant: every rule yields a smaller tree, or one of the same size with a literal moved to the right, so
 * the pass terminates. Rules over two ops are rows too; the new literal is computed by the evaluator. */
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

const vy_unary_pair vy_unary_pairs[VY_UNARY_PAIR_COUNT] = {
#define X(OUTER, INNER, CLASSES, BECOMES) {VYRE_OP_##OUTER, VYRE_OP_##INNER, VYRE_CLASS_##CLASSES, VY_PAIR_##BECOMES},
    VY_UNARY_PAIR_LIST(X)
#undef X
};

const vy_inverse vy_inverses[VY_INVERSE_COUNT] = {
#define X(OP, OTHER, CLASSES) {VYRE_OP_##OP, VYRE_OP_##OTHER, VYRE_CLASS_##CLASSES},
    VY_INVERSE_LIST(X)
#undef X
};

/* The identities of each op: rows [first, end) of the table. */
typedef struct simplifying {
    const vy_opt_policy *rules;
    uint32_t first[VYRE_OP_COUNT], end[VYRE_OP_COUNT];
} simplifying;

static unsigned class_of(vyre_type type) {
    return vy_type_layouts[type].classes;
}

/* Whether two trees of the pool are structurally equal, so that they have the same value: both are evaluated in one
 * statement, before its effect. Recursion is bounded by the depth of trees. */
static int is_same(const vy_rewrite *rw, uint32_t one, uint32_t other) {
    if (one == VY_NONE || other == VY_NONE || one == other)
        return one == other;
    const vy_expr *x = vy_rewrite_node_at(rw, one), *y = vy_rewrite_node_at(rw, other);
    if (x->kind != y->kind || x->type != y->type)
        return 0;
    switch ((vy_expr_kind)x->kind) {
    case VY_EXPR_LITERAL:
        return x->bits == y->bits;
    case VY_EXPR_VARIABLE:
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        return x->a == y->a;
    case VY_EXPR_BUILTIN:
        return x->op == y->op && x->axis == y->axis;
    case VY_EXPR_LOAD:
        return x->a == y->a && is_same(rw, x->b, y->b);
    case VY_EXPR_OP:
        return x->op == y->op && is_same(rw, x->a, y->a) && is_same(rw, x->b, y->b) && is_same(rw, x->c, y->c);
    case VY_EXPR_KIND_COUNT:
        break;
    }
    return 0;
}

/* ---- the table ---- */

/* Inline: most operands are not literals, and most rows require one. */
static inline int fits(const vy_rewrite *rw, uint8_t is, uint32_t node, uint32_t first) {
    if (is == VY_IS_ANY)
        return 1;
    if (is == VY_IS_SAME)
        return is_same(rw, first, node);
    const vy_expr *e = vy_rewrite_node_at(rw, node);
    uint64_t bits;
    return e->kind == VY_EXPR_LITERAL && vy_operand_bits((vy_operand_is)is, (vyre_type)e->type, &bits) &&
           e->bits == bits;
}

static uint32_t result_of(vy_rewrite *rw, const vy_identity *row, vy_expr e) {
    vyre_type type = (vyre_type)e.type;
    uint64_t bits = 0;
    switch ((vy_becomes)row->becomes) {
    case VY_BECOMES_A:
        return e.a;
    case VY_BECOMES_B:
        return e.b;
    case VY_BECOMES_ZERO:
        return vy_rewrite_make_literal(rw, type, 0);
    case VY_BECOMES_ONE:
        vy_operand_bits(VY_IS_ONE, type, &bits);
        return vy_rewrite_make_literal(rw, type, bits);
    case VY_BECOMES_ALL_ONES:
        return vy_rewrite_make_literal(rw, type, vy_type_layouts[type].mask);
    case VY_BECOMES_NAN:
        return vy_rewrite_make_literal(rw, type, vy_type_layouts[type].nan);
    case VY_BECOMES_NEG_A:
        return vy_rewrite_make_op(rw, VYRE_OP_NEG, type, e.a, VY_NONE, VY_NONE);
    case VY_BECOMES_NEG_B:
        return vy_rewrite_make_op(rw, VYRE_OP_NEG, type, e.b, VY_NONE, VY_NONE);
    case VY_BECOMES_NOT_A:
        return vy_rewrite_make_op(rw, VYRE_OP_NOT, type, e.a, VY_NONE, VY_NONE);
    case VY_BECOMES_LNOT_A:
        return vy_rewrite_make_op(rw, VYRE_OP_LNOT, type, e.a, VY_NONE, VY_NONE);
    }
    return VY_NONE;
}

/* Every row requires a literal operand or two equal operands. */
static uint32_t apply_identities(vy_rewrite *rw, const vy_expr *e) {
    const simplifying *s = rw->user;
    if (!vy_rewrite_is_literal(rw, e->a) && !vy_rewrite_is_literal(rw, e->b) && !is_same(rw, e->a, e->b))
        return VY_NONE;
    unsigned cls = class_of((vyre_type)vy_rewrite_node_at(rw, e->a)->type);
    for (uint32_t i = s->first[e->op]; i < s->end[e->op]; i++) {
        const vy_identity *row = &s->rules->identities[i];
        if (row->op == e->op && (row->classes & cls) && fits(rw, row->a, e->a, VY_NONE) && fits(rw, row->b, e->b, e->a))
            return result_of(rw, row, *e);
    }
    return VY_NONE;
}

/* ---- pairs of ops ---- */

static uint32_t simplify_chain(vy_rewrite *rw, const vy_expr *e) {
    uint64_t bits;
    if (!vy_rewrite_is_literal(rw, e->b))
        return VY_NONE;
    const vy_expr inner = *vy_rewrite_node_at(rw, e->a);
    if (inner.kind != VY_EXPR_OP || inner.op != e->op || !vy_rewrite_is_literal(rw, inner.b) ||
        vy_rewrite_is_literal(rw, inner.a))
        return VY_NONE;
    vyre_type type = (vyre_type)e->type;
    switch (vy_chain_of((vyre_op)e->op, type, vy_rewrite_node_at(rw, inner.b)->bits, vy_rewrite_node_at(rw, e->b)->bits,
                        &bits)) {
    case VY_CHAIN_OP:
        return vy_rewrite_make_op(rw, (vyre_op)e->op, type, inner.a, vy_rewrite_make_literal(rw, type, bits), VY_NONE);
    case VY_CHAIN_LITERAL:
        return vy_rewrite_make_literal(rw, type, bits);
    case VY_CHAIN_NONE:
        break;
    }
    return VY_NONE;
}

static uint32_t simplify_unary(vy_rewrite *rw, const vy_expr *e) {
    const vy_expr inner = *vy_rewrite_node_at(rw, e->a);
    if (inner.kind != VY_EXPR_OP)
        return VY_NONE;
    for (uint32_t i = 0; i < VY_UNARY_PAIR_COUNT; i++) {
        const vy_unary_pair *pair = &vy_unary_pairs[i];
        if (pair->outer != e->op || pair->inner != inner.op || !(pair->classes & class_of((vyre_type)inner.type)))
            continue;
        return pair->becomes == VY_PAIR_OPERAND ? inner.a
               : pair->becomes == VY_PAIR_INNER
                   ? e->a
                   : vy_rewrite_make_op(rw, (vyre_op)e->op, (vyre_type)e->type, inner.a, VY_NONE, VY_NONE);
    }
    for (uint32_t i = 0; e->op == VYRE_OP_LNOT && i < VY_INVERSE_COUNT; i++) {
        unsigned cls = class_of((vyre_type)vy_rewrite_node_at(rw, inner.a)->type);
        if (vy_inverses[i].op == inner.op && (vy_inverses[i].classes & cls))
            return vy_rewrite_make_op(rw, (vyre_op)vy_inverses[i].other, VYRE_TYPE_BOOL, inner.a, inner.b, VY_NONE);
    }
    return VY_NONE;
}

/* A bitcast through an integer type of the same width preserves the bits. */
static uint32_t simplify_bitcast(vy_rewrite *rw, const vy_expr *e) {
    const vy_expr inner = *vy_rewrite_node_at(rw, e->a);
    if (inner.type == e->type)
        return e->a;
    if (inner.kind != VY_EXPR_OP || inner.op != VYRE_OP_BITCAST ||
        !(class_of((vyre_type)inner.type) & VYRE_CLASS_INTEGER))
        return VY_NONE;
    if (vy_rewrite_node_at(rw, inner.a)->type == e->type)
        return inner.a;
    return vy_rewrite_make_op(rw, VYRE_OP_BITCAST, (vyre_type)e->type, inner.a, VY_NONE, VY_NONE);
}

static uint32_t simplify_select(vy_rewrite *rw, const vy_expr *e) {
    const vy_expr condition = *vy_rewrite_node_at(rw, e->a);
    if (is_same(rw, e->b, e->c))
        return e->b;
    if (condition.kind == VY_EXPR_OP && condition.op == VYRE_OP_LNOT)
        return vy_rewrite_make_op(rw, VYRE_OP_SELECT, (vyre_type)e->type, condition.a, e->c, e->b);
    if (e->type != VYRE_TYPE_BOOL || !vy_rewrite_is_literal(rw, e->b) || !vy_rewrite_is_literal(rw, e->c))
        return VY_NONE;
    /* (true, false): the condition itself; (false, true): its negation. Equal arms were handled before. */
    return vy_rewrite_node_at(rw, e->b)->bits
               ? e->a
               : vy_rewrite_make_op(rw, VYRE_OP_LNOT, VYRE_TYPE_BOOL, e->a, VY_NONE, VY_NONE);
}

/* ---- one node ---- */

/* fma(a, 1, c) rounds a + c once, as the sum does. fma(a, b, -0) equals a * b, because -0 is the additive identity. */
static uint32_t simplify_fma(vy_rewrite *rw, const vy_expr *e) {
    vyre_type type = (vyre_type)e->type;
    if (fits(rw, VY_IS_ONE, e->b, VY_NONE))
        return vy_rewrite_make_op(rw, VYRE_OP_ADD, type, e->a, e->c, VY_NONE);
    if (fits(rw, VY_IS_ONE, e->a, VY_NONE))
        return vy_rewrite_make_op(rw, VYRE_OP_ADD, type, e->b, e->c, VY_NONE);
    if (fits(rw, VY_IS_MINUS_ZERO, e->c, VY_NONE))
        return vy_rewrite_make_op(rw, VYRE_OP_MUL, type, e->a, e->b, VY_NONE);
    return VY_NONE;
}

static uint32_t simplify_op(vy_rewrite *rw, const vy_expr *e) {
    uint8_t arity = vyre_op_get((vyre_op)e->op)->arity;
    if (e->op == VYRE_OP_SELECT)
        return simplify_select(rw, e);
    if (e->op == VYRE_OP_FMA)
        return simplify_fma(rw, e);
    if (e->op == VYRE_OP_BITCAST)
        return simplify_bitcast(rw, e);
    if (e->op == VYRE_OP_CAST)
        return vy_rewrite_node_at(rw, e->a)->type == e->type ? e->a : VY_NONE;
    if (arity == 1)
        return simplify_unary(rw, e);
    uint32_t better = apply_identities(rw, e);
    return better != VY_NONE ? better : simplify_chain(rw, e);
}

static uint32_t simplify_node(vy_rewrite *rw, uint32_t node) {
    for (;;) {
        vy_expr e = *vy_rewrite_node_at(rw, node);
        if (e.kind != VY_EXPR_OP)
            return node;
        if (vy_op_commutes((vyre_op)e.op) && vy_rewrite_is_literal(rw, e.a) && !vy_rewrite_is_literal(rw, e.b)) {
            rw->changes++;
            if (rw->is_dry_run)
                return node;
            vy_expr swapped = e;
            swapped.a = e.b;
            swapped.b = e.a;
            rw->pool.items[node].expr = e = swapped;
        }
        uint32_t better = simplify_op(rw, &e);
        if (better == VY_NONE)
            return rw->draft.failed ? VY_NONE : node;
        rw->changes++;
        node = better;
    }
}

/* Whether any rule may apply to an op with two operands. Each rule requires a literal or two equal operands. */
static int may_simplify(const vy_rewrite *rw, const vy_expr *e) {
    const vy_expr *a = vy_expr_at(rw->from, e->a), *b = vy_expr_at(rw->from, e->b);
    return a->kind == VY_EXPR_LITERAL || b->kind == VY_EXPR_LITERAL || (a->kind == b->kind && is_same(rw, e->a, e->b));
}

/* Operands precede their op, so the first expression that simplifies has unmodified operands. */
static uint32_t find_simplified(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vyre_program *p = rw->from;
    uint64_t before = rw->changes;
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        int is_asked = e->kind == VY_EXPR_OP && (e->b == VY_NONE || e->c != VY_NONE || may_simplify(rw, e));
        if (is_asked && (simplify_node(rw, i) != i || rw->changes != before))
            return i;
    }
    return end;
}

vyre_status vy_pass_instcombine(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                                uint64_t *changes, vyre_error *error) {
    static const vy_rewriter hooks = {.node = simplify_node,
                                      .node_kinds = 1 << VY_EXPR_OP,
                                      .keeps_names = 1,
                                      .keeps_blocks = 1,
                                      .find = find_simplified,
                                      .only_shrinks = 1};
    simplifying s = {.rules = rules};
    for (uint32_t i = 0; i < rules->identity_count; i++) {
        uint8_t op = rules->identities[i].op;
        s.first[op] = s.end[op] ? s.first[op] : i;
        s.end[op] = i + 1;
    }
    return vy_rewrite_run(from, &hooks, &s, NULL, out, changes, error);
}
