/* The part of a dispatch on a resident buffer that is not the NVIDIA driver's: a backend with clocks between libvyre
 * and the driver, so that launch and wait, which vary by more than the whole time of libvyre, are excluded. And the
 * time of the driver for the same launch: called by hand with a separate stream and kernel, called by hand with those
 * of libvyre, and called by libvyre. */
#include "extras.h"

#include "backends/cuda/dynamic_symbols.h"

#include <stdio.h>
#include <string.h>

enum { DISPATCHES = 20, BYTES = 256, CALLS = 1000 };

static const char group[] = "host's part of a dispatch on a resident buffer";

/* Times of the steps, in seconds. */
typedef enum moment { CALLED, LAUNCHING, LAUNCHED, WAITING, WAITED, RETURNED, MOMENTS } moment;
static double moments[MOMENTS];
static vy_cuda_dynamic_symbols real; /* the driver's functions */
/* The latest launch by libvyre. */
static struct {
    vy_cu_function function;
    vy_cu_stream stream;
    unsigned grid[3], block[3], shared_bytes;
    uint8_t params[64];
    size_t size;
} seen;

static void look(vy_cu_function function, const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                 vy_cu_stream stream, void **extra) {
    seen.function = function, seen.stream = stream, seen.shared_bytes = shared_bytes;
    memcpy(seen.grid, grid, sizeof seen.grid);
    memcpy(seen.block, block, sizeof seen.block);
    seen.size = *(const size_t *)extra[3];
    if (seen.size <= sizeof seen.params)
        memcpy(seen.params, extra[1], seen.size);
}

static int launch(vy_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared_bytes, vy_cu_stream stream, void **params, void **extra) {
    moments[LAUNCHING] = suite_now();
    int result = real.launch(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, extra);
    moments[LAUNCHED] = suite_now();
    if (!seen.function)
        look(function, (const unsigned[]){gx, gy, gz}, (const unsigned[]){bx, by, bz}, shared_bytes, stream, extra);
    return result;
}

static int launch_seen(void) {
    void *extra[] = {VY_CU_PARAMS_BYTES, seen.params, VY_CU_PARAMS_SIZE, &seen.size, VY_CU_PARAMS_END};
    return real.launch(seen.function, seen.grid[0], seen.grid[1], seen.grid[2], seen.block[0], seen.block[1],
                       seen.block[2], seen.shared_bytes, seen.stream, NULL, extra);
}

static int synchronize(vy_cu_stream stream) {
    moments[WAITING] = suite_now();
    int result = real.stream_synchronize(stream);
    moments[WAITED] = suite_now();
    return result;
}

static void stand_between(vy_cuda_dynamic_symbols *api) {
    real = *api;
    api->launch = launch;
    api->stream_synchronize = synchronize;
}

typedef struct rig {
    device_bench bench; /* with the backend with clocks */
    vyre_pipeline *pipeline;
    vyre_resource one;
    vyre_outputs outputs;
    vyre_arguments arguments;
    tiny_params params;
    double clock; /* the cost of the clock */
} rig;

/* `BOTH`: from the call of cuLaunchKernel to the end of the wait, all of which is the driver's except the code between
 * the two. */
