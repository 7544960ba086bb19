/* The README, docs/tool.md and docs/dialects.md say only what is true: every command in them is run, and what they show must come out. */
#include "tool/transcript.h"

static void readme_commands_come_out_as_shown(void **state) {
    char path[1024];

    (void)state;
    /* What a reader sees on a machine without a GPU. */
    setenv("TRANSCRIPT_BACKEND", "cpu", 1);
    snprintf(path, sizeof path, "%s", vy_test_path("README.md"));
    transcript_play(path, 1);
    unsetenv("TRANSCRIPT_BACKEND");
}

static void tool_page_commands_come_out_as_shown(void **state) {
    char path[1024];

    (void)state;
    snprintf(path, sizeof path, "%s", vy_test_path("docs/tool.md"));
    transcript_play(path, 1);
}

static void dialects_page_commands_come_out_as_shown(void **state) {
    char path[1024];

    (void)state;
    snprintf(path, sizeof path, "%s", vy_test_path("docs/dialects.md"));
    transcript_play(path, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readme_commands_come_out_as_shown),
        cmocka_unit_test(tool_page_commands_come_out_as_shown),
        cmocka_unit_test(dialects_page_commands_come_out_as_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
