/* Optimising, legalising and preparing for PTX end at the deadline of the thread, before the next pass or phase. */
#include "support/test.h"

#include "base/thread.h"
#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "opt/pass_manager.h"
#include "support/fault.h"

static const char text[] =
    "program p {\n buffer y : u32 read_write\n workgroup 64\n grid over y\n let i = global_id.x\n"
    " var s = y[i]\n for k in 0u32 .. (s & 3) { s = s * 3 + k }\n y[i] = s / 7\n}\n";

static vyre_program *program;

static vyre_status optimise(vyre_error *error) {
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    vyre_program *out;
    vyre_status status = vyre_program_optimize(program, &options, &out, NULL, error);
    vyre_program_release(out);
    return status;
}

static vyre_status legalise(vyre_error *error) {
    vyre_program *out;
    vyre_status status = vy_legalize(program, &(vy_target_desc){.exact = 0}, &out, error);
    vyre_program_release(out);
    return status;
}

static vyre_status prepare(vyre_error *error) {
    const vy_target_desc target = vy_ptx_target(90, 0);
    vy_compiled out;
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &out, error);
    vyre_program_release(out.program);
    return status;
}

static const struct {
    vyre_status (*run)(vyre_error *error);
    const char *step;
} ways[] = {{optimise, "const-fold"}, {legalise, "inline"}, {prepare, "math-variants"}};
enum { WAYS = sizeof ways / sizeof *ways };

static void a_deadline_that_has_passed_ends_them(void **state) {
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        char expected[64];
        size_t blocks = vy_fault_live_blocks();
        vy_deadline_scope before = vy_deadline_begin(1);
        assert_int_equal(ways[i].run(&error), VYRE_TIMEOUT);
        vy_deadline_end(before);
        snprintf(expected, sizeof expected, "`p` was not compiled at its deadline: it was before step `%s`",
                 ways[i].step);
        if (!strstr(error.message, expected))
            fail_msg("%s", error.message);
        assert_int_equal(vy_fault_live_blocks(), blocks);
    }
}

static void a_deadline_that_is_kept_changes_nothing(void **state) {
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        vy_deadline_scope before = vy_deadline_begin(vy_clock_now() + UINT64_C(600000000000));
        assert_int_equal(ways[i].run(&error), VYRE_OK);
        vy_deadline_end(before);
    }
}

static int open_program(void **state) {
    (void)state;
    vy_fault_install();
    program = vy_test_parse(text);
    return 0;
}

static int close_program(void **state) {
    (void)state;
    vyre_program_release(program);
    vy_fault_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_that_has_passed_ends_them),
        cmocka_unit_test(a_deadline_that_is_kept_changes_nothing),
    };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
