/* Names in comments: tools/references finds no file or identifier that does not exist, and finds one where it is. */
#include "build/shell.h"

static void need_python(void) {
    if (access(vy_test_path("tools/references"), X_OK) != 0 || access(vy_test_path("src/base"), R_OK) != 0)
        VY_SKIP("there is no source tree here");
    if (system("command -v python3 >/dev/null") != 0)
        VY_SKIP("there is no python3");
}

static void comments_name_what_exists(void **state) {
    (void)state;
    need_python();
    if (shell("'%s' 2>&1", vy_test_path("tools/references")) != 0)
        fail_msg("%s", shell_output);
}

static void a_name_that_does_not_exist_is_found(void **state) {
    (void)state;
    need_python();
    run("mkdir -p '%s/src/base' && cd '%s/src/base' && "
        "printf '/* see gone.h, kept.h and base/kept.h */\\n/* vy_gone() and vy_kept(), of <math.h> */\\n' >kept.h && "
        "echo 'int vy_kept(void);' >>kept.h",
        shell_folder, shell_folder);
    assert_int_equal(shell("'%s' '%s'", vy_test_path("tools/references"), shell_folder), 1);
    assert_string_equal(shell_output, "src/base/kept.h:1: gone.h does not exist\n"
                                      "src/base/kept.h:2: vy_gone does not exist\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_name_what_exists),
        IN_FOLDER(a_name_that_does_not_exist_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
