/* Booleans and numbers. A scalar is the longest run of characters that booleans, numbers and dates are made of, so that what is wrong with
 * it is shown as a whole. */
#include "dialect/toml_parser.h"

static int is_scalar(int c) {
    return vy_toml_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '+' ||
           c == '-' || c == '.' || c == ':';
}

static int is_word(const char *text, size_t size, const char *word) {
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

static int digit_of(int c, unsigned base) {
    int value = vy_toml_is_digit(c)    ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return value < (int)base ? value : -1;
}

/* Digits with single underscores between them: how many bytes, 0 if it does not start with a digit. */
static size_t span_digits(const char *at, const char *end, unsigned base) {
    const char *start = at;
    while (at < end && digit_of(*at, base) >= 0) {
        at++;
        if (end - at > 1 && *at == '_' && digit_of(at[1], base) >= 0)
            at++;
    }
    return (size_t)(at - start);
}

static int fail_number(vy_toml_parser *p, vy_diag_code code, const char *text, size_t size, const char *fix,
                       const char *what) {
    vy_diag_sink_error(&p->report, code, vy_toml_position(p, text, text + size), fix, "`%.*s` %s",
                       size > 64 ? 64 : (int)size, text, what);
    return 1;
}

/* The digits were checked; only their size is left to judge. Negative numbers reach one further. */
static int read_digits(vy_toml_parser *p, const char *text, size_t size, const char *digits, unsigned base,
                       vy_toml_value *out) {
    int negative = *text == '-';
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + (uint64_t)negative;
    for (const char *at = digits; at < text + size; at++) {
        if (*at == '_')
            continue;
        uint64_t digit = (uint64_t)digit_of(*at, base);
        if (value > (limit - digit) / base)
            return fail_number(p, VY_D010, text, size, NULL, "does not fit a 64-bit integer");
        value = value * base + digit;
    }
    out->kind = VY_TOML_INTEGER;
    out->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 1;
}

/* 0x, 0o and 0b: no sign, and the letter is small. Returns 0 if the text is none of them. */
static unsigned prefix_base(const char *text, size_t size) {
    if (size < 3 || text[0] != '0')
        return 0;
    return text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : text[1] == 'b' ? 2 : 0;
}

static int is_integer(const char *at, const char *end) {
    return end > at && (*at != '0' || end - at == 1) && at + span_digits(at, end, 10) == end;
}

/* An integer part without leading zeros, then a fraction, an exponent, or both. */
static int is_float(const char *at, const char *end) {
    size_t whole = span_digits(at, end, 10);
    if (whole == 0 || (whole > 1 && *at == '0'))
        return 0;
    at += whole;
    if (at < end && *at == '.') {
        size_t fraction = span_digits(++at, end, 10);
        if (fraction == 0)
            return 0;
        at += fraction;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        size_t exponent = span_digits(at, end, 10);
        if (exponent == 0)
            return 0;
        at += exponent;
    }
    return at == end;
}

static double from_bits(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static int read_float(vy_toml_parser *p, const char *digits, const char *end, int negative, vy_toml_value *out) {
    uint64_t bits = UINT64_C(0x7ff) << 52;
    if (*digits == 'n') {
        bits |= UINT64_C(1) << 51;
    } else if (*digits != 'i') {
        p->scratch.length = 0;
        for (; digits < end; digits++)
            if (*digits != '_')
                vy_string_char(&p->scratch, *digits);
        if (p->scratch.failed)
            return vy_toml_no_memory(p);
        vy_number_to_bits(p->scratch.text, p->scratch.length, 11, 52, &bits);
    }
    out->kind = VY_TOML_FLOAT;
    out->number = from_bits(bits | (uint64_t)negative << 63);
    return 1;
}

/* What a reader probably meant by a word that is no value. */
static const char *word_fix(const char *text, size_t size, char *buffer, size_t room) {
    static const char *const words[] = {"true", "false", "inf", "nan"};
    vy_suggestion near;
    vy_suggestion_start(&near, text, size);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        vy_suggestion_offer(&near, words[i]);
    const char *best = vy_suggestion_get(&near);
    if (best)
        return vy_fix_format(buffer, room, "write `%s`, in small letters", best);
    return vy_fix_format(buffer, room, "put quotes around it: \"%.*s\"", size > 64 ? 64 : (int)size, text);
}

static int fail_scalar(vy_toml_parser *p, const char *text, size_t size) {
    char fix[128];
    const char *digits = text + (*text == '+' || *text == '-');
    if (digits < text + size && (vy_toml_is_digit(*digits) || *digits == '.'))
        return fail_number(p, VY_D009, text, size, NULL, "is no number");
    return fail_number(p, VY_D012, text, size, word_fix(text, size, fix, sizeof fix), "is no value");
}

int vy_toml_read_scalar(vy_toml_parser *p, vy_toml_value *out) {
    const char *text = p->at;
    while (is_scalar(vy_toml_peek(p, 0)))
        p->at++;
    size_t size = (size_t)(p->at - text);
    if (vy_toml_starts_time(text, (size_t)(p->end - text)))
        return vy_toml_read_time(p, text, size, out);
    if (size == 0) {
        vy_diag_sink_error(&p->report, VY_D005, vy_toml_position(p, text, text + (text < p->end)), NULL,
                           "a value is missing");
        return 0;
    }
    const char *end = p->at, *digits = text + (*text == '+' || *text == '-');
    size_t left = (size_t)(end - digits);
    unsigned base = prefix_base(text, size);
    if (is_word(text, size, "true") || is_word(text, size, "false")) {
        out->kind = VY_TOML_BOOLEAN;
        out->boolean = *text == 't';
        return 1;
    }
    if (base && span_digits(text + 2, end, base) == size - 2)
        return read_digits(p, text, size, text + 2, base, out);
    if (is_integer(digits, end))
        return read_digits(p, text, size, digits, 10, out);
    if (is_word(digits, left, "inf") || is_word(digits, left, "nan") || is_float(digits, end))
        return read_float(p, digits, end, *text == '-', out);
    return fail_scalar(p, text, size);
}
