/* golden/NAME.vyre beside golden/NAME.ptx, which is what its program becomes on sm_90. UPDATE_GOLDEN=1 writes them
 * anew; look at the difference before it is committed. Where there is a ptxas, it compiles each. */
#include "emit/ptx/code.h"
#include "support/fault.h"

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

static void for_each(void (*body)(const char *name, vyre_program *program, const char *text)) {
    struct dirent **names;
    int count = scandir(vy_test_path(FOLDER), &names, is_case, alphasort);
    assert_true(count > 10);
    for (int i = 0; i < count; i++) {
        vyre_program *program = parse(names[i]->d_name);
        vy_ptx_code code;
        ptx_try(program, 0, names[i]->d_name, &code);
        body(names[i]->d_name, program, code.text.data);
        vy_ptx_free(&code);
        vyre_program_release(program);
        free(names[i]);
    }
    free(names);
}

static void compare(const char *name, vyre_program *program, const char *text) {
    (void)program;
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

static void assemble(const char *name, vyre_program *program, const char *text) {
    (void)program;
    ptxas_accepts(ptxas_path(), text, name);
}

static void ptxas_compiles_every_case(void **state) {
    (void)state;
    if (!ptxas_path())
        VY_SKIP("ptxas_compiles_every_case: there is no ptxas here (PTXAS, /usr/local/cuda/bin)");
    for_each(assemble);
}

static vyre_status emit(void *user) {
    const vyre_program *legal = user;
    vy_ptx_code code;
    vyre_status status =
        vy_ptx_emit(legal, &(vy_ptx_options){.indirect = legal->grid.kind == VYRE_GRID_INDIRECT}, &code, NULL);
    vy_ptx_free(&code);
    return status;
}

static void starve(const char *name, vyre_program *program, const char *text) {
    vyre_program *legal = NULL;
    vy_ptx_code code;
    vyre_error error = VYRE_ERROR_INIT;
    (void)text;
    if (ptx_make(program, 0, &legal, &code, &error) != VYRE_OK)
        fail_msg("%s: %s", name, error.message);
    vy_ptx_free(&code);
    VY_FAULT_LOOP(emit, legal);
    vyre_program_release(legal);
}

static void every_allocation_of_every_case_may_fail(void **state) {
    (void)state;
    for_each(starve);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_what_is_expected),
        cmocka_unit_test(ptxas_compiles_every_case),
        cmocka_unit_test(every_allocation_of_every_case_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
