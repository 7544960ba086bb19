/* The dialect `math` against MPFR: every function is correctly rounded.
 *
 * bench/bench_math_accuracy.c tests all inputs. Here are samples, and the inputs whose results are closest to a
 * tie, as that program found them (math_hard_cases.txt). test_math_special.c has the special values. */
#include "lib/model_math.h"

#include "support/math_judge_f64.h"

static void every_function_is_correctly_rounded(void **state) {
    (void)state;
    map_check("math", math_functions, MAP_COUNT(math_functions));
    map_check("math", math_f64_functions, MAP_COUNT(math_f64_functions));
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

/* Runs a function on columns of inputs, and compares the results with MPFR; with `want` also with these. */
static void run(const char *name, uint64_t **in, const uint32_t *want, size_t count) {
    map_shape shape;
    library l;

    map_open(&l, "math", "", find(name), &shape);
    l.checks = 0;
    map_rows(find(name), &shape, &l, in, count);
    for (size_t i = 0; want && i < count; i++) {
        uint32_t got = ((const uint32_t *)l.outputs[0].data)[i];
        if (got != want[i])
            fail_msg("%s(%08x, …) is %08x, expected %08x", name, (unsigned)in[0][i], got, want[i]);
    }
    library_close(&l);
}

/* Results with at most 25 bits: n^y for small odd n, also as a subnormal; roots of powers; powers of 2. */
static void pow_of_exact_results_and_ties_is_correctly_rounded(void **state) {
    enum { MOST = 1 << 16 };
    static uint64_t x[MOST], y[MOST];
    uint64_t *in[] = {x, y};
    size_t count = 0;

    (void)state;
#define PAIR(base, exponent) (x[count] = math_bits((float)(base)), y[count++] = math_bits((float)(exponent)))
    for (int k = 2; k <= 15; k++)
        for (int n = 3; pow(n, k) < 0x1p25; n += 2) {
            double power = pow(n, k);
            PAIR(n, k);
            PAIR(-n * 0x1p-20, k);
            for (int bits = -152; bits <= -146; bits++) /* the last bit of the result, below which a subnormal is cut */
                if (bits % k == 0)
                    PAIR(n * ldexp(1, bits / k), k);
            if (power < 0x1p24 && (k & (k - 1)) == 0) {
                PAIR(power, 1.0 / k);
                PAIR(power, 3.0 / k);
            }
        }
    for (int e = -149; e < 128; e++)
        for (int k = -8; k <= 8; k++)
            PAIR(ldexp(1, e), k / 4.0);
#undef PAIR
    assert_true(count <= MOST);
    run("pow", in, NULL, count);
}

/* An odd number of inputs over all bit patterns. */
static void samples_of_all_bit_patterns_are_correctly_rounded(void **state) {
    enum { STEP = 1048573 };
    static uint64_t in[(UINT64_C(1) << 32) / STEP + 1];
    uint64_t *columns[] = {in};

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        in[i] = map_canonical("f32", i * STEP);
    for (int i = 0; i < MATH_JUDGES; i++)
        run(math_judges[i].name, columns, NULL, sizeof in / sizeof *in);
}

/* A line has the name of a function, its one or two operands, and the result. */
static void the_hardest_cases_are_correctly_rounded(void **state) {
    enum { MOST = 4096 };
    static uint64_t first[MOST], second[MOST];
    static uint32_t want[MOST];
    uint64_t *in[] = {first, second};
    char line[128], name[32], current[32] = "";
    size_t count = 0;
    FILE *file = fopen(vy_test_path("tests/lib/math_hard_cases.txt"), "r");

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        unsigned a, b, c;
        int numbers = sscanf(line, "%31s %x %x %x", name, &a, &b, &c) - 1;
        assert_true(numbers == 2 || numbers == 3);
        if (strcmp(name, current) != 0) {
            if (count)
                run(current, in, want, count);
            strcpy(current, name);
            count = 0;
        }
        assert_true(count < MOST);
        first[count] = a;
        second[count] = b;
        want[count++] = numbers == 2 ? b : c;
    }
    fclose(file);
    assert_true(count > 0);
    run(current, in, want, count);
}

/* The exact results are 2^-44 units from a tie. These functions state a bound, and round to the other neighbour. */
static void published_hard_pairs_are_within_the_bound(void **state) {
    static const struct {
        const char *name;
        uint32_t y, x;
    } pairs[] = {{"atan2", 0x495a5ef7, 0x4b60cda0}, {"atan2pi", 0x4b9129f0, 0xcb5ef4a3}};

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const vyre_span inputs[] = {{&pairs[i].y, 4}, {&pairs[i].x, 4}};
        map_shape shape;
        library l;
        map_open(&l, "math", "", find(pairs[i].name), &shape);
        library_run(&l, NULL, 0, inputs, 2);
        math_judge_start(&math_f32);
        assert_true(math_error(NULL, math_pair_judge_find(pairs[i].name)->exact, &math_f32, pairs[i].y, pairs[i].x,
                               *(const uint32_t *)l.outputs[0].data) < 0.5 + 0x1p-40);
        library_close(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_correctly_rounded),
        cmocka_unit_test(pow_of_exact_results_and_ties_is_correctly_rounded),
        cmocka_unit_test(samples_of_all_bit_patterns_are_correctly_rounded),
        cmocka_unit_test(the_hardest_cases_are_correctly_rounded),
        cmocka_unit_test(published_hard_pairs_are_within_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
