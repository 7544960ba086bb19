/* The dialect `match` at every size, in workgroups of any width. */
#include "lib/model_match.h"

static void a_workgroup_ends_in_the_state_of_one_reader(void **state) {
    static const char *const workgroups[] = {"1", "31", "33", "256", "1000", "8, 2, 2"};

    (void)state;
    for (size_t w = 0; w < 6; w++)
        for (size_t i = 0; i < LIBRARY_SIZES; i++)
            match_check(workgroups[w], library_sizes[i], 1);
}

static void a_step_looks_up_the_table(void **state) {
    uint16_t table[MATCH_STATES * 256];
    uint32_t expected[MATCH_STATES * 256];
    vy_random random = vy_random_start(1);
    library l;

    (void)state;
    match_table(table, &random);
    for (size_t i = 0; i < MATCH_STATES * 256; i++)
        expected[i] = table[i];
    library_open(&l, "match",
                 "program p {\n  buffer table : u16 read\n  buffer out : u32 write count len(table)\n  workgroup 64\n"
                 "  grid over table\n  let i = global_id.x\n  out[i] = step(table, i / 256, u8(i % 256))\n}\n");
    library_run(&l, NULL, 0, &LIBRARY_SPAN(table), 1);
    library_expect(&l, 0, expected, sizeof expected);
    library_close(&l);
}

/* Row i compares `lengths[i]` bytes of data from i on with the pattern, and looks for its first byte. */
static void bytes_are_compared_and_found(void **state) {
    enum { N = 1025, PATTERN = 6 };
    static uint8_t data[N + PATTERN], pattern[PATTERN] = {1, 0, 1, 1, 0, 0}, equal[N];
    static uint32_t lengths[N], places[N];
    vy_random random = vy_random_start(2);
    size_t found = 0;
    library l;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)vy_random_below(&random, 2);
    for (size_t i = 0; i < N; i++) {
        const uint8_t *at;
        lengths[i] = (uint32_t)vy_random_below(&random, PATTERN + 1);
        equal[i] = memcmp(data + i, pattern, lengths[i]) == 0;
        at = lengths[i] ? memchr(data + i, 1, lengths[i]) : NULL;
        places[i] = at ? (uint32_t)(at - data - i) : lengths[i];
        found += equal[i];
    }
    assert_in_range(found, N / 10, N - 1);
    library_open(&l, "match",
                 "program p {\n  buffer data : u8 read\n  buffer pattern : u8 read\n  buffer lengths : u32 read\n"
                 "  buffer same : u8 write count len(lengths)\n  buffer places : u32 write count len(lengths)\n"
                 "  workgroup 64\n  grid over lengths\n  let i = global_id.x\n  if i < len(lengths) {\n"
                 "    same[i] = u8(equal(data, i, pattern, 0, lengths[i]))\n"
                 "    places[i] = find_byte(data, i, lengths[i], 1)\n  }\n}\n");
    library_run(&l, NULL, 0, (vyre_span[]){LIBRARY_SPAN(data), LIBRARY_SPAN(pattern), LIBRARY_SPAN(lengths)}, 3);
    library_expect(&l, 0, equal, sizeof equal);
    library_expect(&l, 1, places, sizeof places);
    library_close(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workgroup_ends_in_the_state_of_one_reader),
        cmocka_unit_test(a_step_looks_up_the_table),
        cmocka_unit_test(bytes_are_compared_and_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
