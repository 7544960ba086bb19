/* Bounds of expressions (range_symbolic.h). */
#include "analysis/range_symbolic.h"

typedef vy_interval interval;

static vy_symbolic_bounds below_product(vy_ranges *r, uint32_t left, uint32_t right) {
    interval by = vy_interval_at(r, right);
    vy_symbolic_bounds all = {0};
    if (by.low != by.high || by.low < 1 || by.low > UINT32_MAX)
        return all;
    all = vy_symbolic_bounds_of(r, left);
    return vy_symbolic_bounds_times(&r->known, &all, (uint64_t)by.low);
}

/* row * width + column. */
static vy_symbolic_bounds below_place(vy_ranges *r, uint32_t start, uint32_t column) {
    const vy_expr *e = &r->program->exprs.items[vy_let_value(r, start)];
    vy_symbolic_bounds made = {0};
    if (!r->known.products.count || e->kind != VY_EXPR_OP || e->op != VYRE_OP_MUL || vy_interval_at(r, e->a).low < 0 ||
        vy_interval_at(r, e->b).low < 0 || vy_interval_at(r, column).low < 0)
        return made;
    const uint32_t sides[3] = {e->a, e->b, e->a};
    for (int i = 0; i < 2; i++) {
        uint32_t width = vy_length_in(r, sides[i + 1]);
        if (width == VY_NONE)
            continue;
        vy_symbolic_bounds row = vy_symbolic_bounds_of(r, sides[i]), columns = vy_symbolic_bounds_of(r, column);
        vy_symbolic_bounds more = vy_symbolic_bounds_row_major(&r->known, &row, width, &columns);
        made = vy_symbolic_bounds_both(made, &more);
    }
    return made;
}

static vy_symbolic_bounds below_sum(vy_ranges *r, const vy_expr *e, interval a, interval b) {
    vy_symbolic_bounds left = vy_symbolic_bounds_of(r, e->a), right = vy_symbolic_bounds_of(r, e->b);
    if (left.count)
        left = vy_symbolic_bounds_raise(&left, (uint64_t)b.high);
    if (right.count) {
        right = vy_symbolic_bounds_raise(&right, (uint64_t)a.high);
        left = vy_symbolic_bounds_both(left, &right);
    }
    if (!r->known.products
             .count) { /* no length is one, so there are no places: to look for them takes the same effort */
        vy_let_value(r, e->a);
        vy_let_value(r, e->b);
        return left;
    }
    right = below_place(r, e->a, e->b);
    left = vy_symbolic_bounds_both(left, &right);
    right = below_place(r, e->b, e->a);
    return vy_symbolic_bounds_both(left, &right);
}

