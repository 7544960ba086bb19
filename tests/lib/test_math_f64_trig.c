/* lib/math_f64_trig.vyre against MPFR: no result is further from the exact value than its function states.
 *
 * The backend is `cpu` if its compiler is available. VYRE_EFFORT multiplies the number of samples, and prints the
 * largest errors. */
#include "support/test.h"

#include "support/math_functions_f64.h"

#include "backends/cpu/compile.h"
#include "base/file.h"
#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

enum { SAMPLES = 20000, MOST = 1 << 14 };

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

/* Compiles `y[i] = function_f64(x[i])`, or of two operands, or with two results. */
static vyre_pipeline *compile(const char *function, int operands, int results) {
    vyre_bytes library = VYRE_BYTES_INIT;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_module *module = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    char program[1024], *text;

    snprintf(program, sizeof program,
             "program sample {\n  buffer a : f64 read\n%s  buffer y : f64 write count len(a)\n%s"
             "  workgroup 128\n  grid over a\n\n  let i = global_id.x\n  if i < len(a) {\n"
             "    let %s = %s_f64(a[i]%s)\n    y[i] = r\n%s  }\n}\n",
             operands == 2 ? "  buffer b : f64 read\n" : "",
             results == 2 ? "  buffer z : f64 write count len(a)\n" : "", results == 2 ? "(r, s)" : "r", function,
             operands == 2 ? ", b[i]" : "", results == 2 ? "    z[i] = s\n" : "");
    assert_int_equal(vy_file_read(vy_test_path("lib/math_f64_trig.vyre"), SIZE_MAX, &library, &error), VYRE_OK);
    assert_non_null(text = malloc(library.size + sizeof program));
    memcpy(text, library.data, library.size);
    strcpy(text + library.size, program);
    if (vyre_text_parse(text, strlen(text), NULL, list, &module, &error) != VYRE_OK ||
        vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, &error) != VYRE_OK) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fail_msg("%s: %s\n%.*s", function, error.message, (int)rendered.size,
                 rendered.data ? (char *)rendered.data : "");
    }
    vyre_module_free(module);
    vyre_diagnostics_free(list);
    free(text);
    vyre_bytes_free(&library);
    return pipeline;
}

static void dispatch(vyre_pipeline *pipeline, const double *x, const double *y, size_t count, vyre_outputs *outputs) {
    vyre_span inputs[2] = {{x, count * sizeof *x}, {y, count * sizeof *x}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = y ? 2 : 1};
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, outputs, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
}

/* Judges results, and returns the largest error. */
static double judge(const math_f64 *f, const double *x, const double *y, const double *got, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        double error = math_f64_error(f, x[i], y ? y[i] : 0, got[i]);
        if (error > f->bound)
            fail_msg("%s_f64(%a, %a) is %a, %.3f ulp from the exact value; it states %.3f", f->name, x[i], y ? y[i] : 0,
                     got[i], error, f->bound);
        most = fmax(most, error);
    }
    return most;
}

static void run(const char *name, const double *x, size_t count) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pipeline *pipeline = compile(name, 1, 1);
    dispatch(pipeline, x, NULL, count, &outputs);
    judge(math_f64_find(name), x, NULL, (const double *)outputs.items[0].data, count);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
}

static void samples_are_as_accurate_as_stated(void **state) {
    static double x[MOST], y[MOST];
    const char *only = getenv("VYRE_MATH_FUNCTION");

    (void)state;
    for (int k = 0; k < MATH_F64_ROWS; k++) {
        const math_f64 *f = &math_f64_table[k];
        int operands = f->binary ? 2 : 1, is_slow = strstr(f->name, "gamma") != NULL; /* in MPFR */
        size_t left = SAMPLES * (size_t)vy_test_effort() / (is_slow ? 4 : 1);
        uint64_t random = (uint64_t)k;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_pipeline *pipeline;
        double most = 0;

        if (strcmp(f->file, "math_f64_trig") != 0 || (only && strcmp(only, f->name) != 0))
            continue;
        pipeline = compile(f->name, operands, 1);
        while (left > 0) {
            size_t count = left < MOST ? left : MOST;
            left -= count;
            for (size_t i = 0; i < count; i++)
                math_f64_draw(f, &random, &x[i], &y[i]);
            dispatch(pipeline, x, operands == 2 ? y : NULL, count, &outputs);
            most = fmax(most, judge(f, x, operands == 2 ? y : NULL, (const double *)outputs.items[0].data, count));
        }
        if (vy_test_effort() > 1)
            printf("%s: at most %.4f ulp\n", f->name, most);
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
    }
}

