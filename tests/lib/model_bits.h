/* The dialect `bits`, bit by bit. */
#ifndef VY_TESTS_MODEL_BITS_H
#define VY_TESTS_MODEL_BITS_H

#include "lib/map.h"

static inline unsigned bits_at(uint64_t x, unsigned i) {
    return i < 64 ? (unsigned)(x >> i & 1) : 0;
}

static void bits_deposit(const uint64_t *in, uint64_t *out) {
    unsigned next = 0;
    for (unsigned i = 0; i < 64; i++)
        if (bits_at(in[1], i))
            out[0] |= (uint64_t)bits_at(in[0], next++) << i;
}

static void bits_extract(const uint64_t *in, uint64_t *out) {
    unsigned next = 0;
    for (unsigned i = 0; i < 64; i++)
        if (bits_at(in[1], i))
            out[0] |= (uint64_t)bits_at(in[0], i) << next++;
}

static void bits_low_mask(const uint64_t *in, uint64_t *out) {
    for (unsigned i = 0; i < 64 && i < in[0]; i++)
        out[0] |= UINT64_C(1) << i;
}

/* Fields: bit i of the field is bit offset + i of the word, if both exist. */
static void bits_field_extract(const uint64_t *in, uint64_t *out, unsigned width, int is_signed) {
    unsigned size = 0;
    for (uint64_t i = 0; i < in[2] && in[1] + i < width; i++, size++)
        out[0] |= (uint64_t)bits_at(in[0], (unsigned)(in[1] + i)) << i;
    if (is_signed && size > 0 && bits_at(out[0], size - 1))
        for (unsigned i = size; i < 64; i++)
            out[0] |= UINT64_C(1) << i;
}

static void bits_field_insert(const uint64_t *in, uint64_t *out, unsigned width) {
    out[0] = in[0];
    for (uint64_t i = 0; i < in[3] && in[2] + i < width; i++) {
        unsigned at = (unsigned)(in[2] + i);
        out[0] = (out[0] & ~(UINT64_C(1) << at)) | (uint64_t)bits_at(in[1], (unsigned)i) << at;
    }
}

static void bits_field_extract_u32(const uint64_t *in, uint64_t *out) {
    bits_field_extract(in, out, 32, 0);
}

static void bits_field_extract_u64(const uint64_t *in, uint64_t *out) {
    bits_field_extract(in, out, 64, 0);
}

static void bits_field_extract_i32(const uint64_t *in, uint64_t *out) {
    bits_field_extract(in, out, 32, 1);
}

static void bits_field_extract_i64(const uint64_t *in, uint64_t *out) {
    bits_field_extract(in, out, 64, 1);
}

static void bits_field_insert_u32(const uint64_t *in, uint64_t *out) {
    bits_field_insert(in, out, 32);
}

static void bits_field_insert_u64(const uint64_t *in, uint64_t *out) {
    bits_field_insert(in, out, 64);
}

/* Bit i of the code says whether bits i and i + 1 of the number differ. */
static void bits_gray_encode(const uint64_t *in, uint64_t *out) {
    for (unsigned i = 0; i < 64; i++)
        out[0] |= (uint64_t)(bits_at(in[0], i) != bits_at(in[0], i + 1)) << i;
}

static void bits_gray_decode(const uint64_t *in, uint64_t *out) {
    unsigned above = 0;
    for (unsigned i = 64; i-- > 0;) {
        above ^= bits_at(in[0], i);
        out[0] |= (uint64_t)above << i;
    }
}

static void bits_parity(const uint64_t *in, uint64_t *out) {
    for (unsigned i = 0; i < 64; i++)
        out[0] ^= bits_at(in[0], i);
}

static void bits_ceil_power(const uint64_t *in, uint64_t *out) {
    out[0] = 1;
    while (out[0] != 0 && out[0] < in[0])
        out[0] *= 2;
}

static void bits_floor_power(const uint64_t *in, uint64_t *out) {
    for (unsigned i = 0; i < 64; i++)
        if (bits_at(in[0], i))
            out[0] = UINT64_C(1) << i;
}

static void bits_lowest(const uint64_t *in, uint64_t *out) {
    for (unsigned i = 64; i-- > 0;)
        if (bits_at(in[0], i))
            out[0] = UINT64_C(1) << i;
}

static void bits_select(const uint64_t *in, uint64_t *out, unsigned width) {
    uint64_t below = 0;
    out[0] = width;
    for (unsigned i = 0; i < width; i++)
        if (bits_at(in[0], i) && below++ == in[1])
            out[0] = i;
}

