#include "base/file.h"
#include "support/test.h"

#include <stdlib.h>

#define NAME "VYRE_TEST_SETTING"

static void a_number_is_within_its_bounds_or_refused_by_name(void **state) {
    (void)state;
    static const char *const refused[] = {" 2", "2 ", "+2", "-2", "0x2", "2k", "1", "9", "4294967298", "many", "\t"};
    static const char *const taken[] = {"2", "8", "0002"};
    static const uint32_t values[] = {2, 8, 2};
    vyre_error error = VYRE_ERROR_INIT;
    uint32_t value = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char message[128];
        setenv(NAME, refused[i], 1);
        assert_int_equal(vy_env_number(NAME, 2, 8, 5, &value, &error), VYRE_INVALID_ARGUMENT);
        snprintf(message, sizeof message, NAME " is not a number from 2 to 8 (`%s`)", refused[i]);
        assert_string_equal(error.message, message);
        assert_string_equal(error.fix, "set " NAME " to a number from 2 to 8, or unset it");
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        setenv(NAME, taken[i], 1);
        assert_int_equal(vy_env_number(NAME, 2, 8, 5, &value, &error), VYRE_OK);
        assert_int_equal(value, values[i]);
    }
    unsetenv(NAME);
}

static void what_is_empty_is_not_there(void **state) {
    (void)state;
    for (int is_set = 0; is_set < 2; is_set++) {
        vyre_error error = VYRE_ERROR_INIT;
        uint32_t value = 0;
        if (is_set)
            setenv(NAME, "", 1);
        assert_null(vy_env_get(NAME));
        assert_int_equal(vy_env_flag(NAME, 0), 0);
        assert_int_equal(vy_env_flag(NAME, 1), 1);
        assert_int_equal(vy_env_number(NAME, 2, 8, 99, &value, &error), VYRE_OK); /* the default is the caller's */
        assert_int_equal(value, 99);
    }
    unsetenv(NAME);
}

static void a_switch_is_off_for_zero_alone(void **state) {
    (void)state;
    static const char *const on[] = {"1", "yes", "00", " 0"};
    for (int otherwise = 0; otherwise < 2; otherwise++) {
        setenv(NAME, "0", 1);
        assert_int_equal(vy_env_flag(NAME, otherwise), 0);
        for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
            setenv(NAME, on[i], 1);
            assert_int_equal(vy_env_flag(NAME, otherwise), 1);
        }
    }
    unsetenv(NAME);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_within_its_bounds_or_refused_by_name),
        cmocka_unit_test(what_is_empty_is_not_there),
        cmocka_unit_test(a_switch_is_off_for_zero_alone),
    };
    return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
