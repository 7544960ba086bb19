/* The dialect `math` against MPFR: every function is correctly rounded.
 *
 * bench/bench_math_accuracy.c tests all inputs. Here are special values, samples, and the inputs whose results are
 * closest to a tie, as that program found them (math_hard_cases.txt). */
#include "lib/model_math.h"

static void every_function_is_correctly_rounded(void **state) {
    (void)state;
    map_check("math", math_functions, MAP_COUNT(math_functions));
}

static const map_function *find(const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s_f32", name);
    for (size_t i = 0; i < MAP_COUNT(math_functions); i++)
        if (strcmp(math_functions[i].name, full) == 0)
            return &math_functions[i];
    fail_msg("%s is not in the table of functions", name);
    return NULL;
}

/* Runs a function on inputs, and compares the results with MPFR; with `want` also with these. */
static void run(const char *name, uint64_t *in, const uint32_t *want, size_t count) {
    map_shape shape;
    library l;

    map_open(&l, "math", "", find(name), &shape);
    l.checks = 0;
    map_rows(find(name), &shape, &l, &in, count);
    for (size_t i = 0; want && i < count; i++) {
        uint32_t got = ((const uint32_t *)l.outputs[0].data)[i];
        if (got != want[i])
            fail_msg("%s(%08x) is %08x, expected %08x", name, (unsigned)in[i], got, want[i]);
    }
    library_close(&l);
}

/* An odd number of inputs over all bit patterns. */
static void samples_of_all_bit_patterns_are_correctly_rounded(void **state) {
    enum { STEP = 1048573 };
    static uint64_t in[(UINT64_C(1) << 32) / STEP + 1];

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        in[i] = map_canonical("f32", i * STEP);
    for (int i = 0; i < MATH_JUDGES; i++)
        run(math_judges[i].name, in, NULL, sizeof in / sizeof *in);
}

