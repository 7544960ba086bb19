/* lib/math_f64_exp.vyre against MPFR: no result is further from the exact value than its function states.
 *
 * The backend is `cpu` if its compiler is available. VYRE_EFFORT multiplies the number of samples, and prints the
 * largest errors; bench/bench_math_f64.c tests more. */
#include "support/test.h"

#include "support/math_functions_f64.h"

#include "backends/cpu/compile.h"
#include "base/file.h"
#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

enum { SAMPLES = 20000 };

static vyre_backend *backend;

static int open_backend(void **state) {
    int is_fast = vy_cpu_compiler_check(NULL) == VYRE_OK;
    (void)state;
    assert_int_equal(vyre_acquire(is_fast ? "cpu" : "reference", &backend, NULL), VYRE_OK);
    return 0;
}

static int close_backend(void **state) {
    (void)state;
    vyre_backend_release(backend);
    return 0;
}

static vyre_pipeline *compile_program(const char *program) {
    vyre_bytes library = VYRE_BYTES_INIT;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_module *module = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    char *text;

    assert_int_equal(vy_file_read(vy_test_path("lib/math_f64_exp.vyre"), SIZE_MAX, &library, &error), VYRE_OK);
    assert_non_null(text = malloc(library.size + strlen(program) + 1));
    memcpy(text, library.data, library.size);
    strcpy(text + library.size, program);
    if (vyre_text_parse(text, strlen(text), NULL, list, &module, &error) != VYRE_OK ||
        vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, &error) != VYRE_OK) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fail_msg("%s\n%.*s\n%s", error.message, (int)rendered.size, rendered.data ? (char *)rendered.data : "",
                 program);
    }
    vyre_module_free(module);
    vyre_diagnostics_free(list);
    free(text);
    vyre_bytes_free(&library);
    return pipeline;
}

static vyre_pipeline *compile(const math_f64 *f) {
    char program[1024];
    math_f64_program(f, "", program, sizeof program);
    return compile_program(program);
}

/* Replaces x by the results. */
static void evaluate(const math_f64 *f, vyre_pipeline *pipeline, double *x, const double *y, size_t count) {
    vyre_span inputs[2] = {{x, count * sizeof *x}, {y, count * sizeof *y}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = f->operands == MATH_X ? 1 : 2};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, &error) != VYRE_OK)
        fail_msg("%s: %s", f->name, error.message);
    memcpy(x, outputs.items[0].data, count * sizeof *x);
    vyre_outputs_free(&outputs);
}

static void samples_are_as_accurate_as_stated(void **state) {
    static double x[SAMPLES], y[SAMPLES], got[SAMPLES];

    (void)state;
    for (int k = 0; k < MATH_F64_ROWS; k++) {
        const math_f64 *f = &math_f64_table[k];
        vyre_pipeline *pipeline;
        uint64_t random = 1 + (uint64_t)k;
        double most = 0, at = 0;
        if (strcmp(f->file, "math_f64_exp") != 0)
            continue;
        pipeline = compile(f);
        for (unsigned effort = vy_test_effort(); effort > 0; effort--) {
            for (size_t i = 0; i < SAMPLES; i++)
                math_f64_draw(f, &random, &x[i], &y[i]);
            memcpy(got, x, sizeof got);
            evaluate(f, pipeline, got, y, SAMPLES);
            for (size_t i = 0; i < SAMPLES; i++) {
                double error = math_f64_error(f, x[i], y[i], got[i]);
                if (error > f->bound)
                    fail_msg("%s_f64(%a, %a) is %a, %.4f ulp from the exact value; it states %.4f", f->name, x[i], y[i],
                             got[i], error, f->bound);
                if (error > most) {
                    most = error;
                    at = x[i];
                }
            }
        }
        if (vy_test_effort() > 1)
            printf("%s: at most %.4f ulp, at %a\n", f->name, most, at);
        vyre_pipeline_release(pipeline);
    }
}

#define INF HUGE_VAL
#define TINY 0x1p-1074
#define MOST 0x1.fffffffffffffp1023

