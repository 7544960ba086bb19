/* .npy files: against NumPy itself, and against damage. */
#include "tool/transcript.h"

static int sh(const char *format, ...) {
    char line[4096];
    va_list arguments;
    int status;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fflush(NULL);
    status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void numpy_and_the_command_agree(void **state) {
    const char *python = sh("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0 ? "/usr/bin/python3" : "python3";
    char folder[256];
    int code;

    (void)state;
    if (sh("%s -c 'import numpy' 2>/dev/null", python) != 0)
        VY_SKIP("numpy is not installed (python3-numpy): .npy files are not compared with it");
    transcript_enter(folder);
    code = sh("%s '%s' .bin/vyre", python, vy_test_path("tests/tool/numpy_check.py"));
    transcript_leave(folder);
    assert_int_equal(code, 0);
}

/* A file with any byte changed, or truncated anywhere, is read or refused, and never crashes the command. */
static void damaged_files_are_refused_or_read(void **state) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_random random = vy_random_start(20);
    unsigned tries = 150 * vy_test_effort();
    char folder[256];

    (void)state;
    transcript_enter(folder);
    assert_int_equal(sh("./.bin/vyre run examples/saxpy.vyre a=1 x=1,2 y=3,4 --out y=good.npy -q"), 0);
    assert_int_equal(vy_file_read("good.npy", SIZE_MAX, &bytes, NULL), VYRE_OK);
    for (unsigned i = 0; i < tries; i++) {
        unsigned char *data = bytes.data;
        size_t at = vy_random_below(&random, i % 3 ? bytes.size : 60),
               size = i % 5 ? bytes.size : vy_random_below(&random, bytes.size);
        unsigned char old = data[at];
        int code;

        data[at] = (unsigned char)vy_random_next(&random);
        assert_int_equal(vy_file_write("bad.npy", data, size, NULL), VYRE_OK);
        data[at] = old;
        code = sh("./.bin/vyre run examples/saxpy.vyre a=1 x=bad.npy y=3,4 -q >out 2>&1");
        if (code != 0 && code != 2)
            fail_msg("a damaged file (byte %zu, size %zu) makes the command exit with %d", at, size, code);
    }
    transcript_leave(folder);
    vyre_bytes_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_and_the_command_agree),
        cmocka_unit_test(damaged_files_are_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
