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

/* Of those that the CORE-MATH project published: results that are closest to a tie, and pairs that other libraries
 * round wrongly. The rows of a function follow each other. */
static void published_hard_pairs_are_correctly_rounded(void **state) {
    static const struct {
        const char *name;
        float first, second;
    } pairs[] = {
        {"atan2", 0x1.b8748cp-2, -0x1.9cf606p23},     {"atan2", 0x1.b874ecp5, -0x1.f2a172p23},
        {"atan2", 0x1.5f325p3, -0x1.09e3e8p21},       {"atan2", 0x1.99a5d6p7, -0x1.bb5ca2p23},
        {"atan2", 0x1.da330cp8, -0x1.069bb8p23},      {"atan2", 0x1.3fe47ap10, -0x1.4cce5ap23},
        {"atan2", 0x1.334de2p12, -0x1.d11cc4p23},     {"atan2", 0x1.507ebp15, -0x1.f62514p22},
        {"atan2", 0x1.c84ca8p21, -0x1.00b24ap23},     {"atan2", 0x1.9cf606p49, 0x1.b8748cp23},
        {"atan2", 0x1.24c4e8p45, 0x1.caab8ap23},      {"atan2", 0x1.3206d2p44, 0x1.3c3a08p23},
        {"atan2", 0x1.426a12p45, -0x1.ce2106p23},     {"atan2", 0x1.824c46p37, 0x1.96c50cp23},
        {"atan2", 0x1.3ee9f4p37, 0x1.7e87d2p23},      {"atan2", 0x1.6cd764p22, -0x1.e13f8ap23},
        {"atan2", 0x1.0cb3a4p20, -0x1.4ebacp22},      {"atan2", 0x1.4725acp24, -0x1.778c46p23},
        {"atan2", 0x1.68d952p24, -0x1.9a76f2p23},     {"atan2", 0x1.ece24p24, -0x1.c45e9ap23},
        {"atan2", 0x1.196526p25, -0x1.5a762cp23},     {"atan2", 0x1.b4bdeep19, 0x1.c19b4p23},
        {"atan2pi", 0x1.2253ep24, -0x1.bde946p23},    {"atan2pi", 0x1.4cfb8ep24, 0x1.e8cf76p23},
        {"atan2pi", 0x1.5a4ffcp16, 0x1.c82d2cp22},    {"atan2pi", 0x1.1c4f38p26, 0x1.72e66cp22},
        {"atan2pi", 0x1.a9fe7cp26, -0x1.b12538p22},   {"atan2pi", 0x1.38e11ap21, 0x1.e0debp23},
        {"atan2pi", 0x1.ac16b8p22, 0x1.661442p23},    {"pow", 0x1.2e9178p-119, 0x1.023178p0},
        {"pow", 0x1.aa25fp-122, 0x1.04d8e4p0},        {"pow", 0x1.3e29bep3, 0x1.09eb9ap0},
        {"pow", 0x1.d6a9eap-89, 0x1.1249fcp0},        {"pow", 0x1.49b684p-69, 0x1.1509f6p0},
        {"pow", 0x1.cc53e8p-96, 0x1.1bb752p0},        {"pow", 0x1.95c6c2p113, 0x1.1f771cp0},
        {"pow", 0x1.c1243cp-1, 0x1.26ef18p0},         {"pow", 0x1.4ec09p-72, 0x1.27766ep0},
        {"pow", 0x1.f4ff26p-81, 0x1.2a584p0},         {"pow", -0x1.fe0ff8p-128, -0x1.50732p19},
        {"pow", 0x1.8fdb0ep-21, 0x1.a31bp-102},       {"pow", 0x1.9a1p-76, 0x1.ep0},
        {"hypot", 0x1.b8e50ap-52, -0x1.db1e78p-64},   {"hypot", 0x1.e2eff6p97, -0x1.044cb2p108},
        {"hypot", -0x1.6b05c4p-127, 0x1.6b3146p-126}, {"hypot", 0x1.fffffep127, 0x1.fffffep115},
        {"hypot", 0x1.9c4478p32, 0x1.85816ap23},      {"hypot", 0x1.c279e4p35, 0x1.e040fep23},
    };
    static uint64_t first[MAP_COUNT(pairs)], second[MAP_COUNT(pairs)];
    uint64_t *in[] = {first, second};

    (void)state;
    for (size_t i = 0, count = 0; i < MAP_COUNT(pairs); i++) {
        first[count] = math_bits(pairs[i].first);
        second[count++] = math_bits(pairs[i].second);
        if (i + 1 == MAP_COUNT(pairs) || strcmp(pairs[i].name, pairs[i + 1].name) != 0) {
            run(pairs[i].name, in, NULL, count);
            count = 0;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_correctly_rounded),
        cmocka_unit_test(pow_of_exact_results_and_ties_is_correctly_rounded),
        cmocka_unit_test(samples_of_all_bit_patterns_are_correctly_rounded),
        cmocka_unit_test(the_hardest_cases_are_correctly_rounded),
        cmocka_unit_test(published_hard_pairs_are_correctly_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
