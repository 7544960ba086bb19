/* Tests of the documentation: pages that the command generates are current, lists of commands and options are complete,
 * links lead to files, and every code block is checked or run. test_readme.c runs the commands of README.md and docs/;
 * this test runs those of the folders below docs/, and all that need a C compiler. */
#include "tool/transcript.h"

#include <glob.h>
#include <sys/stat.h>

#include "backends/cpu/compiler.h"

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

/* tools/api-docs generates docs/api.md from the comments of the public headers. */
static void api_page_is_generated_from_the_headers(void **state) {
    char command[2048];

    (void)state;
    if (system("python3 -c '' 2>/dev/null") != 0)
        VY_SKIP("python3 not found");
    snprintf(command, sizeof command, "cd '%s' && python3 tools/api-docs %s docs/api.md", vy_test_source_dir(),
             getenv("VYRE_UPDATE") ? ">" : "--check");
    if (system(command) != 0)
        fail_msg("docs/api.md is out of date. Fix: tools/api-docs > docs/api.md");
}

static void bound_header_is_what_the_command_makes(void **state) {
    (void)state;
    expect_page("examples/saxpy.h", "vyre bind examples/saxpy.vyre");
}

static void readme_shows_the_c_example_as_it_is(void **state) {
    const char *code = strstr(file_text("examples/dispatch.c"), "#include");

    (void)state;
    assert_non_null(code);
    if (!strstr(file_text("README.md"), code))
        fail_msg("the C program in README.md is not that of examples/dispatch.c");
}

static void readme_shows_saxpy_as_it_is(void **state) {
    const char *code = strstr(file_text("examples/saxpy.vyre"), "program saxpy {");

    (void)state;
    assert_non_null(code);
    if (!strstr(file_text("README.md"), code))
        fail_msg("the program in README.md is not that of examples/saxpy.vyre");
}

/* Every page below docs/ and README.md, relative to the repository. */
static glob_t pages;

static void add_pages(const char *folder) {
    char pattern[512];
    glob_t folders = {0};

    snprintf(pattern, sizeof pattern, "%s/*.md", folder);
    glob(pattern, pages.gl_pathc ? GLOB_APPEND : 0, NULL, &pages);
    snprintf(pattern, sizeof pattern, "%s/*/", folder);
    if (glob(pattern, 0, NULL, &folders) == 0)
        for (size_t i = 0; i < folders.gl_pathc; i++) {
            folders.gl_pathv[i][strlen(folders.gl_pathv[i]) - 1] = '\0';
            add_pages(folders.gl_pathv[i]);
        }
    globfree(&folders);
}

static void find_pages(void) {
    if (glob(vy_test_path("README.md"), 0, NULL, &pages) == 0)
        add_pages(vy_test_path("docs"));
    for (size_t i = 0; i < pages.gl_pathc; i++) {
        char *path = pages.gl_pathv[i], *name = path + strlen(vy_test_source_dir()) + 1;
        memmove(path, name, strlen(name) + 1);
    }
}

/* The text of all pages with this name: a backend has one for users and one about its internals. */
static char *texts_of_pages(const char *name) {
    vy_string all = {0};
    char *kept;

    for (size_t i = 0; i < pages.gl_pathc; i++) {
        const char *slash = strrchr(pages.gl_pathv[i], '/');
        if (slash && strcmp(slash + 1, name) == 0)
            vy_string_format(&all, "%s\n", file_text(pages.gl_pathv[i]));
    }
    assert_non_null(all.text);
    kept = keep(all.text, all.length);
    vy_string_free(&all);
    return kept;
}

/* The file that a link leads to, relative to the page; 0 for an address on the network or an anchor of the page. */
static int link_path(const char *page, const char *link, char *out, size_t size) {
    size_t length = strcspn(link, ")#");
    const char *slash = strrchr(page, '/');

    if (length == 0 || strncmp(link, "http:", 5) == 0 || strncmp(link, "https:", 6) == 0)
        return 0;
    snprintf(out, size, "%.*s%.*s", slash ? (int)(slash + 1 - page) : 0, page, (int)length, link);
    return 1;
}

