/* Examples that move and count integers, against plain C. */
#include "examples/example.h"

static void xor_twice_gives_the_data_back(void **state) {
    const char key[] = {'k', 'e', 'y'};
    uint8_t data[500], expected[500];
    vy_random random = vy_random_start(10);
    example e;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)vy_random_next(&random);
        expected[i] = (uint8_t)(data[i] ^ key[i % 3]);
    }
    example_open(&e, "xor.vyre", NULL, NULL, NULL);
    e.checks = VYRE_CHECK_ALL;
    example_run(&e, NULL, 0, (vyre_span[]){EXAMPLE_SPAN(key), EXAMPLE_SPAN(data)}, 2);
    example_expect(&e, 0, expected, sizeof expected);
    example_run(&e, NULL, 0, (vyre_span[]){EXAMPLE_SPAN(key), EXAMPLE_SPAN(expected)}, 2);
    example_expect(&e, 0, data, sizeof data);
    example_close(&e);
}

static void scan_sums_prefixes_over_many_workgroups(void **state) {
    enum { N = 5000 };
    uint32_t x[N], expected[N], sum = 0;
    vy_random random = vy_random_start(11);
    example blocks, totals, finish;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        x[i] = (uint32_t)vy_random_next(&random); /* wraps on the way */
        expected[i] = sum += x[i];
    }
    example_open(&blocks, "scan.vyre", "blocks", NULL, NULL);
    example_open(&totals, "scan.vyre", "totals", NULL, NULL);
    example_open(&finish, "scan.vyre", "finish", NULL, NULL);
    example_run(&blocks, NULL, 0, &EXAMPLE_SPAN(x), 1);
    example_run(&totals, NULL, 0, &(vyre_span){blocks.outputs[1].data, blocks.outputs[1].size}, 1);
    example_run(&finish, NULL, 0,
                (vyre_span[]){{totals.outputs[0].data, totals.outputs[0].size},
                              {blocks.outputs[0].data, blocks.outputs[0].size}},
                2);
    example_expect(&finish, 0, expected, sizeof expected);
    example_close(&blocks);
    example_close(&totals);
    example_close(&finish);
}

static void histogram_counts_every_byte(void **state) {
    static uint8_t data[3001];
    uint32_t counts[256], expected[256];
    vy_random random = vy_random_start(12);
    example e;

    (void)state;
    for (size_t i = 0; i < 256; i++)
        expected[i] = counts[i] = (uint32_t)i; /* it adds to what is there */
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(vy_random_next(&random) & vy_random_next(&random));
        expected[data[i]]++;
    }
    example_open(&e, "histogram.vyre", NULL, NULL, NULL);
    e.checks = VYRE_CHECK_ALL;
    assert_false(vyre_program_schedule_dependent(e.program));
    example_run(&e, NULL, 0, (vyre_span[]){EXAMPLE_SPAN(data), EXAMPLE_SPAN(counts)}, 2);
    example_expect(&e, 0, expected, sizeof expected);
    example_close(&e);
}

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void bitonic_sorts_over_many_workgroups(void **state) {
    enum { N = 4096 };
    uint32_t keys[N], expected[N];
    vy_random random = vy_random_start(13);
    example blocks, merge;

    (void)state;
    for (size_t i = 0; i < N; i++)
        expected[i] = keys[i] = i % 7 == 0 ? 42 : (uint32_t)vy_random_next(&random); /* with equal keys */
    qsort(expected, N, sizeof *expected, compare_u32);
    example_open(&blocks, "bitonic.vyre", "blocks", NULL, NULL);
    example_open(&merge, "bitonic.vyre", "merge", NULL, NULL);
    blocks.checks = merge.checks = VYRE_CHECK_ALL;
    example_run(&blocks, NULL, 0, &EXAMPLE_SPAN(keys), 1);
    memcpy(keys, blocks.outputs[0].data, sizeof keys);
    for (uint32_t size = 1024; size <= N; size *= 2)
        for (uint32_t stride = size / 2; stride > 0; stride /= 2) {
            vyre_scalar params[] = {vyre_scalar_u32(size), vyre_scalar_u32(stride)};
            example_run(&merge, params, 2, &EXAMPLE_SPAN(keys), 1);
            memcpy(keys, merge.outputs[0].data, sizeof keys);
        }
    assert_memory_equal(keys, expected, sizeof keys);
    example_close(&blocks);
    example_close(&merge);
}

