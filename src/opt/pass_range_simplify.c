/* Range-based simplification: a comparison with a known result becomes a literal, as does a value with one possible
 * value; masks, remainders, minima and maxima without effect are removed.
 *
 * All facts come from the range analysis (analysis/range.h); the pass does not examine the context of an expression.
 *
 * Invariant: a fact holds wherever the expression is evaluated, in every run. */
#include "analysis/range.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

static vy_interval bounds_of(const vy_rewrite *rw, uint32_t expr) {
    return vy_interval_of(vy_expr_at(rw->from, expr)->type, vy_range_of(rw->user, expr));
}

static int may_be_unchanged(uint8_t op) {
    return op == VYRE_OP_REM || op == VYRE_OP_AND || op == VYRE_OP_MIN || op == VYRE_OP_MAX;
}

/* The operand to which an op is the identity, or VY_NONE. */
static uint32_t unchanged(const vy_rewrite *rw, const vy_expr *e) {
    if (e->kind != VY_EXPR_OP || !may_be_unchanged(e->op))
        return VY_NONE;
    vy_interval a = bounds_of(rw, e->a), b = bounds_of(rw, e->b);
    int is_mask = b.low == b.high && b.low >= 0 && (b.low & (b.low + 1)) == 0;
    switch ((vyre_op)e->op) {
    case VYRE_OP_REM:
        return a.low >= 0 && a.high < b.low ? e->a : VY_NONE;
    case VYRE_OP_AND:
        return is_mask && a.low >= 0 && a.high <= b.low ? e->a : VY_NONE;
    case VYRE_OP_MIN:
        return a.high <= b.low ? e->a : b.high <= a.low ? e->b : VY_NONE;
    case VYRE_OP_MAX:
        return a.low >= b.high ? e->a : b.low >= a.high ? e->b : VY_NONE;
    default:
        return VY_NONE;
    }
}

static uint32_t narrow(vy_rewrite *rw, uint32_t expr) {
    const vy_expr *e = vy_expr_at(rw->from, expr);
    int truth = vy_comparison_is(rw->user, expr);
    if (truth >= 0) {
        rw->changes++;
        return vy_rewrite_make_literal(rw, VYRE_TYPE_BOOL, (uint64_t)truth);
    }
    if (e->kind == VY_EXPR_LITERAL || !(vy_type_layouts[e->type].classes & VYRE_CLASS_INTEGER))
        return VY_NONE;
    vy_range range = vy_range_of(rw->user, expr);
    if (range.low == range.high) {
        rw->changes++;
        return vy_rewrite_make_literal(rw, (vyre_type)e->type, range.low & vy_type_layouts[e->type].mask);
    }
    uint32_t operand = unchanged(rw, e);
    if (operand == VY_NONE)
        return VY_NONE;
    rw->changes++;
    return vy_rewrite_read(rw, operand);
}

/* Whether `narrow` would replace an expression. */
static int is_narrowed(const vy_rewrite *rw, uint32_t expr) {
    const vy_expr *e = vy_expr_at(rw->from, expr);
    if (e->kind == VY_EXPR_LITERAL)
        return 0;
    if (!vy_is_integer(e->type))
        return vy_comparison_is(rw->user, expr) >= 0;
    vy_range range = vy_range_of(rw->user, expr);
    return range.low == range.high || unchanged(rw, e) != VY_NONE;
}

static uint32_t find_narrowed(vy_rewrite *rw, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        if (is_narrowed(rw, i))
            return i;
    return end;
}

vyre_status vy_pass_range(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                          vyre_error *error) {
    static const vy_rewriter hooks = {.tree = narrow,
                                      .tree_kinds = VY_ALL_BUT_LITERALS,
                                      .keeps_names = 1,
                                      .keeps_blocks = 1,
                                      .find = find_narrowed,
                                      .only_shrinks = 1};
    vy_ranges *ranges;
    *out = NULL;
    *changes = 0;
    vyre_status status = vy_ranges_make_by(from, &rules->ranges, VY_ASKS_COMPARISONS, &ranges, error);
    if (status == VYRE_OK)
        status = vy_rewrite_run(from, &hooks, ranges, NULL, out, changes, error);
    vy_ranges_free(ranges);
    return status;
}
