/* Programs of level legal: the values of approximate ops, wide accesses of every type, and that threads do not show. */
#include "oracle/trial.h"

#include "oracle/adversarial_device.h"
#include "oracle/lowered_env.h"

#include <math.h>

/* ---- approximate ops ---- */

enum { COUNT = 4096 };

static const char division[] =
    "program p {\n level legal\n buffer a : f32 read\n buffer b : f32 read\n buffer q : f32 write count len(a)\n"
    "buffer r : f32 write count len(a)\n workgroup 64\n grid over a\n let i = global_id.x\n if i < len(a) {\n"
    "q![i] = approx_div(a![i], b![i])\n r![i] = approx_sqrt(a![i]) } }";
static const char division_wide[] =
    "program p {\n level legal\n buffer a : f64 read\n buffer b : f64 read\n buffer q : f64 write count len(a)\n"
    "buffer r : f64 write count len(a)\n workgroup 64\n grid over a\n let i = global_id.x\n if i < len(a) {\n"
    "q![i] = approx_div(a![i], b![i])\n r![i] = approx_sqrt(a![i]) } }";

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 11 ^ *seed << 22;
}

/* Any bits, with many powers of two and their neighbours, where places change their width. */
static uint32_t some_f32(uint64_t *seed) {
    uint64_t x = next_random(seed);
    uint32_t bits = (uint32_t)(x >> 3);
    return x & 3 ? bits : (bits & 0xff800000u) + (uint32_t)(x >> 40 & 3) - 1;
}

/* The distance of two places around x. */
static double ulp_f32(double x) {
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent - 24);
}

static int is_normal_f32(double x) {
    return fabs(x) >= 0x1p-126 && fabs(x) < 0x1p128;
}

typedef struct tally {
    unsigned defined, exact, garbage, most; /* most: of those that are off by over two places */
} tally;

/* f64 holds quotients and roots of f32 far more exactly than it takes to tell 2.5 ulp. */
static void judge_f32(tally *t, double exact, int is_defined, float got, float rounded) {
    if (!is_defined) {
        t->garbage += !(got == rounded) && !(isnan(got) && isnan(rounded));
        return;
    }
    t->defined++;
    t->exact += got == rounded;
    double off = fabs((double)got - exact) / ulp_f32(exact);
    if (!(off <= 2.5 + 1e-6))
        fail_msg("%a is %g ulp off %a", got, off, exact);
    t->most += off > 1.9;
}

static void approximate_f32_is_within_its_bound(void **state) {
    (void)state;
    static float a[COUNT], b[COUNT], first[COUNT];
    for (unsigned device = 0; device < 3; device++) {
        trial t;
        tally div = {0}, sqr = {0};
        trial_open(&t, division);
        if (device) {
            vyre_oracle_free(t.oracle);
            assert_int_equal(vy_oracle_new_on(t.program, device == 1 ? 0 : UINT64_MAX, &t.oracle, NULL), VYRE_OK);
        }
        trial_input(&t, a, sizeof a);
        trial_input(&t, b, sizeof b);
        for (uint64_t seed = 0; seed < 8; seed++) {
            uint64_t dice = 5;
            for (int i = 0; i < COUNT; i++) {
                uint32_t x = some_f32(&dice), y = some_f32(&dice);
                memcpy(&a[i], &x, 4);
                memcpy(&b[i], &y, 4);
            }
            assert_int_equal(vy_oracle_run_under(t.oracle, &t.arguments, &t.options, &(vy_lowered_env){.garbage = seed},
                                                 t.outputs, NULL, NULL, &t.error),
                             VYRE_OK);
            const float *q = t.outputs[0].data, *r = t.outputs[1].data;
            /* A device that loses subnormal numbers may lose what is next to them. */
            double least = device == 1 ? 0x1.00001p-126 : 0x1p-126;
            for (int i = 0; i < COUNT; i++) {
                double quotient = (double)a[i] / b[i], root = sqrt(a[i]);
                int is_defined = is_normal_f32(a[i]) && is_normal_f32(b[i]) && fabs(quotient) >= least &&
                                 fabs(quotient) < 0x1.fffffep127;
                judge_f32(&div, quotient, is_defined, q[i], (float)quotient);
                judge_f32(&sqr, root, is_normal_f32(a[i]) && a[i] > 0, r[i], (float)root);
            }
            if (seed == 0)
                memcpy(first, q, sizeof first);
            assert_int_equal(memcmp(first, q, sizeof first) == 0, seed == 0);
        }
        assert_true(div.defined > COUNT && div.exact < div.defined / 2 && div.exact > div.defined / 10);
        assert_true(div.garbage > 100 && div.most > 100 && sqr.garbage > 100 && sqr.most > 100);
        assert_true(sqr.defined > COUNT && sqr.exact < sqr.defined / 2);
        trial_close(&t);
    }
}

