#include "base/string.h"
#include "support/fault.h"
#include "support/test.h"

#include <limits.h>

static void appending_builds_a_terminated_text(void **state) {
    (void)state;
    vy_string string = {0};
    vy_string_add(&string, "one");
    vy_string_char(&string, ' ');
    vy_string_append(&string, "two!!", 3);
    vy_string_format(&string, " %d %s", 3, "four");
    assert_string_equal(string.text, "one two 3 four");
    assert_int_equal(string.length, strlen("one two 3 four"));
    vy_string_append(&string, NULL, 0);
    vy_string_free(&string);
    assert_null(string.text);
}

static void formatting_grows_to_any_length(void **state) {
    (void)state;
    vy_string string = {0};
    vy_string_format(&string, "%0*d|", 5000, 7);
    vy_string_format(&string, "%0*d", 9000, 8);
    assert_int_equal(string.length, 14001);
    assert_int_equal(string.text[4999], '7');
    assert_int_equal(string.text[14000], '8');
    vy_string_free(&string);
}

/* At every place where the room may end. */
static void formats_give_what_the_c_library_gives(void **state) {
    (void)state;
    for (int length = 0; length < 140; length++) {
        char want[512], long_text[160];
        vy_string string = {0};
        memset(long_text, 'x', sizeof long_text);
        long_text[length] = 0;
        vy_string_format(&string, "%s", long_text);
        vy_string_format(&string, "|%d,%d,%d,%u%%%c|%s|", INT_MIN, INT_MAX, -length, UINT_MAX, 'c', long_text);
        vy_string_format(&string, "%5d %s %04x", length, "", 255u);
        vy_string_format(&string, "%s%u", "", 0u);
        snprintf(want, sizeof want, "%s|%d,%d,%d,%u%%%c|%s|%5d %s %04x%s%u", long_text, INT_MIN, INT_MAX, -length,
                 UINT_MAX, 'c', long_text, length, "", 255u, "", 0u);
        assert_string_equal(string.text, want);
        assert_int_equal(string.length, strlen(want));
        vy_string_free(&string);
    }
}

static void what_is_prepended_stands_before_what_was_there(void **state) {
    (void)state;
    vy_string string = {0};
    vy_string_prepend(&string, "", 0);
    assert_null(string.text);
    vy_string_prepend(&string, "head", 4);
    assert_string_equal(string.text, "head");
    for (int i = 0; i < 100; i++)
        vy_string_add(&string, ", tail");
    vy_string_prepend(&string, "first, second", 7);
    assert_int_equal(string.length, 7 + 4 + 600);
    assert_int_equal(strlen(string.text), string.length);
    assert_memory_equal(string.text, "first, head, tail, tail", 23);
    vy_string_free(&string);
}

static void what_was_put_where_there_is_room_is_part_of_the_text(void **state) {
    (void)state;
    vy_string string = {0};
    for (int i = 0; i < 100; i++) {
        char *at = vy_string_reserve(&string, 24);
        assert_non_null(at);
        at = vy_write_text(at, "v");
        at = vy_write_text(vy_write_decimal(at, (uint64_t)i), " ");
        vy_string_commit(&string, at);
    }
    vy_string_add(&string, "end");
    assert_memory_equal(string.text, "v0 v1 v2 ", 9);
    assert_string_equal(string.text + string.length - 11, "v98 v99 end");
    vy_string_free(&string);
}

static void an_impossible_length_fails_without_harm(void **state) {
    (void)state;
    vy_string string = {0};
    vy_string_add(&string, "kept");
    vy_string_append(&string, "x", SIZE_MAX - 2);
    assert_null(vy_string_reserve(&string, 1));
    assert_true(string.failed);
    assert_string_equal(string.text, "kept");
    vy_string_free(&string);
}

static void expect_json(const char *text, const char *json) {
    vy_string string = {0};
    vy_string_json(&string, text);
    assert_string_equal(string.text, json);
    vy_string_free(&string);
}

static void json_strings_are_escaped(void **state) {
    (void)state;
    expect_json("", "\"\"");
    expect_json("a\"b\\c", "\"a\\\"b\\\\c\"");
    expect_json("\b\t\n\f\r\x01\x0b\x7f", "\"\\b\\t\\n\\f\\r\\u0001\\u000b\\u007f\"");
    expect_json("\xc3\xa4\xf0\x9f\x98\x80", "\"\xc3\xa4\xf0\x9f\x98\x80\"");
    expect_json("a\xff\xc3z", "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
}

static void taking_hands_the_memory_over(void **state) {
    (void)state;
    vy_fault_install();
    vy_string string = {0};
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(vyre_bytes_resize(&bytes, 10, NULL), VYRE_OK);
    vy_string_add(&string, "text");
    assert_int_equal(vy_string_to_bytes(&string, &bytes, NULL), VYRE_OK);
    assert_null(string.text);
    assert_int_equal(bytes.size, 4);
    assert_string_equal(bytes.data, "text"); /* the NUL is there, outside the size */
    vy_string empty = {0};
    assert_int_equal(vy_string_to_bytes(&empty, &bytes, NULL), VYRE_OK);
    assert_int_equal(bytes.size, 0);
    vyre_bytes_free(&bytes);
    assert_int_equal(vy_fault_live_blocks(), 0);
    assert_int_equal(vy_fault_mismatches(), 0);
    vy_fault_remove();
}

static vyre_status build_a_text(void *user) {
    (void)user;
    vy_string string = {0};
    vyre_bytes bytes = VYRE_BYTES_INIT;
    for (int i = 0; i < 200; i++) {
        vy_string_format(&string, "%d, ", i);
        vy_string_json(&string, "quoted \"text\" \xff");
        char *at = vy_string_reserve(&string, 20);
        if (at)
            vy_string_commit(&string, vy_write_decimal(at, UINT64_MAX));
    }
    vy_string_prepend(&string, "before", 6);
    vyre_error error;
    vyre_status status = vy_string_to_bytes(&string, &bytes, &error);
    assert_null(string.text);
    assert_true(status == VYRE_OK || (error.code == status && bytes.size == 0));
    vyre_bytes_free(&bytes);
    return status;
}

static void a_failed_append_is_reported_once_at_the_end(void **state) {
    (void)state;
    assert_true(VY_FAULT_LOOP(build_a_text, NULL) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appending_builds_a_terminated_text),
        cmocka_unit_test(formatting_grows_to_any_length),
        cmocka_unit_test(formats_give_what_the_c_library_gives),
        cmocka_unit_test(what_is_prepended_stands_before_what_was_there),
        cmocka_unit_test(what_was_put_where_there_is_room_is_part_of_the_text),
        cmocka_unit_test(an_impossible_length_fails_without_harm),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(taking_hands_the_memory_over),
        cmocka_unit_test(a_failed_append_is_reported_once_at_the_end),
    };
    return cmocka_run_group_tests_name("string", tests, NULL, NULL);
}