/* C23, F.10.1 to F.10.5 and F.10.8, and results that are exact. */
static const struct {
    const char *name;
    double x, y, result;
} special[] = {
    {"sin", 0.0, 0, 0.0},
    {"sin", -0.0, 0, -0.0},
    {"sin", HUGE_VAL, 0, NAN},
    {"sin", -HUGE_VAL, 0, NAN},
    {"cos", 0.0, 0, 1},
    {"cos", -0.0, 0, 1},
    {"cos", HUGE_VAL, 0, NAN},
    {"cos", -HUGE_VAL, 0, NAN},
    {"tan", 0.0, 0, 0.0},
    {"tan", -0.0, 0, -0.0},
    {"tan", HUGE_VAL, 0, NAN},
    {"tan", -HUGE_VAL, 0, NAN},
    {"sinpi", 0.0, 0, 0.0},
    {"sinpi", -0.0, 0, -0.0},
    {"sinpi", 1, 0, 0.0},
    {"sinpi", 2, 0, 0.0},
    {"sinpi", -1, 0, -0.0},
    {"sinpi", -2, 0, -0.0},
    {"sinpi", 0.5, 0, 1},
    {"sinpi", 1.5, 0, -1},
    {"sinpi", -2.5, 0, -1},
    {"sinpi", 0x1.0000000000001p51, 0, 1},
    {"sinpi", 0x1.8000000000001p52, 0, 0.0},
    {"sinpi", 1e300, 0, 0.0},
    {"sinpi", -1e300, 0, -0.0},
    {"sinpi", HUGE_VAL, 0, NAN},
    {"sinpi", -HUGE_VAL, 0, NAN},
    {"cospi", 0.0, 0, 1},
    {"cospi", -0.0, 0, 1},
    {"cospi", 1, 0, -1},
    {"cospi", 2, 0, 1},
    {"cospi", 0.5, 0, 0.0},
    {"cospi", 1.5, 0, 0.0},
    {"cospi", -0.5, 0, 0.0},
    {"cospi", -1.5, 0, 0.0},
    {"cospi", 0x1.8000000000001p52, 0, -1},
    {"cospi", 1e300, 0, 1},
    {"cospi", HUGE_VAL, 0, NAN},
    {"cospi", -HUGE_VAL, 0, NAN},
    {"tanpi", 0.0, 0, 0.0},
    {"tanpi", -0.0, 0, -0.0},
    {"tanpi", 1, 0, -0.0},
    {"tanpi", 2, 0, 0.0},
    {"tanpi", 3, 0, -0.0},
    {"tanpi", -1, 0, 0.0},
    {"tanpi", -2, 0, -0.0},
    {"tanpi", 0.25, 0, 1},
    {"tanpi", -0.75, 0, 1},
    {"tanpi", 0.5, 0, HUGE_VAL},
    {"tanpi", 1.5, 0, -HUGE_VAL},
    {"tanpi", -0.5, 0, -HUGE_VAL},
    {"tanpi", -1.5, 0, HUGE_VAL},
    {"tanpi", 1e300, 0, 0.0},
    {"tanpi", HUGE_VAL, 0, NAN},
    {"tanpi", -HUGE_VAL, 0, NAN},
    {"asin", 0.0, 0, 0.0},
    {"asin", -0.0, 0, -0.0},
    {"asin", 1.5, 0, NAN},
    {"asin", -0x1.0000000000001p0, 0, NAN},
    {"asin", HUGE_VAL, 0, NAN},
    {"asin", -HUGE_VAL, 0, NAN},
    {"asin", 1, 0, 0x1.921fb54442d18p0},
    {"asinpi", 0.0, 0, 0.0},
    {"asinpi", -0.0, 0, -0.0},
    {"asinpi", 1.5, 0, NAN},
    {"asinpi", -0x1.0000000000001p0, 0, NAN},
    {"asinpi", HUGE_VAL, 0, NAN},
    {"asinpi", -HUGE_VAL, 0, NAN},
    {"asinpi", 1, 0, 0.5},
    {"asinpi", -1, 0, -0.5},
    {"acos", 1, 0, 0.0},
    {"acos", 1.5, 0, NAN},
    {"acos", -0x1.0000000000001p0, 0, NAN},
    {"acos", HUGE_VAL, 0, NAN},
    {"acos", -HUGE_VAL, 0, NAN},
    {"acos", -0.0, 0, 0x1.921fb54442d18p0},
    {"acos", -1, 0, 0x1.921fb54442d18p1},
    {"acospi", 1, 0, 0.0},
    {"acospi", 1.5, 0, NAN},
    {"acospi", -0x1.0000000000001p0, 0, NAN},
    {"acospi", HUGE_VAL, 0, NAN},
    {"acospi", -HUGE_VAL, 0, NAN},
    {"acospi", 0.0, 0, 0.5},
    {"acospi", -0.0, 0, 0.5},
    {"acospi", -1, 0, 1},
    {"atan", 0.0, 0, 0.0},
    {"atan", -0.0, 0, -0.0},
    {"atan", HUGE_VAL, 0, 0x1.921fb54442d18p0},
    {"atan", -HUGE_VAL, 0, -0x1.921fb54442d18p0},
    {"atanpi", 0.0, 0, 0.0},
    {"atanpi", -0.0, 0, -0.0},
    {"atanpi", HUGE_VAL, 0, 0.5},
    {"atanpi", -HUGE_VAL, 0, -0.5},
    {"atanpi", 1, 0, 0.25},
    {"atanpi", -1, 0, -0.25},
    {"atanpi", 1e300, 0, 0.5},
    {"atan2", 0.0, -0.0, 0x1.921fb54442d18p1},
    {"atan2", 0.0, 0.0, 0.0},
    {"atan2", 0.0, -1, 0x1.921fb54442d18p1},
    {"atan2", 0.0, 1, 0.0},
    {"atan2", 0.0, -HUGE_VAL, 0x1.921fb54442d18p1},
    {"atan2", 0.0, HUGE_VAL, 0.0},
    {"atan2", 1, 0.0, 0x1.921fb54442d18p0},
    {"atan2", 1, -0.0, 0x1.921fb54442d18p0},
    {"atan2", 1, -HUGE_VAL, 0x1.921fb54442d18p1},
    {"atan2", 1, HUGE_VAL, 0.0},
    {"atan2", HUGE_VAL, 1, 0x1.921fb54442d18p0},
    {"atan2", HUGE_VAL, -1, 0x1.921fb54442d18p0},
    {"atan2", HUGE_VAL, -HUGE_VAL, 0x1.2d97c7f3321d2p1},
    {"atan2", HUGE_VAL, HUGE_VAL, 0x1.921fb54442d18p-1},
    {"atan2", 0x1p-1074, 0x1p-1074, 0x1.921fb54442d18p-1},
    {"atan2", 0x1p1023, -0x1p1023, 0x1.2d97c7f3321d2p1},
    {"atan2", -0.0, -0.0, -0x1.921fb54442d18p1},
    {"atan2", -0.0, 0.0, -0.0},
    {"atan2", -0.0, -1, -0x1.921fb54442d18p1},
    {"atan2", -0.0, 1, -0.0},
    {"atan2", -0.0, -HUGE_VAL, -0x1.921fb54442d18p1},
    {"atan2", -0.0, HUGE_VAL, -0.0},
    {"atan2", -1, 0.0, -0x1.921fb54442d18p0},
    {"atan2", -1, -0.0, -0x1.921fb54442d18p0},
    {"atan2", -1, -HUGE_VAL, -0x1.921fb54442d18p1},
    {"atan2", -1, HUGE_VAL, -0.0},
    {"atan2", -HUGE_VAL, 1, -0x1.921fb54442d18p0},
    {"atan2", -HUGE_VAL, -1, -0x1.921fb54442d18p0},
    {"atan2", -HUGE_VAL, -HUGE_VAL, -0x1.2d97c7f3321d2p1},
    {"atan2", -HUGE_VAL, HUGE_VAL, -0x1.921fb54442d18p-1},
    {"atan2", -0x1p-1074, 0x1p-1074, -0x1.921fb54442d18p-1},
    {"atan2", -0x1p1023, -0x1p1023, -0x1.2d97c7f3321d2p1},
    {"atan2", NAN, 1, NAN},
    {"atan2", 1, NAN, NAN},
    {"atan2pi", 0.0, -0.0, 1},
    {"atan2pi", 0.0, 0.0, 0.0},
    {"atan2pi", 0.0, -1, 1},
    {"atan2pi", 0.0, 1, 0.0},
    {"atan2pi", 0.0, -HUGE_VAL, 1},
    {"atan2pi", 0.0, HUGE_VAL, 0.0},
    {"atan2pi", 1, 0.0, 0.5},
    {"atan2pi", 1, -0.0, 0.5},
    {"atan2pi", 1, -HUGE_VAL, 1},
    {"atan2pi", 1, HUGE_VAL, 0.0},
    {"atan2pi", HUGE_VAL, 1, 0.5},
    {"atan2pi", HUGE_VAL, -1, 0.5},
    {"atan2pi", HUGE_VAL, -HUGE_VAL, 0.75},
    {"atan2pi", HUGE_VAL, HUGE_VAL, 0.25},
    {"atan2pi", 0x1p-1074, 0x1p-1074, 0.25},
    {"atan2pi", 0x1p1023, -0x1p1023, 0.75},
    {"atan2pi", -0.0, -0.0, -1},
    {"atan2pi", -0.0, 0.0, -0.0},
    {"atan2pi", -0.0, -1, -1},
    {"atan2pi", -0.0, 1, -0.0},
    {"atan2pi", -0.0, -HUGE_VAL, -1},
    {"atan2pi", -0.0, HUGE_VAL, -0.0},
    {"atan2pi", -1, 0.0, -0.5},
    {"atan2pi", -1, -0.0, -0.5},
    {"atan2pi", -1, -HUGE_VAL, -1},
    {"atan2pi", -1, HUGE_VAL, -0.0},
    {"atan2pi", -HUGE_VAL, 1, -0.5},
    {"atan2pi", -HUGE_VAL, -1, -0.5},
    {"atan2pi", -HUGE_VAL, -HUGE_VAL, -0.75},
    {"atan2pi", -HUGE_VAL, HUGE_VAL, -0.25},
    {"atan2pi", -0x1p-1074, 0x1p-1074, -0.25},
    {"atan2pi", -0x1p1023, -0x1p1023, -0.75},
    {"atan2pi", NAN, 1, NAN},
    {"atan2pi", 1, NAN, NAN},
    {"erf", 0.0, 0, 0.0},
    {"erf", -0.0, 0, -0.0},
    {"erf", 7, 0, 1},
    {"erf", 1e300, 0, 1},
    {"erf", HUGE_VAL, 0, 1},
    {"erf", -HUGE_VAL, 0, -1},
    {"erfc", 0.0, 0, 1},
    {"erfc", -0.0, 0, 1},
    {"erfc", 0x1p-1074, 0, 1},
    {"erfc", -7, 0, 2},
    {"erfc", 27.5, 0, 0.0},
    {"erfc", 1e300, 0, 0.0},
    {"erfc", HUGE_VAL, 0, 0.0},
    {"erfc", -HUGE_VAL, 0, 2},
    {"tgamma", 0.0, 0, HUGE_VAL},
    {"tgamma", -0.0, 0, -HUGE_VAL},
    {"tgamma", HUGE_VAL, 0, HUGE_VAL},
    {"tgamma", -HUGE_VAL, 0, NAN},
    {"tgamma", -1, 0, NAN},
    {"tgamma", -2, 0, NAN},
    {"tgamma", -184, 0, NAN},
    {"tgamma", -0x1p52, 0, NAN},
    {"tgamma", -1e300, 0, NAN},
    {"tgamma", 1, 0, 1},
    {"tgamma", 2, 0, 1},
    {"tgamma", 3, 0, 2},
    {"tgamma", 4, 0, 6},
    {"tgamma", 5, 0, 24},
    {"tgamma", 6, 0, 120},
    {"tgamma", 7, 0, 720},
    {"tgamma", 8, 0, 5040},
    {"tgamma", 9, 0, 40320},
    {"tgamma", 10, 0, 362880},
    {"tgamma", 11, 0, 3628800},
    {"tgamma", 12, 0, 39916800},
    {"tgamma", 13, 0, 479001600.0},
    {"tgamma", 14, 0, 6227020800.0},
    {"tgamma", 15, 0, 87178291200.0},
    {"tgamma", 16, 0, 1307674368000.0},
    {"tgamma", 17, 0, 20922789888000.0},
    {"tgamma", 18, 0, 355687428096000.0},
    {"tgamma", 19, 0, 6402373705728000.0},
    {"tgamma", 20, 0, 121645100408832000.0},
    {"tgamma", 21, 0, 2432902008176640000.0},
    {"tgamma", 22, 0, 51090942171709440000.0},
    {"tgamma", 23, 0, 1124000727777607680000.0},
    {"tgamma", 0x1p-1074, 0, HUGE_VAL},
    {"tgamma", -0x1p-1074, 0, -HUGE_VAL},
    {"tgamma", 172, 0, HUGE_VAL},
    {"tgamma", 1e300, 0, HUGE_VAL},
    {"tgamma", -200.5, 0, -0.0},
    {"tgamma", -201.5, 0, 0.0},
    {"tgamma", 0x1p-1000, 0, 0x1p1000},
    {"lgamma", 0.0, 0, HUGE_VAL},
    {"lgamma", -0.0, 0, HUGE_VAL},
    {"lgamma", HUGE_VAL, 0, HUGE_VAL},
    {"lgamma", -HUGE_VAL, 0, HUGE_VAL},
    {"lgamma", -1, 0, HUGE_VAL},
    {"lgamma", -2, 0, HUGE_VAL},
    {"lgamma", -100, 0, HUGE_VAL},
    {"lgamma", -0x1p52, 0, HUGE_VAL},
    {"lgamma", -1e300, 0, HUGE_VAL},
    {"lgamma", 2.6e305, 0, HUGE_VAL},
    {"lgamma", 1e308, 0, HUGE_VAL},
    {"lgamma", 1, 0, 0.0},
    {"lgamma", 2, 0, 0.0},
};

