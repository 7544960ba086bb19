/* What the functions of the dialect `math` compute: MPFR, or the definition of the small ones. */
#ifndef VY_TESTS_MODEL_MATH_H
#define VY_TESTS_MODEL_MATH_H

#include "lib/map.h"

#include "support/math_judge.h"

/* ---- functions of one operand ---- */

#define MATH_UNARY(X, type)                                                                                            \
    X(exp, type)                                                                                                       \
    X(exp2, type)                                                                                                      \
    X(exp10, type)                                                                                                     \
    X(expm1, type)                                                                                                     \
    X(exp2m1, type)                                                                                                    \
    X(exp10m1, type)                                                                                                   \
    X(log, type)                                                                                                       \
    X(log2, type)                                                                                                      \
    X(log10, type)                                                                                                     \
    X(log1p, type)                                                                                                     \
    X(log2p1, type)                                                                                                    \
    X(log10p1, type)                                                                                                   \
    X(sin, type)                                                                                                       \
    X(cos, type)                                                                                                       \
    X(tan, type)                                                                                                       \
    X(sinpi, type)                                                                                                     \
    X(cospi, type)                                                                                                     \
    X(tanpi, type)                                                                                                     \
    X(asin, type)                                                                                                      \
    X(acos, type)                                                                                                      \
    X(atan, type)                                                                                                      \
    X(asinpi, type)                                                                                                    \
    X(acospi, type)                                                                                                    \
    X(atanpi, type)                                                                                                    \
    X(sinh, type)                                                                                                      \
    X(cosh, type)                                                                                                      \
    X(tanh, type)                                                                                                      \
    X(asinh, type)                                                                                                     \
    X(acosh, type)                                                                                                     \
    X(atanh, type)                                                                                                     \
    X(cbrt, type)                                                                                                      \
    X(rsqrt, type)                                                                                                     \
    X(erf, type)                                                                                                       \
    X(erfc, type)                                                                                                      \
    X(degrees, type)                                                                                                   \
    X(radians, type)                                                                                                   \
    X(lgamma, type)                                                                                                    \
    X(tgamma, type)                                                                                                    \
    X(sigmoid, type)                                                                                                   \
    X(softplus, type)

