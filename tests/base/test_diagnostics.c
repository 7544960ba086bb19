#include "base/diagnostics.h"
#include "support/fault.h"
#include "support/test.h"

static const vy_position nowhere = {0, 0, 0};

static char *rendered(const vyre_diagnostics *list, int json) {
    static vyre_bytes bytes;
    static char copy[8192];
    vyre_error error;
    vyre_status status =
        json ? vyre_diagnostics_render_json(list, &bytes, &error) : vyre_diagnostics_render(list, &bytes, &error);
    assert_int_equal(status, VYRE_OK);
    assert_true(bytes.size < sizeof copy);
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = 0;
    vyre_bytes_free(&bytes);
    return copy;
}

/* Renders one finding in a line of text. */
static char *excerpt(const char *line, uint32_t column, uint32_t length) {
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_source *source = vy_source_new("f", line, strlen(line));
    vy_diagnostic_add(list, source, "V001", VYRE_SEVERITY_ERROR, (vy_position){1, column, length}, "x", "m");
    char *text = rendered(list, 0);
    vy_source_release(source);
    vyre_diagnostics_free(list);
    return text;
}

static void a_finding_shows_place_line_caret_and_fix(void **state) {
    (void)state;
    const char *text = "program p {\n  let x = foo\n}\n";
    vy_source *source = vy_source_new("saxpy.vyre", text, strlen(text));
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_diagnostic_add(list, source, "V012", VYRE_SEVERITY_ERROR, (vy_position){2, 11, 3}, VY_FIX("declare `%s`", "foo"),
                      "`%s` is not declared", "foo");
    vy_diagnostic_add(list, NULL, NULL, VYRE_SEVERITY_WARNING, nowhere, NULL, "no place");
    vy_source_release(source); /* the list needs it no longer */
    assert_string_equal(rendered(list, 0), "saxpy.vyre:2:11: error V012: `foo` is not declared\n"
                                           "    2 |   let x = foo\n"
                                           "      |           ^~~\n"
                                           "Fix: declare `foo`\n"
                                           "\n"
                                           "warning: no place\n"
                                           "Fix: correct the program at this position\n");
    assert_string_equal(
        rendered(list, 1),
        "[\n  {\"code\": \"V012\", \"severity\": \"error\", \"message\": \"`foo` is not declared\", \"fix\": \"declare "
        "`foo`\", "
        "\"file\": \"saxpy.vyre\", \"source_line\": \"  let x = foo\", \"line\": 2, \"column\": 11, \"length\": 3},\n"
        "  {\"code\": \"\", \"severity\": \"warning\", \"message\": \"no place\", \"fix\": \"correct the program at "
        "this position\", "
        "\"file\": \"\", \"source_line\": null, \"line\": 0, \"column\": 0, \"length\": 0}\n]\n");
    const vyre_diagnostic *first = vyre_diagnostics_get(list, 0);
    assert_string_equal(first->source_line, "  let x = foo");
    assert_int_equal(vyre_diagnostics_count(list), 2);
    assert_int_equal(vyre_diagnostics_errors(list), 1);
    assert_null(vyre_diagnostics_get(list, 2));
    vyre_diagnostics_clear(list);
    assert_int_equal(vyre_diagnostics_count(list) + vyre_diagnostics_errors(list), 0);
    assert_string_equal(rendered(list, 0), "");
    assert_string_equal(rendered(list, 1), "[]\n");
    vyre_diagnostics_free(list);
}

static void no_list_is_an_empty_list(void **state) {
    (void)state;
    vy_diagnostic_add(NULL, NULL, "V001", VYRE_SEVERITY_ERROR, nowhere, NULL, "x");
    assert_int_equal(vyre_diagnostics_count(NULL), 0);
    assert_int_equal(vyre_diagnostics_errors(NULL), 0);
    assert_null(vyre_diagnostics_get(NULL, 0));
    vyre_diagnostics_clear(NULL);
    vyre_diagnostics_free(NULL);
    assert_string_equal(rendered(NULL, 0), "");
    assert_string_equal(rendered(NULL, 1), "[]\n");
    assert_int_equal(vyre_diagnostics_render(NULL, NULL, NULL), VYRE_INVALID_ARGUMENT);
}

static void the_caret_lines_up_behind_tabs_and_wide_characters(void **state) {
    (void)state;
    assert_string_equal(excerpt("\tx\ty", 4, 1),
                        "f:1:4: error V001: m\n    1 |     x   y\n      |         ^\nFix: x\n");
    assert_string_equal(excerpt("\xc3\xa4\xe4\xb8\xad z", 7, 1),
                        "f:1:7: error V001: m\n    1 | \xc3\xa4\xe4\xb8\xad z\n      |     ^\nFix: x\n");
    assert_string_equal(excerpt("e\xcc\x81 z", 5, 1),
                        "f:1:5: error V001: m\n    1 | e\xcc\x81 z\n      |   ^\nFix: x\n");
    assert_string_equal(excerpt("\xe4\xb8\xad\xe4\xb8\xad", 1, 6),
                        "f:1:1: error V001: m\n    1 | \xe4\xb8\xad\xe4\xb8\xad\n      | ^~~~\nFix: x\n");
}

