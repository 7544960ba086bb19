/* The functions of bf16 in the dialect `math` against MPFR: every input is rounded correctly. */
#include "lib/math_half.h"

static void every_input_of_bf16_is_correctly_rounded(void **state) {
    (void)state;
    math_half_check_all_inputs(math_bf16_functions, MAP_COUNT(math_bf16_functions));
}

static void samples_of_bf16_are_correctly_rounded(void **state) {
    (void)state;
    math_half_check_samples(math_bf16_functions, MAP_COUNT(math_bf16_functions));
}

/* 10^x is 0.95898436 for x = -0.0181884765625, just below 0.958984375, which is a tie and the nearest f32. */
static void a_result_of_f32_rounded_again_can_be_wrong(void **state) {
    (void)state;
    math_half_check_second_rounding("exp10", "bf16", 0xbc95, 0x3f75, 0x3f76);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_input_of_bf16_is_correctly_rounded),
        cmocka_unit_test(samples_of_bf16_are_correctly_rounded),
        cmocka_unit_test(a_result_of_f32_rounded_again_can_be_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
