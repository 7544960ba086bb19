/* The accuracy of the math dialect: a function on the `cpu` backend, each result judged. A function is one of f32 (exp)
 * or has the suffix of its type (exp_f16, exp_bf16), or one of two operands (pow, pow_f16).
 *
 * A double result of the C library decides wherever the rounding is the same 2^-44 below and above it; that is 256
 * units in the last place of a double, and the C library documents at most a few. MPFR decides the rest, every result
 * that looks wrong, and all results of one f16 or bf16.
 *
 * The digest is BLAKE2b-256 of all results, little-endian, in the order of the input's bits, every NaN as 7fc00000, as
 * 7e00 (f16) or as 7fc0 (bf16).
 *
 * usage: math_accuracy [options] FUNCTION...
 *   --all              every input (default: every 4099th, and 512 neighbours of special values; of one f16 or bf16:
 *                      all); all 2^32 pairs of f16 or bf16
 *   --step N           every Nth instead
 *   --pairs N          for functions of two operands: N pairs (default 2^20). Of f32 all pairs of special values first,
 *                      then random ones, a quarter each of any bits, of similar exponents, of an interesting range, of
 *                      few bits; of f16 and bf16 different pairs of any bits
 *   --backend NAME     default cpu
 *   --library FILE     call the functions of this file instead of those in the library
 *   --state FOLDER     with --all or --pairs: save the progress every 2^24 inputs, and continue from there; a larger
 *                      N extends a completed campaign
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
#define VECTOR2(f) extern __attribute__((const, simd("notinbranch"))) double f(double, double)
VECTOR2(pow);
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
VECTOR2(atan2);
VECTOR2(hypot);
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
WIDE(lgamma, lgamma_r(x, &(int){0}))
WIDE(tgamma, tgamma(x))
WIDE(sigmoid, 1 / (1 + exp(-x)))
WIDE(softplus, log1p(exp(-fabs(x))) + fmax(x, 0))
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

/* Functions of two operands. */
#define WIDE2(name, value)                                                                                             \
    CLONES static void wide_##name(const float *in, const float *other, double *out, size_t count) {                   \
        for (size_t i = 0; i < count; i++) {                                                                           \
            double x = (double)in[i], y = (double)other[i];                                                            \
            out[i] = value;                                                                                            \
        }                                                                                                              \
    }
WIDE2(pow, pow(x, y))
WIDE2(atan2, atan2(x, y))
WIDE2(atan2pi, atan2(x, y) / PI)
WIDE2(hypot, hypot(x, y))
WIDE2(fmod, fmod(x, y))

typedef void wide_function(const float *in, double *out, size_t count);
typedef void wide_function2(const float *in, const float *other, double *out, size_t count);
#define ROW(name)                                                                                                      \
    { #name, wide_##name }
static const struct {
    const char *name;
    wide_function *evaluate;
} wides[] = {ROW(exp),     ROW(exp2),   ROW(exp10),  ROW(expm1),   ROW(exp2m1),  ROW(exp10m1), ROW(log),
             ROW(log2),    ROW(log10),  ROW(log1p),  ROW(log2p1),  ROW(log10p1), ROW(sin),     ROW(cos),
             ROW(tan),     ROW(sinpi),  ROW(cospi),  ROW(tanpi),   ROW(asin),    ROW(acos),    ROW(atan),
             ROW(asinpi),  ROW(acospi), ROW(atanpi), ROW(sinh),    ROW(cosh),    ROW(tanh),    ROW(asinh),
             ROW(acosh),   ROW(atanh),  ROW(cbrt),   ROW(rsqrt),   ROW(erf),     ROW(erfc),    ROW(degrees),
             ROW(radians), ROW(lgamma), ROW(tgamma), ROW(sigmoid), ROW(softplus)};

static const struct {
    const char *name;
    wide_function2 *evaluate;
} wide_pairs[] = {ROW(pow), ROW(atan2), ROW(atan2pi), ROW(hypot), ROW(fmod)};

static wide_function2 *wide_pair_find(const char *name) {
    for (size_t i = 0; i < sizeof wide_pairs / sizeof *wide_pairs; i++)
        if (strcmp(wide_pairs[i].name, name) == 0)
            return wide_pairs[i].evaluate;
    return NULL;
}

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
} peers[] = {PEER(exp),   PEER(exp2), PEER(exp10),  PEER(expm1), PEER(log),   PEER(log2),  PEER(log10),
             PEER(log1p), PEER(sin),  PEER(cos),    PEER(tan),   PEER(asin),  PEER(acos),  PEER(atan),
             PEER(sinh),  PEER(cosh), PEER(tanh),   PEER(asinh), PEER(acosh), PEER(atanh), PEER(cbrt),
             PEER(erf),   PEER(erfc), PEER(lgamma), PEER(tgamma)};

