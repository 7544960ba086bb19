/* Random programs, and programs from text with their positions, come back from their wire form as they were. */
#include "generate/generate.h"
#include "vyre/vyre.h"
#include "wire/compare.h"

static void assert_round_trip(const vyre_program *program, unsigned options, vyre_bytes *bytes) {
    vyre_bytes again = VYRE_BYTES_INIT;
    vyre_program *back;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_wire_encode(program, options, bytes, NULL), VYRE_OK);
    if (vyre_wire_decode(bytes->data, bytes->size, NULL, &back, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_same_program(program, back);
    if (options & VYRE_WIRE_DEBUG)
        assert_same_positions(program, back);
    assert_int_equal(vyre_wire_encode(back, options, &again, NULL), VYRE_OK);
    assert_int_equal(again.size, bytes->size);
    assert_memory_equal(again.data, bytes->data, again.size);
    vyre_bytes_free(&again);
    vyre_program_release(back);
}

static void generated_programs_come_back(void **state) {
    (void)state;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    unsigned count = (VY_SANITIZED ? 50 : 300) * vy_test_effort();
    size_t total = 0;
    for (unsigned seed = 1; seed <= count; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 10 + seed % 90};
        vyre_case *made;
        vyre_error error = VYRE_ERROR_INIT;
        if (vyre_generate(&options, &made, &error) != VYRE_OK)
            fail_msg("seed %u: %s", seed, error.message);
        assert_round_trip(vyre_case_program(made), 0, &bytes);
        total += bytes.size;
        vyre_case_free(made);
    }
    print_message("%u programs, %zu bytes on average\n", count, total / count);
    vyre_bytes_free(&bytes);
}

static void programs_from_text_come_back_with_their_positions(void **state) {
    (void)state;
    vyre_bytes text = VYRE_BYTES_INIT, bytes = VYRE_BYTES_INIT;
    for (unsigned seed = 1; seed <= 30; seed++) {
        vyre_generate_options options = {.seed = seed};
        vyre_case *made;
        vyre_module *module;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        assert_int_equal(vyre_text_print(vyre_case_program(made), &text, NULL), VYRE_OK);
        assert_int_equal(vyre_text_parse(text.data, text.size, NULL, NULL, &module, NULL), VYRE_OK);
        const vyre_program *parsed = vyre_module_program(module, 0);
        assert_non_null(parsed->source);
        assert_int_equal(parsed->stmt_positions.count, parsed->stmts.count);
        assert_round_trip(parsed, VYRE_WIRE_DEBUG, &bytes);
        assert_true(vyre_program_equal(parsed, vyre_case_program(made)));
        vyre_module_free(module);
        vyre_case_free(made);
    }
    vyre_bytes_free(&text);
    vyre_bytes_free(&bytes);
}

/* Positions of a decoded program go on into what is made from it. */
static void positions_survive_into_what_is_made_from_the_program(void **state) {
    (void)state;
    static const char text[] = "fn f(a: u32) -> u32 { return a + 1 }\nprogram p {\n  let x = f(2)\n}\n";
    vyre_module *module;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, NULL), VYRE_OK);
    assert_int_equal(vyre_wire_encode(vyre_module_program(module, 0), VYRE_WIRE_DEBUG, &bytes, NULL), VYRE_OK);
    vyre_module_free(module);
    vyre_program *program, *inlined;
    assert_int_equal(vyre_wire_decode(bytes.data, bytes.size, NULL, &program, NULL), VYRE_OK);
    assert_int_equal(vyre_program_inline(program, &inlined, NULL), VYRE_OK);
    assert_true(inlined->stmt_positions.count > 0);
    assert_true(vy_stmt_position(inlined, 0).line > 0);
    vyre_program_release(inlined);
    vyre_program_release(program);
    vyre_bytes_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_programs_come_back),
        cmocka_unit_test(programs_from_text_come_back_with_their_positions),
        cmocka_unit_test(positions_survive_into_what_is_made_from_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
