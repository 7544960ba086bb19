/* Dispatches of a pipeline on `cuda` run no pass and compile nothing, however large. */
#include "backends/conform_passes.h"

static void dispatches_of_4_kib_run_no_pass(void **state) {
    (void)state;
    conform_passes_run("cuda", 4 << 10);
}

static void dispatches_of_1_mib_run_no_pass(void **state) {
    (void)state;
    conform_passes_run("cuda", 1 << 20);
}

static void dispatches_of_64_mib_run_no_pass(void **state) {
    (void)state;
    conform_passes_run("cuda", 64 << 20);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dispatches_of_4_kib_run_no_pass),
        cmocka_unit_test(dispatches_of_1_mib_run_no_pass),
        cmocka_unit_test(dispatches_of_64_mib_run_no_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