static void special_values_are_those_of_c23(void **state) {
    size_t count = sizeof special / sizeof *special;

    (void)state;
    for (size_t first = 0, end; first < count; first = end) {
        double x[64], y[64], want[64];
        size_t used = 0;
        int is_binary = math_f64_find(special[first].name)->binary != NULL;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_pipeline *pipeline = compile(special[first].name, is_binary ? 2 : 1, 1);

        for (end = first; end < count && strcmp(special[first].name, special[end].name) == 0; end++, used++) {
            x[used] = special[end].x;
            y[used] = special[end].y;
            want[used] = special[end].result;
        }
        x[used] = y[used] = want[used] = NAN; /* NaN is NaN */
        used++;
        assert_true(used <= 64);
        dispatch(pipeline, x, is_binary ? y : NULL, used, &outputs);
        for (size_t i = 0; i < used; i++) {
            double got = ((const double *)outputs.items[0].data)[i];
            if (math_double_bits(got) != math_double_bits(want[i]))
                fail_msg("%s_f64(%a, %a) is %a, expected %a", special[first].name, x[i], y[i], got, want[i]);
        }
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
    }
}

/* Of all f64 the first ones of the list are closest to multiples of pi / 2, as continued fractions of 2^n / pi find
 * them. Then multiples of pi / 4 and their neighbours, and powers of two. */
