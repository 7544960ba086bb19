/* Targets: stable ids, aliases, extensions that are kept, and what `vyre emit` calls them. */
#include "support/fault.h"
#include "support/test.h"
#include "vyre/dialect.h"

#include <unistd.h>

static vyre_target parse(const char *text) {
    vyre_target target;
    assert_int_equal(vyre_target_parse(text, strlen(text), &target, NULL), VYRE_OK);
    return target;
}

static void every_target_reads_back_what_it_writes(void **state) {
    (void)state;
    for (vyre_target i = 0; i < VYRE_TARGET_COUNT; i++) {
        assert_non_null(vyre_target_text(i));
        assert_int_equal(parse(vyre_target_text(i)), i);
        assert_non_null(vyre_target_extension(i));
        assert_null(strchr(vyre_target_extension(i), '.'));
    }
}

static void aliases_are_read_and_ids_written(void **state) {
    (void)state;
    assert_int_equal(parse("ptx"), VYRE_TARGET_PTX);
    assert_int_equal(parse("secondary_text"), VYRE_TARGET_PTX);
    assert_string_equal(vyre_target_text(parse("ptx")), "secondary_text");
    assert_int_equal(parse("spv"), VYRE_TARGET_SPIRV);
    assert_int_equal(parse("spirv"), VYRE_TARGET_SPIRV);
    assert_string_equal(vyre_target_text(parse("spirv")), "spv");
    assert_string_equal(vyre_target_extension(VYRE_TARGET_SPIRV), "spv");
    assert_int_equal(parse("primary_text"), VYRE_TARGET_PRIMARY_TEXT);
    assert_int_equal(parse("primary_binary"), VYRE_TARGET_PRIMARY_BINARY);
    assert_int_equal(parse("native_module"), VYRE_TARGET_NATIVE_MODULE);
    assert_int_equal(parse("reference_backend"), VYRE_TARGET_REFERENCE);
}

static void unknown_ids_are_kept_as_extensions(void **state) {
    (void)state;
    vyre_target photonic = parse("photonic:v2"), other = parse("Quantum-1.0");
    assert_true(photonic > VYRE_TARGET_COUNT && other > VYRE_TARGET_COUNT && photonic != other);
    assert_int_equal(parse("photonic:v2"), photonic);
    assert_string_equal(vyre_target_text(photonic), "photonic:v2");
    assert_string_equal(vyre_target_extension(photonic), "photonic:v2");
    assert_null(vyre_target_emit_name(photonic));
}

static void what_is_no_target_has_no_text(void **state) {
    (void)state;
    assert_null(vyre_target_text(VYRE_TARGET_COUNT));
    assert_null(vyre_target_text(UINT32_MAX));
    assert_null(vyre_target_extension(VYRE_TARGET_COUNT));
    assert_null(vyre_target_emit_name(UINT32_MAX));
    static const char *const wrong[] = {
        "", " ", "a b", "\xc3\xa9", "p/x", "0123456789012345678901234567890123456789012345678901234567890123"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        vyre_target target;
        assert_int_equal(vyre_target_parse(wrong[i], strlen(wrong[i]), &target, &error), VYRE_INVALID_ARGUMENT);
        assert_int_equal(target, VYRE_TARGET_COUNT);
        assert_int_not_equal(error.fix[0], 0);
    }
    vyre_target target;
    assert_int_equal(vyre_target_parse(NULL, 0, &target, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_target_parse("a\0b", 3, &target, NULL), VYRE_INVALID_ARGUMENT);
}

/* What the first library wrote comes back byte for byte. */
static void the_ids_of_the_contract_come_back(void **state) {
    (void)state;
    static const char *const ids[] = {
        "secondary_text", "spv", "primary_text", "primary_binary", "native_module", "reference_backend", "backend-id"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_string_equal(vyre_target_text(parse(ids[i])), ids[i]);
}

static void emitters_names_lead_to_targets_and_back(void **state) {
    (void)state;
    assert_string_equal(vyre_target_emit_name(VYRE_TARGET_PTX), "ptx");
    assert_string_equal(vyre_target_emit_name(VYRE_TARGET_NATIVE_MODULE), "llvm-ir");
    for (vyre_target i = 0; i < VYRE_TARGET_COUNT; i++)
        if (vyre_target_emit_name(i))
            assert_int_equal(vyre_target_from_emit_name(vyre_target_emit_name(i)), i);
    assert_null(vyre_target_emit_name(VYRE_TARGET_SPIRV));
    assert_null(vyre_target_emit_name(VYRE_TARGET_PRIMARY_TEXT));
    assert_int_equal(vyre_target_from_emit_name("spirv"), VYRE_TARGET_COUNT);
    assert_int_equal(vyre_target_from_emit_name("opencl"), VYRE_TARGET_COUNT);
    assert_int_equal(vyre_target_from_emit_name(NULL), VYRE_TARGET_COUNT);
    assert_null(vyre_target_emit_name(VYRE_TARGET_REFERENCE));
}

static void an_emitter_makes_every_target_that_has_a_name(void **state) {
    (void)state;
    char line[1200], list[4096];
    if (access(vy_test_command(), X_OK) != 0)
        VY_SKIP("an_emitter_makes_every_target_that_has_a_name: no command at %s", vy_test_command());
    snprintf(line, sizeof line, "'%s' emit --list", vy_test_command());
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    list[0] = '\n';
    list[1 + fread(list + 1, 1, sizeof list - 2, pipe)] = 0;
    assert_int_equal(pclose(pipe), 0);
    for (vyre_target i = 0; i < VYRE_TARGET_COUNT; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "\n%s ", vyre_target_emit_name(i) ? vyre_target_emit_name(i) : "");
        if (vyre_target_emit_name(i) && !strstr(list, wanted))
            fail_msg("`vyre emit` does not make `%s`", vyre_target_emit_name(i));
    }
}

static void without_memory_an_extension_is_not_kept(void **state) {
    (void)state;
    vyre_target target;
    vy_fault_start(1);
    vyre_status status = vyre_target_parse("memory-less", 11, &target, NULL);
    assert_true(vy_fault_stop());
    assert_int_equal(status, VYRE_NO_MEMORY);
    assert_int_equal(target, VYRE_TARGET_COUNT);
    assert_true(parse("memory-less") > VYRE_TARGET_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_target_reads_back_what_it_writes),
        cmocka_unit_test(aliases_are_read_and_ids_written),
        cmocka_unit_test(unknown_ids_are_kept_as_extensions),
        cmocka_unit_test(what_is_no_target_has_no_text),
        cmocka_unit_test(the_ids_of_the_contract_come_back),
        cmocka_unit_test(emitters_names_lead_to_targets_and_back),
        cmocka_unit_test(an_emitter_makes_every_target_that_has_a_name),
        cmocka_unit_test(without_memory_an_extension_is_not_kept),
    };
    vy_fault_install(); /* for good: extensions are never given back */
    return cmocka_run_group_tests_name("targets", tests, NULL, NULL);
}
