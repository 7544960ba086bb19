/* Several variants of one operation, alternating. */
#include "extras.h"

#include <stdio.h>

enum { WAYS = 8 };

static double times[WAYS][TURNS]; /* one comparison at a time */

/* The mean seconds of one unit; < 0: it failed. */
static double sample(const bench_way *way) {
    if (way->timer)
        return way->timer(way->user);
    if (!way->call(way->user))
        return -1;
    double start = suite_now();
    for (int i = 0; i < way->count; i++)
        if (!way->call(way->user))
            return -1;
    return (suite_now() - start) / way->count / (way->units ? way->units : 1);
}

/* Returns how many rounds all variants have finished. */
static int take_turns(const bench_way *ways, int way_count, int samples, int *failed) {
    for (int round = -1; round < samples; round++)
        for (int turn = 0; turn < way_count; turn++) {
            int way = round & 1 ? way_count - 1 - turn : turn;
            double seconds = sample(&ways[way]);
            if (seconds < 0) {
                *failed = way;
                return round < 0 ? 0 : round;
            }
            if (round >= 0)
                times[way][round] = seconds;
        }
    return samples;
}

void bench_contest(device_bench *b, const char *group, const bench_way *ways, int way_count, int samples) {
    double others[WAYS][TURNS];
    int failed = -1;
    if (way_count > WAYS || samples > TURNS)
        return;
    if (b->cu)
        b->cu->context_set(b->cu->context);
    int rounds = take_turns(ways, way_count, samples, &failed);
    if (failed >= 0)
        printf("SKIP %s after %d samples: %s failed\n", group, rounds, ways[failed].name);
    for (int w = 0; w < way_count; w++) /* the report sorts */
        for (int i = 0; i < rounds; i++)
            others[w][i] = times[w][i];
    for (int w = 0; w < way_count; w++) {
        int against = ways[w].against;
        if (ways[w].is_compared)
            suite_extra_against(b->report, group, ways[w].name, "s", times[w], rounds, ways[against].name,
                                others[against]);
        else
            suite_extra(b->report, group, ways[w].name, "s", times[w], rounds);
    }
}
