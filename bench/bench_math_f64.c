/* The accuracy of the f64 functions of the math dialect on samples, compared with those of the C library; MPFR judges.
 *
 * The inputs are those of tests/support/math_functions_f64.h: any bits, close to zero and one, and in a range of each
 * function. Errors are in ulps of the exact result. Both libraries receive the same inputs.
 *
 * usage: math_f64 [options] [FUNCTION...]     (default: all)
 *   --count N          inputs per function (default 100000)
 *   --seed N           of the inputs (default 1)
 *   --backend NAME     default cpu
 *   --library FILE     call the functions of this file instead of those in the library
 *   --json             one object per function
 * The exit status is 1 if an error is not below the stated bound, 2 for other errors. */
#include "support/math_functions_f64.h"

#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 16, THREADS_MAX = 64 };

/* ---- the C library ---- */

static const struct {
    const char *name;
    double (*unary)(double);
    double (*binary)(double, double);
} peers[] = {
    {"exp", exp, NULL},       {"exp2", exp2, NULL},   {"exp10", exp10, NULL}, {"expm1", expm1, NULL},
    {"log", log, NULL},       {"log2", log2, NULL},   {"log10", log10, NULL}, {"log1p", log1p, NULL},
    {"sinh", sinh, NULL},     {"cosh", cosh, NULL},   {"tanh", tanh, NULL},   {"asinh", asinh, NULL},
    {"acosh", acosh, NULL},   {"atanh", atanh, NULL}, {"cbrt", cbrt, NULL},   {"hypot", NULL, hypot},
    {"fmod", NULL, fmod},     {"pow", NULL, pow},     {"sin", sin, NULL},     {"cos", cos, NULL},
    {"tan", tan, NULL},       {"asin", asin, NULL},   {"acos", acos, NULL},   {"atan", atan, NULL},
    {"atan2", NULL, atan2},   {"erf", erf, NULL},     {"erfc", erfc, NULL},   {"lgamma", lgamma, NULL},
    {"tgamma", tgamma, NULL},
};