static void approximate_f64_is_within_its_bound(void **state) {
    (void)state;
    static double a[COUNT], b[COUNT];
    trial t;
    unsigned off_by[2] = {0, 0};
    uint64_t dice = 9;
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = (next_random(&dice) & 0x7ffffffffffffu) | 0x3ff0000000000000u,
                 y = (next_random(&dice) & 0xfffffffffffffu) | 0x4010000000000000u;
        memcpy(&a[i], &x, 8);
        memcpy(&b[i], &y, 8);
    }
    trial_open(&t, division_wide);
    trial_input(&t, a, sizeof a);
    trial_input(&t, b, sizeof b);
    trial_expect(&t, VYRE_OK);
    const double *q = t.outputs[0].data, *r = t.outputs[1].data;
    for (int i = 0; i < COUNT; i++) {
        double quotient = a[i] / b[i], root = sqrt(a[i]), *pairs[2] = {&quotient, &root};
        const double got[2] = {q[i], r[i]};
        for (int k = 0; k < 2; k++) {
            int64_t x, y;
            memcpy(&x, pairs[k], 8);
            memcpy(&y, &got[k], 8);
            assert_true(llabs(x - y) <= 2);
            off_by[k] += x != y;
        }
    }
    assert_true(off_by[0] > COUNT / 2 && off_by[1] > COUNT / 2);
    trial_close(&t);
}

/* The oracle that is no device has one NaN. */
static void garbage_is_a_proper_value(void **state) {
    (void)state;
    trial t;
    static uint32_t zeros[COUNT], ones[COUNT];
    trial_open(
        &t,
        "program p {\n level legal\n buffer a : u32 read\n buffer b : u32 read\n buffer q : u32 write count len(a)\n"
        "workgroup 64\n grid over a\n let i = global_id.x\n if i < len(a) { q![i] = "
        "bitcast<u32>(approx_div(bitcast<f32>(a![i]), bitcast<f32>(b![i]))) } }");
    for (uint32_t i = 0; i < COUNT; i++) {
        zeros[i] = i;
        ones[i] = 0x3f800000;
    }
    trial_input(&t, zeros, sizeof zeros);
    trial_input(&t, ones, sizeof ones);
    trial_expect(&t, VYRE_OK);
    unsigned nans = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = trial_u32(&t, 0)[i];
        nans += (bits & 0x7fffffff) > 0x7f800000;
        assert_true((bits & 0x7fffffff) <= 0x7f800000 || bits == 0x7fc00000);
    }
    assert_true(nans > 0);
    trial_close(&t);
}

/* ---- wide accesses ---- */

static void wide_accesses_have_every_type(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"u8", "16"}, {"i8", "8"},  {"u16", "8"}, {"f16", "8"}, {"bf16", "4"},
                                           {"i32", "4"}, {"f32", "4"}, {"u32", "2"}, {"u64", "2"}, {"f64", "2"}};
    static uint8_t bytes[256], out[256];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1024], names[128] = "";
        unsigned count = (unsigned)atoi(cases[k][1]);
        for (unsigned i = 0; i < count; i++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%sv%u", i ? ", " : "", i);
        snprintf(text, sizeof text,
                 "program p {\n level legal\n buffer x : %s read\n buffer y : %s write count len(x)\n workgroup 8\n "
                 "array q : %s [%u] "
                 "private\n grid (len(x) + %u) / %u\n"
                 "let f = global_id.x * %u\n if f < len(x) {\n let (%s) = load_wide(x, f)\n store_wide(q, 0, %s)\n "
                 "for i in 0u32 .. %uu32 { y![f + i] = q![i] } } }",
                 cases[k][0], cases[k][0], cases[k][0], count, 8 * count - 1, 8 * count, count, names, names, count);
        trial t;
        for (unsigned i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)(i * 3 % 0x70); /* no NaN */
        trial_open(&t, text);
        trial_input(&t, bytes, sizeof bytes);
        for (unsigned seed = 0; seed < 4; seed++) {
            t.options = (vyre_oracle_options){.seed = seed, .checks = seed == 2 ? VYRE_CHECK_ALL : 0};
            memset(out, 0, sizeof out);
            if (vy_oracle_run_under(t.oracle, &t.arguments, &t.options, &(vy_lowered_env){.garbage = seed}, t.outputs,
                                    NULL, NULL, &t.error) != VYRE_OK)
                fail_msg("%s\n%s", t.error.message, text);
            assert_int_equal(t.outputs[0].size, sizeof bytes);
            assert_memory_equal(t.outputs[0].data, bytes, sizeof bytes);
        }
        trial_close(&t);
    }
}

/* ---- functions, grid barriers ---- */

static void functions_are_inlined(void **state) {
    (void)state;
    static const uint32_t want[8] = {11, 9, 15, 13, 3, 1, 7, 5};
    trial t;
    trial_open(&t,
               "fn pick(m : buffer [u32] read, at : u32) -> u32 {\n let (a, b) = load_wide(m, at - at % 2)\n"
               "return (at % 2 == 0 ? b : a) + m![at if at > 100] }\n"
               "program p {\n level legal\n buffer x : u32 read\n buffer y : u32 write count 8\n workgroup 8\n grid 1\n"
               "let l = local_id.x\n y![l] = pick(x, l ^ 4) * 2 + 1 }");
    static const uint32_t x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    trial_input(&t, x, sizeof x);
    trial_expect(&t, VYRE_OK);
    assert_memory_equal(t.outputs[0].data, want, sizeof want);
    trial_close(&t);
}