/* The automaton of Knuth, Morris and Pratt for one word; the state after all of it stays. */
static void make_table(const char *word, uint16_t *table, uint32_t *rules) {
    size_t length = strlen(word);

    memset(rules, 0, (length + 1) * sizeof *rules);
    rules[length] = 7;
    for (size_t s = 0; s <= length; s++)
        for (unsigned c = 0; c < 256; c++) {
            size_t next = s < length ? s + 1 : length;
            char seen[32];
            memcpy(seen, word, s);
            seen[s] = (char)c;
            /* The longest prefix of the word that what was seen ends with. */
            while (next > 0 && s < length && memcmp(word, seen + s + 1 - next, next) != 0)
                next--;
            table[s * 256 + c] = (uint16_t)next;
        }
}

static void dfa_finds_the_first_match_of_each_record(void **state) {
    enum { RECORDS = 200 };
    static const char word[] = "abaab";
    uint16_t table[6 * 256];
    uint32_t rules[6], offsets[RECORDS + 1] = {0}, matched[RECORDS], first[RECORDS];
    char data[RECORDS * 40];
    vy_random random = vy_random_start(14);
    size_t found = 0;
    example e;

    (void)state;
    make_table(word, table, rules);
    for (size_t r = 0; r < RECORDS; r++) {
        size_t size = vy_random_below(&random, 40);
        const char *at;
        for (size_t i = 0; i < size; i++)
            data[offsets[r] + i] = "ab"[vy_random_below(&random, 2)];
        offsets[r + 1] = offsets[r] + (uint32_t)size;
        at = size ? memmem(data + offsets[r], size, word, 5) : NULL;
        matched[r] = at ? 7 : 0;
        first[r] = at ? (uint32_t)(at - data - offsets[r]) + 5 : 0;
        found += at != NULL;
    }
    assert_in_range(found, 1, RECORDS - 1);
    example_open(&e, "dfa.vyre", NULL, NULL, NULL);
    e.checks = VYRE_CHECK_ALL;
    example_run(
        &e, NULL, 0,
        (vyre_span[]){{data, offsets[RECORDS]}, EXAMPLE_SPAN(offsets), EXAMPLE_SPAN(table), EXAMPLE_SPAN(rules)}, 4);
    example_expect(&e, 0, matched, sizeof matched);
    example_expect(&e, 1, first, sizeof first);
    example_close(&e);
}

static int compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void search_gives_the_place_of_each_query(void **state) {
    enum { KEYS = 333, QUERIES = 500 };
    int64_t keys[KEYS], queries[QUERIES];
    uint32_t places[QUERIES];
    vy_random random = vy_random_start(15);
    example e;

    (void)state;
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = (int64_t)vy_random_below(&random, 1000) - 500;
    qsort(keys, KEYS, sizeof *keys, compare_i64);
    keys[0] = INT64_MIN;
    keys[KEYS - 1] = INT64_MAX;
    for (size_t i = 0; i < QUERIES; i++) {
        queries[i] = i == 0 ? INT64_MIN : i == 1 ? INT64_MAX : (int64_t)vy_random_below(&random, 1200) - 600;
        places[i] = 0;
        for (size_t k = 0; k < KEYS; k++)
            places[i] += keys[k] < queries[i];
    }
    example_open(&e, "search.vyre", NULL, NULL, NULL);
    e.checks = VYRE_CHECK_ALL;
    example_run(&e, NULL, 0, (vyre_span[]){EXAMPLE_SPAN(keys), EXAMPLE_SPAN(queries)}, 2);
    example_expect(&e, 0, places, sizeof places);
    example_close(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xor_twice_gives_the_data_back),
        cmocka_unit_test(scan_sums_prefixes_over_many_workgroups),
        cmocka_unit_test(histogram_counts_every_byte),
        cmocka_unit_test(bitonic_sorts_over_many_workgroups),
        cmocka_unit_test(dfa_finds_the_first_match_of_each_record),
        cmocka_unit_test(search_gives_the_place_of_each_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
