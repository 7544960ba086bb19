/* The dialects `sort` and `compact`: qsort, insertion, and loops. */
#ifndef VY_TESTS_MODEL_SORT_H
#define VY_TESTS_MODEL_SORT_H

#include "lib/map.h"
#include "lib/tile.h"

#include <math.h>

#define SORT_COMPARE(type)                                                                                             \
    static int sort_compare_##type(const void *a, const void *b) {                                                     \
        type x = *(const type *)a, y = *(const type *)b;                                                               \
        return (x > y) - (x < y);                                                                                      \
    }                                                                                                                  \
    static void sort_##type(tile *tile) {                                                                              \
        qsort(tile->t, tile->n, sizeof(type), sort_compare_##type);                                                    \
    }
SORT_COMPARE(uint32_t)
SORT_COMPARE(int32_t)
SORT_COMPARE(uint64_t)

/* Numbers by value, zeros by sign, NaN last. */
static int sort_compare_float(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    if (isnan(x) || isnan(y))
        return !!isnan(x) - !!isnan(y);
    if (x == y)
        return !!signbit(y) - !!signbit(x);
    return (x > y) - (x < y);
}

static void sort_float(tile *tile) {
    qsort(tile->t, tile->n, sizeof(float), sort_compare_float);
}

/* Binary insertion of pairs: behind all with a key that is not larger, and, if values count, behind pairs that are not
 * larger. */
static void sort_pairs(tile *tile, int by_value) {
    uint32_t *keys = tile->t, *values = tile->m;
    for (size_t i = 1; i < tile->n; i++) {
        uint32_t key = keys[i], value = values[i];
        size_t at = i;
        while (at > 0 && (keys[at - 1] > key || (by_value && keys[at - 1] == key && values[at - 1] > value))) {
            keys[at] = keys[at - 1];
            values[at] = values[at - 1];
            at--;
        }
        keys[at] = key;
        values[at] = value;
    }
}

static void sort_pairs_total(tile *tile) {
    sort_pairs(tile, 1);
}

static void sort_pairs_stable(tile *tile) {
    sort_pairs(tile, 0);
}

/* t is sorted; each m becomes the number of elements below it, or not above it. */
static void sort_bounds(tile *tile, int with_equal) {
    uint32_t *t = tile->t, *m = tile->m;
    sort_uint32_t(tile);
    for (size_t i = 0; i < tile->n; i++) {
        uint32_t x = m[i];
        m[i] = 0;
        for (size_t k = 0; k < tile->n; k++)
            m[i] += t[k] < x || (with_equal && t[k] == x);
    }
}

static void sort_lower(tile *tile) {
    sort_bounds(tile, 0);
}

static void sort_upper(tile *tile) {
    sort_bounds(tile, 1);
}

#define SORT_SEARCH(name)                                                                                              \
    "bitonic_u32(t, n)\nfor i in local_index .. used step lanes { m[i] = " name "_bound_u32(t, n, m[i]) }\nbarrier"

static const tile_function sort_functions[] = {
    {"sort", "bitonic_u32", "u32", "u32", "bitonic_u32(t, n)", NULL, sort_uint32_t, 0},
    {"sort", "bitonic_u32", "u32", "u32", "bitonic_u32(t, n)", NULL, sort_uint32_t, 5},
    {"sort", "bitonic_i32", "i32", "u32", "bitonic_i32(t, n)", NULL, sort_int32_t, 0},
    {"sort", "bitonic_u64", "u64", "u32", "bitonic_u64(t, n)", NULL, sort_uint64_t, 0},
    {"sort", "bitonic_f32", "f32", "u32", "bitonic_f32(t, n)", NULL, sort_float, 0},
    {"sort", "bitonic_f32", "f32", "u32", "bitonic_f32(t, n)", NULL, sort_float, 7},
    {"sort", "bitonic_pairs_u32", "u32", "u32", "bitonic_pairs_u32(t, m, n)", NULL, sort_pairs_total, 20},
    {"sort", "radix_u32", "u32", "u32", "radix_u32(t, s, n)", NULL, sort_uint32_t, 0},
    {"sort", "radix_u32", "u32", "u32", "radix_u32(t, s, n)", NULL, sort_uint32_t, 5},
    {"sort", "radix_pairs_u32", "u32", "u32", "radix_pairs_u32(t, m, s, s2, n)", NULL, sort_pairs_stable, 20},
    {"sort", "radix_pairs_u32", "u32", "u32", "radix_pairs_u32(t, m, s, s2, n)", NULL, sort_pairs_stable, 0},
    {"sort", "lower_bound_u32", "u32", "u32", SORT_SEARCH("lower"), NULL, sort_lower, 40},
    {"sort", "upper_bound_u32", "u32", "u32", SORT_SEARCH("upper"), NULL, sort_upper, 40},
};

