/* Every op on byte ranges over 2^20 + 1 bytes. */
#include "lib/model_hash.h"
#include "lib/model_histogram.h"
#include "lib/model_match.h"
#include "lib/model_text.h"

/* One range of the whole size, and the same bytes as many ranges. */
static void a_million_bytes_hash_as_one_range_and_as_many(void **state) {
    uint8_t *data = malloc(LIBRARY_MILLION);
    uint32_t whole[] = {0, LIBRARY_MILLION}, *parts = calloc(LIBRARY_MILLION, sizeof *parts);
    vy_random random = vy_random_start(1);
    size_t count = 0;

    (void)state;
    assert_true(data && parts);
    for (size_t i = 0; i < LIBRARY_MILLION; i++)
        data[i] = (uint8_t)vy_random_next(&random);
    while (parts[count] < LIBRARY_MILLION - 300) {
        parts[count + 1] = parts[count] + (uint32_t)vy_random_below(&random, 300);
        count++;
    }
    for (size_t i = 0; i < MAP_COUNT(hash_functions); i++) {
        library l;
        hash_open(&l, &hash_functions[i]);
        l.checks = 0;
        hash_ranges(&hash_functions[i], &l, data, whole, 1, 12345, 6789);
        hash_ranges(&hash_functions[i], &l, data, parts, count, 0, 1);
        library_close(&l);
    }
    free(data);
    free(parts);
}

static void a_million_bytes_are_counted_matched_and_decoded(void **state) {
    uint8_t *data = malloc(LIBRARY_MILLION);
    uint32_t *offsets = calloc(LIBRARY_MILLION, sizeof *offsets);
    vy_random random = vy_random_start(2);
    size_t count = 0;

    (void)state;
    assert_true(data && offsets);
    histogram_bytes("256", LIBRARY_MILLION, 8192, 0);
    match_check("256", LIBRARY_MILLION, 0);
    while (offsets[count] < LIBRARY_MILLION - 100) {
        size_t size = text_make(data + offsets[count], (size_t)vy_random_below(&random, 100), count % 2, &random);
        offsets[count + 1] = offsets[count] + (uint32_t)size;
        count++;
    }
    text_ranges(data, offsets, count, 0);
    text_decode_everywhere(data, offsets[count], 0);
    free(data);
    free(offsets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_bytes_hash_as_one_range_and_as_many),
        cmocka_unit_test(a_million_bytes_are_counted_matched_and_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
