/* Random numbers and boundary values: where types begin, end, wrap, round and change sign. */
#ifndef VY_GENERATE_INTERESTING_VALUES_H
#define VY_GENERATE_INTERESTING_VALUES_H

#include "vyre/type.h"

#include <stdint.h>

/* ---- random numbers: splitmix64; the same on every machine, with all state in the caller's struct ---- */

typedef struct vy_rng {
    uint64_t state;
} vy_rng;

static inline uint64_t vy_rng_next(vy_rng *rng) {
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Adjacent seeds yield unrelated sequences. */
static inline vy_rng vy_rng_start(uint64_t seed) {
    vy_rng rng = {seed ^ UINT64_C(0x76797265)};
    rng.state = vy_rng_next(&rng);
    return rng;
}

/* 0 … bound-1; 0 for bound 0. */
static inline uint32_t vy_rng_below(vy_rng *rng, uint32_t bound) {
    return (uint32_t)(((vy_rng_next(rng) >> 32) * bound) >> 32);
}

/* low … high. */
static inline uint32_t vy_rng_between(vy_rng *rng, uint32_t low, uint32_t high) {
    return low + vy_rng_below(rng, high - low + 1);
}

/* True in `part` of `whole` cases. */
static inline int vy_rng_chance(vy_rng *rng, uint32_t part, uint32_t whole) {
    return vy_rng_below(rng, whole) < part;
}

/* ---- values ---- */

/* Bits of a type, biased to boundary values. Excess bits are zero; a NaN may have any payload and sign. */
uint64_t vy_interesting_value(vy_rng *rng, vyre_type type);

/* Fills `count` elements of a type, in memory layout. */
void vy_interesting_fill(vy_rng *rng, vyre_type type, void *data, uint64_t count);

#endif
