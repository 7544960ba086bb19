/* Special values of the dialect `math`: C23, Annex F.10, for every float type that a function exists for.
 *
 * A row is a call and its result. Numbers are rounded to the type; a row is left out for a type in which a number
 * overflows. NaN is the result for NaN in functions of one operand, without a row. */
#include "lib/map.h"

#include <math.h>
#include <mpfr.h>

#define PI "3.14159265358979323846"
#define HALF_PI "1.57079632679489661923"
#define QUARTER_PI "0.785398163397448309616"
#define THREE_QUARTER_PI "2.35619449019234492885"

typedef struct special_row {
    const char *name, *a, *b, *result; /* b: NULL for a function of one operand; an i32 for powi */
} special_row;

/* The rows of a function follow each other. */
static const special_row special[] = {
    {"exp", "0", NULL, "1"},
    {"exp", "-0", NULL, "1"},
    {"exp", "-inf", NULL, "0"},
    {"exp", "inf", NULL, "inf"},
    {"exp2", "0", NULL, "1"},
    {"exp2", "-0", NULL, "1"},
    {"exp2", "-inf", NULL, "0"},
    {"exp2", "inf", NULL, "inf"},
    {"exp10", "0", NULL, "1"},
    {"exp10", "-0", NULL, "1"},
    {"exp10", "-inf", NULL, "0"},
    {"exp10", "inf", NULL, "inf"},
    {"expm1", "0", NULL, "0"},
    {"expm1", "-0", NULL, "-0"},
    {"expm1", "-inf", NULL, "-1"},
    {"expm1", "inf", NULL, "inf"},
    {"exp2m1", "0", NULL, "0"},
    {"exp2m1", "-0", NULL, "-0"},
    {"exp2m1", "-inf", NULL, "-1"},
    {"exp2m1", "inf", NULL, "inf"},
    {"exp10m1", "0", NULL, "0"},
    {"exp10m1", "-0", NULL, "-0"},
    {"exp10m1", "-inf", NULL, "-1"},
    {"exp10m1", "inf", NULL, "inf"},
    {"log", "0", NULL, "-inf"},
    {"log", "-0", NULL, "-inf"},
    {"log", "1", NULL, "0"},
    {"log", "-1", NULL, "nan"},
    {"log", "-inf", NULL, "nan"},
    {"log", "inf", NULL, "inf"},
    {"log2", "0", NULL, "-inf"},
    {"log2", "-0", NULL, "-inf"},
    {"log2", "1", NULL, "0"},
    {"log2", "-1", NULL, "nan"},
    {"log2", "-inf", NULL, "nan"},
    {"log2", "inf", NULL, "inf"},
    {"log10", "0", NULL, "-inf"},
    {"log10", "-0", NULL, "-inf"},
    {"log10", "1", NULL, "0"},
    {"log10", "-1", NULL, "nan"},
    {"log10", "-inf", NULL, "nan"},
    {"log10", "inf", NULL, "inf"},
    {"log1p", "0", NULL, "0"},
    {"log1p", "-0", NULL, "-0"},
    {"log1p", "-1", NULL, "-inf"},
    {"log1p", "-2", NULL, "nan"},
    {"log1p", "-inf", NULL, "nan"},
    {"log1p", "inf", NULL, "inf"},
    {"log2p1", "0", NULL, "0"},
    {"log2p1", "-0", NULL, "-0"},
    {"log2p1", "-1", NULL, "-inf"},
    {"log2p1", "-2", NULL, "nan"},
    {"log2p1", "-inf", NULL, "nan"},
    {"log2p1", "inf", NULL, "inf"},
    {"log10p1", "0", NULL, "0"},
    {"log10p1", "-0", NULL, "-0"},
    {"log10p1", "-1", NULL, "-inf"},
    {"log10p1", "-2", NULL, "nan"},
    {"log10p1", "-inf", NULL, "nan"},
    {"log10p1", "inf", NULL, "inf"},
    {"sin", "0", NULL, "0"},
    {"sin", "-0", NULL, "-0"},
    {"sin", "inf", NULL, "nan"},
    {"sin", "-inf", NULL, "nan"},
    {"cos", "0", NULL, "1"},
    {"cos", "-0", NULL, "1"},
    {"cos", "inf", NULL, "nan"},
    {"cos", "-inf", NULL, "nan"},
    {"tan", "0", NULL, "0"},
    {"tan", "-0", NULL, "-0"},
    {"tan", "inf", NULL, "nan"},
    {"tan", "-inf", NULL, "nan"},
    {"sinpi", "0", NULL, "0"},
    {"sinpi", "-0", NULL, "-0"},
    {"sinpi", "1", NULL, "0"},
    {"sinpi", "2", NULL, "0"},
    {"sinpi", "-1", NULL, "-0"},
    {"sinpi", "-2", NULL, "-0"},
    {"sinpi", "1e30", NULL, "0"},
    {"sinpi", "-1e30", NULL, "-0"},
    {"sinpi", "inf", NULL, "nan"},
    {"sinpi", "-inf", NULL, "nan"},
    {"cospi", "0", NULL, "1"},
    {"cospi", "-0", NULL, "1"},
    {"cospi", "0.5", NULL, "0"},
    {"cospi", "1.5", NULL, "0"},
    {"cospi", "-0.5", NULL, "0"},
    {"cospi", "-1.5", NULL, "0"},
    {"cospi", "1e30", NULL, "1"},
    {"cospi", "inf", NULL, "nan"},
    {"cospi", "-inf", NULL, "nan"},
    {"tanpi", "0", NULL, "0"},
    {"tanpi", "-0", NULL, "-0"},
    {"tanpi", "1", NULL, "-0"},
    {"tanpi", "2", NULL, "0"},
    {"tanpi", "3", NULL, "-0"},
    {"tanpi", "-1", NULL, "0"},
    {"tanpi", "-2", NULL, "-0"},
    {"tanpi", "0.5", NULL, "inf"},
    {"tanpi", "1.5", NULL, "-inf"},
    {"tanpi", "-0.5", NULL, "-inf"},
    {"tanpi", "-1.5", NULL, "inf"},
    {"tanpi", "inf", NULL, "nan"},
    {"tanpi", "-inf", NULL, "nan"},
    {"asin", "0", NULL, "0"},
    {"asin", "-0", NULL, "-0"},
    {"asin", "1.5", NULL, "nan"},
    {"asin", "-inf", NULL, "nan"},
    {"acos", "1", NULL, "0"},
    {"acos", "1.5", NULL, "nan"},
    {"acos", "-inf", NULL, "nan"},
    {"atan", "0", NULL, "0"},
    {"atan", "-0", NULL, "-0"},
    {"atan", "inf", NULL, HALF_PI},
    {"atan", "-inf", NULL, "-" HALF_PI},
    {"asinpi", "0", NULL, "0"},
    {"asinpi", "-0", NULL, "-0"},
    {"asinpi", "1", NULL, "0.5"},
    {"asinpi", "-1", NULL, "-0.5"},
    {"asinpi", "1.5", NULL, "nan"},
    {"acospi", "1", NULL, "0"},
    {"acospi", "0", NULL, "0.5"},
    {"acospi", "-1", NULL, "1"},
    {"acospi", "1.5", NULL, "nan"},
    {"atanpi", "0", NULL, "0"},
    {"atanpi", "-0", NULL, "-0"},
    {"atanpi", "1", NULL, "0.25"},
    {"atanpi", "inf", NULL, "0.5"},
    {"atanpi", "-inf", NULL, "-0.5"},
    {"sinh", "0", NULL, "0"},
    {"sinh", "-0", NULL, "-0"},
    {"sinh", "inf", NULL, "inf"},
    {"sinh", "-inf", NULL, "-inf"},
    {"cosh", "0", NULL, "1"},
    {"cosh", "-0", NULL, "1"},
    {"cosh", "inf", NULL, "inf"},
    {"cosh", "-inf", NULL, "inf"},
    {"tanh", "0", NULL, "0"},
    {"tanh", "-0", NULL, "-0"},
    {"tanh", "inf", NULL, "1"},
    {"tanh", "-inf", NULL, "-1"},
    {"asinh", "0", NULL, "0"},
    {"asinh", "-0", NULL, "-0"},
    {"asinh", "inf", NULL, "inf"},
    {"asinh", "-inf", NULL, "-inf"},
    {"acosh", "1", NULL, "0"},
    {"acosh", "0.5", NULL, "nan"},
    {"acosh", "-2", NULL, "nan"},
    {"acosh", "-inf", NULL, "nan"},
    {"acosh", "inf", NULL, "inf"},
    {"atanh", "0", NULL, "0"},
    {"atanh", "-0", NULL, "-0"},
    {"atanh", "1", NULL, "inf"},
    {"atanh", "-1", NULL, "-inf"},
    {"atanh", "1.5", NULL, "nan"},
    {"atanh", "-inf", NULL, "nan"},
    {"cbrt", "0", NULL, "0"},
    {"cbrt", "-0", NULL, "-0"},
    {"cbrt", "inf", NULL, "inf"},
    {"cbrt", "-inf", NULL, "-inf"},
    {"cbrt", "-27", NULL, "-3"},
    {"rsqrt", "0", NULL, "inf"},
    {"rsqrt", "-0", NULL, "-inf"},
    {"rsqrt", "-1", NULL, "nan"},
    {"rsqrt", "-inf", NULL, "nan"},
    {"rsqrt", "inf", NULL, "0"},
    {"erf", "0", NULL, "0"},
    {"erf", "-0", NULL, "-0"},
    {"erf", "inf", NULL, "1"},
    {"erf", "-inf", NULL, "-1"},
    {"erfc", "0", NULL, "1"},
    {"erfc", "inf", NULL, "0"},
    {"erfc", "-inf", NULL, "2"},
    {"degrees", "-0", NULL, "-0"},
    {"degrees", "inf", NULL, "inf"},
    {"radians", "-0", NULL, "-0"},
    {"radians", "-inf", NULL, "-inf"},
    {"lgamma", "0", NULL, "inf"},
    {"lgamma", "-0", NULL, "inf"},
    {"lgamma", "1", NULL, "0"},
    {"lgamma", "2", NULL, "0"},
    {"lgamma", "-1", NULL, "inf"},
    {"lgamma", "-2", NULL, "inf"},
    {"lgamma", "-50", NULL, "inf"},
    {"lgamma", "inf", NULL, "inf"},
    {"lgamma", "-inf", NULL, "inf"},
    {"tgamma", "0", NULL, "inf"},
    {"tgamma", "-0", NULL, "-inf"},
    {"tgamma", "1", NULL, "1"},
    {"tgamma", "2", NULL, "1"},
    {"tgamma", "5", NULL, "24"},
    {"tgamma", "-1", NULL, "nan"},
    {"tgamma", "-2", NULL, "nan"},
    {"tgamma", "-50", NULL, "nan"},
    {"tgamma", "inf", NULL, "inf"},
    {"tgamma", "-inf", NULL, "nan"},
    {"tgamma", "200", NULL, "inf"},
    {"sigmoid", "0", NULL, "0.5"},
    {"sigmoid", "-0", NULL, "0.5"},
    {"sigmoid", "inf", NULL, "1"},
    {"sigmoid", "-inf", NULL, "0"},
    {"softplus", "inf", NULL, "inf"},
    {"softplus", "-inf", NULL, "0"},
    {"atan2", "0", "-0", PI},
    {"atan2", "-0", "-0", "-" PI},
    {"atan2", "0", "0", "0"},
    {"atan2", "-0", "0", "-0"},
    {"atan2", "0", "-2", PI},
    {"atan2", "-0", "-2", "-" PI},
    {"atan2", "0", "2", "0"},
    {"atan2", "-0", "2", "-0"},
    {"atan2", "-2", "0", "-" HALF_PI},
    {"atan2", "-2", "-0", "-" HALF_PI},
    {"atan2", "2", "0", HALF_PI},
    {"atan2", "2", "-0", HALF_PI},
    {"atan2", "2", "-inf", PI},
    {"atan2", "-2", "-inf", "-" PI},
    {"atan2", "2", "inf", "0"},
    {"atan2", "-2", "inf", "-0"},
    {"atan2", "inf", "2", HALF_PI},
    {"atan2", "-inf", "2", "-" HALF_PI},
    {"atan2", "inf", "-2", HALF_PI},
    {"atan2", "-inf", "-2", "-" HALF_PI},
    {"atan2", "inf", "-inf", THREE_QUARTER_PI},
    {"atan2", "-inf", "-inf", "-" THREE_QUARTER_PI},
    {"atan2", "inf", "inf", QUARTER_PI},
    {"atan2", "-inf", "inf", "-" QUARTER_PI},
    {"atan2", "nan", "1", "nan"},
    {"atan2", "1", "nan", "nan"},
    {"atan2", "nan", "inf", "nan"},
    {"atan2", "inf", "nan", "nan"},
    {"atan2", "nan", "nan", "nan"},
    {"atan2pi", "0", "-0", "1"},
    {"atan2pi", "-0", "-0", "-1"},
    {"atan2pi", "0", "0", "0"},
    {"atan2pi", "-0", "0", "-0"},
    {"atan2pi", "0", "-2", "1"},
    {"atan2pi", "-0", "-2", "-1"},
    {"atan2pi", "0", "2", "0"},
    {"atan2pi", "-0", "2", "-0"},
    {"atan2pi", "-2", "0", "-0.5"},
    {"atan2pi", "-2", "-0", "-0.5"},
    {"atan2pi", "2", "0", "0.5"},
    {"atan2pi", "2", "-0", "0.5"},
    {"atan2pi", "2", "-inf", "1"},
    {"atan2pi", "-2", "-inf", "-1"},
    {"atan2pi", "2", "inf", "0"},
    {"atan2pi", "-2", "inf", "-0"},
    {"atan2pi", "inf", "2", "0.5"},
    {"atan2pi", "-inf", "2", "-0.5"},
    {"atan2pi", "inf", "-2", "0.5"},
    {"atan2pi", "-inf", "-2", "-0.5"},
    {"atan2pi", "inf", "-inf", "0.75"},
    {"atan2pi", "-inf", "-inf", "-0.75"},
    {"atan2pi", "inf", "inf", "0.25"},
    {"atan2pi", "-inf", "inf", "-0.25"},
    {"atan2pi", "nan", "1", "nan"},
    {"atan2pi", "1", "nan", "nan"},
    {"atan2pi", "nan", "inf", "nan"},
    {"atan2pi", "inf", "nan", "nan"},
    {"atan2pi", "nan", "nan", "nan"},
    {"hypot", "inf", "nan", "inf"},
    {"hypot", "-inf", "nan", "inf"},
    {"hypot", "nan", "inf", "inf"},
    {"hypot", "nan", "-inf", "inf"},
    {"hypot", "inf", "1", "inf"},
    {"hypot", "1", "-inf", "inf"},
    {"hypot", "-3", "0", "3"},
    {"hypot", "-3", "-0", "3"},
    {"hypot", "0", "-3", "3"},
    {"hypot", "0", "-0", "0"},
    {"hypot", "-0", "-0", "0"},
    {"hypot", "3", "-4", "5"},
    {"hypot", "nan", "1", "nan"},
    {"hypot", "1", "nan", "nan"},
    {"hypot", "nan", "nan", "nan"},
    {"fmod", "0", "3", "0"},
    {"fmod", "-0", "3", "-0"},
    {"fmod", "-0", "-3", "-0"},
    {"fmod", "0", "inf", "0"},
    {"fmod", "-0", "-inf", "-0"},
    {"fmod", "5", "0", "nan"},
    {"fmod", "5", "-0", "nan"},
    {"fmod", "0", "0", "nan"},
    {"fmod", "inf", "3", "nan"},
    {"fmod", "-inf", "3", "nan"},
    {"fmod", "inf", "inf", "nan"},
    {"fmod", "5", "inf", "5"},
    {"fmod", "-5", "-inf", "-5"},
    {"fmod", "5", "3", "2"},
    {"fmod", "-5", "3", "-2"},
    {"fmod", "5", "-3", "2"},
    {"fmod", "-5", "-3", "-2"},
    {"fmod", "6", "3", "0"},
    {"fmod", "-6", "3", "-0"},
    {"fmod", "nan", "3", "nan"},
    {"fmod", "5", "nan", "nan"},
    {"fmod", "nan", "nan", "nan"},
    {"pow", "0", "-1", "inf"},
    {"pow", "-0", "-1", "-inf"},
    {"pow", "0", "-3", "inf"},
    {"pow", "-0", "-3", "-inf"},
    {"pow", "0", "-2", "inf"},
    {"pow", "-0", "-2", "inf"},
    {"pow", "0", "-0.5", "inf"},
    {"pow", "-0", "-0.5", "inf"},
    {"pow", "-0", "-1.5", "inf"},
    {"pow", "0", "-inf", "inf"},
    {"pow", "-0", "-inf", "inf"},
    {"pow", "0", "1", "0"},
    {"pow", "-0", "1", "-0"},
    {"pow", "0", "3", "0"},
    {"pow", "-0", "3", "-0"},
    {"pow", "0", "2", "0"},
    {"pow", "-0", "2", "0"},
    {"pow", "0", "0.5", "0"},
    {"pow", "-0", "0.5", "0"},
    {"pow", "0", "inf", "0"},
    {"pow", "-0", "inf", "0"},
    {"pow", "-1", "inf", "1"},
    {"pow", "-1", "-inf", "1"},
    {"pow", "1", "0", "1"},
    {"pow", "1", "-5", "1"},
    {"pow", "1", "inf", "1"},
    {"pow", "1", "-inf", "1"},
    {"pow", "1", "nan", "1"},
    {"pow", "0", "0", "1"},
    {"pow", "-0", "-0", "1"},
    {"pow", "inf", "0", "1"},
    {"pow", "-inf", "-0", "1"},
    {"pow", "nan", "0", "1"},
    {"pow", "nan", "-0", "1"},
    {"pow", "-5", "0", "1"},
    {"pow", "-8", "0.5", "nan"},
    {"pow", "-1", "1.5", "nan"},
    {"pow", "-2", "-0.25", "nan"},
    {"pow", "0.5", "-inf", "inf"},
    {"pow", "-0.5", "-inf", "inf"},
    {"pow", "2", "-inf", "0"},
    {"pow", "-2", "-inf", "0"},
    {"pow", "0.5", "inf", "0"},
    {"pow", "-0.5", "inf", "0"},
    {"pow", "2", "inf", "inf"},
    {"pow", "-2", "inf", "inf"},
    {"pow", "-inf", "-3", "-0"},
    {"pow", "-inf", "-2", "0"},
    {"pow", "-inf", "-0.5", "0"},
    {"pow", "-inf", "-inf", "0"},
    {"pow", "-inf", "3", "-inf"},
    {"pow", "-inf", "2", "inf"},
    {"pow", "-inf", "0.5", "inf"},
    {"pow", "-inf", "inf", "inf"},
    {"pow", "inf", "-1", "0"},
    {"pow", "inf", "-0.5", "0"},
    {"pow", "inf", "-inf", "0"},
    {"pow", "inf", "1", "inf"},
    {"pow", "inf", "0.5", "inf"},
    {"pow", "inf", "inf", "inf"},
    {"pow", "2", "-3", "0.125"},
    {"pow", "-2", "3", "-8"},
    {"pow", "4", "0.5", "2"},
    {"pow", "nan", "1", "nan"},
    {"pow", "2", "nan", "nan"},
    {"pow", "0", "nan", "nan"},
    {"pow", "-1", "nan", "nan"},
    {"pow", "inf", "nan", "nan"},
    {"pow", "nan", "inf", "nan"},
    {"pow", "nan", "nan", "nan"},
    {"powi", "nan", "0", "1"},
    {"powi", "0", "0", "1"},
    {"powi", "-0", "0", "1"},
    {"powi", "inf", "0", "1"},
    {"powi", "-inf", "0", "1"},
    {"powi", "0", "-1", "inf"},
    {"powi", "-0", "-1", "-inf"},
    {"powi", "-0", "-2", "inf"},
    {"powi", "0", "3", "0"},
    {"powi", "-0", "3", "-0"},
    {"powi", "-0", "2", "0"},
    {"powi", "inf", "-1", "0"},
    {"powi", "inf", "1", "inf"},
    {"powi", "-inf", "-3", "-0"},
    {"powi", "-inf", "-2", "0"},
    {"powi", "-inf", "3", "-inf"},
    {"powi", "-inf", "2", "inf"},
    {"powi", "1", "-2147483648", "1"},
    {"powi", "-1", "2147483647", "-1"},
    {"powi", "-1", "-2147483648", "1"},
    {"powi", "-2", "3", "-8"},
    {"powi", "2", "-3", "0.125"},
    {"powi", "nan", "1", "nan"},
    {"powi", "nan", "-2", "nan"},
};
enum { ROWS = sizeof special / sizeof *special, MOST = 128 };

