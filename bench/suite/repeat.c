/* Short runs by the device's clock: as many consecutive ones as need about a millisecond, queued before the first
 * begins. An event costs as much as the shortest of them, so single runs are not accurate. */
#include "suite.h"

#include <stdio.h>

enum { MOST = 201, LEAST = 5, WARM = 2, LAUNCHES = 400 };

/* The same number for all versions, chosen for the fastest of them. */
static int repeats_of(const work *w, const row *row) {
    double fastest = 0;
    for (int v = 0; v < VERSION_COUNT; v++)
        if (row->device[v].samples && (fastest == 0 || row->device[v].median < fastest))
            fastest = row->device[v].median;
    if (fastest <= 0)
        return 1;
    double wanted = 1.2e-3 / fastest, most = (double)LAUNCHES / (double)w->step_count;
    wanted = wanted < most ? wanted : most;
    return wanted > 1 ? (int)wanted : 1;
}

/* One of each, alternating forwards and backwards. A version that fails is left out from then on. */
static void take_turns(void *const *jobs, int repeats, int round, int *is_in, double (*times)[MOST]) {
    for (int turn = 0; turn < VERSION_COUNT; turn++) {
        int v = round & 1 ? VERSION_COUNT - 1 - turn : turn;
        double seconds = is_in[v] ? suite_runners[v]->run_in_line(jobs[v], repeats) : -1;
        is_in[v] = seconds > 0;
        if (round >= 0)
            times[v][round] = seconds;
    }
}

void suite_measure_repeated(const work *w, void *const *jobs, int is_quick, row *row) {
    static double times[VERSION_COUNT][MOST];
    double ratios[MOST], budget = is_quick ? 0.3 : 2, each = budget;
    int is_in[VERSION_COUNT], rounds = MOST;
    for (int v = 0; v < VERSION_COUNT; v++)
        is_in[v] = jobs[v] && suite_runners[v]->run_in_line;
    row->repeats = repeats_of(w, row);
    for (int round = -WARM; round < rounds; round++) {
        double start = suite_now();
        take_turns(jobs, row->repeats, round, is_in, times);
        each = suite_now() - start;
        if (round == -1) /* graphs and memory exist now */
            rounds = each * MOST < budget ? MOST : each * LEAST > budget ? LEAST : (int)(budget / each);
    }
    for (int k = 0; k < PAIRINGS; k++) {
        const pairing *c = &suite_pairings[k];
        for (int i = 0; i < rounds && is_in[c->theirs] && is_in[c->mine]; i++)
            ratios[i] = times[c->theirs][i] / times[c->mine][i];
        row->ratios[k] = suite_quartiles(ratios, is_in[c->theirs] && is_in[c->mine] ? rounds : 0);
    }
    for (int v = 0; v < VERSION_COUNT; v++) /* sorts its argument */
        row->repeated[v] = suite_statistic(times[v], is_in[v] ? rounds : 0);
}
