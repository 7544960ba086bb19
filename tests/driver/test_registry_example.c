/* The example plug-in runs programs with the reference's bits, and is built by its own Makefile and CMakeLists.txt. */
#include "build/shell.h"
#include "vyre/driver.h"
#include "vyre/text.h"

static const char text[] = "program add_up {\n"
                           "  buffer x : u32 read\n"
                           "  buffer y : u32 read_write\n"
                           "  workgroup 64\n"
                           "  grid over y\n"
                           "  let i = global_id.x\n"
                           "  if i < len(y) {\n"
                           "    y[i] = y[i] * 3u32 + x[i]\n"
                           "  }\n"
                           "}\n";

enum { COUNT = 200 };

static void dispatch(const char *id, vyre_program *program, uint32_t result[COUNT]) {
    uint32_t x[COUNT], y[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = i * i, y[i] = 1000 - i;
    const vyre_span inputs[] = {{x, sizeof x}, {y, sizeof y}};
    const vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    vyre_backend *backend;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    if (vyre_acquire(id, &backend, &error) != VYRE_OK ||
        vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, &error) != VYRE_OK)
        fail_msg("%s: %s", id, error.message);
    assert_string_equal(vyre_backend_id(backend), id);
    assert_int_equal(outputs.count, 1);
    assert_int_equal(outputs.items[0].size, sizeof y);
    memcpy(result, outputs.items[0].data, sizeof y);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
}

static void the_example_gives_the_references_bits(void **state) {
    (void)state;
    char path[1024];
    snprintf(path, sizeof path, "%s/plugins/echo.so", build_folder());
    if (access(path, R_OK) != 0)
        VY_SKIP("the example plug-in is not here (%s)", path);
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_plugin_load(path, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_string_equal(vyre_backend_owner("echo"), path);

    vyre_module *module;
    assert_int_equal(vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, &error), VYRE_OK);
    uint32_t ours[COUNT], theirs[COUNT];
    dispatch("echo", vyre_module_program(module, 0), ours);
    dispatch("reference", vyre_module_program(module, 0), theirs);
    assert_memory_equal(ours, theirs, sizeof ours);
    assert_int_equal(ours[7], (1000 - 7) * 3 + 49);
    vyre_module_free(module);
}

static void the_examples_makefile_builds_it(void **state) {
    (void)state;
    need_a_plain_build("make cc");
    run("cp '%s'/examples/plugin/* '%s' 2>&1", vy_test_source_dir(), shell_folder);
    run("make -C '%s' VYRE_INCLUDE='%s/include' CFLAGS='-Wall -Wextra -Werror -pedantic' 2>&1", shell_folder,
        vy_test_source_dir());
    run("test -x '%s/echo.so'", shell_folder);
}

static void the_example_links_against_nothing(void **state) {
    (void)state;
    need_a_plain_build("cmake cc nm");
    run("cmake -S '%s/examples/plugin' -B '%s' -DVYRE_INCLUDE='%s/include' 2>&1 && cmake --build '%s' 2>&1",
        vy_test_source_dir(), shell_folder, vy_test_source_dir(), shell_folder);
    const char *names = run("nm -D --undefined-only '%s/echo.so' 2>&1", shell_folder);
    assert_null(strstr(names, "vyre"));
    const char *exported = run("nm -D --defined-only '%s/echo.so' 2>&1", shell_folder);
    assert_non_null(strstr(exported, " vyre_module_entry"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_gives_the_references_bits),
        IN_FOLDER(the_examples_makefile_builds_it),
        IN_FOLDER(the_example_links_against_nothing),
    };
    return cmocka_run_group_tests_name("example plug-in", tests, NULL, NULL);
}
