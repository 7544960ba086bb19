/* Interval arithmetic (interval.h): one rule per op. Invariants: the result contains the value of the op for all
 * operands within their intervals. A float op has an interval only if its result is not NaN for any of these operands.
 *
 * Infinite ends of float intervals result from overflow and from comparisons; ops that could produce a NaN from them
 * have no interval. */
#include "analysis/interval.h"

#include "ir/softfloat.h"

#include <float.h>

/* ---- integers ---- */

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

/* ---- floats ---- */

typedef struct ends {
    double low, high;
} ends;

static ends unpack(vy_range r) {
    return (ends){vy_f64_from_bits(r.low), vy_f64_from_bits(r.high)};
}

static double magnitude(double x) {
    return x < 0 ? -x : x;
}

static double largest(vy_range r) {
    ends e = unpack(r);
    return magnitude(e.low) > magnitude(e.high) ? magnitude(e.low) : magnitude(e.high);
}

/* An upper bound of the change of a result by rounding, or by a device that flushes subnormals to zero. */
static double margin(uint8_t type, double x) {
    return magnitude(x) * (type == VYRE_TYPE_F32 ? 0x1p-20 : 0x1p-50) + 0x1p-100;
}

static vy_range pack(uint8_t type, double low, double high) {
    const double infinity = vy_f64_from_bits(VY_F64_INFINITY), limit = type == VYRE_TYPE_F32 ? 0x1p127 : 0x1p1000;
    if (!(low <= high) || (type != VYRE_TYPE_F32 && type != VYRE_TYPE_F64))
        return vy_float_unknown;
    low = low < -limit ? -infinity : low > limit ? limit : low - margin(type, low);
    high = high > limit ? infinity : high < -limit ? -limit : high + margin(type, high);
    return (vy_range){vy_f64_to_bits(low), vy_f64_to_bits(high)};
}

static int is_finite(vy_range r) {
    return vy_float_is_known(r) && largest(r) <= DBL_MAX;
}

vy_range vy_float_literal(uint8_t type, uint64_t bits) {
    double value = type == VYRE_TYPE_F32 ? (double)vy_f32_decode(bits) : vy_f64_from_bits(bits);
    return pack(type, value, value);
}

vy_range vy_float_cast(uint8_t type, vy_interval from) {
    return pack(type, (double)from.low, (double)from.high);
}

vy_range vy_float_bitcast(uint8_t type, vy_interval from) {
    const vy_wide infinity = type == VYRE_TYPE_F32 ? 0x7f800000 : (vy_wide)VY_F64_INFINITY;
    if (from.low < 0 || from.high > infinity)
        return vy_float_unknown;
    vy_range low = vy_float_literal(type, (uint64_t)from.low), high = vy_float_literal(type, (uint64_t)from.high);
    return (vy_range){low.low, high.high};
}

static vy_range hull(vy_range a, vy_range b) {
    ends x = unpack(a), y = unpack(b);
    return (vy_range){x.low < y.low ? a.low : b.low, x.high > y.high ? a.high : b.high};
}

static vy_range divide(uint8_t type, vy_range a, vy_range b) {
    ends d = unpack(b);
    double least = d.low > 0 ? d.low : d.high < 0 ? -d.high : 0;
    double most = least > 0 ? 1.01 * largest(a) / least : -1; /* relaxed numerics allow a larger error of a division */
    return pack(type, -most, most);
}

vy_range vy_float_op(vyre_op op, uint8_t type, vy_range a, vy_range b, vy_range c) {
    if (op == VYRE_OP_SELECT)
        return vy_float_is_known(b) && vy_float_is_known(c) ? hull(b, c) : vy_float_unknown;
    if (!vy_float_is_known(a))
        return vy_float_unknown;
    ends x = unpack(a), y = unpack(b);
    double product;
    switch (op) {
    case VYRE_OP_NEG:
        return pack(type, -x.high, -x.low);
    case VYRE_OP_ABS:
        return pack(type, x.low > 0 ? x.low : x.high < 0 ? -x.high : 0, largest(a));
    case VYRE_OP_CAST:
        return pack(type, x.low, x.high);
    case VYRE_OP_ADD:
        return is_finite(a) && is_finite(b) ? pack(type, x.low + y.low, x.high + y.high) : vy_float_unknown;
    case VYRE_OP_SUB:
        return is_finite(a) && is_finite(b) ? pack(type, x.low - y.high, x.high - y.low) : vy_float_unknown;
    case VYRE_OP_MUL:
    case VYRE_OP_FMA:
        if (!is_finite(a) || !is_finite(b) || (op == VYRE_OP_FMA && !is_finite(c)))
            return vy_float_unknown;
        product = largest(a) * largest(b);
        return op == VYRE_OP_MUL ? pack(type, -product, product)
                                 : pack(type, unpack(c).low - product, unpack(c).high + product);
    case VYRE_OP_DIV:
        return is_finite(a) && is_finite(b) ? divide(type, a, b) : vy_float_unknown;
    default:
        return vy_float_unknown;
    }
}

/* If an ordered comparison holds, no operand is NaN. */
vy_range vy_float_assume(vyre_op op, vy_range mine, vy_range other) {
    const double infinity = vy_f64_from_bits(VY_F64_INFINITY);
    ends m = vy_float_is_known(mine) ? unpack(mine) : (ends){-infinity, infinity};
    ends o = vy_float_is_known(other) ? unpack(other) : (ends){-infinity, infinity};
    if (op != VYRE_OP_LT && op != VYRE_OP_LE && op != VYRE_OP_GT && op != VYRE_OP_GE && op != VYRE_OP_EQ)
        return mine;
    if (op != VYRE_OP_GT && op != VYRE_OP_GE && o.high < m.high)
        m.high = o.high;
    if (op != VYRE_OP_LT && op != VYRE_OP_LE && o.low > m.low)
        m.low = o.low;
    if (!(m.low <= m.high)) /* unreachable */
        return mine;
    return (vy_range){vy_f64_to_bits(m.low), vy_f64_to_bits(m.high)};
}
