/* Soft-float formats: decode a bit pattern to a host float, encode a host float with one rounding.
 *
 * f32 and f64 are formats of the host. f16 and bf16 are computed in f64 and rounded to the format at the end. Double
 * rounding is usually wrong; here it is not:
 *
 *   + - * / sqrt   Rounding to q bits and then to p bits equals one rounding to p bits if q >= 2p + 2 (Figueroa 1995):
 *                  53 >= 24 for f16 (p = 11), 53 >= 18 for bf16 (p = 8). A subnormal result has fewer bits than p, so
 *                  the bound holds, too. With operands from 2^-133 to 2^128, no result is subnormal or overflows in
 *                  f64.
 *   fma            has three operands; the theorem does not apply: vy_fma_odd below.
 *   remainder, floor, ceil, trunc, round, conversions from f32 and narrow integers
 *                  are exact in f64 (the IEEE remainder of two values of a format is a value of that format), so the
 *                  only rounding is the last.
 *   64-bit integers do not fit in f64's 53 bits: vy_odd_from_u64 below.
 *
 * All functions are inline and mostly free of branches: the callers are loops over lanes. They need
 * round-to-nearest-even and subnormals (vy_fenv_enter). */
#ifndef VY_IR_SOFTFLOAT_H
#define VY_IR_SOFTFLOAT_H

#include <stdint.h>
#include <string.h>

#define VY_F64_SIGN (UINT64_C(1) << 63)
#define VY_F64_INFINITY (UINT64_C(0x7ff) << 52)

