/* Float → the shortest text that reads back as the same bits, and among those the one nearest to the value.
 *
 * R. G. Burger, R. K. Dybvig, "Printing Floating-Point Numbers Quickly and Accurately", PLDI 1996, with exact whole
 * numbers: the value is r/s, and high/s and low/s are half the distances to the neighbours. Digits come out until what
 * is left is closer than that. A neighbour's boundary itself reads back as this value only if the significand is even
 * (ties to even). */
#include "base/bignum.h"
#include "base/number_text.h"

#include <string.h>

#define MAX_DIGITS 17 /* of an f64 */

typedef struct state {
    vy_big r, s, high, low;
    int even;
} state;

static void start(state *x, uint64_t significand, int exponent, int narrow_below) {
    x->even = (significand & 1) == 0;
    /* Everything is doubled, so that half distances are whole; and again where the neighbour below is half as far. */
    unsigned extra = narrow_below ? 2 : 1;
    unsigned up = exponent > 0 ? (unsigned)exponent : 0, down = exponent < 0 ? (unsigned)-exponent : 0;
    vy_big_set(&x->r, significand);
    vy_big_shift_left(&x->r, up + extra);
    vy_big_set(&x->s, 1);
    vy_big_shift_left(&x->s, down + extra);
    vy_big_set(&x->low, 1);
    vy_big_shift_left(&x->low, up);
    vy_big_copy(&x->high, &x->low);
    if (narrow_below)
        vy_big_shift_left(&x->high, 1);
}

/* Whether the value and the upper half distance reach s, that is, whether the next digit up is within reach. */
static int reaches(const state *x) {
    vy_big sum;
    vy_big_copy(&sum, &x->r);
    vy_big_add(&sum, &x->high);
    int order = vy_big_compare(&sum, &x->s);
    return x->even ? order >= 0 : order > 0;
}

/* Scales so that the first digit is the integer part of 10 r/s, and not zero; returns the position of the point after
 * "0.". */
static int scale(state *x, uint64_t significand, int exponent) {
    /* A position that is never too high, and corrected below: 2^bits <= value, and 1233/4096 is so little below
     * log10(2) that for 1100 bits the error is less than 0.01, which rounding the negative case away from zero leaves
     * below the true position. */
    int bits = 64 - __builtin_clzll(significand) + exponent - 1;
    int point = bits >= 0 ? bits * 1233 / 4096 : -((-bits * 1233 + 4095) / 4096);
    if (point >= 0) {
        vy_big_multiply_power10(&x->s, (unsigned)point);
    } else {
        vy_big_multiply_power10(&x->r, (unsigned)-point);
        vy_big_multiply_power10(&x->high, (unsigned)-point);
        vy_big_multiply_power10(&x->low, (unsigned)-point);
    }
    while (vy_big_compare(&x->r, &x->s) >= 0) {
        vy_big_multiply_add(&x->s, 10, 0);
        point++;
    }
    return point;
}

static unsigned next_digit(state *x) {
    vy_big_multiply_add(&x->r, 10, 0);
    vy_big_multiply_add(&x->high, 10, 0);
    vy_big_multiply_add(&x->low, 10, 0);
    unsigned digit = 0;
    for (; vy_big_compare(&x->r, &x->s) >= 0; digit++)
        vy_big_subtract(&x->r, &x->s);
    return digit;
}

/* Where both neighbours of the last digit would read back: the nearer, and of two equally near the even one. */
static int round_up(state *x, unsigned digit) {
    vy_big_shift_left(&x->r, 1);
    int order = vy_big_compare(&x->r, &x->s);
    return order > 0 || (order == 0 && (digit & 1));
}

/* The digits; the first may round up to ten, which raises the point. Later ones cannot: the digit before would have
 * ended it. */
static int generate(state *x, char *digits, int *point) {
    for (int count = 0; count < MAX_DIGITS;) {
        unsigned digit = next_digit(x);
        int order = vy_big_compare(&x->r, &x->low);
        int down = x->even ? order <= 0 : order < 0;
        int up = reaches(x);
        if (up && (!down || round_up(x, digit)))
            digit++;
        if (digit == 10) {
            digit = 1;
            ++*point;
        }
        digits[count++] = (char)('0' + digit);
        if (down || up)
            return count;
    }
    return MAX_DIGITS;
}

/* 0.d1d2d3… × 10^point in the notation people expect: plain from 1e-5 to below 1e16, else with an exponent. */
static void format_digits(const char *digits, int count, int point, char *buffer) {
    char *out = buffer;
    if (point > 16 || point < -4) {
        *out++ = digits[0];
        if (count > 1) {
            *out++ = '.';
            memcpy(out, digits + 1, (size_t)count - 1);
            out += count - 1;
        }
        int exponent = point - 1;
        *out++ = 'e';
        if (exponent < 0)
            *out++ = '-';
        unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);
        if (size >= 100)
            *out++ = (char)('0' + size / 100);
        if (size >= 10)
            *out++ = (char)('0' + size / 10 % 10);
        *out++ = (char)('0' + size % 10);
        *out = 0;
        return;
    }
    if (point <= 0)
        *out++ = '0';
    for (int i = 0; i < point; i++)
        *out++ = i < count ? digits[i] : '0';
    *out++ = '.';
    for (int i = point; i < 0; i++)
        *out++ = '0';
    for (int i = point > 0 ? point : 0; i < count; i++)
        *out++ = digits[i];
    if (point >= count)
        *out++ = '0';
    *out = 0;
}

void vy_number_from_bits(uint64_t bits, unsigned exponent_bits, unsigned fraction_bits, char *buffer) {
    uint64_t one = 1;
    uint64_t fraction = bits & ((one << fraction_bits) - 1);
    unsigned field = (unsigned)(bits >> fraction_bits & ((one << exponent_bits) - 1));
    if (field == (one << exponent_bits) - 1) {
        memcpy(buffer, fraction ? "nan" : "inf", 4);
        return;
    }
    if (field == 0 && fraction == 0) {
        memcpy(buffer, "0.0", 4);
        return;
    }
    uint64_t significand = field ? fraction | one << fraction_bits : fraction;
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(field ? field : 1) - bias - (int)fraction_bits;
    state x;
    /* The neighbour below a power of two is half as far, unless it is in the same binade or subnormal. */
    start(&x, significand, exponent, field > 1 && fraction == 0);
    int point = scale(&x, significand, exponent);
    char digits[MAX_DIGITS];
    int count = generate(&x, digits, &point);
    format_digits(digits, count, point, buffer);
}