static void arguments_near_multiples_of_pi_are_reduced_exactly(void **state) {
    static const double close[] = {0x16ac5b262ca1ffp797, 0x16c6cbc45dc8dep-47, 0x16ac5b262ca1ffp798,
                                   0x16c6cbc45dc8dep-46, 0x1b951f1572eba5p-29, 0x1504cac51f1eafp79,
                                   0x16ac5b262ca1ffp799, 0x1e009c53148be1p939, 0x16c6cbc45dc8dep-45,
                                   0x14c96c11134d36p525, 0x1cfe482285f8edp808, 0x1db41f3cb71d7bp628,
                                   0x1e7e44a78ac18cp145, 0x1b951f1572eba5p-28, 0x1c45cd11154dfdp243,
                                   0x1504cac51f1eafp80,  0x183009e2e9e2ebp562, 0x1b2196364d750bp201,
                                   0x16ac5b262ca1ffp800, 0x1e009c53148be1p940, 0x169eab0985179bp194,
                                   0x16c6cbc45dc8dep-44, 0x14c96c11134d36p526, 0x1782b7a20df6d4p15,
                                   0x166bd5424e5655p38,  0x14117573397d42p887, 0x1cfe482285f8edp809,
                                   0x161a3db8c8d129p969, 0x1db41f3cb71d7bp629, 0x18b28676cdcc5bp503,
                                   0x1e7e44a78ac18cp146, 0x1b951f1572eba5p-27, 0x1c45cd11154dfdp244,
                                   0x1504cac51f1eafp81,  0x183009e2e9e2ebp563, 0x1b2196364d750bp202,
                                   0x1f2e22199cf3d1p526, 0x16ac5b262ca1ffp801, 0x15ad5a62cb1cc9p91,
                                   0x1dfa8d18f2b3eep637, 0x1.fffffffffffffp27, 0x1p28,
                                   0x1.0000000000001p28};
    static const char *const names[] = {"sin", "cos", "tan"};
    static double x[MOST];
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < sizeof close / sizeof *close; i++) {
        x[count++] = close[i];
        x[count++] = -close[i];
    }
    for (int k = 1; k < 2000; k++) {
        double multiple = k * 0x1.921fb54442d18p-1;
        x[count++] = multiple;
        x[count++] = nextafter(multiple, 0);
        x[count++] = nextafter(multiple, HUGE_VAL);
    }
    for (int k = -1074; k < 1024; k++)
        x[count++] = ldexp(1, k);
    assert_true(count <= MOST);
    for (int i = 0; i < 3; i++)
        run(names[i], x, count);
}

