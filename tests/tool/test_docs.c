/* Pages and lists that repeat what the command knows must agree with it. */
#include "tool/transcript.h"

/* Texts live until the end of all tests. */
static vy_arena texts;

static char *keep(const char *text, size_t size) {
    char *kept = vy_arena_copy(&texts, text, size);

    assert_non_null(kept);
    return kept;
}

/* The output of a command under sh, with `vyre` in its path. */
static char *output_of(const char *command) {
    vy_string out = {0};
    char folder[256], *kept;

    transcript_enter(folder);
    transcript_run(command, &out);
    transcript_leave(folder);
    kept = keep(out.text ? out.text : "", out.length);
    vy_string_free(&out);
    return kept;
}

static char *file_text(const char *path) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    char *kept;

    if (vy_file_read(vy_test_path(path), SIZE_MAX, &bytes, NULL) != VYRE_OK)
        fail_msg("%s cannot be read", path);
    kept = keep(bytes.data, bytes.size);
    vyre_bytes_free(&bytes);
    return kept;
}

static void expect_page(const char *path, const char *command) {
    char *made = output_of(command), *kept;

    if (getenv("VYRE_UPDATE"))
        assert_int_equal(vy_file_write(vy_test_path(path), made, strlen(made), NULL), VYRE_OK);
    kept = file_text(path);
    if (strcmp(made, kept) != 0)
        fail_msg("%s is out of date. Fix: %s > %s", path, command, path);
}

static void ops_page_is_what_the_command_prints(void **state) {
    (void)state;
    expect_page("docs/ops.md", "vyre ops --markdown");
}

static void errors_page_is_what_the_command_prints(void **state) {
    (void)state;
    expect_page("docs/errors.md", "vyre explain --all --markdown");
}

static void bound_header_is_what_the_command_makes(void **state) {
    (void)state;
    expect_page("examples/saxpy.h", "vyre bind examples/saxpy.vyre");
}

static void readme_shows_the_c_example_as_it_is(void **state) {
    const char *code = strstr(file_text("examples/bound.c"), "#include \"saxpy.h\"");

    (void)state;
    assert_non_null(code);
    if (!strstr(file_text("README.md"), code))
        fail_msg("the C program in README.md is not that of examples/bound.c");
}

static void readme_shows_saxpy_as_it_is(void **state) {
    const char *code = strstr(file_text("examples/saxpy.vyre"), "program saxpy {");

    (void)state;
    assert_non_null(code);
    if (!strstr(file_text("README.md"), code))
        fail_msg("the program in README.md is not that of examples/saxpy.vyre");
}

/* Every page the README links to exists. */
static void readme_links_lead_somewhere(void **state) {
    const char *at = file_text("README.md");

    (void)state;
    while ((at = strstr(at, "]("))) {
        char path[256];
        size_t length = strcspn(at += 2, ")");
        snprintf(path, sizeof path, "%.*s", (int)length, at);
        if (access(vy_test_path(path), R_OK) != 0)
            fail_msg("README.md links to %s, which does not exist", path);
    }
}

/* The part of a completion or page about one command is not separated here: that an option is named at all catches what is forgotten. */
static void expect_named(const char *path, const char *text, const char *word) {
    if (!strstr(text, word))
        fail_msg("%s does not name `%s`", path, word);
}

/* What fish and troff write instead of `--name`. */
static void spell(const char *path, const char *name, char *out, size_t size) {
    if (strstr(path, ".fish"))
        snprintf(out, size, "-l %s", name);
    else if (strstr(path, ".1"))
        snprintf(out, size, "\\-\\-%s", name);
    else
        snprintf(out, size, "--%s", name);
}

static void pages_and_completions_name_every_command_and_option(void **state) {
    static const char *const pages[] = {"docs/man/vyre.1", "tools/completion/vyre.bash", "tools/completion/_vyre",
                                        "tools/completion/vyre.fish"};
    char *names = output_of("vyre help | sed -n '/^commands:/,/^$/s/^  \\([a-z]*\\) .*/\\1/p'");

    (void)state;
    for (char *name = strtok(names, "\n"); name; name = strtok(NULL, "\n")) {
        char command[256], word[64], *rest = NULL, *options;
        snprintf(command, sizeof command,
                 "vyre help %s | sed -n 's/^  .. *--\\([a-z]*\\).*/\\1/p;s/^  -.,* --\\([a-z]*\\).*/\\1/p'", name);
        options = output_of(command);
        for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
            expect_named(pages[i], file_text(pages[i]), name);
        expect_named("docs/tool.md", file_text("docs/tool.md"),
                     strcmp(name, "version") && strcmp(name, "help") ? name : "vyre");
        for (char *option = strtok_r(options, "\n", &rest); option; option = strtok_r(NULL, "\n", &rest))
            for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
                spell(pages[i], option, word, sizeof word);
                expect_named(pages[i], file_text(pages[i]), word);
            }
    }
}

static void pages_name_every_exit_code(void **state) {
    static const char *const lines[] = {
        "the program has errors, a check found something, or what was compared differs",
        "the command line is wrong: unknown command or option, missing or unfit binding or variable",
        "an invocation executed `trap`; no output was delivered",
        "a file, memory, a limit, the step budget or the device got in the way"};
    const char *help = output_of("vyre help");

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect_named("vyre help", help, lines[i]);
        expect_named("docs/man/vyre.1", file_text("docs/man/vyre.1"), lines[i]);
        expect_named("docs/tool.md", file_text("docs/tool.md"), lines[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_page_is_what_the_command_prints),
        cmocka_unit_test(errors_page_is_what_the_command_prints),
        cmocka_unit_test(bound_header_is_what_the_command_makes),
        cmocka_unit_test(readme_shows_the_c_example_as_it_is),
        cmocka_unit_test(readme_shows_saxpy_as_it_is),
        cmocka_unit_test(readme_links_lead_somewhere),
        cmocka_unit_test(pages_and_completions_name_every_command_and_option),
        cmocka_unit_test(pages_name_every_exit_code),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    vy_arena_free(&texts);
    return failed;
}
