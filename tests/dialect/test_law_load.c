/* A manifest whose laws do not hold is not loaded, nor one that breaks a law of somebody else. */
#include "dialect/law_check.h"
#include "dialect/manifests.h"
#include "support/fault.h"

/* An op d.f with a law and a body over one u32, on a line of its own each. */
static const char *manifest(const char *dialect, const char *law, const char *body) {
    static char text[2][1024];
    static int turn;
    char *out = text[turn ^= 1];
    snprintf(
        out, sizeof text[0],
        "dialect = '%s'\nversion = '1.0.0'\n[[op]]\nid = 'f'\nsignature = 'fn f(a: u32) -> u32'\nlaws = [\n  %s,\n]\n"
        "body = '''\nfn f(a: u32) -> u32 {\n%s\n}\n'''\n",
        dialect, law, body);
    return out;
}

static vyre_status load(const char *owner, const char *text, vyre_diagnostics *list, vyre_error *error) {
    return vyre_dialects_load_text(owner, text, strlen(text), list, error);
}

static void a_false_law_refuses_the_manifest_at_its_place(void **state) {
    (void)state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;
    uint64_t before = manifests_generation();
    assert_int_equal(load("mine", manifest("d", "'involution'", "return a + 1"), list, &error), VYRE_INVALID_PROGRAM);
    assert_int_equal(manifests_generation(), before);
    assert_false(manifests_has("d.f"));
    assert_int_equal(vyre_diagnostics_count(list), 1);
    const vyre_diagnostic *first = vyre_diagnostics_get(list, 0);
    assert_string_equal(first->code, "D123");
    assert_string_equal(first->file, "mine");
    assert_int_equal(first->line, 7);
    assert_int_equal(first->column, 3);
    assert_string_equal(first->message,
                        "the law `involution` does not hold for `d.f`: f(f(a)) is 2u32 and a is 0u32 at a = 0u32");
    assert_string_equal(first->fix, "remove the law, or correct the body");
    assert_non_null(strstr(error.message, "f(f(a)) is 2u32"));
    vyre_diagnostics_free(list);
}

static void every_false_law_is_reported(void **state) {
    (void)state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    const char *text = manifest("d", "'involution', 'idempotent', 'monotone', 'antitone'", "return a + 1");
    assert_int_equal(load("mine", text, list, NULL), VYRE_INVALID_PROGRAM);
    assert_int_equal(vyre_diagnostics_count(list), 4);
    vyre_diagnostics_free(list);
}

static void false_laws_of_several_ops_are_reported_together(void **state) {
    (void)state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    const char *text = "dialect = 'd'\nversion = '1.0.0'\n"
                       "[[op]]\nid = 'f'\nsignature = 'fn f(a: u8) -> u8'\nlaws = ['involution']\n"
                       "body = 'fn f(a: u8) -> u8 { return a + 1 }'\n"
                       "[[op]]\nid = 'g'\nsignature = 'fn g(a: u8) -> u8'\nlaws = ['idempotent']\n"
                       "body = 'fn g(a: u8) -> u8 { return a + 1 }'\n";
    assert_int_equal(load("mine", text, list, NULL), VYRE_INVALID_PROGRAM);
    assert_int_equal(vyre_diagnostics_count(list), 2);
    vyre_diagnostics_free(list);
}

static void a_reload_with_a_false_law_leaves_what_was_there(void **state) {
    (void)state;
    vyre_error error;
    assert_int_equal(load("mine", manifest("d", "'involution'", "return ~a"), NULL, &error), VYRE_OK);
    uint64_t before = manifests_generation();
    assert_int_equal(load("mine", manifest("d", "'involution'", "return a + 1"), NULL, &error), VYRE_INVALID_PROGRAM);
    assert_int_equal(manifests_generation(), before);
    assert_int_equal(load("mine", manifest("d", "'involution'", "return a ^ 5"), NULL, &error), VYRE_OK);
    assert_int_equal(manifests_generation(), before + 1);
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
}

static void a_law_that_names_no_op_is_refused(void **state) {
    (void)state;
    vyre_error error;
    assert_int_equal(load("mine", manifest("d", "{ law = 'inverse_of', op = 'g' }", "return a"), NULL, &error),
                     VYRE_NOT_FOUND);
    assert_non_null(strstr(error.message, "names `d.g`, which no dialect provides"));
}