static float (*peer_find(const char *name))(float) {
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(peers[i].name, name) == 0)
            return peers[i].function;
    return NULL;
}

static const struct {
    const char *name;
    float (*function)(float, float);
} peer_pairs[] = {PEER(pow), PEER(atan2), PEER(hypot), PEER(fmod)};

static float (*peer_pair_find(const char *name))(float, float) {
    for (size_t i = 0; i < sizeof peer_pairs / sizeof *peer_pairs; i++)
        if (strcmp(peer_pairs[i].name, name) == 0)
            return peer_pairs[i].function;
    return NULL;
}

/* ---- one function ---- */

typedef struct wrong_input {
    uint32_t in, other, got;
} wrong_input;

/* The state that is saved between runs. */
typedef struct progress {
    uint64_t next, wrong_count, by_mpfr;
    double max_error, seconds;
    wrong_input wrong[WRONG];
    crypto_generichash_state digest;
} progress;

typedef struct campaign {
    char function[NAME];
    const math_format *format;
    math_function *exact;   /* NULL for a function of two operands */
    math_function2 *exact2; /* NULL for a function of one operand */
    wide_function *wide;    /* both NULL if MPFR judges every result */
    wide_function2 *wide2;
    float (*peer)(float);
    float (*peer2)(float, float);
    vyre_pipeline *pipeline;
    FILE *hard;
    progress p;
    uint64_t tested;
    double device_s;
} campaign;

static struct {
    int is_all, is_json, is_peer;
    uint64_t step, pairs;
    double closer, seconds;
    unsigned threads;
    const char *backend, *library, *state, *hard, *inputs;
} options = {.step = 4099, .pairs = 1 << 20, .closer = 0x1p-20, .backend = "cpu"};

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

/* The number of inputs. */
static uint64_t all_inputs(const campaign *c) {
    return UINT64_C(1) << (c->format == &math_f32 ? 32 : 16);
}

static vyre_pipeline *compile(vyre_backend *backend, const campaign *c) {
    const char *type = c->format->name, *bits = c->format == &math_f32 ? "u32" : "u16";
    const char *suffix = strchr(c->function, '_') ? "" : "_f32";
    char second[64];
    char *library = options.library ? read_text(options.library) : calloc(1, 1);
    size_t size = strlen(library) + 1024;
    char *text = malloc(size);
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_module *module;
    vyre_pipeline *pipeline;
    vyre_error error = VYRE_ERROR_INIT;

    snprintf(second, sizeof second, ", bitcast<%s>(%s(z[i]))", type, bits);
    snprintf(text, size,
             "%s\nprogram sweep {\n  buffer x : u32 read\n%s  buffer y : u32 write count len(x)\n  workgroup 256\n"
             "  grid over x\n\n  let i = global_id.x\n  if i < len(x) {\n"
             "    y[i] = u32(bitcast<%s>(%s%s%s(bitcast<%s>(%s(x[i]))%s)))\n  }\n}\n",
             library, c->exact ? "" : "  buffer z : u32 read\n", bits, options.library ? "" : "math.", c->function,
             suffix, type, bits, c->exact ? "" : second);
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
    const uint32_t *in, *other, *got;
    size_t count;
    uint64_t wrong_count, by_mpfr;
    double max_error;
    wrong_input wrong[WRONG], *hard;
    size_t hard_count;
} share;

