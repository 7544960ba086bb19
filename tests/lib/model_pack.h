/* The dialect `pack`: small floats from the definition of their formats, fixed point from that of the graphics APIs. */
#ifndef VY_TESTS_MODEL_PACK_H
#define VY_TESTS_MODEL_PACK_H

#include "lib/map.h"

#include <math.h>

static float pack_float(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

static uint64_t pack_bits(float f) {
    uint32_t bits;
    if (isnan(f))
        return 0x7fc00000;
    memcpy(&bits, &f, sizeof f);
    return bits;
}

/* A binary format of 16 bits: how many bits of fraction, the rest but the sign is exponent. */
typedef struct pack_format {
    int fraction;
    int emax; /* of a finite number; emin = 1 - emax */
    uint32_t nan;
} pack_format;

static const pack_format pack_half = {10, 15, 0x7e00}, pack_brain = {7, 127, 0x7fc0};

/* The multiple of the spacing at x that is nearest, ties to even; infinity from half a spacing above the largest number
 * on. */
static uint32_t pack_small(float x, const pack_format *format) {
    uint32_t sign = signbit(x) ? 0x8000u : 0, infinity = (uint32_t)(2 * format->emax + 1) << format->fraction, code;
    double size = fabs((double)x);
    int exponent;

    if (isnan(x))
        return format->nan;
    frexp(size, &exponent);
    exponent = size == 0 || exponent - 1 < 1 - format->emax ? 1 - format->emax : exponent - 1;
    if (isinf(x) || exponent > format->emax)
        return sign | infinity;
    /* Subnormals count from 0; normal ones from 2^fraction at each exponent. Rounding up carries by itself, to infinity
     * too. */
    code = (uint32_t)((exponent - (1 - format->emax)) << format->fraction);
    code += (uint32_t)nearbyint(size / ldexp(1, exponent - format->fraction));
    return sign | code;
}

static float pack_large(uint32_t bits, const pack_format *format) {
    int exponent = (int)(bits >> format->fraction & (uint32_t)(2 * format->emax + 1));
    int fraction = (int)(bits & ((1u << format->fraction) - 1));
    double size;

    if (exponent == 2 * format->emax + 1)
        size = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, 1 - format->emax - format->fraction);
    else
        size = ldexp(fraction + (1 << format->fraction), exponent - format->emax - format->fraction);
    return (float)(bits & 0x8000 ? -size : size);
}

#define PACK_SMALL(name, format)                                                                                       \
    static void pack_##name(const uint64_t *in, uint64_t *out) {                                                       \
        out[0] = pack_small(pack_float(in[0]), &format) | pack_small(pack_float(in[1]), &format) << 16;                \
    }                                                                                                                  \
    static void pack_unpack_##name(const uint64_t *in, uint64_t *out) {                                                \
        out[0] = pack_bits(pack_large(in[0] & 0xffff, &format));                                                       \
        out[1] = pack_bits(pack_large((uint32_t)(in[0] >> 16), &format));                                              \
    }
PACK_SMALL(f16x2, pack_half)
PACK_SMALL(bf16x2, pack_brain)

/* c' = round(clamp(c) * scale), NaN as 0; c = c' / scale, with the lowest signed value as -1. */
static uint64_t pack_fixed(uint64_t bits, float scale, float low, unsigned width) {
    float x = pack_float(bits);
    x = isnan(x) ? 0 : x < low ? low : x > 1 ? 1 : x;
    return (uint64_t)(int64_t)rintf(x * scale) & ((UINT64_C(1) << width) - 1);
}

static uint64_t pack_unfixed(uint64_t field, float scale, int is_signed, unsigned width) {
    float x = (float)(int64_t)field;
    if (is_signed && field >> (width - 1))
        x = (float)((int64_t)field - (INT64_C(1) << width));
    x /= scale;
    return pack_bits(x < -1 ? -1 : x);
}

