/* The dialect `int`, over mathematical integers in 128 bits. */
#ifndef VY_TESTS_MODEL_INT_H
#define VY_TESTS_MODEL_INT_H

#include "lib/map.h"

typedef __int128 int_exact;
typedef unsigned __int128 int_natural;

static inline int_exact int_clamp(int_exact x, int_exact low, int_exact high) {
    return x < low ? low : x > high ? high : x;
}

/* Per type: the value of bits, the ends of the range, and what follows from the exact result alone. A product of two
 * u64 needs 128 bits without a sign, so everything is computed on magnitudes that fit: |a|, |b| < 2^64. */
#define INT_TYPE(type, C, low, high)                                                                                   \
    static inline int_exact int_value_##type(uint64_t bits) {                                                          \
        return (C)bits;                                                                                                \
    }                                                                                                                  \
    static void int_add_saturate_##type(const uint64_t *in, uint64_t *out) {                                           \
        out[0] = (uint64_t)int_clamp(int_value_##type(in[0]) + int_value_##type(in[1]), low, high);                    \
    }                                                                                                                  \
    static void int_subtract_saturate_##type(const uint64_t *in, uint64_t *out) {                                      \
        out[0] = (uint64_t)int_clamp(int_value_##type(in[0]) - int_value_##type(in[1]), low, high);                    \
    }

#define INT_WIDE(type, C, low, high)                                                                                   \
    static inline int int_fits_##type(int_exact x) {                                                                   \
        return x >= (low) && x <= (high);                                                                              \
    }                                                                                                                  \
    static void int_add_checked_##type(const uint64_t *in, uint64_t *out) {                                            \
        int_exact x = int_value_##type(in[0]) + int_value_##type(in[1]);                                               \
        out[0] = (uint64_t)x;                                                                                          \
        out[1] = !int_fits_##type(x);                                                                                  \
    }                                                                                                                  \
    static void int_subtract_checked_##type(const uint64_t *in, uint64_t *out) {                                       \
        int_exact x = int_value_##type(in[0]) - int_value_##type(in[1]);                                               \
        out[0] = (uint64_t)x;                                                                                          \
        out[1] = !int_fits_##type(x);                                                                                  \
    }                                                                                                                  \
    /* The product does not fit if |a| > limit / |b|. */                                                               \
    static int int_product_overflows_##type(const uint64_t *in) {                                                      \
        int_exact a = int_value_##type(in[0]), b = int_value_##type(in[1]);                                            \
        int_natural limit = (a < 0) != (b < 0) ? -(int_natural)(int_exact)(low) : (int_natural)(high);                 \
        int_natural size = a < 0 ? -(int_natural)a : (int_natural)a, by = b < 0 ? -(int_natural)b : (int_natural)b;    \
        return by != 0 && size > limit / by;                                                                           \
    }                                                                                                                  \
    static void int_multiply_checked_##type(const uint64_t *in, uint64_t *out) {                                       \
        out[0] = in[0] * in[1];                                                                                        \
        out[1] = (uint64_t)int_product_overflows_##type(in);                                                           \
    }                                                                                                                  \
    static void int_multiply_saturate_##type(const uint64_t *in, uint64_t *out) {                                      \
        int negative = (int_value_##type(in[0]) < 0) != (int_value_##type(in[1]) < 0);                                 \
        out[0] = !int_product_overflows_##type(in) ? in[0] * in[1] : negative ? (uint64_t)(low) : (uint64_t)(high);    \
    }                                                                                                                  \
    static void int_multiply_wide_##type(const uint64_t *in, uint64_t *out) {                                          \
        int_natural product = (int_natural)int_value_##type(in[0]) * (int_natural)int_value_##type(in[1]);             \
        out[0] = (uint64_t)product;                                                                                    \
        out[1] = (uint64_t)(product >> (8 * sizeof(C)));                                                               \
    }

INT_TYPE(u8, uint8_t, 0, UINT8_MAX)
INT_TYPE(i8, int8_t, INT8_MIN, INT8_MAX)
INT_TYPE(u32, uint32_t, 0, UINT32_MAX)
INT_TYPE(i32, int32_t, INT32_MIN, INT32_MAX)
INT_TYPE(u64, uint64_t, 0, UINT64_MAX)
INT_TYPE(i64, int64_t, INT64_MIN, INT64_MAX)
INT_WIDE(u32, uint32_t, 0, UINT32_MAX)
INT_WIDE(i32, int32_t, INT32_MIN, INT32_MAX)
INT_WIDE(u64, uint64_t, 0, UINT64_MAX)
INT_WIDE(i64, int64_t, INT64_MIN, INT64_MAX)

#define INT_UNSIGNED(type, width)                                                                                      \
    static void int_add_carry_##type(const uint64_t *in, uint64_t *out) {                                              \
        int_natural sum = (int_natural)in[0] + in[1] + in[2];                                                          \
        out[0] = (uint64_t)sum;                                                                                        \
        out[1] = sum >> width != 0;                                                                                    \
    }                                                                                                                  \
    static void int_multiply_add_wide_##type(const uint64_t *in, uint64_t *out) {                                      \
        int_natural sum = (int_natural)in[0] * in[1] + in[2] + in[3];                                                  \
        out[0] = (uint64_t)sum;                                                                                        \
        out[1] = (uint64_t)(sum >> width);                                                                             \
    }
INT_UNSIGNED(u32, 32)
INT_UNSIGNED(u64, 64)

static void int_subtract_borrow(const uint64_t *in, uint64_t *out) {
    int_exact difference = (int_exact)in[0] - (int_exact)in[1] - (int_exact)in[2];
    out[0] = (uint64_t)difference;
    out[1] = difference < 0;
}

