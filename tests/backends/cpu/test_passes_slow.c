/* Dispatches of a pipeline on `cpu` with 64 MiB of inputs run no pass and compile nothing. */
#include "backends/conform_passes.h"

static void dispatches_of_64_mib_run_no_pass(void **state) {
    (void)state;
    conform_passes_run("cpu", 64 << 20);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(dispatches_of_64_mib_run_no_pass)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
