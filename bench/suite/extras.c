/* Measurements other than kernels: empty dispatches and compiling. bandwidth.c measures memory bandwidth. */
#include "peer_c/peer.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void suite_extra(report *r, const char *group, const char *name, const char *unit, double *values, int count) {
    if (count > 0 && r->extra_count < EXTRAS)
        r->extras[r->extra_count++] =
            (extra){.group = group, .name = name, .unit = unit, .value = suite_statistic(values, count)};
}

void suite_extra_against(report *r, const char *group, const char *name, const char *unit, double *values, int count,
                         const char *against, const double *others) {
    enum { MOST = 1024 };
    double adds[MOST], ratios[MOST];
    count = count < MOST ? count : MOST;
    for (int i = 0; i < count; i++) {
        adds[i] = values[i] - others[i];
        ratios[i] = others[i] > 0 ? values[i] / others[i] : 0;
    }
    size_t at = r->extra_count;
    suite_extra(r, group, name, unit, values, count);
    if (r->extra_count == at)
        return;
    r->extras[at].against = against;
    r->extras[at].adds = suite_quartiles(adds, count);
    r->extras[at].ratio = suite_quartiles(ratios, count);
}

void suite_say_against(const extra *e, const char *micro, char *to, size_t room) {
    int is_time = strcmp(e->unit, "s") == 0;
    double factor = is_time ? 1e6 : 1;
    to[0] = 0;
    if (e->against)
        snprintf(to, room, "adds %.3f %s (%.3f to %.3f), x%.3f (%.3f to %.3f) of %s", e->adds.median * factor,
                 is_time ? micro : e->unit, e->adds.low * factor, e->adds.high * factor, e->ratio.median, e->ratio.low,
                 e->ratio.high, e->against);
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
                {VERSION_OPENCL, "OpenCL: enqueue and finish", suite_opencl_empty},
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

void suite_extras(report *r, const int *available, int quick) {
    empty_dispatches(r, available);
    if (available[VERSION_OURS])
        compiles(r);
    suite_bandwidth(r, available, quick);
}