/* C23, F.10.1 to F.10.5 and F.10.7, and results that are exact. */
static const struct {
    const char *name;
    double x, y, result;
} special[] = {
    {"exp", 0, 0, 1},
    {"exp", -0.0, 0, 1},
    {"exp", INF, 0, INF},
    {"exp", -INF, 0, 0},
    {"exp", MOST, 0, INF},
    {"exp", -MOST, 0, 0},
    {"exp", TINY, 0, 1},
    {"exp2", 0, 0, 1},
    {"exp2", -0.0, 0, 1},
    {"exp2", INF, 0, INF},
    {"exp2", -INF, 0, 0},
    {"exp2", 10, 0, 1024},
    {"exp2", 1023, 0, 0x1p1023},
    {"exp2", 1024, 0, INF},
    {"exp2", -1022, 0, 0x1p-1022},
    {"exp2", -1023, 0, 0x1p-1023},
    {"exp2", -1074, 0, TINY},
    {"exp2", -1075, 0, 0},
    {"exp2", -0x1.0cbffffffffffp10, 0, TINY}, /* above half of it */
    {"exp10", 0, 0, 1},
    {"exp10", -0.0, 0, 1},
    {"exp10", INF, 0, INF},
    {"exp10", -INF, 0, 0},
    {"exp10", 1, 0, 10},
    {"exp10", 22, 0, 1e22},
    {"exp10", 308, 0, 1e308},
    {"exp10", 309, 0, INF},
    {"expm1", 0, 0, 0},
    {"expm1", -0.0, 0, -0.0},
    {"expm1", INF, 0, INF},
    {"expm1", -INF, 0, -1},
    {"expm1", TINY, 0, TINY},
    {"exp2m1", 0, 0, 0},
    {"exp2m1", -0.0, 0, -0.0},
    {"exp2m1", INF, 0, INF},
    {"exp2m1", -INF, 0, -1},
    {"exp2m1", 10, 0, 1023},
    {"exp2m1", -1, 0, -0.5},
    {"exp2m1", 53, 0, 0x1.fffffffffffffp52},
    {"exp2m1", -TINY, 0, -TINY},
    {"exp10m1", 0, 0, 0},
    {"exp10m1", -0.0, 0, -0.0},
    {"exp10m1", INF, 0, INF},
    {"exp10m1", -INF, 0, -1},
    {"exp10m1", 3, 0, 999},
    {"exp10m1", -TINY, 0, -2 * TINY},
    {"log", 0, 0, -INF},
    {"log", -0.0, 0, -INF},
    {"log", 1, 0, 0},
    {"log", -TINY, 0, NAN},
    {"log", INF, 0, INF},
    {"log", -INF, 0, NAN},
    {"log2", 0, 0, -INF},
    {"log2", -0.0, 0, -INF},
    {"log2", 1, 0, 0},
    {"log2", 0x1p1023, 0, 1023},
    {"log2", 0x1p-1022, 0, -1022},
    {"log2", TINY, 0, -1074},
    {"log2", 0.5, 0, -1},
    {"log2", -1, 0, NAN},
    {"log2", INF, 0, INF},
    {"log2", -INF, 0, NAN},
    {"log10", 0, 0, -INF},
    {"log10", -0.0, 0, -INF},
    {"log10", 1, 0, 0},
    {"log10", 10, 0, 1},
    {"log10", 1000, 0, 3},
    {"log10", 1e22, 0, 22},
    {"log10", -1, 0, NAN},
    {"log10", INF, 0, INF},
    {"log10", -INF, 0, NAN},
    {"log1p", 0, 0, 0},
    {"log1p", -0.0, 0, -0.0},
    {"log1p", TINY, 0, TINY},
    {"log1p", -1, 0, -INF},
    {"log1p", -2, 0, NAN},
    {"log1p", INF, 0, INF},
    {"log1p", -INF, 0, NAN},
    {"log2p1", 0, 0, 0},
    {"log2p1", -0.0, 0, -0.0},
    {"log2p1", 1, 0, 1},
    {"log2p1", 0x1.fffffffffffffp52, 0, 53},
    {"log2p1", -0.5, 0, -1},
    {"log2p1", -1, 0, -INF},
    {"log2p1", -2, 0, NAN},
    {"log2p1", INF, 0, INF},
    {"log2p1", -INF, 0, NAN},
    {"log10p1", 0, 0, 0},
    {"log10p1", -0.0, 0, -0.0},
    {"log10p1", 9, 0, 1},
    {"log10p1", 999, 0, 3},
    {"log10p1", -1, 0, -INF},
    {"log10p1", -2, 0, NAN},
    {"log10p1", INF, 0, INF},
    {"log10p1", -INF, 0, NAN},
    {"sinh", 0, 0, 0},
    {"sinh", -0.0, 0, -0.0},
    {"sinh", -TINY, 0, -TINY},
    {"sinh", INF, 0, INF},
    {"sinh", -INF, 0, -INF},
    {"sinh", -MOST, 0, -INF},
    {"cosh", 0, 0, 1},
    {"cosh", -0.0, 0, 1},
    {"cosh", INF, 0, INF},
    {"cosh", -INF, 0, INF},
    {"tanh", 0, 0, 0},
    {"tanh", -0.0, 0, -0.0},
    {"tanh", TINY, 0, TINY},
    {"tanh", INF, 0, 1},
    {"tanh", -INF, 0, -1},
    {"asinh", 0, 0, 0},
    {"asinh", -0.0, 0, -0.0},
    {"asinh", TINY, 0, TINY},
    {"asinh", INF, 0, INF},
    {"asinh", -INF, 0, -INF},
    {"acosh", 1, 0, 0},
    {"acosh", 0x1.fffffffffffffp-1, 0, NAN},
    {"acosh", -2, 0, NAN},
    {"acosh", INF, 0, INF},
    {"acosh", -INF, 0, NAN},
    {"atanh", 0, 0, 0},
    {"atanh", -0.0, 0, -0.0},
    {"atanh", -TINY, 0, -TINY},
    {"atanh", 1, 0, INF},
    {"atanh", -1, 0, -INF},
    {"atanh", 0x1.0000000000001p0, 0, NAN},
    {"atanh", -INF, 0, NAN},
    {"cbrt", 0, 0, 0},
    {"cbrt", -0.0, 0, -0.0},
    {"cbrt", INF, 0, INF},
    {"cbrt", -INF, 0, -INF},
    {"cbrt", 27, 0, 3},
    {"cbrt", -1000, 0, -10},
    {"cbrt", 0x1p-1074, 0, 0x1p-358},
    {"cbrt", 208063.0 * 208063.0 * 208063.0, 0, 208063},
    {"rsqrt", 0, 0, INF},
    {"rsqrt", -0.0, 0, -INF},
    {"rsqrt", INF, 0, 0},
    {"rsqrt", -INF, 0, NAN},
    {"rsqrt", -TINY, 0, NAN},
    {"rsqrt", 4, 0, 0.5},
    {"rsqrt", TINY, 0, 0x1p537},
    {"rsqrt", 0x1p1022, 0, 0x1p-511},
    {"sigmoid", 0, 0, 0.5},
    {"sigmoid", -0.0, 0, 0.5},
    {"sigmoid", INF, 0, 1},
    {"sigmoid", -INF, 0, 0},
    {"softplus", INF, 0, INF},
    {"softplus", -INF, 0, 0},
    {"softplus", MOST, 0, MOST},
    {"degrees", 0, 0, 0},
    {"degrees", -0.0, 0, -0.0},
    {"degrees", INF, 0, INF},
    {"degrees", -MOST, 0, -INF},
    {"degrees", TINY, 0, 57 * TINY},
    {"radians", 0, 0, 0},
    {"radians", -0.0, 0, -0.0},
    {"radians", -INF, 0, -INF},
    {"radians", TINY, 0, 0},
    {"radians", -29 * TINY, 0, -TINY},
    {"hypot", 3, -4, 5},
    {"hypot", -0.0, 0, 0},
    {"hypot", INF, NAN, INF},
    {"hypot", NAN, -INF, INF},
    {"hypot", NAN, 1, NAN},
    {"hypot", 3 * TINY, 4 * TINY, 5 * TINY},
    {"hypot", 0x3p1020, 0x4p1020, 0x5p1020},
    {"hypot", -TINY, 0, TINY},
    {"hypot", MOST, TINY, MOST},
    {"hypot", MOST, MOST, INF},
    {"fmod", 0, 1, 0},
    {"fmod", -0.0, 1, -0.0},
    {"fmod", 7, 3, 1},
    {"fmod", -7, 3, -1},
    {"fmod", 7, -3, 1},
    {"fmod", -6, 3, -0.0},
    {"fmod", 5, INF, 5},
    {"fmod", -5, -INF, -5},
    {"fmod", INF, 5, NAN},
    {"fmod", 5, 0, NAN},
    {"fmod", 5, -0.0, NAN},
    {"fmod", MOST, TINY, 0},
    {"fmod", 0x1.8p-1022, 0x1p-1022, 0x1p-1023},
    {"pow", 0, -3, INF},
    {"pow", -0.0, -3, -INF},
    {"pow", -0.0, -2, INF},
    {"pow", -0.0, -2.5, INF},
    {"pow", 0, -INF, INF},
    {"pow", -0.0, -INF, INF},
    {"pow", 0, 3, 0},
    {"pow", -0.0, 3, -0.0},
    {"pow", -0.0, 2, 0},
    {"pow", -0.0, 0.5, 0},
    {"pow", -0.0, INF, 0},
    {"pow", -0.0, TINY, 0},
    {"pow", -1, INF, 1},
    {"pow", -1, -INF, 1},
    {"pow", 1, NAN, 1},
    {"pow", 1, -INF, 1},
    {"pow", NAN, 0, 1},
    {"pow", NAN, -0.0, 1},
    {"pow", INF, 0, 1},
    {"pow", NAN, 1, NAN},
    {"pow", 2, NAN, NAN},
    {"pow", -2, 0.5, NAN},
    {"pow", -2, 0x1.8p50, INF},
    {"pow", 0.5, -INF, INF},
    {"pow", -0.5, -INF, INF},
    {"pow", 2, -INF, 0},
    {"pow", -2, -INF, 0},
    {"pow", 0.5, INF, 0},
    {"pow", -2, INF, INF},
    {"pow", -INF, -3, -0.0},
    {"pow", -INF, -2, 0},
    {"pow", -INF, -0.5, 0},
    {"pow", -INF, 3, -INF},
    {"pow", -INF, 2, INF},
    {"pow", -INF, 0.5, INF},
    {"pow", -INF, 0x1p53, INF},
    {"pow", INF, -0.5, 0},
    {"pow", INF, 0.5, INF},
    {"pow", 3, 2, 9},
    {"pow", -3, 3, -27},
    {"pow", 5, 22, 2384185791015625},
    {"pow", 9, 0.5, 3},
    {"pow", 32, 0.2, 2},
    {"pow", 2, -1074, TINY},
    {"pow", 2, -1075, 0},
    {"pow", -2, 1023, -0x1p1023},
    {"pow", 4, 511.5, 0x1p1023},
    {"pow", -1, 0x1.fffffffffffffp52, -1},
    {"pow", -1, 0x1p53, 1},
    {"pow", -1, MOST, 1},
    {"pow", 0x1.fffffffffffffp-1, MOST, 0},
    {"pow", 0x1.0000000000001p0, MOST, INF},
    {"pow", MOST, TINY, 1},
    {"pow", TINY, -TINY, 1},
    {"powi", 3, 2, 9},
    {"powi", -3, 3, -27},
    {"powi", -2, -1, -0.5},
    {"powi", NAN, 0, 1},
    {"powi", -0.0, -3, -INF},
    {"powi", -0.0, -2, INF},
    {"powi", -0.0, 3, -0.0},
    {"powi", -INF, 3, -INF},
    {"powi", -INF, -3, -0.0},
    {"powi", -1, -0x1p31, 1},
    {"powi", -1, 0x1.fffffffcp30, -1},
    {"powi", 2, -0x1p31, 0},
};