/* The place of a float among all of its patterns, counted: the negative ones from -inf up to -0, then the others, NaN
 * last. */
static void sort_order(const uint64_t *in, uint64_t *out, uint64_t sign) {
    out[0] = in[0] & sign ? sign - 1 - (in[0] & ~sign) : sign + in[0];
}

static void sort_order_f32(const uint64_t *in, uint64_t *out) {
    sort_order(in, out, UINT64_C(1) << 31);
}

static void sort_order_f64(const uint64_t *in, uint64_t *out) {
    sort_order(in, out, UINT64_C(1) << 63);
}

static void sort_unorder(const uint64_t *in, uint64_t *out, uint64_t sign) {
    out[0] = in[0] >= sign ? in[0] - sign : sign | (sign - 1 - in[0]);
}

static void sort_from_order_f32(const uint64_t *in, uint64_t *out) {
    sort_unorder(in, out, UINT64_C(1) << 31);
    out[0] = map_canonical("f32", out[0]);
}

static void sort_from_order_f64(const uint64_t *in, uint64_t *out) {
    sort_unorder(in, out, UINT64_C(1) << 63);
    out[0] = map_canonical("f64", out[0]);
}

static const map_function sort_scalars[] = {
    {"order_f32", "f32 -> u32", sort_order_f32},
    {"order_f64", "f64 -> u64", sort_order_f64},
    {"from_order_f32", "u32 -> f32", sort_from_order_f32},
    {"from_order_f64", "u64 -> f64", sort_from_order_f64},
};

static void compact_keep(tile *tile) {
    uint32_t *t = tile->t, *flags = tile->m;
    size_t kept = 0;
    for (size_t i = 0; i < tile->n; i++)
        if (flags[i])
            t[kept++] = t[i];
    tile->result = tile->stored = kept;
}

static void compact_unique(tile *tile) {
    uint32_t *t = tile->t;
    size_t kept = 0;
    for (size_t i = 0; i < tile->n; i++)
        if (kept == 0 || t[i] != t[kept - 1])
            t[kept++] = t[i];
    tile->result = tile->stored = kept;
}

static void compact_partition(tile *tile) {
    uint32_t *t = tile->t, *flags = tile->m, *copy = malloc((tile->n + 1) * sizeof *copy);
    size_t at = 0;
    assert_non_null(copy);
    memcpy(copy, t, tile->n * sizeof *copy);
    for (int wanted = 1; wanted >= 0; wanted--) {
        for (size_t i = 0; i < tile->n; i++)
            if (!!flags[i] == wanted)
                t[at++] = copy[i];
        if (wanted)
            tile->result = at;
    }
    free(copy);
}

#define COMPACT_KEEP "let result = keep_u32(t, m, n)\nlet stored = result"
#define COMPACT_UNIQUE "let result = unique_u32(t, n)\nlet stored = result"

static const tile_function compact_functions[] = {
    {"compact", "keep_u32", "u32", "u32", COMPACT_KEEP, "u32", compact_keep, 2},
    {"compact", "keep_u32", "u32", "u32", COMPACT_KEEP, "u32", compact_keep, 1},
    {"compact", "keep_u32", "u32", "u32", COMPACT_KEEP, "u32", compact_keep, 0},
    {"compact", "unique_u32", "u32", "u32", COMPACT_UNIQUE, "u32", compact_unique, 2},
    {"compact", "unique_u32", "u32", "u32", COMPACT_UNIQUE, "u32", compact_unique, 1},
    {"compact", "unique_u32", "u32", "u32", COMPACT_UNIQUE, "u32", compact_unique, 0},
    {"compact", "partition_u32", "u32", "u32", "let result = partition_u32(t, m, s, n)", "u32", compact_partition, 3},
    {"compact", "partition_u32", "u32", "u32", "let result = partition_u32(t, m, s, n)", "u32", compact_partition, 1},
};

#endif
