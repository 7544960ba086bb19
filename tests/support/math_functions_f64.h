/* The f64 functions of the math dialect: what MPFR computes for them, their stated bounds, and inputs to sample. */
#ifndef VY_TESTS_MATH_FUNCTIONS_F64_H
#define VY_TESTS_MATH_FUNCTIONS_F64_H

#include "support/math_judge_f64.h"

#include <stdio.h>

/* How operands are drawn. */
typedef enum math_operands {
    MATH_X,     /* one operand */
    MATH_X_Y,   /* two, half of them of similar size */
    MATH_POWER, /* pow: most results are finite and not zero */
    MATH_X_N    /* powi: the second operand is an i32 */
} math_operands;

typedef struct math_f64 {
    const char *file; /* in lib/, without the extension */
    const char *name; /* without the suffix of the type */
    math_operands operands;
    double bound;     /* of the error in units in the last place; 0 is exact */
    double low, high; /* the limits of an interesting range */
    math_function *unary;
    math_function2 *binary;
} math_f64;

static inline int math_powi(mpfr_t r, const mpfr_t x, const mpfr_t n, mpfr_rnd_t d) {
    return mpfr_pow_si(r, x, mpfr_get_si(n, MPFR_RNDN), d);
}

#define EXP "math_f64_exp"
#define TRIG "math_f64_trig"
static const math_f64 math_f64_table[] = {
    {EXP, "exp", MATH_X, 0.51, -750, 715, mpfr_exp, NULL},
    {EXP, "exp2", MATH_X, 0.51, -1080, 1026, mpfr_exp2, NULL},
    {EXP, "exp10", MATH_X, 0.51, -326, 310, mpfr_exp10, NULL},
    {EXP, "expm1", MATH_X, 0.51, -40, 40, mpfr_expm1, NULL},
    {EXP, "exp2m1", MATH_X, 0.51, -60, 60, mpfr_exp2m1, NULL},
    {EXP, "exp10m1", MATH_X, 0.51, -20, 20, mpfr_exp10m1, NULL},
    {EXP, "log", MATH_X, 0.51, 0.5, 2, mpfr_log, NULL},
    {EXP, "log2", MATH_X, 0.51, 0.5, 2, mpfr_log2, NULL},
    {EXP, "log10", MATH_X, 0.51, 0.5, 2, mpfr_log10, NULL},
    {EXP, "log1p", MATH_X, 0.51, -1, 1, mpfr_log1p, NULL},
    {EXP, "log2p1", MATH_X, 0.51, -1, 1, mpfr_log2p1, NULL},
    {EXP, "log10p1", MATH_X, 0.51, -1, 1, mpfr_log10p1, NULL},
    {EXP, "sinh", MATH_X, 0.51, -4, 4, mpfr_sinh, NULL},
    {EXP, "cosh", MATH_X, 0.51, -4, 4, mpfr_cosh, NULL},
    {EXP, "tanh", MATH_X, 0.52, -4, 4, mpfr_tanh, NULL},
    {EXP, "asinh", MATH_X, 0.51, -4, 4, mpfr_asinh, NULL},
    {EXP, "acosh", MATH_X, 0.51, 1, 4, mpfr_acosh, NULL},
    {EXP, "atanh", MATH_X, 0.52, -1, 1, mpfr_atanh, NULL},
    {EXP, "cbrt", MATH_X, 0.501, 1, 8, mpfr_cbrt, NULL},
    {EXP, "rsqrt", MATH_X, 0.501, 1, 4, math_rsqrt, NULL},
    {EXP, "sigmoid", MATH_X, 0.51, -750, 40, math_sigmoid, NULL},
    {EXP, "softplus", MATH_X, 0.51, -750, 40, math_softplus, NULL},
    {EXP, "hypot", MATH_X_Y, 0.501, 1, 4, NULL, mpfr_hypot},
    {EXP, "fmod", MATH_X_Y, 0, 1, 4, NULL, mpfr_fmod},
    {EXP, "pow", MATH_POWER, 0.6, 0.5, 2, NULL, mpfr_pow},
    {EXP, "powi", MATH_X_N, 0.6, 0.5, 2, NULL, math_powi},
    {EXP, "degrees", MATH_X, 0.501, -7, 7, math_degrees, NULL},
    {EXP, "radians", MATH_X, 0.501, -360, 360, math_radians, NULL},
    {TRIG, "sin", MATH_X, 0.52, -100, 100, mpfr_sin, NULL},
    {TRIG, "cos", MATH_X, 0.52, -100, 100, mpfr_cos, NULL},
    {TRIG, "tan", MATH_X, 0.52, -100, 100, mpfr_tan, NULL},
    {TRIG, "sinpi", MATH_X, 0.52, -3, 3, math_sinpi, NULL},
    {TRIG, "cospi", MATH_X, 0.52, -3, 3, math_cospi, NULL},
    {TRIG, "tanpi", MATH_X, 0.52, -3, 3, math_tanpi, NULL},
    {TRIG, "asin", MATH_X, 0.53, -1, 1, mpfr_asin, NULL},
    {TRIG, "acos", MATH_X, 0.53, -1, 1, mpfr_acos, NULL},
    {TRIG, "atan", MATH_X, 0.53, -8, 8, mpfr_atan, NULL},
    {TRIG, "asinpi", MATH_X, 0.53, -1, 1, math_asinpi, NULL},
    {TRIG, "acospi", MATH_X, 0.53, -1, 1, math_acospi, NULL},
    {TRIG, "atanpi", MATH_X, 0.53, -8, 8, math_atanpi, NULL},
    {TRIG, "atan2", MATH_X_Y, 0.53, 1, 4, NULL, mpfr_atan2},
    {TRIG, "atan2pi", MATH_X_Y, 0.53, 1, 4, NULL, math_atan2pi},
    {TRIG, "erf", MATH_X, 0.52, -6, 6, mpfr_erf, NULL},
    {TRIG, "erfc", MATH_X, 0.53, -6, 28, mpfr_erfc, NULL},
    {TRIG, "tgamma", MATH_X, 0.6, -184, 172, mpfr_gamma, NULL},
    {TRIG, "lgamma", MATH_X, 0.8, -8, 20, math_lgamma, NULL},
};
#undef EXP
#undef TRIG
enum { MATH_F64_ROWS = sizeof math_f64_table / sizeof *math_f64_table };

