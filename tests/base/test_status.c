#include "base/status.h"
#include "base/string.h"
#include "support/test.h"

static void every_status_has_a_name_a_fix_and_a_sentence(void **state) {
    (void)state;
#define X(ID, code, fix, doc)                                                                                          \
    assert_int_equal(VYRE_##ID, code);                                                                                 \
    assert_string_equal(vyre_status_name(VYRE_##ID), #ID);                                                             \
    assert_string_equal(vyre_status_fix(VYRE_##ID), fix);                                                              \
    assert_string_equal(vyre_status_doc(VYRE_##ID), doc);                                                              \
    assert_true(*vyre_status_fix(VYRE_##ID) && *vyre_status_doc(VYRE_##ID));
    VYRE_STATUS_LIST(X)
#undef X
}

static void a_code_outside_the_list_is_unknown(void **state) {
    (void)state;
    assert_string_equal(vyre_status_name((vyre_status)999), "UNKNOWN");
    assert_string_equal(vyre_status_name((vyre_status)-1), "UNKNOWN");
    assert_true(*vyre_status_fix((vyre_status)999));
    assert_true(*vyre_status_doc((vyre_status)999));
}

static void the_version_is_the_headers(void **state) {
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", VYRE_VERSION_MAJOR, VYRE_VERSION_MINOR, VYRE_VERSION_PATCH);
    assert_string_equal(vyre_version(), expected);
}

static void a_failure_fills_every_field(void **state) {
    (void)state;
    vyre_error error;
    memset(&error, 0x7f, sizeof error);
    vyre_status status =
        vy_fail(&error, VYRE_LIMIT, VY_FIX("lower it to %d", 4), "size (%d) is over the limit (%d)", 5, 4);
    assert_int_equal(status, VYRE_LIMIT);
    assert_int_equal(error.code, VYRE_LIMIT);
    assert_string_equal(error.message, "size (5) is over the limit (4)");
    assert_string_equal(error.fix, "lower it to 4");
    assert_string_equal(error.where, "");
    assert_int_equal(vy_fail_where(&error, "%s:%d", "a.vyre", 3), VYRE_LIMIT);
    assert_string_equal(error.where, "a.vyre:3");
}

static void without_a_fix_the_status_gives_one(void **state) {
    (void)state;
    vyre_error error;
    vy_fail_memory(&error, "a test");
    assert_int_equal(error.code, VYRE_NO_MEMORY);
    assert_string_equal(error.fix, vyre_status_fix(VYRE_NO_MEMORY));
    assert_non_null(strstr(error.message, "a test"));
    vy_fail(&error, VYRE_IO, "", "x");
    assert_string_equal(error.fix, vyre_status_fix(VYRE_IO));
}

static void no_error_to_fill_is_fine(void **state) {
    (void)state;
    assert_int_equal(vy_fail(NULL, VYRE_IO, NULL, "x"), VYRE_IO);
    assert_int_equal(vy_fail_where(NULL, "x"), VYRE_OK);
}

static void texts_that_do_not_fit_end_in_dots_between_characters(void **state) {
    (void)state;
    char longer[1200];
    for (size_t start = 0; start < 3; start++) { /* every alignment of a three-byte character to the end */
        memset(longer, 'x', start);
        size_t at = start;
        for (; at + 3 < sizeof longer; at += 3)
            memcpy(longer + at, "\xe2\x82\xac", 3);
        longer[at] = 0;
        vyre_error error;
        vy_fail(&error, VYRE_IO, longer, "%s", longer);
        vy_fail_where(&error, "%s", longer);
        const char *texts[] = {error.message, error.fix, error.where};
        const size_t rooms[] = {sizeof error.message, sizeof error.fix, sizeof error.where};
        for (int i = 0; i < 3; i++) {
            size_t length = strlen(texts[i]);
            assert_in_range(length, rooms[i] - 4, rooms[i] - 1);
            assert_string_equal(texts[i] + length - 3, "...");
            assert_int_equal(vy_utf8_valid(texts[i], length), length);
        }
    }
}

static void an_error_can_be_wrapped_in_itself(void **state) {
    (void)state;
    vyre_error error;
    vy_fail(&error, VYRE_IO, "mend it", "inner");
    vy_fail(&error, VYRE_CORRUPT, error.fix, "outer: %s", error.message);
    assert_string_equal(error.message, "outer: inner");
    assert_string_equal(error.fix, "mend it");
    vy_fail_where(&error, "w");
    vy_fail_where(&error, "%s!", error.where);
    assert_string_equal(error.where, "w!");
}

static void an_error_formats_with_its_fix(void **state) {
    (void)state;
    vyre_error error;
    vy_fail(&error, VYRE_LIMIT, "less", "too much");
    char text[128];
    size_t length = vyre_error_format(&error, text, sizeof text);
    assert_string_equal(text, "LIMIT: too much\nFix: less\n");
    assert_int_equal(length, strlen(text));
    vy_fail_where(&error, "a:1:2");
    vyre_error_format(&error, text, sizeof text);
    assert_string_equal(text, "LIMIT: too much (a:1:2)\nFix: less\n");
    char little[6];
    assert_int_equal(vyre_error_format(&error, little, sizeof little), strlen(text));
    assert_string_equal(little, "LIMIT");
    assert_int_equal(vyre_error_format(&error, NULL, 0), strlen(text));
    assert_true(vyre_error_format(NULL, text, sizeof text) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name_a_fix_and_a_sentence),
        cmocka_unit_test(a_code_outside_the_list_is_unknown),
        cmocka_unit_test(the_version_is_the_headers),
        cmocka_unit_test(a_failure_fills_every_field),
        cmocka_unit_test(without_a_fix_the_status_gives_one),
        cmocka_unit_test(no_error_to_fill_is_fine),
        cmocka_unit_test(texts_that_do_not_fit_end_in_dots_between_characters),
        cmocka_unit_test(an_error_can_be_wrapped_in_itself),
        cmocka_unit_test(an_error_formats_with_its_fix),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
