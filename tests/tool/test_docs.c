/* Pages and lists that repeat what the command knows must agree with it. */
#include "tool/transcript.h"

#include <glob.h>

#include "compilers/llvm/compile.h"

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

/* What the completion for bash offers for a line; the last word is the one being typed. bash separates words at `=`, too. */
static void expect_completion(const char *line, const char *offered) {
    char command[2048], *made;

    snprintf(
        command, sizeof command,
        "bash -c '. \"$0\"; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _vyre; echo \"${COMPREPLY[*]}\"' "
        "'%s/tools/completion/vyre.bash'",
        line, vy_test_source_dir());
    made = output_of(command);
    made[strcspn(made, "\n")] = '\0';
    if (strcmp(made, offered) != 0)
        fail_msg("%s: `%s` is offered, not `%s`", line, made, offered);
}

static void bash_completes_values_codes_and_targets(void **state) {
    (void)state;
    if (system("bash -c true") != 0)
        VY_SKIP("there is no bash");
    expect_completion("vyre expl", "explain");
    expect_completion("vyre explain R001", "R001");
    expect_completion("vyre explain trap", "TRAPPED trap.vyre");
    expect_completion("vyre run examples/sax", "examples/saxpy.h examples/saxpy.vyre");
    expect_completion("vyre run examples/saxpy.vyre \"\"", "a= x= y=");
    expect_completion("vyre run --time examples/saxpy.vyre a = 2 x", "x=");
    expect_completion("vyre run examples/saxpy.vyre x = examples/bui", "examples/builder.c");
    expect_completion("vyre emit --target l", "llvm-ir legal");
    expect_completion("vyre explain --target \"\"", "ptx");
    expect_completion("vyre check --color n", "never");
    expect_completion("vyre info c", "cuda cpu");
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

static void readme_names_what_the_build_requires(void **state) {
    static const char *const packages[] = {"C17",    "CMake",   "Ninja",   "libsodium",
                                           "xxHash", "LLVM 19", "libzstd", "zlib"};
    char *readme = file_text("README.md"), *start = strstr(readme, "## Build"),
         *end = start ? strstr(start, "```") : NULL;

    (void)state;
    assert_non_null(end);
    *end = '\0';
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        expect_named("README.md, Build,", start, packages[i]);
}

/* docs/cpu.md promises to run every program within its limits, so the limits are those of the compiler. */
static void cpu_page_names_the_limits_of_programs(void **state) {
    static const struct {
        uint32_t limit;
        const char *what;
    } limits[] = {{VY_LLVM_STATEMENT_LIMIT, "%u,%03u statements"},
                  {VY_LLVM_EXPRESSION_LIMIT, "%u,%03u expressions"},
                  {VY_LLVM_INSTRUCTION_LIMIT, "%u,%03u instructions"}};
    const char *page = file_text("docs/cpu.md");

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char words[64];
        snprintf(words, sizeof words, limits[i].what, limits[i].limit / 1000, limits[i].limit % 1000);
        expect_named("docs/cpu.md", page, words);
    }
    expect_named("docs/cpu.md", page, "Every valid program within these limits runs");
}

/* ---- the blocks of pages ---- */

/* What the first line of a block says of it. Blocks that are not run are counted: a page gets one more only on purpose. */
enum { CHECKED, RUN, MANIFEST, PLAYED, FRAGMENT, NOT_RUN, OTHER, KIND_COUNT };

static const struct {
    const char *info;
    int kind;
} infos[] = {
    {"vyre", CHECKED},           /* a file: `vyre check` accepts it */
    {"toml", MANIFEST},          /* a manifest: `vyre dialects check` accepts it */
    {"sh", PLAYED},              /* commands and their output: test_readme.c */
    {"vyre fragment", FRAGMENT}, /* part of a program; for codes, tests/tool/fixes has whole programs */
    {"sh no-run", NOT_RUN},      /* commands that need a GPU, hours or another program */
    {"text", OTHER},
    {"c", OTHER},
    {"cmake", OTHER},
    {"python", OTHER},
    {"json", OTHER},
};

