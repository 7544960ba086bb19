/* Kernels that read one message, record or query after the other: each has a separate loop, which threads share. */
#include "peer.h"

#include <string.h>

void peer_fnv1a(size_t count, const uint8_t *restrict data, const uint32_t *restrict offsets,
                uint64_t *restrict hashes) {
#pragma omp parallel for schedule(static)
    for (size_t m = 0; m < count; m++) {
        uint64_t h = 0xcbf29ce484222325u;
        for (size_t i = offsets[m]; i < offsets[m + 1]; i++)
            h = (h ^ data[i]) * 0x100000001b3u;
        hashes[m] = h;
    }
}

static uint32_t rotl(uint32_t v, int by) {
    return v << by | v >> (32 - by);
}

static uint32_t rotr(uint32_t v, int by) {
    return v >> by | v << (32 - by);
}

static uint32_t word(const uint8_t *at) {
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static uint32_t round32(uint32_t lane, uint32_t v) {
    return rotl(lane + v * 0x85ebca77u, 13) * 0x9e3779b1u;
}

void peer_xxh32(size_t count, uint32_t seed, const uint8_t *restrict data, const uint32_t *restrict offsets,
                uint32_t *restrict hashes) {
    const uint32_t p1 = 0x9e3779b1u, p2 = 0x85ebca77u, p3 = 0xc2b2ae3du, p4 = 0x27d4eb2fu, p5 = 0x165667b1u;
#pragma omp parallel for schedule(static)
    for (size_t m = 0; m < count; m++) {
        const uint8_t *at = data + offsets[m], *end = data + offsets[m + 1];
        uint32_t size = (uint32_t)(end - at), h = seed + p5;
        if (size >= 16) {
            uint32_t a = seed + p1 + p2, b = seed + p2, c = seed, d = seed - p1;
            for (; end - at >= 16; at += 16) {
                a = round32(a, word(at));
                b = round32(b, word(at + 4));
                c = round32(c, word(at + 8));
                d = round32(d, word(at + 12));
            }
            h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
        }
        h += size;
        for (; end - at >= 4; at += 4)
            h = rotl(h + word(at) * p3, 17) * p4;
        for (; at < end; at++)
            h = rotl(h + *at * p5, 11) * p1;
        h = (h ^ h >> 15) * p2;
        h = (h ^ h >> 13) * p3;
        hashes[m] = h ^ h >> 16;
    }
}

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_block(uint32_t *restrict state, const uint8_t *restrict bytes) {
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = __builtin_bswap32(word(bytes + 4 * t));
    for (int t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10) + w[t - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + w[t - 16];
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[t] + w[t];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void peer_sha256(size_t count, const uint8_t *restrict data, const uint32_t *restrict offsets,
                 uint8_t *restrict digests) {
#pragma omp parallel for schedule(static)
    for (size_t m = 0; m < count; m++) {
        uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
        const uint8_t *at = data + offsets[m];
        size_t size = offsets[m + 1] - offsets[m], rest = size;
        for (; rest >= 64; at += 64, rest -= 64)
            sha256_block(h, at);
        uint8_t last[128] = {0};
        size_t end = rest < 56 ? 64 : 128;
        memcpy(last, at, rest);
        last[rest] = 0x80;
        uint64_t bits = __builtin_bswap64((uint64_t)size * 8);
        memcpy(last + end - 8, &bits, 8);
        sha256_block(h, last);
        if (end == 128)
            sha256_block(h, last + 64);
        for (int i = 0; i < 8; i++) {
            uint32_t big = __builtin_bswap32(h[i]);
            memcpy(digests + 32 * m + 4 * i, &big, 4);
        }
    }
}

void peer_dfa(size_t count, const uint8_t *restrict data, const uint32_t *restrict offsets,
              const uint16_t *restrict table, const uint32_t *restrict rules, uint32_t *restrict matched,
              uint32_t *restrict first_match) {
#pragma omp parallel for schedule(static)
    for (size_t record = 0; record < count; record++) {
        uint32_t begin = offsets[record], end = offsets[record + 1], state = 0;
        for (uint32_t at = begin; at < end;) {
            state = table[state * 256 + data[at++]];
            if (rules[state]) {
                matched[record] = rules[state];
                first_match[record] = at - begin;
                break;
            }
        }
    }
}

/* Comparisons are unpredictable here: the result is a factor, not a branch. */
void peer_search(size_t key_count, size_t query_count, const int64_t *restrict keys, const int64_t *restrict queries,
                 uint32_t *restrict places) {
#pragma omp parallel for schedule(static)
    for (size_t q = 0; q < query_count; q++) {
        const int64_t query = queries[q];
        size_t base = 0, rest = key_count;
        while (rest > 1) {
            size_t half = rest / 2;
            base += (size_t)(keys[base + half - 1] < query) * half;
            rest -= half;
        }
        places[q] = (uint32_t)(base + (rest == 1 && keys[base] < query));
    }
}
