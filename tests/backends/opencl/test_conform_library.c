/* The functions of the standard library give the oracle's bits on backend `opencl`: every fourth, since a driver for
 * processors takes a quarter of a second to compile one; all with VYRE_EFFORT=2. */
#include "backends/conform_library.h"

static void functions_of_the_library_have_the_oracles_bits(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "opencl");
    const unsigned step = vy_test_effort() > 1 ? 1 : VY_SANITIZED ? 16 : 4;
    conform_library library = {.backends = &c, .backend_count = 1, .step = step};
    conform_library_run(&library);
    printf("%llu runs, %llu judged\n", (unsigned long long)c.runs, (unsigned long long)c.judged);
    conform_close(&c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_of_the_library_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
