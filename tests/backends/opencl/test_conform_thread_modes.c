/* Backend `opencl` where its device is taken for another one: without memory that it shares with the host, and without
 * a way to tell a running kernel to end. Bits, deadlines, cancellation and traps are the same. */
#include "backends/conform_control.h"
#include "backends/conform_examples.h"

static void with_settings(const char *variable, void (*what)(void)) {
    setenv(variable, "0", 1);
    what();
    unsetenv(variable);
}

static void examples(void) {
    static conform c;
    conform_open(&c, "opencl");
    conform_examples_run(&c, 0, 3);
    assert_true(c.judged > 0);
    conform_close(&c);
}

static void deadline(void) {
    conform_deadline("opencl");
}

static void traps(void) {
    conform_traps("opencl");
}

static void memory_of_the_device_gives_the_same(void **state) {
    (void)state;
    with_settings("VYRE_OPENCL_SHARED", examples);
    with_settings("VYRE_OPENCL_SHARED", traps);
}

/* By a write through another queue, or by their budget. */
static void kernels_on_memory_of_the_device_end(void **state) {
    (void)state;
    with_settings("VYRE_OPENCL_SHARED", deadline);
}

static void grids_in_slices_give_the_same(void **state) {
    (void)state;
    with_settings("VYRE_OPENCL_PROBE", examples);
    with_settings("VYRE_OPENCL_PROBE", traps);
}

static void kernels_in_slices_end_by_their_budget(void **state) {
    (void)state;
    with_settings("VYRE_OPENCL_PROBE", deadline);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_the_device_gives_the_same),
        cmocka_unit_test(kernels_on_memory_of_the_device_end),
        cmocka_unit_test(grids_in_slices_give_the_same),
        cmocka_unit_test(kernels_in_slices_end_by_their_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
