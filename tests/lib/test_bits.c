/* The dialect `bits` against bit-by-bit definitions. */
#include "lib/model_bits.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    map_check("bits", bits_functions, MAP_COUNT(bits_functions));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
