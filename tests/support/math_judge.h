/* Correctly rounded functions of f32, f16 and bf16 by MPFR: the judge of the math dialect.
 *
 * A result is a bit pattern, with one pattern for every NaN. MPFR rounds once, to the precision of the format or to the
 * multiple of the smallest subnormal. The special values that MPFR defines are those of C23 Annex F;
 * tests/lib/test_math.c has them as a table, too. */
#ifndef VY_TESTS_MATH_JUDGE_H
#define VY_TESTS_MATH_JUDGE_H

#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <string.h>

typedef int math_function(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding);
typedef int math_function2(mpfr_t result, const mpfr_t x, const mpfr_t y, mpfr_rnd_t rounding);

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

/* The logarithm of |gamma(x)|; C23 has no NaN for negative integers. */
static inline int math_lgamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    int sign;
    return mpfr_lgamma(r, &sign, x, d);
}

/* 1 / (1 + e^-x) or ln(1 + e^x), from 300 bits of max(x, 0) and e^-|x|, which may be far outside the range of r. */
static inline int math_logistic(mpfr_t r, const mpfr_t x, mpfr_rnd_t d, int is_softplus) {
    mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    mpfr_t e, sum;
    int inexact;

    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_inits2(300, e, sum, (mpfr_ptr)0);
    mpfr_abs(e, x, MPFR_RNDN);
    mpfr_neg(e, e, MPFR_RNDN);
    mpfr_exp(e, e, MPFR_RNDN);
    if (is_softplus) {
        mpfr_log1p(sum, e, MPFR_RNDN);
        if (mpfr_sgn(x) > 0)
            mpfr_add(sum, sum, x, MPFR_RNDN);
    } else {
        mpfr_add_ui(sum, e, 1, MPFR_RNDN);
        if (mpfr_sgn(x) < 0)
            mpfr_div(sum, e, sum, MPFR_RNDN);
        else
            mpfr_ui_div(sum, 1, sum, MPFR_RNDN);
    }
    inexact = mpfr_set(r, sum, d);
    mpfr_clears(e, sum, (mpfr_ptr)0);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    return mpfr_check_range(r, inexact, d);
}
static inline int math_sigmoid(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    return math_logistic(r, x, d, 0);
}
static inline int math_softplus(mpfr_t r, const mpfr_t x, mpfr_rnd_t d) {
    return math_logistic(r, x, d, 1);
}

static inline int math_atan2pi(mpfr_t r, const mpfr_t y, const mpfr_t x, mpfr_rnd_t d) {
    return mpfr_atan2u(r, y, x, 2, d);
}

typedef struct math_judge {
    const char *name; /* without the suffix of the type */
    math_function *exact;
} math_judge;

typedef struct math_pair_judge {
    const char *name;
    math_function2 *exact;
} math_pair_judge;

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
    {"lgamma", math_lgamma}, {"tgamma", mpfr_gamma},    {"sigmoid", math_sigmoid}, {"softplus", math_softplus},
};
enum { MATH_JUDGES = sizeof math_judges / sizeof *math_judges };

static const math_pair_judge math_pair_judges[] = {
    {"pow", mpfr_pow}, {"atan2", mpfr_atan2}, {"atan2pi", math_atan2pi}, {"hypot", mpfr_hypot}, {"fmod", mpfr_fmod},
};
enum { MATH_PAIR_JUDGES = sizeof math_pair_judges / sizeof *math_pair_judges };

static inline int math_is_name(const char *name, const char *function) {
    size_t length = strcspn(function, "_");
    return strlen(name) == length && memcmp(name, function, length) == 0;
}

static inline const math_judge *math_judge_find(const char *name) {
    for (int i = 0; i < MATH_JUDGES; i++)
        if (math_is_name(math_judges[i].name, name))
            return &math_judges[i];
    return NULL;
}