typedef enum figure_of {
    BARE,
    BARE_BOTH,
    SAME,
    SAME_BOTH,
    OURS,
    OURS_BOTH,
    LAUNCH,
    BEFORE,
    AFTER,
    OWN,
    FIGURES
} figure_of;
static const struct {
    const char *name;
    int against; /* index + 1; 0: none */
} figures[FIGURES] = {
    [BARE] = {"bare: until cuLaunchKernel has returned", 0},
    [BARE_BOTH] = {"bare: from cuLaunchKernel to the end of the wait", 0},
    [SAME] = {"bare, with kernel and stream of ours: until cuLaunchKernel has returned", BARE + 1},
    [SAME_BOTH] = {"bare, with kernel and stream of ours: from cuLaunchKernel to the end of the wait", BARE_BOTH + 1},
    [OURS] = {"ours: until cuLaunchKernel has returned", BARE + 1},
    [OURS_BOTH] = {"ours: from cuLaunchKernel to the end of the wait", BARE_BOTH + 1},
    [LAUNCH] = {"ours: cuLaunchKernel", BARE + 1},
    [BEFORE] = {"ours: until cuLaunchKernel is called", 0},
    [AFTER] = {"ours: from there to the wait, and behind it", 0},
    [OWN] = {"ours: all that is not the driver's", 0},
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

static int wait_for(vy_cu_stream stream) {
    moments[WAITING] = suite_now();
    int result = real.stream_synchronize(stream);
    moments[WAITED] = suite_now();
    return result == 0;
}

static int measure_bare(rig *r, double *sum) {
    cu_driver *cu = r->bench.cu;
    cu->context_set(cu->context);
    for (int i = -1; i < DISPATCHES; i++) {
        moments[CALLED] = suite_now();
        if (bench_launch_tiny(&r->bench, &r->params))
            return 0;
        moments[LAUNCHED] = suite_now();
        if (!wait_for(cu->stream))
            return 0;
        if (i < 0)
            continue;
        sum[BARE] += between(r, CALLED, LAUNCHED);
        sum[BARE_BOTH] += between(r, CALLED, LAUNCHED) + between(r, LAUNCHED, WAITING) + between(r, WAITING, WAITED);
    }
    return 1;
}

static int measure_same(rig *r, double *sum) {
    r->bench.cu->context_set(r->bench.cu->context);
    for (int i = -1; i < DISPATCHES; i++) {
        moments[CALLED] = suite_now();
        if (launch_seen())
            return 0;
        moments[LAUNCHED] = suite_now();
        if (!wait_for(seen.stream))
            return 0;
        if (i < 0)
            continue;
        sum[SAME] += between(r, CALLED, LAUNCHED);
        sum[SAME_BOTH] += between(r, CALLED, LAUNCHED) + between(r, LAUNCHED, WAITING) + between(r, WAITING, WAITED);
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
        double before = between(r, CALLED, LAUNCHING), launching = between(r, LAUNCHING, LAUNCHED);
        double behind = between(r, LAUNCHED, WAITING), after = behind + between(r, WAITED, RETURNED);
        sum[OURS] += before + launching, sum[LAUNCH] += launching;
        sum[OURS_BOTH] += launching + behind + between(r, WAITING, WAITED);
        sum[BEFORE] += before, sum[AFTER] += after, sum[OWN] += before + after;
    }
    return 1;
}

/* The other driver call of libvyre, measured alone. */
static double context_seconds(void) {
    vy_cu_context context;
    double start = suite_now();
    for (int i = 0; i < CALLS; i++)
        real.context_current(&context);
    return (suite_now() - start) / CALLS;
}

/* Forwards and backwards, so that none always follows the same one. */
static int take_turns(rig *r, int round, double *sum) {
    static int (*const ways[])(rig *, double *) = {measure_ours, measure_bare, measure_same};
    enum { WAYS = sizeof ways / sizeof *ways };
    int good = 1;
    for (int i = 0; i < WAYS && good; i++)
        good = ways[round & 1 ? WAYS - 1 - i : i](r, sum);
    return good;
}

static void measure(rig *r, report *report, int rounds) {
    static double times[FIGURES][TURNS], others[FIGURES][TURNS], context[TURNS];
    memset(&seen, 0, sizeof seen); /* earlier launches probed the numerics of the device */
    for (int round = -2; round < rounds; round++) {
        double sum[FIGURES] = {0};
        if (!take_turns(r, round, sum) || seen.size > sizeof seen.params) {
            printf("SKIP %s: a dispatch failed\n", group);
            return;
        }
        for (int f = 0; round >= 0 && f < FIGURES; f++)
            times[f][round] = others[f][round] = sum[f] / DISPATCHES;
        if (round >= 0)
            context[round] = context_seconds();
    }
    for (int f = 0; f < FIGURES; f++) { /* the report sorts */
        int against = figures[f].against - 1;
        if (against >= 0)
            suite_extra_against(report, group, figures[f].name, "s", times[f], rounds, figures[against].name,
                                others[against]);
        else
            suite_extra(report, group, figures[f].name, "s", times[f], rounds);
    }
    suite_extra(report, group, "ours: of which cuCtxGetCurrent", "s", context, rounds);
}

static int prepare(rig *r) {
    vyre_error error = VYRE_ERROR_INIT;
    vy_cuda_dynamic_symbols_wrap(stand_between);
    vyre_status status = vyre_acquire("cuda", &r->bench.backend, &error);
    vy_cuda_dynamic_symbols_wrap(NULL);
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
