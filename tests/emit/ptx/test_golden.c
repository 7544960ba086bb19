/* golden/NAME.vyre beside golden/NAME.ptx, which is what its program becomes on sm_90. UPDATE_GOLDEN=1 writes them anew; look at the difference before it is
 * committed. Where there is a ptxas, it compiles each. */
#include "emit/ptx/code.h"

#include <dirent.h>

#define FOLDER "tests/emit/ptx/golden"

static int is_case(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".vyre") == 0;
}

static vyre_program *parse(const char *name) {
    char path[1024];
    vyre_module *module = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_parse_options options = {.file = name};
    snprintf(path, sizeof path, "%s/%s", vy_test_path(FOLDER), name);
    char *text = ptx_read_file(path);
    if (vyre_text_parse(text, strlen(text), &options, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s: %s (%s)", name, error.message, error.where);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    free(text);
    return program;
}

static void for_each(void (*body)(const char *name, const char *text)) {
    struct dirent **names;
    int count = scandir(vy_test_path(FOLDER), &names, is_case, alphasort);
    assert_true(count > 10);
    for (int i = 0; i < count; i++) {
        vyre_program *program = parse(names[i]->d_name);
        vy_ptx_code code;
        ptx_try(program, 0, names[i]->d_name, &code);
        body(names[i]->d_name, code.text.data);
        vy_ptx_free(&code);
        vyre_program_release(program);
        free(names[i]);
    }
    free(names);
}

static void compare(const char *name, const char *text) {
    char path[1024];
    size_t line = 1, i = 0;
    snprintf(path, sizeof path, "%s/%.*s.ptx", vy_test_path(FOLDER), (int)(strlen(name) - 5), name);
    if (getenv("UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fwrite(text, 1, strlen(text), file);
        fclose(file);
    }
    char *expected = ptx_read_file(path);
    while (expected[i] && expected[i] == text[i])
        line += expected[i++] == '\n';
    if (expected[i] != text[i])
        fail_msg("%s differs in line %zu of what is expected\n--- given ---\n%s", name, line, text);
    free(expected);
}

static void every_case_gives_what_is_expected(void **state) {
    (void)state;
    for_each(compare);
}

static void assemble(const char *name, const char *text) {
    ptxas_accepts(ptxas_path(), text, name);
}

static void ptxas_compiles_every_case(void **state) {
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_compiles_every_case: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    for_each(assemble);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_what_is_expected),
        cmocka_unit_test(ptxas_compiles_every_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
