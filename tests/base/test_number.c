/* Reading is compared with MPFR (any type) and the C library (f32, f64); printing with what makes a text shortest and
 * nearest. */
#include "base/number_text.h"
#include "support/test.h"

#include <fenv.h>
#include <math.h>
#include <mpfr.h>

typedef struct format {
    const char *name;
    unsigned exponent_bits, fraction_bits;
} format;

static const format f16 = {"f16", 5, 10}, bf16 = {"bf16", 8, 7}, f32 = {"f32", 8, 23}, f64 = {"f64", 11, 52};
static const format *const formats[] = {&f16, &bf16, &f32, &f64};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static uint64_t infinity_of(const format *type) {
    return ((UINT64_C(1) << type->exponent_bits) - 1) << type->fraction_bits;
}

static uint64_t read_number(const char *text, const format *type) {
    uint64_t bits = UINT64_MAX;
    if (!vy_number_to_bits(text, strlen(text), type->exponent_bits, type->fraction_bits, &bits))
        fail_msg("`%s` is not taken for a number", text);
    return bits;
}

/* The exact value of bits, through ldexp, which never rounds here. */
static double value_of(uint64_t bits, const format *type) {
    uint64_t fraction = bits & ((UINT64_C(1) << type->fraction_bits) - 1);
    int field = (int)(bits >> type->fraction_bits), bias = (1 << (type->exponent_bits - 1)) - 1;
    if (bits == infinity_of(type))
        return INFINITY;
    if (field)
        fraction |= UINT64_C(1) << type->fraction_bits;
    return ldexp((double)fraction, (field ? field : 1) - bias - (int)type->fraction_bits);
}

/* The bits of a value that is exact in the type. */
static uint64_t bits_of(double value, const format *type) {
    if (value == 0)
        return 0;
    if (isinf(value))
        return infinity_of(type);
    int exponent, bias = (1 << (type->exponent_bits - 1)) - 1;
    frexp(value, &exponent);
    int lowest = 1 - bias, leading = exponent - 1 < lowest ? lowest : exponent - 1;
    uint64_t whole = (uint64_t)ldexp(value, (int)type->fraction_bits - leading);
    return exponent - 1 < lowest ? whole : whole + ((uint64_t)(leading + bias - 1) << type->fraction_bits);
}

/* What MPFR reads: one rounding, with the exponent range of the type, subnormals included. */
static uint64_t expected(const char *text, const format *type) {
    int bias = (1 << (type->exponent_bits - 1)) - 1;
    mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
    mpfr_set_emin(2 - bias - (int)type->fraction_bits);
    mpfr_set_emax(bias + 1);
    mpfr_t number;
    mpfr_init2(number, type->fraction_bits + 1);
    char *end;
    int inexact = mpfr_strtofr(number, text, &end, 0, MPFR_RNDN);
    if (*end)
        fail_msg("MPFR does not read `%s`", text);
    mpfr_subnormalize(number, inexact, MPFR_RNDN);
    double value = mpfr_get_d(number, MPFR_RNDN);
    mpfr_clear(number);
    mpfr_set_emin(low);
    mpfr_set_emax(high);
    return bits_of(value, type);
}

static void compare(const char *text, const format *type) {
    uint64_t found = read_number(text, type), right = expected(text, type);
    if (found != right)
        fail_msg("%s `%s` reads as %llx, but is %llx", type->name, text, (unsigned long long)found,
                 (unsigned long long)right);
}

static void small_and_well_known_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const format *type;
        uint64_t bits;
    } rows[] = {
        {"0", &f32, 0},
        {"0.0", &f32, 0},
        {"0e999999999999999999999", &f64, 0},
        {"0x0p99999999999999999999", &f64, 0},
        {"1", &f32, 0x3f800000},
        {"1.0", &f16, 0x3c00},
        {".5", &f16, 0x3800},
        {"5.", &f16, 0x4500},
        {"0.1", &f64, 0x3fb999999999999a},
        {"0.1", &f32, 0x3dcccccd},
        {"1e23", &f64, 0x44b52d02c7e14af6},
        {"65504", &f16, 0x7bff},
        {"65519.999", &f16, 0x7bff},
        {"65520", &f16, 0x7c00},
        {"1e400", &f64, 0x7ff0000000000000},
        {"1e99999999999999999999999", &f64, 0x7ff0000000000000},
        {"1e-99999999999999999999999", &f64, 0},
        {"4.9406564584124654e-324", &f64, 1},
        {"2.4703282292062327e-324", &f64, 0},
        {"2.4703282292062328e-324", &f64, 1},
        {"1.7976931348623157e308", &f64, 0x7fefffffffffffff},
        {"1.7976931348623159e308", &f64, 0x7ff0000000000000},
        {"2.2250738585072011e-308", &f64, 0x000fffffffffffff}, /* the one that hung PHP and Java */
        {"0x1p-1074", &f64, 1},
        {"0x1p-1075", &f64, 0},
        {"0x1.0000000000000000000001p-1075", &f64, 1},
        {"0x1.8p3", &f32, 0x41400000},
        {"0X.8P1", &f32, 0x3f800000},
        {"0xff", &f32, 0x437f0000},
        {"0x1.fffffeffffffffffffffffffffffffp127", &f32, 0x7f7fffff},
        {"0x1.ffffffp127", &f32, 0x7f800000},
        {"0x1.00000100000000000000000000000001p0", &f32, 0x3f800001},
        {"0x1.000001p0", &f32, 0x3f800000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t found = read_number(rows[i].text, rows[i].type);
        if (found != rows[i].bits)
            fail_msg("%s `%s` reads as %llx", rows[i].type->name, rows[i].text, (unsigned long long)found);
    }
}

