/* Documentation test: runs every command on the pages and compares its output with the page. */
#include "tool/transcript.h"

#include <glob.h>

static void commands_come_out_as_shown(void **state) {
    const char *path = *state;
    char cache[256];

    /* README shows what a reader sees on a machine without a GPU. */
    if (strstr(path, "README.md")) {
        setenv("TRANSCRIPT_BACKEND", "", 1);
        setenv("VYRE_CUDA_LIBRARY", "no-driver.so", 1);
        setenv("VYRE_OPENCL_LIBRARY", "no-loader.so", 1);
    }
    snprintf(cache, sizeof cache, "%s", "/tmp/vyre-pages-XXXXXX"); /* pages show `vyre cache clear` */
    assert_non_null(mkdtemp(cache));
    setenv("VYRE_CACHE_DIR", cache, 1);
    transcript_play(path, 1);
    unsetenv("VYRE_CUDA_LIBRARY");
    unsetenv("VYRE_OPENCL_LIBRARY");
    unsetenv("TRANSCRIPT_BACKEND");
    transcript_leave(cache);
}

int main(void) {
    struct CMUnitTest tests[64] = {0};
    glob_t files = {0};
    size_t count;

    if (glob(vy_test_path("README.md"), 0, NULL, &files) != 0 ||
        glob(vy_test_path("docs/*.md"), GLOB_APPEND, NULL, &files) != 0) {
        printf("there are no pages in %s\n", vy_test_path("docs"));
        return 1;
    }
    for (count = 0; count < files.gl_pathc && count < 64; count++) {
        const char *name = strrchr(files.gl_pathv[count], '/') + 1;
        tests[count] = (struct CMUnitTest){name, commands_come_out_as_shown, NULL, NULL, files.gl_pathv[count]};
    }
    int failed = _cmocka_run_group_tests("pages", tests, count, NULL, NULL);
    globfree(&files);
    return failed;
}