static void links_lead_to_files(void **state) {
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < pages.gl_pathc; i++) {
        const char *page = pages.gl_pathv[i];
        for (const char *at = file_text(page); (at = strstr(at, "]("));) {
            char path[512];
            at += 2;
            if (link_path(page, at, path, sizeof path) && access(vy_test_path(path), R_OK) != 0) {
                print_message("%s links to %s, which does not exist\n", page, path);
                wrong++;
            }
        }
    }
    assert_int_equal(wrong, 0);
}

/* The part of a completion or page about one command is not separated here: that an option is named at all catches what
 * is forgotten. */
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
    static const char *const lists[] = {"docs/man/vyre.1", "tools/completion/vyre.bash", "tools/completion/_vyre",
                                        "tools/completion/vyre.fish"};
    char *names = output_of("vyre help | sed -n '/^commands:/,/^$/s/^  \\([a-z]*\\) .*/\\1/p'");

    (void)state;
    for (char *name = strtok(names, "\n"); name; name = strtok(NULL, "\n")) {
        char command[256], word[64], *rest = NULL, *options;
        snprintf(command, sizeof command,
                 "vyre help %s | sed -n 's/^  .. *--\\([a-z]*\\).*/\\1/p;s/^  -.,* --\\([a-z]*\\).*/\\1/p'", name);
        options = output_of(command);
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            expect_named(lists[i], file_text(lists[i]), name);
        expect_named("docs/command.md", file_text("docs/command.md"),
                     strcmp(name, "version") && strcmp(name, "help") ? name : "vyre");
        for (char *option = strtok_r(options, "\n", &rest); option; option = strtok_r(NULL, "\n", &rest))
            for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
                spell(lists[i], option, word, sizeof word);
                expect_named(lists[i], file_text(lists[i]), word);
            }
    }
}

/* What the completion for bash offers for a line; the last word is the one being typed. bash separates words at `=`,
 * too. */
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
    char *lines = output_of("vyre help | sed -n '/^exit codes:/,/^$/s/^  [0-9]  //p'");
    size_t count = 0;

    (void)state;
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"), count++) {
        expect_named("docs/man/vyre.1", file_text("docs/man/vyre.1"), line);
        expect_named("docs/command.md", file_text("docs/command.md"), line);
    }
    assert_int_equal(count, 5);
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
    const char *page = texts_of_pages("cpu.md");

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char words[64];
        snprintf(words, sizeof words, limits[i].what, limits[i].limit / 1000, limits[i].limit % 1000);
        expect_named("cpu.md", page, words);
    }
    expect_named("cpu.md", page, "Every valid program within these limits runs");
}

/* ---- the blocks of pages ---- */

/* The kind of a block, from its first line. Blocks that are not run are counted: a page gets one more only on purpose.
 * */
enum { CHECKED, RUN, MANIFEST, PLAYED, FILE_OF_PAGE, EXCERPT, FRAGMENT, NOT_RUN, OTHER, KIND_COUNT };

/* Words after the first one that name a file, and lists of arguments, are recognised by kind_of. */
static const struct {
    const char *info;
    int kind;
} infos[] = {
    {"vyre", CHECKED},           /* a file: `vyre check` accepts it */
    {"toml", MANIFEST},          /* a manifest: `vyre dialects check` accepts it */
    {"sh", PLAYED},              /* commands and their output: test_readme.c, and the_commands_of_a_page_run */
    {"sh cc", PLAYED},           /* the same, where a C compiler can link against the library */
    {"vyre fragment", FRAGMENT}, /* part of a program, of the section of a code: see run_fragment */
    {"sh no-run", NOT_RUN},      /* commands that need a GPU, hours or another program */
    {"text", OTHER},
    {"c", OTHER},
    {"cmake", OTHER},
    {"python", OTHER},
    {"json", OTHER},
};

enum { COMMANDS_NOT_RUN = 5 };

/* Codes whose fragment is not run: it stands for a program that is too long to show. */
static const char *const fragments_not_run[] = {"V032"};
enum { FRAGMENTS_NOT_RUN = sizeof fragments_not_run / sizeof *fragments_not_run };

/* `vyre run ARGUMENTS` is run with them. `c examples/NAME.c` is part of that file. `vyre NAME.vyre`, `toml NAME.toml`
 * and `c NAME.c` are files for the commands of the page. */
