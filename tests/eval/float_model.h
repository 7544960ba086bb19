/* What the float rows and the conversions mean, said a second time with MPFR: exact operands, one rounding to the
 * format's precision, its exponent range and its subnormals. */
#ifndef VY_TEST_EVAL_FLOAT_MODEL_H
#define VY_TEST_EVAL_FLOAT_MODEL_H

#include "eval/cases.h"
#include "eval/integer_model.h"

#include <math.h>
#define MPFR_USE_INTMAX_T
#include <mpfr.h>

/* The format's range in MPFR's terms, where a significand lies in [1/2, 1). */
static inline void model_range(const format *f) {
    mpfr_set_emin(f ? 2 - f->bias - (int)f->fraction : mpfr_get_emin_min());
    mpfr_set_emax(f ? f->bias + 1 : mpfr_get_emax_max());
}

/* Sets x (of any sufficient precision) to the number a pattern stands for. */
static inline void model_decode(const format *f, mpfr_t x, uint64_t bits) {
    const uint64_t fraction = bits & ((UINT64_C(1) << f->fraction) - 1);
    const int64_t exponent = exponent_of(f, bits);
    const int negative = (bits & format_sign(f)) != 0;

    if (format_is_nan(f, bits)) {
        mpfr_set_nan(x);
        return;
    }
    if (exponent == 2 * f->bias + 1)
        mpfr_set_inf(x, 1);
    else if (exponent == 0)
        mpfr_set_ui_2exp(x, fraction, 1 - f->bias - (int)f->fraction, MPFR_RNDN);
    else
        mpfr_set_ui_2exp(x, fraction | UINT64_C(1) << f->fraction, exponent - f->bias - (int)f->fraction, MPFR_RNDN);
    mpfr_setsign(x, x, negative, MPFR_RNDN);
}

/* The pattern of a number that is one of the format. */
static inline uint64_t model_encode(const format *f, const mpfr_t x) {
    const uint64_t sign = mpfr_signbit(x) ? format_sign(f) : 0;
    const int least = 1 - f->bias;
    int exponent;
    double number, half;

    if (mpfr_nan_p(x))
        return f->nan;
    if (mpfr_inf_p(x))
        return sign | format_infinity(f);
    number = fabs(mpfr_get_d(x, MPFR_RNDN));
    half = frexp(number, &exponent);
    if (number == 0)
        return sign;
    if (exponent - 1 < least)
        return sign | (uint64_t)ldexp(number, (int)f->fraction - least);
    return sign | (uint64_t)(exponent - 1 + f->bias) << f->fraction | (uint64_t)ldexp(2 * half - 1, (int)f->fraction);
}

/* Operands and result, made once for the process. */
static mpfr_t model_x, model_y, model_z, model_r;

static inline void model_start(void) {
    static int started;

    if (!started)
        mpfr_inits2(64, model_x, model_y, model_z, model_r, (mpfr_ptr)0);
    started = 1;
}

/* Rounds what was computed exactly, or rounded with `ternary` to the format's precision, into its range. */
static inline uint64_t model_finish(const format *f, int ternary) {
    model_range(f);
    ternary = mpfr_check_range(model_r, ternary, MPFR_RNDN);
    mpfr_subnormalize(model_r, ternary, MPFR_RNDN);
    model_range(NULL);
    return model_encode(f, model_r);
}

/* -0 < +0, a number beats NaN. */
static inline uint64_t model_least(const format *f, uint64_t a, uint64_t b, int want_greater) {
    int order;

    if (mpfr_nan_p(model_x) || mpfr_nan_p(model_y))
        return mpfr_nan_p(model_x) ? model_encode(f, model_y) : model_encode(f, model_x);
    order = mpfr_cmp(model_x, model_y);
    if (order == 0)
        order = mpfr_signbit(model_y) - mpfr_signbit(model_x);
    return (order < 0) != want_greater ? a : b;
}

