/* The distribution of values: the edges really occur, and every value fits its type. */
#include "support/test.h"

#include "generate/interesting_values.h"
#include "ir/eval.h"

enum { DRAWS = 20000 };

static int drawn(vyre_type type, uint64_t wanted) {
    vy_rng rng = vy_rng_start((uint64_t)type);
    for (int i = 0; i < DRAWS; i++)
        if (vy_interesting_value(&rng, type) == wanted)
            return 1;
    return 0;
}

static void values_fit_their_type(void **state) {
    (void)state;
    vy_rng rng = vy_rng_start(1);
    for (int type = 0; type < VYRE_TYPE_COUNT; type++)
        for (int i = 0; i < DRAWS; i++)
            assert_int_equal(vy_interesting_value(&rng, (vyre_type)type) & ~vy_type_layouts[type].mask, 0);
}

static void integers_reach_their_ends(void **state) {
    (void)state;
    for (int type = VYRE_TYPE_I8; type <= VYRE_TYPE_U64; type++) {
        uint64_t mask = vy_type_layouts[type].mask, top = mask / 2 + 1;
        const uint64_t edges[] = {0, 1, mask, top, top - 1, top + 1, mask - 1, 2, 3};
        for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++)
            assert_true(drawn((vyre_type)type, edges[i]));
    }
}

static void floats_reach_their_ends(void **state) {
    (void)state;
    for (int type = VYRE_TYPE_F16; type <= VYRE_TYPE_F64; type++) {
        const vy_type_layout *layout = &vy_type_layouts[type];
        uint64_t sign = layout->mask / 2 + 1,
                 one = vyre_op_evaluate(VYRE_OP_CAST, (vyre_type)type, VYRE_TYPE_U8, 1, 0, 0);
        uint64_t smallest_normal = layout->infinity & (0 - layout->infinity);
        const uint64_t edges[] = {
            0, layout->infinity, layout->infinity - 1, 1, smallest_normal, smallest_normal - 1, one, one + 1, one - 1};
        for (unsigned i = 0; i < sizeof edges / sizeof *edges; i++) {
            assert_true(drawn((vyre_type)type, edges[i]));
            assert_true(drawn((vyre_type)type, edges[i] | sign));
        }
    }
}

/* Inputs hold NaNs with payloads and signs: loads must make them canonical. */
static void floats_include_odd_nans(void **state) {
    (void)state;
    vy_rng rng = vy_rng_start(3);
    unsigned odd = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t bits = vy_interesting_value(&rng, VYRE_TYPE_F32);
        odd += vy_value_canonicalize(VYRE_TYPE_F32, bits) != bits;
    }
    assert_true(odd > DRAWS / 40);
}

static void filling_writes_every_element_and_no_more(void **state) {
    (void)state;
    for (int type = VYRE_TYPE_I8; type < VYRE_TYPE_COUNT; type++) {
        unsigned char bytes[8 * 100 + 1];
        size_t size = (size_t)vyre_type_size((vyre_type)type) * 100;
        memset(bytes, 0x5a, sizeof bytes);
        vy_rng rng = vy_rng_start(7), again = rng;
        vy_interesting_fill(&rng, (vyre_type)type, bytes, 100);
        assert_int_equal(bytes[size], 0x5a);
        for (int i = 0; i < 100; i++) {
            uint64_t bits = 0;
            memcpy(&bits, bytes + (size_t)i * vyre_type_size((vyre_type)type), vyre_type_size((vyre_type)type));
            assert_true(bits == vy_interesting_value(&again, (vyre_type)type));
        }
    }
}

static void random_numbers_below_a_bound_are_below_it(void **state) {
    (void)state;
    vy_rng rng = vy_rng_start(9);
    unsigned counts[7] = {0};
    for (int i = 0; i < 7000; i++) {
        uint32_t value = vy_rng_below(&rng, 7);
        assert_true(value < 7);
        counts[value]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 850, 1150);
    assert_int_equal(vy_rng_below(&rng, 0), 0);
    assert_int_equal(vy_rng_between(&rng, 4, 4), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_fit_their_type),
        cmocka_unit_test(integers_reach_their_ends),
        cmocka_unit_test(floats_reach_their_ends),
        cmocka_unit_test(floats_include_odd_nans),
        cmocka_unit_test(filling_writes_every_element_and_no_more),
        cmocka_unit_test(random_numbers_below_a_bound_are_below_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
