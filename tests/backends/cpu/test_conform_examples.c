/* Every program of the examples gives the oracle's bits on backend `cpu`, at every width, ISA level and several
 * sizes. */
#include "backends/conform_examples.h"
#include "backends/cpu/matrix.h"

/* With sanitizers at every second width: neither LLVM nor the code it makes has any inside, and builds without run
 * them all. */
static void run_with(const char *width) {
    static conform c;
    static unsigned turn;
    const size_t step = VY_SANITIZED ? 2 : 1;
    setenv("VYRE_CPU_WIDTH", width, 1);
    conform_open(&c, "cpu");
    conform_examples_run(&c, turn++ % step, step);
    conform_close(&c);
    unsetenv("VYRE_CPU_WIDTH");
}

static void examples_have_the_oracles_bits_on_four_lanes(void **state) {
    (void)state;
    run_with("4");
}

static void examples_have_the_oracles_bits_on_eight_lanes(void **state) {
    (void)state;
    run_with("8");
}

static void examples_have_the_oracles_bits_on_sixteen_lanes(void **state) {
    (void)state;
    run_with("16");
}

static void examples_have_the_oracles_bits_on_sixty_four_lanes(void **state) {
    (void)state;
    run_with("64");
}

static void examples_have_the_oracles_bits_on_lanes_that_fit_them(void **state) {
    (void)state;
    run_with("0");
}

static void examples_have_the_oracles_bits_at_lower_levels(void **state) {
    (void)state;
    matrix_lower_levels(conform_examples_run, 7);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_have_the_oracles_bits_on_four_lanes),
        cmocka_unit_test(examples_have_the_oracles_bits_on_eight_lanes),
        cmocka_unit_test(examples_have_the_oracles_bits_on_sixteen_lanes),
        cmocka_unit_test(examples_have_the_oracles_bits_on_sixty_four_lanes),
        cmocka_unit_test(examples_have_the_oracles_bits_on_lanes_that_fit_them),
        cmocka_unit_test(examples_have_the_oracles_bits_at_lower_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
