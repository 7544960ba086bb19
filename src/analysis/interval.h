/* Interval arithmetic: the interval of the result of an op, given the intervals of its operands.
 *
 * Integers: computed in 128 bits. The result is the whole type wherever the exact result might wrap. Every rule returns
 * an interval that holds for all operands in theirs.
 *
 * Floats: bounds of an f32 or f64 value that is certainly not NaN, as a vy_range of the bits of two doubles. Invariant:
 * an interval is wider than the results of its ops by more than any rounding, so it holds on every device. A value that
 * may be NaN has no interval. */
#ifndef VY_ANALYSIS_INTERVAL_H
#define VY_ANALYSIS_INTERVAL_H

#include "ir/eval.h"

/* The mathematical integer that the bits of an integer type represent. */
__extension__ typedef __int128 vy_wide;
static inline vy_wide vy_integer_of(uint8_t type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    int is_negative = layout->classes == VYRE_CLASS_SIGNED && bits >> (layout->bits - 1);
    return (vy_wide)bits - (is_negative ? (vy_wide)1 << layout->bits : 0);
}

/* Inclusive bounds. */
typedef struct vy_interval {
    vy_wide low, high;
} vy_interval;

/* The same in 64 bits; for a signed type, read them as int64_t. */
typedef struct vy_range {
    uint64_t low, high;
} vy_range;

static inline vy_wide vy_wide_min(vy_wide a, vy_wide b) {
    return a < b ? a : b;
}
static inline vy_wide vy_wide_max(vy_wide a, vy_wide b) {
    return a > b ? a : b;
}

static inline int vy_is_integer(uint8_t type) {
    return (vy_type_layouts[type].classes & VYRE_CLASS_INTEGER) != 0;
}
static inline int vy_is_signed(uint8_t type) {
    return vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
}

static inline vy_interval vy_interval_of(uint8_t type, vy_range r) {
    return vy_is_signed(type) ? (vy_interval){(int64_t)r.low, (int64_t)r.high} : (vy_interval){r.low, r.high};
}
static inline vy_range vy_interval_pack(vy_interval i) {
    return (vy_range){(uint64_t)i.low, (uint64_t)i.high};
}

/* All values of a type: 0 and 1 for bool. The interval of a float is not used. */
static inline vy_interval vy_interval_whole(uint8_t type) {
    uint64_t mask = vy_type_layouts[type].mask;
    if (!vy_is_integer(type))
        return (vy_interval){0, 1};
    if (vy_is_signed(type))
        return (vy_interval){-(vy_wide)(mask >> 1) - 1, mask >> 1};
    return (vy_interval){0, mask};
}
/* [low, high] if the type can represent all of it, else the whole type. */
vy_interval vy_interval_fit(uint8_t type, vy_wide low, vy_wide high);
/* The smallest interval that contains both. */
vy_interval vy_interval_hull(vy_interval a, vy_interval b);
/* The interval of the result of an op with that result type. `operand` is the type of its first operand. Intervals
 * beyond the arity are not read. */
vy_interval vy_interval_op(vyre_op op, uint8_t type, uint8_t operand, vy_interval a, vy_interval b, vy_interval c);

/* The equivalent comparison with exchanged operands. */
vyre_op vy_op_mirrored(vyre_op op);
/* The negated comparison, for integers; VYRE_OP_COUNT if `op` is not a comparison. */
static inline vyre_op vy_op_opposite(vyre_op op) {
    switch (op) {
    case VYRE_OP_EQ:
        return VYRE_OP_NE;
    case VYRE_OP_NE:
        return VYRE_OP_EQ;
    case VYRE_OP_LT:
        return VYRE_OP_GE;
    case VYRE_OP_LE:
        return VYRE_OP_GT;
    case VYRE_OP_GT:
        return VYRE_OP_LE;
    case VYRE_OP_GE:
        return VYRE_OP_LT;
    default:
        return VYRE_OP_COUNT;
    }
}

/* ---- floats ---- */

/* The entry of the range analysis for all values of a non-integer type; no float interval has these ends. */
static const vy_range vy_float_unknown = {0, 1};
static inline int vy_float_is_known(vy_range r) {
    return r.low != vy_float_unknown.low || r.high != vy_float_unknown.high;
}

vy_range vy_float_literal(uint8_t type, uint64_t bits);
/* The interval of the result of an op with that result type. Intervals beyond the arity are not read. */
vy_range vy_float_op(vyre_op op, uint8_t type, vy_range a, vy_range b, vy_range c);
/* The results of a cast from an integer, and of a bitcast from an unsigned one. */
vy_range vy_float_cast(uint8_t type, vy_interval from);
vy_range vy_float_bitcast(uint8_t type, vy_interval from);
/* The interval of a value in `mine` for which `value op other` holds. */
vy_range vy_float_assume(vyre_op op, vy_range mine, vy_range other);

#endif
