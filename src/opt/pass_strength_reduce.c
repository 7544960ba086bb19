/* Strength reduction: multiplications by powers of two become shifts, divisions by literals become multiplications.
 *
 * A quotient x / d of w-bit integers is the high half of x * m, shifted, for a magic number m near 2^(w+s) / d
 * (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994). The conditions below are
 * those of the paper, computed in 128 bits; a test tries every dividend with every divisor of the 8-bit types, and
 * samples of the wider ones. A float divided by a power of two whose reciprocal is a normal number is multiplied by
 * it: both round the same exact value.
 *
 * x is used several times, so it is a leaf or is bound to a `let`. In the condition of a `while`, where no `let` can
 * be inserted, the division is unchanged. */
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

__extension__ typedef unsigned __int128 wide;

/* A division being rewritten: its type and dividend, a leaf. */
typedef struct division {
    vy_rewrite *rw;
    vyre_type type;
    unsigned width;
    uint32_t x;
    int check_wrap;
} division;

static uint32_t literal(const division *d, uint64_t bits) {
    return vy_rewrite_make_literal(d->rw, d->type, bits & vy_type_layouts[d->type].mask);
}

static uint32_t op(const division *d, vyre_op which, uint32_t a, uint32_t b) {
    return vy_rewrite_make_op(d->rw, which, d->type, a, b, VY_NONE);
}

static uint32_t shift_right(const division *d, uint32_t a, unsigned by) {
    return by ? op(d, VYRE_OP_SHR, a, literal(d, by)) : a;
}

static int is_power_of_two(uint64_t bits) {
    return bits && !(bits & (bits - 1));
}

static unsigned log2_of(uint64_t power) {
    unsigned n = 0;
    while (power >>= 1)
        n++;
    return n;
}

/* ---- unsigned ---- */

/* Finds m with x / by = (x * m) >> (width + shift) for every x < 2^(width - spare): m = floor(2^(width+shift) / by) +
 * 1 suffices if m * by - 2^(width+shift) is at most 2^(shift + spare). Returns whether there is one below 2^width. */
static int find_magic(unsigned width, unsigned spare, uint64_t by, uint64_t *magic, unsigned *shift) {
    for (unsigned s = 0; s < width; s++) {
        wide power = (wide)1 << (width + s), m = power / by + 1;
        if (m >> width)
            return 0;
        if (m * by - power <= (wide)1 << (s + spare)) {
            *magic = (uint64_t)m;
            *shift = s;
            return 1;
        }
    }
    return 0;
}

/* m has one bit too many: x * m = x * 2^width + x * (m - 2^width). The sum may overflow, so it is halved first. */
static uint32_t divide_wide(const division *d, uint64_t by) {
    unsigned s = log2_of(by) + 1;
    uint64_t magic = (uint64_t)((((wide)1 << d->width) * (((wide)1 << s) - by)) / by + 1);
    uint32_t t = vy_rewrite_make_leaf(d->rw, op(d, VYRE_OP_MUL_HIGH, d->x, literal(d, magic)));
    if (!d->check_wrap)
        return shift_right(d, op(d, VYRE_OP_ADD, d->x, t), s);
    uint32_t half = op(d, VYRE_OP_SHR, op(d, VYRE_OP_SUB, d->x, t), literal(d, 1));
    return shift_right(d, op(d, VYRE_OP_ADD, half, t), s - 1);
}

static uint32_t divide_unsigned(const division *d, uint64_t by) {
    uint64_t magic;
    unsigned shift, twos = 0;
    if (is_power_of_two(by))
        return shift_right(d, d->x, log2_of(by));
    if (find_magic(d->width, 0, by, &magic, &shift))
        return shift_right(d, op(d, VYRE_OP_MUL_HIGH, d->x, literal(d, magic)), shift);
    while (!(by >> twos & 1))
        twos++;
    if (twos && find_magic(d->width, twos, by >> twos, &magic, &shift))
        return shift_right(d, op(d, VYRE_OP_MUL_HIGH, shift_right(d, d->x, twos), literal(d, magic)), shift);
    return divide_wide(d, by);
}

/* ---- signed: the quotient by |d|, rounded down, plus one for negative dividends ---- */

