/* The dialect `int` against mathematical integers. */
#include "lib/model_int.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    map_check("int", int_functions, MAP_COUNT(int_functions));
}

static void a_prepared_division_is_the_division(void **state) {
    (void)state;
    map_check_with("int", INT_BY_WAY, int_divisions, MAP_COUNT(int_divisions));
}

static void roots_turn_at_every_square(void **state) {
    enum { ROOTS = 65536 };
    uint64_t *rows = calloc(2 * ROOTS, sizeof *rows);
    map_shape shape;
    library l;

    (void)state;
    assert_non_null(rows);
    for (uint64_t r = 0; r < ROOTS; r++) {
        rows[2 * r] = r * r;
        rows[2 * r + 1] = (r * r - 1) & UINT32_MAX;
    }
    for (size_t i = 0; i < MAP_COUNT(int_functions); i++)
        if (strcmp(int_functions[i].name, "isqrt_u32") == 0) {
            map_open(&l, "int", "", &int_functions[i], &shape);
            map_rows(&int_functions[i], &shape, &l, &rows, 2 * ROOTS);
            library_close(&l);
        }
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
        cmocka_unit_test(a_prepared_division_is_the_division),
        cmocka_unit_test(roots_turn_at_every_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
