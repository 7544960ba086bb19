/* The dialects `reduce` and `scan`: loops, and the order P of docs/bits.md by its recursive definition. */
#ifndef VY_TESTS_MODEL_REDUCE_H
#define VY_TESTS_MODEL_REDUCE_H

#include "lib/tile.h"

#include <math.h>

static inline size_t reduce_split(size_t count) {
    size_t h = 1;
    while (2 * h < count)
        h *= 2;
    return h;
}

/* P(0, count). */
#define REDUCE_TREE(type)                                                                                              \
    static type reduce_tree_##type(const type *v, size_t count) {                                                      \
        size_t h = reduce_split(count);                                                                                \
        return count == 0 ? 0 : count == 1 ? v[0] : reduce_tree_##type(v, h) + reduce_tree_##type(v + h, count - h);   \
    }
REDUCE_TREE(float)
REDUCE_TREE(double)

static void reduce_give(tile *tile, const void *value, size_t size) {
    memcpy(&tile->result, value, size);
}

#define REDUCE_LOOP(name, type, start, step)                                                                           \
    static void reduce_##name(tile *tile) {                                                                            \
        const type *t = tile->t;                                                                                       \
        type r = start;                                                                                                \
        for (size_t i = 0; i < tile->n; i++) {                                                                         \
            step;                                                                                                      \
        }                                                                                                              \
        reduce_give(tile, &r, sizeof r);                                                                               \
    }
REDUCE_LOOP(sum_u32, uint32_t, 0, r += t[i])
REDUCE_LOOP(sum_u64, uint64_t, 0, r += t[i])
REDUCE_LOOP(min_u32, uint32_t, UINT32_MAX, r = t[i] < r ? t[i] : r)
REDUCE_LOOP(max_u32, uint32_t, 0, r = t[i] > r ? t[i] : r)
REDUCE_LOOP(min_i32, int32_t, INT32_MAX, r = t[i] < r ? t[i] : r)
REDUCE_LOOP(max_i32, int32_t, INT32_MIN, r = t[i] > r ? t[i] : r)
/* -0 is below +0. */
REDUCE_LOOP(min_f32, float, INFINITY, if (t[i] < r || (t[i] == r && signbit(t[i]))) r = t[i])
REDUCE_LOOP(max_f32, float, -INFINITY, if (t[i] > r || (t[i] == r && !signbit(t[i]))) r = t[i])

#define REDUCE_ARG(name, type, none, counts, better)                                                                   \
    static void reduce_##name(tile *tile) {                                                                            \
        const type *t = tile->t;                                                                                       \
        size_t best = SIZE_MAX;                                                                                        \
        type r = none;                                                                                                 \
        for (size_t i = 0; i < tile->n; i++)                                                                           \
            if ((counts) && (best == SIZE_MAX || t[i] better t[best]))                                                 \
                best = i;                                                                                              \
        if (best != SIZE_MAX)                                                                                          \
            r = t[best];                                                                                               \
        tile->result2 = (uint32_t)best;                                                                                \
        reduce_give(tile, &r, sizeof r);                                                                               \
    }
REDUCE_ARG(argmin_u32, uint32_t, UINT32_MAX, 1, <)
REDUCE_ARG(argmax_u32, uint32_t, 0, 1, >)
REDUCE_ARG(argmin_f32, float, INFINITY, !isnan(t[i]), <)
REDUCE_ARG(argmax_f32, float, -INFINITY, !isnan(t[i]), >)

static void reduce_sum_f32(tile *tile) {
    float r = reduce_tree_float(tile->t, tile->n);
    tile->stored = 0;
    reduce_give(tile, &r, sizeof r);
}

static void reduce_sum_f64(tile *tile) {
    double r = reduce_tree_double(tile->t, tile->n);
    tile->stored = 0;
    reduce_give(tile, &r, sizeof r);
}

static void reduce_dot_f32(tile *tile) {
    float *t = tile->t, *m = tile->m;
    for (size_t i = 0; i < tile->n; i++)
        t[i] *= m[i];
    reduce_sum_f32(tile);
}

