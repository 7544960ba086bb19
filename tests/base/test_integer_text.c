/* Numbers as text, compared with what the C library writes. */
#include "base/string.h"
#include "support/test.h"

#include <inttypes.h>

static void expect(const char *want, const char *start, const char *end) {
    assert_int_equal(end - start, strlen(want));
    assert_memory_equal(start, want, strlen(want));
}

static void check(uint64_t number) {
    char want[32], given[32];
    snprintf(want, sizeof want, "%" PRIu64, number);
    expect(want, given, vy_write_decimal(given, number));
    for (unsigned digits = 1; digits <= 16; digits += 5) {
        snprintf(want, sizeof want, "%0*" PRIx64, (int)digits, number);
        expect(want, given, vy_write_hex(given, number, digits));
        snprintf(want, sizeof want, "%0*" PRIX64, (int)digits, number);
        expect(want, given, vy_write_hex_upper(given, number, digits));
    }
}

static void numbers_around_every_power_have_their_digits(void **state) {
    (void)state;
    uint64_t ten = 1;
    for (int i = 0; i < 20; i++, ten *= 10)
        for (uint64_t near = 0; near < 5; near++)
            check(ten + near - 2);
    for (int i = 0; i < 64; i++)
        for (uint64_t near = 0; near < 5; near++)
            check((UINT64_C(1) << i) + near - 2);
    check(UINT64_MAX);
}

static void small_numbers_have_their_digits(void **state) {
    (void)state;
    for (uint64_t number = 0; number <= 10100; number++)
        check(number);
}

static void nothing_behind_a_text_and_four_bytes_of_a_number_is_touched(void **state) {
    (void)state;
    char given[16] = "..............";
    assert_ptr_equal(vy_write_text(given, "ab"), given + 2);
    assert_ptr_equal(vy_write_text(given + 2, ""), given + 2);
    assert_string_equal(given, "ab............");
    assert_ptr_equal(vy_write_decimal(given + 2, 7), given + 3);
    assert_string_equal(given + 6, "........");
    assert_ptr_equal(vy_write_decimal(given + 3, 65536), given + 8);
    assert_memory_equal(given, "ab765536......", 15);
}

static void numbers_are_read_from_digits_and_nothing_else(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned base;
        uint64_t most;
        int result;
        uint64_t value;
    } rows[] = {{"0", 10, 9, 1, 0},
                {"0", 10, 0, 1, 0},
                {"1", 10, 0, -1, 0},
                {"007", 10, 9, 1, 7},
                {"9", 10, 8, -1, 0},
                {"10", 10, 9, -1, 0},
                {"10", 10, 10, 1, 10},
                {"4294967295", 10, UINT32_MAX, 1, UINT32_MAX},
                {"4294967296", 10, UINT32_MAX, -1, 0},
                {"18446744073709551615", 10, UINT64_MAX, 1, UINT64_MAX},
                {"18446744073709551616", 10, UINT64_MAX, -1, 0},
                {"99999999999999999999999999", 10, UINT64_MAX, -1, 0},
                {"99999999999999999999999999x", 10, UINT64_MAX, 0, 0},
                {"fFfFffffffffffff", 16, UINT64_MAX, 1, UINT64_MAX},
                {"10000000000000000", 16, UINT64_MAX, -1, 0},
                {"1g", 16, UINT64_MAX, 0, 0},
                {"a", 10, UINT64_MAX, 0, 0},
                {"", 10, 9, 0, 0},
                {" 2", 10, 9, 0, 0},
                {"2 ", 10, 9, 0, 0},
                {"+2", 10, 9, 0, 0},
                {"-2", 10, UINT64_MAX, 0, 0},
                {"0x2", 10, 9, 0, 0},
                {"0x2", 16, 9, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value = 77;
        assert_int_equal(vy_parse_digits(rows[i].text, strlen(rows[i].text), rows[i].base, rows[i].most, &value),
                         rows[i].result);
        assert_int_equal(value, rows[i].result > 0 ? rows[i].value : 77);
    }
    uint64_t value;
    assert_int_equal(vy_parse_digits("123", 2, 10, 99, &value), 1); /* no further than it is told */
    assert_int_equal(value, 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_around_every_power_have_their_digits),
        cmocka_unit_test(small_numbers_have_their_digits),
        cmocka_unit_test(nothing_behind_a_text_and_four_bytes_of_a_number_is_touched),
        cmocka_unit_test(numbers_are_read_from_digits_and_nothing_else),
    };
    return cmocka_run_group_tests_name("integer_text", tests, NULL, NULL);
}