/* Whoever reports goes on to the grid barrier, and nobody behind it: what would have been reported there never is. */
static void reports_end_a_grid_at_its_next_barrier(void **state) {
    (void)state;
    trial t;
    trial_open(
        &t, "program p {\n level legal\n buffer y : u32 write count 64\n workgroup 16\n grid 4\n let i = global_id.x\n"
            "if i == 20 { report 5 }\n grid_barrier\n if i == 3 { report 6 }\n grid_barrier\n y![i] = 1 }");
    for (unsigned seed = 0; seed < 4; seed++) {
        t.options.seed = seed;
        trial_expect(&t, VYRE_TRAPPED);
        assert_int_equal(t.report.trap.invocation, 20);
        assert_int_equal(t.report.trap.code, 5);
        assert_int_equal(t.report.steps, 64 * 3 + 1); /* a let, a condition and a barrier each, and the report */
    }
    trial_close(&t);
}

/* ---- threads ---- */

/* Enough work for several of them. A bound of 1 lets the last invocation store outside. */
#define LARGE_HEAD                                                                                                     \
    "program p {\n level legal\n param bound : u32\n buffer x : f32 read_write\n workgroup 64\n array w : f32 [64] "   \
    "workgroup\n"                                                                                                      \
    "array q : f32 [2] private\n grid over x\n let i = global_id.x\n let l = local_id.x\n"                             \
    "var sum = w![l] + q![1]\n barrier\n w![l] = x![i if i < len(x)]\n barrier\n for k in 0u32 .. 32u32 {\n"           \
    "sum = sum + approx_div(w![(l + k) % 64], approx_sqrt(1.0 + f32(k))) }\n"
#define LARGE_TAIL "let stop = poll()\n if !stop && i < len(x) { x![i + bound * (i / 29999)] = sum } }"
static const char *const large[2] = {LARGE_HEAD LARGE_TAIL, LARGE_HEAD "if i % 1000 == 999 { report i }\n" LARGE_TAIL};
enum { LARGE = 30000 };

/* Runs it on several numbers of threads; all must give the same. Returns the status. */
static vyre_status run_on_threads(trial *t, const vy_lowered_env *conditions) {
    static float want[LARGE];
    vyre_status first = VYRE_OK;
    vyre_error error = {0};
    vyre_oracle_report report = {0};
    for (unsigned threads = 1; threads < 6; threads += 2) {
        t->options.threads = threads;
        vyre_diagnostics_clear(t->findings);
        memset(&t->error, 0, sizeof t->error);
        vyre_status status = vy_oracle_run_under(t->oracle, &t->arguments, &t->options, conditions, t->outputs,
                                                 &t->report, t->findings, &t->error);
        if (threads == 1) {
            first = status;
            error = t->error;
            report = t->report;
            if (t->outputs[0].size)
                memcpy(want, t->outputs[0].data, sizeof want);
        }
        assert_int_equal(status, first);
        assert_string_equal(t->error.message, error.message);
        assert_memory_equal(&t->report, &report, sizeof report);
        if (t->outputs[0].size)
            assert_memory_equal(t->outputs[0].data, want, sizeof want);
    }
    return first;
}

static void threads_do_not_show(void **state) {
    (void)state;
    static const vy_lowered_env conditions[] = {{.garbage = 3}, {.garbage = 4, .misalignment = 9}, {.poll = 1}};
    static float data[LARGE];
    for (int i = 0; i < LARGE; i++)
        data[i] = 1 + (float)(i % 77);
    for (unsigned reports = 0; reports < 2; reports++) {
        trial t;
        trial_open(&t, large[reports]);
        trial_input(&t, data, sizeof data);
        for (unsigned c = 0; c < 3; c++) {
            for (unsigned bound = 0; bound < 2; bound++) {
                vyre_scalar param = vyre_scalar_u32(bound);
                t.arguments.params = &param;
                t.arguments.param_count = 1;
                vyre_status status = run_on_threads(&t, &conditions[c]);
                assert_int_equal(status, c == 2    ? VYRE_TIMEOUT
                                         : bound   ? VYRE_CHECK_FAILED
                                         : reports ? VYRE_TRAPPED
                                                   : VYRE_OK);
            }
        }
        trial_close(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(approximate_f32_is_within_its_bound),
        cmocka_unit_test(approximate_f64_is_within_its_bound),
        cmocka_unit_test(garbage_is_a_proper_value),
        cmocka_unit_test(wide_accesses_have_every_type),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(reports_end_a_grid_at_its_next_barrier),
        cmocka_unit_test(threads_do_not_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
