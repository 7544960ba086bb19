/* Float intervals (float_interval.h).
 *
 * Invariant: an op has an interval only if its result is not NaN for any operands within their intervals. Infinite
 * ends result from overflow and from comparisons; ops that could produce a NaN from them have no interval. */
#include "analysis/float_interval.h"

#include "ir/softfloat.h"

#include <float.h>

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
