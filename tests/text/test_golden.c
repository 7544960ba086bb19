/* Golden files: cases/NAME.vyre beside cases/NAME.expected, which holds what the parser finds or, if it finds no
 * error, every program printed. UPDATE_GOLDEN=1 writes the expected files anew; look at the difference before it is
 * kept.
 *
 * Lines `// -D NAME=VALUE` at the start of a case are its defines. */
#include "support/test.h"
#include "text/text_support.h"

#include <dirent.h>

enum { MAX_DEFINES = 16 };

typedef struct golden {
    char *text;
    size_t size;
    char lines[MAX_DEFINES][128];
    vyre_define defines[MAX_DEFINES];
    size_t define_count;
} golden;

static void read_defines(golden *g) {
    const char *line = g->text;
    while (g->define_count < MAX_DEFINES && strncmp(line, "// -D ", 6) == 0) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        char *copy = g->lines[g->define_count];
        snprintf(copy, sizeof g->lines[0], "%.*s", (int)(end - line - 6), line + 6);
        char *equals = strchr(copy, '=');
        assert_non_null(equals);
        *equals = 0;
        g->defines[g->define_count++] = (vyre_define){copy, equals + 1};
        line = end + 1;
    }
}

/* Whether all findings are about declarations that nothing uses. Most cases declare values only to show how they are
 * read and printed, so such findings are shown in the case about them alone. */
static int are_unused(const vyre_diagnostics *found) {
    const vyre_diagnostic *finding;
    for (size_t i = 0; (finding = vyre_diagnostics_get(found, i)); i++)
        if (strcmp(finding->code, "V105") != 0 && strcmp(finding->code, "V106") != 0 &&
            strcmp(finding->code, "V107") != 0)
            return 0;
    return 1;
}

/* What the library says about the case, as one text. */
static void describe(const golden *g, const char *name, vyre_bytes *out) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_parse_options options = {.file = name, .defines = g->defines, .define_count = g->define_count};
    vyre_module *module = NULL;
    vyre_bytes part = VYRE_BYTES_INIT;
    vyre_error error;
    vyre_status status = vyre_text_parse(g->text, g->size, &options, found, &module, &error);
    if (!are_unused(found) || strcmp(name, "V105_unused.vyre") == 0)
        assert_int_equal(vyre_diagnostics_render(found, out, &error), VYRE_OK);
    if (status == VYRE_OK) {
        for (size_t i = 0; i < vyre_module_program_count(module); i++) {
            assert_int_equal(vyre_text_print(vyre_module_program(module, i), &part, &error), VYRE_OK);
            text_append(out, i ? "\n" : "", i ? 1 : 0);
            text_append(out, part.data, part.size);
        }
        vyre_module_free(module);
    } else {
        assert_null(module);
        assert_true(vyre_diagnostics_errors(found) > 0);
    }
    vyre_bytes_free(&part);
    vyre_diagnostics_free(found);
}

static int show_difference(const char *name, const char *expected, const char *given) {
    size_t line = 1, i = 0;
    while (expected[i] && expected[i] == given[i])
        line += expected[i++] == '\n';
    if (expected[i] == given[i])
        return 0;
    print_message("%s differs in line %zu of what is expected\n--- given ---\n%s--- expected ---\n%s", name, line,
                  given, expected);
    return 1;
}

static int run_case(const char *path, const char *name) {
    golden g = {0};
    char expected_path[600];
    g.text = text_read_file(path, &g.size);
    read_defines(&g);
    vyre_bytes given = VYRE_BYTES_INIT;
    describe(&g, name, &given);
    text_append(&given, "", 1);
    snprintf(expected_path, sizeof expected_path, "%.*s.expected", (int)(strlen(path) - 5), path);
    if (getenv("UPDATE_GOLDEN")) {
        FILE *file = fopen(expected_path, "wb");
        assert_non_null(file);
        fwrite(given.data, 1, given.size - 1, file);
        fclose(file);
    }
    size_t size;
    char *expected = text_read_file(expected_path, &size);
    int failed = show_difference(name, expected, given.data);
    free(expected);
    free(g.text);
    vyre_bytes_free(&given);
    return failed;
}

static int is_case(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".vyre") == 0;
}

static void every_case_gives_what_is_expected(void **state) {
    (void)state;
    char folder[512], path[1024];
    struct dirent **names;
    snprintf(folder, sizeof folder, "%s", vy_test_path("tests/text/cases"));
    int count = scandir(folder, &names, is_case, alphasort), failed = 0;
    assert_true(count > 50);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        failed += run_case(path, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    assert_int_equal(failed, 0);
}

/* T016 needs a text of megabytes: tests/text/test_limits.c has it. */
static void every_code_has_a_case(void **state) {
    (void)state;
    vyre_explanation code;
    char folder[512];
    int missing = 0;
    snprintf(folder, sizeof folder, "%s", vy_test_path("tests/text/cases"));
    for (size_t i = 0; vyre_explain_at(i, &code); i++) {
        if (code.code[0] != 'T' || strlen(code.code) != 4 || strcmp(code.code, "T016") == 0)
            continue;
        DIR *directory = opendir(folder);
        int found = 0;
        for (struct dirent *entry; !found && (entry = readdir(directory));) {
            char path[1024], needle[16];
            size_t length = strlen(entry->d_name);
            if (strncmp(entry->d_name, code.code, 4) != 0 || strcmp(entry->d_name + length - 9, ".expected") != 0)
                continue;
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            snprintf(needle, sizeof needle, " %s:", code.code);
            char *text = text_read_file(path, &length);
            found = strstr(text, needle) != NULL;
            free(text);
        }
        closedir(directory);
        if (!found)
            print_message("no case shows %s (%s)\n", code.code, code.title);
        missing += !found;
        assert_true(*code.title && *code.text && *code.fix);
    }
    assert_int_equal(missing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_what_is_expected),
        cmocka_unit_test(every_code_has_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
