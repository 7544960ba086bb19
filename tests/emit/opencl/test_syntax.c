/* clang accepts the OpenCL C text of all examples and of every fourth function of the standard library (with
 * VYRE_EFFORT=2, of every function) without a warning: as OpenCL C 1.2, or 2.0 for programs with ordered atomics. The
 * texts are emitted for a device that computes everything exactly, and for one without exact operations and with
 * VY_OPENCL_ERRATUM_POCL. */
#include "backends/conform.h"
#include "emit/opencl/joined.h"

#define conform_check syntax_collect
static void syntax_collect(conform *c, const char *name, vyre_program *program, const vyre_arguments *arguments,
                           conform_form form);
#include "backends/conform_examples.h"
#include "backends/conform_library.h"

enum { TEXT_PROGRAMS = 200 };

static joined collected;
static unsigned refused;

/* Warnings are about what the source has: unused variables, constant conditions. */
static void compile_text(void) {
    char path[] = "/tmp/vyre-test-XXXXXX.cl", command[512];
    int file = mkstemps(path, 3);
    assert_true(file >= 0);
    assert_false(collected.text.failed);
    assert_int_equal(write(file, collected.text.text, collected.text.length), collected.text.length);
    close(file);
    snprintf(command, sizeof command,
             "clang -x cl %s -Xclang -finclude-default-header -Wall -Wextra -Werror -Wno-unused -Wno-type-limits "
             "-Wno-tautological-compare -Wno-constant-logical-operand -Wno-sign-compare -Wno-bool-operation "
             "-fsyntax-only %s 2>&1",
             joined_standard(&collected), path);
    if (system(command) != 0)
        fail_msg("`%s` fails", command);
    unlink(path);
    joined_clear(&collected);
}

/* In the place of a backend (conform.h): the program is collected. */
static void syntax_collect(conform *c, const char *name, vyre_program *program, const vyre_arguments *arguments,
                           conform_form form) {
    (void)arguments, (void)form, (void)name;
    c->judged++;
    refused += joined_add(&collected, program) == UINT32_MAX;
    if (collected.programs.count == TEXT_PROGRAMS)
        compile_text();
}

static void clang_accepts_all(uint64_t exact, unsigned step) {
    static conform c;
    conform_library library = {.backends = &c, .backend_count = 1, .step = VY_SANITIZED ? 5 : step};
    if (system("command -v clang > /dev/null") != 0)
        VY_SKIP("no clang");
    c = (conform){.id = "opencl"};
    refused = 0;
    collected = (joined){.target = {.exact = exact,
                                    .constant_bytes = exact ? 1 << 14 : 0,
                                    .stack_bytes = 1 << 22,
                                    .access_bytes = 16,
                                    .has_int64_atomics = 1,
                                    .has_ordered_atomics = 1,
                                    .has_aligned_buffers = 1,
                                    .version = 200,
                                    .errata = exact ? 0 : VY_OPENCL_ERRATUM_POCL}};
    conform_examples_run(&c, 0, 1);
    conform_library_run(&library);
    compile_text();
    assert_int_equal(refused, 0);
    assert_true(c.judged > 100);
}

static void clang_accepts_what_an_exact_device_gets(void **state) {
    (void)state;
    clang_accepts_all(UINT64_MAX, vy_test_effort() > 1 ? 1 : 4);
}

static void clang_accepts_what_a_device_without_promises_gets(void **state) {
    (void)state;
    clang_accepts_all(0, vy_test_effort() > 1 ? 1 : 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clang_accepts_what_an_exact_device_gets),
        cmocka_unit_test(clang_accepts_what_a_device_without_promises_gets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