static const tile_function reduce_functions[] = {
    {"reduce", "sum_u32", "u32", "u32", "let result = sum_u32(t, n)", "u32", reduce_sum_u32, 0},
    {"reduce", "sum_i32", "i32", "u32", "let result = sum_i32(t, n)", "i32", reduce_sum_u32, 0},
    {"reduce", "sum_u64", "u64", "u32", "let result = sum_u64(t, n)", "u64", reduce_sum_u64, 0},
    {"reduce", "min_u32", "u32", "u32", "let result = min_u32(t, n)", "u32", reduce_min_u32, 0},
    {"reduce", "max_u32", "u32", "u32", "let result = max_u32(t, n)", "u32", reduce_max_u32, 0},
    {"reduce", "min_i32", "i32", "u32", "let result = min_i32(t, n)", "i32", reduce_min_i32, 0},
    {"reduce", "max_i32", "i32", "u32", "let result = max_i32(t, n)", "i32", reduce_max_i32, 0},
    {"reduce", "min_f32", "f32", "u32", "let result = min_f32(t, n)", "f32", reduce_min_f32, 0},
    {"reduce", "max_f32", "f32", "u32", "let result = max_f32(t, n)", "f32", reduce_max_f32, 0},
    {"reduce", "min_f32", "f32", "u32", "let result = min_f32(t, n)", "f32", reduce_min_f32, 7},
    {"reduce", "max_f32", "f32", "u32", "let result = max_f32(t, n)", "f32", reduce_max_f32, 7},
    {"reduce", "sum_f32", "f32", "u32", "let result = sum_f32(t, n)\nlet stored = 0u32", "f32", reduce_sum_f32, 0},
    {"reduce", "sum_f64", "f64", "u32", "let result = sum_f64(t, n)\nlet stored = 0u32", "f64", reduce_sum_f64, 0},
    {"reduce", "dot_f32", "f32", "f32", "let result = dot_f32(t, m, n)\nlet stored = 0u32", "f32", reduce_dot_f32, 0},
    {"reduce", "argmin_u32", "u32", "u32", "let (result, result2) = argmin_u32(t, n)", "u32", reduce_argmin_u32, 50},
    {"reduce", "argmax_u32", "u32", "u32", "let (result, result2) = argmax_u32(t, n)", "u32", reduce_argmax_u32, 50},
    {"reduce", "argmin_f32", "f32", "u32", "let (result, result2) = argmin_f32(t, n)", "f32", reduce_argmin_f32, 0},
    {"reduce", "argmax_f32", "f32", "u32", "let (result, result2) = argmax_f32(t, n)", "f32", reduce_argmax_f32, 0},
    {"reduce", "argmin_f32", "f32", "u32", "let (result, result2) = argmin_f32(t, n)", "f32", reduce_argmin_f32, 7},
    {"reduce", "argmax_f32", "f32", "u32", "let (result, result2) = argmax_f32(t, n)", "f32", reduce_argmax_f32, 3},
};

#define SCAN_LOOP(name, type, start, body)                                                                             \
    static void scan_##name(tile *tile) {                                                                              \
        type *t = tile->t, r = start;                                                                                  \
        for (size_t i = 0; i < tile->n; i++) {                                                                         \
            body;                                                                                                      \
        }                                                                                                              \
        reduce_give(tile, &r, sizeof r);                                                                               \
    }
SCAN_LOOP(inclusive_u32, uint32_t, 0, t[i] = r += t[i])
SCAN_LOOP(inclusive_u64, uint64_t, 0, t[i] = r += t[i])
SCAN_LOOP(exclusive_u32, uint32_t, 0, uint32_t own = t[i]; t[i] = r; r += own)
SCAN_LOOP(exclusive_u64, uint64_t, 0, uint64_t own = t[i]; t[i] = r; r += own)
SCAN_LOOP(max_u32, uint32_t, 0, t[i] = r = t[i] > r ? t[i] : r)
SCAN_LOOP(min_u32, uint32_t, UINT32_MAX, t[i] = r = t[i] < r ? t[i] : r)

static void scan_f32(tile *tile, size_t with) {
    float *t = tile->t, *copy = malloc((tile->n + 1) * sizeof *copy), r = reduce_tree_float(t, tile->n);
    assert_non_null(copy);
    memcpy(copy, t, tile->n * sizeof *copy);
    for (size_t i = 0; i < tile->n; i++)
        t[i] = reduce_tree_float(copy, i + with);
    reduce_give(tile, &r, sizeof r);
    free(copy);
}

static void scan_inclusive_f32(tile *tile) {
    scan_f32(tile, 1);
}

static void scan_exclusive_f32(tile *tile) {
    scan_f32(tile, 0);
}

static void scan_segmented(tile *tile) {
    uint32_t *t = tile->t, *heads = tile->m, sum = 0, head = 0;
    for (size_t i = 0; i < tile->n; i++) {
        if (heads[i] != 0) {
            head = (uint32_t)i;
            sum = 0;
        }
        t[i] = sum += t[i];
        heads[i] = head;
    }
}

static const tile_function scan_functions[] = {
    {"scan", "inclusive_sum_u32", "u32", "u32", "let result = inclusive_sum_u32(t, n)", "u32", scan_inclusive_u32, 0},
    {"scan", "inclusive_sum_u64", "u64", "u32", "let result = inclusive_sum_u64(t, n)", "u64", scan_inclusive_u64, 0},
    {"scan", "exclusive_sum_u32", "u32", "u32", "let result = exclusive_sum_u32(t, n)", "u32", scan_exclusive_u32, 0},
    {"scan", "exclusive_sum_u64", "u64", "u32", "let result = exclusive_sum_u64(t, n)", "u64", scan_exclusive_u64, 0},
    {"scan", "inclusive_max_u32", "u32", "u32", "let result = inclusive_max_u32(t, n)", "u32", scan_max_u32, 0},
    {"scan", "inclusive_min_u32", "u32", "u32", "let result = inclusive_min_u32(t, n)", "u32", scan_min_u32, 0},
    {"scan", "inclusive_sum_f32", "f32", "u32", "let result = inclusive_sum_f32(t, n)", "f32", scan_inclusive_f32, 0},
    {"scan", "exclusive_sum_f32", "f32", "u32", "let result = exclusive_sum_f32(t, n)", "f32", scan_exclusive_f32, 0},
    {"scan", "segmented_sum_u32", "u32", "u32", "segmented_sum_u32(t, m, n)", NULL, scan_segmented, 3},
    {"scan", "segmented_sum_u32", "u32", "u32", "segmented_sum_u32(t, m, n)", NULL, scan_segmented, 1},
    {"scan", "segmented_sum_u32", "u32", "u32", "segmented_sum_u32(t, m, n)", NULL, scan_segmented, 0},
};

#endif
