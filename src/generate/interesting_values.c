/* Boundary-value distribution of literals, params and input elements (interesting_values.h).
 *
 * A few values reveal most bugs: the ends of a type, powers of two and their neighbours, ties of rounding, subnormals.
 * Each kind is one case; kinds are drawn uniformly, then a value within the kind. Each expression contains at most one
 * draw, since the evaluation order is unspecified. */
#include "generate/interesting_values.h"

#include "ir/eval.h"

static uint64_t low_mask(unsigned bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* ---- integers ---- */

static uint64_t integer(vy_rng *rng, unsigned bits) {
    uint64_t power = UINT64_C(1) << vy_rng_below(rng, bits), some = vy_rng_next(rng);
    switch (vy_rng_below(rng, 12)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return UINT64_MAX;
    case 3:
        return low_mask(bits - 1); /* the largest signed value */
    case 4:
        return UINT64_C(1) << (bits - 1); /* the smallest signed value */
    case 5:
        return power;
    case 6:
        return power - 1;
    case 7:
        return power + 1;
    case 8:
        return 0 - power;
    case 9:
        return vy_rng_below(rng, 10);
    case 10:
        return some >> vy_rng_below(rng, 64);
    default:
        return some;
    }
}

/* ---- floats ---- */

/* The fields of a float type, from its layout: infinity has all exponent bits set and no others. */
typedef struct float_format {
    unsigned fraction_bits;
    uint64_t exponent_max; /* the exponent of infinity */
    uint64_t bias;
    uint64_t infinity;
} float_format;

static float_format format_of(vyre_type type) {
    uint64_t infinity = vy_type_layouts[type].infinity;
    unsigned fraction_bits = 0;
    while (!(infinity >> fraction_bits & 1))
        fraction_bits++;
    uint64_t exponent_max = infinity >> fraction_bits;
    return (float_format){fraction_bits, exponent_max, exponent_max >> 1, infinity};
}

/* The pattern of 2^power, clamped to the finite normal range. */
static uint64_t power_of_two(const float_format *format, int power) {
    int64_t exponent = (int64_t)format->bias + power;
    if (exponent < 1)
        exponent = 1;
    if (exponent >= (int64_t)format->exponent_max)
        exponent = (int64_t)format->exponent_max - 1;
    return (uint64_t)exponent << format->fraction_bits;
}

/* Without the sign. */
static uint64_t magnitude(vy_rng *rng, const float_format *format, uint64_t fraction) {
    uint64_t value;
    switch (vy_rng_below(rng, 16)) {
    case 0:
        return 0;
    case 1:
        return format->infinity;
    case 2: /* a NaN, any payload */
        return format->infinity | fraction | 1;
    case 3: /* the smallest subnormals */
        return 1 + vy_rng_below(rng, 3);
    case 4: /* any subnormal */
        return fraction;
    case 5: /* around the smallest normal */
        return low_mask(format->fraction_bits) + vy_rng_below(rng, 3);
    case 6: /* the largest ones */
        return format->infinity - 1 - vy_rng_below(rng, 3);
    case 7:
        return power_of_two(format, 0);
    case 8: /* 1 and its neighbours */
        return power_of_two(format, 0) + vy_rng_below(rng, 3) - 1;
    case 9: /* ends of integer ranges of 8 to 64 bits: edges of conversions */
        value = power_of_two(format, (int)(7u << vy_rng_below(rng, 4)) + (int)(fraction & 7));
        return value - vy_rng_below(rng, 2);
    case 10: /* near the square roots of the ends of the range: products overflow and underflow */
        return power_of_two(format, (int)(format->bias / 2) * (vy_rng_chance(rng, 1, 2) ? 1 : -1)) + fraction;
    case 11:
        return power_of_two(format, (int)vy_rng_below(rng, 20) - 10);
    case 12: /* few significant bits: sums and products that are ties */
        return power_of_two(format, (int)vy_rng_below(rng, format->fraction_bits + 4) - 2) |
               (fraction & ~low_mask(format->fraction_bits > 3 ? format->fraction_bits - 3 : 0));
    case 13: /* ordinary numbers */
        return power_of_two(format, (int)vy_rng_below(rng, 12) - 4) + fraction;
    case 14:
        return power_of_two(format, (int)format->fraction_bits + (int)vy_rng_below(rng, 3) - 1) + (fraction & 3);
    default:
        return vy_rng_next(rng);
    }
}

static uint64_t floating(vy_rng *rng, vyre_type type) {
    const float_format format = format_of(type);
    uint64_t fraction = vy_rng_next(rng) & low_mask(format.fraction_bits);
    uint64_t value = magnitude(rng, &format, fraction);
    uint64_t sign = vy_rng_chance(rng, 1, 2) ? UINT64_C(1) << (vy_type_layouts[type].bits - 1) : 0;
    return (value ^ sign) & vy_type_layouts[type].mask;
}

uint64_t vy_interesting_value(vy_rng *rng, vyre_type type) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    if (layout->classes == VYRE_CLASS_BOOL)
        return vy_rng_next(rng) & 1;
    if (layout->classes == VYRE_CLASS_FLOAT)
        return floating(rng, type);
    return integer(rng, layout->bits) & layout->mask;
}

void vy_interesting_fill(vy_rng *rng, vyre_type type, void *data, uint64_t count) {
    unsigned size = vy_type_layouts[type].size;
    unsigned char *at = data;
    for (uint64_t i = 0; i < count; i++, at += size)
        vy_value_store(type, at, vy_interesting_value(rng, type));
}
