/* Number literals: parsing, conversion to the bits of a type, and printing (number.h). */
#include "ir/number.h"

#include "base/number_text.h"
#include "base/string.h"
#include "ir/eval.h"
#include "ir/porting_hint.h"
#include "vyre/op.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- parsing ---- */

static int digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

/* Skips digits of the base with single `_` between them. Returns the end, or 0 without a digit or a `_` is
 * misplaced. */
static uint32_t digits_end(const char *text, uint32_t i, uint32_t end, int base) {
    if (i >= end || digit_value(text[i]) >= base)
        return 0;
    while (i < end && digit_value(text[i]) < base) {
        i++;
        if (i + 1 < end && text[i] == '_' && digit_value(text[i + 1]) < base)
            i++;
    }
    return i < end && text[i] == '_' ? 0 : i;
}

static void read_integer(vy_number *out, uint32_t start, uint32_t end, int base) {
    uint64_t value = 0;
    for (uint32_t i = start; i < end; i++) {
        if (out->text[i] == '_')
            continue;
        unsigned digit = (unsigned)digit_value(out->text[i]);
        if (value > (UINT64_MAX - digit) / (unsigned)base)
            out->too_large = 1;
        value = value * (unsigned)base + digit;
    }
    out->value = value;
}

/* Skips an optional fraction and exponent. Returns the end of the digits, or 0 if they are malformed. */
static uint32_t read_fraction(vy_number *out, uint32_t i, uint32_t end, int base) {
    const char *text = out->text;
    if (i < end && text[i] == '.') {
        out->is_float = 1;
        i = digits_end(text, i + 1, end, base);
        if (i == 0)
            return 0;
    }
    char mark = base == 16 ? 'p' : 'e';
    if (i < end && (text[i] | 32) == mark) {
        out->is_float = 1;
        i++;
        if (i < end && (text[i] == '+' || text[i] == '-'))
            i++;
        return digits_end(text, i, end, 10);
    }
    return base == 16 && out->is_float ? 0 : i; /* a hexadecimal fraction requires an exponent: 0x1.8p0 */
}

static int malformed(vy_diag_sink *report, const char *text, vy_position at) {
    int shown = at.length < 40 ? (int)at.length : 40;
    vy_diag_sink_error(report, VY_T007, at, NULL, "`%.*s%s` is not a number", shown, text, at.length > 40 ? "…" : "");
    return 0;
}

static int read_suffix(vy_diag_sink *report, vy_number *out, uint32_t end, vy_position at) {
    const char *suffix = out->text + out->length;
    size_t length = end - out->length;
    if (length == 0)
        return 1;
    vyre_type type = vyre_type_find(suffix, length);
    unsigned cls = vyre_type_class(type);
    at.column += out->length;
    at.length -= out->length;
    if (!(cls & VYRE_CLASS_NUMBER)) {
        vy_suggestion suggestion;
        vy_suggestion_start(&suggestion, suffix, length);
        for (unsigned i = VYRE_TYPE_I8; i < VYRE_TYPE_COUNT; i++)
            vy_suggestion_offer(&suggestion, vyre_type_name(i));
        const char *best = vy_porting_hint_suffix(suffix, length);
        best = best ? best : vy_suggestion_get(&suggestion);
        if (best && out->is_float && best[0] != 'f' && best[0] != 'b')
            best = "f64"; /* `1.5L` */
        vy_diag_sink_error(report, VY_T008, at,
                           best ? VY_FIX("did you mean `%.*s%s`?", (int)out->length, out->text, best) : NULL,
                           "`%.*s` is not a number type", (int)(length < 40 ? length : 40), suffix);
        return 0;
    }
    if (out->is_float && cls != VYRE_CLASS_FLOAT) {
        vy_diag_sink_error(report, VY_T008, at,
                           VY_FIX("write a float type, or convert: `%s(%.*sf32)`", vyre_type_name(type),
                                  (int)(out->length < 40 ? out->length : 40), out->text),
                           "a number with a fraction or exponent cannot be %s", vyre_type_name(type));
        return 0;
    }
    out->type = (uint8_t)type;
    return 1;
}

int vy_number_read(vy_diag_sink *report, const char *text, vy_position at, vy_number *out) {
    uint32_t end = at.length;
    *out = (vy_number){.text = text, .type = VYRE_TYPE_COUNT};
    if (end > VY_NUMBER_LIMIT) {
        vy_diag_sink_error(report, VY_T007, at, "write it with an exponent", "a number has %u bytes (limit %d)", end,
                           VY_NUMBER_LIMIT);
        return 0;
    }
    int base = 10;
    if (end > 1 && text[0] == '0' && (text[1] | 32) == 'x')
        base = 16;
    else if (end > 2 && text[0] == '0' && (text[1] | 32) == 'b' && digit_value(text[2]) < 2)
        base = 2;
    uint32_t start = base == 10 ? 0 : 2, i = digits_end(text, start, end, base);
    if (i == 0)
        return malformed(report, text, at);
    read_integer(out, start, i, base);
    if (base != 2)
        i = read_fraction(out, i, end, base);
    if (i == 0 || (i < end && digit_value(text[i]) < 10))
        return malformed(report, text, at);
    out->length = (uint16_t)i;
    return read_suffix(report, out, end, at);
}

/* ---- conversion to a type ---- */

