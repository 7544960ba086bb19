/* Records survive every way of linking: archive or shared library, application and plug-in, two compilers,
 * --gc-sections, LTO. */
#include "build/shell.h"

static void records_are_seen_however_a_program_is_linked(void **state) {
    (void)state;
    need_a_plain_build("bash cc pkg-config");
    const char *output = run("bash '%s' '%s' '%s' '%s' all 2>&1", vy_test_path("tests/driver/registry/links"),
                             vy_test_source_dir(), build_folder(), shell_folder);
    print_message("%s", output);
    assert_non_null(strstr(output, " 0 failed"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(records_are_seen_however_a_program_is_linked),
    };
    return cmocka_run_group_tests_name("registry links", tests, NULL, NULL);
}
