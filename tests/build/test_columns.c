/* The length of lines: tools/columns finds no line of more than 120 columns, and finds one where it is. */
#include "build/shell.h"

static void no_line_of_the_tree_is_longer_than_120_columns(void **state) {
    (void)state;
    if (access(vy_test_path("tools/columns"), X_OK) != 0 || access(vy_test_path("src/base"), R_OK) != 0)
        VY_SKIP("there is no source tree here");
    if (shell("'%s' 2>&1", vy_test_path("tools/columns")) != 0)
        fail_msg("%s", shell_output);
}

/* Columns are characters: 120 of two bytes fit. */
static void a_line_of_121_columns_is_found(void **state) {
    (void)state;
    if (access(vy_test_path("tools/columns"), X_OK) != 0)
        VY_SKIP("there is no source tree here");
    run("mkdir -p '%s/src' && cd '%s/src' && printf '/* %%0114d */\\n/* %%0115d */\\n' 1 2 >long.c && "
        "{ printf '/* '; printf 'é%%.0s' $(seq 114); printf ' */\\n'; } >fits.c",
        shell_folder, shell_folder);
    assert_int_equal(shell("'%s' '%s' 2>/dev/null", vy_test_path("tools/columns"), shell_folder), 1);
    if (!strstr(shell_output, "src/long.c:2:") || strstr(shell_output, "long.c:1:") || strstr(shell_output, "fits.c"))
        fail_msg("%s", shell_output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_of_the_tree_is_longer_than_120_columns),
        IN_FOLDER(a_line_of_121_columns_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
