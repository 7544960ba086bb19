/* The dialect `scan` at every size, in workgroups of any width. */
#include "lib/model_reduce.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    tile_check(scan_functions, TILE_COUNT(scan_functions));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
