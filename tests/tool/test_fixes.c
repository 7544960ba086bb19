/* Every fix works: for each diagnostic code a case that gives it, and the same case after its fix was applied, which
 * does not.
 *
 * tests/tool/fixes/NAME.fix holds cases:
 *
 *   = T043
 *   fix: declare it with `var a` in line 10
 *   -  let a = 1u32
 *   +  var a = 1u32
 *      a = 2
 *
 * Lines that start with `-` are those before the fix, with `+` those after it, with a space both; after the first
 * character comes the text. The command must print the code and the fix before, and exit with 0 and without the code
 * after. Options follow the code:
 *
 *   body the lines are statements of a program, or for D what follows the head of a manifest: see `program_head` and
 *   `manifest_head`
 *   several  a case with `body` has further errors; without it the diagnostic is the only error of a T case
 *   escaped `\xNN` is a byte, `\n` a line break, and `<<N|text>>` N times the text, with `#` in it the number of the
 *   time
 *   sh       the lines are a script, run by sh in a folder with copies of examples/ and tests/tool/programs/
 *   elsewhere PATH the case is code in that test, which triggers the code and compares its fix (support/fixes.h) with
 *   the lines
 *                   `fix:` of the case: drafts, calls of the builder, bytes of the wire form
 *
 * `run: COMMAND` replaces the command: `vyre check case.vyre`, for D `vyre dialects check case.toml`.
 *
 * With VYRE_UPDATE set in the environment, the lines `fix:` are rewritten with what came out: read the difference
 * before you keep it. */
#include "tool/transcript.h"

#include "ir/diagnostic_codes.h"
#include "vyre/diagnostic.h"

#include <ctype.h>
#include <glob.h>

static const char manifest_head[] = "dialect = \"demo\"\nversion = \"1.0.0\"\n";
static const char program_head[] = "program p {\n"
                                   "  param n : u32\n"
                                   "  buffer x : f32 read\n"
                                   "  buffer y : f32 read_write\n"
                                   "  buffer u : u32 read_write\n"
                                   "  workgroup 64\n"
                                   "  grid over y\n"
                                   "  let i = global_id.x\n";

typedef struct fix_case {
    char code[8];
    char options[128], fix[512], run[256];
    char place[64]; /* file:line */
    vy_string before, after;
} fix_case;

static unsigned char covered[VY_DIAG_CODE_COUNT];

static int has_option(const fix_case *c, const char *option) {
    return strstr(c->options, option) != NULL;
}

/* Appends a line without its first character to the texts it belongs to. */
static void add_line(fix_case *c, const char *line, size_t length) {
    if (line[0] != '+') {
        vy_string_append(&c->before, line + 1, length - 1);
        vy_string_char(&c->before, '\n');
    }
    if (line[0] != '-') {
        vy_string_append(&c->after, line + 1, length - 1);
        vy_string_char(&c->after, '\n');
    }
}

static unsigned hex_digit(char c) {
    return (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

static void unescape(const char *text, size_t size, unsigned time, vy_string *out) {
    for (size_t i = 0; i < size; i++) {
        const char *bar, *end;
        if (text[i] == '\\' && text[i + 1] == 'x' && isxdigit((unsigned char)text[i + 2])) {
            vy_string_char(out, (char)(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3])));
            i += 3;
        } else if (text[i] == '\\' && text[i + 1] == 'n') {
            vy_string_char(out, '\n');
            i++;
        } else if (strncmp(text + i, "<<", 2) == 0 && (bar = strchr(text + i, '|')) && (end = strstr(bar, ">>"))) {
            unsigned long count = strtoul(text + i + 2, NULL, 10);
            for (unsigned k = 0; k < count; k++)
                unescape(bar + 1, (size_t)(end - bar - 1), k + 1, out);
            i = (size_t)(end + 1 - text);
        } else if (text[i] == '#' && time) {
            vy_string_format(out, "%u", time);
        } else {
            vy_string_char(out, text[i]);
        }
    }
}

