/* Examples that call math functions, against NumPy: tests/examples/numpy_check.py. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static void numpy_and_the_examples_agree(void **state) {
    const char *python = system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0 ? "/usr/bin/python3" : "python3";
    char line[4096], command[1024];

    (void)state;
    snprintf(line, sizeof line, "%s -c 'import numpy' 2>/dev/null", python);
    if (system(line) != 0)
        VY_SKIP("numpy is not installed (python3-numpy): the examples are not compared with it");
    assert_non_null(realpath(vy_test_command(), command));
    snprintf(line, sizeof line,
             "d=$(mktemp -d) && cd \"$d\" && %s '%s/tests/examples/numpy_check.py' '%s' '%s/examples'; code=$?; "
             "rm -rf \"$d\"; exit $code",
             python, vy_test_source_dir(), command, vy_test_source_dir());
    assert_int_equal(system(line), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numpy_and_the_examples_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