static void special_values_are_those_of_c23(void **state) {
    size_t count = sizeof special / sizeof *special;

    (void)state;
    for (size_t first = 0, end; first < count; first = end) {
        double x[64], y[64];
        const math_f64 *f = math_f64_find(special[first].name);
        vyre_pipeline *pipeline;

        assert_non_null(f);
        pipeline = compile(f);
        for (end = first; end < count && strcmp(special[first].name, special[end].name) == 0; end++) {
            assert_true(end - first < 63);
            x[end - first] = special[end].x;
            y[end - first] = special[end].y;
        }
        x[end - first] = NAN;
        y[end - first] = 1;
        evaluate(f, pipeline, x, y, end - first + 1);
        for (size_t i = first; i < end; i++)
            if (math_double_bits(x[i - first]) != math_double_bits(special[i].result))
                fail_msg("%s_f64(%a, %a) is %a, expected %a", f->name, special[i].x, special[i].y, x[i - first],
                         special[i].result);
        assert_true(isnan(x[end - first]));
        vyre_pipeline_release(pipeline);
    }
}

/* Cubes, integer powers and powers of ten that are f64: the result is the integer. */
static void exact_results_are_exact(void **state) {
    enum { COUNT = 4000 };
    static double x[COUNT], y[COUNT], want[COUNT];
    uint64_t random = 5;
    const math_f64 *f = math_f64_find("cbrt");
    vyre_pipeline *pipeline = compile(f);

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        want[i] = (double)(math_random(&random) % 208063);
        x[i] = want[i] * want[i] * want[i];
    }
    evaluate(f, pipeline, x, y, COUNT);
    assert_memory_equal(x, want, sizeof x);
    vyre_pipeline_release(pipeline);

    f = math_f64_find("pow");
    pipeline = compile(f);
    for (int i = 0; i < COUNT; i++) {
        int n = 2 + i % 12;
        x[i] = (double)(1 + math_random(&random) % (uint64_t)floor(pow(0x1p52, 1.0 / n)));
        y[i] = n;
        want[i] = 1;
        for (int k = 0; k < n; k++)
            want[i] *= x[i];
        if (i % 2) {
            double root = x[i];
            x[i] = want[i];
            want[i] = n == 2 || n == 4 || n == 8 ? root : want[i];
            y[i] = n == 2 || n == 4 || n == 8 ? 1.0 / n : 1;
        }
    }
    evaluate(f, pipeline, x, y, COUNT);
    assert_memory_equal(x, want, sizeof x);
    vyre_pipeline_release(pipeline);
}

