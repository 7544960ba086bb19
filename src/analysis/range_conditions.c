/* Conditions (range_conditions.h). */
#include "analysis/range_conditions.h"

#include "analysis/range_symbolic.h"

typedef vy_wide wide;
typedef vy_interval interval;

/* `left op right` holds: what follows for a subject on the left. */
static void assume_side(vy_ranges *r, vyre_op op, uint32_t left, uint32_t right) {
    uint32_t subject = vy_subject_of(r, &r->program->exprs.items[left]);
    if (subject == VY_NONE)
        return;
    vy_fact known = vy_fact_at(r, subject);
    interval mine = vy_interval_of(r->program->exprs.items[left].type, known.range), other = vy_interval_at(r, right);
    switch (op) {
    case VYRE_OP_EQ:
        mine = (interval){vy_wide_max(mine.low, other.low), vy_wide_min(mine.high, other.high)};
        break;
    case VYRE_OP_NE: /* an end of it */
        mine.low += other.low == other.high && other.low == mine.low;
        mine.high -= other.low == other.high && other.low == mine.high;
        break;
    case VYRE_OP_LT:
        mine.high = vy_wide_min(mine.high, other.high - 1);
        vy_symbolic_bounds_add_less(r, &known.below, right, 1);
        break;
    case VYRE_OP_LE:
        mine.high = vy_wide_min(mine.high, other.high);
        vy_symbolic_bounds_add_less(r, &known.below, right, !r->rules->length_is_outside);
        break;
    case VYRE_OP_GT:
        mine.low = vy_wide_max(mine.low, other.low + 1);
        break;
    case VYRE_OP_GE:
        mine.low = vy_wide_max(mine.low, other.low);
        break;
    default:
        return;
    }
    if (mine.low <= mine.high) /* else nobody comes here */
        known.range = vy_interval_pack(mine);
    vy_fact_learn(r, subject, &known);
}

/* `a + b op right` holds, and the sum does not wrap: what follows for a subject a. */
static void assume_sum(vy_ranges *r, vyre_op op, uint32_t sum, uint32_t right) {
    const vy_expr *e = &r->program->exprs.items[vy_let_value(r, sum)];
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_ADD || (op != VYRE_OP_LT && op != VYRE_OP_LE))
        return;
    const uint32_t sides[3] = {e->a, e->b, e->a};
    for (int i = 0; i < 2; i++) {
        uint32_t subject = vy_subject_of(r, &r->program->exprs.items[sides[i]]);
        if (subject == VY_NONE)
            continue;
        vy_fact known = vy_fact_at(r, subject);
        interval mine = vy_interval_of(e->type, known.range), b = vy_interval_at(r, sides[i + 1]);
        wide margin = b.low - (op == VYRE_OP_LE);
        if (mine.low < 0 || b.low < 0 || margin < 0 || mine.high + b.high > vy_interval_whole(e->type).high)
            continue;
        vy_symbolic_bounds_add(&r->known, &known.below, vy_length_in(r, right), (uint64_t)margin);
        mine.high = vy_wide_min(mine.high, vy_interval_at(r, right).high - margin - 1);
        if (mine.low <= mine.high) /* else nobody comes here */
            known.range = vy_interval_pack(mine);
        vy_fact_learn(r, subject, &known);
    }
}

/* `n - v op least` holds: what follows for the variable v, if it is known not to be above n. Then v + least is not above it either. */
static void assume_distance(vy_ranges *r, vyre_op op, uint32_t distance, uint32_t shortest) {
    const vy_expr *e = &r->program->exprs.items[distance];
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_SUB || (op != VYRE_OP_GE && op != VYRE_OP_GT))
        return;
    uint32_t subject = vy_subject_of(r, &r->program->exprs.items[e->b]), length = vy_length_in(r, e->a);
    if (subject == VY_NONE)
        return;
    vy_fact known = vy_fact_at(r, subject);
    interval mine = vy_interval_of(e->type, known.range), n = vy_interval_at(r, e->a);
    wide least_distance = vy_interval_at(r, shortest).low + (op == VYRE_OP_GT);
    if (mine.low < 0 || least_distance < 1 || (mine.high > n.low && !vy_symbolic_bounds_has(&known.below, length)))
        return;
    vy_symbolic_bounds_add(&r->known, &known.below, length, (uint64_t)vy_wide_min(least_distance - 1, UINT32_MAX));
    mine.high = vy_wide_min(mine.high, n.high - least_distance);
    if (mine.low <= mine.high) /* else nobody comes here */
        known.range = vy_interval_pack(mine);
    vy_fact_learn(r, subject, &known);
}

static void assume_value(vy_ranges *r, uint32_t expr, int holds);

/* The operands of an operator are `holds`. Recursion is bounded by VY_RANGE_DEPTH. */
static void assume_operands(vy_ranges *r, const vy_expr *e, int holds) {
    if (r->depth == VY_RANGE_DEPTH)
        return;
    r->depth++;
    assume_value(r, e->a, holds);
    if (e->b != VY_NONE)
        assume_value(r, e->b, holds);
    r->depth--;
}

/* The condition at `expr` is `holds`. */
static void assume_value(vy_ranges *r, uint32_t expr, int holds) {
    uint32_t value = expr, next;
    while ((next = vy_let_value(r, value)) != value)
        value = next;
    const vy_expr *e = &r->program->exprs.items[value];
    if (e->kind != VY_EXPR_OP || r->failed)
        return;
    vyre_op op = (vyre_op)e->op;
    if (op == VYRE_OP_LNOT) {
        assume_operands(r, e, !holds);
    } else if (op == (holds ? VYRE_OP_LAND : VYRE_OP_LOR)) {
        assume_operands(r, e, holds);
    } else if (vy_op_opposite(op) != VYRE_OP_COUNT && vy_is_integer(r->program->exprs.items[e->a].type)) {
        op = holds ? op : vy_op_opposite(op);
        assume_side(r, op, e->a, e->b);
        assume_side(r, vy_op_mirrored(op), e->b, e->a);
        assume_sum(r, op, e->a, e->b);
        assume_sum(r, vy_op_mirrored(op), e->b, e->a);
        assume_distance(r, op, e->a, e->b);
        assume_distance(r, vy_op_mirrored(op), e->b, e->a);
    }
}

void vy_facts_assume(vy_ranges *r, uint32_t expr, int holds) {
    r->effort = VY_RANGE_EFFORT;
    r->first_expr = VY_NONE; /* what one part of a condition says may bound another */
    assume_value(r, expr, holds);
}
