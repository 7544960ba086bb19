/* Whole numbers of bounded size, for exact conversion between decimal text and binary floats.
 *
 * The size is that of the largest number reading an f64 needs: 5^1201 (base/number_read.c derives it), 2789 bits, and
 * one bit more while dividing. Every function expects its result to fit; no input of the two conversions exceeds
 * that. */
#ifndef VY_BASE_BIGNUM_H
#define VY_BASE_BIGNUM_H

#include <stdint.h>

#define VY_BIG_LIMBS 96

/* Little-endian limbs; count has no leading zero limbs; zero has count 0. */
typedef struct vy_big {
    uint32_t limbs[VY_BIG_LIMBS];
    unsigned count;
} vy_big;

void vy_big_set(vy_big *a, uint64_t value);
void vy_big_copy(vy_big *a, const vy_big *b);
/* a = a * factor + addend */
void vy_big_multiply_add(vy_big *a, uint32_t factor, uint32_t addend);
/* a = a * 5^power, a * 10^power, a * 2^power */
void vy_big_multiply_power5(vy_big *a, unsigned power);
void vy_big_multiply_power10(vy_big *a, unsigned power);
void vy_big_shift_left(vy_big *a, unsigned power);
void vy_big_add(vy_big *a, const vy_big *b);
/* a = a - b; a >= b */
void vy_big_subtract(vy_big *a, const vy_big *b);
/* -1, 0 or 1 */
int vy_big_compare(const vy_big *a, const vy_big *b);
/* Bits up to the highest one; 0 for zero. */
unsigned vy_big_bits(const vy_big *a);

#endif
