/* Every op on every type it accepts, as C, gives the oracle's bits. */
#include "emit/c/compiled.h"
#include "emit/op_cases.h"

static const char *const compilers[] = {"gcc -std=gnu17 -O1 -march=native", "clang -std=gnu17 -O1 -march=native", NULL};
/* With sanitizers, which do not see what the compilers make, each program goes to one of them. */
static compiled collected = {.compilers = compilers, .in_turns = VY_SANITIZED, .limit = VY_SANITIZED ? 50 : 0};

static void op_case(const char *name, vyre_program *program, const vyre_arguments *arguments) {
    assert_true(compiled_add(&collected, name, program, arguments));
}

static void every_op_has_the_oracles_bits_on_every_type(void **state) {
    (void)state;
    const unsigned programs = op_cases_run();
    compiled_run(&collected);
    printf("%u programs\n", programs);
    assert_int_equal(collected.refused, 0);
    assert_true(programs > 500);
}

/* gcc 12 makes -(a * b) - c of it, which is +0. */
static void a_negated_fma_keeps_the_sign_of_zero(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse("program p {\n buffer x0 : f64 read\n buffer y : f64 write count len(x0)\n"
                                          " workgroup 64\n grid over y\n let i = global_id.x\n"
                                          " y[i] = -fma(-1.0, -1.0, x0[i])\n}\n");
    columns[0][0] = UINT64_C(0xbff0000000000000);
    add("-fma", program, VYRE_TYPE_F64, 1);
    compiled_run(&collected);
    vyre_program_release(program);
}

/* clang 14 compiles a comparison with a constant -0.0 to maxsd, which returns either zero. */
static void constant_zeros_keep_their_order(void **state) {
    (void)state;
    static const char *const values[] = {"max(-0.0, x0[i])", "max(x0[i], -0.0)", "max(0.0, x0[i])",
                                         "min(-0.0, x0[i])", "min(x0[i], 0.0)",  "min(0.0, x0[i])"};
    columns[0][0] = 0;
    columns[0][1] = UINT64_C(1) << 63;
    columns[0][2] = UINT64_C(0x7ff8000000000000);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "program p {\n buffer x0 : f64 read\n buffer y : f64 write count len(x0)\n workgroup 64\n"
                 " grid over y\n let i = global_id.x\n y[i] = %s\n}\n",
                 values[i]);
        vyre_program *program = vy_test_parse(text);
        add(values[i], program, VYRE_TYPE_F64, 3);
        vyre_program_release(program);
    }
    compiled_run(&collected);
}

static void testfloats_operands_have_the_oracles_bits(void **state) {
    (void)state;
    const uint64_t lines = op_cases_run_testfloat();
    if (!lines)
        VY_SKIP("TestFloat vectors: there are none in %s/testfloat (set VYRE_VECTORS)", vy_test_vectors());
    printf("%llu lines of %zu files\n", (unsigned long long)lines, (size_t)collected.cases.count);
    compiled_run(&collected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_the_oracles_bits_on_every_type),
        cmocka_unit_test(a_negated_fma_keeps_the_sign_of_zero),
        cmocka_unit_test(constant_zeros_keep_their_order),
        cmocka_unit_test(testfloats_operands_have_the_oracles_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