static inline const math_pair_judge *math_pair_judge_find(const char *name) {
    for (int i = 0; i < MATH_PAIR_JUDGES; i++)
        if (math_is_name(math_pair_judges[i].name, name))
            return &math_pair_judges[i];
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

/* Formats. A significand lies in [1/2, 1), as in MPFR: its least exponent is that of the smallest subnormal. */
typedef struct math_format {
    const char *name;
    int precision, least, most;
    uint32_t nan;
} math_format;
static const math_format math_f32 = {"f32", 24, -148, 128, 0x7fc00000};
static const math_format math_f16 = {"f16", 11, -23, 16, 0x7e00};
static const math_format math_bf16 = {"bf16", 8, -132, 128, 0x7fc0};

/* NULL if there is none of this name. */
static inline const math_format *math_format_find(const char *name) {
    const math_format *all[] = {&math_f32, &math_f16, &math_bf16};
    for (int i = 0; i < 3; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

static inline float math_decode(const math_format *format, uint32_t bits) {
    if (format->precision == 24)
        return math_float(bits);
    if (format->precision == 8)
        return math_float(bits << 16);
    const float value = math_float((bits & 0x7fff) << 13) * 0x1p112f; /* 2^16 or more for all ones */
    const float magnitude = value < 0x1p16f ? value : value > 0x1p16f ? NAN : HUGE_VALF;
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* The bits of a number of the format. */
static inline uint32_t math_encode(const math_format *format, float value) {
    const uint32_t bits = math_bits(value);
    if (value != value)
        return format->nan;
    if (format->precision != 11)
        return bits >> (format->precision == 8 ? 16 : 0);
    const uint32_t sign = bits >> 16 & 0x8000;
    return isinf(value) ? sign | 0x7c00 : sign | math_bits(fabsf(value) * 0x1p-112f) >> 13;
}

/* The exponent range of a format, which belongs to the thread. */
static inline void math_judge_start(const math_format *format) {
    mpfr_set_emin(format->least);
    mpfr_set_emax(format->most);
}

/* The correctly rounded result of a function of one or two operands: one of them is not NULL. */
static inline uint32_t math_round(math_function *unary, math_function2 *binary, const math_format *format, uint32_t a,
                                  uint32_t b) {
    mpfr_t x, y, r;
    int inexact;
    float value;

    mpfr_inits2(format->precision, x, y, r, (mpfr_ptr)0);
    mpfr_set_flt(x, math_decode(format, a), MPFR_RNDN);
    mpfr_set_flt(y, math_decode(format, b), MPFR_RNDN);
    inexact = unary ? unary(r, x, MPFR_RNDN) : binary(r, x, y, MPFR_RNDN);
    mpfr_subnormalize(r, inexact, MPFR_RNDN);
    value = mpfr_get_flt(r, MPFR_RNDN);
    mpfr_clears(x, y, r, (mpfr_ptr)0);
    return math_encode(format, value);
}

/* The distance of a result from the exact value, in units of the last place of the correctly rounded one; a result of
 * the wrong kind (NaN, infinity, sign of zero) is infinitely far away. */
static inline double math_error(math_function *unary, math_function2 *binary, const math_format *format, uint32_t a,
                                uint32_t b, uint32_t got) {
    uint32_t want = math_round(unary, binary, format, a, b);
    float wanted = math_decode(format, want), found = math_decode(format, got);
    mpfr_t x, y, r;
    double error;
    int exponent;

    if (wanted != wanted || found != found || isinf(wanted) || isinf(found) || (wanted == 0 && found == 0))
        return want == got ? 0 : HUGE_VAL;
    mpfr_inits2(format->precision, x, y, (mpfr_ptr)0);
    mpfr_init2(r, 128);
    mpfr_set_flt(x, math_decode(format, a), MPFR_RNDN);
    mpfr_set_flt(y, math_decode(format, b), MPFR_RNDN);
    mpfr_set_emin(mpfr_get_emin_min());
    if (unary)
        unary(r, x, MPFR_RNDN);
    else
        binary(r, x, y, MPFR_RNDN);
    mpfr_sub_d(r, r, (double)found, MPFR_RNDN);
    frexpf(wanted, &exponent);
    exponent = exponent - format->precision < format->least - 1 ? format->least - 1 : exponent - format->precision;
    mpfr_mul_2si(r, r, -exponent, MPFR_RNDN);
    error = fabs(mpfr_get_d(r, MPFR_RNDN));
    math_judge_start(format);
    mpfr_clears(x, y, r, (mpfr_ptr)0);
    return error;
}

static inline uint32_t math_judge_round(const math_judge *judge, const math_format *format, uint32_t bits) {
    return math_round(judge->exact, NULL, format, bits, 0);
}

#endif
