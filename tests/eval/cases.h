/* What the tests of the evaluator share: interesting operands and a report of a difference. */
#ifndef VY_TEST_EVAL_CASES_H
#define VY_TEST_EVAL_CASES_H

#include "ir/eval.h"
#include "support/test.h"

#include <inttypes.h>

/* Float formats, written down anew: the tests do not believe the library's tables. */
typedef struct format {
    vyre_type type;
    unsigned bits, fraction;
    int bias;
    uint64_t nan;
} format;

static const format formats[4] = {
    {VYRE_TYPE_F16, 16, 10, 15, 0x7e00},
    {VYRE_TYPE_BF16, 16, 7, 127, 0x7fc0},
    {VYRE_TYPE_F32, 32, 23, 127, 0x7fc00000},
    {VYRE_TYPE_F64, 64, 52, 1023, UINT64_C(0x7ff8000000000000)},
};

static inline const format *format_of(vyre_type type) {
    for (int i = 0; i < 4; i++)
        if (formats[i].type == type)
            return &formats[i];
    return NULL;
}

static inline uint64_t format_sign(const format *f) {
    return UINT64_C(1) << (f->bits - 1);
}

static inline uint64_t format_infinity(const format *f) {
    return (format_sign(f) - 1) >> f->fraction << f->fraction;
}

static inline int format_is_nan(const format *f, uint64_t bits) {
    return (bits & (format_sign(f) - 1)) > format_infinity(f);
}

/* Every pattern that stands at an edge of the format, and its neighbours, with both signs. At most 80. */
static inline size_t format_edges(const format *f, uint64_t *out) {
    const uint64_t one = (uint64_t)f->bias << f->fraction, least_normal = UINT64_C(1) << f->fraction;
    const uint64_t half = one - least_normal, infinity = format_infinity(f);
    const uint64_t positive[] = {0,
                                 1,
                                 2,
                                 least_normal - 1,
                                 least_normal,
                                 least_normal + 1,
                                 half - 1,
                                 half,
                                 half + 1,
                                 one - 1,
                                 one,
                                 one + 1,
                                 one + least_normal / 2,
                                 one + least_normal,
                                 one + 3 * least_normal / 2,
                                 one + f->fraction * least_normal,
                                 one + (f->fraction + 1) * least_normal,
                                 infinity - 2,
                                 infinity - 1,
                                 infinity,
                                 f->nan,
                                 infinity + 1,
                                 2 * least_normal - 1,
                                 infinity - least_normal};
    const size_t count = sizeof positive / sizeof *positive;

    for (size_t i = 0; i < count; i++) {
        out[2 * i] = positive[i];
        out[2 * i + 1] = positive[i] | format_sign(f);
    }
    return 2 * count;
}

/* A fraction that likes ties: few bits set, or few clear, or anything. */
static inline uint64_t random_fraction(vy_random *random, unsigned width) {
    const uint64_t sparse =
        (UINT64_C(1) << vy_random_below(random, width)) ^ (UINT64_C(1) << vy_random_below(random, width));
    const uint64_t all = (UINT64_C(1) << width) - 1;

    switch (vy_random_below(random, 4)) {
    case 0:
        return sparse & all;
    case 1:
        return ~sparse & all;
    case 2:
        return vy_random_next(random) & all << vy_random_below(random, width) & all;
    default:
        return vy_random_next(random) & all;
    }
}

/* A number whose biased exponent is near the given one, clamped into the format (0 is subnormal). */
static inline uint64_t random_near(vy_random *random, const format *f, int64_t exponent, unsigned spread) {
    const int64_t top = 2 * f->bias;
    const uint64_t sign = vy_random_next(random) & 1 ? format_sign(f) : 0;

    exponent += (int64_t)vy_random_below(random, 2 * spread + 1) - spread;
    exponent = exponent < 0 ? 0 : exponent > top ? top : exponent;
    return sign | (uint64_t)exponent << f->fraction | random_fraction(random, f->fraction);
}

/* A pattern of the format: edges, any bits, and numbers in the middle of the range. */
static inline uint64_t random_pattern(vy_random *random, const format *f) {
    uint64_t edges[80];

    switch (vy_random_below(random, 8)) {
    case 0:
        return edges[vy_random_below(random, format_edges(f, edges))];
    case 1:
        return random_near(random, f, 1, 2); /* about the least normal */
    case 2:
        return random_near(random, f, 2 * f->bias, 2);
    case 3:
    case 4:
        return random_near(random, f, f->bias, f->fraction + 2);
    default:
        return vy_random_next(random) & (format_sign(f) | (format_sign(f) - 1));
    }
}

