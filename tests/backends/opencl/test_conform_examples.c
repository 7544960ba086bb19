/* Every program of the examples gives the oracle's bits on backend `opencl`, at several sizes. */
#include "backends/conform_examples.h"

static void examples_have_the_oracles_bits(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "opencl");
    conform_examples_run(&c, 0, 1);
    printf("%llu runs, %llu judged\n", (unsigned long long)c.runs, (unsigned long long)c.judged);
    conform_close(&c);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