static const struct {
    const char *name;
    int precision, exponent_bits;
} types[] = {{"f16", 11, 5}, {"bf16", 8, 8}, {"f32", 24, 8}, {"f64", 53, 11}};
enum { TYPES = sizeof types / sizeof *types };

static uint64_t infinity_of(int type) {
    return ((UINT64_C(1) << types[type].exponent_bits) - 1) << (types[type].precision - 1);
}

/* The bits of a number rounded to a type. None in the table is subnormal. */
static uint64_t number_bits(const char *text, int type) {
    const int precision = types[type].precision, exponent_bits = types[type].exponent_bits;
    const uint64_t one = UINT64_C(1) << (precision - 1);
    uint64_t bits = 0;
    double value;
    int exponent;
    mpfr_t number;

    mpfr_init2(number, precision);
    mpfr_strtofr(number, text, NULL, 0, MPFR_RNDN);
    value = mpfr_get_d(number, MPFR_RNDN);
    mpfr_clear(number);
    if (isnan(value))
        return infinity_of(type) | one >> 1;
    if (value != 0) {
        double fraction = frexp(fabs(value), &exponent);
        int biased = exponent + (1 << (exponent_bits - 1)) - 2;
        bits = isinf(value) || biased >= (1 << exponent_bits) - 1
                   ? infinity_of(type)
                   : ((uint64_t)biased << (precision - 1)) + (uint64_t)ldexp(fraction, precision) - one;
    }
    return bits | (uint64_t)(signbit(value) != 0) << (precision + exponent_bits - 1);
}

