/* Values: cleaning, memory, and scalars that params are passed as. */
#include "eval/cases.h"

static void an_element_in_memory_is_little_endian_and_comes_back(void **state) {
    vy_random random = vy_random_start(40);
    (void)state;

    for (unsigned type = VYRE_TYPE_I8; type < VYRE_TYPE_COUNT; type++)
        for (int i = 0; i < 1000; i++) {
            const uint64_t value = random_value(&random, (vyre_type)type);
            const unsigned size = vyre_type_size((vyre_type)type);
            unsigned char memory[10];

            memset(memory, 0x5a, sizeof memory);
            vy_value_store((vyre_type)type, memory + 1, value); /* not aligned, on purpose */
            for (unsigned k = 0; k < size; k++)
                assert_int_equal(memory[1 + k], value >> 8 * k & 0xff);
            assert_int_equal(memory[0], 0x5a);
            assert_int_equal(memory[1 + size], 0x5a);
            assert_int_equal(vy_value_load((vyre_type)type, memory + 1), value);
        }
}

static void a_bool_has_no_place_in_memory(void **state) {
    unsigned char memory[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    (void)state;

    vy_value_store(VYRE_TYPE_BOOL, memory, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(memory[i], 0xff);
    assert_int_equal(vy_value_load(VYRE_TYPE_BOOL, memory), 0);
}

static void cleaning_drops_excess_bits_and_nothing_else(void **state) {
    vy_random random = vy_random_start(41);
    (void)state;

    for (unsigned type = 0; type < VYRE_TYPE_COUNT; type++)
        for (int i = 0; i < 1000; i++) {
            const uint64_t value = random_value(&random, (vyre_type)type), noise = vy_random_next(&random);
            const unsigned width = vyre_type_bits((vyre_type)type);

            assert_int_equal(vy_value_canonicalize((vyre_type)type, value), value);
            assert_int_equal(vy_value_canonicalize((vyre_type)type, width < 64 ? value | noise << width : value),
                             value);
        }
}

static void scalars_carry_proper_bits(void **state) {
    (void)state;
    assert_int_equal(vyre_scalar_bool(42).bits, 1);
    assert_int_equal(vyre_scalar_i32(-1).bits, 0xffffffff);
    assert_int_equal(vyre_scalar_i32(-1).type, VYRE_TYPE_I32);
    assert_int_equal(vyre_scalar_u32(7).bits, 7);
    assert_int_equal(vyre_scalar_i64(-1).bits, UINT64_MAX);
    assert_int_equal(vyre_scalar_u64(UINT64_MAX).bits, UINT64_MAX);
    assert_int_equal(vyre_scalar_f32(-1.5f).bits, 0xbfc00000);
    assert_int_equal(vyre_scalar_f32(-__builtin_nanf("1")).bits, 0x7fc00000);
    assert_int_equal(vyre_scalar_f64(1.0).bits, UINT64_C(0x3ff0000000000000));
    assert_int_equal(vyre_scalar_f64(-__builtin_nan("7")).bits, UINT64_C(0x7ff8000000000000));
    assert_int_equal(vyre_scalar_bits(VYRE_TYPE_U8, 0x1ff).bits, 0xff);
    assert_int_equal(vyre_scalar_bits(VYRE_TYPE_COUNT, 5).bits, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_in_memory_is_little_endian_and_comes_back),
        cmocka_unit_test(a_bool_has_no_place_in_memory),
        cmocka_unit_test(cleaning_drops_excess_bits_and_nothing_else),
        cmocka_unit_test(scalars_carry_proper_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
