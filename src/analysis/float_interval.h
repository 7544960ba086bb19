/* Float intervals: bounds of an f32 or f64 value that is certainly not NaN.
 *
 * An interval is a vy_range of the bits of two doubles, for either type. Invariant: it is wider than the results of
 * its ops by more than any rounding, so it holds on every device. A value that may be NaN has no interval. */
#ifndef VY_ANALYSIS_FLOAT_INTERVAL_H
#define VY_ANALYSIS_FLOAT_INTERVAL_H

#include "analysis/interval.h"

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
