#include "base/string.h"
#include "support/test.h"

/* Writes a code point as its definition says, to compare against. */
static size_t encode(uint32_t point, char *bytes) {
    if (point < 0x80)
        return bytes[0] = (char)point, 1;
    if (point < 0x800)
        return bytes[0] = (char)(0xc0 | point >> 6), bytes[1] = (char)(0x80 | (point & 63)), 2;
    if (point < 0x10000)
        return bytes[0] = (char)(0xe0 | point >> 12), bytes[1] = (char)(0x80 | (point >> 6 & 63)),
               bytes[2] = (char)(0x80 | (point & 63)), 3;
    return bytes[0] = (char)(0xf0 | point >> 18), bytes[1] = (char)(0x80 | (point >> 12 & 63)),
           bytes[2] = (char)(0x80 | (point >> 6 & 63)), bytes[3] = (char)(0x80 | (point & 63)), 4;
}

static void exactly_the_scalar_values_are_valid(void **state) {
    (void)state;
    for (uint32_t point = 0; point < 0x1fffff; point++) {
        char bytes[4];
        size_t length = encode(point, bytes);
        int scalar = point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
        uint32_t found = UINT32_MAX;
        if (vy_utf8_decode(bytes, length, &found) != (scalar ? length : 0) || (scalar && found != point))
            fail_msg("U+%X decodes wrongly", point);
        if (vy_utf8_decode(bytes, length - 1, &found) != 0)
            fail_msg("U+%X cut short is taken for a character", point);
    }
}

static void overlong_and_stray_bytes_are_invalid(void **state) {
    (void)state;
    static const char *const wrong[] = {"\xc0\x80",
                                        "\xc1\xbf",
                                        "\xe0\x9f\xbf",
                                        "\xf0\x8f\xbf\xbf",
                                        "\x80",
                                        "\xbf",
                                        "\xff",
                                        "\xfe",
                                        "\xed\xa0\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xe2\x28\xa1",
                                        "\xf0\x28\x8c\xbc",
                                        "\xf5\x80\x80\x80",
                                        "\xe2\x82"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(vy_utf8_valid(wrong[i], strlen(wrong[i])), 0);
}

static void the_valid_prefix_ends_before_the_first_wrong_byte(void **state) {
    (void)state;
    assert_int_equal(vy_utf8_valid("", 0), 0);
    assert_int_equal(vy_utf8_valid("abc", 3), 3);
    assert_int_equal(vy_utf8_valid("a\xc3\xa4\xff", 4), 3);
    assert_int_equal(vy_utf8_valid("a\0b", 3), 3);
    assert_int_equal(vy_utf8_valid("a\xe2\x82", 3), 1);
}

static void columns_follow_the_kind_of_character(void **state) {
    (void)state;
    assert_int_equal(vy_utf8_columns('a'), 1);
    assert_int_equal(vy_utf8_columns(0xe4), 1);
    assert_int_equal(vy_utf8_columns(0x301), 0);
    assert_int_equal(vy_utf8_columns(0x4e2d), 2);
    assert_int_equal(vy_utf8_columns(0x1f600), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_the_scalar_values_are_valid),
        cmocka_unit_test(overlong_and_stray_bytes_are_invalid),
        cmocka_unit_test(the_valid_prefix_ends_before_the_first_wrong_byte),
        cmocka_unit_test(columns_follow_the_kind_of_character),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
