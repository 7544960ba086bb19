/* The accuracy of the math dialect: an f32 function on the `cpu` backend, each result judged.
 *
 * A double result of the C library decides wherever the rounding to f32 is the same 2^-44 below and above it; that is
 * 256 units in the last place of a double, and the C library documents at most a few. MPFR decides the rest, and every
 * result that looks wrong.
 *
 * The digest is BLAKE2b-256 of all 2^32 results, little-endian, in the order of the input's bits, every NaN as
 * 7fc00000.
 *
 * usage: math_accuracy [options] FUNCTION...
 *   --all              every input (default: every 4099th, and 512 neighbours of special values)
 *   --step N           every Nth instead
 *   --backend NAME     default cpu
 *   --library FILE     call the functions of this file instead of those in the library
 *   --state FOLDER     with --all: save the progress every 2^24 inputs, and continue from there
 *   --seconds N        with --state: stop after about N seconds with exit status 3; the same command continues
 *   --inputs FILE      only the inputs of this file, with lines as --hard writes them
 *   --hard FILE        append inputs closer to a tie than 2^-20 units, with the result: hard cases of the tests
 *   --closer N         2^-N instead
 *   --peer             judge the f32 functions of the C library instead; no backend is used
 *   --json             one object per function
 * The exit status is 1 if a result is not correctly rounded, 2 for other errors. */
#include "support/math_judge.h"

#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, WRONG = 100, NAME = 32, THREADS_MAX = 256 };

/* ---- the wide evaluation ---- */

/* The C library's vector functions, where the compiler can call them: gcc on x86-64 with glibc. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define CLONES                                                                                                         \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"),                                       \
                   optimize("O3", "no-math-errno", "no-trapping-math")))
#define VECTOR(f) extern __attribute__((const, simd("notinbranch"))) double f(double)
VECTOR(exp);
VECTOR(log);
VECTOR(sin);
VECTOR(cos);
#if __GLIBC_PREREQ(2, 35)
VECTOR(exp2);
VECTOR(exp10);
VECTOR(expm1);
VECTOR(log2);
VECTOR(log10);
VECTOR(log1p);
VECTOR(tan);
VECTOR(asin);
VECTOR(acos);
VECTOR(atan);
VECTOR(sinh);
VECTOR(cosh);
VECTOR(tanh);
VECTOR(asinh);
VECTOR(acosh);
VECTOR(atanh);
VECTOR(cbrt);
VECTOR(erf);
VECTOR(erfc);
#endif
#else
#define CLONES
#endif

/* The fraction of half turns, exactly: x minus the nearest even number. */
static double half_turns(double x) {
    return remainder(x, 2);
}

#define WIDE(name, value)                                                                                              \
    CLONES static void wide_##name(const float *in, double *out, size_t count) {                                       \
        for (size_t i = 0; i < count; i++) {                                                                           \
            double x = (double)in[i];                                                                                  \
            out[i] = value;                                                                                            \
        }                                                                                                              \
    }
#define PI 3.14159265358979323846
#define LN2 0.69314718055994530942
#define LN10 2.30258509299404568402
WIDE(exp, exp(x))
WIDE(exp2, exp2(x))
WIDE(exp10, exp10(x))
WIDE(expm1, expm1(x))
WIDE(exp2m1, expm1(x *LN2))
WIDE(exp10m1, expm1(x *LN10))
WIDE(log, log(x))
WIDE(log2, log2(x))
WIDE(log10, log10(x))
WIDE(log1p, log1p(x))
WIDE(log2p1, log1p(x) / LN2)
WIDE(log10p1, log1p(x) / LN10)
WIDE(sin, sin(x))
WIDE(cos, cos(x))
WIDE(tan, tan(x))
WIDE(asin, asin(x))
WIDE(acos, acos(x))
WIDE(atan, atan(x))
WIDE(asinpi, asin(x) / PI)
WIDE(acospi, acos(x) / PI)
WIDE(atanpi, atan(x) / PI)
WIDE(sinh, sinh(x))
WIDE(cosh, cosh(x))
WIDE(tanh, tanh(x))
WIDE(asinh, asinh(x))
WIDE(acosh, acosh(x))
WIDE(atanh, atanh(x))
WIDE(cbrt, cbrt(x))
WIDE(rsqrt, 1 / sqrt(x))
WIDE(erf, erf(x))
WIDE(erfc, erfc(x))
WIDE(degrees, x *(180 / PI))
WIDE(radians, x *(PI / 180))