static int peer_find(const char *name) {
    for (int i = 0; i < (int)(sizeof peers / sizeof *peers); i++)
        if (strcmp(peers[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- one function ---- */

typedef struct worst {
    double error, x, y;
} worst;

/* The results that a thread judges: first, first + step, … */
typedef struct share {
    const math_f64 *f;
    const double *x, *y, *got;
    size_t first, step, count;
    int peer;
    worst ours, theirs;
    uint64_t misrounded;
} share;

static struct {
    int is_json;
    uint64_t count, seed;
    unsigned threads;
    const char *backend, *library;
} options = {.count = 100000, .seed = 1, .backend = "cpu"};

static void check(vyre_status status, const vyre_error *error) {
    if (status == VYRE_OK)
        return;
    fprintf(stderr, "%s\nFix: %s\n", error->message, error->fix);
    exit(2);
}

static char *read_text(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 22);
    if (!file || !text || fread(text, 1, (1 << 22) - 1, file) == 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

static vyre_pipeline *compile(vyre_backend *backend, const math_f64 *f) {
    char *library = options.library ? read_text(options.library) : calloc(1, 1), program[1024];
    size_t size = strlen(library) + sizeof program + 2;
    char *text = malloc(size);
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_module *module;
    vyre_pipeline *pipeline;
    vyre_error error = VYRE_ERROR_INIT;

    math_f64_program(f, options.library ? "" : "math.", program, sizeof program);
    snprintf(text, size, "%s\n%s", library, program);
    if (vyre_text_parse(text, strlen(text), NULL, list, &module, &error) != VYRE_OK) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fprintf(stderr, "%s\n%.*s", error.message, (int)rendered.size, (char *)rendered.data);
        exit(2);
    }
    check(vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipeline, &error), &error);
    vyre_module_free(module);
    vyre_diagnostics_free(list);
    free(text);
    free(library);
    return pipeline;
}

static void note(worst *most, double error, double x, double y) {
    if (error > most->error)
        *most = (worst){error, x, y};
}

static void *judge_share(void *argument) {
    share *s = argument;
    for (size_t i = s->first; i < s->count; i += s->step) {
        double x = s->x[i], y = s->y[i], error = math_f64_error(s->f, x, y, s->got[i]);
        note(&s->ours, error, x, y);
        s->misrounded += error > 0.5;
        if (s->peer < 0)
            continue;
        double other = peers[s->peer].unary ? peers[s->peer].unary(x) : peers[s->peer].binary(x, y);
        if (math_double_bits(other) != math_double_bits(s->got[i]))
            error = math_f64_error(s->f, x, y, other);
        note(&s->theirs, error, x, y);
    }
    mpfr_free_cache();
    return NULL;
}

static void judge(share *all, const double *got, size_t count) {
    share shares[THREADS_MAX];
    pthread_t threads[THREADS_MAX];

    for (unsigned t = 0; t < options.threads; t++) {
        shares[t] = *all;
        shares[t].got = got;
        shares[t].first = t;
        shares[t].step = options.threads;
        shares[t].count = count;
        shares[t].misrounded = 0;
        if (pthread_create(&threads[t], NULL, judge_share, &shares[t]) != 0)
            exit(2);
    }
    for (unsigned t = 0; t < options.threads; t++) {
        pthread_join(threads[t], NULL);
        note(&all->ours, shares[t].ours.error, shares[t].ours.x, shares[t].ours.y);
        note(&all->theirs, shares[t].theirs.error, shares[t].theirs.x, shares[t].theirs.y);
        all->misrounded += shares[t].misrounded;
    }
}

/* JSON has no infinity. */
static void put_number(const char *key, double value) {
    if (isfinite(value))
        printf(", \"%s\": %.4f", key, value);
    else
        printf(", \"%s\": \"infinite\"", key);
}

static void report(const share *s, uint64_t tested) {
    if (!options.is_json) {
        printf("%-8s bound %.3f: %.4f ulp at %a, %a; %llu of %llu not correctly rounded", s->f->name, s->f->bound,
               s->ours.error, s->ours.x, s->ours.y, (unsigned long long)s->misrounded, (unsigned long long)tested);
        if (s->peer >= 0)
            printf("; C library %.4f at %a, %a", s->theirs.error, s->theirs.x, s->theirs.y);
        printf("\n");
    } else {
        printf("{\"function\": \"%s\", \"backend\": \"%s\", \"tested\": %llu, \"seed\": %llu", s->f->name,
               options.backend, (unsigned long long)tested, (unsigned long long)options.seed);
        put_number("bound_ulp", s->f->bound);
        put_number("max_error_ulp", s->ours.error);
        printf(", \"at\": [\"%a\", \"%a\"], \"wrong\": %llu", s->ours.x, s->ours.y, (unsigned long long)s->misrounded);
        if (s->peer >= 0) {
            put_number("libc_max_error_ulp", s->theirs.error);
            printf(", \"libc_at\": [\"%a\", \"%a\"]", s->theirs.x, s->theirs.y);
        }
        printf("}\n");
    }
    fflush(stdout);
}

static int run(vyre_backend *backend, const math_f64 *f) {
    static double x[BLOCK], y[BLOCK];
    share all = {.f = f, .x = x, .y = y, .peer = peer_find(f->name)};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pipeline *pipeline = compile(backend, f);
    vyre_error error = VYRE_ERROR_INIT;
    uint64_t state = options.seed;

    for (uint64_t done = 0; done < options.count;) {
        size_t count = options.count - done < BLOCK ? (size_t)(options.count - done) : BLOCK;
        vyre_span inputs[2] = {{x, count * sizeof *x}, {y, count * sizeof *y}};
        vyre_arguments arguments = {.inputs = inputs, .input_count = f->operands == MATH_X ? 1 : 2};
        for (size_t i = 0; i < count; i++)
            math_f64_draw(f, &state, &x[i], &y[i]);
        check(vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, &error), &error);
        judge(&all, (const double *)outputs.items[0].data, count);
        done += count;
        if (isatty(2))
            fprintf(stderr, "\r%s %3.0f %%", f->name, 100.0 * (double)done / (double)options.count);
    }
    if (isatty(2))
        fprintf(stderr, "\r\033[K");
    report(&all, options.count);
    vyre_pipeline_release(pipeline);
    vyre_outputs_free(&outputs);
    return all.ours.error > f->bound;
}

int main(int argc, char **argv) {
    vyre_backend *backend;
    vyre_error error = VYRE_ERROR_INIT;
    int failed = 0, at = 1;

    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *option = argv[at], **text = strcmp(option, "--backend") == 0   ? &options.backend
                                                : strcmp(option, "--library") == 0 ? &options.library
                                                                                   : NULL;
        uint64_t *number = strcmp(option, "--count") == 0  ? &options.count
                           : strcmp(option, "--seed") == 0 ? &options.seed
                                                           : NULL;
        if (strcmp(option, "--json") == 0)
            options.is_json = 1;
        else if (text && at + 1 < argc)
            *text = argv[++at];
        else if (number && at + 1 < argc)
            *number = strtoull(argv[++at], NULL, 10);
        else {
            fprintf(stderr, "usage: math_f64 [--count N] [--seed N] [--backend NAME] [--library FILE] [--json] "
                            "[FUNCTION...]\n");
            return 2;
        }
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    options.threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
    check(vyre_acquire(options.backend, &backend, &error), &error);
    for (int i = at; i < argc; i++) {
        const math_f64 *f = math_f64_find(argv[i]);
        if (!f) {
            fprintf(stderr, "unknown function %s\n", argv[i]);
            failed = 2;
            break;
        }
        failed |= run(backend, f);
    }
    for (int i = 0; at == argc && i < MATH_F64_ROWS; i++)
        failed |= run(backend, &math_f64_table[i]);
    vyre_backend_release(backend);
    return failed;
}
