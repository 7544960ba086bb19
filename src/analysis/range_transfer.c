/* Transfer functions of the range analysis: the interval of an expression, its symbolic upper bounds, and comparisons
 * that are certain (range_transfer.h).
 *
 * Invariant: operands precede their users, so one pass over the expressions of a statement finds every
 * operand visited. An answer holds for the facts at that statement, before the statement takes effect. */
#include "analysis/range_transfer.h"

#include "analysis/interval.h"
#include "ir/walk.h"

/* ---- symbolic bounds: the lengths that a value is below ----
 *
 * Bounds are of mathematical integers: only an op that cannot wrap, on operands that are not negative, propagates them.
 * Leaving a bound out is always sound. The caller sets r->effort at the start of a query. */

typedef vy_interval interval;

static vy_symbolic_bounds below_product(vy_ranges *r, uint32_t left, uint32_t right) {
    interval by = vy_interval_at(r, right);
    vy_symbolic_bounds all = {0};
    if (by.low != by.high || by.low < 1 || by.low > UINT32_MAX)
        return all;
    all = vy_symbolic_bounds_of(r, left);
    return vy_symbolic_bounds_times(&r->known, &all, (uint64_t)by.low);
}

/* Bounds of row * width + column. */
static vy_symbolic_bounds below_place(vy_ranges *r, uint32_t start, uint32_t column) {
    const vy_expr *e = vy_expr_at(r->program, vy_let_value(r, start));
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
             .count) { /* without products no index is row-major; the calls consume the same effort as the search */
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
    if (!vy_is_integer(e->type) || !vy_is_integer(vy_expr_at(r->program, e->a)->type))
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
    const vy_expr *e = vy_expr_at(r->program, expr);
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

/* Adds bounds for a value less than an expression: the length that the expression equals; for a minimum, the bounds
 * of both operands. Recursion is bounded like that of vy_symbolic_bounds_of. */
static void add_lengths(vy_ranges *r, vy_symbolic_bounds *all, uint32_t expr) {
    const vy_expr *e = vy_expr_at(r->program, vy_let_value(r, expr));
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

/* Whether an expression is certainly less than a length; 0 if that is VY_NONE. A separate query: sets r->effort. */
static int is_below_length(vy_ranges *r, uint32_t expr, uint32_t length) {
    r->effort = VY_RANGE_EFFORT;
    vy_symbolic_bounds known = length != VY_NONE ? vy_symbolic_bounds_of(r, expr) : (vy_symbolic_bounds){0};
    return vy_symbolic_bounds_has(&known, length);
}

typedef vy_wide wide;

/* ---- intervals ---- */

static interval range_op(const vy_ranges *r, const vy_expr *e) {
    interval none = vy_interval_whole(e->type);
    return vy_interval_op((vyre_op)e->op, e->type, vy_expr_at(r->program, e->a)->type, vy_interval_at(r, e->a),
                          e->b != VY_NONE ? vy_interval_at(r, e->b) : none,
                          e->c != VY_NONE ? vy_interval_at(r, e->c) : none);
}

/* For an op of an immutable operand and a literal: the subject of the operand and the literal; VY_NONE for any other
 * expression. */
static uint32_t of_literal(const vy_ranges *r, uint32_t expr, vyre_op op, uint64_t *bits) {
    const vyre_program *p = r->program;
    const vy_expr *e = vy_expr_at(p, expr), *literal;
    if (e->kind == VY_EXPR_VARIABLE && r->values[e->a] != VY_NONE)
        e = vy_expr_at(p, r->values[e->a]);
    if (e->kind != VY_EXPR_OP || e->op != op)
        return VY_NONE;
    const vy_expr *leaf = vy_expr_at(p, e->a);
    literal = vy_expr_at(p, e->b);
    if (literal->kind != VY_EXPR_LITERAL || (leaf->kind == VY_EXPR_VARIABLE && vy_variable_at(p, leaf->a)->is_mutable))
        return VY_NONE;
    *bits = literal->bits;
    return vy_subject_of(r, leaf);
}

/* (x << s) - (x & m), where m is a mask of low bits, inserts a zero between bits of x. It equals x * (2^s - 1) + (x
 * & ~m), which is monotonic in x. */
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

static int is_same_leaf(const vyre_program *p, uint32_t left, uint32_t right) {
    const vy_expr *a = vy_expr_at(p, left), *b = vy_expr_at(p, right);
    return a->kind == b->kind && ((a->kind == VY_EXPR_VARIABLE && a->a == b->a) ||
                                  (a->kind == VY_EXPR_LITERAL && a->type == b->type && a->bits == b->bits));
}

/* Of the second operand of a select, which is given where the first holds. */
static vy_range float_where(const vy_ranges *r, uint32_t condition, uint32_t value) {
    const vyre_program *p = r->program;
    const vy_expr *e = vy_expr_at(p, condition);
    vy_range mine = r->exprs[value];
    if (e->kind != VY_EXPR_OP || vyre_op_get((vyre_op)e->op)->arity != 2)
        return mine;
    if (is_same_leaf(p, e->a, value))
        return vy_float_assume((vyre_op)e->op, mine, r->exprs[e->b]);
    if (is_same_leaf(p, e->b, value))
        return vy_float_assume(vy_op_mirrored((vyre_op)e->op), mine, r->exprs[e->a]);
    return mine;
}

static vy_range float_of_op(const vy_ranges *r, const vy_expr *e) {
    uint8_t operand = vy_expr_at(r->program, e->a)->type;
    vy_range a = r->exprs[e->a], b = e->b != VY_NONE ? r->exprs[e->b] : a, c = e->c != VY_NONE ? r->exprs[e->c] : a;
    if (e->type != VYRE_TYPE_F32 && e->type != VYRE_TYPE_F64)
        return r->whole[e->type];
    if (e->op == VYRE_OP_SELECT)
        return vy_float_op(VYRE_OP_SELECT, e->type, a, float_where(r, e->a, e->b), c);
    if (vy_is_integer(operand) && e->op == VYRE_OP_CAST)
        return vy_float_cast(e->type, vy_interval_at(r, e->a));
    if (vy_is_integer(operand) && e->op == VYRE_OP_BITCAST)
        return vy_float_bitcast(e->type, vy_interval_at(r, e->a));
    return operand == VYRE_TYPE_F32 || operand == VYRE_TYPE_F64 ? vy_float_op((vyre_op)e->op, e->type, a, b, c)
                                                                : r->whole[e->type];
}

static vy_range range_of_op(const vy_ranges *r, const vy_expr *e) {
    interval spread;
    if (!vy_is_integer(e->type))
        return float_of_op(r, e);
    return vy_interval_pack(is_spread(r, e, &spread) ? spread : range_op(r, e));
}

static vy_range range_of_literal(const vy_ranges *r, const vy_expr *e) {
    if (e->type == VYRE_TYPE_F32 || e->type == VYRE_TYPE_F64)
        return vy_float_literal(e->type, e->bits);
    if (!vy_is_integer(e->type))
        return r->whole[e->type];
    uint64_t bits = (uint64_t)vy_integer_of(e->type, e->bits);
    return (vy_range){bits, bits};
}

/* What an access of a constant array of floats may read: its elements, and 0 outside. Nothing is known of arrays with
 * more than MOST_ELEMENTS: their elements are examined for each access. */
enum { MOST_ELEMENTS = 512 };

static vy_range range_of_elements(const vy_ranges *r, const vy_memory *m) {
    if (m->space != VY_SPACE_CONSTANT || m->elements > MOST_ELEMENTS ||
        (m->type != VYRE_TYPE_F32 && m->type != VYRE_TYPE_F64))
        return r->whole[m->type];
    const uint8_t *bytes = vy_constant_bytes(r->program, m);
    vy_range all = vy_float_literal(m->type, 0);
    for (uint32_t i = 0; i < m->elements; i++) {
        uint64_t bits = vy_value_load((vyre_type)m->type, bytes + i * vyre_type_size((vyre_type)m->type));
        all = vy_float_op(VYRE_OP_SELECT, m->type, all, all, vy_float_literal(m->type, bits));
        if (!vy_float_is_known(all))
            break;
    }
    return all;
}

vy_interval vy_fact_of_length(const vyre_program *p, uint32_t memory) {
    uint64_t length = vy_memory_known_length(p, memory);
    return length ? (interval){(wide)length, (wide)length} : vy_interval_whole(VYRE_TYPE_U32);
}

/* The range of a builtin or a length. */
static vy_range range_of_subject(const vy_ranges *r, const vy_expr *e) {
    uint32_t subject = vy_subject_of(r, e);
    return subject != VY_NONE ? r->ranges[subject] : vy_interval_pack(vy_fact_of_length(r->program, e->a));
}

/* ---- certain facts ---- */

/* The smallest possible value of a length at this point. */
static wide shortest(const vy_ranges *r, uint32_t length) {
    uint32_t subject = vy_length_subject(r->program, length);
    return vy_interval_of(vy_subject_type(r->program, subject), r->ranges[subject]).low;
}

uint8_t vy_index_is_inside(vy_ranges *r, uint32_t memory, uint32_t index) {
    interval i = vy_interval_at(r, index);
    uint32_t length = vy_length_of(r->program, memory);
    return i.low >= 0 && (i.high < shortest(r, length) || is_below_length(r, index, length));
}

/* `a op b` for LT, LE and EQ; the other comparisons are negations or mirrored forms. */
static int is_certain(vy_ranges *r, vyre_op op, uint32_t left, uint32_t right) {
    interval a = vy_interval_at(r, left), b = vy_interval_at(r, right);
    switch (op) {
    case VYRE_OP_LT:
        return a.high < b.low || (a.low >= 0 && is_below_length(r, left, vy_length_in(r, right)));
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

/* The result of a comparison: 1 false, 2 true, 0 unknown. */
static uint8_t compare(vy_ranges *r, const vy_expr *e) {
    if (vy_op_opposite((vyre_op)e->op) == VYRE_OP_COUNT || !vy_is_integer(vy_expr_at(r->program, e->a)->type))
        return 0;
    return is_certain(r, (vyre_op)e->op, e->a, e->b)                   ? 2
           : is_certain(r, vy_op_opposite((vyre_op)e->op), e->a, e->b) ? 1
                                                                       : 0;
}

/* ---- the expressions of a statement ---- */

/* Whether an op may have symbolic bounds. They originate from facts and from differences and remainders; other ops
 * only propagate them. */
static int op_may_bound(const vy_ranges *r, const vy_expr *e) {
    return e->op == VYRE_OP_SUB || e->op == VYRE_OP_REM || r->may_bound[e->a] ||
           (e->b != VY_NONE && r->may_bound[e->b]) || (e->c != VY_NONE && r->may_bound[e->c]);
}

static void visit_expr(vy_ranges *r, uint32_t expr) {
    const vy_expr *e = vy_expr_at(r->program, expr);
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
        if (e->c == VY_NONE)
            range = range_of_elements(r, &r->program->memories.items[e->a]);
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
