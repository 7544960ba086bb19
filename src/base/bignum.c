/* School arithmetic on 32-bit limbs. */
#include "base/bignum.h"

#include <string.h>

static void push(vy_big *a, uint32_t limb) {
    if (limb && a->count < VY_BIG_LIMBS)
        a->limbs[a->count++] = limb;
}

static void trim(vy_big *a) {
    while (a->count && a->limbs[a->count - 1] == 0)
        a->count--;
}

void vy_big_set(vy_big *a, uint64_t value) {
    a->limbs[0] = (uint32_t)value;
    a->limbs[1] = (uint32_t)(value >> 32);
    a->count = 2;
    trim(a);
}

void vy_big_copy(vy_big *a, const vy_big *b) {
    memcpy(a->limbs, b->limbs, b->count * sizeof b->limbs[0]);
    a->count = b->count;
}

void vy_big_multiply_add(vy_big *a, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (unsigned i = 0; i < a->count; i++) {
        carry += (uint64_t)a->limbs[i] * factor;
        a->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    push(a, (uint32_t)carry);
}

void vy_big_multiply_power5(vy_big *a, unsigned power) {
    const uint32_t power13 = 1220703125; /* 5^13, the largest in 32 bits */
    for (; power >= 13; power -= 13)
        vy_big_multiply_add(a, power13, 0);
    uint32_t rest = 1;
    while (power--)
        rest *= 5;
    vy_big_multiply_add(a, rest, 0);
}

void vy_big_multiply_power10(vy_big *a, unsigned power) {
    vy_big_multiply_power5(a, power);
    vy_big_shift_left(a, power);
}

void vy_big_shift_left(vy_big *a, unsigned power) {
    unsigned whole = power / 32, part = power % 32;
    if (a->count == 0 || a->count + whole > VY_BIG_LIMBS)
        return;
    memmove(a->limbs + whole, a->limbs, a->count * sizeof a->limbs[0]);
    memset(a->limbs, 0, whole * sizeof a->limbs[0]);
    a->count += whole;
    if (part == 0)
        return;
    uint32_t carry = 0;
    for (unsigned i = whole; i < a->count; i++) {
        uint32_t limb = a->limbs[i];
        a->limbs[i] = limb << part | carry;
        carry = limb >> (32 - part);
    }
    push(a, carry);
}

void vy_big_add(vy_big *a, const vy_big *b) {
    while (a->count < b->count)
        a->limbs[a->count++] = 0;
    uint64_t carry = 0;
    for (unsigned i = 0; i < a->count; i++) {
        carry += (uint64_t)a->limbs[i] + (i < b->count ? b->limbs[i] : 0);
        a->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    push(a, (uint32_t)carry);
}

void vy_big_subtract(vy_big *a, const vy_big *b) {
    uint32_t borrow = 0;
    for (unsigned i = 0; i < a->count; i++) {
        uint64_t taken = (uint64_t)(i < b->count ? b->limbs[i] : 0) + borrow;
        borrow = a->limbs[i] < taken;
        a->limbs[i] = (uint32_t)(a->limbs[i] - taken);
    }
    trim(a);
}

int vy_big_compare(const vy_big *a, const vy_big *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (unsigned i = a->count; i-- > 0;) {
        if (a->limbs[i] != b->limbs[i])
            return a->limbs[i] < b->limbs[i] ? -1 : 1;
    }
    return 0;
}

unsigned vy_big_bits(const vy_big *a) {
    return a->count ? 32 * a->count - (unsigned)__builtin_clz(a->limbs[a->count - 1]) : 0;
}
