/* Garbage: bits that depend on two numbers and on nothing else (splitmix64's finish). */
#ifndef VY_ORACLE_HASH_MIX_H
#define VY_ORACLE_HASH_MIX_H

#include <stdint.h>

static inline uint64_t vy_mix(uint64_t a, uint64_t b) {
    uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
