/* Operands that are likely to bring mistakes to light. */
#ifndef VY_TESTS_LOWER_OPERANDS_H
#define VY_TESTS_LOWER_OPERANDS_H

#include "support/test.h"

#include "vyre/type.h"

static inline unsigned fraction_of(vyre_type type) {
    return type == VYRE_TYPE_F16 ? 10 : type == VYRE_TYPE_BF16 ? 7 : type == VYRE_TYPE_F32 ? 23 : 52;
}

/* A number of q bits, the last one set: halfway between two of q - 1 bits. And what is just beside it, which a second
 * rounding would not tell from it. */
static inline uint64_t near_halfway(vy_random *random, unsigned width) {
    static const unsigned bits[] = {9, 12, 25};
    unsigned q = bits[vy_random_below(random, 3)];
    if (q >= width)
        return vy_random_next(random);
    uint64_t halfway = (vy_random_next(random) & ((UINT64_C(1) << (q - 1)) - 1)) | UINT64_C(1) << (q - 1) | 1;
    return (halfway << vy_random_below(random, width - q + 1)) + vy_random_below(random, 3) - 1;
}

/* Patterns where things happen: zeros, the ends of the subnormal range, 1, the largest numbers, infinities, NaNs; for
 * integers their ends. */
static inline uint64_t special(vy_random *random, vyre_type type) {
    unsigned bits = vyre_type_bits(type);
    uint64_t mask = UINT64_MAX >> (64 - bits), sign = UINT64_C(1) << (bits - 1), value;
    if (vyre_type_class(type) != VYRE_CLASS_FLOAT) {
        if (bits >= 32 && vy_random_below(random, 3) == 0)
            return near_halfway(random, bits) & mask;
        static const int64_t ends[] = {0, 1, -1, 2, -2, 7, 8, 31, 32, 63, 64, 127, 128, 255, 256};
        value = (uint64_t)ends[vy_random_below(random, sizeof ends / sizeof *ends)];
        return (vy_random_below(random, 4) == 0 ? value ^ sign : value) & mask;
    }
    unsigned fraction = fraction_of(type);
    uint64_t least = UINT64_C(1) << fraction, infinity = (sign - 1) & ~(least - 1), one = infinity / 2 & ~(least - 1);
    switch (vy_random_below(random, 13)) {
    case 0:
        value = 0;
        break;
    case 11: /* near 1 and near the subnormal range of narrower formats, halfway between two of their numbers */
        value =
            one + least * vy_random_below(random, 40) - least * 20 + (near_halfway(random, fraction + 1) & (least - 1));
        break;
    case 1:
        value = 1 + vy_random_below(random, 3);
        break;
    case 2: /* around the smallest normal number */
        value = least - 2 + vy_random_below(random, 4);
        break;
    case 3:
        value = vy_random_next(random) & (least - 1);
        break;
    case 4: /* few bits: exact products and ties */
        value = one + least * vy_random_below(random, 8) + (vy_random_below(random, 4) << (fraction - 2));
        break;
    case 5:
        value = infinity;
        break;
    case 6:
        value = infinity + 1 + vy_random_below(random, least - 1);
        break;
    case 7:
        value = infinity - 1 - vy_random_below(random, 3);
        break;
    case 8: /* small exponents: results near the subnormal range */
        value = vy_random_below(random, least * 32);
        break;
    case 9: /* around the sizes of integers */
        value = one + least * vy_random_below(random, 70) + (vy_random_next(random) & (least - 1));
        break;
    case 10: /* halves: ties of rounding to integers */
        value = one - least + least * vy_random_below(random, 6) + (vy_random_below(random, 8) << (fraction - 3));
        break;
    default: /* roots of the smallest numbers: products and fma near the end */
        value = one / 2 + vy_random_below(random, least * 16);
    }
    return (value | (vy_random_next(random) & sign)) & mask;
}

static inline uint64_t operand(vy_random *random, vyre_type type) {
    uint64_t mask = type == VYRE_TYPE_BOOL ? 1 : UINT64_MAX >> (64 - vyre_type_bits(type));
    if (type == VYRE_TYPE_BOOL || vy_random_below(random, 3) == 0)
        return vy_random_next(random) & mask;
    return special(random, type);
}

/* A product halfway between two numbers of the type, and something tiny to add to it. */
static inline void halfway_product(vy_random *random, vyre_type type, uint64_t *values[3], size_t i) {
    unsigned fraction = fraction_of(type), width = vyre_type_bits(type), half = fraction / 2;
    uint64_t sign = UINT64_C(1) << (width - 1), least = UINT64_C(1) << fraction,
             one = ((sign - 1) & ~(least - 1)) / 2 & ~(least - 1);
    for (int k = 0; k < 2; k++) {
        unsigned kept = k ? fraction + 1 - half : half;
        uint64_t bits = vy_random_next(random) & (least - 1) & ~((UINT64_C(1) << (fraction - kept)) - 1);
        values[k][i] = (one + least * vy_random_below(random, 7)) | bits | UINT64_C(1) << (fraction - kept);
    }
    values[2][i] = (1 + vy_random_below(random, i % 2 ? 16 : least * 2)) | (vy_random_next(random) & sign);
}

static inline void fill(vy_random *random, vyre_type type, uint64_t *values[3], size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            values[k][i] = operand(random, type);
        /* Cancellation and equal operands. */
        if (i % 7 == 0)
            values[1][i] = values[0][i] ^ (i % 14 == 0 ? UINT64_C(1) << (vyre_type_bits(type) - 1) : 0);
        if (i % 5 == 0 && vyre_type_class(type) == VYRE_CLASS_FLOAT)
            halfway_product(random, type, values, i);
        if (i % 11 == 0)
            values[2][i] = values[0][i] ^ vy_random_below(random, 4);
    }
}

#endif