static vy_symbolic_bounds below_op(vy_ranges *r, const vy_expr *e) {
    vy_symbolic_bounds none = {0}, left, right;
    if (!vy_is_integer(e->type) || !vy_is_integer(r->program->exprs.items[e->a].type))
        return none;
    interval a = vy_interval_at(r, e->a), b = e->b != VY_NONE ? vy_interval_at(r, e->b) : a;
    if (a.low < 0)
        return none;
    switch ((vyre_op)e->op) {
    case VYRE_OP_CAST:
        return vy_interval_fit(e->type, a.low, a.high).high == a.high ? vy_symbolic_bounds_of(r, e->a) : none;
    case VYRE_OP_SHR:
        return vy_symbolic_bounds_of(r, e->a);
    case VYRE_OP_REM: /* x % 0 is x */
        left = vy_symbolic_bounds_of(r, e->a);
        if (b.low > 0)
            vy_symbolic_bounds_add(&r->known, &left, vy_length_in(r, e->b), 0);
        return left;
    case VYRE_OP_DIV:
        return b.low > 0 ? vy_symbolic_bounds_of(r, e->a) : none;
    case VYRE_OP_ADD:
        return b.low < 0 ? none : below_sum(r, e, a, b);
    case VYRE_OP_SUB:
        if (b.low < 0 || b.high > a.low)
            return none;
        left = vy_symbolic_bounds_lower(vy_symbolic_bounds_of(r, e->a), (uint64_t)b.low);
        if (b.low > 0)
            vy_symbolic_bounds_add(&r->known, &left, vy_length_in(r, e->a), (uint64_t)b.low - 1);
        return left;
    case VYRE_OP_MUL:
        if (b.low < 0 || !r->known.products.count)
            return none;
        left = below_product(r, e->a, e->b);
        right = below_product(r, e->b, e->a);
        return vy_symbolic_bounds_both(left, &right);
    case VYRE_OP_SHL:
        if (b.low != b.high || b.low < 0 || b.low >= 32 || !r->known.products.count)
            return none;
        left = vy_symbolic_bounds_of(r, e->a);
        return vy_symbolic_bounds_times(&r->known, &left, UINT64_C(1) << (unsigned)b.low);
    case VYRE_OP_AND:
    case VYRE_OP_MIN:
        left = vy_symbolic_bounds_of(r, e->a);
        right = b.low >= 0 ? vy_symbolic_bounds_of(r, e->b) : none;
        return vy_symbolic_bounds_both(left, &right);
    default:
        return none;
    }
}

static vy_symbolic_bounds bounds_of(vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    uint32_t subject = vy_subject_of(r, e), value = vy_let_value(r, expr);
    if (subject == VY_NONE)
        return e->kind == VY_EXPR_OP ? below_op(r, e) : (vy_symbolic_bounds){0};
    vy_symbolic_bounds known = {0};
    if (r->below[subject])
        known = r->bounds.items[r->below[subject] - 1];
    if (value == expr)
        return known;
    const vy_given *given = &r->given[subject];
    if (given->learned == r->learned && given->effort <= r->effort) {
        r->effort -= given->effort;
        return known;
    }
    vy_symbolic_bounds more = vy_symbolic_bounds_of(r, value);
    return known.count ? vy_symbolic_bounds_both(known, &more) : more;
}

vy_symbolic_bounds vy_symbolic_bounds_of(vy_ranges *r, uint32_t expr) {
    if ((expr >= r->first_expr && !r->may_bound[expr]) || r->depth == VY_RANGE_DEPTH)
        return (vy_symbolic_bounds){0};
    r->depth++;
    vy_symbolic_bounds known = bounds_of(r, expr);
    r->depth--;
    return known;
}

/* What is less than an expression that is a length, or the least of several things, is below those. Recursion is bounded as that of vy_symbolic_bounds_of. */
static void add_lengths(vy_ranges *r, vy_symbolic_bounds *all, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[vy_let_value(r, expr)];
    vy_symbolic_bounds_add(&r->known, all, vy_length_in(r, expr), 0);
    if (e->kind == VY_EXPR_OP && e->op == VYRE_OP_MIN && vy_is_integer(e->type) && r->depth < VY_RANGE_DEPTH) {
        r->depth++;
        add_lengths(r, all, e->a);
        add_lengths(r, all, e->b);
        r->depth--;
    }
}

void vy_symbolic_bounds_add_less(vy_ranges *r, vy_symbolic_bounds *all, uint32_t expr, int less) {
    if (less)
        add_lengths(r, all, expr);
    vy_symbolic_bounds more = vy_symbolic_bounds_lower(vy_symbolic_bounds_of(r, expr), (uint64_t)less);
    *all = vy_symbolic_bounds_both(*all, &more);
}

int vy_is_below_length(vy_ranges *r, uint32_t expr, uint32_t length) {
    r->effort = VY_RANGE_EFFORT;
    vy_symbolic_bounds known = length != VY_NONE ? vy_symbolic_bounds_of(r, expr) : (vy_symbolic_bounds){0};
    return vy_symbolic_bounds_has(&known, length);
}