/* All ones if x is negative, else zero. */
static uint32_t sign_of(const division *d) {
    return shift_right(d, d->x, d->width - 1);
}

/* x, plus 2^k - 1 if it is negative, so that a shift by k rounds toward zero. */
static uint32_t biased(const division *d, uint64_t power) {
    return op(d, VYRE_OP_ADD, d->x, op(d, VYRE_OP_AND, sign_of(d), literal(d, power - 1)));
}

/* m = floor(2^(width-1+s) / by) + 1, as a signed number, so x * m may need x * 2^width added. */
static uint32_t divide_magnitude(const division *d, uint64_t by) {
    if (is_power_of_two(by))
        return shift_right(d, biased(d, by), log2_of(by));
    unsigned s = log2_of(by);
    uint64_t magic = (uint64_t)((((wide)1 << (d->width + s)) / by) + 1);
    uint32_t high = op(d, VYRE_OP_MUL_HIGH, d->x, literal(d, magic));
    if (magic >> (d->width - 1) & 1)
        high = op(d, VYRE_OP_ADD, high, d->x);
    return op(d, VYRE_OP_SUB, shift_right(d, high, s), sign_of(d));
}

static uint32_t divide_signed(const division *d, uint64_t by) {
    int is_negative = (int)(by >> (d->width - 1) & 1);
    uint64_t magnitude = (is_negative ? 0 - by : by) & vy_type_layouts[d->type].mask;
    uint32_t quotient = divide_magnitude(d, magnitude);
    return is_negative ? vy_rewrite_make_op(d->rw, VYRE_OP_NEG, d->type, quotient, VY_NONE, VY_NONE) : quotient;
}

/* ---- remainders ---- */

static uint32_t remainder_of(const division *d, uint64_t by, int is_signed) {
    uint64_t mask = vy_type_layouts[d->type].mask;
    if (!is_signed && is_power_of_two(by))
        return op(d, VYRE_OP_AND, d->x, literal(d, by - 1));
    if (!is_signed)
        return op(d, VYRE_OP_SUB, d->x, op(d, VYRE_OP_MUL, divide_unsigned(d, by), literal(d, by)));
    /* a remainder is independent of the sign of the divisor */
    uint64_t magnitude = (by >> (d->width - 1) & 1 ? 0 - by : by) & mask;
    if (is_power_of_two(magnitude))
        return op(d, VYRE_OP_SUB, d->x, op(d, VYRE_OP_AND, biased(d, magnitude), literal(d, ~(magnitude - 1))));
    return op(d, VYRE_OP_SUB, d->x, op(d, VYRE_OP_MUL, divide_magnitude(d, magnitude), literal(d, magnitude)));
}

/* ---- one node ---- */

/* Whether the result uses the dividend once. */
static int uses_once(const division *d, vyre_op which, uint64_t by, int is_signed) {
    uint64_t magic;
    unsigned shift;
    return !is_signed && (is_power_of_two(by) || (which == VYRE_OP_DIV && find_magic(d->width, 0, by, &magic, &shift)));
}

static uint32_t strengthen_integer(vy_rewrite *rw, const vy_expr *e, uint64_t by) {
    const vy_opt_policy *rules = rw->user;
    const vy_type_layout *layout = &vy_type_layouts[e->type];
    division d = {rw, (vyre_type)e->type, layout->bits, e->a, rules->check_wrap};
    int is_signed = layout->classes == VYRE_CLASS_SIGNED;
    uint64_t smallest = UINT64_C(1) << (layout->bits - 1);
    if (e->op == VYRE_OP_MUL)
        return is_power_of_two(by) && by > 1 ? op(&d, VYRE_OP_SHL, e->a, literal(&d, log2_of(by))) : VY_NONE;
    /* instcombine handles 0, 1 and -1; the smallest number has only itself as a multiple */
    if (by <= 1 || (is_signed && (by == layout->mask || by == smallest)))
        return VY_NONE;
    if (!uses_once(&d, (vyre_op)e->op, by, is_signed)) {
        int loads_for_others = rw->in_arm && rules->guards_count && rw->pool.items[e->a].loads;
        if (!rw->may_bind || loads_for_others)
            return VY_NONE;
        d.x = vy_rewrite_make_leaf(rw, e->a);
    }
    if (e->op == VYRE_OP_REM)
        return remainder_of(&d, by, is_signed);
    return is_signed ? divide_signed(&d, by) : divide_unsigned(&d, by);
}

