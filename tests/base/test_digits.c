/* Numbers as text, compared with what the C library writes. */
#include "base/text.h"
#include "support/test.h"

#include <inttypes.h>

static void expect(const char *want, const char *start, const char *end) {
    assert_int_equal(end - start, strlen(want));
    assert_memory_equal(start, want, strlen(want));
}

static void check(uint64_t number) {
    char want[32], given[32];
    snprintf(want, sizeof want, "%" PRIu64, number);
    expect(want, given, vy_put_decimal(given, number));
    for (unsigned digits = 1; digits <= 16; digits += 5) {
        snprintf(want, sizeof want, "%0*" PRIx64, (int)digits, number);
        expect(want, given, vy_put_hex(given, number, digits));
        snprintf(want, sizeof want, "%0*" PRIX64, (int)digits, number);
        expect(want, given, vy_put_hex_capital(given, number, digits));
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

static void nothing_behind_a_text_is_touched(void **state) {
    (void)state;
    char given[8] = "......";
    assert_ptr_equal(vy_put_text(given, "ab"), given + 2);
    assert_ptr_equal(vy_put_text(given + 2, ""), given + 2);
    assert_ptr_equal(vy_put_decimal(given + 2, 100), given + 5);
    assert_string_equal(given, "ab100.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_around_every_power_have_their_digits),
        cmocka_unit_test(small_numbers_have_their_digits),
        cmocka_unit_test(nothing_behind_a_text_is_touched),
    };
    return cmocka_run_group_tests_name("digits", tests, NULL, NULL);
}