static int integer_bits(vy_diag_sink *report, const vy_number *number, int negative, vyre_type type, vy_position at,
                        uint64_t *bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    int is_signed = layout->classes == VYRE_CLASS_SIGNED;
    uint64_t largest = is_signed ? layout->mask >> 1 : layout->mask;
    uint64_t limit = negative ? (is_signed ? largest + 1 : 0) : largest;
    int shown = number->length < 60 ? number->length : 60;
    if (number->is_float) {
        vy_diag_sink_error(
            report, VY_T032, at,
            VY_FIX("write an integer, or convert: `%s(%.*sf32)`", vyre_type_name(type), shown, number->text),
            "%.*s is not an integer (%s is expected here)", shown, number->text, vyre_type_name(type));
        return 0;
    }
    if (number->too_large || number->value > limit) {
        char text[256]; /* VY_FIX would end with the branch */
        const char *fix = NULL;
        if (negative && !is_signed && !number->too_large && number->value <= largest)
            fix = vy_fix_format(text, sizeof text, "write %" PRIu64 "%s for the wrapped value, or use a signed type",
                                (0 - number->value) & layout->mask, vyre_type_name(type));
        if (is_signed)
            vy_diag_sink_error(report, VY_T031, at, fix, "%s%.*s does not fit %s (-%" PRIu64 " to %" PRIu64 ")",
                               negative ? "-" : "", shown, number->text, vyre_type_name(type), largest + 1, largest);
        else
            vy_diag_sink_error(report, VY_T031, at, fix, "%s%.*s does not fit %s (0 to %" PRIu64 ")",
                               negative ? "-" : "", shown, number->text, vyre_type_name(type), largest);
        return 0;
    }
    *bits = (negative ? 0 - number->value : number->value) & layout->mask;
    return 1;
}

/* Whether an integer below 2^64 is exact with that many fraction bits; the conversion checks its magnitude. */
static int is_exact(uint64_t value, unsigned fraction_bits) {
    while (value && !(value & 1))
        value >>= 1;
    return value >> fraction_bits <= 1;
}

static int float_bits(vy_diag_sink *report, const vy_number *number, int negative, vyre_type type, vy_position at,
                      uint64_t *bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    unsigned fraction = (unsigned)__builtin_ctzll(layout->infinity), exponent = layout->bits - 1u - fraction;
    char digits[VY_NUMBER_LIMIT + 1];
    unsigned length = 0;
    int shown = number->length < 60 ? number->length : 60, dots = number->length > 60;
    if (!number->is_float && (number->too_large || !is_exact(number->value, fraction))) {
        vy_diag_sink_error(
            report, VY_T032, at,
            VY_FIX("write it as a float, to be rounded: `%.*s%s.0`", shown, number->text, dots ? "…" : ""),
            "the integer %.*s%s is not exact in %s", shown, number->text, dots ? "…" : "", vyre_type_name(type));
        return 0;
    }
    if (number->is_float)
        for (unsigned i = 0; i < number->length; i++) {
            if (number->text[i] != '_')
                digits[length++] = number->text[i];
        }
    else
        length = (unsigned)snprintf(digits, sizeof digits, "%" PRIu64, number->value);
    if (!vy_number_to_bits(digits, length, exponent, fraction, bits))
        return malformed(report, number->text, at);
    if (*bits >= layout->infinity) {
        vy_diag_sink_error(
            report, VY_T032, at, VY_FIX("write `%s.inf` for infinity, or use a wider type", vyre_type_name(type)),
            "%.*s%s is above the largest finite %s", shown, number->text, dots ? "…" : "", vyre_type_name(type));
        return 0;
    }
    if (negative)
        *bits |= layout->mask ^ layout->mask >> 1;
    return 1;
}

int vy_number_bits(vy_diag_sink *report, const vy_number *number, int negative, vyre_type type, vy_position at,
                   uint64_t *bits) {
    return vyre_type_class(type) == VYRE_CLASS_FLOAT ? float_bits(report, number, negative, type, at, bits)
                                                     : integer_bits(report, number, negative, type, at, bits);
}

/* ---- printing ---- */

static void print_float(vy_string *out, vyre_type type, uint64_t bits, int suffix) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    unsigned fraction = (unsigned)__builtin_ctzll(layout->infinity), exponent = layout->bits - 1u - fraction;
    uint64_t magnitude = bits & layout->mask >> 1;
    char digits[48];
    if (bits != magnitude)
        vy_string_char(out, '-');
    if (magnitude >= layout->infinity) {
        vy_string_format(out, "%s.%s", vyre_type_name(type), magnitude == layout->infinity ? "inf" : "nan");
        return;
    }
    vy_number_from_bits(magnitude, exponent, fraction, digits);
    vy_string_add(out, digits);
    if (suffix)
        vy_string_add(out, vyre_type_name(type));
}

void vy_number_print(vy_string *out, vyre_type type, uint64_t bits, int suffix) {
    const vy_type_layout *layout = &vy_type_layouts[type];
    if (layout->classes == VYRE_CLASS_BOOL) {
        vy_string_add(out, bits ? "true" : "false");
        return;
    }
    if (layout->classes == VYRE_CLASS_FLOAT) {
        print_float(out, type, bits, suffix);
        return;
    }
    int negative = layout->classes == VYRE_CLASS_SIGNED && (bits & (layout->mask ^ layout->mask >> 1));
    vy_string_format(out, "%s%" PRIu64 "%s", negative ? "-" : "", negative ? (0 - bits) & layout->mask : bits,
                     suffix ? vyre_type_name(type) : "");
}
