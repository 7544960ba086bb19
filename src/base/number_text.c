/* Conversion between float bits and text: correctly rounded parsing, shortest round-trip printing.
 *
 * Both use exact integers of bounded size, so the result depends neither on the host's floating point nor on its
 * locale. */
#include "base/number_text.h"

#include <string.h>

/* ---- bounded big integers ----
 *
 * The bound is that of the largest number that parsing an f64 needs: 5^1201 (derived below), 2789 bits, and one more
 * bit while dividing. Every function requires that its result fits; no input of the two conversions exceeds the
 * bound. */

#define BIG_LIMBS 96

/* Little-endian limbs without leading zero limbs; zero has count 0. */
typedef struct big {
    uint32_t limbs[BIG_LIMBS];
    unsigned count;
} big;

static void push(big *a, uint32_t limb) {
    if (limb && a->count < BIG_LIMBS)
        a->limbs[a->count++] = limb;
}

static void trim(big *a) {
    while (a->count && a->limbs[a->count - 1] == 0)
        a->count--;
}

static void big_set(big *a, uint64_t value) {
    a->limbs[0] = (uint32_t)value;
    a->limbs[1] = (uint32_t)(value >> 32);
    a->count = 2;
    trim(a);
}

static void big_copy(big *a, const big *b) {
    memcpy(a->limbs, b->limbs, b->count * sizeof b->limbs[0]);
    a->count = b->count;
}

