/* Text → float, rounded once.
 *
 * A decimal text is digits × 10^power. Digits beyond DIGITS_KEPT are replaced by one digit that says whether any of
 * them was not zero: the boundaries between two f64 have at most 767 significant digits, so that digit decides exactly
 * as the rest would. The value is then a quotient of two whole numbers; its first 64 bits and whether anything follows
 * are all that rounding needs.
 *
 * Sizes: a value of 10^MAGNITUDE or more is infinite in f64, one below 10^-MAGNITUDE rounds to zero, so power lies in
 * [-MAGNITUDE - DIGITS_KEPT - 1, MAGNITUDE], and 5^1201 has 2789 bits. */
#include "base/bignum.h"
#include "base/number_text.h"

#define DIGITS_KEPT 800
#define MAGNITUDE 400
#define EXPONENT_LIMIT                                                                                                 \
    INT64_C(1000000000000000000) /* far outside every float, far inside int64_t even after adding positions */

/* mantissa × 2^exponent, plus something below one unit of it if sticky; the highest bit of the mantissa is set. */
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

/* An exponent's sign and digits, clamped. Without a digit it is no exponent. */
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
    /* keep == 0: all of the mantissa lies below the last bit; shifting by 64 is undefined. */
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
static scaled divide(vy_big *a, vy_big *b) {
    int64_t shift = (int64_t)vy_big_bits(b) - (int64_t)vy_big_bits(a);
    if (shift > 0)
        vy_big_shift_left(a, (unsigned)shift);
    else
        vy_big_shift_left(b, (unsigned)-shift);
    if (vy_big_compare(a, b) < 0) {
        vy_big_shift_left(a, 1);
        shift++;
    }
    /* Now b <= a < 2b: the leading bit of the quotient is one, and stands for 2^-shift. */
    scaled result = {0, -shift - 63, 0};
    for (int i = 0; i < 64; i++) {
        result.mantissa <<= 1;
        if (vy_big_compare(a, b) >= 0) {
            vy_big_subtract(a, b);
            result.mantissa |= 1;
        }
        vy_big_shift_left(a, 1);
    }
    result.sticky = a->count != 0;
    return result;
}

/* Significant digits, digit_accumulator nine at a time. */
typedef struct digit_accumulator {
    vy_big value;
    uint32_t chunk, chunk_scale;
    int count;
    int sticky;
} digit_accumulator;

static void flush(digit_accumulator *digits) {
    vy_big_multiply_add(&digits->value, digits->chunk_scale, digits->chunk);
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
    vy_big divisor;
    vy_big_set(&divisor, 1);
    vy_big_multiply_power5(power < 0 ? &divisor : &digits.value, (unsigned)(power < 0 ? -power : power));
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