static void what_is_no_number_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",    ".",    "e5",    "1e",    "1e+",     "1.2.3", "-1",
                                        "+1",  " 1",   "1 ",    "1f32",  "inf",     "nan",   "0x",
                                        "0x.", "0xp1", "0x1p",  "0x1p-", "0xg",     "1_000", "1,5",
                                        "0b1", "١",    "1e5.0", ".e1",   "0x1e+1p", "1p5",   "infinity"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint64_t bits = 7;
        if (vy_number_to_bits(wrong[i], strlen(wrong[i]), 8, 23, &bits))
            fail_msg("`%s` is taken for a number", wrong[i]);
        assert_int_equal(bits, 0);
    }
    uint64_t bits;
    assert_false(vy_number_to_bits(NULL, 0, 8, 23, &bits));
    assert_false(vy_number_to_bits("1", 1, 12, 52, &bits));
    assert_false(vy_number_to_bits("1", 1, 8, 53, &bits));
    assert_true(vy_number_to_bits("12", 1, 8, 23, &bits)); /* only `length` bytes count */
    assert_int_equal(bits, 0x3f800000);
}

static void make_decimal(vy_random *random, const format *type, char *text) {
    unsigned digits = 1 + (unsigned)vy_random_below(random, vy_random_below(random, 8) == 0 ? 40 : 20);
    unsigned point = (unsigned)vy_random_below(random, digits + 1);
    for (unsigned i = 0; i < digits; i++) {
        if (i == point)
            *text++ = '.';
        *text++ = (char)('0' + vy_random_below(random, 10));
    }
    int range = type->exponent_bits == 5 ? 12 : type->exponent_bits == 8 ? 52 : 345;
    if (vy_random_below(random, 4))
        text += sprintf(text, "e%d", (int)vy_random_below(random, 2 * (uint64_t)range) - range - (int)point + 1);
    *text = 0;
}

static unsigned cases(unsigned count) {
    return (VY_SANITIZED ? count / 20 : count) * vy_test_effort();
}

static void random_decimals_read_as_mpfr_reads_them(void **state) {
    (void)state;
    vy_random random = vy_random_start(2);
    char text[80];
    for (unsigned i = 0; i < cases(100000); i++) {
        for (int f = 0; f < FORMATS; f++) {
            make_decimal(&random, formats[f], text);
            compare(text, formats[f]);
        }
    }
}

static void random_decimals_read_as_the_c_library_reads_them(void **state) {
    (void)state;
    vy_random random = vy_random_start(3);
    char text[80];
    for (unsigned i = 0; i < cases(300000); i++) {
        make_decimal(&random, &f64, text);
        double wide = strtod(text, NULL);
        uint64_t wide_bits;
        memcpy(&wide_bits, &wide, sizeof wide_bits);
        if (read_number(text, &f64) != wide_bits)
            fail_msg("f64 `%s` differs from strtod", text);
        make_decimal(&random, &f32, text);
        float narrow = strtof(text, NULL);
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
        if (read_number(text, &f32) != narrow_bits)
            fail_msg("f32 `%s` differs from strtof", text);
    }
}

static void random_hexadecimals_read_as_mpfr_reads_them(void **state) {
    (void)state;
    vy_random random = vy_random_start(4);
    for (unsigned i = 0; i < cases(100000); i++) {
        const format *type = formats[vy_random_below(&random, FORMATS)];
        char text[80], *at = text + sprintf(text, "0x");
        unsigned digits = 1 + (unsigned)vy_random_below(&random, 30),
                 point = (unsigned)vy_random_below(&random, digits + 1);
        int sparse = vy_random_below(&random, 2) == 0; /* ties need many zeros */
        for (unsigned d = 0; d < digits; d++) {
            if (d == point)
                *at++ = '.';
            int zero = sparse && vy_random_below(&random, 4);
            *at++ = zero ? '0' : "0123456789abcdefABCDEF"[vy_random_below(&random, 22)];
        }
        int range = 1 << type->exponent_bits;
        sprintf(at, "p%d", (int)vy_random_below(&random, (uint64_t)range * 2) - range);
        compare(text, type);
    }
}