static inline int64_t exponent_of(const format *f, uint64_t bits) {
    return (int64_t)((bits & (format_sign(f) - 1)) >> f->fraction);
}

/* Three operands that know of each other: sums whose exponents are near, products near the least normal and near
 * overflow, and addends near the product or far below it. */
static inline void random_operands(vy_random *random, const format *f, uint64_t operands[3]) {
    const unsigned places = f->fraction + 3;

    operands[0] = random_pattern(random, f);
    switch (vy_random_below(random, 4)) {
    case 0:
        operands[1] = random_pattern(random, f);
        break;
    case 1:
        operands[1] = random_near(random, f, f->bias + 1 - exponent_of(f, operands[0]), places);
        break;
    default:
        operands[1] = random_near(random, f, exponent_of(f, operands[0]), places);
        break;
    }
    const int64_t product = exponent_of(f, operands[0]) + exponent_of(f, operands[1]) - f->bias;
    switch (vy_random_below(random, 4)) {
    case 0:
        operands[2] = random_pattern(random, f);
        break;
    case 1:
        operands[2] = random_near(random, f, 0, 1);
        break;
    default:
        operands[2] = random_near(random, f, product, 2 * places);
        break;
    }
}

/* A product that is just half way between two values of the format, and an addend that is next to nothing: what a fused
 * multiply-add that rounds twice gets wrong. */
static inline void random_tie(vy_random *random, const format *f, uint64_t operands[3]) {
    const unsigned p = f->fraction + 1, k = 2 + (unsigned)vy_random_below(random, p - 2), m = p + 1 - k;
    /* Odd integers of k and m + 1 bits or so, as significands aligned to the left. */
    const uint64_t x = (vy_random_next(random) >> (64 - k)) | 1 | UINT64_C(1) << (k - 1);
    const uint64_t y = (vy_random_next(random) >> (64 - m)) | 1 | UINT64_C(1) << (m - 1);
    const uint64_t fraction = (UINT64_C(1) << f->fraction) - 1;
    const int64_t exponent = f->bias + (int64_t)vy_random_below(random, (uint64_t)f->bias / 2);

    operands[0] = (uint64_t)exponent << f->fraction | ((x << (p - k)) & fraction);
    operands[1] = (uint64_t)(2 * f->bias - exponent) << f->fraction | ((y << (p - m)) & fraction);
    operands[2] = random_near(random, f, vy_random_below(random, (uint64_t)f->bias - f->fraction - 1), 1);
    operands[vy_random_below(random, 2)] |= vy_random_next(random) & 1 ? format_sign(f) : 0;
}

/* Integers: the edges of every width, and random ones of every length. */
static inline size_t integer_edges(unsigned width, uint64_t *out) {
    size_t count = 0;
    const uint64_t mask = UINT64_MAX >> (64 - width);

    for (unsigned bit = 0; bit < width; bit++)
        for (int near = -1; near <= 1; near++)
            out[count++] = ((UINT64_C(1) << bit) + (uint64_t)(int64_t)near) & mask;
    out[count++] = mask;
    out[count++] = mask - 1;
    out[count++] = mask ^ mask >> 1;
    out[count++] = (mask ^ mask >> 1) + 1;
    return count; /* at most 3 * 64 + 4 */
}

static inline uint64_t random_integer(vy_random *random, unsigned width) {
    const uint64_t bits = vy_random_next(random) >> (64 - width) >> vy_random_below(random, width);

    return vy_random_next(random) & 1 ? bits : ~bits & UINT64_MAX >> (64 - width);
}

static inline uint64_t random_value(vy_random *random, vyre_type type) {
    const format *f = format_of(type);

    if (f)
        return vy_value_canonicalize(type, random_pattern(random, f));
    return type == VYRE_TYPE_BOOL ? vy_random_next(random) & 1 : random_integer(random, vyre_type_bits(type));
}

/* Fails the test with the row, its operands and the two results. */
static inline void check_bits(vyre_op op, vyre_type result, vyre_type operand, uint64_t a, uint64_t b, uint64_t c,
                              uint64_t expected) {
    const uint64_t got = vyre_op_evaluate(op, result, operand, a, b, c);

    if (got != expected)
        fail_msg("%s %s -> %s of %" PRIx64 " %" PRIx64 " %" PRIx64 " gives %" PRIx64 ", expected %" PRIx64,
                 vyre_op_get(op)->name, vyre_type_name(operand), vyre_type_name(result), a, b, c, got, expected);
}

#endif