static inline double vy_f64_from_bits(uint64_t bits) {
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t vy_f64_to_bits(double value) {
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^exponent, for exponents of normal numbers. */
static inline double vy_f64_power(int exponent) {
    return vy_f64_from_bits((uint64_t)(1023 + exponent) << 52);
}

/* A 16-bit pattern as f64, exactly. `bias` is that of the format's exponent, `fraction` the width of its fraction. */
static inline double vy_small_decode(uint64_t bits, int fraction, int bias) {
    const uint64_t rebias = (uint64_t)(1023 - bias) << 52;
    const uint64_t magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 48;
    const uint64_t infinity = UINT64_C(0x7fff) >> fraction << fraction;
    const uint64_t normal = (magnitude << (52 - fraction)) + rebias;
    /* A subnormal 0.f * 2^emin is 1.f * 2^emin - 2^emin. */
    const double subnormal = vy_f64_from_bits(normal + (UINT64_C(1) << 52)) - vy_f64_power(1 - bias);
    /* The top exponent 2 * bias + 1, rebiased twice, is 2 * bias + 1 + 2 * (1023 - bias) = 2047: f64's top exponent. */
    const uint64_t number = magnitude >= infinity ? normal + rebias : normal;

    return vy_f64_from_bits((magnitude >> fraction ? number : vy_f64_to_bits(subnormal)) | sign);
}

/* Rounds an f64 to a 16-bit format, nearest-even, once; NaN becomes `nan`.
 *
 * Let 2^e be the number's binade (or the least normal one) and c = 2^(e + 52 - fraction). The sum of the number and c
 * is in [c, 2c), and one ulp of it is one ulp of the format at e. So the host's rounding of the addition is the
 * required rounding, and the sum's pattern minus that of c is the significand as an integer. It includes the hidden
 * bit, so it is added to an exponent that is one too small. A carry out of the significand increments the exponent; out
 * of the largest exponent it yields infinity. */
static inline uint64_t vy_small_encode(double value, int fraction, int bias, uint64_t nan) {
    const uint64_t bits = vy_f64_to_bits(value), sign = (bits & VY_F64_SIGN) >> 48, all = bits & ~VY_F64_SIGN;
    const uint64_t beyond = (uint64_t)(1023 + bias + 1) << 52; /* infinity from here on */
    const uint64_t least = (uint64_t)(1024 - bias);            /* f64's exponent field of the least normal */
    const uint64_t magnitude = all < beyond ? all : beyond;
    const uint64_t binade = magnitude >> 52 > least ? magnitude >> 52 : least;
    const uint64_t c = (binade + (uint64_t)(52 - fraction)) << 52;
    const uint64_t significand = vy_f64_to_bits(vy_f64_from_bits(magnitude) + vy_f64_from_bits(c)) - c;

    return all > VY_F64_INFINITY ? nan : (((binade - least) << fraction) + significand) | sign;
}

/* x * y + z rounded to odd: truncated, with the last bit set if the result is inexact. Rounding that to p bits equals
 * one rounding of the exact value if f64 has at least p + 2 bits (Boldo and Melquiond 2008): the last bit prevents a
 * false tie in the second rounding.
 *
 * x * y must be exact in f64: for f16 and bf16 it is, with at most 22 bits and exponents within 2^±266. The error of
 * the sum is computed exactly (Knuth's two-sum; no value is near f64's overflow). If it is not zero and the sum is
 * even, the neighbour in the direction of the error is odd, and the exact value is between the two. */
static inline double vy_fma_odd(double x, double y, double z) {
    const double product = x * y, sum = product + z;
    const double from_z = sum - product, from_product = sum - from_z;
    const double error = (product - from_product) + (z - from_z);
    const uint64_t bits = vy_f64_to_bits(sum);
    const uint64_t outward = ((bits ^ vy_f64_to_bits(error)) & VY_F64_SIGN) == 0;
    const uint64_t odd = outward ? bits + 1 : bits - 1;

    /* An infinite or NaN sum has a NaN error, which is neither below nor above zero: it stays. */
    return vy_f64_from_bits((error < 0 || error > 0) && (bits & 1) == 0 ? odd : bits);
}

/* The integer as f64, rounded to odd: at most 53 bits, the last of them set if a bit below was. */
static inline double vy_odd_from_u64(uint64_t value) {
    const uint64_t lost = value & 0x7ff, cut = (value ^ lost) | (uint64_t)(lost != 0) << 11;

    return (double)(value >> 53 ? cut : value);
}

static inline double vy_odd_from_i64(int64_t value) {
    return value < 0 ? -vy_odd_from_u64(0 - (uint64_t)value) : vy_odd_from_u64((uint64_t)value);
}

/* The IEEE remainder x - n * y, where n is the integer nearest to x / y, ties to even. Exact in every format, so f16,
 * bf16 and f32 use it, too.
 *
 * The C library is not used: glibc 2.36 returns +0 for a negative multiple of the least subnormal. Magnitudes are m *
 * 2^(e - 1074) with integers m and e >= 0. Long division computes eleven bits of the quotient at a time (53 + 11 = 64),
 * of which only the last one is needed. */
static inline double vy_f64_remainder(double x, double y) {
    const uint64_t fraction = (UINT64_C(1) << 52) - 1, sign = vy_f64_to_bits(x) & VY_F64_SIGN;
    const uint64_t all_x = vy_f64_to_bits(x) ^ sign, all_y = vy_f64_to_bits(y) & ~VY_F64_SIGN;
    uint64_t mx = all_x & fraction, my = all_y & fraction, odd;
    int ex = 0, ey = 0, flip, half;

    if (all_x >= VY_F64_INFINITY || all_y > VY_F64_INFINITY || all_y == 0)
        return vy_f64_from_bits(VY_F64_INFINITY + 1);
    if (all_x >> 52)
        mx |= fraction + 1, ex = (int)(all_x >> 52) - 1;
    if (all_y >> 52)
        my |= fraction + 1, ey = (int)(all_y >> 52) - 1;
    if (all_y == VY_F64_INFINITY || ex < ey - 1)
        return x; /* less than half of y */
    if (ex == ey - 1)
        my *= 2, ey--;
    odd = mx / my & 1;
    mx %= my;
    while (ex > ey) {
        const int step = ex - ey < 11 ? ex - ey : 11;

        odd = (mx << step) / my & 1;
        mx = (mx << step) % my;
        ex -= step;
    }
    flip = 2 * mx > my || (2 * mx == my && odd);
    mx = flip ? my - mx : mx;
    /* Twice half the power of two: the power itself may be out of range where the product is not. */
    half = (ey - 1074) / 2;
    x = (double)mx * vy_f64_power(half) * vy_f64_power(ey - 1074 - half);
    return vy_f64_from_bits(vy_f64_to_bits(x) | (sign ^ (flip ? VY_F64_SIGN : 0)));
}

/* The four formats under one set of names: FORMAT_decode returns the host type that computes the format, FORMAT_encode
 * rounds to the format. */

static inline double vy_f16_decode(uint64_t bits) {
    return vy_small_decode(bits, 10, 15);
}

static inline uint64_t vy_f16_encode(double value) {
    return vy_small_encode(value, 10, 15, 0x7e00);
}

static inline double vy_bf16_decode(uint64_t bits) {
    return vy_small_decode(bits, 7, 127);
}

static inline uint64_t vy_bf16_encode(double value) {
    return vy_small_encode(value, 7, 127, 0x7fc0);
}

static inline float vy_f32_decode(uint64_t bits) {
    const uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof value);
    return value;
}

static inline uint64_t vy_f32_encode(float value) {
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits;
}

static inline double vy_f64_decode(uint64_t bits) {
    return vy_f64_from_bits(bits);
}

static inline uint64_t vy_f64_encode(double value) {
    const uint64_t bits = vy_f64_to_bits(value);

    return (bits & ~VY_F64_SIGN) > VY_F64_INFINITY ? UINT64_C(0x7ff8000000000000) : bits;
}

#endif
