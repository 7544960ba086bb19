/* Expressions (range_transfer.h). */
#include "analysis/range_transfer.h"

#include "analysis/range_symbolic.h"
#include "ir/walk.h"

typedef vy_wide wide;
typedef vy_interval interval;

/* ---- between which values ---- */

static interval range_op(const vy_ranges *r, const vy_expr *e) {
    interval none = vy_interval_whole(e->type);
    return vy_interval_op((vyre_op)e->op, e->type, r->program->exprs.items[e->a].type, vy_interval_at(r, e->a),
                          e->b != VY_NONE ? vy_interval_at(r, e->b) : none,
                          e->c != VY_NONE ? vy_interval_at(r, e->c) : none);
}

/* An op of something and a literal: what the something is, if that never changes, and the literal; VY_NONE if it is none. */
static uint32_t of_literal(const vy_ranges *r, uint32_t expr, vyre_op op, uint64_t *bits) {
    const vyre_program *p = r->program;
    const vy_expr *e = &p->exprs.items[expr], *literal;
    if (e->kind == VY_EXPR_VARIABLE && r->values[e->a] != VY_NONE)
        e = &p->exprs.items[r->values[e->a]];
    if (e->kind != VY_EXPR_OP || e->op != op)
        return VY_NONE;
    const vy_expr *leaf = &p->exprs.items[e->a];
    literal = &p->exprs.items[e->b];
    if (literal->kind != VY_EXPR_LITERAL || (leaf->kind == VY_EXPR_VARIABLE && p->variables.items[leaf->a].is_mutable))
        return VY_NONE;
    *bits = literal->bits;
    return vy_subject_of(r, leaf);
}

/* (x << s) - (x & m), a zero put between bits of x, where m is all ones below: that is x * (2^s - 1) + (x & ~m), which grows with x. */
static int is_spread(const vy_ranges *r, const vy_expr *e, interval *out) {
    uint64_t by = 0, mask = 0;
    if (e->op != VYRE_OP_SUB || e->type != VYRE_TYPE_U32)
        return 0;
    uint32_t subject = of_literal(r, e->a, VYRE_OP_SHL, &by);
    if (subject == VY_NONE || subject != of_literal(r, e->b, VYRE_OP_AND, &mask) || by < 1 || by > 31 ||
        (mask & (mask + 1)))
        return 0;
    interval x = vy_interval_of(VYRE_TYPE_U32, r->ranges[subject]);
    if (x.low < 0 || x.high << by > UINT32_MAX)
        return 0;
    *out = (interval){0, x.high * (((wide)1 << by) - 1) + (x.high & ~(wide)mask)};
    return 1;
}

static vy_range range_of_op(const vy_ranges *r, const vy_expr *e) {
    interval spread;
    if (!vy_is_integer(e->type)) /* nobody asks */
        return r->whole[e->type];
    return vy_interval_pack(is_spread(r, e, &spread) ? spread : range_op(r, e));
}

static vy_range range_of_literal(const vy_ranges *r, const vy_expr *e) {
    if (!vy_is_integer(e->type))
        return r->whole[e->type];
    uint64_t bits = (uint64_t)vy_integer_of(e->type, e->bits);
    return (vy_range){bits, bits};
}

/* Of a builtin or a length. */
static vy_range range_of_subject(const vy_ranges *r, const vy_expr *e) {
    uint32_t subject = vy_subject_of(r, e);
    return subject != VY_NONE ? r->ranges[subject] : vy_interval_pack(vy_fact_of_length(r->program, e->a));
}

/* ---- what is certain ---- */

/* The least a length can be here. */
static wide shortest(const vy_ranges *r, uint32_t length) {
    uint32_t subject = vy_length_subject(r->program, length);
    return vy_interval_of(vy_subject_type(r->program, subject), r->ranges[subject]).low;
}

uint8_t vy_index_is_inside(vy_ranges *r, uint32_t memory, uint32_t index) {
    interval i = vy_interval_at(r, index);
    uint32_t length = vy_length_of(r->program, memory);
    return i.low >= 0 && (i.high < shortest(r, length) || vy_is_below_length(r, index, length));
}

/* `a op b` for the comparisons that the others are opposites or mirrors of. */
static int is_certain(vy_ranges *r, vyre_op op, uint32_t left, uint32_t right) {
    interval a = vy_interval_at(r, left), b = vy_interval_at(r, right);
    switch (op) {
    case VYRE_OP_LT:
        return a.high < b.low || (a.low >= 0 && vy_is_below_length(r, left, vy_length_in(r, right)));
    case VYRE_OP_LE:
        return a.high <= b.low;
    case VYRE_OP_EQ:
        return a.low == a.high && b.low == b.high && a.low == b.low;
    case VYRE_OP_NE:
        return a.high < b.low || b.high < a.low;
    case VYRE_OP_GT:
        return is_certain(r, VYRE_OP_LT, right, left);
    case VYRE_OP_GE:
        return is_certain(r, VYRE_OP_LE, right, left);
    default:
        return 0;
    }
}

/* Of an op that gives a bool. */
static uint8_t compare(vy_ranges *r, const vy_expr *e) {
    if (vy_op_opposite((vyre_op)e->op) == VYRE_OP_COUNT || !vy_is_integer(r->program->exprs.items[e->a].type))
        return 0;
    return is_certain(r, (vyre_op)e->op, e->a, e->b)                   ? 2
           : is_certain(r, vy_op_opposite((vyre_op)e->op), e->a, e->b) ? 1
                                                                       : 0;
}

/* ---- all of a statement ---- */

/* What starts bounds are facts, and differences and remainders of lengths; other ops pass them on at most. */
static int op_may_bound(const vy_ranges *r, const vy_expr *e) {
    return e->op == VYRE_OP_SUB || e->op == VYRE_OP_REM || r->may_bound[e->a] ||
           (e->b != VY_NONE && r->may_bound[e->b]) || (e->c != VY_NONE && r->may_bound[e->c]);
}

static void visit_expr(vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    int may_bound = 0;
    vy_range range = r->whole[e->type];
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL:
        range = range_of_literal(r, e);
        break;
    case VY_EXPR_VARIABLE:
        may_bound = r->below[e->a] || r->values[e->a] != VY_NONE;
        range = r->ranges[e->a];
        break;
    case VY_EXPR_BUILTIN:
    case VY_EXPR_LEN:
        may_bound = 1;
        range = range_of_subject(r, e);
        break;
    case VY_EXPR_LOAD:
        if (r->asks & VY_ASKS_LOADS)
            r->load_inside[expr] = vy_index_is_inside(r, e->a, e->b);
        break;
    case VY_EXPR_OP:
        may_bound = op_may_bound(r, e);
        range = range_of_op(r, e);
        if (e->type == VYRE_TYPE_BOOL && r->asks & VY_ASKS_COMPARISONS)
            r->compared[expr] = compare(r, e);
        break;
    default:
        may_bound = 1;
        break;
    }
    r->may_bound[expr] = (uint8_t)may_bound;
    r->exprs[expr] = range;
}

void vy_ranges_visit_exprs(vy_ranges *r, const vy_stmt *s) {
    uint32_t first = r->next_expr, end = vy_stmt_exprs_end(r->program, s, first);
    r->first_expr = first;
    r->next_expr = end;
    for (uint32_t i = first; i < end; i++)
        visit_expr(r, i);
}