enum { FRAGMENTS = 59, COMMANDS_NOT_RUN = 5 };

/* A block `vyre run ARGUMENTS` is run with them. */
static int kind_of(const char *info) {
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        if (strcmp(infos[i].info, info) == 0)
            return infos[i].kind;
    return strncmp(info, "vyre run ", 9) == 0 ? RUN : KIND_COUNT;
}

static void run_block(const char *page, int line, int kind, const char *info, const char *text, size_t size) {
    vy_string out = {0};
    char folder[256], command[512];
    const char *file = kind == MANIFEST ? "block.toml" : "block.vyre";

    transcript_enter(folder);
    assert_int_equal(vy_file_write(file, text, size, NULL), VYRE_OK);
    if (kind == RUN)
        snprintf(command, sizeof command, "vyre run %s %s", file, info + 9);
    else
        snprintf(command, sizeof command, "vyre %scheck %s", kind == MANIFEST ? "dialects " : "", file);
    transcript_run(command, &out);
    transcript_leave(folder);
    vy_string_append(&out, "", 0);
    if (strstr(out.text, "[exit ") || strstr(out.text, "[signal "))
        fail_msg("%s:%d: `%s` fails on this block:\n%s", page, line, command, out.text);
    vy_string_free(&out);
}

/* A block ends with a line of three backticks that is indented as its first line. */
static void walk_page(const char *path, size_t counts[KIND_COUNT]) {
    char *text = file_text(path);
    int line = 1;

    for (char *at = text; *at; at += transcript_line(at) + (at[transcript_line(at)] != 0), line++) {
        char info[256], *start = at, *end;
        int kind;
        if (strncmp(at, "```", 3) != 0)
            continue;
        snprintf(info, sizeof info, "%.*s", (int)transcript_line(at + 3), at + 3);
        kind = kind_of(info);
        if (kind == KIND_COUNT)
            fail_msg("%s:%d: a block opens with `%s`. Fix: open it with one of the words of tests/tool/test_docs.c",
                     path, line, info);
        start += transcript_line(start) + 1;
        end = strstr(start, "\n```");
        assert_non_null(end);
        if (kind <= MANIFEST)
            run_block(path, line, kind, info, start, (size_t)(end + 1 - start));
        if (kind == PLAYED && strncmp(start, "$ ", 2) != 0)
            fail_msg("%s:%d: a block of commands starts with none. Fix: write `$ ` before each command", path, line);
        if (kind == OTHER && strncmp(start, "$ vyre", 6) == 0)
            fail_msg("%s:%d: a command is not run. Fix: open the block with `sh`, or with `sh no-run`", path, line);
        counts[kind]++;
        for (; at < end + 1; at += transcript_line(at) + 1)
            line++;
    }
}

static void every_block_of_every_page_is_run_or_marked(void **state) {
    size_t counts[KIND_COUNT] = {0};
    glob_t files = {0};

    (void)state;
    assert_int_equal(glob(vy_test_path("docs/*.md"), 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        walk_page(files.gl_pathv[i] + strlen(vy_test_source_dir()) + 1, counts);
    globfree(&files);
    walk_page("README.md", counts);
    print_message("%zu programs checked, %zu run, %zu manifests, %zu transcripts; not run: %zu fragments, %zu of "
                  "commands, %zu of other languages\n",
                  counts[CHECKED], counts[RUN], counts[MANIFEST], counts[PLAYED], counts[FRAGMENT], counts[NOT_RUN],
                  counts[OTHER]);
    assert_int_equal(counts[FRAGMENT], FRAGMENTS);
    assert_int_equal(counts[NOT_RUN], COMMANDS_NOT_RUN);
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
        cmocka_unit_test(bash_completes_values_codes_and_targets),
        cmocka_unit_test(pages_name_every_exit_code),
        cmocka_unit_test(every_block_of_every_page_is_run_or_marked),
        cmocka_unit_test(readme_names_what_the_build_requires),
        cmocka_unit_test(cpu_page_names_the_limits_of_programs),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    vy_arena_free(&texts);
    return failed;
}