#define PACK_FIXED(name, count, width, scale, low)                                                                     \
    static void pack_##name(const uint64_t *in, uint64_t *out) {                                                       \
        for (unsigned i = 0; i < count; i++)                                                                           \
            out[0] |= pack_fixed(in[i], scale, low, width) << (width * i);                                             \
    }                                                                                                                  \
    static void pack_unpack_##name(const uint64_t *in, uint64_t *out) {                                                \
        for (unsigned i = 0; i < count; i++)                                                                           \
            out[i] = pack_unfixed(in[0] >> (width * i) & ((1u << width) - 1), scale, (low) < 0, width);                \
    }
PACK_FIXED(unorm8x4, 4, 8, 255.0f, 0.0f)
PACK_FIXED(snorm8x4, 4, 8, 127.0f, -1.0f)
PACK_FIXED(unorm16x2, 2, 16, 65535.0f, 0.0f)
PACK_FIXED(snorm16x2, 2, 16, 32767.0f, -1.0f)

#define PACK_INTEGER(name, C, count, width, low, high)                                                                 \
    static void pack_##name(const uint64_t *in, uint64_t *out) {                                                       \
        for (unsigned i = 0; i < count; i++) {                                                                         \
            int64_t x = (C)in[i];                                                                                      \
            x = x < (low) ? (low) : x > (high) ? (high) : x;                                                           \
            out[0] |= ((uint64_t)x & ((1u << width) - 1)) << (width * i);                                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void pack_unpack_##name(const uint64_t *in, uint64_t *out) {                                                \
        for (unsigned i = 0; i < count; i++) {                                                                         \
            int64_t x = (int64_t)(in[0] >> (width * i) & ((1u << width) - 1));                                         \
            out[i] = (uint64_t)(x > (high) ? x - (1 << width) : x);                                                    \
        }                                                                                                              \
    }
PACK_INTEGER(u8x4, uint32_t, 4, 8, 0, 255)
PACK_INTEGER(i8x4, int32_t, 4, 8, -128, 127)
PACK_INTEGER(u4x8, uint32_t, 8, 4, 0, 15)
PACK_INTEGER(i4x8, int32_t, 8, 4, -8, 7)

static void pack_dot_u8x4(const uint64_t *in, uint64_t *out) {
    out[0] = in[2];
    for (unsigned i = 0; i < 4; i++)
        out[0] += (uint64_t)(uint8_t)(in[0] >> (8 * i)) * (uint8_t)(in[1] >> (8 * i));
}

static void pack_dot_i8x4(const uint64_t *in, uint64_t *out) {
    out[0] = in[2];
    for (unsigned i = 0; i < 4; i++)
        out[0] += (uint64_t)((int8_t)(in[0] >> (8 * i)) * (int8_t)(in[1] >> (8 * i)));
}

#define PACK_PAIR(name, values)                                                                                        \
    {#name, values " -> u32", pack_##name}, {                                                                          \
        "unpack_" #name, "u32 -> " values, pack_unpack_##name                                                          \
    }
static const map_function pack_functions[] = {
    PACK_PAIR(f16x2, "f32 f32"),
    PACK_PAIR(bf16x2, "f32 f32"),
    PACK_PAIR(unorm8x4, "f32 f32 f32 f32"),
    PACK_PAIR(snorm8x4, "f32 f32 f32 f32"),
    PACK_PAIR(unorm16x2, "f32 f32"),
    PACK_PAIR(snorm16x2, "f32 f32"),
    PACK_PAIR(u8x4, "u32 u32 u32 u32"),
    PACK_PAIR(i8x4, "i32 i32 i32 i32"),
    PACK_PAIR(u4x8, "u32 u32 u32 u32 u32 u32 u32 u32"),
    PACK_PAIR(i4x8, "i32 i32 i32 i32 i32 i32 i32 i32"),
    {"dot_u8x4", "u32 u32 u32 -> u32", pack_dot_u8x4},
    {"dot_i8x4", "u32 u32 i32 -> i32", pack_dot_i8x4},
};

#endif