/* C23, F.10.1 to F.10.5 and F.10.8: what a function returns for what it is given. */
static const struct {
    const char *name, *in, *out;
} special[] = {
    {"exp", "0", "1"},
    {"exp", "-0", "1"},
    {"exp", "-inf", "0"},
    {"exp", "inf", "inf"},
    {"exp2", "0", "1"},
    {"exp2", "-0", "1"},
    {"exp2", "-inf", "0"},
    {"exp2", "inf", "inf"},
    {"exp10", "0", "1"},
    {"exp10", "-0", "1"},
    {"exp10", "-inf", "0"},
    {"exp10", "inf", "inf"},
    {"expm1", "0", "0"},
    {"expm1", "-0", "-0"},
    {"expm1", "-inf", "-1"},
    {"expm1", "inf", "inf"},
    {"exp2m1", "0", "0"},
    {"exp2m1", "-0", "-0"},
    {"exp2m1", "-inf", "-1"},
    {"exp2m1", "inf", "inf"},
    {"exp10m1", "0", "0"},
    {"exp10m1", "-0", "-0"},
    {"exp10m1", "-inf", "-1"},
    {"exp10m1", "inf", "inf"},
    {"log", "0", "-inf"},
    {"log", "-0", "-inf"},
    {"log", "1", "0"},
    {"log", "-1", "nan"},
    {"log", "-inf", "nan"},
    {"log", "inf", "inf"},
    {"log2", "0", "-inf"},
    {"log2", "-0", "-inf"},
    {"log2", "1", "0"},
    {"log2", "-1", "nan"},
    {"log2", "-inf", "nan"},
    {"log2", "inf", "inf"},
    {"log10", "0", "-inf"},
    {"log10", "-0", "-inf"},
    {"log10", "1", "0"},
    {"log10", "-1", "nan"},
    {"log10", "-inf", "nan"},
    {"log10", "inf", "inf"},
    {"log1p", "0", "0"},
    {"log1p", "-0", "-0"},
    {"log1p", "-1", "-inf"},
    {"log1p", "-2", "nan"},
    {"log1p", "-inf", "nan"},
    {"log1p", "inf", "inf"},
    {"log2p1", "0", "0"},
    {"log2p1", "-0", "-0"},
    {"log2p1", "-1", "-inf"},
    {"log2p1", "-2", "nan"},
    {"log2p1", "-inf", "nan"},
    {"log2p1", "inf", "inf"},
    {"log10p1", "0", "0"},
    {"log10p1", "-0", "-0"},
    {"log10p1", "-1", "-inf"},
    {"log10p1", "-2", "nan"},
    {"log10p1", "-inf", "nan"},
    {"log10p1", "inf", "inf"},
    {"sin", "0", "0"},
    {"sin", "-0", "-0"},
    {"sin", "inf", "nan"},
    {"sin", "-inf", "nan"},
    {"cos", "0", "1"},
    {"cos", "-0", "1"},
    {"cos", "inf", "nan"},
    {"cos", "-inf", "nan"},
    {"tan", "0", "0"},
    {"tan", "-0", "-0"},
    {"tan", "inf", "nan"},
    {"tan", "-inf", "nan"},
    {"sinpi", "0", "0"},
    {"sinpi", "-0", "-0"},
    {"sinpi", "1", "0"},
    {"sinpi", "2", "0"},
    {"sinpi", "-1", "-0"},
    {"sinpi", "-2", "-0"},
    {"sinpi", "1e30", "0"},
    {"sinpi", "-1e30", "-0"},
    {"sinpi", "inf", "nan"},
    {"sinpi", "-inf", "nan"},
    {"cospi", "0", "1"},
    {"cospi", "-0", "1"},
    {"cospi", "0.5", "0"},
    {"cospi", "1.5", "0"},
    {"cospi", "-0.5", "0"},
    {"cospi", "-1.5", "0"},
    {"cospi", "1e30", "1"},
    {"cospi", "inf", "nan"},
    {"cospi", "-inf", "nan"},
    {"tanpi", "0", "0"},
    {"tanpi", "-0", "-0"},
    {"tanpi", "1", "-0"},
    {"tanpi", "2", "0"},
    {"tanpi", "3", "-0"},
    {"tanpi", "-1", "0"},
    {"tanpi", "-2", "-0"},
    {"tanpi", "0.5", "inf"},
    {"tanpi", "1.5", "-inf"},
    {"tanpi", "-0.5", "-inf"},
    {"tanpi", "-1.5", "inf"},
    {"tanpi", "inf", "nan"},
    {"tanpi", "-inf", "nan"},
    {"asin", "0", "0"},
    {"asin", "-0", "-0"},
    {"asin", "1.5", "nan"},
    {"asin", "-inf", "nan"},
    {"acos", "1", "0"},
    {"acos", "1.5", "nan"},
    {"acos", "-inf", "nan"},
    {"atan", "0", "0"},
    {"atan", "-0", "-0"},
    {"atan", "inf", "0x1.921fb6p0"},
    {"atan", "-inf", "-0x1.921fb6p0"},
    {"asinpi", "0", "0"},
    {"asinpi", "-0", "-0"},
    {"asinpi", "1", "0.5"},
    {"asinpi", "-1", "-0.5"},
    {"asinpi", "1.5", "nan"},
    {"acospi", "1", "0"},
    {"acospi", "0", "0.5"},
    {"acospi", "-1", "1"},
    {"acospi", "1.5", "nan"},
    {"atanpi", "0", "0"},
    {"atanpi", "-0", "-0"},
    {"atanpi", "1", "0.25"},
    {"atanpi", "inf", "0.5"},
    {"atanpi", "-inf", "-0.5"},
    {"sinh", "0", "0"},
    {"sinh", "-0", "-0"},
    {"sinh", "inf", "inf"},
    {"sinh", "-inf", "-inf"},
    {"cosh", "0", "1"},
    {"cosh", "-0", "1"},
    {"cosh", "inf", "inf"},
    {"cosh", "-inf", "inf"},
    {"tanh", "0", "0"},
    {"tanh", "-0", "-0"},
    {"tanh", "inf", "1"},
    {"tanh", "-inf", "-1"},
    {"asinh", "0", "0"},
    {"asinh", "-0", "-0"},
    {"asinh", "inf", "inf"},
    {"asinh", "-inf", "-inf"},
    {"acosh", "1", "0"},
    {"acosh", "0.5", "nan"},
    {"acosh", "-2", "nan"},
    {"acosh", "-inf", "nan"},
    {"acosh", "inf", "inf"},
    {"atanh", "0", "0"},
    {"atanh", "-0", "-0"},
    {"atanh", "1", "inf"},
    {"atanh", "-1", "-inf"},
    {"atanh", "1.5", "nan"},
    {"atanh", "-inf", "nan"},
    {"cbrt", "0", "0"},
    {"cbrt", "-0", "-0"},
    {"cbrt", "inf", "inf"},
    {"cbrt", "-inf", "-inf"},
    {"cbrt", "-27", "-3"},
    {"rsqrt", "0", "inf"},
    {"rsqrt", "-0", "-inf"},
    {"rsqrt", "-1", "nan"},
    {"rsqrt", "-inf", "nan"},
    {"rsqrt", "inf", "0"},
    {"erf", "0", "0"},
    {"erf", "-0", "-0"},
    {"erf", "inf", "1"},
    {"erf", "-inf", "-1"},
    {"erfc", "0", "1"},
    {"erfc", "inf", "0"},
    {"erfc", "-inf", "2"},
    {"degrees", "-0", "-0"},
    {"degrees", "inf", "inf"},
    {"radians", "-0", "-0"},
    {"radians", "-inf", "-inf"},
};

static void special_values_are_those_of_c23(void **state) {
    size_t count = sizeof special / sizeof *special;

    (void)state;
    for (size_t first = 0, end; first < count; first = end) {
        uint64_t in[32];
        uint32_t want[32];
        size_t used = 0;
        for (end = first; end < count && strcmp(special[first].name, special[end].name) == 0; end++, used++) {
            in[used] = math_bits(strtof(special[end].in, NULL));
            want[used] = math_bits(strtof(special[end].out, NULL));
        }
        in[used] = 0x7fc00000; /* NaN is NaN */
        want[used++] = 0x7fc00000;
        assert_true(used <= 32);
        run(special[first].name, in, want, used);
    }
}

static void the_hardest_cases_are_correctly_rounded(void **state) {
    enum { MOST = 4096 };
    static uint64_t in[MOST];
    static uint32_t want[MOST];
    char name[32], current[32] = "";
    unsigned bits, result;
    size_t count = 0;
    FILE *file = fopen(vy_test_path("tests/lib/math_hard_cases.txt"), "r");

    (void)state;
    assert_non_null(file);
    while (fscanf(file, "%31s %x %x", name, &bits, &result) == 3) {
        if (strcmp(name, current) != 0) {
            if (count)
                run(current, in, want, count);
            strcpy(current, name);
            count = 0;
        }
        assert_true(count < MOST);
        in[count] = bits;
        want[count++] = result;
    }
    fclose(file);
    assert_true(count > 0);
    run(current, in, want, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_correctly_rounded),
        cmocka_unit_test(samples_of_all_bit_patterns_are_correctly_rounded),
        cmocka_unit_test(special_values_are_those_of_c23),
        cmocka_unit_test(the_hardest_cases_are_correctly_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
