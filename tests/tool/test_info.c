/* vyre info on plug-ins: values that the plug-in states, and defaults of the library for what it leaves out. */
#include "support/test.h"
#include "tool/transcript.h"

#include <unistd.h>

static const char *plugin_path(const char *name) {
    static char path[1024];
    const char *build = getenv("VYRE_BINARY_DIR");
    snprintf(path, sizeof path, "%s/plugins/%s.so", build ? build : VYRE_BINARY_DIR, name);
    if (access(path, R_OK) != 0)
        VY_SKIP("no plug-in at %s", path);
    return path;
}

/* Runs the words with the plug-in loaded, and expects this output. */
static void expect(const char *plugin, const char *words, const char *expected) {
    char line[2048], folder[256];
    vy_string out = {0};
    snprintf(line, sizeof line, "VYRE_PLUGINS=%s vyre info %s", plugin_path(plugin), words);
    transcript_enter(folder);
    transcript_run(line, &out);
    transcript_leave(folder);
    assert_non_null(out.text);
    assert_string_equal(out.text, expected);
    vy_string_free(&out);
}

static void a_plugin_states_its_capabilities(void **state) {
    (void)state;
    expect("echo", "echo | grep -o 'max_workgroup_size.x.*'",
           "max_workgroup_size.x                   1024                 stated\n");
    expect("echo", "echo --json | grep -o '\"max_workgroup_size.x\":{[^}]*}'",
           "\"max_workgroup_size.x\":{\"value\":1024,\"source\":\"stated\"}\n");
}

static void what_a_plugin_leaves_out_is_a_default_or_unknown(void **state) {
    (void)state;
    expect("echo", "echo --json | grep -o '\"compute_units\":{[^}]*}'",
           "\"compute_units\":{\"value\":0,\"source\":\"default\"}\n");
    expect("echo", "echo --json | grep -o '\"max_storage_buffer_bytes\":{[^}]*}'",
           "\"max_storage_buffer_bytes\":{\"value\":0,\"source\":\"unknown\"}\n");
}

static void a_plugin_is_listed_with_the_others(void **state) {
    (void)state;
    expect("echo", "--json | grep -o '\"id\":\"echo\"'", "\"id\":\"echo\"\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_states_its_capabilities),
        cmocka_unit_test(what_a_plugin_leaves_out_is_a_default_or_unknown),
        cmocka_unit_test(a_plugin_is_listed_with_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
