/* Text form of scalars (scalar_text.h). */
#include "tool/scalar_text.h"

#include "base/number_text.h"
#include "vyre/op.h"

#include <inttypes.h>

/* Exponent and fraction bits of the float types; zeros for the others. */
static const struct {
    unsigned char exponent, fraction;
} formats[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_F16] = {5, 10},
    [VYRE_TYPE_BF16] = {8, 7},
    [VYRE_TYPE_F32] = {8, 23},
    [VYRE_TYPE_F64] = {11, 52},
};

static int is(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static uint64_t type_mask(vyre_type type) {
    unsigned bits = vyre_type_bits(type);
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static vyre_status not_a_value(const char *text, size_t length, vyre_type type, vyre_error *error) {
    const unsigned class = vyre_type_class(type);
    const char *fix = class == VYRE_CLASS_BOOL       ? "write true or false"
                      : class == VYRE_CLASS_FLOAT    ? "write a number such as 2.5, 1e-3, inf or nan"
                      : class == VYRE_CLASS_UNSIGNED ? "write a whole number such as 42 or 0x2a"
                                                     : "write a whole number such as 42, -7 or 0x2a";
    return vy_fail(error, VYRE_INVALID_ARGUMENT, fix, "`%.*s` is not a value of type %s",
                   (int)(length < 60 ? length : 60), text, vyre_type_name(type));
}

static vyre_status out_of_range(const char *text, size_t length, vyre_type type, vyre_error *error) {
    char low[TOOL_SCALAR_TEXT], high[TOOL_SCALAR_TEXT];
    uint64_t mask = type_mask(type);
    int is_signed = vyre_type_class(type) == VYRE_CLASS_SIGNED;

    tool_scalar_write(type, is_signed ? mask / 2 + 1 : 0, low);
    tool_scalar_write(type, is_signed ? mask / 2 : mask, high);
    return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write a value from %s to %s", low, high),
                   "%.*s is out of range for %s (%s to %s)", (int)(length < 60 ? length : 60), text,
                   vyre_type_name(type), low, high);
}

/* Refuses a number that rounds to infinity. Infinity itself is written `inf`. */
static vyre_status over_largest(const char *text, size_t length, vyre_type type, vyre_error *error) {
    char high[TOOL_SCALAR_TEXT];
    uint64_t largest = (((UINT64_C(1) << formats[type].exponent) - 1) << formats[type].fraction) - 1;
    int is_short =
        vyre_type_size(type) == 2; /* the shortest text of the largest f16 is 65500.0, below its exact value 65504.0 */

    if (is_short)
        largest = vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_F64, type, largest, 0, 0);
    tool_scalar_write(is_short ? VYRE_TYPE_F64 : type, largest, high);
    return vy_fail(error, VYRE_INVALID_ARGUMENT,
                   VY_FIX("write a value from -%s to %s, or %sinf for infinity", high, high, text[0] == '-' ? "-" : ""),
                   "%.*s is out of range for %s (-%s to %s)", (int)(length < 60 ? length : 60), text,
                   vyre_type_name(type), high, high);
}

static vyre_status read_integer(const char *text, size_t length, vyre_type type, uint64_t *bits, vyre_error *error) {
    int negative = length > 0 && text[0] == '-';
    const char *digits = text + negative;
    size_t count = length - (size_t)negative;
    unsigned base = 10;
    uint64_t mask = type_mask(type), value = 0, limit;

    if (count > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        base = 16;
        digits += 2;
        count -= 2;
    }
    /* A bit pattern written in hexadecimal may use the sign bit: 0xffffffff is -1 as an i32. */
    limit = vyre_type_class(type) == VYRE_CLASS_UNSIGNED ? (negative ? 0 : mask)
            : negative                                   ? mask / 2 + 1
                                                         : (base == 16 ? mask : mask / 2);
    int result = vy_parse_digits(digits, count, base, limit, &value);
    if (result <= 0)
        return (result == 0 ? not_a_value : out_of_range)(text, length, type, error);
    *bits = (negative ? 0 - value : value) & mask;
    return VYRE_OK;
}

static vyre_status read_float(const char *text, size_t length, vyre_type type, uint64_t *bits, vyre_error *error) {
    unsigned exponent = formats[type].exponent, fraction = formats[type].fraction;
    int negative = length > 0 && text[0] == '-';
    const char *digits = text + negative;
    size_t count = length - (size_t)negative;

    if (is(digits, count, "nan")) {
        *bits = vyre_scalar_bits(type, type_mask(type)).bits;
        return VYRE_OK;
    }
    const uint64_t infinity = ((UINT64_C(1) << exponent) - 1) << fraction;
    if (is(digits, count, "inf"))
        *bits = infinity;
    else if (!vy_number_to_bits(digits, count, exponent, fraction, bits))
        return not_a_value(text, length, type, error);
    else if (*bits == infinity)
        return over_largest(text, length, type, error);
    if (negative)
        *bits |= UINT64_C(1) << (exponent + fraction);
    return VYRE_OK;
}

vyre_status tool_scalar_read(const char *text, size_t length, vyre_type type, uint64_t *bits, vyre_error *error) {
    const char *name = vyre_type_name(type);
    size_t suffix = strlen(name);

    if (type == VYRE_TYPE_BOOL) {
        *bits = is(text, length, "true");
        return *bits || is(text, length, "false") ? VYRE_OK : not_a_value(text, length, type, error);
    }
    /* In hexadecimal, a final f32 is digits: 0x1f32 has no suffix. */
    if (length > suffix && memcmp(text + length - suffix, name, suffix) == 0 &&
        !(name[0] == 'f' && memchr(text, 'x', length) && !memchr(text, 'p', length)))
        length -= suffix;
    return vyre_type_class(type) == VYRE_CLASS_FLOAT ? read_float(text, length, type, bits, error)
                                                     : read_integer(text, length, type, bits, error);
}

static void write_float(vyre_type type, uint64_t bits, char text[TOOL_SCALAR_TEXT]) {
    unsigned exponent = formats[type].exponent, fraction = formats[type].fraction;
    uint64_t sign = UINT64_C(1) << (exponent + fraction), infinity = sign - (UINT64_C(1) << fraction);

    if ((bits & ~sign) > infinity) {
        strcpy(text, "nan");
        return;
    }
    if (bits & sign)
        *text++ = '-';
    bits &= ~sign;
    if (bits == infinity)
        strcpy(text, "inf");
    else
        vy_number_from_bits(bits, exponent, fraction, text);
}

void tool_scalar_write(vyre_type type, uint64_t bits, char text[TOOL_SCALAR_TEXT]) {
    unsigned width = vyre_type_bits(type);

    switch (vyre_type_class(type)) {
    case VYRE_CLASS_BOOL:
        strcpy(text, bits ? "true" : "false");
        return;
    case VYRE_CLASS_FLOAT:
        write_float(type, bits, text);
        return;
    case VYRE_CLASS_SIGNED:
        if (bits >> (width - 1)) {
            snprintf(text, TOOL_SCALAR_TEXT, "-%" PRIu64, (0 - bits) & type_mask(type));
            return;
        }
        break;
    default:
        break;
    }
    snprintf(text, TOOL_SCALAR_TEXT, "%" PRIu64, bits);
}

int tool_scalar_less(vyre_type type, uint64_t a, uint64_t b) {
    return vyre_op_evaluate(VYRE_OP_LT, VYRE_TYPE_BOOL, type, a, b, 0) != 0;
}