static inline uint64_t float_model(vyre_op op, const format *f, uint64_t a, uint64_t b, uint64_t c) {
    const unsigned arity = vyre_op_get(op)->arity;
    int ternary = 0;

    if (op == VYRE_OP_SELECT)
        return a & 1 ? (format_is_nan(f, b) ? f->nan : b) : format_is_nan(f, c) ? f->nan : c;
    model_start();
    model_range(NULL);
    model_decode(f, model_x, a);
    if (arity > 1)
        model_decode(f, model_y, b);
    if (arity > 2)
        model_decode(f, model_z, c);
    mpfr_set_prec(model_r, f->fraction + 1);
    switch (op) {
    case VYRE_OP_NEG:
        ternary = mpfr_neg(model_r, model_x, MPFR_RNDN);
        break;
    case VYRE_OP_ABS:
        ternary = mpfr_abs(model_r, model_x, MPFR_RNDN);
        break;
    case VYRE_OP_APPROX_SQRT: /* the evaluator is exact */
    case VYRE_OP_SQRT:
        ternary = mpfr_sqrt(model_r, model_x, MPFR_RNDN);
        break;
    case VYRE_OP_FLOOR:
        ternary = mpfr_rint(model_r, model_x, MPFR_RNDD);
        break;
    case VYRE_OP_CEIL:
        ternary = mpfr_rint(model_r, model_x, MPFR_RNDU);
        break;
    case VYRE_OP_TRUNC:
        ternary = mpfr_rint(model_r, model_x, MPFR_RNDZ);
        break;
    case VYRE_OP_ROUND:
        ternary = mpfr_rint(model_r, model_x, MPFR_RNDN);
        break;
    case VYRE_OP_IS_NAN:
        return mpfr_nan_p(model_x) != 0;
    case VYRE_OP_IS_INF:
        return mpfr_inf_p(model_x) != 0;
    case VYRE_OP_IS_FINITE:
        return mpfr_number_p(model_x) != 0;
    case VYRE_OP_SIGNBIT:
        return !mpfr_nan_p(model_x) && mpfr_signbit(model_x);
    case VYRE_OP_ADD:
        ternary = mpfr_add(model_r, model_x, model_y, MPFR_RNDN);
        break;
    case VYRE_OP_SUB:
        ternary = mpfr_sub(model_r, model_x, model_y, MPFR_RNDN);
        break;
    case VYRE_OP_MUL:
        ternary = mpfr_mul(model_r, model_x, model_y, MPFR_RNDN);
        break;
    case VYRE_OP_APPROX_DIV: /* the evaluator is exact */
    case VYRE_OP_DIV:
        ternary = mpfr_div(model_r, model_x, model_y, MPFR_RNDN);
        break;
    case VYRE_OP_REMAINDER:
        ternary = mpfr_remainder(model_r, model_x, model_y, MPFR_RNDN);
        break;
    case VYRE_OP_FMA:
        ternary = mpfr_fma(model_r, model_x, model_y, model_z, MPFR_RNDN);
        break;
    case VYRE_OP_MIN:
        return model_least(f, a, b, 0);
    case VYRE_OP_MAX:
        return model_least(f, a, b, 1);
    case VYRE_OP_COPYSIGN:
        if (mpfr_nan_p(model_x))
            return f->nan;
        return model_encode(
            f, (mpfr_setsign(model_r, model_x, !mpfr_nan_p(model_y) && mpfr_signbit(model_y), MPFR_RNDN), model_r));
    case VYRE_OP_EQ:
        return mpfr_equal_p(model_x, model_y) != 0;
    case VYRE_OP_NE:
        return !mpfr_equal_p(model_x, model_y);
    case VYRE_OP_LT:
        return mpfr_less_p(model_x, model_y) != 0;
    case VYRE_OP_LE:
        return mpfr_lessequal_p(model_x, model_y) != 0;
    case VYRE_OP_GT:
        return mpfr_greater_p(model_x, model_y) != 0;
    case VYRE_OP_GE:
        return mpfr_greaterequal_p(model_x, model_y) != 0;
    default:
        fail_msg("the model has no row for %s", vyre_op_get(op)->name);
        return 0;
    }
    return model_finish(f, ternary);
}

/* The number in model_x as an integer type: cut toward zero, then the nearer end of the range; NaN gives 0. */
static inline uint64_t model_to_integer(vyre_type to) {
    const unsigned width = vyre_type_bits(to);
    const wide least = is_signed_type(to) ? -((wide)1 << (width - 1)) : 0;
    const wide most = is_signed_type(to) ? ((wide)1 << (width - 1)) - 1 : ((wide)1 << width) - 1;
    wide value;

    if (mpfr_nan_p(model_x))
        return 0;
    if (mpfr_cmp_si_2exp(model_x, 1, 64) >= 0)
        return integer_wrap(to, most);
    if (mpfr_cmp_si_2exp(model_x, -1, 63) <= 0)
        return integer_wrap(to, least);
    value = mpfr_sgn(model_x) < 0 ? (wide)mpfr_get_sj(model_x, MPFR_RNDZ) : (wide)mpfr_get_uj(model_x, MPFR_RNDZ);
    return integer_wrap(to, value < least ? least : value > most ? most : value);
}

static inline uint64_t cast_model(vyre_type to, vyre_type from, uint64_t bits) {
    const format *source = format_of(from), *target = format_of(to);
    wide value;

    model_start();
    model_range(NULL);
    if (source) {
        model_decode(source, model_x, bits);
        if (!target)
            return model_to_integer(to);
    } else {
        value = from == VYRE_TYPE_BOOL ? (wide)bits : integer_value(from, bits);
        if (!target)
            return integer_wrap(to, value);
        if (value < 0)
            mpfr_set_sj(model_x, (int64_t)value, MPFR_RNDN);
        else
            mpfr_set_uj(model_x, (uint64_t)value, MPFR_RNDN);
    }
    mpfr_set_prec(model_r, target->fraction + 1);
    return model_finish(target, mpfr_set(model_r, model_x, MPFR_RNDN));
}

#endif
