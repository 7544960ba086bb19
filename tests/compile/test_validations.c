/* How often a program is validated while it is compiled, counted by the linker's --wrap (cmake/VyreTests.cmake): once
 * in release builds. Others validate every step. */
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "backends/cpu/cpu.h"
#include "compile/pipeline.h"
#include "ir/build/builder_internal.h"

vyre_status __real_vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error);
vyre_status __wrap_vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error);
vyre_status __real_vy_validate_declarations(vyre_program *program, vyre_error *error);
vyre_status __wrap_vy_validate_declarations(vyre_program *program, vyre_error *error);

static unsigned validations, declarations;

vyre_status __wrap_vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error) {
    validations++;
    return __real_vy_validate(program, diagnostics, error);
}

vyre_status __wrap_vy_validate_declarations(vyre_program *program, vyre_error *error) {
    declarations++;
    return __real_vy_validate_declarations(program, error);
}

static int validates_every_step(void) {
#ifdef NDEBUG
    return VY_SANITIZED;
#else
    return 1;
#endif
}

/* With a trap, whose number backend `cpu` puts into a copy. */
static vyre_program *subject(void) {
    return vy_test_parse("fn half(a: u32) -> u32 { return a / 2 }\n"
                         "program p {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
                         " var s = 0u32\n for k in 0u32 .. 8 { s = s + half(x[i]) * k }\n if s == 77 { trap 1 }\n"
                         " x[i] = s\n}\n");
}

static void a_program_is_validated_once(void **state) {
    const vy_target_desc targets[] = {vy_cpu_target(0, 1), vy_ptx_target(90, 1), vy_c_target(1)};
    (void)state;
    if (validates_every_step())
        return;
    for (unsigned i = 0; i < 3; i++) {
        vyre_program *program = subject();
        vy_compiled made;
        validations = declarations = 0;
        assert_int_equal(vy_compile_pipeline(program, &targets[i], NULL, &made, NULL), VYRE_OK);
        assert_int_equal(validations + declarations, 1);
        assert_int_equal(declarations, targets[i].unroll_arrays);
        vyre_program_release(made.program);
        vyre_program_release(program);
    }
}

/* From the program to the program that the compile server emits. */
static void a_compile_for_cpu_validates_once(void **state) {
    const uint64_t features = vy_cpu_features();
    const vy_cpu cpu = {.features = features, .target = vy_cpu_target(features, 0)};
    vyre_program *program = subject(), *decoded;
    vyre_bytes wire = VYRE_BYTES_INIT;
    (void)state;
    validations = declarations = 0;
    assert_int_equal(vy_cpu_lower(&cpu, program, 1, 0, &wire, NULL), VYRE_OK);
    assert_int_equal(vy_wire_decode_trusted(wire.data, wire.size, &decoded, NULL), VYRE_OK);
    if (!validates_every_step())
        assert_int_equal(validations + declarations, 1);
    assert_int_equal(vy_program_verify(decoded, NULL), VYRE_OK);
    vyre_bytes_free(&wire);
    vyre_program_release(decoded);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_validated_once),
        cmocka_unit_test(a_compile_for_cpu_validates_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