/* The exact decimal text of the point halfway between a value and the next, which has up to 767 digits. */
static void print_midpoint(uint64_t bits, const format *type, char *text, size_t size) {
    mpfr_t middle;
    mpfr_init2(middle, 80);
    mpfr_set_d(middle, value_of(bits, type), MPFR_RNDN);
    double next =
        bits + 1 == infinity_of(type) ? ldexp(1, (1 << (type->exponent_bits - 1)) - 1) : value_of(bits + 1, type);
    mpfr_add_d(middle, middle, next, MPFR_RNDN);
    if (bits + 1 == infinity_of(type)) /* value + 2^bias would halve to the wrong side: add 2^bias twice */
        mpfr_add_d(middle, middle, next, MPFR_RNDN);
    mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
    mpfr_snprintf(text, size, "%.780Re", middle);
    mpfr_clear(middle);
}

static void halfway_texts_of_any_length_round_once(void **state) {
    (void)state;
    vy_random random = vy_random_start(5);
    enum { ROOM = 4096 };
    char *text = malloc(ROOM), *changed = malloc(ROOM);
    for (unsigned i = 0; i < cases(3000); i++) {
        const format *type = formats[vy_random_below(&random, FORMATS)];
        uint64_t top = infinity_of(type);
        uint64_t bits = i % 16 == 0 ? i / 16 % 8 : i % 16 == 1 ? top - 1 : vy_random_below(&random, top);
        print_midpoint(bits, type, text, ROOM);
        uint64_t even = bits + (bits & 1);
        if (read_number(text, type) != even)
            fail_msg("%s: the midpoint above %llx does not round to even: %s", type->name, (unsigned long long)bits,
                     text);
        /* Ever so slightly more: a one behind more digits than are kept. */
        char *e = strchr(text, 'e');
        int zeros = (int)vy_random_below(&random, 2000);
        snprintf(changed, ROOM, "%.*s%0*d1%s", (int)(e - text), text, zeros + 1, 0, e);
        if (read_number(changed, type) != bits + 1)
            fail_msg("%s: more than the midpoint above %llx does not round up", type->name, (unsigned long long)bits);
        /* Ever so slightly less: the last digit that is not zero, lowered, and nines behind. */
        char *last = e - 1;
        while (*last == '0' || *last == '.')
            last--;
        (*last)--;
        snprintf(changed, ROOM, "%.*s%s%s", (int)(last + 1 - text), text, "9999999999999999999999999999999999999999",
                 e);
        if (strchr(changed, '.') && read_number(changed, type) != bits)
            fail_msg("%s: less than the midpoint above %llx does not round down", type->name, (unsigned long long)bits);
    }
    free(text);
    free(changed);
}

static void a_million_digits_are_read(void **state) {
    (void)state;
    enum { DIGITS = 1000000 };
    char *text = malloc(DIGITS + 32);
    memset(text, '9', DIGITS);
    strcpy(text + DIGITS, "e-1000000");
    assert_true(read_number(text, &f64) == 0x3ff0000000000000);
    memset(text, '0', DIGITS);
    text[1] = '.';
    strcpy(text + DIGITS, "1e999999");
    assert_true(read_number(text, &f64) == 0x3ff0000000000000);
    strcpy(text + DIGITS, "1");
    assert_int_equal(read_number(text, &f64), 0);
    free(text);
}

/* Digits and exponent of a text, without point: what is compared when the layout does not matter. */
static int digits_of(const char *text, char *digits) {
    int count = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text != '.' && (count || *text != '0'))
            digits[count++] = *text;
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = 0;
    return count;
}

