/* The dialect `random` against the published known answers. */
#include "lib/model_random.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    map_check("random", random_functions, MAP_COUNT(random_functions));
}

/* Runs a function of the dialect on one row of operands. */
static void call(const char *name, const uint64_t *operands, uint64_t *results) {
    for (size_t f = 0; f < MAP_COUNT(random_functions); f++)
        if (strcmp(random_functions[f].name, name) == 0) {
            uint64_t *in[MAP_VALUES], rows[MAP_VALUES];
            map_shape shape;
            library l;
            map_open(&l, "random", "", &random_functions[f], &shape);
            for (size_t k = 0; k < shape.in; k++) {
                rows[k] = operands[k];
                in[k] = &rows[k];
            }
            map_rows(&random_functions[f], &shape, &l, in, 1);
            for (size_t k = 0; k < shape.out; k++) {
                results[k] = 0;
                memcpy(&results[k], l.outputs[k].data, l.outputs[k].size);
            }
            library_close(&l);
            return;
        }
    fail();
}

/* tests/kat_vectors of Random123. */
static void philox_gives_the_known_answers(void **state) {
    static const uint64_t four[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
         0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
         0x24126ea1},
    };
    static const uint64_t two[][5] = {
        {0, 0, 0, 0xff1dae59, 0x6cd10df2},
        {0xffffffff, 0xffffffff, 0xffffffff, 0x2c3f628b, 0xab4fd7ad},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0xdd7ce038, 0xf62a4c12},
    };
    uint64_t results[MAP_VALUES];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        call("philox4x32", four[i], results);
        assert_memory_equal(results, four[i] + 6, 4 * sizeof *results);
        call("philox2x32", two[i], results);
        assert_memory_equal(results, two[i] + 3, 2 * sizeof *results);
    }
}

/* The first numbers of the reference implementation's demo, seed 42 and sequence 54. */
static void pcg32_gives_the_numbers_of_the_demo(void **state) {
    static const uint32_t expected[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e};
    uint64_t stream[MAP_VALUES], start, results[MAP_VALUES];

    (void)state;
    call("pcg32_seed", (const uint64_t[]){42, 54}, stream);
    start = stream[0];
    for (size_t i = 0; i < 6; i++) {
        call("pcg32_next", stream, results);
        assert_int_equal(results[0], expected[i]);
        stream[0] = results[1];
    }
    call("pcg32_advance", (const uint64_t[]){start, stream[1], 6}, results);
    assert_int_equal(results[0], stream[0]);
    call("pcg32_advance", (const uint64_t[]){stream[0], stream[1], (uint64_t)-6}, results);
    assert_int_equal(results[0], start);
}

static void splitmix64_gives_the_reference_numbers(void **state) {
    uint64_t results[MAP_VALUES] = {0, 1234567};

    (void)state;
    call("splitmix64_next", &results[1], results);
    assert_int_equal(results[0], 6457827717110365317u);
    call("splitmix64_next", &results[1], results);
    assert_int_equal(results[0], 3203168211198807973u);
}

static void units_stay_below_one(void **state) {
    uint64_t bits;

    (void)state;
    call("unit_f32", (const uint64_t[]){0xffffffff}, &bits);
    assert_int_equal(bits, 0x3f7fffff);
    call("unit_f64", (const uint64_t[]){UINT64_MAX}, &bits);
    assert_int_equal(bits, 0x3fefffffffffffff);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(pcg32_gives_the_numbers_of_the_demo),
        cmocka_unit_test(splitmix64_gives_the_reference_numbers),
        cmocka_unit_test(units_stay_below_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
