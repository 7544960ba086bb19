/* Correctly rounded f32 functions by MPFR: the judge of the math dialect.
 *
 * A result is a bit pattern, with 7fc00000 for every NaN. MPFR rounds once, to 24 bits or to the multiple of 2^-149
 * that a subnormal has. The special values that MPFR defines are those of C23 Annex F; tests/lib/test_math.c has them
 * as a table, too. */
#ifndef VY_TESTS_MATH_JUDGE_H
#define VY_TESTS_MATH_JUDGE_H

#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <string.h>

typedef int math_function(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding);

static inline int math_rsqrt(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    if (mpfr_zero_p(x)) { /* C23: a pole with the sign of zero */
        mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
        return 0;
    }
    return mpfr_rec_sqrt(r, x, d);
}

#define MATH_TURNS(name)                                                                                               \
    static inline int math_##name##pi(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {                                        \
        return mpfr_##name##u(r, x, 2, d);                                                                             \
    }
MATH_TURNS(sin)
MATH_TURNS(cos)
MATH_TURNS(tan)
MATH_TURNS(asin)
MATH_TURNS(acos)
MATH_TURNS(atan)
#undef MATH_TURNS

/* x times 180 / pi or its inverse, from pi to 300 bits: more than enough to round the product of 24 bits once. */
static inline int math_times_angle(mpfr_t r, const mpfr_t x, mpfr_rnd_t d, int is_degrees) {
    mpfr_t factor;
    int inexact;
    mpfr_init2(factor, 300);
    mpfr_const_pi(factor, MPFR_RNDN);
    if (is_degrees)
        mpfr_ui_div(factor, 180, factor, MPFR_RNDN);
    else
        mpfr_div_ui(factor, factor, 180, MPFR_RNDN);
    inexact = mpfr_mul(r, x, factor, d);
    mpfr_clear(factor);
    return inexact;
}
static inline int math_degrees(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    return math_times_angle(r, x, d, 1);
}
static inline int math_radians(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    return math_times_angle(r, x, d, 0);
}

typedef struct math_judge {
    const char *name; /* without the suffix of the type */
    math_function *exact;
} math_judge;

static const math_judge math_judges[] = {
    {"exp", mpfr_exp},       {"exp2", mpfr_exp2},       {"exp10", mpfr_exp10},     {"expm1", mpfr_expm1},
    {"exp2m1", mpfr_exp2m1}, {"exp10m1", mpfr_exp10m1}, {"log", mpfr_log},         {"log2", mpfr_log2},
    {"log10", mpfr_log10},   {"log1p", mpfr_log1p},     {"log2p1", mpfr_log2p1},   {"log10p1", mpfr_log10p1},
    {"sin", mpfr_sin},       {"cos", mpfr_cos},         {"tan", mpfr_tan},         {"sinpi", math_sinpi},
    {"cospi", math_cospi},   {"tanpi", math_tanpi},     {"asin", mpfr_asin},       {"acos", mpfr_acos},
    {"atan", mpfr_atan},     {"asinpi", math_asinpi},   {"acospi", math_acospi},   {"atanpi", math_atanpi},
    {"sinh", mpfr_sinh},     {"cosh", mpfr_cosh},       {"tanh", mpfr_tanh},       {"asinh", mpfr_asinh},
    {"acosh", mpfr_acosh},   {"atanh", mpfr_atanh},     {"cbrt", mpfr_cbrt},       {"rsqrt", math_rsqrt},
    {"erf", mpfr_erf},       {"erfc", mpfr_erfc},       {"degrees", math_degrees}, {"radians", math_radians},
};
enum { MATH_JUDGES = sizeof math_judges / sizeof *math_judges };

static inline const math_judge *math_judge_find(const char *name) {
    size_t length = strcspn(name, "_");
    for (int i = 0; i < MATH_JUDGES; i++)
        if (strlen(math_judges[i].name) == length && memcmp(math_judges[i].name, name, length) == 0)
            return &math_judges[i];
    return NULL;
}

static inline float math_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t math_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7fc00000 : bits;
}

/* The exponent range of f32, which belongs to the thread. */
static inline void math_judge_start(void) {
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
}

/* The correctly rounded result. */
static inline uint32_t math_judge_round(const math_judge *judge, uint32_t bits) {
    mpfr_t x, r;
    int inexact;
    float value;

    mpfr_init2(x, 24);
    mpfr_init2(r, 24);
    mpfr_set_flt(x, math_float(bits), MPFR_RNDN);
    inexact = judge->exact(r, x, MPFR_RNDN);
    mpfr_subnormalize(r, inexact, MPFR_RNDN);
    value = mpfr_get_flt(r, MPFR_RNDN);
    mpfr_clear(x);
    mpfr_clear(r);
    return math_bits(value);
}

/* The distance of a result from the exact value, in units of the last place of the correctly rounded one; a result of
 * the wrong kind (NaN, infinity, sign of zero) is infinitely far away. */
static inline double math_judge_error(const math_judge *judge, uint32_t bits, uint32_t got) {
    uint32_t want = math_judge_round(judge, bits);
    float wanted = math_float(want), found = math_float(got);
    mpfr_t x, r;
    double error;
    int exponent;

    if (wanted != wanted || found != found || isinf(wanted) || isinf(found) || (wanted == 0 && found == 0))
        return want == got ? 0 : HUGE_VAL;
    mpfr_init2(x, 24);
    mpfr_init2(r, 128);
    mpfr_set_flt(x, math_float(bits), MPFR_RNDN);
    mpfr_set_emin(mpfr_get_emin_min());
    judge->exact(r, x, MPFR_RNDN);
    mpfr_sub_d(r, r, (double)found, MPFR_RNDN);
    frexpf(wanted, &exponent);
    exponent = exponent < -125 ? -149 : exponent - 24;
    mpfr_mul_2si(r, r, -exponent, MPFR_RNDN);
    error = fabs(mpfr_get_d(r, MPFR_RNDN));
    math_judge_start();
    mpfr_clear(x);
    mpfr_clear(r);
    return error;
}

#endif
