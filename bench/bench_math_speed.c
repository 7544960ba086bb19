/* The speed of the math dialect on one core, compared with glibc's scalar functions and its vector functions (libmvec).
 *
 * Nanoseconds per element of y[i] = f(x[i]) for 2^15 elements, which stay in the cache; the best of many runs. Operands
 * are uniform in the range that the row states. A vector function of glibc has an error of up to 4 ulp.
 *
 * usage: math_speed [--json] [FUNCTION...]   --json: one object per function */
#include "vyre/cache.h"
#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 1 << 15, RUNS = 200 };

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#define CLONES                                                                                                         \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"),                                       \
                   optimize("O3", "no-math-errno", "no-trapping-math")))
#define VECTOR(f) extern __attribute__((const, simd("notinbranch"))) float f(float)
#define HAVE_VECTOR 1
#else
#define CLONES
#define VECTOR(f) extern float f(float)
#define HAVE_VECTOR 0
#endif

/* X(function, of glibc, low, high) */
#define FUNCTIONS(X)                                                                                                   \
    X(exp, expf, -10, 10)                                                                                              \
    X(exp2, exp2f, -10, 10)                                                                                            \
    X(exp10, exp10f, -10, 10)                                                                                          \
    X(expm1, expm1f, -2, 2)                                                                                            \
    X(log, logf, 0, 10)                                                                                                \
    X(log2, log2f, 0, 10)                                                                                              \
    X(log10, log10f, 0, 10)                                                                                            \
    X(log1p, log1pf, 0, 10)                                                                                            \
    X(sin, sinf, -10, 10)                                                                                              \
    X(cos, cosf, -10, 10)                                                                                              \
    X(tan, tanf, -10, 10)                                                                                              \
    X(asin, asinf, -1, 1)                                                                                              \
    X(acos, acosf, -1, 1)                                                                                              \
    X(atan, atanf, -10, 10)                                                                                            \
    X(sinh, sinhf, -10, 10)                                                                                            \
    X(cosh, coshf, -10, 10)                                                                                            \
    X(tanh, tanhf, -4, 4)                                                                                              \
    X(asinh, asinhf, -10, 10)                                                                                          \
    X(acosh, acoshf, 1, 10)                                                                                            \
    X(atanh, atanhf, -1, 1)                                                                                            \
    X(cbrt, cbrtf, -10, 10)                                                                                            \
    X(erf, erff, -4, 4)                                                                                                \
    X(erfc, erfcf, -4, 4)

/* Scalar calls go through pointers, so that they stay scalar. */
typedef float scalar_function(float);
typedef void array_function(const float *x, float *y);

#define SCALAR(name, function, low, high) static scalar_function *const volatile scalar_##name = function;
FUNCTIONS(SCALAR)
#define DECLARE(name, function, low, high) VECTOR(function);
FUNCTIONS(DECLARE)
#define ARRAY(name, function, low, high)                                                                               \
    CLONES static void vector_##name(const float *x, float *y) {                                                       \
        for (int i = 0; i < COUNT; i++)                                                                                \
            y[i] = function(x[i]);                                                                                     \
    }
FUNCTIONS(ARRAY)

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void check(vyre_status status, const vyre_error *error) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s\nFix: %s\n", error->message, error->fix);
    exit(2);
}

static double time_scalar(scalar_function *f, const float *x, float *y) {
    double best = HUGE_VAL;
    for (int run = 0; run < RUNS / 4; run++) {
        double start = now();
        for (int i = 0; i < COUNT; i++)
            y[i] = f(x[i]);
        best = fmin(best, now() - start);
    }
    return best / COUNT;
}

static double time_vector(array_function *f, const float *x, float *y) {
    double best = HUGE_VAL;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        f(x, y);
        best = fmin(best, now() - start);
    }
    return best / COUNT;
}

/* The function, or a copy, which is the cost of a dispatch without it. */
static double time_ours(vyre_backend *backend, const char *function, const float *x) {
    char text[512];
    vyre_module *module;
    vyre_pipeline *pipeline;
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT}, {.kind = VYRE_RESOURCE_RESIDENT}};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments arguments = {.inputs = NULL};
    vyre_error error = VYRE_ERROR_INIT;
    double best = HUGE_VAL;

    snprintf(
        text, sizeof text,
        "program speed {\n  buffer x : f32 read\n  buffer y : f32 write count len(x)\n  workgroup 256\n  grid over x\n"
        "  let i = global_id.x\n  if i < len(x) { y[i] = %s(x[i]) }\n}\n",
        function);
    check(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), &error);
    check(vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, &error), &error);
    for (int i = 0; i < 2; i++)
        check(vyre_resident_allocate(backend, COUNT * sizeof *x, i ? NULL : x, &bindings[i].resident, &error), &error);
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        check(vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, &arguments, NULL, &outputs, NULL, NULL, &error),
              &error);
        best = fmin(best, now() - start);
    }
    for (int i = 0; i < 2; i++)
        vyre_resident_free(backend, bindings[i].resident, NULL);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_module_free(module);
    return best / COUNT;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        scalar_function *const volatile *scalar;
        array_function *vector;
        float low, high;
    } rows[] = {
#define ROW(name, function, low, high) {#name, &scalar_##name, vector_##name, low, high},
        FUNCTIONS(ROW)};
    static float x[COUNT], y[COUNT];
    vyre_backend *backend;
    vyre_error error = VYRE_ERROR_INIT;
    int is_json = argc > 1 && strcmp(argv[1], "--json") == 0;

    setenv("VYRE_CPU_THREADS", "1", 1);
    check(vyre_acquire("cpu", &backend, &error), &error);
    if (!is_json)
        printf("ns per element  %8s %8s %8s   scalar/ours vector/ours\n", "ours", "scalar", "vector");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char function[64];
        int is_wanted = argc < 2 + is_json;
        for (int k = 1 + is_json; k < argc; k++)
            is_wanted |= strcmp(argv[k], rows[i].name) == 0;
        if (!is_wanted)
            continue;
        uint32_t random = 1;
        for (int k = 0; k < COUNT; k++) {
            random = random * 1664525 + 1013904223;
            x[k] = rows[i].low + (rows[i].high - rows[i].low) * (float)(random >> 8) * 0x1p-24f;
        }
        snprintf(function, sizeof function, "math.%s_f32", rows[i].name);
        double ours = time_ours(backend, function, x), scalar = time_scalar(*rows[i].scalar, x, y);
        double vector = HAVE_VECTOR ? time_vector(rows[i].vector, x, y) : NAN;
        if (is_json)
            printf("{\"function\": \"%s\", \"low\": %g, \"high\": %g, \"ours_ns\": %.3f, \"scalar_ns\": %.3f, "
                   "\"vector_ns\": %.3f}\n",
                   rows[i].name, (double)rows[i].low, (double)rows[i].high, ours, scalar, HAVE_VECTOR ? vector : 0);
        else
            printf("%-8s %4.0f…%-3.0f %7.2f %8.2f %8.2f %8.2f %10.2f\n", rows[i].name, (double)rows[i].low,
                   (double)rows[i].high, ours, scalar, vector, scalar / ours, vector / ours);
        fflush(stdout);
    }
    vyre_backend_release(backend);
    return 0;
}