static void the_caret_stays_with_the_line(void **state) {
    (void)state;
    assert_string_equal(excerpt("abc", 4, 1), "f:1:4: error V001: m\n    1 | abc\n      |    ^\nFix: x\n");
    assert_string_equal(excerpt("abc", 900, 5), "f:1:900: error V001: m\n    1 | abc\n      |    ^\nFix: x\n");
    assert_string_equal(excerpt("abc", 2, UINT32_MAX), "f:1:2: error V001: m\n    1 | abc\n      |  ^~\nFix: x\n");
    assert_string_equal(excerpt("abc", 0, 0), "f:1:0: error V001: m\n    1 | abc\n      | ^\nFix: x\n");
}

static void program_text_cannot_command_the_terminal(void **state) {
    (void)state;
    char *text = excerpt("a\x1b[2Jb\xff\x07\xe2\x80\xae", 7, 1);
    assert_null(strpbrk(text, "\x1b\x07\xff"));
    assert_null(strstr(text, "\xe2\x80\xae"));
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_diagnostic_add(list, NULL, "V001", VYRE_SEVERITY_ERROR, nowhere, "fix\x1b", "message \x1b and\ntwo lines");
    text = rendered(list, 0);
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "and\ntwo lines"));
    vyre_diagnostics_free(list);
}

static void of_a_long_line_the_part_around_the_caret_is_shown(void **state) {
    (void)state;
    static char line[5001];
    memset(line, 'a', 5000);
    memcpy(line + 3000, "HERE", 4);
    char *text = excerpt(line, 3001, 4);
    assert_non_null(strstr(text, "HERE"));
    char *shown = strchr(text, '\n') + 1, *caret = strchr(shown, '\n') + 1;
    assert_true(strlen(text) < 400);
    assert_int_equal(strstr(shown, "HERE") - shown, strchr(caret, '^') - caret);
    assert_non_null(strstr(caret, "^~~~\n"));
    assert_memory_equal(strchr(shown, '|') + 2, "...", 3);
    text = excerpt(line, 1, 5000);
    assert_true(strlen(text) < 400);
    assert_non_null(strstr(text, "...\n"));
    text = excerpt(line, 5001, 1); /* after its end */
    assert_true(strlen(text) < 400);
    assert_non_null(strstr(text, "a\n"));
    /* Characters stay whole wherever the line is cut. */
    for (int i = 0; i + 3 <= 5000; i += 3)
        memcpy(line + i, "\xe2\x82\xac", 3);
    for (uint32_t column = 2999; column < 3003; column++) {
        text = excerpt(line, column, 1);
        assert_true(strlen(text) < 800);
        assert_null(strstr(text, "\xef\xbf\xbd"));
    }
}

static void a_line_of_megabytes_costs_no_more_than_its_window(void **state) {
    (void)state;
    const size_t size = 4u << 20;
    char *line = malloc(size + 1);
    assert_non_null(line);
    memset(line, 'a', size);
    line[size] = 0;
    vy_source *source = vy_source_new("f", line, size);
    vyre_diagnostics *list = vyre_diagnostics_new();
    for (uint32_t i = 0; i < 20; i++)
        vy_diagnostic_add(list, source, "V001", VYRE_SEVERITY_ERROR, (vy_position){1, 4000000 + i, 1}, "x", "m");
    assert_true(strlen(rendered(list, 0)) < 20 * 400);
    assert_true(strlen(rendered(list, 1)) < 20 * 400);
    assert_non_null(strstr(rendered(list, 1), "\"source_line\": null"));
    vyre_diagnostics_free(list);
    vy_source_release(source);
    free(line);
}

static void a_hundred_errors_are_kept_and_the_rest_counted(void **state) {
    (void)state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    for (int i = 0; i < 150; i++) {
        vy_diagnostic_add(list, NULL, "V001", VYRE_SEVERITY_ERROR, nowhere, NULL, "error %d", i);
        vy_diagnostic_add(list, NULL, "V001", VYRE_SEVERITY_NOTE, nowhere, NULL, "note %d", i);
    }
    assert_int_equal(vyre_diagnostics_errors(list), 150);
    assert_int_equal(vyre_diagnostics_count(list), 201);
    assert_string_equal(vyre_diagnostics_get(list, 198)->message, "error 99");
    assert_string_equal(vyre_diagnostics_get(list, 199)->message, "note 99");
    assert_string_equal(vyre_diagnostics_get(list, 200)->message, "50 more findings are not shown");
    vyre_diagnostics_free(list);
}