/* e.f is the inverse of d.f, or calls it. */
static void breaks_another(const char *law, const char *body) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error;
    assert_int_equal(load("mine", manifest("d", "'monotone'", "return a"), NULL, &error), VYRE_OK);
    assert_int_equal(load("theirs", manifest("e", law, body), NULL, &error), VYRE_OK);
    uint64_t before = manifests_generation();
    assert_int_equal(load("mine", manifest("d", "'monotone'", "return a / 2"), list, &error), VYRE_INVALID_PROGRAM);
    assert_int_equal(manifests_generation(), before);
    assert_int_equal(vyre_diagnostics_count(list), 1);
    assert_string_equal(vyre_diagnostics_get(list, 0)->file, "mine");
    assert_int_equal(vyre_diagnostics_get(list, 0)->line, 1);
    assert_non_null(strstr(vyre_diagnostics_get(list, 0)->message, "does not hold for `e.f`"));
    assert_string_equal(vyre_diagnostics_get(list, 0)->fix, "correct the body here, or remove the law there (theirs)");
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK); /* an op that is gone breaks nothing */
    assert_int_equal(vyre_dialects_unload("theirs", NULL), VYRE_OK);
    vyre_diagnostics_free(list);
}

static void a_change_that_breaks_a_law_of_another_dialect_is_refused(void **state) {
    (void)state;
    breaks_another("{ law = 'inverse_of', op = 'd.f' }", "return a");
    breaks_another("'involution'", "let r : u32 = d.f(a)\nreturn ~r");
}

static void count_broken(void *count, const vyre_error *why) {
    (void)why;
    ++*(int *)count;
}

static vyre_status check_dependents(void *guard) {
    int count = 0;
    vy_law_cache_clear();
    vyre_status status = vy_law_check_dependents(*(vyre_dialects_guard *)guard, "d", count_broken, &count);
    assert_int_equal(count, 0);
    return status;
}

static void the_kth_allocation_fails_among_dependents(void **state) {
    (void)state;
    vyre_dialect_builder *builder;
    vyre_dialects_guard guard;
    assert_int_equal(load("mine", manifest("d", "'monotone'", "return a"), NULL, NULL), VYRE_OK);
    assert_int_equal(load("theirs", manifest("e", "'involution'", "let r : u32 = d.f(a)\nreturn ~r"), NULL, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_dialect_builder_new(&builder, NULL), VYRE_OK);
    assert_int_equal(vy_law_candidate_open(builder, &guard, NULL), VYRE_OK);
    assert_true(VY_FAULT_LOOP_LENIENT(check_dependents, &guard) > 10); /* findings nobody asked for need no memory */
    vy_law_candidate_close(&guard);
    vyre_dialect_builder_free(builder);
    assert_int_equal(vyre_dialects_unload("theirs", NULL), VYRE_OK);
    assert_int_equal(vyre_dialects_unload("mine", NULL), VYRE_OK);
}

static void watching_keeps_a_manifest_whose_law_broke(void **state) {
    const char *folder = *state;
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    vyre_error error;
    options.folders = &folder;
    options.folder_count = 1;
    options.is_manual = 1;
    manifests_write(folder, "d.toml", manifest("d", "'involution'", "return ~a"));
    assert_int_equal(vyre_dialects_watch(&options, &watcher, &error), VYRE_OK);
    assert_true(manifests_has("d.f"));
    uint64_t before = manifests_generation();
    manifests_swap(folder, "d.toml", manifest("d", "'involution'", "return a * 3"));
    manifests_write(folder, "e.toml", manifest("e", "'monotone'", "return a / 3"));
    assert_int_equal(vyre_dialects_rescan(watcher, &error), VYRE_INVALID_PROGRAM);
    assert_non_null(strstr(error.message, "does not hold for `d.f`"));
    assert_int_equal(manifests_generation(), before + 1); /* the other one came in */
    assert_true(manifests_has("e.f"));
    manifests_swap(folder, "d.toml", manifest("d", "'involution'", "return a ^ 3"));
    assert_int_equal(vyre_dialects_rescan(watcher, &error), VYRE_OK);
    assert_int_equal(manifests_generation(), before + 2);
    vyre_dialects_watcher_stop(watcher);
    manifests_unload(folder, "d.toml");
    manifests_unload(folder, "e.toml");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_false_law_refuses_the_manifest_at_its_place),
        cmocka_unit_test(every_false_law_is_reported),
        cmocka_unit_test(false_laws_of_several_ops_are_reported_together),
        cmocka_unit_test(a_reload_with_a_false_law_leaves_what_was_there),
        cmocka_unit_test(a_law_that_names_no_op_is_refused),
        cmocka_unit_test(a_change_that_breaks_a_law_of_another_dialect_is_refused),
        cmocka_unit_test(the_kth_allocation_fails_among_dependents),
        MANIFESTS_TEST(watching_keeps_a_manifest_whose_law_broke),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