static void ask_mpfr(share *s, size_t i) {
    const campaign *c = s->c;
    wrong_input input = {s->in[i], s->other ? s->other[i] : 0, s->got[i]};
    double error = math_error(c->exact, c->exact2, c->format, input.in, input.other, input.got);
    uint32_t want = math_round(c->exact, c->exact2, c->format, input.in, input.other);
    s->by_mpfr++;
    if (want != input.got) {
        if (s->wrong_count < WRONG)
            s->wrong[s->wrong_count] = input;
        s->wrong_count++;
    }
    if (error > s->max_error)
        s->max_error = error;
    input.got = want;
    if (c->hard && (c->exact || error != 0.5) && fabs(error - 0.5) < options.closer && s->hard_count < BLOCK)
        s->hard[s->hard_count++] = input;
}

/* What the wide results round to a little below and above them. */
CLONES static void round_both_ways(const double *wide, uint32_t *low, uint32_t *high, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double margin = fabs(wide[i]) < 0x1p300 ? fabs(wide[i]) * 0x1p-44 : 0;
        low[i] = math_bits((float)(wide[i] - margin));
        high[i] = margin == 0 ? low[i] : math_bits((float)(wide[i] + margin));
    }
}

/* Rounds to a format with fewer bits than f32: adding 1.5 * 2^(52 + n) leaves a multiple of 2^n. */
static inline float round_narrow(double value, int precision, int least, double limit) {
    uint64_t bits;
    double shift;
    memcpy(&bits, &value, sizeof bits);
    int unit = (int)(bits >> 52 & 0x7ff) - 1022 - precision;
    unit = unit < least - 1 ? least - 1 : unit > 500 ? 500 : unit;
    bits = (uint64_t)(unit + 52 + 1023) << 52 | UINT64_C(1) << 51;
    memcpy(&shift, &bits, sizeof shift);
    double rounded = fabs(value + shift - shift);
    return (float)copysign(rounded < limit ? rounded : rounded * HUGE_VAL, value);
}

CLONES static void round_both_ways_narrow(const math_format *format, const double *wide, uint32_t *low, uint32_t *high,
                                          size_t count) {
    const int precision = format->precision, least = format->least;
    const double limit = ldexp(1, format->most);
    for (size_t i = 0; i < count; i++) {
        double margin = fabs(wide[i]) < 0x1p300 ? fabs(wide[i]) * 0x1p-44 : 0;
        low[i] = math_bits(round_narrow(wide[i] - margin, precision, least, limit));
        high[i] = math_bits(round_narrow(wide[i] + margin, precision, least, limit));
    }
}

/* The values of bits of a format. */
CLONES static void decode(const math_format *format, const uint32_t *bits, float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        values[i] = math_decode(format, bits[i]);
}

static void *judge_share(void *argument) {
    share *s = argument;
    enum { PIECE = 512 };
    float x[PIECE], y[PIECE], z[PIECE];
    double wide[PIECE];
    const int has_wide = s->c->wide || s->c->wide2;
    uint32_t low[PIECE], high[PIECE], got[PIECE];

    math_judge_start(s->c->format);
    for (size_t i = 0; !has_wide && i < s->count; i++)
        ask_mpfr(s, i);
    for (size_t at = 0; has_wide && at < s->count; at += PIECE) {
        size_t count = s->count - at < PIECE ? s->count - at : PIECE;
        decode(s->c->format, s->in + at, x, count);
        decode(s->c->format, s->got + at, z, count);
        if (s->other)
            decode(s->c->format, s->other + at, y, count);
        if (s->other)
            s->c->wide2(x, y, wide, count);
        else
            s->c->wide(x, wide, count);
        if (s->c->format == &math_f32)
            round_both_ways(wide, low, high, count);
        else
            round_both_ways_narrow(s->c->format, wide, low, high, count);
        for (size_t i = 0; i < count; i++) {
            const uint32_t bits = s->got[at + i];
            got[i] = z[i] == z[i] || bits == s->c->format->nan ? math_bits(z[i]) : bits;
        }
        if (memcmp(low, high, count * sizeof *low) == 0 && memcmp(low, got, count * sizeof *low) == 0)
            continue;
        for (size_t i = 0; i < count; i++)
            if (low[i] != high[i] || got[i] != low[i])
                ask_mpfr(s, at + i);
    }
    mpfr_free_cache();
    return NULL;
}