static void endless_warnings_leave_room_for_errors(void **state) {
    (void)state;
    vyre_diagnostics *list = vyre_diagnostics_new();
    for (int i = 0; i < 5000; i++)
        vy_diagnostic_add(list, NULL, "V001", VYRE_SEVERITY_WARNING, nowhere, NULL, "warning %d", i);
    vy_diagnostic_add(list, NULL, "V001", VYRE_SEVERITY_ERROR, nowhere, NULL, "the error");
    assert_int_equal(vyre_diagnostics_errors(list), 1);
    assert_int_equal(vyre_diagnostics_count(list), 1002);
    assert_string_equal(vyre_diagnostics_get(list, 1000)->message, "the error");
    vyre_diagnostics_free(list);
}

static void the_first_error_becomes_the_error_of_the_call(void **state) {
    (void)state;
    vyre_error error;
    assert_int_equal(vy_diagnostics_fail(NULL, VYRE_INVALID_PROGRAM, "it is wrong", &error), VYRE_INVALID_PROGRAM);
    assert_string_equal(error.message, "it is wrong");
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_source *source = vy_source_new("a.vyre", "x\n", 2);
    vy_diagnostic_add(list, source, "V002", VYRE_SEVERITY_WARNING, (vy_position){1, 1, 1}, NULL, "only a warning");
    vy_diagnostics_fail(list, VYRE_INVALID_PROGRAM, "it is wrong", &error);
    assert_string_equal(error.message, "it is wrong");
    vy_diagnostic_add(list, source, "V003", VYRE_SEVERITY_ERROR, (vy_position){1, 1, 1}, "mend", "broken");
    vy_diagnostics_fail(list, VYRE_INVALID_PROGRAM, "it is wrong", &error);
    assert_string_equal(error.message, "V003 broken");
    assert_string_equal(error.fix, "mend");
    assert_string_equal(error.where, "a.vyre:1:1");
    vy_diagnostic_add(list, source, "V004", VYRE_SEVERITY_ERROR, (vy_position){1, 1, 1}, "mend", "broken too");
    vy_diagnostics_fail(list, VYRE_INVALID_PROGRAM, "it is wrong", &error);
    assert_string_equal(error.message, "V003 broken (and 1 more error)");
    vy_source_release(source);
    vyre_diagnostics_free(list);
}

static vyre_status report(void *user) {
    (void)user;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_source *source = vy_source_new("a.vyre", "line one\nline two\n", 18);
    char long_text[3000];
    memset(long_text, 'w', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    for (uint32_t i = 0; i < 40; i++)
        vy_diagnostic_add(list, source, "V001", VYRE_SEVERITY_ERROR, (vy_position){i % 3, 1, 2}, NULL, "%s", long_text);
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error;
    /* Every error is counted, kept or not. */
    assert_true(!list || vyre_diagnostics_errors(list) == 40);
    size_t kept = vyre_diagnostics_count(list);
    int lost = !list || strstr(vyre_diagnostics_get(list, kept - 1)->message, "lost because memory ran out");
    vyre_status status = vyre_diagnostics_render(list, &text, &error);
    if (status == VYRE_OK)
        status = vyre_diagnostics_render_json(list, &text, &error);
    if (lost || !source)
        status = VYRE_NO_MEMORY;
    vyre_bytes_free(&text);
    vy_source_release(source);
    vyre_diagnostics_free(list);
    return status;
}

static void findings_lost_for_memory_are_counted(void **state) {
    (void)state;
    assert_true(VY_FAULT_LOOP(report, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_shows_place_line_caret_and_fix),
        cmocka_unit_test(no_list_is_an_empty_list),
        cmocka_unit_test(the_caret_lines_up_behind_tabs_and_wide_characters),
        cmocka_unit_test(the_caret_stays_with_the_line),
        cmocka_unit_test(program_text_cannot_command_the_terminal),
        cmocka_unit_test(of_a_long_line_the_part_around_the_caret_is_shown),
        cmocka_unit_test(a_line_of_megabytes_costs_no_more_than_its_window),
        cmocka_unit_test(a_hundred_errors_are_kept_and_the_rest_counted),
        cmocka_unit_test(endless_warnings_leave_room_for_errors),
        cmocka_unit_test(the_first_error_becomes_the_error_of_the_call),
        cmocka_unit_test(findings_lost_for_memory_are_counted),
    };
    return cmocka_run_group_tests_name("diagnostics", tests, NULL, NULL);
}
