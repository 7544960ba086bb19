/* Names of registers, which are counted up as texts (src/emit/ptx/emitter.h): each is its number. */
#include "support/test.h"

#include "emit/ptx/emitter.h"

/* A name that takes no more than a word, and a few beyond. */
enum { MANY = 1000000 + 1000 };

static void check(uint32_t number, vy_ptx_value value) {
    char expected[VY_PTX_NAME], text[VY_PTX_NAME] = {0};
    snprintf(expected, sizeof expected, "%%r%u", number);
    *vy_ptx_put(text, value) = 0;
    if (strcmp(text, expected) != 0)
        fail_msg("%s instead of %s", text, expected);
}

static void every_register_is_named_by_its_number(void **state) {
    (void)state;
    vy_ptx e = {.registers = {[VY_PTX_B32] = {.start = "%r"}}};
    vy_ptx_next_ten(&e.registers[VY_PTX_B32]);
    uint64_t before = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        vy_ptx_value value = vy_ptx_new(&e, VYRE_TYPE_U32);
        if (i < 20000 || i % 1000 < 20 || i >= MANY - 1100)
            check(i, value);
        assert_int_not_equal(value.name, before);
        before = value.name;
    }
    assert_int_equal(vy_ptx_register_count(&e.registers[VY_PTX_B32]), MANY);
}

static void a_register_is_known_again_by_its_name(void **state) {
    (void)state;
    vy_ptx e = {.registers = {[VY_PTX_B32] = {.start = "%r", .ten = 4294967280}}};
    vy_ptx_next_ten(&e.registers[VY_PTX_B32]);
    for (uint32_t i = 0; i < 10; i++) {
        vy_ptx_value value = vy_ptx_new(&e, VYRE_TYPE_F32);
        check(4294967280 + i, vy_ptx_named(VYRE_TYPE_U32, value.name));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_register_is_named_by_its_number),
        cmocka_unit_test(a_register_is_known_again_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
