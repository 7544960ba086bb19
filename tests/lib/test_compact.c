/* The dialect `compact` at every size, in workgroups of any width. */
#include "lib/model_sort.h"

static void every_function_gives_what_its_definition_says(void **state) {
    (void)state;
    tile_check(compact_functions, TILE_COUNT(compact_functions));
}

/* Each workgroup compacts its values into its own part of a buffer. */
static void values_of_invocations_are_stored_one_after_the_other(void **state) {
    static const unsigned widths[] = {1, 31, 33, 256, 1000};
    enum { MOST = 3 * 1000 };
    static uint32_t values[MOST], expected[MOST], seen[MOST], zeros[MOST], counts[3];
    vy_random random = vy_random_start(5);

    (void)state;
    for (size_t w = 0; w < 5; w++) {
        unsigned width = widths[w];
        char text[1024];
        library l;
        memset(expected, 0, sizeof expected);
        memset(counts, 0, sizeof counts);
        for (unsigned i = 0; i < 3 * width; i++) {
            values[i] = (uint32_t)vy_random_below(&random, 1000);
            if (values[i] % 3 == 0)
                expected[i / width * width + counts[i / width]++] = values[i];
        }
        snprintf(
            text, sizeof text,
            "program p {\n  buffer values : u32 read\n  buffer out : u32 read_write\n"
            "  buffer counts : u32 write count 3\n  buffer seen : u32 write count len(values)\n"
            "  workgroup %u\n  grid 3\n  let v = values[global_id.x]\n  let first = group_id.x * workgroup_size.x\n"
            "  let n = into_u32(v, v %% 3 == 0, out, first)\n"
            "  seen[global_id.x] = out[first + workgroup_size.x - 1 - local_index]\n"
            "  if local_index == 0 { counts[group_id.x] = n }\n}\n",
            width);
        library_open(&l, "compact", text);
        library_run(&l, NULL, 0, (vyre_span[]){{values, 3 * width * 4}, {zeros, 3 * width * 4}}, 2);
        library_expect(&l, 0, expected, 3 * width * sizeof *values);
        library_expect(&l, 1, counts, sizeof counts);
        for (unsigned i = 0; i < 3 * width; i++) /* every invocation sees at once what the others stored */
            seen[i] = expected[i / width * width + width - 1 - i % width];
        library_expect(&l, 2, seen, 3 * width * sizeof *seen);
        library_close(&l);
    }
}

/* place: the number of kept ones before, for those that are not kept as well. */
static void every_invocation_knows_its_place(void **state) {
    enum { N = 77 };
    uint32_t keep[N], places[N], all[N], before = 0;
    vy_random random = vy_random_start(6);
    library l;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        keep[i] = (uint32_t)vy_random_below(&random, 2);
        places[i] = before;
        before += keep[i];
    }
    for (size_t i = 0; i < N; i++)
        all[i] = before;
    library_open(&l, "compact",
                 "program p {\n  buffer keep : u32 read\n  buffer places : u32 write count len(keep)\n"
                 "  buffer counts : u32 write count len(keep)\n  workgroup 77\n  grid 1\n"
                 "  let (at, count) = place(keep[local_index] != 0)\n"
                 "  places[local_index] = at\n  counts[local_index] = count\n}\n");
    library_run(&l, NULL, 0, &LIBRARY_SPAN(keep), 1);
    library_expect(&l, 0, places, sizeof places);
    library_expect(&l, 1, all, sizeof all);
    library_close(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_what_its_definition_says),
        cmocka_unit_test(values_of_invocations_are_stored_one_after_the_other),
        cmocka_unit_test(every_invocation_knows_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
