/* The log of dialects: what is added, replaced and removed, and what is refused, reaches the sink once, while none of
 * the library's locks is held. */
#include "dialect/fixture.h"

#include "vyre/manifest.h"
#include "vyre/registry.h"
#include "vyre/telemetry.h"

#include <sys/stat.h>
#include <unistd.h>

static char lines[8192];
static unsigned line_count;

/* Calls back: a sink may use the library. */
static void collect(void *user, int level, const char *source, const char *message) {
    (void)user;
    size_t used = strlen(lines);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_dialects_release(&guard);
    vyre_dialect_builder *builder;
    assert_int_equal(vyre_dialect_builder_new(&builder, NULL), VYRE_OK);
    vyre_dialect_builder_free(builder);
    assert_null(vyre_backend_find("nobody's"));
    assert_int_equal(vyre_module_register(&(vyre_module_descriptor){.struct_size = sizeof(vyre_module_descriptor),
                                                                    .abi = VYRE_BACKEND_ABI,
                                                                    .name = "of the sink"},
                                          NULL),
                     VYRE_OK);
    snprintf(lines + used, sizeof lines - used, "%d %s: %s\n", level, source, message);
    line_count++;
}

static int start(void **state) {
    (void)state;
    (void)vyre_dialects_update(fixture_nothing, NULL, NULL);
    lines[0] = 0;
    line_count = 0;
    vyre_log_set_sink(collect, NULL);
    return 0;
}

static int stop(void **state) {
    (void)state;
    vyre_log_set_sink(NULL, NULL);
    return 0;
}

/* Exactly one line since the last call, with these parts. */
static void expect_line(const char *begin, const char *part, int line) {
    if (line_count != 1 || strncmp(lines, begin, strlen(begin)) != 0 || !strstr(lines, part))
        fail_msg("line %d: %u lines:\n%s", line, line_count, lines);
    lines[0] = 0;
    line_count = 0;
}
#define EXPECT_LINE(begin, part) expect_line(begin, part, __LINE__)

static vyre_status replace(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    const fixture_dialect *dialect = user;
    return vyre_dialect_builder_replace(builder, &dialect->dialect, dialect->list, dialect->count, error);
}

