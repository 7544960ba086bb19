/* What of a dispatch on a resident buffer is not the driver's: a backend of its own, with clocks between it and the driver, so that launching and waiting, which differ from one time to the next by more
 * than all of ours, are not in the figure. */
#include "extras.h"

#include "backends/cuda/api.h"

#include <stdio.h>

enum { DISPATCHES = 20, BYTES = 256 };

static const char group[] = "host's part of a dispatch on a resident buffer";

/* When it was where, in seconds. */
typedef enum moment { CALLED, LAUNCHING, LAUNCHED, WAITING, WAITED, RETURNED, MOMENTS } moment;
static double moments[MOMENTS];
static vy_cuda_api real; /* as the driver has it */

static int launch(vy_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared_bytes, vy_cu_stream stream, void **params, void **extra) {
    moments[LAUNCHING] = suite_now();
    int result = real.launch(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, extra);
    moments[LAUNCHED] = suite_now();
    return result;
}

static int synchronize(vy_cu_stream stream) {
    moments[WAITING] = suite_now();
    int result = real.stream_synchronize(stream);
    moments[WAITED] = suite_now();
    return result;
}

static void stand_between(vy_cuda_api *api) {
    real = *api;
    api->launch = launch;
    api->stream_synchronize = synchronize;
}

typedef struct rig {
    device_bench bench; /* with the other backend */
    vyre_pipeline *pipeline;
    vyre_resource one;
    vyre_outputs outputs;
    vyre_arguments arguments;
    tiny_params params;
    double clock; /* what looking at it takes */
} rig;

typedef enum figure_of { BARE, OURS, BEFORE, AFTER, OWN, FIGURES } figure_of;
static const char *const names[FIGURES] = {
    [BARE] = "bare: until cuLaunchKernel has returned", [OURS] = "ours: until cuLaunchKernel has returned",
    [BEFORE] = "ours: until cuLaunchKernel is called",  [AFTER] = "ours: from there to the wait, and behind it",
    [OWN] = "ours: all that is not the driver's",
};

static double cost_of_clock(void) {
    double steps[101];
    for (int i = 0; i < 101; i++) {
        double start = suite_now();
        steps[i] = suite_now() - start;
    }
    return suite_quartiles(steps, 101).median;
}

static double between(const rig *r, moment from, moment to) {
    return moments[to] - moments[from] - r->clock;
}

static int measure_bare(const rig *r, double *sum) {
    cu_driver *cu = r->bench.cu;
    cu->context_set(cu->context);
    for (int i = -1; i < DISPATCHES; i++) {
        moments[CALLED] = suite_now();
        if (bench_launch_tiny(&r->bench, &r->params))
            return 0;
        moments[LAUNCHED] = suite_now();
        if (cu->stream_synchronize(cu->stream))
            return 0;
        if (i >= 0)
            sum[BARE] += between(r, CALLED, LAUNCHED);
    }
    return 1;
}

static int measure_ours(rig *r, double *sum) {
    for (int i = -1; i < DISPATCHES; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        moments[CALLED] = suite_now();
        vyre_status status = vyre_pipeline_dispatch_persistent(r->pipeline, &r->one, 1, &r->arguments, NULL,
                                                               &r->outputs, NULL, NULL, &error);
        moments[RETURNED] = suite_now();
        if (!bench_said(status, &error))
            return 0;
        if (i < 0)
            continue;
        double before = between(r, CALLED, LAUNCHING);
        double after = between(r, LAUNCHED, WAITING) + between(r, WAITED, RETURNED);
        sum[OURS] += before + between(r, LAUNCHING, LAUNCHED);
        sum[BEFORE] += before, sum[AFTER] += after, sum[OWN] += before + after;
    }
    return 1;
}

static void measure(rig *r, report *report, int rounds) {
    static double times[FIGURES][TURNS], bare[TURNS];
    for (int round = -1; round < rounds; round++) {
        double sum[FIGURES] = {0};
        int good =
            round & 1 ? measure_ours(r, sum) && measure_bare(r, sum) : measure_bare(r, sum) && measure_ours(r, sum);
        if (!good) {
            printf("SKIP %s: a dispatch failed\n", group);
            return;
        }
        for (int f = 0; round >= 0 && f < FIGURES; f++)
            times[f][round] = sum[f] / DISPATCHES;
        if (round >= 0)
            bare[round] = times[BARE][round];
    }
    suite_extra(report, group, names[BARE], "s", times[BARE], rounds);
    suite_extra_against(report, group, names[OURS], "s", times[OURS], rounds, names[BARE], bare);
    for (int f = BEFORE; f < FIGURES; f++)
        suite_extra(report, group, names[f], "s", times[f], rounds);
}

static int prepare(rig *r) {
    vyre_error error = VYRE_ERROR_INIT;
    vy_cuda_api_wrap(stand_between);
    vyre_status status = vyre_acquire("cuda", &r->bench.backend, &error);
    vy_cuda_api_wrap(NULL);
    if (!bench_said(status, &error) || !(r->pipeline = bench_compile(&r->bench, "tiny")) ||
        !bench_said(vyre_resident_allocate(r->bench.backend, BYTES, NULL, &r->one.resident, &error), &error))
        return 0;
    r->one.kind = VYRE_RESOURCE_RESIDENT, r->one.size = BYTES;
    r->params.count = BYTES / 4;
    return r->bench.cu->memory_allocate(&r->params.memory, BYTES) == 0;
}

void bench_handover(device_bench *b) {
    if (!b->cu || !b->backend)
        return;
    rig r = {.bench = *b, .outputs = VYRE_OUTPUTS_INIT, .clock = cost_of_clock()};
    r.bench.backend = NULL;
    if (prepare(&r))
        measure(&r, b->report, b->quick ? 101 : TURNS);
    if (r.params.memory)
        b->cu->memory_free(r.params.memory);
    vyre_outputs_free(&r.outputs);
    vyre_pipeline_release(r.pipeline);
    if (r.one.resident.owner)
        vyre_resident_free(r.bench.backend, r.one.resident, NULL);
    if (r.bench.backend)
        vyre_backend_release(r.bench.backend);
}
