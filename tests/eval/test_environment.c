/* The caller's floating-point environment: our results do not depend on it, and it is as before afterwards. */
#include "eval/cases.h"

#include <fenv.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { CASES = 20000 };

typedef struct evaluation {
    vyre_op op;
    vyre_type result, operand;
    uint64_t a, b, c, expected;
} evaluation;

static evaluation cases[CASES];

static void make_cases(void) {
    vy_random random = vy_random_start(30);

    for (unsigned i = 0; i < CASES; i++) {
        evaluation *e = &cases[i];

        do {
            e->op = (vyre_op)vy_random_below(&random, VYRE_OP_COUNT);
            e->operand = (vyre_type)vy_random_below(&random, VYRE_TYPE_COUNT);
            e->result = vyre_op_accepts(e->op, e->operand, VYRE_TYPE_BOOL)
                            ? VYRE_TYPE_BOOL
                            : (vyre_type)vy_random_below(&random, VYRE_TYPE_COUNT);
        } while (!vyre_op_accepts(e->op, e->operand, e->result));
        e->a = random_value(&random, e->operand);
        e->b = random_value(&random, e->operand);
        e->c = random_value(&random, e->operand);
        e->expected = vyre_op_evaluate(e->op, e->result, e->operand, e->a, e->b, e->c);
    }
}

/* Under whatever environment is set now. */
static void check_cases(void) {
    for (unsigned i = 0; i < CASES; i++)
        check_bits(cases[i].op, cases[i].result, cases[i].operand, cases[i].a, cases[i].b, cases[i].c,
                   cases[i].expected);
}

static void rounding_modes_of_the_caller_do_not_matter(void **state) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    (void)state;

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        fesetround(modes[i]);
        check_cases();
        assert_int_equal(fegetround(), modes[i]);
    }
    fesetround(FE_TONEAREST);
}

static void flushing_subnormals_in_the_caller_does_not_matter(void **state) {
    (void)state;
#if defined(__x86_64__)
    const unsigned saved = _mm_getcsr(), flushing = saved | 0x8040 /* flush to zero, denormals are zero */;

    _mm_setcsr(flushing);
    check_cases();
    check_bits(VYRE_OP_ADD, VYRE_TYPE_F32, VYRE_TYPE_F32, 1, 1, 0, 2);
    check_bits(VYRE_OP_CAST, VYRE_TYPE_F16, VYRE_TYPE_F32, 0x33800000, 0, 0, 1);
    assert_int_equal(_mm_getcsr() & 0xffc0, flushing & 0xffc0);
    _mm_setcsr(saved);
#elif defined(__aarch64__)
    const uint64_t flushing = 0x03000000; /* FZ and DN: subnormals are zero, all NaNs one */
    uint64_t saved, after;

    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    __asm__ volatile("msr fpcr, %0" : : "r"(flushing));
    check_cases();
    check_bits(VYRE_OP_ADD, VYRE_TYPE_F32, VYRE_TYPE_F32, 1, 1, 0, 2);
    check_bits(VYRE_OP_CAST, VYRE_TYPE_F16, VYRE_TYPE_F32, 0x33800000, 0, 0, 1);
    __asm__ volatile("mrs %0, fpcr" : "=r"(after));
    __asm__ volatile("msr fpcr, %0" : : "r"(saved));
    assert_int_equal(after, flushing);
#else
    VY_SKIP("flush-to-zero: this test sets it on x86-64 and AArch64 only");
#endif
}

static void traps_of_the_caller_are_not_sprung(void **state) {
    (void)state;
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);
    if (!fegetexcept())
        VY_SKIP("this processor has no traps of floating point, as most of AArch64");
    check_cases();
    assert_int_equal(fegetexcept() & (FE_DIVBYZERO | FE_INVALID), FE_DIVBYZERO | FE_INVALID);
    fedisableexcept(FE_ALL_EXCEPT);
}

static void exception_flags_of_the_caller_stay_as_they_were(void **state) {
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_OVERFLOW);
    check_bits(VYRE_OP_DIV, VYRE_TYPE_F32, VYRE_TYPE_F32, 0x3f800000, 0, 0, 0x7f800000);
    check_bits(VYRE_OP_DIV, VYRE_TYPE_F64, VYRE_TYPE_F64, 0, 0, 0, UINT64_C(0x7ff8000000000000));
    assert_int_equal(fetestexcept(FE_DIVBYZERO | FE_INVALID), 0);
    assert_int_equal(fetestexcept(FE_OVERFLOW) & FE_OVERFLOW, FE_OVERFLOW);
    feclearexcept(FE_ALL_EXCEPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_modes_of_the_caller_do_not_matter),
        cmocka_unit_test(flushing_subnormals_in_the_caller_does_not_matter),
        cmocka_unit_test(traps_of_the_caller_are_not_sprung),
        cmocka_unit_test(exception_flags_of_the_caller_stay_as_they_were),
    };

    make_cases();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