/* Runs the case in the current folder; its output is left in `out`. */
static void run_side(const fix_case *c, const vy_string *side, vy_string *out) {
    vy_string text = {0};
    const char *file = c->code[0] == 'D' ? "case.toml" : "case.vyre";
    const char *command = c->run[0]           ? c->run
                          : c->code[0] == 'D' ? "vyre dialects check case.toml"
                                              : "vyre check case.vyre";

    if (has_option(c, "body"))
        vy_string_add(&text, c->code[0] == 'D' ? manifest_head : program_head);
    if (has_option(c, "escaped"))
        unescape(side->text ? side->text : "", side->length, 0, &text);
    else
        vy_string_append(&text, side->text ? side->text : "", side->length);
    if (has_option(c, "body") && c->code[0] != 'D')
        vy_string_add(&text, "}\n");
    out->length = 0;
    if (has_option(c, "sh")) {
        vy_string_append(&text, "", 0);
        transcript_run(text.text, out);
    } else {
        assert_int_equal(vy_file_write(file, text.length ? text.text : "", text.length, NULL), VYRE_OK);
        transcript_run(command, out);
    }
    vy_string_append(out, "", 0);
    vy_string_free(&text);
}

/* Finds the fix that belongs to the code: the first line `Fix:` after it. */
static int find_fix(const char *output, const char *code, char fix[512]) {
    char needle[16];
    const char *at;

    snprintf(needle, sizeof needle, " %s", code);
    at = strstr(output, needle);
    at = at ? strstr(at, "\nFix: ") : NULL;
    if (!at)
        return 0;
    snprintf(fix, 512, "%.*s", (int)transcript_line(at + 6), at + 6);
    return 1;
}

/* The explanation of a code of the validator says that the parser does not report it. */
static int says_its_origin(const fix_case *c) {
    vyre_explanation e;

    for (size_t i = 0; c->code[0] == 'V' && vyre_explain_at(i, &e); i++)
        if (strcmp(e.code, c->code) == 0)
            return strstr(e.text, "builder") || strstr(e.text, "wire form") || strstr(e.text, "draft");
    return c->code[0] != 'V';
}

/* The test must have the code as a literal or as the argument of a macro, and compare its fix with that of the case. */
static int check_elsewhere(const fix_case *c) {
    const char *path = strstr(c->options, "elsewhere ") + strlen("elsewhere ");
    vyre_bytes bytes = VYRE_BYTES_INIT;
    char literal[16], argument[16];
    int found = 0;

    snprintf(literal, sizeof literal, "\"%s\"", c->code);
    snprintf(argument, sizeof argument, "(%s, ", c->code);
    if (vy_file_read(vy_test_path(path), SIZE_MAX, &bytes, NULL) == VYRE_OK &&
        vyre_bytes_resize(&bytes, bytes.size + 1, NULL) == VYRE_OK)
        found = (strstr(bytes.data, literal) || strstr(bytes.data, argument)) && strstr(bytes.data, "fixes_expect(\"");
    if (!found)
        print_message("%s: %s does not test the fix of %s\n", c->place, path, c->code);
    if (!c->fix[0])
        print_message("%s: the case of %s has no fix\n", c->place, c->code);
    if (!says_its_origin(c))
        print_message("%s: the text of %s does not name the builder, drafts or the wire form\n", c->place, c->code);
    vyre_bytes_free(&bytes);
    return found && c->fix[0] && says_its_origin(c);
}

/* Returns whether the fix works; the fix that was printed is left in `printed`. */
static int check_case(const fix_case *c, char printed[512]) {
    vy_string before = {0}, after = {0};
    int is_good = 1;

    if (has_option(c, "elsewhere"))
        return check_elsewhere(c);
    run_side(c, &c->before, &before);
    run_side(c, &c->after, &after);
    if (!find_fix(before.text, c->code, printed)) {
        print_message("%s: %s with a fix is not what comes out:\n%s\n", c->place, c->code, before.text);
        is_good = 0;
    } else if (strcmp(printed, c->fix) != 0 && !getenv("VYRE_UPDATE")) {
        print_message("%s: the fix of %s is another one\n  expected: %s\n  came out: %s\n", c->place, c->code, c->fix,
                      printed);
        is_good = 0;
    }
    if (has_option(c, "body") && c->code[0] == 'T' && !has_option(c, "several") &&
        !strstr(before.text, ": 1 error\n")) {
        print_message("%s: %s does not come alone:\n%s\n", c->place, c->code, before.text);
        is_good = 0;
    }
    if (strstr(after.text, "[exit ") || strstr(after.text, "[signal ") ||
        find_fix(after.text, c->code, (char[512]){0})) {
        print_message("%s: the fix of %s (%s) does not work:\n%s\n", c->place, c->code, printed, after.text);
        is_good = 0;
    }
    vy_string_free(&before);
    vy_string_free(&after);
    return is_good;
}

