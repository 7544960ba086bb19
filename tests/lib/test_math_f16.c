/* The functions of f16 in the dialect `math` against MPFR: every input is rounded correctly. */
#include "lib/math_half.h"

static void every_input_of_f16_is_correctly_rounded(void **state) {
    (void)state;
    math_half_check_all_inputs(math_f16_functions, MAP_COUNT(math_f16_functions));
}

static void samples_of_f16_are_correctly_rounded(void **state) {
    (void)state;
    math_half_check_samples(math_f16_functions, MAP_COUNT(math_f16_functions));
}

/* cosh(2^-5) is 1.00048832…; half way between 1 and its successor 1 + 2^-10 is 1.00048828125. The f32 nearest to the
 * result is that tie, which rounds to 1. */
static void a_result_of_f32_rounded_again_can_be_wrong(void **state) {
    (void)state;
    math_half_check_second_rounding("cosh", "f16", 0x2800, 0x3c01, 0x3c00);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_input_of_f16_is_correctly_rounded),
        cmocka_unit_test(samples_of_f16_are_correctly_rounded),
        cmocka_unit_test(a_result_of_f32_rounded_again_can_be_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
