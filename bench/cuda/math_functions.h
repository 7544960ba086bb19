/* Functions of one f32 whose speed is compared: libvyre's, CUDA's, and CUDA's in f64, rounded.
 *
 * X(name, ours, single, wide, low, factor, addend)
 *
 * `ours` is a format for the operand. `single` and `wide` are CUDA C of a float and of a double x. Operands are in
 * [low, low + 1). A kernel that computes in registers applies x = f(x) * factor + addend repeatedly; the operands stay
 * in the domain of f.
 *
 * math.cu and math.c read this table. */
#ifndef BENCH_CUDA_MATH_FUNCTIONS_H
#define BENCH_CUDA_MATH_FUNCTIONS_H

#define MATH_FUNCTIONS(X)                                                                                              \
    X(exp, "math.exp_f32(%s)", expf(x), exp(x), 0, 0.25f, 0.5f)                                                        \
    X(log, "math.log_f32(%s)", logf(x), log(x), 1, 0.25f, 1.25f)                                                       \
    X(sin, "math.sin_f32(%s)", sinf(x), sin(x), 0, 0.25f, 0.5f)                                                        \
    X(cos, "math.cos_f32(%s)", cosf(x), cos(x), 0, 0.25f, 0.5f)                                                        \
    X(tanh, "math.tanh_f32(%s)", tanhf(x), tanh(x), 0, 0.25f, 0.5f)                                                    \
    X(exp2, "math.exp2_f32(%s)", exp2f(x), exp2(x), 0, 0.25f, 0.5f)                                                    \
    X(exp10, "math.exp10_f32(%s)", exp10f(x), exp10(x), 0, 0.0625f, 0.125f)                                            \
    X(expm1, "math.expm1_f32(%s)", expm1f(x), expm1(x), 0, 0.25f, 0.5f)                                                \
    X(log2, "math.log2_f32(%s)", log2f(x), log2(x), 1, 0.25f, 1.25f)                                                   \
    X(log10, "math.log10_f32(%s)", log10f(x), log10(x), 1, 0.25f, 1.25f)                                               \
    X(log1p, "math.log1p_f32(%s)", log1pf(x), log1p(x), 0, 0.25f, 0.5f)                                                \
    X(tan, "math.tan_f32(%s)", tanf(x), tan(x), 0, 0.25f, 0.5f)                                                        \
    X(sinpi, "math.sinpi_f32(%s)", sinpif(x), sinpi(x), 0, 0.25f, 0.5f)                                                \
    X(cospi, "math.cospi_f32(%s)", cospif(x), cospi(x), 0, 0.25f, 0.5f)                                                \
    X(asin, "math.asin_f32(%s)", asinf(x), asin(x), 0, 0.25f, 0.5f)                                                    \
    X(acos, "math.acos_f32(%s)", acosf(x), acos(x), 0, 0.25f, 0.5f)                                                    \
    X(atan, "math.atan_f32(%s)", atanf(x), atan(x), 0, 0.25f, 0.5f)                                                    \
    X(sinh, "math.sinh_f32(%s)", sinhf(x), sinh(x), 0, 0.25f, 0.5f)                                                    \
    X(cosh, "math.cosh_f32(%s)", coshf(x), cosh(x), 0, 0.25f, 0.5f)                                                    \
    X(asinh, "math.asinh_f32(%s)", asinhf(x), asinh(x), 0, 0.25f, 0.5f)                                                \
    X(acosh, "math.acosh_f32(%s)", acoshf(x), acosh(x), 1, 0.25f, 1.25f)                                               \
    X(atanh, "math.atanh_f32(%s)", atanhf(x), atanh(x), 0, 0.03125f, 0.5f)                                             \
    X(cbrt, "math.cbrt_f32(%s)", cbrtf(x), cbrt(x), 0, 0.25f, 0.5f)                                                    \
    X(rsqrt, "math.rsqrt_f32(%s)", rsqrtf(x), rsqrt(x), 1, 0.25f, 1.0f)                                                \
    X(erf, "math.erf_f32(%s)", erff(x), erf(x), 0, 0.25f, 0.5f)                                                        \
    X(erfc, "math.erfc_f32(%s)", erfcf(x), erfc(x), 0, 0.25f, 0.5f)                                                    \
    X(lgamma, "math.lgamma_f32(%s)", lgammaf(x), lgamma(x), 1, 0.25f, 1.5f)                                            \
    X(tgamma, "math.tgamma_f32(%s)", tgammaf(x), tgamma(x), 1, 0.25f, 1.0f)                                            \
    X(pow, "math.pow_f32(%s, 1.7)", MATH_POW_SINGLE, MATH_POW_WIDE, 0, 0.25f, 0.5f)

/* Functions that CUDA lacks: only libvyre's are measured. X(name, ours, low) */
#define MATH_FUNCTIONS_OF_OURS(X)                                                                                      \
    X(exp2m1, "math.exp2m1_f32(%s)", 0)                                                                                \
    X(exp10m1, "math.exp10m1_f32(%s)", 0)                                                                              \
    X(log2p1, "math.log2p1_f32(%s)", 0)                                                                                \
    X(log10p1, "math.log10p1_f32(%s)", 0)                                                                              \
    X(tanpi, "math.tanpi_f32(%s)", 0)                                                                                  \
    X(asinpi, "math.asinpi_f32(%s)", 0)                                                                                \
    X(acospi, "math.acospi_f32(%s)", 0)                                                                                \
    X(atanpi, "math.atanpi_f32(%s)", 0)                                                                                \
    X(sigmoid, "math.sigmoid_f32(%s)", 0)                                                                              \
    X(softplus, "math.softplus_f32(%s)", 0)                                                                            \
    X(degrees, "math.degrees_f32(%s)", 0)                                                                              \
    X(radians, "math.radians_f32(%s)", 0)

#define MATH_POW_SINGLE powf(x, 1.7f)
#define MATH_POW_WIDE pow(x, (double)1.7f)

/* Results of one thread in kernels that compute in registers, per element that it loads. */
#define MATH_CHAIN_TRIPS 8
#define MATH_BITS_TRIPS 32

#endif
