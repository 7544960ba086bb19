/* Interval arithmetic on integers (interval.h): one rule per op. Invariant: the result contains the value of the op
 * for all operands within their intervals. */
#include "analysis/interval.h"

typedef vy_interval interval;

interval vy_interval_fit(uint8_t type, vy_wide low, vy_wide high) {
    interval all = vy_interval_whole(type);
    return low < all.low || high > all.high || low > high ? all : (interval){low, high};
}

interval vy_interval_hull(interval a, interval b) {
    return (interval){vy_wide_min(a.low, b.low), vy_wide_max(a.high, b.high)};
}

/* The smallest number of the form 2^n - 1 that is not less than the value. */
static vy_wide ones_over(vy_wide value) {
    vy_wide ones = value == (vy_wide)UINT32_MAX ? value : 0; /* the common case */
    while (ones < value)
        ones = ones * 2 + 1;
    return ones;
}

static interval multiply(interval a, interval b, uint8_t type) {
    unsigned bits = vy_type_layouts[type].bits;
    if (bits == 64 && (vy_wide_max(a.high, -a.low) >> 62 || vy_wide_max(b.high, -b.low) >> 62))
        return vy_interval_whole(type); /* the product may exceed 128 bits */
    vy_wide p[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return vy_interval_fit(type, vy_wide_min(vy_wide_min(p[0], p[1]), vy_wide_min(p[2], p[3])),
                           vy_wide_max(vy_wide_max(p[0], p[1]), vy_wide_max(p[2], p[3])));
}

static interval remain(interval a, interval b, uint8_t type) {
    if (b.low <= 0 && b.high >= 0)
        return vy_interval_whole(type); /* x % 0 is x */
    vy_wide largest = vy_wide_max(vy_wide_max(b.high, -b.high), vy_wide_max(b.low, -b.low)) - 1;
    return (interval){a.low < 0 ? vy_wide_max(a.low, -largest) : 0, a.high > 0 ? vy_wide_min(a.high, largest) : 0};
}

/* By a single shift count, of which the language uses the low bits. */
static interval shift(vyre_op op, interval a, interval amount, uint8_t type) {
    unsigned by = (unsigned)(uint64_t)amount.low & (vy_type_layouts[type].bits - 1u);
    if (amount.low != amount.high)
        return vy_interval_whole(type);
    if (op == VYRE_OP_SHR)
        return (interval){a.low >> by, a.high >> by};
    return multiply(a, (interval){(vy_wide)1 << by, (vy_wide)1 << by}, type);
}

static interval mask(interval a, interval b, uint8_t type) {
    if (a.low >= 0 && b.low >= 0)
        return (interval){0, vy_wide_min(a.high, b.high)};
    return a.low >= 0 ? (interval){0, a.high} : b.low >= 0 ? (interval){0, b.high} : vy_interval_whole(type);
}

interval vy_interval_op(vyre_op op, uint8_t type, uint8_t operand, interval a, interval b, interval c) {
    interval none = vy_interval_whole(type);
    if (!vy_is_integer(type))
        return none;
    switch (op) {
    case VYRE_OP_ADD:
        return vy_interval_fit(type, a.low + b.low, a.high + b.high);
    case VYRE_OP_SUB:
        return vy_interval_fit(type, a.low - b.high, a.high - b.low);
    case VYRE_OP_MUL:
        return multiply(a, b, type);
    case VYRE_OP_DIV:
        return b.low > 0 && a.low >= 0 ? (interval){a.low / b.high, a.high / b.low} : none;
    case VYRE_OP_REM:
        return remain(a, b, type);
    case VYRE_OP_AND:
        return mask(a, b, type);
    case VYRE_OP_OR:
    case VYRE_OP_XOR:
        return a.low >= 0 && b.low >= 0 ? (interval){0, ones_over(vy_wide_max(a.high, b.high))} : none;
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
        return shift(op, a, b, type);
    case VYRE_OP_MIN:
        return (interval){vy_wide_min(a.low, b.low), vy_wide_min(a.high, b.high)};
    case VYRE_OP_MAX:
        return (interval){vy_wide_max(a.low, b.low), vy_wide_max(a.high, b.high)};
    case VYRE_OP_SELECT:
        return vy_interval_hull(b, c);
    case VYRE_OP_POPCOUNT:
    case VYRE_OP_CLZ:
    case VYRE_OP_CTZ:
        return (interval){0, vy_type_layouts[type].bits};
    case VYRE_OP_CAST:
    case VYRE_OP_BITCAST:
        return vy_is_integer(operand) || operand == VYRE_TYPE_BOOL ? vy_interval_fit(type, a.low, a.high) : none;
    default:
        return none;
    }
}

vyre_op vy_op_mirrored(vyre_op op) {
    switch (op) {
    case VYRE_OP_LT:
        return VYRE_OP_GT;
    case VYRE_OP_LE:
        return VYRE_OP_GE;
    case VYRE_OP_GT:
        return VYRE_OP_LT;
    case VYRE_OP_GE:
        return VYRE_OP_LE;
    default:
        return op;
    }
}
