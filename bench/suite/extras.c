/* What is not a kernel: dispatches of nothing, compiling, the bandwidth of the memory. */
#include "peer_c/peer.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

void suite_extra(report *r, const char *group, const char *name, const char *unit, double *values, int count) {
    if (count > 0 && r->extra_count < EXTRAS)
        r->extras[r->extra_count++] = (extra){group, name, unit, suite_statistic(values, count)};
}

void suite_span(report *r, const char *picture, const char *lane, const char *name, double start, double end) {
    if (r->span_count < SPANS)
        r->spans[r->span_count++] = (span){picture, lane, name, start, end};
}

static double plain_empty(int dispatches) {
    double start = suite_now();
    for (int i = 0; i < dispatches; i++)
        peer_empty();
    return (suite_now() - start) / dispatches;
}

static void empty_dispatches(report *r, const int *available) {
    static const struct {
        version version;
        const char *name;
        double (*measure)(int dispatches);
    } rows[] = {{VERSION_OURS, "ours: one group of nothing", suite_ours_empty},
                {VERSION_C, "OpenMP: an empty parallel region", plain_empty},
                {VERSION_OPENCL, "PoCL: enqueue and finish", suite_opencl_empty},
                {VERSION_VULKAN, "lavapipe: submit and wait", suite_vulkan_empty}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double times[SAMPLES];
        int count = 0;
        if (!available[rows[i].version])
            continue;
        rows[i].measure(100);
        for (; count < SAMPLES; count++)
            if ((times[count] = rows[i].measure(200)) < 0)
                break;
        suite_extra(r, "empty dispatch", rows[i].name, "s", times, count);
    }
}

static void compiles(report *r) {
    double first = suite_ours_first_compile();
    suite_extra(r, "compile an empty program", "ours: the first compile of the process", "s", &first, first > 0);
    for (int from_disk = 0; from_disk < 2; from_disk++) {
        double times[SAMPLES];
        int count = 0;
        for (; count < SAMPLES; count++)
            if ((times[count] = suite_ours_compile("examples/saxpy.vyre", from_disk)) < 0)
                break;
        suite_extra(r, "compile saxpy", from_disk ? "ours: found on disk" : "ours: compiled again, nothing cached", "s",
                    times, count);
    }
}

/* The same stream by ours and by hand; rows take turns. */
static void bandwidth(report *r, const int *available, int quick) {
    char reason[REASON] = "";
    double rates[3][SAMPLES];
    int counts[3] = {0}, rounds = quick ? 5 : 9;
    work w;
    if (!suite_work_make(&suite_triad, quick ? 4194304 : suite_triad.sizes[3], &w))
        return;
    void *mine = available[VERSION_OURS] ? suite_ours.prepare(&w, reason) : NULL;
    void *plain = available[VERSION_C] ? suite_plain.prepare(&w, reason) : NULL;
    if (reason[0])
        fprintf(stderr, "SKIP bandwidth: %s\n", reason);
    for (int round = -1; round < rounds; round++) /* the first warms up */
        for (int kind = 0; kind < 3; kind++) {
            double start = suite_now();
            if (kind == 0 ? !mine || !suite_ours.run(mine) : !plain)
                continue;
            if (kind == 1)
                suite_plain.run(plain);
            else if (kind == 2)
                peer_triad_streaming(w.n, 0.5, suite_plain.array(plain, 0), suite_plain.array(plain, 1),
                                     (double *)suite_plain.array(plain, 2));
            if (round >= 0)
                rates[kind][counts[kind]++] = w.bytes / (suite_now() - start) * 1e-9;
        }
    suite_extra(r, "bandwidth of c = a + s * b", "ours", "GB/s", rates[0], counts[0]);
    suite_extra(r, "bandwidth of c = a + s * b", "plain C loop, OpenMP", "GB/s", rates[1], counts[1]);
    suite_extra(r, "bandwidth of c = a + s * b", "non-temporal stores, OpenMP", "GB/s", rates[2], counts[2]);
    if (mine)
        suite_ours.discard(mine);
    if (plain)
        suite_plain.discard(plain);
    suite_work_free(&w);
}

void suite_extras(report *r, const int *available, int quick) {
    empty_dispatches(r, available);
    if (available[VERSION_OURS])
        compiles(r);
    bandwidth(r, available, quick);
}