static inline const math_f64 *math_f64_find(const char *name) {
    for (int i = 0; i < MATH_F64_ROWS; i++)
        if (strcmp(math_f64_table[i].name, name) == 0)
            return &math_f64_table[i];
    return NULL;
}

static inline double math_f64_error(const math_f64 *f, double x, double y, double got) {
    return math_error_f64(f->unary, f->binary, x, y, got);
}

/* A program that evaluates the function, whose name in the program is `prefix` name _f64. The second operand of powi is
 * rounded from f64. */
static inline void math_f64_program(const math_f64 *f, const char *prefix, char *text, size_t size) {
    snprintf(text, size,
             "program sample {\n  buffer x : f64 read\n%s  buffer r : f64 write count len(x)\n  workgroup 128\n"
             "  grid over x\n\n  let i = global_id.x\n  if i < len(x) {\n    r[i] = %s%s_f64(x[i]%s)\n  }\n}\n",
             f->operands == MATH_X ? "" : "  buffer y : f64 read\n", prefix, f->name,
             f->operands == MATH_X     ? ""
             : f->operands == MATH_X_N ? ", i32(y[i])"
                                       : ", y[i]");
}

/* splitmix64 */
static inline uint64_t math_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline double math_uniform(uint64_t *state, double low, double high) {
    return low + (double)(math_random(state) >> 11) * 0x1p-53 * (high - low);
}

/* A sixth each: any bits; close to zero; nearly subnormal or subnormal; close to one; close to a limit of the range;
 * inside it. */
static inline double math_f64_draw_one(const math_f64 *f, uint64_t *state) {
    uint64_t kind = math_random(state) % 6, bits = math_random(state);
    double tiny = ldexp(math_uniform(state, -2, 2), -(int)(math_random(state) % 70));

    if (kind == 0)
        return math_double(math_double_bits(math_double(bits)));
    if (kind == 1)
        return tiny;
    if (kind == 2)
        return 1 + tiny;
    if (kind == 3)
        return (bits & 1 ? f->low : f->high) + tiny;
    if (kind == 4)
        return ldexp(tiny, -1010);
    return math_uniform(state, f->low, f->high);
}

/* The operands of one evaluation; y is 0 for functions of one. */
static inline void math_f64_draw(const math_f64 *f, uint64_t *state, double *x, double *y) {
    uint64_t kind = math_random(state) % 4;
    *x = math_f64_draw_one(f, state);
    *y = 0;
    if (f->operands == MATH_X)
        return;
    *y = math_f64_draw_one(f, state);
    if (f->operands == MATH_X_Y && kind < 2)
        *y = *x * ldexp(math_uniform(state, -1, 1), (int)(math_random(state) % 60) - 30);
    if (f->operands != MATH_X_Y && kind != 0)
        *y = math_uniform(state, -1080, 1030) / log2(fabs(*x));
    if (f->operands == MATH_POWER && kind == 1)
        *y = rint(*y);
    if (f->operands == MATH_X_N)
        *y = fabs(*y) < 0x1p31 - 1 ? rint(*y) : (double)(math_random(state) % 64) - 32;
    *y = math_double(math_double_bits(*y));
}

#endif