/* Reads one case and advances `*at` past it. Appends its lines to `copy`, with the actual fix. */
static int play_case(const char *name, char **at, unsigned *line, vy_string *copy) {
    fix_case c = {0};
    char *start = *at, printed[512] = "";
    int is_good;

    snprintf(c.place, sizeof c.place, "%s:%u", name, *line);
    snprintf(c.code, sizeof c.code, "%.4s", start + 2);
    snprintf(c.options, sizeof c.options, "%.*s", (int)transcript_line(start + 2), start + 2);
    for (;;) {
        size_t length = transcript_line(*at);
        *at += length + ((*at)[length] != 0);
        ++*line;
        length = transcript_line(*at);
        if (strncmp(*at, "fix: ", 5) == 0)
            snprintf(c.fix, sizeof c.fix, "%.*s", (int)length - 5, *at + 5);
        else if (strncmp(*at, "run: ", 5) == 0)
            snprintf(c.run, sizeof c.run, "%.*s", (int)length - 5, *at + 5);
        else if (length > 0 && strchr(" +-", **at))
            add_line(&c, *at, length);
        else
            break;
    }
    is_good = check_case(&c, printed);
    vy_string_append(copy, start, transcript_line(start) + 1);
    if (printed[0])
        vy_string_format(copy, "fix: %s\n", printed);
    for (char *next = start + transcript_line(start) + 1; next < *at; next += transcript_line(next) + 1)
        if (!printed[0] || strncmp(next, "fix: ", 5) != 0)
            vy_string_append(copy, next, transcript_line(next) + 1);
    for (unsigned code = 0; code < VY_DIAG_CODE_COUNT; code++)
        covered[code] |= strcmp(vy_diag_code_name(code), c.code) == 0;
    vy_string_free(&c.before);
    vy_string_free(&c.after);
    return is_good;
}

static void fixes_work(void **state) {
    const char *path = *state, *name = strrchr(path, '/') + 1;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_string copy = {0};
    char folder[256], *at;
    unsigned line = 1, wrong = 0;

    assert_int_equal(vy_file_read(path, SIZE_MAX, &bytes, NULL), VYRE_OK);
    assert_int_equal(vyre_bytes_resize(&bytes, bytes.size + 1, NULL), VYRE_OK);
    transcript_enter(folder);
    for (at = bytes.data; *at;) {
        size_t length = transcript_line(at);
        if (strncmp(at, "= ", 2) == 0) {
            wrong += !play_case(name, &at, &line, &copy);
            continue;
        }
        vy_string_append(&copy, at, length + (at[length] != 0));
        at += length + (at[length] != 0);
        line++;
    }
    transcript_leave(folder);
    if (getenv("VYRE_UPDATE") && copy.length)
        assert_int_equal(vy_file_write(path, copy.text, copy.length, NULL), VYRE_OK);
    vy_string_free(&copy);
    vyre_bytes_free(&bytes);
    assert_int_equal(wrong, 0);
}

static void every_code_has_a_case(void **state) {
    unsigned missing = 0;

    (void)state;
    for (unsigned code = 0; code < VY_DIAG_CODE_COUNT; code++)
        if (*vy_diag_code_fix(code) && !covered[code]) {
            print_message("no case of tests/tool/fixes applies the fix of %s: %s\n", vy_diag_code_name(code),
                          vy_diag_code_fix(code));
            missing++;
        }
    assert_int_equal(missing, 0);
}

int main(void) {
    struct CMUnitTest tests[32] = {0};
    glob_t files;
    size_t count;

    if (glob(vy_test_path("tests/tool/fixes/*.fix"), 0, NULL, &files) != 0) {
        printf("no cases in %s\n", vy_test_path("tests/tool/fixes"));
        return 1;
    }
    for (count = 0; count < files.gl_pathc && count < 31; count++) {
        const char *name = strrchr(files.gl_pathv[count], '/') + 1;
        tests[count] = (struct CMUnitTest){name, fixes_work, NULL, NULL, files.gl_pathv[count]};
    }
    tests[count++] = (struct CMUnitTest){"every_code_has_a_case", every_code_has_a_case, NULL, NULL, NULL};
    int failed = _cmocka_run_group_tests("fixes", tests, count, NULL, NULL);
    globfree(&files);
    return failed;
}
