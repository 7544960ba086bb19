/* The dialect `match`: one byte after the other, memcmp and memchr. */
#ifndef VY_TESTS_MODEL_MATCH_H
#define VY_TESTS_MODEL_MATCH_H

#include "lib/library.h"

enum { MATCH_STATES = 7 };

/* An automaton that forgets nothing: each byte permutes the states, so the last state tells of every byte. One byte in
 * 64 leads all states to one. */
static inline void match_table(uint16_t *table, vy_random *random) {
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned turn = (unsigned)vy_random_below(random, MATCH_STATES), flip = (unsigned)vy_random_below(random, 2);
        for (unsigned s = 0; s < MATCH_STATES; s++)
            table[256 * s + byte] =
                (uint16_t)(byte % 64 == 0 ? turn : (flip ? MATCH_STATES - s + turn : s + turn) % MATCH_STATES);
    }
}

static inline uint32_t match_run(const uint16_t *table, const uint8_t *data, size_t size, uint32_t state) {
    for (size_t i = 0; i < size; i++)
        state = table[256 * state + data[i]];
    return state;
}

/* One range, run by one invocation and by a workgroup, from every state; the range starts at element 3. */
static inline void match_check(const char *workgroup, size_t size, int checked) {
    uint16_t table[MATCH_STATES * 256];
    uint32_t expected[MATCH_STATES];
    uint8_t *data = calloc(size + 3, 1);
    vy_random random = vy_random_start(size);
    char text[2048];
    library l;

    assert_non_null(data);
    match_table(table, &random);
    for (size_t i = 0; i < size; i++) /* resets are rare, so that the start matters in short ranges */
        data[i + 3] = (uint8_t)(vy_random_next(&random) | vy_random_below(&random, 16) / 2);
    for (uint32_t s = 0; s < MATCH_STATES; s++)
        expected[s] = match_run(table, data + 3, size, s);
    snprintf(text, sizeof text,
             "program p {\n  buffer table : u16 read\n  buffer data : u8 read\n  buffer one : u32 write count %d\n"
             "  buffer all : u32 write count %d\n  workgroup %s\n  grid %d\n  array maps : u32 [7000] workgroup\n"
             "  let start = group_id.x\n"
             "  let lanes = workgroup_size.x * workgroup_size.y * workgroup_size.z\n" /* without barriers, races: */
             "  for i in local_index .. %d * lanes step lanes { maps[%d * lanes - 1 - i] = 99 }\n"
             "  let state = run_workgroup(table, %d, data, 3, len(data) - 3, start, maps)\n"
             "  for i in local_index .. %d * lanes step lanes { maps[%d * lanes - 1 - i] = 0 }\n"
             "  if local_index == 0 {\n    all[start] = state\n"
             "    one[start] = run(table, data, 3, len(data) - 3, start)\n  }\n}\n",
             MATCH_STATES, MATCH_STATES, workgroup, MATCH_STATES, MATCH_STATES, MATCH_STATES, MATCH_STATES,
             MATCH_STATES, MATCH_STATES);
    library_open(&l, "match", text);
    if (!checked)
        l.checks = l.seeds = 0;
    else
        l.seeds = 1;
    library_run(&l, NULL, 0, (vyre_span[]){LIBRARY_SPAN(table), {data, size + 3}}, 2);
    library_expect(&l, 0, expected, sizeof expected);
    library_expect(&l, 1, expected, sizeof expected);
    library_close(&l);
    free(data);
}

#endif
