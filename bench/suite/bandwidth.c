/* Memory bandwidth: c = a + s * b on more than the caches hold, by libvyre, by a plain loop and by a loop with
 * non-temporal stores.
 *
 * All three use large pages and alternate. Each begins when the threads of the previous one sleep, with a warm-up run
 * that wakes its own threads. Ratios are of neighbouring samples, so that they are meaningful under other load. */
#include "peer_c/peer.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { OURS, PLAIN, STREAMING, WAYS, RUNS = 5 };

static const char group[] = "bandwidth of c = a + s * b";
static const char *const names[WAYS] = {"ours", "plain C loop, OpenMP", "non-temporal stores, OpenMP"};

typedef struct contest {
    work work;
    void *mine, *plain;
    double rates[WAYS][SAMPLES], ratios[WAYS][SAMPLES];
} contest;

static int run(const contest *c, int way) {
    if (way == OURS)
        return suite_ours.run(c->mine);
    if (way == PLAIN)
        return suite_plain.run(c->plain);
    peer_triad_streaming(c->work.n, 0.5, suite_plain.array(c->plain, 0), suite_plain.array(c->plain, 1),
                         (double *)suite_plain.array(c->plain, 2));
    return 1;
}

/* GB/s of the best of several consecutive runs: other load makes none faster. 0 on failure. */
static double rate(const contest *c, int way) {
    double best = 0;
    suite_settle();
    if (!run(c, way))
        return 0;
    for (int i = 0; i < RUNS; i++) {
        double start = suite_now();
        if (!run(c, way))
            return 0;
        double seconds = suite_now() - start;
        best = best > 0 && best < seconds ? best : seconds;
    }
    return c->work.bytes / best * 1e-9;
}

/* Whether both handwritten versions have the result of libvyre. */
static int agree(const contest *c) {
    size_t size = c->work.arrays[2].size;
    if (!run(c, OURS))
        return 0;
    const void *got = suite_ours.array(c->mine, 2);
    for (int way = PLAIN; way < WAYS; way++) {
        memset((void *)suite_plain.array(c->plain, 2), 0, size);
        if (!got || !run(c, way) || memcmp(got, suite_plain.array(c->plain, 2), size) != 0)
            return 0;
    }
    return 1;
}

static int measure(contest *c, int rounds) {
    for (int round = 0; round < rounds; round++) {
        for (int turn = 0; turn < WAYS; turn++) { /* none always follows the same one */
            int way = (round + turn) % WAYS;
            if ((c->rates[way][round] = rate(c, way)) <= 0)
                return round;
        }
        for (int way = PLAIN; way < WAYS; way++)
            c->ratios[way][round] = c->rates[OURS][round] / c->rates[way][round];
    }
    return rounds;
}

void suite_bandwidth(report *r, const int *available, int quick) {
    char reason[REASON] = "";
    contest c = {0};
    if (!available[VERSION_OURS] || !available[VERSION_C] ||
        !suite_work_make(&suite_triad, suite_triad.sizes[3], &c.work))
        return;
    c.mine = suite_ours.prepare(&c.work, reason);
    c.plain = suite_plain.prepare(&c.work, reason);
    if (!c.mine || !c.plain)
        fprintf(stderr, "SKIP bandwidth: %s\n", reason);
    else if (!agree(&c))
        fprintf(stderr, "SKIP bandwidth: the three ways do not agree\n");
    else {
        int rounds = measure(&c, quick ? 5 : SAMPLES);
        for (int way = 0; way < WAYS; way++)
            suite_extra(r, group, names[way], "GB/s", c.rates[way], rounds);
        suite_extra(r, group, "ours over the plain C loop", "", c.ratios[PLAIN], rounds);
        suite_extra(r, group, "ours over non-temporal stores", "", c.ratios[STREAMING], rounds);
    }
    if (c.mine)
        suite_ours.discard(c.mine);
    if (c.plain)
        suite_plain.discard(c.plain);
    suite_work_free(&c.work);
}
