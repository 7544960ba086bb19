/* golden/NAME.vyre beside golden/NAME.c.txt, which is what its program becomes (emit/golden.h). */
#include "emit/golden.h"

#include "compile/pipeline.h"
#include "emit/c/c.h"
#include "support/fault.h"

static const char folder[] = "tests/emit/c/golden";

static void compare(const char *path, vyre_program *program) {
    const vyre_emit_options options = {.struct_size = sizeof options, .cancellable = strstr(path, "ends") != NULL};
    char golden[4096];
    snprintf(golden, sizeof golden, "%.*s.c.txt", (int)(strlen(path) - 5), path);
    golden_compare(golden, program, "c", &options);
}

static void every_case_gives_what_is_expected(void **state) {
    (void)state;
    golden_each(folder, 5, compare);
}

static vyre_status emit(void *user) {
    vyre_bytes made = VYRE_BYTES_INIT;
    vyre_status status = vy_c_emit(user, &made, NULL);
    vyre_bytes_free(&made);
    return status;
}

static void starve(const char *path, vyre_program *program) {
    (void)path;
    const vy_target_desc target = vy_c_target(1);
    vyre_program *legal = NULL;
    assert_int_equal(vy_legalize(program, &target, &legal, NULL), VYRE_OK);
    VY_FAULT_LOOP(emit, legal);
    vyre_program_release(legal);
}

static void every_allocation_of_every_case_may_fail(void **state) {
    (void)state;
    golden_each(folder, 5, starve);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_what_is_expected),
        cmocka_unit_test(every_allocation_of_every_case_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
