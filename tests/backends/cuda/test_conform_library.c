/* Every function of the standard library gives the oracle's bits on backend `cuda`. */
#include "backends/conform_library.h"

static void every_function_of_the_library_has_the_oracles_bits(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "cuda");
    conform_library library = {.backends = &c, .backend_count = 1, .step = 1};
    conform_library_run(&library);
    printf("%llu runs, %llu judged\n", (unsigned long long)c.runs, (unsigned long long)c.judged);
    conform_close(&c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function_of_the_library_has_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
