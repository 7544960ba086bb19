/* Functions of f64 by MPFR: how far a result is from the exact value. */
#ifndef VY_TESTS_MATH_JUDGE_F64_H
#define VY_TESTS_MATH_JUDGE_F64_H

#include "support/math_judge.h"

static inline double math_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t math_double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7ff8000000000000 : bits;
}

/* The distance of a result from the exact value, in units of the last place that an f64 near the exact value has, at
 * least 2^-1074. An infinity counts as 2^1024. A result of the wrong kind (NaN, infinity, sign of zero) is infinitely
 * far away. One of the two functions is not NULL. */
static inline double math_error_f64(math_function *unary, math_function2 *binary, double x, double y, double got) {
    mpfr_t a, b, r, g;
    double error = HUGE_VAL;

    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_inits2(53, a, b, g, (mpfr_ptr)0);
    mpfr_init2(r, 120);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    if (unary)
        unary(r, a, MPFR_RNDN);
    else
        binary(r, a, b, MPFR_RNDN);
    if (mpfr_nan_p(r) || got != got) {
        error = mpfr_nan_p(r) && got != got ? 0 : HUGE_VAL;
    } else if (mpfr_inf_p(r) || mpfr_zero_p(r)) {
        error = mpfr_get_d(r, MPFR_RNDN) == got && !mpfr_signbit(r) == !signbit(got) ? 0 : HUGE_VAL;
    } else if (!mpfr_signbit(r) == !signbit(got)) {
        mpfr_exp_t exponent = mpfr_get_exp(r) < -1021 ? -1074 : mpfr_get_exp(r) - 53;
        if (exponent > 971)
            exponent = 971;
        if (isinf(got))
            mpfr_set_ui_2exp(g, 1, 1024, MPFR_RNDN);
        else
            mpfr_set_d(g, got, MPFR_RNDN);
        if (isinf(got) && mpfr_get_exp(r) > 1024)
            mpfr_set(r, g, MPFR_RNDN);
        mpfr_sub(r, r, g, MPFR_RNDN);
        mpfr_mul_2si(r, r, -exponent, MPFR_RNDN);
        error = fabs(mpfr_get_d(r, MPFR_RNDN));
    }
    mpfr_clears(a, b, r, g, (mpfr_ptr)0);
    return error;
}

#endif
