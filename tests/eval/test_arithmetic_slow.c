/* Arithmetic of all four float formats on millions of random operands against MPFR: subnormals, ties, cancellation,
 * overflow. */
#include "eval/float_model.h"

static const vyre_op arithmetic[] = {VYRE_OP_ADD, VYRE_OP_SUB,       VYRE_OP_MUL, VYRE_OP_DIV,
                                     VYRE_OP_FMA, VYRE_OP_REMAINDER, VYRE_OP_SQRT};
static const vyre_op others[] = {VYRE_OP_FLOOR, VYRE_OP_CEIL,     VYRE_OP_TRUNC, VYRE_OP_ROUND, VYRE_OP_MIN,
                                 VYRE_OP_MAX,   VYRE_OP_COPYSIGN, VYRE_OP_NEG,   VYRE_OP_ABS};
static const vyre_op compares[] = {VYRE_OP_EQ, VYRE_OP_NE, VYRE_OP_LT, VYRE_OP_LE, VYRE_OP_GT, VYRE_OP_GE};
static uint64_t checked;

static void check_row(vyre_op op, vyre_type result, const format *f, const uint64_t operands[3]) {
    check_bits(op, result, f->type, operands[0], operands[1], operands[2],
               float_model(op, f, operands[0], operands[1], operands[2]));
    checked++;
}

static void check_samples(const format *f, unsigned count) {
    vy_random random = vy_random_start(20 + (uint64_t)f->type);
    uint64_t operands[3];

    checked = 0;
    for (unsigned i = 0; i < count * vy_test_effort(); i++) {
        random_operands(&random, f, operands);
        for (size_t k = 0; k < sizeof arithmetic / sizeof *arithmetic; k++)
            check_row(arithmetic[k], f->type, f, operands);
        check_row(others[i % (sizeof others / sizeof *others)], f->type, f, operands);
        check_row(compares[i % (sizeof compares / sizeof *compares)], VYRE_TYPE_BOOL, f, operands);
        random_tie(&random, f, operands);
        check_row(VYRE_OP_FMA, f->type, f, operands);
    }
    printf("%s: %" PRIu64 " evaluations checked\n", vyre_type_name(f->type), checked);
}

static void f16_is_right_on_samples(void **state) {
    (void)state;
    check_samples(&formats[0], 2000000);
}

static void bf16_is_right_on_samples(void **state) {
    (void)state;
    check_samples(&formats[1], 2000000);
}

static void f32_is_right_on_samples(void **state) {
    (void)state;
    check_samples(&formats[2], 1500000);
}

static void f64_is_right_on_samples(void **state) {
    (void)state;
    check_samples(&formats[3], 1000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16_is_right_on_samples),
        cmocka_unit_test(bf16_is_right_on_samples),
        cmocka_unit_test(f32_is_right_on_samples),
        cmocka_unit_test(f64_is_right_on_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