#define MATH_MODEL(name, type)                                                                                         \
    static void math_model_##name##_##type(const uint64_t *in, uint64_t *out) {                                        \
        math_judge_start(&math_##type);                                                                                \
        out[0] = math_judge_round(math_judge_find(#name), &math_##type, (uint32_t)in[0]);                              \
    }

/* ---- functions of two operands ---- */

static inline uint64_t math_round_powi(const math_format *format, const uint64_t *in) {
    mpfr_t x, r;
    float value;

    math_judge_start(format);
    mpfr_inits2(format->precision, x, r, (mpfr_ptr)0);
    mpfr_set_flt(x, math_decode(format, (uint32_t)in[0]), MPFR_RNDN);
    mpfr_subnormalize(r, mpfr_pow_si(r, x, (int32_t)in[1], MPFR_RNDN), MPFR_RNDN);
    value = mpfr_get_flt(r, MPFR_RNDN);
    mpfr_clears(x, r, (mpfr_ptr)0);
    return math_encode(format, value);
}

#define MATH_MODEL2(name, exact, type)                                                                                 \
    static void math_model_##name##_##type(const uint64_t *in, uint64_t *out) {                                        \
        math_judge_start(&math_##type);                                                                                \
        out[0] = math_round(NULL, exact, &math_##type, (uint32_t)in[0], (uint32_t)in[1]);                              \
    }

/* All functions of a type that is not wider than f32. */
#define MATH_MODELS(type)                                                                                              \
    MATH_UNARY(MATH_MODEL, type)                                                                                       \
    MATH_MODEL2(atan2, mpfr_atan2, type)                                                                               \
    MATH_MODEL2(atan2pi, math_atan2pi, type)                                                                           \
    MATH_MODEL2(hypot, mpfr_hypot, type)                                                                               \
    MATH_MODEL2(fmod, mpfr_fmod, type)                                                                                 \
    MATH_MODEL2(pow, mpfr_pow, type)                                                                                   \
    static void math_model_powi_##type(const uint64_t *in, uint64_t *out) {                                            \
        out[0] = math_round_powi(&math_##type, in);                                                                    \
    }                                                                                                                  \
    static void math_model_sincos_##type(const uint64_t *in, uint64_t *out) {                                          \
        math_model_sin_##type(in, out);                                                                                \
        math_model_cos_##type(in, out + 1);                                                                            \
    }
MATH_MODELS(f32)
MATH_MODELS(f16)
MATH_MODELS(bf16)

/* ---- small functions ---- */

/* minimumNumber and maximumNumber. */
static inline double math_smaller(double a, double b) {
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static inline double math_larger(double a, double b) {
    return -math_smaller(-a, -b);
}

/* An operand, and the bits of a result, which is rounded to the type. */
static inline double math_read_f64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint64_t math_write_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7ff8000000000000 : bits;
}
static inline uint64_t math_write(const math_format *format, double value) {
    mpfr_t r;

    math_judge_start(format);
    mpfr_init2(r, format->precision);
    mpfr_subnormalize(r, mpfr_check_range(r, mpfr_set_d(r, value, MPFR_RNDN), MPFR_RNDN), MPFR_RNDN);
    value = mpfr_get_d(r, MPFR_RNDN);
    mpfr_clear(r);
    return math_encode(format, (float)value);
}
#define MATH_READ_WRITE(type)                                                                                          \
    static inline float math_read_##type(uint64_t bits) {                                                              \
        return math_decode(&math_##type, (uint32_t)bits);                                                              \
    }                                                                                                                  \
    static inline uint64_t math_write_##type(double value) {                                                           \
        return math_write(&math_##type, value);                                                                        \
    }
MATH_READ_WRITE(f32)
MATH_READ_WRITE(f16)
MATH_READ_WRITE(bf16)

/* Narrower types evaluate mix and smoothstep in f32. `real` is a type of C, `f` the suffix of its functions. */
#define MATH_SMALL(type, real, f, below_one)                                                                           \
    static void math_model_clamp_##type(const uint64_t *in, uint64_t *out) {                                           \
        double x = math_read_##type(in[0]), low = math_read_##type(in[1]), high = math_read_##type(in[2]);             \
        out[0] = math_write_##type(math_smaller(math_larger(x, low), high));                                           \
    }                                                                                                                  \
    static void math_model_saturate_##type(const uint64_t *in, uint64_t *out) {                                        \
        out[0] = math_write_##type(math_smaller(math_larger(math_read_##type(in[0]), 0), 1));                          \
    }                                                                                                                  \
    static void math_model_mix_##type(const uint64_t *in, uint64_t *out) {                                             \
        real a = math_read_##type(in[0]), b = math_read_##type(in[1]), t = math_read_##type(in[2]);                    \
        out[0] = math_write_##type(fma##f(t, b, fma##f(-t, a, a)));                                                    \
    }                                                                                                                  \
    static void math_model_sign_##type(const uint64_t *in, uint64_t *out) {                                            \
        double x = math_read_##type(in[0]);                                                                            \
        out[0] = math_write_##type(x == 0 || x != x ? x : copysign(1, x));                                             \
    }                                                                                                                  \
    static void math_model_step_##type(const uint64_t *in, uint64_t *out) {                                            \
        out[0] = math_write_##type(math_read_##type(in[1]) < math_read_##type(in[0]) ? 0 : 1);                         \
    }                                                                                                                  \
    static void math_model_smoothstep_##type(const uint64_t *in, uint64_t *out) {                                      \
        real low = math_read_##type(in[0]), high = math_read_##type(in[1]), x = math_read_##type(in[2]);               \
        real t = (real)math_smaller(math_larger((x - low) / (high - low), 0), 1);                                      \
        out[0] = math_write_##type(t * t * fma##f(t, -2, 3));                                                          \
    }                                                                                                                  \
    static void math_model_fract_##type(const uint64_t *in, uint64_t *out) {                                           \
        real x = math_read_##type(in[0]);                                                                              \
        out[0] = math_write_##type(x - floor##f(x));                                                                   \
        if (out[0] == math_write_##type(1))                                                                            \
            out[0] = math_write_##type(below_one);                                                                     \
    }
MATH_SMALL(f32, float, f, 1 - 0x1p-24)
MATH_SMALL(f16, float, f, 1 - 0x1p-11)
MATH_SMALL(bf16, float, f, 1 - 0x1p-8)
MATH_SMALL(f64, double, , 1 - 0x1p-53)

/* ---- tables ---- */

#define MATH_ROW(name, type) {#name "_" #type, #type " -> " #type, math_model_##name##_##type},
#define MATH_ROW2(name, type) {#name "_" #type, #type " " #type " -> " #type, math_model_##name##_##type},
#define MATH_ROW3(name, type) {#name "_" #type, #type " " #type " " #type " -> " #type, math_model_##name##_##type},
#define MATH_SMALL_ROWS(type)                                                                                          \
    MATH_ROW(saturate, type)                                                                                           \
    MATH_ROW(sign, type)                                                                                               \
    MATH_ROW(fract, type)                                                                                              \
    MATH_ROW2(step, type)                                                                                              \
    MATH_ROW3(clamp, type)                                                                                             \
    MATH_ROW3(mix, type)                                                                                               \
    MATH_ROW3(smoothstep, type)
#define MATH_ROWS(type)                                                                                                \
    MATH_UNARY(MATH_ROW, type){"sincos_" #type, #type " -> " #type " " #type, math_model_sincos_##type},               \
        MATH_ROW2(atan2, type) MATH_ROW2(atan2pi, type) MATH_ROW2(hypot, type) MATH_ROW2(fmod, type)                   \
            MATH_ROW2(pow, type){"powi_" #type, #type " i32 -> " #type, math_model_powi_##type},                       \
        MATH_SMALL_ROWS(type)

static const map_function math_functions[] = {MATH_ROWS(f32)};
static const map_function math_f16_functions[] = {MATH_ROWS(f16)};
static const map_function math_bf16_functions[] = {MATH_ROWS(bf16)};
static const map_function math_f64_functions[] = {MATH_SMALL_ROWS(f64)};

#endif
