/* The dialect `random`, from the papers. */
#ifndef VY_TESTS_MODEL_RANDOM_H
#define VY_TESTS_MODEL_RANDOM_H

#include "lib/map.h"

#include <math.h>

/* Philox of n words: pairs (L, R) of the counter become (low(M L), high(M L) ^ key ^ R), and the words move one pair
 * on. The key grows by a Weyl step a round. */
static void random_philox(unsigned n, const uint32_t *multipliers, const uint64_t *in, uint64_t *out) {
    static const uint32_t weyl[2] = {0x9e3779b9, 0xbb67ae85};
    uint32_t c[4], k[2];

    for (unsigned i = 0; i < n; i++)
        c[i] = (uint32_t)in[i];
    for (unsigned i = 0; i < n / 2; i++)
        k[i] = (uint32_t)in[n + i];
    for (int round = 0; round < 10; round++) {
        uint32_t next[4] = {0};
        for (unsigned i = 0; i < n / 2; i++) {
            unsigned from = (i + 1) % (n / 2); /* the pair that lands here */
            uint64_t product = (uint64_t)multipliers[from] * c[2 * from];
            next[2 * i] = (uint32_t)(product >> 32) ^ c[2 * i + 1] ^ k[i];
            next[2 * i + 1] = (uint32_t)product;
        }
        memcpy(c, next, sizeof c);
        for (unsigned i = 0; i < n / 2; i++)
            k[i] += weyl[i];
    }
    for (unsigned i = 0; i < n; i++)
        out[i] = c[i];
}

static void random_philox4x32(const uint64_t *in, uint64_t *out) {
    random_philox(4, (const uint32_t[]){0xd2511f53, 0xcd9e8d57}, in, out);
}

static void random_philox2x32(const uint64_t *in, uint64_t *out) {
    random_philox(2, (const uint32_t[]){0xd256d193}, in, out);
}

static uint64_t random_pcg_step(uint64_t state, uint64_t increment) {
    return state * 6364136223846793005u + increment;
}

static void random_pcg32_seed(const uint64_t *in, uint64_t *out) {
    out[1] = in[1] * 2 + 1;
    out[0] = random_pcg_step(0, out[1]);
    out[0] += in[0];
    out[0] = random_pcg_step(out[0], out[1]);
}

static void random_pcg32_next(const uint64_t *in, uint64_t *out) {
    uint32_t mixed = (uint32_t)((in[0] >> 18 ^ in[0]) >> 27), turn = (uint32_t)(in[0] >> 59);
    out[0] = turn ? mixed >> turn | mixed << (32 - turn) : mixed;
    out[1] = random_pcg_step(in[0], in[1]);
}

/* The step is an affine map; its powers are composed from the highest bit of the count down. */
static void random_pcg32_advance(const uint64_t *in, uint64_t *out) {
    uint64_t a = 1, c = 0;
    for (int bit = 63; bit >= 0; bit--) {
        c = a * c + c;
        a = a * a;
        if (in[2] >> bit & 1) {
            c = random_pcg_step(c, in[1]);
            a *= 6364136223846793005u;
        }
    }
    out[0] = a * in[0] + c;
}

static void random_pcg_hash(const uint64_t *in, uint64_t *out) {
    uint32_t state = (uint32_t)in[0] * 747796405u + 2891336453u;
    uint32_t word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    out[0] = (word >> 22u) ^ word;
}

static void random_splitmix64(const uint64_t *in, uint64_t *out) {
    uint64_t z = out[1] = in[0] + 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    out[0] = z ^ z >> 31;
}

static void random_unit_f32(const uint64_t *in, uint64_t *out) {
    float f = ldexpf((float)((uint32_t)in[0] / 256), -24);
    memcpy(out, &f, sizeof f);
}

static void random_unit_f64(const uint64_t *in, uint64_t *out) {
    double f = ldexp((double)(in[0] / 2048), -53);
    memcpy(out, &f, sizeof f);
}

static void random_below(const uint64_t *in, uint64_t *out) {
    out[0] = in[0] * in[1] >> 32;
}

static const map_function random_functions[] = {
    {"philox4x32", "u32 u32 u32 u32 u32 u32 -> u32 u32 u32 u32", random_philox4x32},
    {"philox2x32", "u32 u32 u32 -> u32 u32", random_philox2x32},
    {"pcg32_seed", "u64 u64 -> u64 u64", random_pcg32_seed},
    {"pcg32_next", "u64 u64 -> u32 u64", random_pcg32_next},
    {"pcg32_advance", "u64 u64 u64 -> u64", random_pcg32_advance},
    {"pcg_hash_u32", "u32 -> u32", random_pcg_hash},
    {"splitmix64_next", "u64 -> u64 u64", random_splitmix64},
    {"unit_f32", "u32 -> f32", random_unit_f32},
    {"unit_f64", "u64 -> f64", random_unit_f64},
    {"below_u32", "u32 u32 -> u32", random_below},
};

#endif
