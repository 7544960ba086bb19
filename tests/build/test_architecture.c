/* docs/architecture.md: cited files and folders exist, the functions of its tables are in the files beside them, and
 * each question names a file whose path or first line contains the term. */
#include "build/shell.h"

#include <ctype.h>

enum { MAX_CELLS = 8, MIN_QUESTIONS = 20, MIN_STEPS = 20 };

static char page[1 << 17];

static size_t read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(vy_test_path(path), "rb");
    if (!file)
        fail_msg("docs/architecture.md cites %s, which cannot be read", path);
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = 0;
    return length;
}

static void need_the_page(void) {
    if (access(vy_test_path("docs/architecture.md"), R_OK) != 0 || access(vy_test_path("src/base"), R_OK) != 0)
        VY_SKIP("there is no source tree here");
    assert_true(read_text("docs/architecture.md", page, sizeof page) < sizeof page - 1);
}

/* The cells of a table row, without the spaces around them; 0 for any other line. Changes the line. */
static unsigned split_row(char *line, char *cells[MAX_CELLS]) {
    unsigned count = 0;
    if (*line != '|')
        return 0;
    for (char *at = line; (at = strchr(at, '|')) && at[1] && count < MAX_CELLS;) {
        *at++ = 0;
        at += strspn(at, " ");
        cells[count++] = at;
    }
    char *last = strrchr(cells[count - 1], '|');
    if (last)
        *last = 0;
    for (unsigned i = 0; i < count; i++)
        for (size_t n = strlen(cells[i]); n && cells[i][n - 1] == ' ';)
            cells[i][--n] = 0;
    return count;
}

/* The text between the first two backticks of a cell. NULL: there is none. */
static char *quoted(char *cell, char **rest) {
    char *start = strchr(cell, '`'), *end = start ? strchr(start + 1, '`') : NULL;
    if (!end)
        return NULL;
    *end = 0;
    *rest = end + 1;
    return start + 1;
}

/* Lower case; runs of spaces, hyphens, underscores, slashes and asterisks become one space. */
static void normalize(const char *text, size_t length, char *out, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < size; i++) {
        int is_space = strchr(" -_/*\n", text[i]) != NULL;
        if (!is_space)
            out[n++] = (char)tolower((unsigned char)text[i]);
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    out[n] = 0;
}

static int names_term(const char *path, const char *term) {
    static char text[1 << 20];
    char where[1024], wanted[256];
    read_text(path, text, sizeof text);
    text[strcspn(text, "\n")] = 0;
    snprintf(where, sizeof where, "%.200s ", path);
    strncat(where, text, sizeof where - strlen(where) - 1);
    normalize(term, strlen(term), wanted, sizeof wanted);
    strcpy(text, where);
    normalize(text, strlen(text), where, sizeof where);
    return strstr(where, wanted) != NULL;
}

static int has_function(const char *path, const char *call) {
    static char text[1 << 20];
    char wanted[256];
    read_text(path, text, sizeof text);
    snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(call, ")"), call);
    return strstr(text, wanted) != NULL;
}

static void cited_files_exist(void **state) {
    (void)state;
    static const char *const roots[] = {"src/", "include/", "docs/", "tests/", "tools/", "examples/"};
    need_the_page();
    unsigned count = 0;
    for (char *at = page, *path; (path = quoted(at, &at));)
        for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
            if (strncmp(path, roots[i], strlen(roots[i])) == 0) {
                if (access(vy_test_path(path), R_OK) != 0)
                    fail_msg("docs/architecture.md cites %s, which does not exist", path);
                count++;
            }
    assert_true(count > 100);
}

static void functions_of_the_walk_are_in_their_files(void **state) {
    (void)state;
    unsigned count = 0;
    need_the_page();
    for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n")) {
        char *cells[MAX_CELLS], *path, *name, *rest;
        if (split_row(line, cells) != 3 || strchr(cells[0], '?') || !(path = quoted(cells[1], &rest)))
            continue;
        for (rest = cells[2]; (name = quoted(rest, &rest)); count++)
            if (!has_function(path, name))
                fail_msg("%s is not in %s", name, path);
    }
    assert_true(count >= MIN_STEPS);
}

static void files_that_answer_questions_name_the_term(void **state) {
    (void)state;
    unsigned count = 0;
    need_the_page();
    for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n")) {
        char *cells[MAX_CELLS], *path, *rest;
        if (split_row(line, cells) != 3 || !strchr(cells[0], '?') || !(path = quoted(cells[1], &rest)))
            continue;
        if (!names_term(path, cells[2]))
            fail_msg("%s: neither the path nor the first line of %s contains `%s`", cells[0], path, cells[2]);
        count++;
    }
    assert_true(count >= MIN_QUESTIONS);
}

static void modules_have_a_paragraph(void **state) {
    (void)state;
    need_the_page();
    run("cd '%s' && find src -name '*.c' | sed 's|/[^/]*$||' | sort -u", vy_test_source_dir());
    for (char *folder = strtok(shell_output, "\n"); folder; folder = strtok(NULL, "\n")) {
        char bold[256];
        snprintf(bold, sizeof bold, "**`%.200s`**", folder);
        if (!strstr(page, bold))
            fail_msg("docs/architecture.md does not describe %s", folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cited_files_exist),
        cmocka_unit_test(functions_of_the_walk_are_in_their_files),
        cmocka_unit_test(files_that_answer_questions_name_the_term),
        cmocka_unit_test(modules_have_a_paragraph),
    };
    return cmocka_run_group_tests_name("architecture", tests, NULL, NULL);
}
