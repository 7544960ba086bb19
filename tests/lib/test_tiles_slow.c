/* Every op on workgroup arrays over 2^20 + 1 elements, in many workgroups. */
#include "lib/model_reduce.h"
#include "lib/model_sort.h"

static void a_million_elements_in_tiles_give_what_the_definitions_say(void **state) {
    (void)state;
    tile_check_million(reduce_functions, TILE_COUNT(reduce_functions));
    tile_check_million(scan_functions, TILE_COUNT(scan_functions));
    tile_check_million(sort_functions, TILE_COUNT(sort_functions));
    tile_check_million(compact_functions, TILE_COUNT(compact_functions));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_elements_in_tiles_give_what_the_definitions_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