/* a = a * factor + addend */
static void big_multiply_add(big *a, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (unsigned i = 0; i < a->count; i++) {
        carry += (uint64_t)a->limbs[i] * factor;
        a->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    push(a, (uint32_t)carry);
}

static void big_multiply_power5(big *a, unsigned power) {
    const uint32_t power13 = 1220703125; /* 5^13, the largest power in 32 bits */
    for (; power >= 13; power -= 13)
        big_multiply_add(a, power13, 0);
    uint32_t rest = 1;
    while (power--)
        rest *= 5;
    big_multiply_add(a, rest, 0);
}

static void big_shift_left(big *a, unsigned power) {
    unsigned whole = power / 32, part = power % 32;
    if (a->count == 0 || a->count + whole > BIG_LIMBS)
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

static void big_multiply_power10(big *a, unsigned power) {
    big_multiply_power5(a, power);
    big_shift_left(a, power);
}

static void big_add(big *a, const big *b) {
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

/* a = a - b; a >= b */
static void big_subtract(big *a, const big *b) {
    uint32_t borrow = 0;
    for (unsigned i = 0; i < a->count; i++) {
        uint64_t taken = (uint64_t)(i < b->count ? b->limbs[i] : 0) + borrow;
        borrow = a->limbs[i] < taken;
        a->limbs[i] = (uint32_t)(a->limbs[i] - taken);
    }
    trim(a);
}

/* -1, 0 or 1 */
static int big_compare(const big *a, const big *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (unsigned i = a->count; i-- > 0;) {
        if (a->limbs[i] != b->limbs[i])
            return a->limbs[i] < b->limbs[i] ? -1 : 1;
    }
    return 0;
}

/* The number of significant bits; 0 for zero. */
static unsigned big_bits(const big *a) {
    return a->count ? 32 * a->count - (unsigned)__builtin_clz(a->limbs[a->count - 1]) : 0;
}

/* ---- text to float ----
 *
 * A decimal text is digits × 10^power. Digits beyond DIGITS_KEPT are replaced by one sticky digit, which is set if any
 * of them is not zero. The boundaries between two f64 values have at most 767 significant digits, so the sticky digit
 * decides exactly as the omitted digits would. The value is then a quotient of two integers; rounding needs its first
 * 64 bits and whether the remainder is zero.
 *
 * Sizes: a value of 10^MAGNITUDE or more is infinite in f64 and one below 10^-MAGNITUDE rounds to zero, so power is in
 * [-MAGNITUDE - DIGITS_KEPT - 1, MAGNITUDE], and 5^1201 has 2789 bits. */

#define DIGITS_KEPT 800
#define MAGNITUDE 400
/* Exceeds the exponents of all floats, and does not overflow int64_t when digit positions are added. */
#define EXPONENT_LIMIT INT64_C(1000000000000000000)

/* mantissa × 2^exponent, plus a fraction of one unit if sticky. The highest bit of the mantissa is set. */
typedef struct scaled {
    uint64_t mantissa;
    int64_t exponent;
    int sticky;
} scaled;

typedef struct reader {
    const char *at, *end;
} reader;

static int digit_of(char c, unsigned base) {
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return value < (int)base ? value : -1;
}

/* Reads an exponent's sign and digits, clamped. Returns 0 without a digit. */
static int read_exponent(reader *text, int64_t *exponent) {
    int negative = 0;
    if (text->at < text->end && (*text->at == '+' || *text->at == '-'))
        negative = *text->at++ == '-';
    const char *first = text->at;
    int64_t value = 0;
    for (; text->at < text->end && digit_of(*text->at, 10) >= 0; text->at++) {
        if (value < EXPONENT_LIMIT / 10)
            value = value * 10 + digit_of(*text->at, 10);
        else
            value = EXPONENT_LIMIT;
    }
    *exponent = negative ? -value : value;
    return text->at > first;
}

static uint64_t round_to_type(scaled value, unsigned exponent_bits, unsigned fraction_bits) {
    int64_t bias = (INT64_C(1) << (exponent_bits - 1)) - 1;
    int64_t exponent = value.exponent + 63; /* of the leading bit */
    if (exponent > bias)
        return ((UINT64_C(1) << exponent_bits) - 1) << fraction_bits;
    int64_t keep = (int64_t)fraction_bits + 1;
    int subnormal = exponent < 1 - bias;
    if (subnormal)
        keep -= 1 - bias - exponent;
    if (keep < 0)
        return 0;
    /* keep == 0: the whole mantissa is below the last bit; shifting by 64 is undefined. */
    uint64_t kept = keep == 0 ? 0 : value.mantissa >> (64 - keep);
    uint64_t rest = keep == 0 ? value.mantissa : value.mantissa << keep;
    uint64_t half = UINT64_C(1) << 63;
    if (rest > half || (rest == half && (value.sticky || (kept & 1))))
        kept++;
    if (subnormal)
        return kept;
    /* A carry out of the fraction raises the exponent, up to infinity. */
    return ((uint64_t)(exponent + bias) << fraction_bits) + (kept - (UINT64_C(1) << fraction_bits));
}

/* The first 64 bits of a / b; both positive, both destroyed. */
static scaled divide(big *a, big *b) {
    int64_t shift = (int64_t)big_bits(b) - (int64_t)big_bits(a);
    if (shift > 0)
        big_shift_left(a, (unsigned)shift);
    else
        big_shift_left(b, (unsigned)-shift);
    if (big_compare(a, b) < 0) {
        big_shift_left(a, 1);
        shift++;
    }
    /* Now b <= a < 2b: the leading bit of the quotient is one, with the weight 2^-shift. */
    scaled result = {0, -shift - 63, 0};
    for (int i = 0; i < 64; i++) {
        result.mantissa <<= 1;
        if (big_compare(a, b) >= 0) {
            big_subtract(a, b);
            result.mantissa |= 1;
        }
        big_shift_left(a, 1);
    }
    result.sticky = a->count != 0;
    return result;
}

/* Significant digits, added to `value` nine at a time. */
typedef struct digit_accumulator {
    big value;
    uint32_t chunk, chunk_scale;
    int count;
    int sticky;
} digit_accumulator;

static void flush(digit_accumulator *digits) {
    big_multiply_add(&digits->value, digits->chunk_scale, digits->chunk);
    digits->chunk = 0;
    digits->chunk_scale = 1;
}

static void append_digit(digit_accumulator *digits, int digit) {
    digits->chunk = digits->chunk * 10 + (uint32_t)digit;
    digits->chunk_scale *= 10;
    digits->count++;
    if (digits->chunk_scale == 1000000000)
        flush(digits);
}

static int read_decimal(reader text, unsigned exponent_bits, unsigned fraction_bits, uint64_t *bits) {
    digit_accumulator digits = {.chunk_scale = 1};
    int64_t power = 0, exponent = 0;
    int seen = 0, fraction = 0;
    for (; text.at < text.end; text.at++) {
        if (*text.at == '.' && !fraction) {
            fraction = 1;
            continue;
        }
        int digit = digit_of(*text.at, 10);
        if (digit < 0)
            break;
        seen = 1;
        if (fraction)
            power--;
        if (digits.count == 0 && digit == 0)
            continue;
        if (digits.count < DIGITS_KEPT) {
            append_digit(&digits, digit);
        } else {
            digits.sticky |= digit != 0;
            power++;
        }
    }
    if (!seen)
        return 0;
    if (text.at < text.end && (*text.at == 'e' || *text.at == 'E')) {
        text.at++;
        if (!read_exponent(&text, &exponent))
            return 0;
    }
    if (text.at != text.end)
        return 0;
    power += exponent;
    if (digits.sticky) {
        append_digit(&digits, 1);
        power--;
    }
    flush(&digits);
    *bits = 0;
    if (digits.count == 0 || digits.count + power < -MAGNITUDE)
        return 1;
    if (digits.count + power > MAGNITUDE) {
        *bits = ((UINT64_C(1) << exponent_bits) - 1) << fraction_bits;
        return 1;
    }
    big divisor;
    big_set(&divisor, 1);
    big_multiply_power5(power < 0 ? &divisor : &digits.value, (unsigned)(power < 0 ? -power : power));
    scaled value = divide(&digits.value, &divisor);
    value.exponent += power; /* 10^p = 5^p 2^p */
    *bits = round_to_type(value, exponent_bits, fraction_bits);
    return 1;
}

static int read_hexadecimal(reader text, unsigned exponent_bits, unsigned fraction_bits, uint64_t *bits) {
    scaled value = {0, 0, 0};
    int64_t exponent = 0;
    int seen = 0, fraction = 0;
    for (; text.at < text.end; text.at++) {
        if (*text.at == '.' && !fraction) {
            fraction = 1;
            continue;
        }
        int digit = digit_of(*text.at, 16);
        if (digit < 0)
            break;
        seen = 1;
        if (fraction)
            value.exponent -= 4;
        if (value.mantissa >> 60 == 0) {
            value.mantissa = value.mantissa << 4 | (uint64_t)digit;
        } else {
            value.sticky |= digit != 0;
            value.exponent += 4;
        }
    }
    if (!seen)
        return 0;
    if (text.at < text.end && (*text.at == 'p' || *text.at == 'P')) {
        text.at++;
        if (!read_exponent(&text, &exponent))
            return 0;
    }
    if (text.at != text.end)
        return 0;
    *bits = 0;
    if (value.mantissa == 0)
        return 1;
    int zeros = __builtin_clzll(value.mantissa);
    value.mantissa <<= zeros;
    value.exponent += exponent - zeros;
    *bits = round_to_type(value, exponent_bits, fraction_bits);
    return 1;
}

int vy_number_to_bits(const char *text, size_t length, unsigned exponent_bits, unsigned fraction_bits, uint64_t *bits) {
    *bits = 0;
    if (exponent_bits < 2 || exponent_bits > 11 || fraction_bits < 1 || fraction_bits > 52 || !text)
        return 0;
    reader whole = {text, text + length};
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        whole.at += 2;
        return read_hexadecimal(whole, exponent_bits, fraction_bits, bits);
    }
    return read_decimal(whole, exponent_bits, fraction_bits, bits);
}

/* ---- float to text ----
 *
 * The shortest text that parses to the same bits, and among these the one nearest to the value. R. G. Burger, R. K.
 * Dybvig, "Printing Floating-Point Numbers Quickly and Accurately", PLDI 1996, with exact integers: the value is r/s,
 * and high/s and low/s are half the distances to the neighbours. Digits are generated until the remainder is smaller
 * than that distance. The boundary itself parses to this value only if the significand is even (ties to even). */

#define MAX_DIGITS 17 /* of an f64 */

typedef struct state {
    big r, s, high, low;
    int even;
} state;

static void start(state *x, uint64_t significand, int exponent, int narrow_below) {
    x->even = (significand & 1) == 0;
    /* Everything is doubled, so that half distances are whole; and again where the neighbour below is half as far. */
    unsigned extra = narrow_below ? 2 : 1;
    unsigned up = exponent > 0 ? (unsigned)exponent : 0, down = exponent < 0 ? (unsigned)-exponent : 0;
    big_set(&x->r, significand);
    big_shift_left(&x->r, up + extra);
    big_set(&x->s, 1);
    big_shift_left(&x->s, down + extra);
    big_set(&x->low, 1);
    big_shift_left(&x->low, up);
    big_copy(&x->high, &x->low);
    if (narrow_below)
        big_shift_left(&x->high, 1);
}

/* Whether r + high >= s (> for an odd significand): rounding the last digit up stays within the upper boundary. */
static int reaches(const state *x) {
    big sum;
    big_copy(&sum, &x->r);
    big_add(&sum, &x->high);
    int order = big_compare(&sum, &x->s);
    return x->even ? order >= 0 : order > 0;
}

/* Scales so that the first digit is the integer part of 10 r/s, and not zero; returns the position of the point after
 * "0.". */
static int scale(state *x, uint64_t significand, int exponent) {
    /* An estimate that is never too high, corrected below: 2^bits <= value, and 1233/4096 is slightly less than
     * log10(2). For 1100 bits the error is below 0.01; in the negative case, rounding away from zero keeps the estimate
     * low. */
    int bits = 64 - __builtin_clzll(significand) + exponent - 1;
    int point = bits >= 0 ? bits * 1233 / 4096 : -((-bits * 1233 + 4095) / 4096);
    if (point >= 0) {
        big_multiply_power10(&x->s, (unsigned)point);
    } else {
        big_multiply_power10(&x->r, (unsigned)-point);
        big_multiply_power10(&x->high, (unsigned)-point);
        big_multiply_power10(&x->low, (unsigned)-point);
    }
    while (big_compare(&x->r, &x->s) >= 0) {
        big_multiply_add(&x->s, 10, 0);
        point++;
    }
    return point;
}

static unsigned next_digit(state *x) {
    big_multiply_add(&x->r, 10, 0);
    big_multiply_add(&x->high, 10, 0);
    big_multiply_add(&x->low, 10, 0);
    unsigned digit = 0;
    for (; big_compare(&x->r, &x->s) >= 0; digit++)
        big_subtract(&x->r, &x->s);
    return digit;
}

/* If both candidates for the last digit parse to the value: the nearer one, and the even one on a tie. */
static int round_up(state *x, unsigned digit) {
    big_shift_left(&x->r, 1);
    int order = big_compare(&x->r, &x->s);
    return order > 0 || (order == 0 && (digit & 1));
}

/* Generates the digits. Only the first may round up to ten, which moves the point: for a later one, generation would
 * have ended at the digit before. */
static int generate(state *x, char *digits, int *point) {
    for (int count = 0; count < MAX_DIGITS;) {
        unsigned digit = next_digit(x);
        int order = big_compare(&x->r, &x->low);
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

/* Formats 0.d1d2d3… × 10^point: positional from 1e-5 to below 1e16, else with an exponent. */
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
    /* The lower neighbour of a power of two is half as far away as the upper one, unless it is subnormal. */
    start(&x, significand, exponent, field > 1 && fraction == 0);
    int point = scale(&x, significand, exponent);
    char digits[MAX_DIGITS];
    int count = generate(&x, digits, &point);
    format_digits(digits, count, point, buffer);
}