/* Euclid's, by division. */
static void int_gcd(const uint64_t *in, uint64_t *out) {
    uint64_t a = in[0], b = in[1];
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    out[0] = a;
}

/* The largest r with r*r <= x, by bisection. */
static void int_isqrt(const uint64_t *in, uint64_t *out) {
    uint64_t low = 0, high = UINT32_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if ((int_natural)middle * middle <= in[0])
            low = middle;
        else
            high = middle - 1;
    }
    out[0] = low;
}

static void int_ilog(const uint64_t *in, uint64_t *out, unsigned base) {
    out[0] = UINT64_MAX;
    for (uint64_t x = in[0]; x != 0; x /= base)
        out[0]++;
}

static void int_ilog2(const uint64_t *in, uint64_t *out) {
    int_ilog(in, out, 2);
}

static void int_ilog10(const uint64_t *in, uint64_t *out) {
    int_ilog(in, out, 10);
}

/* From the highest bit of the exponent down; the body goes up. */
static void int_power(const uint64_t *in, uint64_t *out) {
    out[0] = 1;
    for (unsigned bit = 32; bit-- > 0;) {
        out[0] *= out[0];
        if (in[1] >> bit & 1)
            out[0] *= in[0];
    }
}

static inline int_exact int_halve(int_exact x, int up) {
    int_exact half = x / 2;
    if (x % 2 != 0)
        half += up ? x > 0 : -(x < 0);
    return half;
}

#define INT_AVERAGE(type)                                                                                              \
    static void int_average_floor_##type(const uint64_t *in, uint64_t *out) {                                          \
        out[0] = (uint64_t)int_halve(int_value_##type(in[0]) + int_value_##type(in[1]), 0);                            \
    }                                                                                                                  \
    static void int_average_ceil_##type(const uint64_t *in, uint64_t *out) {                                           \
        out[0] = (uint64_t)int_halve(int_value_##type(in[0]) + int_value_##type(in[1]), 1);                            \
    }
INT_AVERAGE(u8)
INT_AVERAGE(u32)
INT_AVERAGE(i32)
INT_AVERAGE(u64)

/* A prepared division is a division; its two halves are tried together. */
static void int_divide(const uint64_t *in, uint64_t *out) {
    out[0] = in[1] == 0 ? UINT64_MAX : in[0] / in[1];
}

static const map_function int_functions[] = {
#define INT_SATURATE(type)                                                                                             \
    {"add_saturate_" #type, #type " " #type " -> " #type, int_add_saturate_##type}, {                                  \
        "subtract_saturate_" #type, #type " " #type " -> " #type, int_subtract_saturate_##type                         \
    }
#define INT_CHECK(type, low)                                                                                           \
    {"multiply_saturate_" #type, #type " " #type " -> " #type, int_multiply_saturate_##type},                          \
        {"add_checked_" #type, #type " " #type " -> " #type " bool", int_add_checked_##type},                          \
        {"subtract_checked_" #type, #type " " #type " -> " #type " bool", int_subtract_checked_##type},                \
        {"multiply_checked_" #type, #type " " #type " -> " #type " bool", int_multiply_checked_##type}, {              \
        "multiply_wide_" #type, #type " " #type " -> " #low " " #type, int_multiply_wide_##type                        \
    }
#define INT_NATURAL(type)                                                                                              \
    {"add_carry_" #type, #type " " #type " bool -> " #type " bool", int_add_carry_##type},                             \
        {"subtract_borrow_" #type, #type " " #type " bool -> " #type " bool", int_subtract_borrow},                    \
        {"multiply_add_wide_" #type, #type " " #type " " #type " " #type " -> " #type " " #type,                       \
         int_multiply_add_wide_##type},                                                                                \
        {"gcd_" #type, #type " " #type " -> " #type, int_gcd}, {"isqrt_" #type, #type " -> " #type, int_isqrt},        \
        {"ilog2_" #type, #type " -> " #type, int_ilog2}, {"ilog10_" #type, #type " -> " #type, int_ilog10}, {          \
        "power_" #type, #type " u32 -> " #type, int_power                                                              \
    }
#define INT_MEAN(type)                                                                                                 \
    {"average_floor_" #type, #type " " #type " -> " #type, int_average_floor_##type}, {                                \
        "average_ceil_" #type, #type " " #type " -> " #type, int_average_ceil_##type                                   \
    }
    INT_SATURATE(u8),    INT_SATURATE(i8),    INT_SATURATE(u32),   INT_SATURATE(i32),
    INT_SATURATE(u64),   INT_SATURATE(i64),   INT_CHECK(u32, u32), INT_CHECK(i32, u32),
    INT_CHECK(u64, u64), INT_CHECK(i64, u64), INT_NATURAL(u32),    INT_NATURAL(u64),
    INT_MEAN(u8),        INT_MEAN(u32),       INT_MEAN(i32),       INT_MEAN(u64),
};

/* Dividing by way of the prepared numbers. */
#define INT_BY_WAY                                                                                                     \
    "fn by_way_u32(n: u32, d: u32) -> u32 {\n"                                                                         \
    "  let (magic, shift) = divide_prepare_u32(d)\n"                                                                   \
    "  return divide_by_u32(n, magic, shift)\n}\n"                                                                     \
    "fn by_way_u64(n: u64, d: u64) -> u64 {\n"                                                                         \
    "  let (magic, shift) = divide_prepare_u64(d)\n"                                                                   \
    "  return divide_by_u64(n, magic, shift)\n}\n"

static const map_function int_divisions[] = {
    {"by_way_u32", "u32 u32 -> u32", int_divide},
    {"by_way_u64", "u64 u64 -> u64", int_divide},
};

#endif
