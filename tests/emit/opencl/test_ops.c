/* Every op on every type it accepts, as OpenCL C on a device, gives the oracle's bits. */
#include "emit/op_cases.h"
#include "emit/opencl/launched.h"

static launched collected;

static void op_case(const char *name, vyre_program *program, const vyre_arguments *arguments) {
    assert_true(launched_add(&collected, name, program, arguments));
}

static void open_device(uint64_t removed) {
    collected = (launched){.limit = 100, .removed = removed, .constant_bytes = 256};
    launched_open(&collected);
}

static void every_op_has_the_oracles_bits_on_every_type(void **state) {
    (void)state;
    open_device(0);
    const unsigned programs = op_cases_run();
    launched_run(&collected);
    printf("%u programs\n", programs);
    assert_int_equal(collected.refused, 0);
    assert_true(programs > 500);
    launched_close(&collected);
}

static void testfloats_operands_have_the_oracles_bits(void **state) {
    (void)state;
    open_device(0);
    const uint64_t lines = op_cases_run_testfloat();
    if (!lines)
        VY_SKIP("TestFloat vectors: there are none in %s/testfloat (set VYRE_VECTORS)", vy_test_vectors());
    launched_run(&collected);
    printf("%llu lines\n", (unsigned long long)lines);
    launched_close(&collected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_the_oracles_bits_on_every_type),
        cmocka_unit_test(testfloats_operands_have_the_oracles_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