static void sincos_is_sin_and_cos(void **state) {
    enum { COUNT = 4096 };
    static double x[COUNT];
    double unused;
    uint64_t random = 1;
    vyre_outputs both = VYRE_OUTPUTS_INIT, one = VYRE_OUTPUTS_INIT;
    vyre_pipeline *pipeline = compile("sincos", 1, 2);

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        math_f64_draw(math_f64_find("sin"), &random, &x[i], &unused);
    x[0] = -0.0;
    dispatch(pipeline, x, NULL, COUNT, &both);
    vyre_pipeline_release(pipeline);
    for (int k = 0; k < 2; k++) {
        pipeline = compile(k ? "cos" : "sin", 1, 1);
        dispatch(pipeline, x, NULL, COUNT, &one);
        assert_memory_equal(one.items[0].data, both.items[k].data, sizeof x);
        vyre_pipeline_release(pipeline);
    }
    vyre_outputs_free(&both);
    vyre_outputs_free(&one);
}

/* The zeros of the logarithm of |gamma(x)| below 0 are close to n - 1 / n! and n + 1 / n!. */
static void lgamma_is_accurate_near_its_zeros(void **state) {
    enum { EACH = 100, MOST_POLE = 20 };
    static double x[(2 * MOST_POLE + 4) * EACH];
    double factorial = 2;
    uint64_t random = 1;
    size_t count = 0;

    (void)state;
    for (int n = 3; n < MOST_POLE; n++) {
        factorial *= n;
        for (int i = 0; i < 2 * EACH; i++)
            x[count++] = -n + (i & 1 ? 1 : -1) / factorial * (1 + ldexp(math_uniform(&random, -1, 1), -i / 4));
    }
    for (int i = 0; i < EACH; i++) {
        x[count++] = 1 + ldexp(math_uniform(&random, -1, 1), -i / 2);
        x[count++] = 2 + ldexp(math_uniform(&random, -1, 1), -i / 2);
        x[count++] = -0x1.3a7fc9600f86cp1 + ldexp(math_uniform(&random, -1, 1), -4 - i / 2);
        x[count++] = -0x1.5fb410a1bd901p1 + ldexp(math_uniform(&random, -1, 1), -4 - i / 2);
    }
    run("lgamma", x, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values_are_those_of_c23),
        cmocka_unit_test(arguments_near_multiples_of_pi_are_reduced_exactly),
        cmocka_unit_test(sincos_is_sin_and_cos),
        cmocka_unit_test(lgamma_is_accurate_near_its_zeros),
        cmocka_unit_test(samples_are_as_accurate_as_stated),
    };
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
