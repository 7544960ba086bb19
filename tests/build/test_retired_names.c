/* Retired names: no identifier or file of tests/build/retired_names.txt occurs in src/, include/ or docs/.
 *
 * A line of the list is an identifier, or the path of a file with its folder, below src/. Lines that begin with # are
 * comments. */
#include "build/shell.h"

#include <ctype.h>
#include <ftw.h>

enum { MAX_NAMES = 4096, MAX_TOKEN = 256 };

static const char *names[MAX_NAMES];
static size_t name_count;
static unsigned occurrences;

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int is_retired(const char *token) {
    return bsearch(&token, names, name_count, sizeof *names, by_text) != NULL;
}

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        text = size < 0 ? NULL : malloc((size_t)size + 1);
        rewind(file);
        if (text)
            text[fread(text, 1, (size_t)size, file)] = 0;
    }
    if (file)
        fclose(file);
    return text;
}

static void report(const char *path, unsigned line, const char *token) {
    print_error("%s:%u: `%s` is retired\n", path, line, token);
    occurrences++;
}

/* The token and, for a path, its last components: `src/base/x.c`, `base/x.c`. */
static void check_path_token(const char *path, unsigned line, const char *token) {
    for (const char *rest = token; rest; rest = strchr(rest, '/') ? strchr(rest, '/') + 1 : NULL)
        if (strchr(rest, '/') && is_retired(rest)) {
            report(path, line, rest);
            return;
        }
}

/* Reads the longest run of characters of a class from `text` into `token`; longer ones are cut. */
static const char *take_token(const char *text, const char *extra, char *token) {
    size_t length = 0;
    for (; *text && (isalnum((unsigned char)*text) || strchr(extra, *text)); text++)
        if (length + 1 < MAX_TOKEN)
            token[length++] = *text;
    token[length] = 0;
    return text;
}

static void check_text(const char *path, const char *text) {
    char token[MAX_TOKEN];
    unsigned line = 1;
    for (const char *at = text; *at; line += *at == '\n', at++) {
        if (!isalpha((unsigned char)*at) && *at != '_')
            continue;
        if (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) {
            take_token(at, "_", token);
            if (is_retired(token))
                report(path, line, token);
        }
        if (at == text || (!isalnum((unsigned char)at[-1]) && !strchr("_/.", at[-1]))) {
            take_token(at, "_/.", token);
            size_t length = strlen(token);
            if (length && token[length - 1] == '.') /* the end of a sentence */
                token[length - 1] = 0;
            check_path_token(path, line, token);
        }
    }
}

static int check_file(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)walk;
    if (kind != FTW_F)
        return 0;
    char *text = read_all(path);
    assert_non_null(text);
    check_text(path, text);
    check_path_token(path, 0, path + strlen(vy_test_source_dir()) + 1);
    free(text);
    return 0;
}

static void retired_names_do_not_occur(void **state) {
    (void)state;
    static const char *const folders[] = {"src", "include", "docs"};
    if (access(vy_test_path("src/base"), R_OK) != 0)
        VY_SKIP("there is no source tree here");
    char *list = read_all(vy_test_path("tests/build/retired_names.txt"));
    assert_non_null(list);
    for (char *line = strtok(list, "\n"); line; line = strtok(NULL, "\n"))
        if (*line != '#') {
            assert_true(name_count < MAX_NAMES);
            names[name_count++] = line;
        }
    assert_true(name_count > 500);
    qsort(names, name_count, sizeof *names, by_text);
    check_text("(itself)", "x vy_hoard_take(base/hoard.h)");
    assert_int_equal(occurrences, 2);
    occurrences = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", vy_test_source_dir(), folders[i]);
        assert_int_equal(nftw(path, check_file, 16, FTW_PHYS), 0);
    }
    assert_int_equal(occurrences, 0);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(retired_names_do_not_occur)};
    return cmocka_run_group_tests_name("retired_names", tests, NULL, NULL);
}
