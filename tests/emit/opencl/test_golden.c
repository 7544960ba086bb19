/* golden/NAME.cl.txt is what the program of NAME.vyre becomes, beside it or in tests/emit/c/golden without grid
 * barriers (emit/golden.h). Those with a name that begins with `wide` are for a device with shuffles and wide
 * accesses. */
#include "emit/golden.h"

#include "compile/pipeline.h"
#include "emit/opencl/opencl.h"
#include "support/fault.h"

static void each(void (*body)(const char *path, vyre_program *program)) {
    golden_each("tests/emit/c/golden", 5, body);
    golden_each("tests/emit/opencl/golden", 6, body);
}

static int has_stages(const vyre_program *program) {
    return (program->facts & VY_PROGRAM_HAS_GRID_BARRIER) != 0;
}

static void compare(const char *path, vyre_program *program) {
    if (has_stages(program))
        return;
    const int is_wide = strncmp(strrchr(path, '/') + 1, "wide", 4) == 0;
    const vyre_emit_options options = {.struct_size = sizeof options,
                                       .cancellable = strstr(path, "ends") != NULL,
                                       .subgroup = is_wide ? 32 : 0,
                                       .access = is_wide ? 16 : 0};
    const char *name = strrchr(path, '/') + 1;
    char file[256];
    snprintf(file, sizeof file, "tests/emit/opencl/golden/%.*s.cl.txt", (int)(strlen(name) - 5), name);
    char *golden = strdup(vy_test_path(file));
    assert_non_null(golden);
    golden_compare(golden, program, "opencl", &options);
    free(golden);
}

static void every_case_gives_what_is_expected(void **state) {
    (void)state;
    each(compare);
}

/* The code of NAME.vyre for a device with errata is the text of NAME.errata.txt. */
static void compare_errata(const char *name, uint32_t errata) {
    const vy_opencl_device device = {.exact = UINT64_MAX,
                                     .local_bytes = 1 << 12,
                                     .stack_bytes = 1 << 20,
                                     .access_bytes = 4,
                                     .version = 300,
                                     .errata = errata};
    char file[256];
    snprintf(file, sizeof file, "tests/emit/opencl/golden/%s.errata.txt", name);
    char *golden = strdup(vy_test_path(file));
    snprintf(file, sizeof file, "tests/emit/opencl/golden/%s.vyre", name);
    vyre_program *legal = NULL, *program = golden_parse(vy_test_path(file));
    const vy_target_desc target = vy_opencl_target(&device, program, strstr(name, "ends") != NULL);
    vy_opencl_code code;
    assert_int_equal(vy_legalize(program, &target, &legal, NULL), VYRE_OK);
    assert_int_equal(vy_opencl_emit(legal, &device, &code, NULL), VYRE_OK);
    golden_compare_text(golden, &code.text);
    vy_opencl_free(&code);
    vyre_program_release(legal);
    vyre_program_release(program);
    free(golden);
}

static void invocations_take_turns_for_a_compiler_that_mistakes_branches(void **state) {
    (void)state;
    compare_errata("branches", VY_OPENCL_ERRATUM_POCL);
    compare_errata("sequential_ends", VY_OPENCL_ERRATUM_POCL);
    compare_errata("loops", VY_OPENCL_ERRATUM_POCL); /* with barriers */
}

static void values_are_hidden_and_loops_not_unrolled_for_nvidias_compiler(void **state) {
    (void)state;
    compare_errata("nvidia", VY_OPENCL_ERRATUM_NVIDIA);
}

static void branches_that_load_are_straight_line_code_on_a_gpu(void **state) {
    (void)state;
    compare_errata("guards", VY_OPENCL_ERRATUM_NVIDIA);
}

static void conversions_hide_operands_from_a_compiler_that_adds_up_indices(void **state) {
    (void)state;
    compare_errata("conversions", VY_OPENCL_ERRATUM_INTEL);
}

/* Without constant memory, so that arrays become an argument. */
static const vy_opencl_device least = {.exact = UINT64_MAX,
                                       .stack_bytes = 1 << 20,
                                       .has_int64_atomics = 1,
                                       .has_ordered_atomics = 1,
                                       .errata = VY_OPENCL_ERRATUM_POCL,
                                       .version = 200};

static vyre_status emit(void *user) {
    vy_opencl_code code;
    vyre_status status = vy_opencl_emit(user, &least, &code, NULL);
    if (status == VYRE_OK)
        vy_opencl_free(&code);
    return status;
}

static void starve(const char *path, vyre_program *program) {
    (void)path;
    if (has_stages(program))
        return;
    const vy_target_desc target = vy_opencl_target(&least, program, 1);
    vyre_program *legal = NULL;
    assert_int_equal(vy_legalize(program, &target, &legal, NULL), VYRE_OK);
    VY_FAULT_LOOP(emit, legal);
    vyre_program_release(legal);
}

static void every_allocation_of_every_case_may_fail(void **state) {
    (void)state;
    each(starve);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_what_is_expected),
        cmocka_unit_test(invocations_take_turns_for_a_compiler_that_mistakes_branches),
        cmocka_unit_test(values_are_hidden_and_loops_not_unrolled_for_nvidias_compiler),
        cmocka_unit_test(branches_that_load_are_straight_line_code_on_a_gpu),
        cmocka_unit_test(conversions_hide_operands_from_a_compiler_that_adds_up_indices),
        cmocka_unit_test(every_allocation_of_every_case_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
