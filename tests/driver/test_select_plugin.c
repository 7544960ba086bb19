/* `supported_ops` end to end: a plug-in whose backends run `add` only is refused for a program with `mul`, at
 * selection, at compile time, at a dispatch and by the command, and the reason names the op. */
#include "support/test.h"

#include "vyre/driver.h"
#include "vyre/pipeline.h"
#include "vyre/registry.h"

#include <sys/wait.h>
#include <unistd.h>

static const char *const ids[] = {"adds", "adds-late"};
enum { IDS = sizeof ids / sizeof *ids };

static const char *plugin_path(void) {
    static char path[1024];
    const char *folder = getenv("VYRE_BINARY_DIR");
    snprintf(path, sizeof path, "%s/plugins/adds.so", folder ? folder : VYRE_BINARY_DIR);
    return path;
}

static int load_plugin(void **state) {
    (void)state;
    unsetenv("VYRE_BACKEND");
    unsetenv("VYRE_PLUGINS");
    if (access(plugin_path(), R_OK) != 0) {
        printf("SKIP the plug-ins for tests are not here (%s)\n", plugin_path());
        return 0;
    }
    return vyre_plugin_load(plugin_path(), NULL) == VYRE_OK ? 0 : -1;
}

static void need_plugin(void) {
    if (access(plugin_path(), R_OK) != 0)
        skip();
}

#define PROGRAM(op)                                                                                                    \
    "program p {\n  buffer x : u32 read_write\n  workgroup 4\n  grid over x\n  let i = global_id.x\n"                  \
    "  x[i] = x[i] " op " i\n}\n"

static vyre_candidate candidate(const vyre_selection *report, const char *id) {
    vyre_candidate c;
    for (size_t i = 0; vyre_selection_get(report, i, &c); i++)
        if (strcmp(c.id, id) == 0)
            return c;
    fail_msg("no candidate `%s`", id);
    return c;
}

static void selection_refuses_the_backends_and_names_the_op(void **state) {
    (void)state;
    need_plugin();
    vyre_program *program = vy_test_parse(PROGRAM("*"));
    for (int i = 0; i < IDS; i++) {
        vyre_policy policy = {.only = ids[i], .program = program};
        vyre_backend *backend = NULL;
        vyre_selection *report = NULL;
        vyre_error error = VYRE_ERROR_INIT;
        assert_int_equal(vyre_select(&policy, &backend, &report, &error), VYRE_NOT_FOUND);
        assert_null(backend);
        assert_non_null(strstr(error.message, "`mul`"));
        assert_int_equal(candidate(report, ids[i]).verdict, VYRE_VERDICT_UNSUPPORTED);
        assert_non_null(strstr(candidate(report, ids[i]).reason, "`mul`"));
        assert_non_null(strstr(candidate(report, ids[i]).fix, "`mul`"));
        vyre_selection_free(report);
    }
    /* Both come first; the report contains the reason for skipping them, whichever is chosen after them. */
    vyre_policy policy = {.allow_cpu = 1, .program = program};
    vyre_backend *backend = NULL;
    vyre_selection *report = NULL;
    (void)vyre_select(&policy, &backend, &report, NULL);
    for (int i = 0; i < IDS; i++)
        assert_int_equal(candidate(report, ids[i]).verdict, VYRE_VERDICT_UNSUPPORTED);
    vyre_selection_free(report);
    vyre_backend_release(backend);
    vyre_program_release(program);
}

static void selection_accepts_what_they_list(void **state) {
    (void)state;
    need_plugin();
    vyre_program *program = vy_test_parse(PROGRAM("+"));
    vyre_policy policy = {.program = program};
    vyre_backend *backend = NULL;
    assert_int_equal(vyre_select(&policy, &backend, NULL, NULL), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "adds");
    vyre_backend_release(backend);
    vyre_program_release(program);
}

static void ops_in_the_bodies_of_dialect_ops_count(void **state) {
    (void)state;
    need_plugin();
    vyre_program *program =
        vy_test_parse("program p {\n  buffer x : u32 read_write\n  workgroup 4\n  grid over x\n"
                      "  let i = global_id.x\n  let z : u32 = bits.parity_u32(x[i])\n  x[i] = z\n}\n");
    for (int i = 0; i < IDS; i++) {
        vyre_policy policy = {.only = ids[i], .program = program};
        vyre_backend *backend = NULL;
        vyre_error error = VYRE_ERROR_INIT;
        assert_int_equal(vyre_select(&policy, &backend, NULL, &error), VYRE_NOT_FOUND);
        assert_non_null(strstr(error.message, "does not run `popcount`"));
    }
    vyre_program_release(program);
}

static void compiling_and_dispatching_refuse_the_op(void **state) {
    (void)state;
    need_plugin();
    vyre_program *adding = vy_test_parse(PROGRAM("+")), *multiplying = vy_test_parse(PROGRAM("*"));
    for (int i = 0; i < IDS; i++) {
        uint32_t data[4] = {10, 20, 30, 40};
        vyre_span input = {data, sizeof data};
        vyre_arguments arguments = {.inputs = &input, .input_count = 1};
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_pipeline *pipeline = NULL;
        vyre_backend *backend = NULL;
        vyre_error error = VYRE_ERROR_INIT;
        char wanted[128];
        assert_int_equal(vyre_acquire(ids[i], &backend, &error), VYRE_OK);
        snprintf(wanted, sizeof wanted, "backend `%s` does not run `mul`, which program `p` uses", ids[i]);
        assert_int_equal(vyre_compile(backend, multiplying, NULL, &pipeline, &error), VYRE_UNSUPPORTED);
        assert_string_equal(error.message, wanted);
        assert_int_equal(vyre_backend_dispatch(backend, multiplying, &arguments, NULL, &outputs, NULL, &error),
                         VYRE_UNSUPPORTED);
        assert_string_equal(error.message, wanted);
        assert_int_equal(vyre_compile(backend, adding, NULL, &pipeline, &error), VYRE_OK);
        assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, &error), VYRE_OK);
        assert_int_equal(((const uint32_t *)outputs.items[0].data)[3], 43);
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
        vyre_backend_release(backend);
    }
    vyre_program_release(adding);
    vyre_program_release(multiplying);
}

static int run_command(const char *op, char *text, size_t size) {
    char line[4096], body[256];
    snprintf(body, sizeof body, PROGRAM("%s"), op);
    snprintf(line, sizeof line, "printf '%%s' '%s' | VYRE_PLUGINS='%s' '%s' run - x=1,2,3 --backend adds 2>&1", body,
             plugin_path(), vy_test_command());
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    text[fread(text, 1, size - 1, pipe)] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_command_refuses_the_op(void **state) {
    (void)state;
    need_plugin();
    char text[4096];
    if (access(vy_test_command(), X_OK) != 0)
        VY_SKIP("the_command_refuses_the_op: no command at %s", vy_test_command());
    if (run_command("+", text, sizeof text) != 0 || !strstr(text, "1  3  5"))
        fail_msg("%s", text);
    if (run_command("*", text, sizeof text) == 0 || !strstr(text, "`mul`"))
        fail_msg("%s", text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_refuses_the_backends_and_names_the_op),
        cmocka_unit_test(selection_accepts_what_they_list),
        cmocka_unit_test(ops_in_the_bodies_of_dialect_ops_count),
        cmocka_unit_test(compiling_and_dispatching_refuse_the_op),
        cmocka_unit_test(the_command_refuses_the_op),
    };
    return cmocka_run_group_tests_name("a plug-in with few ops", tests, load_plugin, NULL);
}
