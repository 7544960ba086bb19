/* The dialect `histogram` at every size, in workgroups of any width. */
#include "lib/model_histogram.h"

static const char *const workgroups[] = {"1", "31", "33", "256", "1000", "8, 2, 2"};

static void bytes_are_counted_on_top_of_what_is_there(void **state) {
    (void)state;
    for (size_t w = 0; w < 6; w++) {
        for (size_t i = 0; i < LIBRARY_SIZES; i++)
            histogram_bytes(workgroups[w], library_sizes[i], 4096, 1);
        histogram_bytes(workgroups[w], 1000, 77, 1);
    }
}

/* Keys that have no bin are not counted, nor do they spoil a neighbour. */
static void keys_without_a_bin_do_not_count(void **state) {
    enum { N = 1025, BINS = 100, ROOM = 128 };
    static uint32_t keys[N];
    uint32_t expected[ROOM] = {0};
    vy_random random = vy_random_start(2);

    (void)state;
    for (size_t i = 0; i < N; i++) {
        keys[i] = i % 50 == 0 ? UINT32_MAX : (uint32_t)vy_random_below(&random, 150);
        if (keys[i] < BINS)
            expected[keys[i]]++;
    }
    for (size_t w = 0; w < 6; w++) {
        char text[1024];
        library l;
        snprintf(text, sizeof text,
                 "program p {\n  buffer data : u32 read\n  buffer out : u32 write count %d\n  workgroup %s\n  grid 1\n"
                 "  array keys : u32 [%d] workgroup\n  array counts : u32 [%d] workgroup\n"
                 "  let lanes = workgroup_size.x * workgroup_size.y * workgroup_size.z\n"
                 "  for i in local_index .. len(data) step lanes { keys[i] = data[i] }\n"
                 "  clear(counts, %d)\n  keys_u32(keys, len(data), counts, %d)\n"
                 "  for i in local_index .. %du32 step lanes { out[i] = counts[i] }\n}\n",
                 ROOM, workgroups[w], N, ROOM, ROOM, BINS, ROOM);
        library_open(&l, "histogram", text);
        library_run(&l, NULL, 0, &LIBRARY_SPAN(keys), 1);
        library_expect(&l, 0, expected, sizeof expected);
        library_close(&l);
    }
}

/* Plain accesses by other invocations directly before and after a call: without its barriers each would be a race. */
static void calls_are_fenced_by_barriers(void **state) {
    static const char *const calls[] = {"clear(counts, 90)", "bytes(data, 0, len(data), counts)",
                                        "keys_u32(keys, 0xffffffff, counts, 90)", "flush(counts, 90, totals, 0)"};
    enum { LANES = 100 };
    uint8_t data[300];
    uint32_t totals[256], out[4][LANES], sums[256], counts[256];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i % 95);
    for (size_t i = 0; i < LANES; i++)
        counts[i] = out[0][i] = out[1][i] = out[2][i] = out[3][i] = 5 + (uint32_t)i;
    for (size_t i = 0; i < 90; i++)
        out[0][i] = 0; /* the bins behind stay */
    for (size_t i = 0; i < sizeof data; i++)
        out[1][data[i]]++;
    for (size_t i = 0; i < LANES; i++) /* key i is 2 i */
        if (2 * i < 90)
            out[2][2 * i]++;
    for (size_t i = 0; i < 256; i++) {
        totals[i] = 1000;
        sums[i] = 1000 + (i < 90 ? counts[i] : 0);
    }
    for (size_t c = 0; c < 4; c++) {
        char text[2048];
        library l;
        snprintf(
            text, sizeof text,
            "program p {\n  buffer data : u8 read\n  buffer totals : u32 read_write\n"
            "  buffer out : u32 write count 100\n  workgroup 100\n  grid 1\n"
            "  array counts : u32 [256] workgroup\n  array keys : u32 [100] workgroup\n  let l = 99 - local_index\n"
            "  counts[l] = 5 + l\n  keys[l] = 2 * l\n  %s\n  out[l] = counts[l]\n  counts[l] = 0\n"
            "  keys[l] = 0\n}\n",
            calls[c]);
        library_open(&l, "histogram", text);
        library_run(&l, NULL, 0, (vyre_span[]){LIBRARY_SPAN(data), LIBRARY_SPAN(totals)}, 2);
        library_expect(&l, 0, c == 3 ? sums : totals, sizeof totals);
        library_expect(&l, 1, out[c], sizeof out[c]);
        library_close(&l);
    }
}

static void floats_fall_into_equal_bins(void **state) {
    (void)state;
    map_check("histogram", histogram_scalars, MAP_COUNT(histogram_scalars));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_counted_on_top_of_what_is_there),
        cmocka_unit_test(keys_without_a_bin_do_not_count),
        cmocka_unit_test(calls_are_fenced_by_barriers),
        cmocka_unit_test(floats_fall_into_equal_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