static void bits_select_u32(const uint64_t *in, uint64_t *out) {
    bits_select(in, out, 32);
}

static void bits_select_u64(const uint64_t *in, uint64_t *out) {
    bits_select(in, out, 64);
}

/* Bit i of coordinate k is bit dimensions * i + k of the place. */
static void bits_interleave(const uint64_t *in, uint64_t *out, unsigned dimensions, unsigned bits) {
    for (unsigned i = 0; i < bits; i++)
        for (unsigned k = 0; k < dimensions; k++)
            out[0] |= (uint64_t)bits_at(in[k], i) << (dimensions * i + k);
}

static void bits_split(const uint64_t *in, uint64_t *out, unsigned dimensions, unsigned bits) {
    for (unsigned i = 0; i < bits; i++)
        for (unsigned k = 0; k < dimensions; k++)
            out[k] |= (uint64_t)bits_at(in[0], dimensions * i + k) << i;
}

#define BITS_MORTON(dimensions, width, bits)                                                                           \
    static void bits_morton##dimensions##_encode_##width(const uint64_t *in, uint64_t *out) {                          \
        bits_interleave(in, out, dimensions, bits);                                                                    \
    }                                                                                                                  \
    static void bits_morton##dimensions##_decode_##width(const uint64_t *in, uint64_t *out) {                          \
        bits_split(in, out, dimensions, bits);                                                                         \
    }
BITS_MORTON(2, u32, 16)
BITS_MORTON(2, u64, 32)
BITS_MORTON(3, u32, 10)
BITS_MORTON(3, u64, 21)

static const map_function bits_functions[] = {
    {"deposit_u32", "u32 u32 -> u32", bits_deposit},
    {"deposit_u64", "u64 u64 -> u64", bits_deposit},
    {"extract_u32", "u32 u32 -> u32", bits_extract},
    {"extract_u64", "u64 u64 -> u64", bits_extract},
    {"low_mask_u32", "u32 -> u32", bits_low_mask},
    {"low_mask_u64", "u32 -> u64", bits_low_mask},
    {"field_extract_u32", "u32 u32 u32 -> u32", bits_field_extract_u32},
    {"field_extract_i32", "i32 u32 u32 -> i32", bits_field_extract_i32},
    {"field_extract_u64", "u64 u32 u32 -> u64", bits_field_extract_u64},
    {"field_extract_i64", "i64 u32 u32 -> i64", bits_field_extract_i64},
    {"field_insert_u32", "u32 u32 u32 u32 -> u32", bits_field_insert_u32},
    {"field_insert_u64", "u64 u64 u32 u32 -> u64", bits_field_insert_u64},
    {"gray_encode_u32", "u32 -> u32", bits_gray_encode},
    {"gray_encode_u64", "u64 -> u64", bits_gray_encode},
    {"gray_decode_u32", "u32 -> u32", bits_gray_decode},
    {"gray_decode_u64", "u64 -> u64", bits_gray_decode},
    {"parity_u32", "u32 -> u32", bits_parity},
    {"parity_u64", "u64 -> u64", bits_parity},
    {"ceil_power_of_two_u32", "u32 -> u32", bits_ceil_power},
    {"ceil_power_of_two_u64", "u64 -> u64", bits_ceil_power},
    {"floor_power_of_two_u32", "u32 -> u32", bits_floor_power},
    {"floor_power_of_two_u64", "u64 -> u64", bits_floor_power},
    {"lowest_bit_u32", "u32 -> u32", bits_lowest},
    {"lowest_bit_u64", "u64 -> u64", bits_lowest},
    {"select_u32", "u32 u32 -> u32", bits_select_u32},
    {"select_u64", "u64 u32 -> u32", bits_select_u64},
    {"morton2_encode_u32", "u32 u32 -> u32", bits_morton2_encode_u32},
    {"morton2_decode_u32", "u32 -> u32 u32", bits_morton2_decode_u32},
    {"morton2_encode_u64", "u32 u32 -> u64", bits_morton2_encode_u64},
    {"morton2_decode_u64", "u64 -> u32 u32", bits_morton2_decode_u64},
    {"morton3_encode_u32", "u32 u32 u32 -> u32", bits_morton3_encode_u32},
    {"morton3_decode_u32", "u32 -> u32 u32 u32", bits_morton3_decode_u32},
    {"morton3_encode_u64", "u32 u32 u32 -> u64", bits_morton3_encode_u64},
    {"morton3_decode_u64", "u64 -> u32 u32 u32", bits_morton3_decode_u64},
};

#endif
