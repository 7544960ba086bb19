/* Every function of the standard library gives the oracle's bits on backend `cpu`, on all numbers of lanes in turns. */
#include "backends/conform_library.h"

static void every_function_of_the_library_has_the_oracles_bits(void **state) {
    (void)state;
    static const char *const widths[] = {"4", "8", "16", "32", "0"};
    static conform backends[5];
    for (int i = 0; i < 5; i++) {
        setenv("VYRE_CPU_WIDTH", widths[i], 1);
        conform_open(&backends[i], "cpu");
    }
    /* Neither LLVM nor the code it makes has sanitizers inside; builds without call every function. */
    conform_library library = {.backends = backends, .backend_count = 5, .step = VY_SANITIZED ? 3 : 1};
    conform_library_run(&library);
    for (int i = 0; i < 5; i++)
        conform_close(&backends[i]);
    unsetenv("VYRE_CPU_WIDTH");
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function_of_the_library_has_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
