/* Every public header compiles by itself, as C17, C++11 and C++17, without a warning. */
#include "support/test.h"

#include <dirent.h>
#include <unistd.h>

static int run(const char *format, const char *compiler, const char *include, const char *header, const char *source) {
    char command[2048];
    int length = snprintf(command, sizeof command, format, compiler, include, header, source);
    return length > 0 && (size_t)length < sizeof command ? system(command) : -1;
}

/* Compiles `#include "vyre/NAME"` and a use of it, each header in a run of its own. */
static void compile_all(const char *compiler, const char *language, const char *suffix) {
    char version[256], source[] = "/tmp/vyre-header-XXXXXX", named[64], include[1024], folder[1024];
    snprintf(version, sizeof version, "%s --version >/dev/null 2>&1", compiler);
    if (system(version) != 0)
        VY_SKIP("no %s here", compiler);
    int file = mkstemp(source);
    assert_true(file >= 0);
    assert_int_equal(write(file, "int main(void) { return 0; }\n", 29), 29);
    close(file);
    snprintf(named, sizeof named, "%s%s", source, suffix);
    assert_int_equal(rename(source, named), 0);
    snprintf(include, sizeof include, "%s", vy_test_path("include"));
    snprintf(folder, sizeof folder, "%s", vy_test_path("include/vyre"));
    DIR *headers = opendir(folder);
    assert_non_null(headers);
    int failed = 0, count = 0;
    for (struct dirent *entry; (entry = readdir(headers));) {
        size_t length = strlen(entry->d_name);
        if (length < 3 || strcmp(entry->d_name + length - 2, ".h") != 0)
            continue;
        count++;
        char format[256];
        snprintf(format, sizeof format,
                 "%%s -std=%s -Wall -Wextra -Werror -pedantic -fsyntax-only -I'%%s' -include vyre/%%s %%s", language);
        if (run(format, compiler, include, entry->d_name, named) != 0) {
            print_message("vyre/%s does not compile as %s\n", entry->d_name, language);
            failed = 1;
        }
    }
    closedir(headers);
    unlink(named);
    assert_false(failed);
    assert_true(count >= 10);
}

static void every_header_compiles_as_c(void **state) {
    (void)state;
    compile_all("cc", "c17", ".c");
}

static void every_header_compiles_as_cpp(void **state) {
    (void)state;
    compile_all("c++", "c++17", ".cc");
}

static void every_header_compiles_as_cpp11(void **state) {
    (void)state;
    compile_all("c++", "c++11", ".cc");
}

static void the_umbrella_names_every_header(void **state) {
    (void)state;
    FILE *file = fopen(vy_test_path("include/vyre/vyre.h"), "r");
    assert_non_null(file);
    static char umbrella[8192];
    umbrella[fread(umbrella, 1, sizeof umbrella - 1, file)] = 0;
    fclose(file);
    DIR *headers = opendir(vy_test_path("include/vyre"));
    assert_non_null(headers);
    for (struct dirent *entry; (entry = readdir(headers));) {
        char line[300];
        snprintf(line, sizeof line, "#include \"vyre/%s\"", entry->d_name);
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "vyre.h") != 0 && !strstr(umbrella, line))
            fail_msg("vyre.h does not include vyre/%s", entry->d_name);
    }
    closedir(headers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_header_compiles_as_c),
        cmocka_unit_test(every_header_compiles_as_cpp),
        cmocka_unit_test(every_header_compiles_as_cpp11),
        cmocka_unit_test(the_umbrella_names_every_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
