/* The dialect `sort` at every size, in workgroups of any width. */
#include "lib/model_sort.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    tile_check(sort_functions, TILE_COUNT(sort_functions));
}

static void numbers_in_the_order_of_floats_turn_into_each_other(void **state) {
    (void)state;
    map_check("sort", sort_scalars, MAP_COUNT(sort_scalars));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
        cmocka_unit_test(numbers_in_the_order_of_floats_turn_into_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