static int kind_of(const char *info) {
    const char *file = strrchr(info, ' '), *ending = strrchr(info, '.');

    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        if (strcmp(infos[i].info, info) == 0)
            return infos[i].kind;
    if (strncmp(info, "vyre run ", 9) == 0)
        return RUN;
    if (!file || !ending || (size_t)(file - info) != strlen(ending + 1) ||
        strncmp(info, ending + 1, strlen(ending + 1)) != 0)
        return KIND_COUNT;
    return strncmp(file, " examples/", 10) == 0 ? EXCERPT : FILE_OF_PAGE;
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

/* ---- fragments ---- */

/* A fragment shows wrong and correct lines of a program. A comment marks them:
 *
 *   // error …, // warning …   wrong; the code of the section is reported
 *   // T035 …                  wrong; the parser reports this code, and the section names it
 *   // OK …                    correct
 *
 * Lines without a mark belong to both. The wrong and the unmarked lines give every code that the marks mean, or the
 * code of the section if there is no mark; the correct and the unmarked ones give none of them. Functions are moved
 * before the program, declarations to its start, and names that the fragment uses without a declaration are declared.
 * */
typedef enum fragment_mark { UNMARKED, WRONG, CORRECT } fragment_mark;

static fragment_mark mark_of(const char *line, size_t length, const char *section, char code[8]) {
    const char *comment = memmem(line, length, "// ", 3);

    snprintf(code, 8, "%.4s", section);
    if (!comment)
        return UNMARKED;
    comment += 3;
    if (strchr("TV", *comment) && strspn(comment + 1, "0123456789") == 3) {
        snprintf(code, 8, "%.4s", comment);
        return WRONG;
    }
    return strncmp(comment, "error", 5) == 0 || strncmp(comment, "warning", 7) == 0 ? WRONG
           : strncmp(comment, "OK", 2) == 0                                         ? CORRECT
                                                                                    : UNMARKED;
}

static int starts_with_word(const char *line, const char *const *words) {
    size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz");

    for (; *words; words++)
        if (strlen(*words) == length && memcmp(line, *words, length) == 0)
            return 1;
    return 0;
}

static int is_name_part(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int has_word(const char *text, size_t size, const char *word) {
    size_t length = strlen(word);

    for (const char *at = text; (at = memmem(at, size - (size_t)(at - text), word, length)); at++)
        if ((at == text || !is_name_part(at[-1])) && !is_name_part(at[length]))
            return 1;
    return 0;
}

/* Whether a line of the text declares the name: the name stands before its `=`, `:`, `{` or `in`. */
static int declares(const char *text, const char *name) {
    static const char *const words[] = {"let", "var", "buffer", "param", "array", "for", "fn", NULL};

    for (const char *line = text; *line; line += transcript_line(line) + (line[transcript_line(line)] != 0)) {
        size_t head = strcspn(line, strncmp(line, "fn ", 3) == 0 ? "(\n" : "=:{\n");
        if (starts_with_word(line, words) && has_word(line, head, name))
            return 1;
    }
    return 0;
}

/* Declarations of the names that fragments use. */
static const struct {
    const char *name, *declaration;
} assumed_decls[] = {{"n", "param n : u32"},
                     {"x", "buffer x : f32 read"},
                     {"y", "buffer y : f32 read_write"},
                     {"h", "buffer h : u32 read_write"},
                     {"f", "buffer f : u32 read_write"},
                     {"sum", "buffer sum : f32 read_write"},
                     {"t", "array t : u32 [64] workgroup"},
                     {"u", "array u : u32 [64] workgroup"}},
  assumed_lets[] = {{"i", "let i = global_id.x"},
                    {"v", "let v = 1u32"},
                    {"a", "let a = 1u32"},
                    {"b", "let b = 2u32"},
                    {"done", "let done = global_id.x > 3"}};

typedef struct fragment_parts {
    vy_string functions, decls, body;
} fragment_parts;

/* Adds a line without its comment to the part it belongs to; `depth` counts the open braces of a function. */
static void add_fragment_line(fragment_parts *parts, const char *line, size_t length, int *depth) {
    static const char *const decl_words[] = {"param", "buffer",   "array", "workgroup",
                                             "grid",  "numerics", "level", NULL};
    const char *comment = memmem(line, length, "//", 2), *dots;
    size_t size = comment ? (size_t)(comment - line) : length;
    const int is_function = *depth > 0 || strncmp(line, "fn ", 3) == 0 || strncmp(line, "const ", 6) == 0;
    vy_string *part = is_function                          ? &parts->functions
                      : starts_with_word(line, decl_words) ? &parts->decls
                                                           : &parts->body;

    if ((dots = memmem(line, size, "{ … }", strlen("{ … }")))) {
        vy_string_append(part, line, (size_t)(dots - line));
        vy_string_add(part, "{ }");
        size -= (size_t)(dots - line) + strlen("{ … }");
        line = dots + strlen("{ … }");
    }
    vy_string_append(part, line, size);
    vy_string_char(part, '\n');
    for (size_t i = 0; is_function && i < size; i++)
        *depth += (line[i] == '{') - (line[i] == '}');
}

static void make_fragment_program(const char *text, size_t size, const char *section, fragment_mark left_out,
                                  vy_string *out) {
    fragment_parts parts = {0};
    vy_string all = {0};
    int depth = 0;
    char code[8];

    for (const char *line = text; line < text + size; line += transcript_line(line) + 1)
        if (mark_of(line, transcript_line(line), section, code) != left_out)
            add_fragment_line(&parts, line, transcript_line(line), &depth);
    vy_string_append(&parts.functions, "", 0);
    vy_string_append(&parts.decls, "", 0);
    vy_string_append(&parts.body, "", 0);
    vy_string_format(&all, "%s%s", parts.decls.text, parts.body.text);
    vy_string_format(out, "%sprogram p {\n", parts.functions.text);
    for (size_t i = 0; i < sizeof assumed_decls / sizeof *assumed_decls; i++)
        if (has_word(all.text, all.length, assumed_decls[i].name) && !declares(all.text, assumed_decls[i].name) &&
            !declares(parts.functions.text, assumed_decls[i].name))
            vy_string_format(out, "%s\n", assumed_decls[i].declaration);
    vy_string_add(out, parts.decls.text);
    if (!strstr(parts.decls.text, "workgroup ") || strstr(parts.decls.text, "] workgroup"))
        vy_string_add(out, "workgroup 64\n");
    for (size_t i = 0; i < sizeof assumed_lets / sizeof *assumed_lets; i++)
        if (has_word(all.text, all.length, assumed_lets[i].name) && !declares(all.text, assumed_lets[i].name))
            vy_string_format(out, "%s\n", assumed_lets[i].declaration);
    vy_string_format(out, "%s}\n", parts.body.text);
    vy_string_free(&parts.functions);
    vy_string_free(&parts.decls);
    vy_string_free(&parts.body);
    vy_string_free(&all);
}

/* Checks one side of a fragment: `wanted` 1 if the codes must be reported, 0 if they must not. */
static int check_side(const char *page, int line, const char *text, size_t size, const char *section, int wanted) {
    vy_string program = {0}, out = {0};
    char code[8], needle[16];
    int is_good, marks = 0;

    make_fragment_program(text, size, section, wanted ? CORRECT : WRONG, &program);
    assert_int_equal(vy_file_write("block.vyre", program.text, program.length, NULL), VYRE_OK);
    transcript_run("vyre check block.vyre", &out);
    vy_string_append(&out, "", 0);
    is_good = wanted || !strstr(out.text, "[exit ");
    for (const char *at = text; at < text + size; at += transcript_line(at) + 1)
        if (mark_of(at, transcript_line(at), section, code) == WRONG) {
            snprintf(needle, sizeof needle, " %s: ", code);
            is_good &= (strstr(out.text, needle) != NULL) == wanted;
            marks++;
        }
    snprintf(needle, sizeof needle, " %.4s: ", section);
    if (!marks)
        is_good &= (strstr(out.text, needle) != NULL) == wanted;
    if (!is_good)
        print_message("%s:%d: the fragment of %.4s, with its %s lines, gives:\n%s\n%s\n", page, line, section,
                      wanted ? "wrong" : "correct", program.text, out.text);
    vy_string_free(&program);
    vy_string_free(&out);
    return is_good;
}

/* The heading above a line, from its code on. */
static const char *section_of(const char *page, int line) {
    const char *at = file_text(page), *heading = "";

    for (int i = 1; i < line && *at; i++, at += transcript_line(at) + 1)
        if (strncmp(at, "## ", 3) == 0)
            heading = at + 3;
    return heading;
}

/* Returns 1 if the fragment was run. */
static int run_fragment(const char *page, int line, const char *text, size_t size) {
    const char *section = section_of(page, line), *end = strstr(section, "\n## ");
    char folder[256], code[8];
    int is_good;

    for (size_t i = 0; i < FRAGMENTS_NOT_RUN; i++)
        if (strncmp(section, fragments_not_run[i], 4) == 0)
            return 0;
    transcript_enter(folder);
    is_good = check_side(page, line, text, size, section, 1) & check_side(page, line, text, size, section, 0);
    transcript_leave(folder);
    for (const char *at = text; at < text + size; at += transcript_line(at) + 1)
        if (mark_of(at, transcript_line(at), section, code) == WRONG && strncmp(code, section, 4) != 0 &&
            !memmem(section, (size_t)(strstr(section, "```") - section), code, strlen(code))) {
            print_message("%s:%d: the text of %.4s does not name %s, which the parser reports\n", page, line, section,
                          code);
            is_good = 0;
        }
    if (!is_good || !end)
        fail_msg("%s:%d: a fragment does not do what it says", page, line);
    return 1;
}

static const char *public_headers(void) {
    static const char *all;
    vy_string text = {0};
    glob_t files;

    if (all)
        return all;
    assert_int_equal(glob(vy_test_path("include/vyre/*.h"), 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        vy_string_add(&text, file_text(files.gl_pathv[i] + strlen(vy_test_source_dir()) + 1));
    globfree(&files);
    vy_string_add(&text, file_text("docs/api.md")); /* generated from the headers, with the names that macros make */
    all = keep(text.text, text.length);
    vy_string_free(&text);
    return all;
}

/* Every name of the library in a block of C exists. A complete program has the name of a file, and the page compiles
 * it. */
static void check_c_block(const char *page, int line, const char *text, size_t size) {
    const char *headers = public_headers();

    if (memmem(text, size, "main(", 5))
        fail_msg("%s:%d: a C program is not compiled. Fix: open the block with `c NAME.c`, and compile it below", page,
                 line);
    for (const char *at = text; at < text + size; at++) {
        char word[128];
        size_t length = 0;
        while (is_name_part(at[length]))
            length++;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if ((strncmp(word, "vyre_", 5) == 0 || strncmp(word, "VYRE_", 5) == 0) &&
            !has_word(headers, strlen(headers), word))
            fail_msg("%s:%d: no public header has `%s`", page, line, word);
        at += length;
    }
}

/* One block: `info` is what follows the backticks, `text` its lines. */
typedef void block_visitor(void *user, const char *page, int line, const char *info, const char *text, size_t size);

/* A block ends with a line of three backticks. */
static void visit_blocks(const char *page, block_visitor *visit, void *user) {
    int line = 1;

    for (const char *at = file_text(page); *at; at += transcript_line(at) + (at[transcript_line(at)] != 0), line++) {
        char info[256];
        const char *start = at, *end;
        if (strncmp(at, "```", 3) != 0) {
            if (strncmp(at + strspn(at, " "), "```", 3) == 0)
                fail_msg("%s:%d: a block is indented, so that its contents are not run", page, line);
            continue;
        }
        snprintf(info, sizeof info, "%.*s", (int)transcript_line(at + 3), at + 3);
        start += transcript_line(start) + 1;
        end = strstr(start - 1, "\n```");
        assert_non_null(end);
        visit(user, page, line, info, start, (size_t)(end + 1 - start));
        for (; at < end + 1; at += transcript_line(at) + 1)
            line++;
    }
}

static void check_block(void *user, const char *page, int line, const char *info, const char *text, size_t size) {
    size_t *counts = user;
    int kind = kind_of(info);

    if (kind == KIND_COUNT)
        fail_msg("%s:%d: a block opens with `%s`. Fix: open it with one of the words of tests/tool/test_docs.c", page,
                 line, info);
    if (kind <= MANIFEST)
        run_block(page, line, kind, info, text, size);
    if (kind == PLAYED && strncmp(text, "$ ", 2) != 0)
        fail_msg("%s:%d: a block of commands starts with none. Fix: write `$ ` before each command", page, line);
    if (kind == FILE_OF_PAGE && !strstr(text + size, strrchr(info, ' ') + 1))
        fail_msg("%s:%d: no command below uses `%s`", page, line, strrchr(info, ' ') + 1);
    if (kind == EXCERPT && !strstr(file_text(strrchr(info, ' ') + 1), keep(text, size)))
        fail_msg("%s:%d: the block is not part of `%s`", page, line, strrchr(info, ' ') + 1);
    if (strcmp(info, "c") == 0)
        check_c_block(page, line, text, size);
    if (kind == FRAGMENT && !run_fragment(page, line, text, size))
        counts[KIND_COUNT]++;
    if (kind == OTHER && strncmp(text, "$ vyre", 6) == 0)
        fail_msg("%s:%d: a command is not run. Fix: open the block with `sh`, or with `sh no-run`", page, line);
    counts[kind]++;
}

static void every_block_of_every_page_is_run_or_marked(void **state) {
    size_t counts[KIND_COUNT + 1] = {0}; /* the last: fragments that are not run */

    (void)state;
    for (size_t i = 0; i < pages.gl_pathc; i++)
        visit_blocks(pages.gl_pathv[i], check_block, counts);
    print_message(
        "%zu programs checked, %zu run, %zu manifests, %zu transcripts, %zu files, %zu excerpts, %zu fragments; not "
        "run: %zu fragments, %zu of commands, %zu of other languages\n",
        counts[CHECKED], counts[RUN], counts[MANIFEST], counts[PLAYED], counts[FILE_OF_PAGE], counts[EXCERPT],
        counts[FRAGMENT] - counts[KIND_COUNT], counts[KIND_COUNT], counts[NOT_RUN], counts[OTHER]);
    assert_int_equal(counts[KIND_COUNT], FRAGMENTS_NOT_RUN);
    assert_in_range(counts[NOT_RUN], 0, COMMANDS_NOT_RUN);
}

/* ---- the commands of pages ---- */

static const char *build_folder(void) {
    const char *value = getenv("VYRE_BINARY_DIR");

    return value ? value : VYRE_BINARY_DIR;
}

/* Whether a program can be compiled here and linked against the shared library: not with a sanitizer, and not away from
 * the build. */
static int can_link(void) {
    char library[1024];

#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
    return 0;
#endif
#endif
    snprintf(library, sizeof library, "%s/libvyre.so", build_folder());
    return !VY_SANITIZED && access(library, R_OK) == 0 && access(vy_test_path("include/vyre/vyre.h"), R_OK) == 0 &&
           system("command -v cc pkg-config >/dev/null") == 0;
}

/* Writes the files that a page shows. */
static void write_block(void *user, const char *page, int line, const char *info, const char *text, size_t size) {
    char path[512], *slash;

    (void)page, (void)line;
    if (kind_of(info) != FILE_OF_PAGE)
        return;
    snprintf(path, sizeof path, "%s/%s", (const char *)user, strrchr(info, ' ') + 1);
    slash = strrchr(path, '/'); /* of a folder that the page names: one level */
    *slash = '\0';
    mkdir(path, 0777);
    *slash = '/';
    assert_int_equal(vy_file_write(path, text, size, NULL), VYRE_OK);
}

/* The files of the page; include/ and build/, as in the repository; vyre.pc, as if the library were installed. */
static void write_files(const char *page, const char *folder) {
    char path[1024];
    vy_string text = {0};

    visit_blocks(page, write_block, (void *)folder);
    snprintf(path, sizeof path, "%s/include", folder);
    assert_int_equal(symlink(vy_test_path("include"), path), 0);
    snprintf(path, sizeof path, "%s/build", folder);
    assert_int_equal(symlink(build_folder(), path), 0);
    vy_string_format(&text,
                     "Name: vyre\nDescription: the build tree\nVersion: 0\nCflags: -I%s\n"
                     "Libs: -L%s -lvyre -Wl,-rpath,%s\n",
                     vy_test_path("include"), build_folder(), build_folder());
    snprintf(path, sizeof path, "%s/vyre.pc", folder);
    assert_int_equal(vy_file_write(path, text.text, text.length, NULL), VYRE_OK);
    vy_string_free(&text);
}

static void replace_all(vy_string *out, const char *text, const char *from, const char *to) {
    for (const char *hit; (hit = strstr(text, from)); text = hit + strlen(from)) {
        vy_string_append(out, text, (size_t)(hit - text));
        vy_string_append(out, to, strlen(to));
    }
    vy_string_append(out, text, strlen(text));
}

/* Plays a copy of the page as a transcript. The copy begins with a command that fetches the files of the page, and its
 * blocks `sh cc` are blocks `sh` if they can be run. An update is taken over into the page itself. */
static void the_commands_of_a_page_run(void **state) {
    static const char compiled[] = "```sh cc\n", played[] = "```cc\n```sh\n";
    const char *page = *state;
    int is_guide = strncmp(page, "docs/guides/", 12) == 0 || strcmp(page, "README.md") == 0;
    char folder[64] = "/tmp/vyre-page-XXXXXX", cache[64] = "/tmp/vyre-pages-XXXXXX", first[128], path[512];
    vy_string copy = {0}, updated = {0};
    vyre_bytes bytes = VYRE_BYTES_INIT;

    assert_non_null(mkdtemp(folder));
    assert_non_null(mkdtemp(cache));
    write_files(page, folder);
    snprintf(first, sizeof first, "```sh\n$ cp -RP %s/. .\n```\n", folder);
    vy_string_append(&copy, first, strlen(first));
    replace_all(&copy, file_text(page), compiled, can_link() ? played : compiled);
    snprintf(path, sizeof path, "%s/%s", cache, strrchr(page, '/') ? strrchr(page, '/') + 1 : page);
    assert_int_equal(vy_file_write(path, copy.text, copy.length, NULL), VYRE_OK);
    /* Guides show the output of a machine without a GPU, as README does in test_readme.c. */
    setenv("PKG_CONFIG_PATH", folder, 1);
    setenv("VYRE_CACHE_DIR", cache, 1);
    setenv("TRANSCRIPT_BACKEND", is_guide ? "" : "reference", 1);
    static const char *const drivers[][2] = {{"VYRE_CUDA_LIBRARY", "no-driver.so"},
                                             {"VYRE_OPENCL_LIBRARY", "no-loader.so"}};
    for (int i = 0; i < 2; i++)
        if (is_guide)
            setenv(drivers[i][0], drivers[i][1], 1);
        else
            unsetenv(drivers[i][0]);
    transcript_play(path, 1);
    assert_int_equal(vy_file_read(path, SIZE_MAX, &bytes, NULL), VYRE_OK);
    if (bytes.size != copy.length || memcmp(bytes.data, copy.text, copy.length) != 0) {
        replace_all(&updated, keep(bytes.data, bytes.size) + strlen(first), played, compiled);
        assert_int_equal(vy_file_write(vy_test_path(page), updated.text, updated.length, NULL), VYRE_OK);
    }
    vyre_bytes_free(&bytes);
    vy_string_free(&updated);
    vy_string_free(&copy);
    transcript_leave(folder);
    transcript_leave(cache);
}

int main(void) {
    struct CMUnitTest tests[128] = {
        cmocka_unit_test(ops_page_is_what_the_command_prints),
        cmocka_unit_test(errors_page_is_what_the_command_prints),
        cmocka_unit_test(api_page_is_generated_from_the_headers),
        cmocka_unit_test(bound_header_is_what_the_command_makes),
        cmocka_unit_test(readme_shows_the_c_example_as_it_is),
        cmocka_unit_test(readme_shows_saxpy_as_it_is),
        cmocka_unit_test(links_lead_to_files),
        cmocka_unit_test(pages_and_completions_name_every_command_and_option),
        cmocka_unit_test(bash_completes_values_codes_and_targets),
        cmocka_unit_test(pages_name_every_exit_code),
        cmocka_unit_test(every_block_of_every_page_is_run_or_marked),
        cmocka_unit_test(readme_names_what_the_build_requires),
        cmocka_unit_test(cpu_page_names_the_limits_of_programs),
    };
    size_t count = 0;
    int failed;

    find_pages();
    while (tests[count].test_func)
        count++;
    for (size_t i = 0; i < pages.gl_pathc && count < sizeof tests / sizeof *tests; i++) {
        char *page = pages.gl_pathv[i];
        if (strcmp(page, "README.md") != 0 && !strchr(page + strlen("docs/"), '/'))
            continue; /* test_readme.c */
        tests[count++] = (struct CMUnitTest){page, the_commands_of_a_page_run, NULL, NULL, page};
    }
    if (!can_link())
        print_message("the blocks `sh cc` are not run: no C compiler, or no library to link against\n");
    failed = _cmocka_run_group_tests("pages", tests, count, NULL, NULL);
    globfree(&pages);
    vy_arena_free(&texts);
    return failed;
}