/* A power of two has no fraction bits. Neither the divisor nor its reciprocal may be subnormal, zero or infinite. */
static uint32_t strengthen_float(vy_rewrite *rw, const vy_expr *e, uint64_t by) {
    const vy_type_layout *layout = &vy_type_layouts[e->type];
    uint64_t fraction = (layout->infinity & (0 - layout->infinity)) - 1, magnitude = by & layout->mask >> 1, one;
    vyre_type type = (vyre_type)e->type;
    if (e->op != VYRE_OP_DIV || by & fraction || magnitude == 0 || magnitude >= layout->infinity)
        return VY_NONE;
    vy_operand_bits(VY_IS_ONE, type, &one);
    uint64_t inverse = vyre_op_evaluate(VYRE_OP_DIV, type, type, one, by, 0), exponent = inverse & layout->infinity;
    if (inverse & fraction || exponent == 0 || exponent == layout->infinity)
        return VY_NONE;
    return vy_rewrite_make_op(rw, VYRE_OP_MUL, type, e->a, vy_rewrite_make_literal(rw, type, inverse), VY_NONE);
}

static int is_weak(uint8_t op) {
    return op == VYRE_OP_MUL || op == VYRE_OP_DIV || op == VYRE_OP_REM;
}

static uint32_t strengthen_node(vy_rewrite *rw, uint32_t node) {
    const vy_expr e = *vy_rewrite_node_at(rw, node);
    if (e.kind != VY_EXPR_OP || !is_weak(e.op))
        return node;
    if (!vy_rewrite_is_literal(rw, e.b) || vy_rewrite_is_literal(rw, e.a))
        return node;
    uint64_t by = vy_rewrite_node_at(rw, e.b)->bits;
    uint32_t better = vy_type_layouts[e.type].classes == VYRE_CLASS_FLOAT ? strengthen_float(rw, &e, by)
                                                                          : strengthen_integer(rw, &e, by);
    if (rw->draft.failed)
        return VY_NONE;
    rw->changes += better != VY_NONE;
    return better == VY_NONE ? node : better;
}

static uint32_t find_strengthened(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_expr *exprs = rw->from->exprs.items;
    uint64_t before = rw->changes;
    for (uint32_t i = first; i < end; i++)
        if (exprs[i].kind == VY_EXPR_OP && is_weak(exprs[i].op) &&
            (strengthen_node(rw, i) != i || rw->changes != before))
            return i;
    return end;
}

/* Whether the replacement of an op may have more nodes: quotients by a literal that is not a power of two. */
static int may_grow(const vyre_program *p) {
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        if (e->kind != VY_EXPR_OP || (e->op != VYRE_OP_DIV && e->op != VYRE_OP_REM))
            continue;
        uint8_t class = vy_type_layouts[e->type].classes;
        const vy_expr *by = vy_expr_at(p, e->b);
        if (class != VYRE_CLASS_FLOAT && by->kind == VY_EXPR_LITERAL &&
            (class == VYRE_CLASS_SIGNED || !is_power_of_two(by->bits)))
            return 1;
    }
    return 0;
}

vyre_status vy_pass_strength_reduce(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                                    uint64_t *changes, vyre_error *error) {
    static const uint8_t ops[VYRE_OP_COUNT] = {[VYRE_OP_MUL] = 1, [VYRE_OP_DIV] = 1, [VYRE_OP_REM] = 1};
    vy_rewriter hooks = {.node = strengthen_node,
                         .node_kinds = 1 << VY_EXPR_OP,
                         .node_ops = ops,
                         .keeps_names = 1,
                         .keeps_blocks = 1,
                         .find = find_strengthened,
                         .only_shrinks = (uint8_t)!may_grow(from)};
    return vy_rewrite_run(from, &hooks, (void *)rules, NULL, out, changes, error);
}
