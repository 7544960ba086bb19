/* The command, by transcripts: one file in tests/tool/cases per subcommand. */
#include "tool/transcript.h"

#include <glob.h>

static void transcript_comes_out_as_written(void **state) {
    transcript_play(*state, 0);
}

int main(void) {
    struct CMUnitTest tests[64] = {0};
    glob_t files;
    size_t count;

    if (glob(vy_test_path("tests/tool/cases/*.case"), 0, NULL, &files) != 0) {
        printf("no transcripts in %s\n", vy_test_path("tests/tool/cases"));
        return 1;
    }
    for (count = 0; count < files.gl_pathc && count < 64; count++) {
        const char *name = strrchr(files.gl_pathv[count], '/') + 1;
        tests[count] = (struct CMUnitTest){name, transcript_comes_out_as_written, NULL, NULL, files.gl_pathv[count]};
    }
    int failed = _cmocka_run_group_tests("tool", tests, count, NULL, NULL);
    globfree(&files);
    return failed;
}
