/* Every function of the standard library gives the oracle's bits on backend `cpu`, on all numbers of lanes and ISA
 * levels in turns. */
#include "backends/conform_library.h"
#include "backends/cpu/matrix.h"

static void every_function_of_the_library_has_the_oracles_bits(void **state) {
    (void)state;
    static matrix m;
    static conform backends[MATRIX_CELLS];
    conform_library library = {.backends = backends, .step = VY_SANITIZED ? 3 : 1};
    matrix_start(&m);
    for (size_t i = 0; i < m.count; i++)
        if (m.cells[i].split <= MATRIX_SPLIT || vy_test_effort() > 1)
            matrix_open(&backends[library.backend_count++], &m.cells[i]);
    conform_library_run(&library);
    for (size_t i = 0; i < library.backend_count; i++)
        conform_close(&backends[i]);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function_of_the_library_has_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