/* Around the zeros of these the argument is exact, so that the error stays relative. */
static void wide_sinpi(const float *in, double *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double t = half_turns((double)in[i]);
        double folded = t > 0.5 ? 1 - t : t < -0.5 ? -1 - t : t;
        out[i] = t == 0 || fabs(t) == 1 ? copysign(0, (double)in[i]) : sin(PI * folded);
    }
}
static void wide_cospi(const float *in, double *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double t = fabs(half_turns((double)in[i]));
        out[i] = t == 0.5 ? 0 : sin(PI * (0.5 - t));
    }
}
static void wide_tanpi(const float *in, double *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double x = (double)in[i], t = remainder(x, 1);
        if (t == 0)
            out[i] = remainder(x, 2) == 0 ? copysign(0, x) : -copysign(0, x);
        else if (fabs(t) == 0.5)
            out[i] = remainder(x - 0.5, 2) == 0 ? HUGE_VAL : -HUGE_VAL;
        else
            out[i] = copysign(fabs(t) > 0.25 ? 1 / tan(PI * (0.5 - fabs(t))) : tan(PI * fabs(t)), t);
    }
}

typedef void wide_function(const float *in, double *out, size_t count);
#define ROW(name)                                                                                                      \
    { #name, wide_##name }
static const struct {
    const char *name;
    wide_function *evaluate;
} wides[] = {ROW(exp),   ROW(exp2),  ROW(exp10),   ROW(expm1),   ROW(exp2m1), ROW(exp10m1), ROW(log),    ROW(log2),
             ROW(log10), ROW(log1p), ROW(log2p1),  ROW(log10p1), ROW(sin),    ROW(cos),     ROW(tan),    ROW(sinpi),
             ROW(cospi), ROW(tanpi), ROW(asin),    ROW(acos),    ROW(atan),   ROW(asinpi),  ROW(acospi), ROW(atanpi),
             ROW(sinh),  ROW(cosh),  ROW(tanh),    ROW(asinh),   ROW(acosh),  ROW(atanh),   ROW(cbrt),   ROW(rsqrt),
             ROW(erf),   ROW(erfc),  ROW(degrees), ROW(radians)};

static wide_function *wide_find(const char *name) {
    for (size_t i = 0; i < sizeof wides / sizeof *wides; i++)
        if (strcmp(wides[i].name, name) == 0)
            return wides[i].evaluate;
    return NULL;
}

/* ---- the f32 functions of the C library, for comparison ---- */

#define PEER(name)                                                                                                     \
    { #name, name##f }
static const struct {
    const char *name;
    float (*function)(float);
} peers[] = {PEER(exp),  PEER(exp2),  PEER(exp10), PEER(expm1), PEER(log),  PEER(log2), PEER(log10), PEER(log1p),
             PEER(sin),  PEER(cos),   PEER(tan),   PEER(asin),  PEER(acos), PEER(atan), PEER(sinh),  PEER(cosh),
             PEER(tanh), PEER(asinh), PEER(acosh), PEER(atanh), PEER(cbrt), PEER(erf),  PEER(erfc)};

static float (*peer_find(const char *name))(float) {
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(peers[i].name, name) == 0)
            return peers[i].function;
    return NULL;
}

/* ---- one function ---- */

typedef struct wrong_input {
    uint32_t in, got;
} wrong_input;

/* What is saved between runs. */
typedef struct progress {
    uint64_t next, wrong_count, by_mpfr;
    double max_error, seconds;
    wrong_input wrong[WRONG];
    crypto_generichash_state digest;
} progress;

typedef struct campaign {
    char function[NAME];
    const math_judge *judge;
    wide_function *wide;
    float (*peer)(float);
    vyre_pipeline *pipeline;
    FILE *hard;
    progress p;
    uint64_t tested;
    double device_s;
} campaign;

static struct {
    int is_all, is_json, is_peer;
    uint64_t step;
    double closer, seconds;
    unsigned threads;
    const char *backend, *library, *state, *hard, *inputs;
} options = {.step = 4099, .closer = 0x1p-20, .backend = "cpu"};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

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

static vyre_pipeline *compile(vyre_backend *backend, const char *function) {
    char *library = options.library ? read_text(options.library) : calloc(1, 1);
    size_t size = strlen(library) + 1024;
    char *text = malloc(size);
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_module *module;
    vyre_pipeline *pipeline;
    vyre_error error = VYRE_ERROR_INIT;

    snprintf(
        text, size,
        "%s\nprogram sweep {\n  buffer x : u32 read\n  buffer y : u32 write count len(x)\n  workgroup 256\n  grid over "
        "x\n\n"
        "  let i = global_id.x\n  if i < len(x) {\n    y[i] = bitcast<u32>(%s%s_f32(bitcast<f32>(x[i])))\n  }\n}\n",
        library, options.library ? "" : "math.", function);
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

/* ---- judging ---- */

typedef struct share {
    const campaign *c;
    const uint32_t *in, *got;
    size_t count;
    uint64_t wrong_count, by_mpfr;
    double max_error;
    wrong_input wrong[WRONG], *hard;
    size_t hard_count;
} share;

static void ask_mpfr(share *s, size_t i) {
    double error = math_judge_error(s->c->judge, s->in[i], s->got[i]);
    uint32_t want = math_judge_round(s->c->judge, s->in[i]);
    s->by_mpfr++;
    if (want != s->got[i]) {
        if (s->wrong_count < WRONG)
            s->wrong[s->wrong_count] = (wrong_input){s->in[i], s->got[i]};
        s->wrong_count++;
    }
    if (error > s->max_error)
        s->max_error = error;
    if (s->c->hard && fabs(error - 0.5) < options.closer && s->hard_count < BLOCK)
        s->hard[s->hard_count++] = (wrong_input){s->in[i], want};
}

/* What the wide results round to a little below and above them. */
CLONES static void round_both_ways(const double *wide, uint32_t *low, uint32_t *high, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double margin = fabs(wide[i]) < 0x1p300 ? fabs(wide[i]) * 0x1p-44 : 0;
        low[i] = math_bits((float)(wide[i] - margin));
        high[i] = margin == 0 ? low[i] : math_bits((float)(wide[i] + margin));
    }
}

static void *judge_share(void *argument) {
    share *s = argument;
    enum { PIECE = 512 };
    float x[PIECE];
    double wide[PIECE];
    uint32_t low[PIECE], high[PIECE];

    math_judge_start();
    for (size_t at = 0; at < s->count; at += PIECE) {
        size_t count = s->count - at < PIECE ? s->count - at : PIECE;
        memcpy(x, s->in + at, count * sizeof *x);
        s->c->wide(x, wide, count);
        round_both_ways(wide, low, high, count);
        if (memcmp(low, high, count * sizeof *low) == 0 && memcmp(low, s->got + at, count * sizeof *low) == 0)
            continue;
        for (size_t i = 0; i < count; i++)
            if (low[i] != high[i] || s->got[at + i] != low[i])
                ask_mpfr(s, at + i);
    }
    mpfr_free_cache();
    return NULL;
}

static void judge(campaign *c, const uint32_t *in, const uint32_t *got, size_t count) {
    static share shares[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    size_t each = (count + options.threads - 1) / options.threads;

    for (unsigned t = 0; t < options.threads; t++) {
        size_t first = t * each < count ? t * each : count, end = first + each < count ? first + each : count;
        wrong_input *hard = shares[t].hard;
        if (c->hard && !hard)
            hard = malloc(BLOCK * sizeof *hard);
        shares[t] = (share){.c = c, .in = in + first, .got = got + first, .count = end - first, .hard = hard};
        if (pthread_create(&threads[t], NULL, judge_share, &shares[t]) != 0)
            exit(2);
    }
    for (unsigned t = 0; t < options.threads; t++) {
        share *s = &shares[t];
        pthread_join(threads[t], NULL);
        for (uint64_t i = 0; i < s->wrong_count; i++, c->p.wrong_count++)
            if (c->p.wrong_count < WRONG && i < WRONG)
                c->p.wrong[c->p.wrong_count] = s->wrong[i];
        for (size_t i = 0; i < s->hard_count; i++)
            fprintf(c->hard, "%s %08x %08x\n", c->function, s->hard[i].in, s->hard[i].got);
        c->p.by_mpfr += s->by_mpfr;
        c->p.max_error = fmax(c->p.max_error, s->max_error);
    }
}

static void evaluate(campaign *c, const uint32_t *in, size_t count, vyre_outputs *outputs) {
    vyre_span input = {in, count * sizeof *in};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_error error = VYRE_ERROR_INIT;
    double start = now();
    if (c->peer) {
        static uint32_t got[BLOCK];
        for (size_t i = 0; i < count; i++)
            got[i] = math_bits(c->peer(math_float(in[i])));
        judge(c, in, got, count);
        c->tested += count;
        return;
    }
    check(vyre_pipeline_dispatch_into(c->pipeline, &arguments, NULL, outputs, NULL, &error), &error);
    c->device_s += now() - start;
    judge(c, in, (const uint32_t *)outputs->items[0].data, count);
    c->tested += count;
}

/* ---- sweeps ---- */

static void state_path(const campaign *c, char *path, size_t size) {
    snprintf(path, size, "%s/%s.progress", options.state, c->function);
}

static void state_save(const campaign *c) {
    char path[4096], fresh[4200];
    FILE *file;
    if (!options.state)
        return;
    state_path(c, path, sizeof path);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    file = fopen(fresh, "wb");
    if (!file || fwrite(&c->p, sizeof c->p, 1, file) != 1 || fclose(file) != 0 || rename(fresh, path) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
}

static void state_load(campaign *c) {
    char path[4096];
    FILE *file;
    if (!options.state)
        return;
    state_path(c, path, sizeof path);
    file = fopen(path, "rb");
    if (file && fread(&c->p, sizeof c->p, 1, file) != 1) {
        fprintf(stderr, "%s is damaged\nFix: remove it\n", path);
        exit(2);
    }
    if (file)
        fclose(file);
}

/* Whether the sweep is complete; otherwise its time is over. */
static int sweep_all(campaign *c, uint32_t *in, vyre_outputs *outputs) {
    const uint64_t inputs = UINT64_C(1) << 32, saved = UINT64_C(1) << 24;
    const double start = now();
    double before;

    state_load(c);
    before = c->p.seconds;
    while (c->p.next < inputs) {
        for (uint32_t i = 0; i < BLOCK; i++)
            in[i] = (uint32_t)c->p.next + i;
        evaluate(c, in, BLOCK, outputs);
        crypto_generichash_update(&c->p.digest, outputs->items[0].data, BLOCK * sizeof *in);
        c->p.next += BLOCK;
        if (c->p.next % saved != 0)
            continue;
        c->p.seconds = before + now() - start;
        state_save(c);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r%s: %u of 256, %llu wrong, %.0f s%s", c->function, (unsigned)(c->p.next / saved),
                    (unsigned long long)c->p.wrong_count, c->p.seconds, c->p.next == inputs ? "\n" : "");
        if (options.state && options.seconds > 0 && now() - start > options.seconds && c->p.next < inputs)
            return 0;
    }
    return 1;
}

/* Every stepth input, and 512 inputs on each side of values where a function has special or switched results: powers of
 * two and their neighbourhood, multiples of pi / 4 and of ln 2 / 2, thresholds of overflow. */
static void sweep_sample(campaign *c, uint32_t *in, vyre_outputs *outputs) {
    size_t count = 0;
    enum { NEAR = 512 };
#define PUT(value)                                                                                                     \
    do {                                                                                                               \
        in[count++] = (value);                                                                                         \
        if (count == BLOCK) {                                                                                          \
            evaluate(c, in, count, outputs);                                                                           \
            count = 0;                                                                                                 \
        }                                                                                                              \
    } while (0)
    for (uint64_t i = 0; i < UINT64_C(1) << 32; i += options.step)
        PUT((uint32_t)i);
    for (uint64_t center = 0; center < UINT64_C(1) << 32; center += 1 << 22)
        for (uint32_t i = 0; i < 2 * NEAR; i++)
            PUT((uint32_t)center - NEAR + i);
    for (int k = -400; k <= 400; k++)
        for (int which = 0; which < 4; which++) {
            float value = (float)(k * (which == 0 ? PI / 4 : which == 1 ? LN2 / 2 : which == 2 ? 0.25 : LN10 / 4));
            for (uint32_t i = 0; i < 32; i++)
                PUT(math_bits(value) - 16 + i);
        }
    evaluate(c, in, count, outputs);
#undef PUT
}

static void sweep_file(campaign *c, uint32_t *in, vyre_outputs *outputs) {
    FILE *file = fopen(options.inputs, "r");
    char name[NAME];
    size_t count = 0;
    if (!file) {
        fprintf(stderr, "cannot read %s\n", options.inputs);
        exit(2);
    }
    for (unsigned bits; fscanf(file, "%31s %x %*x", name, &bits) == 2;)
        if (strcmp(name, c->function) == 0 && count < BLOCK)
            in[count++] = bits;
    fclose(file);
    if (count > 0)
        evaluate(c, in, count, outputs);
}

static void report(campaign *c, double seconds) {
    unsigned char digest[32];
    char hex[65] = "";
    uint64_t listed = c->p.wrong_count < WRONG ? c->p.wrong_count : WRONG;

    if (options.is_all) {
        crypto_generichash_final(&c->p.digest, digest, sizeof digest);
        sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    }
    if (options.is_json) {
        printf("{\"function\":\"%s\",\"backend\":\"%s\",\"tested\":%llu,\"wrong\":%llu,\"max_error_ulp\":%.9f,\"by_"
               "mpfr\":%llu,\"seconds\":%.1f",
               c->function, options.is_peer ? "libc" : options.backend,
               (unsigned long long)(options.is_all ? c->p.next : c->tested), (unsigned long long)c->p.wrong_count,
               c->p.max_error, (unsigned long long)c->p.by_mpfr, seconds);
        if (options.is_all)
            printf(",\"digest\":\"%s\"", hex);
        printf(",\"wrong_inputs\":[");
        for (uint64_t i = 0; i < listed; i++)
            printf("%s\"%08x\"", i ? "," : "", c->p.wrong[i].in);
        printf("]}\n");
    } else {
        printf("%-8s %10llu tested %8llu wrong, max %.6f ulp, %llu by MPFR, %.2f ns/element, %.0f s %s\n", c->function,
               (unsigned long long)(options.is_all ? c->p.next : c->tested), (unsigned long long)c->p.wrong_count,
               c->p.max_error, (unsigned long long)c->p.by_mpfr,
               c->device_s * 1e9 / (double)(c->tested ? c->tested : 1), seconds, hex);
        for (uint64_t i = 0; i < listed && i < 12; i++)
            printf("    %08x %a: got %08x, correct %08x, %.9f ulp\n", c->p.wrong[i].in,
                   (double)math_float(c->p.wrong[i].in), c->p.wrong[i].got,
                   math_judge_round(c->judge, c->p.wrong[i].in),
                   math_judge_error(c->judge, c->p.wrong[i].in, c->p.wrong[i].got));
    }
    fflush(stdout);
}

/* The exit status: 0, 1 if a result is wrong, 3 if the time ended first. */
static int run(vyre_backend *backend, const char *function) {
    static uint32_t in[BLOCK];
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    campaign c = {.judge = math_judge_find(function), .wide = wide_find(function)};
    double start = now();
    int is_complete = 1;

    snprintf(c.function, sizeof c.function, "%s", function);
    if (options.is_peer)
        c.peer = peer_find(function);
    if (!c.judge || !c.wide || (options.is_peer && !c.peer)) {
        fprintf(stderr, "unknown function %s\n", function);
        exit(2);
    }
    crypto_generichash_init(&c.p.digest, NULL, 0, 32);
    if (options.hard && !(c.hard = fopen(options.hard, "a")))
        exit(2);
    if (!c.peer)
        c.pipeline = compile(backend, function);
    if (options.inputs)
        sweep_file(&c, in, &outputs);
    else if (options.is_all)
        is_complete = sweep_all(&c, in, &outputs);
    else
        sweep_sample(&c, in, &outputs);
    if (is_complete)
        report(&c, options.is_all ? c.p.seconds : now() - start);
    vyre_pipeline_release(c.pipeline);
    vyre_outputs_free(&outputs);
    if (c.hard)
        fclose(c.hard);
    return is_complete ? c.p.wrong_count != 0 : 3;
}

int main(int argc, char **argv) {
    vyre_backend *backend;
    vyre_error error = VYRE_ERROR_INIT;
    int failed = 0, at = 1;

    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *option = argv[at], **text = strcmp(option, "--backend") == 0   ? &options.backend
                                                : strcmp(option, "--library") == 0 ? &options.library
                                                : strcmp(option, "--state") == 0   ? &options.state
                                                : strcmp(option, "--hard") == 0    ? &options.hard
                                                : strcmp(option, "--inputs") == 0  ? &options.inputs
                                                                                   : NULL;
        if (strcmp(option, "--all") == 0)
            options.is_all = 1;
        else if (strcmp(option, "--peer") == 0)
            options.is_peer = 1;
        else if (strcmp(option, "--json") == 0)
            options.is_json = 1;
        else if (text && at + 1 < argc)
            *text = argv[++at];
        else if (strcmp(option, "--step") == 0 && at + 1 < argc)
            options.step = strtoull(argv[++at], NULL, 10);
        else if (strcmp(option, "--seconds") == 0 && at + 1 < argc)
            options.seconds = strtod(argv[++at], NULL);
        else if (strcmp(option, "--closer") == 0 && at + 1 < argc)
            options.closer = ldexp(1, -atoi(argv[++at]));
        else
            at = argc;
    }
    if (at >= argc || options.step == 0 || (options.is_peer && options.is_all) || sodium_init() < 0) {
        fprintf(stderr, "usage: math_accuracy [--all] [--step N] [--backend NAME] [--library FILE] [--state FOLDER] "
                        "[--seconds N] [--hard FILE] [--inputs FILE] [--peer] [--json] "
                        "FUNCTION...\n");
        return 2;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    options.threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
    math_judge_start();
    backend = NULL;
    if (!options.is_peer)
        check(vyre_acquire(options.backend, &backend, &error), &error);
    for (; at < argc && failed < 3; at++) {
        int status = run(backend, argv[at]);
        failed = status > failed ? status : failed;
    }
    vyre_backend_release(backend);
    return failed;
}