static void check_printed(uint64_t bits, const format *type) {
    char text[40], digits[40], other[64], other_digits[64];
    memset(text, '#', sizeof text);
    vy_number_from_bits(bits, type->exponent_bits, type->fraction_bits, text);
    if (!memchr(text, 0, sizeof text) || strlen(text) > 24)
        fail_msg("%s %llx is printed too long", type->name, (unsigned long long)bits);
    if (read_number(text, type) != bits)
        fail_msg("%s %llx is printed as %s, which reads as something else", type->name, (unsigned long long)bits, text);
    if (!strpbrk(text, ".e"))
        fail_msg("%s %llx is printed as %s, without point or exponent", type->name, (unsigned long long)bits, text);
    double value = value_of(bits, type);
    if (value == 0)
        return;
    int count = digits_of(text, digits);
    /* Nearest: with that many digits the C library's exact printing gives the same, if that too reads back. */
    snprintf(other, sizeof other, "%.*e", count - 1, value);
    digits_of(other, other_digits);
    if (read_number(other, type) == bits && strcmp(digits, other_digits) != 0)
        fail_msg("%s %llx is printed as %s, but %s is nearer", type->name, (unsigned long long)bits, text, other);
    /* Shortest: with one digit less neither neighbour reads back. */
    if (count == 1)
        return;
    snprintf(other, sizeof other, "%.*e", count - 2, value);
    if (read_number(other, type) == bits)
        fail_msg("%s %llx is printed as %s, but %s is shorter", type->name, (unsigned long long)bits, text, other);
    char *e = strchr(other, 'e');
    for (int step = -1; step <= 1; step += 2) {
        /* The neighbours in the last place; a carry beyond it never matters, since then there is a still shorter
         * text. */
        char changed[64];
        snprintf(changed, sizeof changed, "%s", other);
        char *last = changed + (e - other) - 1;
        if ((step < 0 && *last == '0') || (step > 0 && *last == '9') || *last == '.')
            continue;
        *last = (char)(*last + step);
        if (read_number(changed, type) == bits)
            fail_msg("%s %llx is printed as %s, but %s is shorter", type->name, (unsigned long long)bits, text,
                     changed);
    }
}

static void every_narrow_value_is_printed_shortest_and_reads_back(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < infinity_of(&f16); bits++)
        check_printed(bits, &f16);
    for (uint64_t bits = 0; bits < infinity_of(&bf16); bits++)
        check_printed(bits, &bf16);
}

static void wide_values_are_printed_shortest_and_read_back(void **state) {
    (void)state;
    vy_random random = vy_random_start(6);
    for (int f = 2; f < FORMATS; f++) {
        const format *type = formats[f];
        for (uint64_t field = 0; field < (UINT64_C(1) << type->exponent_bits) - 1; field++) {
            /* Around every power of two, where the neighbours are unequally far. */
            for (int near = -2; near <= 2; near++) {
                uint64_t bits = (field << type->fraction_bits) + (uint64_t)near;
                if (bits < infinity_of(type))
                    check_printed(bits, type);
            }
        }
        for (unsigned i = 0; i < cases(100000); i++)
            check_printed(vy_random_below(&random, infinity_of(type)), type);
    }
}

static void expect_text(double value, const char *text) {
    uint64_t bits;
    char found[40];
    memcpy(&bits, &value, sizeof bits);
    vy_number_from_bits(bits, 11, 52, found);
    assert_string_equal(found, text);
}

static void numbers_are_laid_out_as_people_write_them(void **state) {
    (void)state;
    expect_text(0, "0.0");
    expect_text(1, "1.0");
    expect_text(100, "100.0");
    expect_text(0.1, "0.1");
    expect_text(123.456, "123.456");
    expect_text(0.0001, "0.0001");
    expect_text(0.00001234, "0.00001234");
    expect_text(0.000001234, "1.234e-6");
    expect_text(1e15, "1000000000000000.0");
    expect_text(1e16, "1e16");
    expect_text(1e22, "1e22");
    expect_text(1e23, "1e23");
    expect_text(5e-324, "5e-324");
    expect_text(1.7976931348623157e308, "1.7976931348623157e308");
    expect_text(9007199254740992.0, "9007199254740992.0");
    expect_text(INFINITY, "inf");
    expect_text(NAN, "nan");
}

static void neither_direction_looks_at_the_rounding_mode(void **state) {
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int m = 0; m < 3; m++) {
        fesetround(modes[m]);
        uint64_t bits = read_number("0.1", &f64), big = read_number("1e23", &f64);
        char text[40];
        vy_number_from_bits(bits, 11, 52, text);
        fesetround(FE_TONEAREST);
        assert_true(bits == 0x3fb999999999999a && big == 0x44b52d02c7e14af6);
        assert_string_equal(text, "0.1");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_well_known_numbers),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(random_decimals_read_as_mpfr_reads_them),
        cmocka_unit_test(random_decimals_read_as_the_c_library_reads_them),
        cmocka_unit_test(random_hexadecimals_read_as_mpfr_reads_them),
        cmocka_unit_test(halfway_texts_of_any_length_round_once),
        cmocka_unit_test(a_million_digits_are_read),
        cmocka_unit_test(every_narrow_value_is_printed_shortest_and_reads_back),
        cmocka_unit_test(wide_values_are_printed_shortest_and_read_back),
        cmocka_unit_test(numbers_are_laid_out_as_people_write_them),
        cmocka_unit_test(neither_direction_looks_at_the_rounding_mode),
    };
    int failed = cmocka_run_group_tests_name("number", tests, NULL, NULL);
    mpfr_free_cache();
    return failed;
}