static void judge(campaign *c, const uint32_t *in, const uint32_t *other, const uint32_t *got, size_t count) {
    static share shares[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    size_t each = (count + options.threads - 1) / options.threads;

    for (unsigned t = 0; t < options.threads; t++) {
        size_t first = t * each < count ? t * each : count, end = first + each < count ? first + each : count;
        wrong_input *hard = shares[t].hard;
        if (c->hard && !hard)
            hard = malloc(BLOCK * sizeof *hard);
        shares[t] = (share){.c = c,
                            .in = in + first,
                            .other = other ? other + first : NULL,
                            .got = got + first,
                            .count = end - first,
                            .hard = hard};
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
            if (other)
                fprintf(c->hard, "%s %08x %08x %08x\n", c->function, s->hard[i].in, s->hard[i].other, s->hard[i].got);
            else
                fprintf(c->hard, "%s %08x %08x\n", c->function, s->hard[i].in, s->hard[i].got);
        c->p.by_mpfr += s->by_mpfr;
        c->p.max_error = fmax(c->p.max_error, s->max_error);
    }
}

/* `other` is NULL for a function of one operand. */
static void evaluate(campaign *c, const uint32_t *in, const uint32_t *other, size_t count, vyre_outputs *outputs) {
    vyre_span inputs[] = {{in, count * sizeof *in}, {other, count * sizeof *in}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = other ? 2 : 1};
    vyre_error error = VYRE_ERROR_INIT;
    double start = now();
    if (c->peer || c->peer2) {
        static uint32_t got[BLOCK];
        for (size_t i = 0; i < count; i++)
            got[i] = math_bits(other ? c->peer2(math_float(in[i]), math_float(other[i])) : c->peer(math_float(in[i])));
        judge(c, in, other, got, count);
        c->tested += count;
        return;
    }
    check(vyre_pipeline_dispatch_into(c->pipeline, &arguments, NULL, outputs, NULL, &error), &error);
    c->device_s += now() - start;
    judge(c, in, other, (const uint32_t *)outputs->items[0].data, count);
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

/* Special values: zeros, subnormals, limits, around one, infinity, NaN; numbers of few bits; large integers. Both signs
 * are used. */
static const uint32_t pair_specials[] = {
    0x00000000, 0x00000001, 0x00000002, 0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x1fffffff, 0x20000000,
    0x2b8cbccc, 0x33000000, 0x33800000, 0x34000000, 0x3dcccccd, 0x3e800000, 0x3eaaaaab, 0x3f000000, 0x3f3504f3,
    0x3f7ffffe, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f800002, 0x3fb504f3, 0x3fc00000, 0x40000000, 0x402df854,
    0x40400000, 0x40490fdb, 0x40800000, 0x40a00000, 0x41200000, 0x42b17218, 0x42fe0000, 0x43000000, 0x43160000,
    0x43170000, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4b800000, 0x4b800001, 0x4effffff, 0x4f000000, 0x5f800000,
    0x60000000, 0x7e800000, 0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x7f800000, 0x7fc00000,
};
enum { SPECIALS = sizeof pair_specials / sizeof *pair_specials, GRID = 4 * SPECIALS * SPECIALS };

/* A load makes the same pattern of every NaN. */
static uint32_t one_nan(uint32_t bits) {
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits;
}

static uint32_t pair_special(uint64_t i) {
    return i < SPECIALS ? pair_specials[i] : one_nan(pair_specials[i - SPECIALS] | 0x80000000);
}

typedef struct pair_share {
    int is_power, is_narrow;
    uint64_t first;
    uint32_t *in, *other;
    size_t count;
} pair_share;

static uint64_t mix(uint64_t z) { /* the finaliser of splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Pair `index`, which follows from the index alone. */
static void make_pair(int is_power, uint64_t index, uint32_t *in, uint32_t *other) {
    uint64_t a = mix(index * 2 * UINT64_C(0x9e3779b97f4a7c15)), b = mix((index * 2 + 1) * UINT64_C(0x9e3779b97f4a7c15));
    uint32_t x = (uint32_t)a, y = (uint32_t)(a >> 32), exponent;

    if (index < GRID) {
        *in = pair_special(index / (2 * SPECIALS));
        *other = pair_special(index % (2 * SPECIALS));
        return;
    }
    switch (index % 4) {
    case 0: /* any bits */
        break;
    case 1: /* exponents that differ by at most 12 */
        exponent = (x >> 23 & 255) + (uint32_t)(b % 25);
        exponent = exponent < 12 ? 0 : exponent > 12 + 254 ? 254 : exponent - 12;
        y = (y & 0x807fffff) | exponent << 23;
        break;
    case 2: /* of pow: a power from 2^-151 to 2^129, half of them of a number between 1/2 and 2; else 1/2 to 2 */
        x = (x & 0x7fffffff) % 0x7f800000;
        if (b & 1 || !is_power)
            x = 0x3f000000 + x % 0x01000000;
        y = is_power ? math_bits((float)((double)(b >> 11) * 0x1p-53 * 280 - 151) / log2f(math_float(x)))
                     : 0x3f000000 + y % 0x01000000;
        break;
    default: /* at most 13 bits; the exponent is a multiple of 1/4 */
        x = math_bits(ldexpf((float)(x % 0x2000), (int)(a >> 16 & 31) - 20)) | (uint32_t)(b << 31);
        y = is_power ? math_bits((float)((int)(b >> 32 & 127) - 63) / 4)
                     : math_bits(ldexpf((float)(y % 0x2000), (int)(b >> 16 & 31) - 20)) | (uint32_t)(b >> 63 << 31);
    }
    *in = one_nan(x);
    *other = one_nan(y);
}

/* Of 16 bits each: all pairs, in an order that spreads them. */
static void make_narrow_pair(uint64_t index, uint32_t *in, uint32_t *other) {
    uint32_t bits = (uint32_t)index * 0x9e3779b1;
    *in = bits & 0xffff;
    *other = bits >> 16;
}

static void *make_share(void *argument) {
    const pair_share *s = argument;
    for (size_t i = 0; i < s->count; i++)
        if (s->is_narrow)
            make_narrow_pair(s->first + i, &s->in[i], &s->other[i]);
        else
            make_pair(s->is_power, s->first + i, &s->in[i], &s->other[i]);
    return NULL;
}

static void make_pairs(const campaign *c, uint32_t *in, uint32_t *other, size_t count) {
    static pair_share shares[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    size_t each = (count + options.threads - 1) / options.threads;

    for (unsigned t = 0; t < options.threads; t++) {
        size_t first = t * each < count ? t * each : count, end = first + each < count ? first + each : count;
        shares[t] = (pair_share){
            c->exact2 == mpfr_pow, c->format != &math_f32, c->p.next + first, in + first, other + first, end - first};
        if (pthread_create(&threads[t], NULL, make_share, &shares[t]) != 0)
            exit(2);
    }
    for (unsigned t = 0; t < options.threads; t++)
        pthread_join(threads[t], NULL);
}

static void add_to_digest(campaign *c, const uint32_t *results, uint32_t count) {
    if (c->format == &math_f32)
        crypto_generichash_update(&c->p.digest, (const unsigned char *)results, count * sizeof *results);
    for (uint32_t i = 0; c->format != &math_f32 && i < count; i++) {
        const unsigned char bytes[] = {(unsigned char)results[i], (unsigned char)(results[i] >> 8)};
        crypto_generichash_update(&c->p.digest, bytes, sizeof bytes);
    }
}

static uint64_t pairs(const campaign *c) {
    const uint64_t all = UINT64_C(1) << 32;
    return c->format != &math_f32 && (options.is_all || options.pairs > all) ? all : options.pairs;
}

/* Whether the sweep is complete; otherwise its time limit was reached. */
static int sweep_all(campaign *c, uint32_t *in, uint32_t *other, vyre_outputs *outputs) {
    const uint64_t inputs = c->exact ? all_inputs(c) : pairs(c), saved = UINT64_C(1) << 24;
    const double start = now();
    double before;

    state_load(c);
    before = c->p.seconds;
    while (c->p.next < inputs) {
        uint32_t block = inputs - c->p.next < BLOCK ? (uint32_t)(inputs - c->p.next) : BLOCK;
        if (c->exact)
            for (uint32_t i = 0; i < block; i++)
                in[i] = (uint32_t)c->p.next + i;
        else
            make_pairs(c, in, other, block);
        evaluate(c, in, c->exact ? NULL : other, block, outputs);
        if (c->exact)
            add_to_digest(c, (const uint32_t *)outputs->items[0].data, block);
        c->p.next += block;
        c->p.seconds = before + now() - start;
        if (c->p.next % saved != 0 && c->p.next < inputs)
            continue;
        state_save(c);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r%s: %.0f of %.0f Mi, %llu wrong, %.0f s%s", c->function, (double)c->p.next * 0x1p-20,
                    (double)inputs * 0x1p-20, (unsigned long long)c->p.wrong_count, c->p.seconds,
                    c->p.next == inputs ? "\n" : "");
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
            evaluate(c, in, NULL, count, outputs);                                                                     \
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
    evaluate(c, in, NULL, count, outputs);
#undef PUT
}

static void sweep_file(campaign *c, uint32_t *in, uint32_t *other, vyre_outputs *outputs) {
    FILE *file = fopen(options.inputs, "r");
    char name[NAME], line[128];
    size_t count = 0;
    if (!file) {
        fprintf(stderr, "cannot read %s\n", options.inputs);
        exit(2);
    }
    while (fgets(line, sizeof line, file)) {
        unsigned bits, second;
        if (sscanf(line, "%31s %x %x", name, &bits, &second) != 3 || strcmp(name, c->function) != 0 || count == BLOCK)
            continue;
        in[count] = bits;
        other[count++] = second; /* of a function of one operand: the result */
    }
    fclose(file);
    if (count > 0)
        evaluate(c, in, c->exact ? NULL : other, count, outputs);
}

static void report(campaign *c, double seconds) {
    unsigned char digest[32];
    const int is_all = c->exact && (options.is_all || c->format != &math_f32);
    char hex[65] = "";
    uint64_t listed = c->p.wrong_count < WRONG ? c->p.wrong_count : WRONG;

    if (is_all) {
        crypto_generichash_final(&c->p.digest, digest, sizeof digest);
        sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    }
    if (options.is_json) {
        printf("{\"function\":\"%s\",\"backend\":\"%s\",\"tested\":%llu,\"wrong\":%llu,\"max_error_ulp\":%.9f,\"by_"
               "mpfr\":%llu,\"seconds\":%.1f",
               c->function, options.is_peer ? "libc" : options.backend,
               (unsigned long long)(c->p.next ? c->p.next : c->tested), (unsigned long long)c->p.wrong_count,
               c->p.max_error, (unsigned long long)c->p.by_mpfr, seconds);
        if (!c->exact)
            printf(",\"operands\":2");
        if (is_all)
            printf(",\"digest\":\"%s\"", hex);
        printf(",\"wrong_inputs\":[");
        for (uint64_t i = 0; i < listed; i++)
            if (c->exact)
                printf("%s\"%08x\"", i ? "," : "", c->p.wrong[i].in);
            else
                printf("%s\"%08x %08x\"", i ? "," : "", c->p.wrong[i].in, c->p.wrong[i].other);
        printf("]}\n");
    } else {
        printf("%-8s %10llu tested %8llu wrong, max %.6f ulp, %llu by MPFR, %.2f ns/element, %.0f s %s\n", c->function,
               (unsigned long long)(c->p.next ? c->p.next : c->tested), (unsigned long long)c->p.wrong_count,
               c->p.max_error, (unsigned long long)c->p.by_mpfr,
               c->device_s * 1e9 / (double)(c->tested ? c->tested : 1), seconds, hex);
        for (uint64_t i = 0; i < listed && i < 12; i++) {
            const wrong_input *w = &c->p.wrong[i];
            printf("    %08x %a", w->in, (double)math_decode(c->format, w->in));
            if (!c->exact)
                printf(", %08x %a", w->other, (double)math_decode(c->format, w->other));
            printf(": got %08x, correct %08x, %.9f ulp\n", w->got,
                   math_round(c->exact, c->exact2, c->format, w->in, w->other),
                   math_error(c->exact, c->exact2, c->format, w->in, w->other, w->got));
        }
    }
    fflush(stdout);
}

/* Finds the evaluator and the judge of a function; exits if the name is unknown. */
static campaign start(const char *function) {
    const char *type = strchr(function, '_');
    const math_judge *judge = math_judge_find(function);
    const math_pair_judge *pair = math_pair_judge_find(function);
    campaign c = {.format = math_format_find(type ? type + 1 : "f32")};
    int is_f32 = c.format == &math_f32;

    snprintf(c.function, sizeof c.function, "%s", function);
    crypto_generichash_init(&c.p.digest, NULL, 0, 32);
    if (judge) {
        c.exact = judge->exact;
        c.wide = is_f32 ? wide_find(judge->name) : NULL;
        c.peer = options.is_peer ? peer_find(judge->name) : NULL;
    } else if (pair) {
        c.exact2 = pair->exact;
        c.wide2 = wide_pair_find(pair->name);
        c.peer2 = options.is_peer ? peer_pair_find(pair->name) : NULL;
    }
    if (!c.format || (!c.exact && !c.exact2) || (is_f32 && !c.wide && !c.wide2) ||
        (options.is_peer && !c.peer && !c.peer2)) {
        fprintf(stderr, "unknown function %s\n", function);
        exit(2);
    }
    return c;
}

/* The exit status: 0, 1 if a result is wrong, 3 if the time ended first. */
static int run(vyre_backend *backend, const char *function) {
    static uint32_t in[BLOCK], other[BLOCK];
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    campaign c = start(function);
    double begin = now();
    int is_complete = 1;

    if (options.hard && !(c.hard = fopen(options.hard, "a")))
        exit(2);
    if (!options.is_peer)
        c.pipeline = compile(backend, &c);
    if (options.inputs)
        sweep_file(&c, in, other, &outputs);
    else if (options.is_all || c.format != &math_f32 || !c.exact)
        is_complete = sweep_all(&c, in, other, &outputs);
    else
        sweep_sample(&c, in, &outputs);
    if (is_complete)
        report(&c, c.p.next ? c.p.seconds : now() - begin);
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
        else if (strcmp(option, "--pairs") == 0 && at + 1 < argc)
            options.pairs = strtoull(argv[++at], NULL, 10);
        else if (strcmp(option, "--seconds") == 0 && at + 1 < argc)
            options.seconds = strtod(argv[++at], NULL);
        else if (strcmp(option, "--closer") == 0 && at + 1 < argc)
            options.closer = ldexp(1, -atoi(argv[++at]));
        else
            at = argc;
    }
    if (at >= argc || options.step == 0 || (options.is_peer && options.is_all) || sodium_init() < 0) {
        fprintf(
            stderr,
            "usage: math_accuracy [--all] [--step N] [--pairs N] [--backend NAME] [--library FILE] [--state FOLDER] "
            "[--seconds N] [--hard FILE] [--inputs FILE] [--peer] [--json] "
            "FUNCTION...\n");
        return 2;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    options.threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
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
