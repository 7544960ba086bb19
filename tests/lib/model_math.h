/* What the functions of the dialect `math` compute: MPFR, or the definition of the small ones. */
#ifndef VY_TESTS_MODEL_MATH_H
#define VY_TESTS_MODEL_MATH_H

#include "lib/map.h"

#include "support/math_judge.h"

#define MATH_MODEL(name)                                                                                               \
    static void math_model_##name(const uint64_t *in, uint64_t *out) {                                                 \
        math_judge_start();                                                                                            \
        out[0] = math_judge_round(math_judge_find(#name), (uint32_t)in[0]);                                            \
    }
#define MATH_UNARY(X)                                                                                                  \
    X(exp)                                                                                                             \
    X(exp2)                                                                                                            \
    X(exp10) X(expm1) X(exp2m1) X(exp10m1) X(log) X(log2) X(log10) X(log1p) X(log2p1) X(log10p1) X(sin) X(cos) X(tan)  \
        X(sinpi) X(cospi) X(tanpi) X(asin) X(acos) X(atan) X(asinpi) X(acospi) X(atanpi) X(sinh) X(cosh) X(tanh)       \
            X(asinh) X(acosh) X(atanh) X(cbrt) X(rsqrt) X(erf) X(erfc) X(degrees) X(radians)
MATH_UNARY(MATH_MODEL)

static void math_model_sincos(const uint64_t *in, uint64_t *out) {
    math_model_sin(in, out);
    math_model_cos(in, out + 1);
}

/* Functions of two operands. */
static inline int math_atan2pi(mpfr_t r, const mpfr_t y, const mpfr_t x, mpfr_rnd_t d) {
    return mpfr_atan2u(r, y, x, 2, d);
}

static inline uint64_t math_round2(int (*exact)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t), const uint64_t *in) {
    mpfr_t a, b, r;
    float value;

    math_judge_start();
    mpfr_inits2(24, a, b, r, (mpfr_ptr)0);
    mpfr_set_flt(a, math_float((uint32_t)in[0]), MPFR_RNDN);
    mpfr_set_flt(b, math_float((uint32_t)in[1]), MPFR_RNDN);
    mpfr_subnormalize(r, exact(r, a, b, MPFR_RNDN), MPFR_RNDN);
    value = mpfr_get_flt(r, MPFR_RNDN);
    mpfr_clears(a, b, r, (mpfr_ptr)0);
    return math_bits(value);
}

#define MATH_MODEL2(name, exact)                                                                                       \
    static void math_model_##name(const uint64_t *in, uint64_t *out) {                                                 \
        out[0] = math_round2(exact, in);                                                                               \
    }
MATH_MODEL2(atan2, mpfr_atan2)
MATH_MODEL2(atan2pi, math_atan2pi)
MATH_MODEL2(hypot, mpfr_hypot)
MATH_MODEL2(fmod, mpfr_fmod)

/* minimumNumber and maximumNumber. */
static inline float math_smaller(float a, float b) {
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static inline float math_larger(float a, float b) {
    return -math_smaller(-a, -b);
}
static inline float math_in(const uint64_t *in, int k) {
    return math_float((uint32_t)in[k]);
}

static void math_model_clamp(const uint64_t *in, uint64_t *out) {
    out[0] = math_bits(math_smaller(math_larger(math_in(in, 0), math_in(in, 1)), math_in(in, 2)));
}
static void math_model_saturate(const uint64_t *in, uint64_t *out) {
    out[0] = math_bits(math_smaller(math_larger(math_in(in, 0), 0), 1));
}
static void math_model_mix(const uint64_t *in, uint64_t *out) {
    float a = math_in(in, 0), b = math_in(in, 1), t = math_in(in, 2);
    out[0] = math_bits(fmaf(t, b, fmaf(-t, a, a)));
}
static void math_model_sign(const uint64_t *in, uint64_t *out) {
    float x = math_in(in, 0);
    out[0] = math_bits(x == 0 || x != x ? x : copysignf(1, x));
}
static void math_model_step(const uint64_t *in, uint64_t *out) {
    out[0] = math_bits(math_in(in, 1) < math_in(in, 0) ? 0 : 1);
}
static void math_model_smoothstep(const uint64_t *in, uint64_t *out) {
    float low = math_in(in, 0), high = math_in(in, 1), x = math_in(in, 2);
    float t = math_smaller(math_larger((x - low) / (high - low), 0), 1);
    out[0] = math_bits(t * t * fmaf(t, -2, 3));
}
static void math_model_fract(const uint64_t *in, uint64_t *out) {
    float x = math_in(in, 0), part = x - floorf(x);
    out[0] = math_bits(part == 1 ? nextafterf(1, 0) : part);
}

#define MATH_ROW(name) {#name "_f32", "f32 -> f32", math_model_##name},
static const map_function math_functions[] = {
    MATH_UNARY(MATH_ROW) /* correctly rounded */
    {"sincos_f32", "f32 -> f32 f32", math_model_sincos},
    {"atan2_f32", "f32 f32 -> f32", math_model_atan2},
    {"atan2pi_f32", "f32 f32 -> f32", math_model_atan2pi},
    {"hypot_f32", "f32 f32 -> f32", math_model_hypot},
    {"fmod_f32", "f32 f32 -> f32", math_model_fmod},
    {"clamp_f32", "f32 f32 f32 -> f32", math_model_clamp},
    {"saturate_f32", "f32 -> f32", math_model_saturate},
    {"mix_f32", "f32 f32 f32 -> f32", math_model_mix},
    {"sign_f32", "f32 -> f32", math_model_sign},
    {"step_f32", "f32 f32 -> f32", math_model_step},
    {"smoothstep_f32", "f32 f32 f32 -> f32", math_model_smoothstep},
    {"fract_f32", "f32 -> f32", math_model_fract},
};

#endif