/* The cores in two parts, before the rounding: where the bounds of the functions come from. */
static const struct {
    const char *call; /* of x, and gives 2^n (h + l) */
    math_function *exact;
    double low, high;
    int bits; /* relative errors are below 2^-bits */
} cores[] = {
    {"let (n, h, l) = exp_parts(x[i], 0.0)", mpfr_exp2, -1080, 1030, 68},
    {"let n : i64 = 0\n let (h, l) = log_parts(x[i], 0.0, 0.0)", mpfr_log, 0.5, 2, 66},
    {"let n : i64 = 0\n let (h, l) = log_parts(x[i], 0.0, 0.0)", mpfr_log, 0x1.fcp-1, 0x1.02p0, 66},
    {"let n : i64 = 0\n let (h, l) = log_parts(x[i], 0.0, 0.0)", mpfr_log, 0x1p-1000, 0x1p1000, 66},
    {"let n : i64 = 0\n let (h, l) = log2_parts(x[i], 0.0, 0.0)", mpfr_log2, 0.5, 2, 66},
    {"let n : i64 = 0\n let (h, l) = log10_parts(x[i], 0.0, 0.0)", mpfr_log10, 0.5, 2, 66},
};

static void cores_are_as_accurate_as_stated(void **state) {
    static double x[SAMPLES];

    (void)state;
    for (size_t k = 0; k < sizeof cores / sizeof *cores; k++) {
        char program[1024];
        vyre_span input = {x, sizeof x};
        vyre_arguments arguments = {.inputs = &input, .input_count = 1};
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error = VYRE_ERROR_INIT;
        vyre_pipeline *pipeline;
        uint64_t random = 7;
        const double *high, *low, *power;
        double most = 0;
        mpfr_t exact, found;

        snprintf(program, sizeof program,
                 "program parts {\n buffer x : f64 read\n buffer a : f64 write count len(x)\n"
                 " buffer b : f64 write count len(x)\n buffer c : f64 write count len(x)\n workgroup 128\n"
                 " grid over x\n\n let i = global_id.x\n if i < len(x) {\n %s\n a[i] = h\n b[i] = l\n"
                 " c[i] = f64(n)\n }\n}\n",
                 cores[k].call);
        pipeline = compile_program(program);
        for (size_t i = 0; i < SAMPLES; i++) {
            x[i] = math_uniform(&random, cores[k].low, cores[k].high);
            x[i] = x[i] == 1 ? 2 : x[i];
        }
        if (vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        high = (const double *)outputs.items[0].data;
        low = (const double *)outputs.items[1].data;
        power = (const double *)outputs.items[2].data;
        mpfr_inits2(200, exact, found, (mpfr_ptr)0);
        mpfr_set_emin(mpfr_get_emin_min());
        mpfr_set_emax(mpfr_get_emax_max());
        for (size_t i = 0; i < SAMPLES; i++) {
            mpfr_set_d(exact, x[i], MPFR_RNDN);
            cores[k].exact(exact, exact, MPFR_RNDN);
            mpfr_set_d(found, high[i], MPFR_RNDN);
            mpfr_add_d(found, found, low[i], MPFR_RNDN);
            mpfr_mul_2si(found, found, (long)power[i], MPFR_RNDN);
            mpfr_reldiff(found, exact, found, MPFR_RNDN);
            most = fmax(most, fabs(mpfr_get_d(found, MPFR_RNDN)));
        }
        if (vy_test_effort() > 1)
            printf("%s: relative error 2^%.1f\n", cores[k].call, log2(most));
        if (most > ldexp(1, -cores[k].bits))
            fail_msg("%s: relative error 2^%.1f, stated is 2^-%d", cores[k].call, log2(most), cores[k].bits);
        mpfr_clears(exact, found, (mpfr_ptr)0);
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values_are_those_of_c23),
        cmocka_unit_test(exact_results_are_exact),
        cmocka_unit_test(cores_are_as_accurate_as_stated),
        cmocka_unit_test(samples_are_as_accurate_as_stated),
    };
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