static void every_change_of_a_dialect_is_logged(void **state) {
    (void)state;
    fixture_dialect one, two;
    fixture_make(&one, "log", "one.toml", "op", 1);
    fixture_make(&two, "other", "two.toml", "op", 1);
    assert_int_equal(vyre_dialects_update(replace, &one, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: added `log` 1.0.0 of `one.toml`", "(generation ");
    assert_int_equal(vyre_dialects_update(replace, &two, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: added `other` 1.0.0 of `two.toml`", "");
    one.dialect.version = "1.1.0";
    assert_int_equal(vyre_dialects_update(replace, &one, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: replaced `log` 1.0.0 by 1.1.0 of `one.toml`", "");
    vyre_dialect_builder *builder;
    assert_int_equal(vyre_dialect_builder_new(&builder, NULL), VYRE_OK);
    assert_int_equal(vyre_dialect_builder_remove(builder, "log", NULL, NULL), VYRE_OK);
    assert_int_equal(line_count, 0); /* not installed yet */
    assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: removed `log` 1.1.0 of `one.toml`", "");
    vyre_dialect_builder_free(builder);
}

static void conflicts_are_logged_once(void **state) {
    (void)state;
    fixture_dialect one, two;
    fixture_make(&one, "log", "one.toml", "op", 1);
    fixture_make(&two, "log", "two.toml", "op", 1);
    assert_int_equal(vyre_dialects_update(replace, &one, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: added", "");
    assert_int_equal(vyre_dialects_update(replace, &two, NULL), VYRE_CONFLICT);
    EXPECT_LINE("1 dialects: ", "the dialect `log` is provided by `one.toml`, so `two.toml` cannot provide it, too");
    vyre_dialect_builder *builder, *faster;
    assert_int_equal(vyre_dialect_builder_new(&builder, NULL), VYRE_OK);
    assert_int_equal(vyre_dialect_builder_new(&faster, NULL), VYRE_OK);
    assert_int_equal(vyre_dialect_builder_add(builder, &one.dialect, one.list, 1, NULL), VYRE_DUPLICATE);
    EXPECT_LINE("1 dialects: ", "the dialect `log` is already registered");
    assert_int_equal(vyre_dialect_builder_remove(faster, "log", NULL, NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_install(faster, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: removed", "");
    assert_int_equal(vyre_dialects_install(builder, NULL), VYRE_CONFLICT);
    EXPECT_LINE("1 dialects: ", "another snapshot was installed");
    vyre_dialect_builder_free(builder);
    vyre_dialect_builder_free(faster);
}

#define MANIFEST(version, body)                                                                                        \
    "dialect = \"log\"\nversion = \"" version "\"\n[[op]]\nid = \"f\"\nsignature = \"fn f(x: u32) -> u32\"\n"          \
    "body = \"fn f(x: u32) -> u32 { return " body " }\"\n"

static vyre_status load(const char *owner, const char *text, vyre_error *error) {
    return vyre_dialects_load_text(owner, text, strlen(text), NULL, error);
}

static void loading_and_reloading_are_logged(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(load("mine", MANIFEST("1.0.0", "x"), NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: added `log` 1.0.0 of `mine`", "");
    assert_int_equal(load("mine", MANIFEST("1.0.1", "x + 1"), NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: replaced `log` 1.0.0 by 1.0.1 of `mine`", "");
    /* The parts of a conflict outlive the finding that is made of it. */
    assert_int_equal(load("theirs", MANIFEST("1.0.0", "x"), &error), VYRE_CONFLICT);
    EXPECT_LINE("1 dialects: not loaded: ", "`log` is provided by `mine`");
    assert_string_equal(error.subject, "log");
    assert_string_equal(error.first, "mine");
    assert_string_equal(error.second, "theirs");
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: removed `log` 1.0.1 of `mine`", "");
}

static void write_file(const char *folder, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/log.toml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void what_a_watcher_changes_is_logged(void **state) {
    (void)state;
    char folder[] = "/tmp/vyre-log-XXXXXX", command[128];
    assert_non_null(mkdtemp(folder));
    const char *folders[] = {folder};
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    options.folders = folders;
    options.folder_count = 1;
    options.is_manual = 1;
    write_file(folder, MANIFEST("1.0.0", "x"));
    assert_int_equal(vyre_dialects_watch(&options, &watcher, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: added `log` 1.0.0 of `/tmp/vyre-log-", "");
    write_file(folder, MANIFEST("1.0.1", "x + 1"));
    assert_int_equal(vyre_dialects_rescan(watcher, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: replaced `log` 1.0.0 by 1.0.1", "");
    vyre_dialects_watcher_stop(watcher);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void modules_are_logged(void **state) {
    (void)state;
    static const vyre_extern_dialect dialect = {sizeof dialect, "log-module", "2.0.0", NULL};
    static const vyre_extern_op op = {sizeof op, "log-module", "log-module::op", NULL};
    static const vyre_extern_dialect *const dialects[] = {&dialect};
    static const vyre_extern_op *const ops[] = {&op};
    static const vyre_module_descriptor first = {.struct_size = sizeof first,
                                                 .abi = VYRE_BACKEND_ABI,
                                                 .name = "first",
                                                 .extern_dialects = dialects,
                                                 .extern_dialects_end = dialects + 1};
    static const vyre_module_descriptor guest = {.struct_size = sizeof guest,
                                                 .abi = VYRE_BACKEND_ABI,
                                                 .name = "guest",
                                                 .extern_ops = ops,
                                                 .extern_ops_end = ops + 1};
    static const vyre_module_descriptor second = {.struct_size = sizeof second,
                                                  .abi = VYRE_BACKEND_ABI,
                                                  .name = "second",
                                                  .extern_dialects = dialects,
                                                  .extern_dialects_end = dialects + 1};
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_module_register(&first, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: added `log-module` 2.0.0 of `first`", "");
    assert_int_equal(vyre_module_register(&guest, NULL), VYRE_OK);
    EXPECT_LINE("2 dialects: the number of ops changed from 0 to 1", "");
    assert_int_equal(vyre_module_register(&second, &error), VYRE_CONFLICT);
    EXPECT_LINE("1 registry: ", "is provided by `first`, so `second` cannot");
    assert_string_equal(error.subject, "log-module");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_change_of_a_dialect_is_logged, start, stop),
        cmocka_unit_test_setup_teardown(conflicts_are_logged_once, start, stop),
        cmocka_unit_test_setup_teardown(loading_and_reloading_are_logged, start, stop),
        cmocka_unit_test_setup_teardown(what_a_watcher_changes_is_logged, start, stop),
        cmocka_unit_test_setup_teardown(modules_are_logged, start, stop),
    };
    return cmocka_run_group_tests_name("the log of dialects", tests, NULL, NULL);
}