static int overflows(const char *text, int type) {
    return !strpbrk(text, "fn") && (number_bits(text, type) & infinity_of(type)) == infinity_of(type);
}

/* The results of the rows that run, in order. */
static struct {
    uint64_t results[MOST];
    size_t next;
} expected;

static void expect_next(const uint64_t *in, uint64_t *out) {
    (void)in;
    out[0] = expected.results[expected.next++];
}

/* Runs the rows from `first` to before `end`, which are those of one function. */
static void run_rows(size_t first, size_t end, int type, const char *id, vyre_dialects_guard guard) {
    const int is_unary = !special[first].b, is_integer = strcmp(special[first].name, "powi") == 0;
    uint64_t a[MOST], b[MOST], *in[] = {a, b};
    char shape_text[64], text[1024];
    size_t count = 0;
    map_function function = {id, shape_text, expect_next};
    map_shape shape;
    library l;

    snprintf(shape_text, sizeof shape_text, "%s %s -> %s", types[type].name,
             is_unary     ? ""
             : is_integer ? "i32"
                          : types[type].name,
             types[type].name);
    for (size_t i = first; i < end; i++) {
        const special_row *row = &special[i];
        if (overflows(row->a, type) || overflows(row->result, type) ||
            (row->b && !is_integer && overflows(row->b, type)))
            continue;
        assert_true(count + 1 < MOST);
        a[count] = number_bits(row->a, type);
        b[count] = is_unary ? 0 : is_integer ? (uint32_t)atol(row->b) : number_bits(row->b, type);
        expected.results[count++] = number_bits(row->result, type);
    }
    if (is_unary)
        a[count] = expected.results[count] = number_bits("nan", type), count++;
    expected.next = 0;
    shape = map_parse(shape_text);
    map_program(id, &shape, text, sizeof text);
    library_open_resolved(&l, "math", text, guard);
    l.seeds = 0;
    map_rows(&function, &shape, &l, in, count);
    assert_int_equal(expected.next, count);
    library_close(&l);
}

static void run_type(int type) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    size_t functions = 0;

    for (size_t first = 0, end; first < ROWS; first = end) {
        char id[64];
        for (end = first; end < ROWS && strcmp(special[first].name, special[end].name) == 0;)
            end++;
        snprintf(id, sizeof id, "math.%s_%s", special[first].name, types[type].name);
        if (!vyre_dialects_find(guard, id, strlen(id)))
            continue;
        run_rows(first, end, type, id, guard);
        functions++;
    }
    vyre_dialects_release(&guard);
    print_message("%s: %zu functions\n", types[type].name, functions);
    if (strcmp(types[type].name, "f32") == 0)
        assert_true(functions >= 40);
}

static void special_values_are_those_of_c23(void **state) {
    (void)state;
    for (int type = 0; type < TYPES; type++)
        run_type(type);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values_are_those_of_c23),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
