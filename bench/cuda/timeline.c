/* What the device does during dispatches on large host buffers, as backend cuda drives it: events around every copy and launch, put there by standing between the backend and
 * the driver. Not for measuring: in a run of its own (--timeline). */
#include "extras.h"

#include "backends/cuda/api.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 4096 };

typedef enum lane { LANE_UP, LANE_WORK, LANE_DOWN, LANE_COUNT } lane;
static const char *const lane_names[LANE_COUNT] = {"to the device", "kernels", "to the host"};

typedef struct record {
    lane lane;
    vy_cu_event start, end;
} record;

static vy_cuda_api real; /* as the driver has it */
static record records[RECORDS];
static atomic_uint next_record;
static atomic_int is_recording;

static record *begin(lane lane, vy_cu_stream stream) {
    if (!atomic_load(&is_recording))
        return NULL;
    unsigned index = atomic_fetch_add(&next_record, 1);
    if (index >= RECORDS)
        return NULL;
    record *r = &records[index];
    r->lane = lane;
    if (!r->start &&
        (real.event_create(&r->start, VY_CU_EVENT_DEFAULT) || real.event_create(&r->end, VY_CU_EVENT_DEFAULT)))
        return NULL;
    real.event_record(r->start, stream);
    return r;
}

static int end(record *r, vy_cu_stream stream, int result) {
    if (r)
        real.event_record(r->end, stream);
    return result;
}

static int copy_to_device(vy_cu_address to, const void *from, size_t size, vy_cu_stream stream) {
    record *r = begin(LANE_UP, stream);
    return end(r, stream, real.copy_to_device(to, from, size, stream));
}

static int copy_to_host(void *to, vy_cu_address from, size_t size, vy_cu_stream stream) {
    record *r = begin(LANE_DOWN, stream);
    return end(r, stream, real.copy_to_host(to, from, size, stream));
}

static int launch(vy_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared_bytes, vy_cu_stream stream, void **params, void **extra) {
    record *r = begin(LANE_WORK, stream);
    return end(r, stream, real.launch(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, extra));
}

static void stand_between(vy_cuda_api *api) {
    real = *api;
    api->copy_to_device = copy_to_device;
    api->copy_to_host = copy_to_host;
    api->launch = launch;
}

void suite_timeline_prepare(void) {
    vy_cuda_api_wrap(stand_between);
}

/* ---- what was recorded ---- */

static void start_recording(void) {
    atomic_store(&next_record, 0);
    atomic_store(&is_recording, 1);
}

/* Spans from the first start on; neighbours in a lane that touch become one, so that pictures stay small. */
static void draw(report *r, const char *picture) {
    unsigned count = atomic_load(&next_record);
    double ends[LANE_COUNT] = {-1, -1, -1}, starts[LANE_COUNT] = {0}, busy[LANE_COUNT] = {0}, last = 0;
    atomic_store(&is_recording, 0);
    count = count > RECORDS ? RECORDS : count;
    for (unsigned i = 0; i < count; i++) {
        record *at = &records[i];
        float from = 0, to = 0;
        if (!at->end || real.event_elapsed(&from, records[0].start, at->start) ||
            real.event_elapsed(&to, records[0].start, at->end))
            continue;
        busy[at->lane] += (double)(to - from) * 1e-3;
        last = (double)to * 1e-3 > last ? (double)to * 1e-3 : last;
        if (ends[at->lane] >= 0 && (double)from * 1e-3 - ends[at->lane] > 20e-6) {
            suite_span(r, picture, lane_names[at->lane], lane_names[at->lane], starts[at->lane], ends[at->lane]);
            ends[at->lane] = -1;
        }
        if (ends[at->lane] < 0)
            starts[at->lane] = (double)from * 1e-3;
        ends[at->lane] = (double)to * 1e-3;
    }
    for (int i = 0; i < LANE_COUNT; i++) {
        if (ends[i] >= 0)
            suite_span(r, picture, lane_names[i], lane_names[i], starts[i], ends[i]);
        suite_extra(r, picture, lane_names[i], "s", &busy[i], count > 0);
    }
    suite_extra(r, picture, "from the first start to the last end", "s", &last, count > 0);
}

static void dispatch(device_bench *b, const char *program, const char *picture, vyre_span input) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_pipeline *pipeline = bench_compile(b, program);
    for (int round = 0; round < 2 && pipeline; round++) { /* the first makes room */
        start_recording();
        if (vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, &error) != VYRE_OK) {
            printf("SKIP %s: %s\n", picture, error.message);
            break;
        }
        if (round == 1)
            draw(b->report, picture);
    }
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
}

static void dispatch_in_flight(device_bench *b, const char *program, const char *picture, vyre_span input) {
    enum { FLIGHTS = 3 };
    vyre_error error = VYRE_ERROR_INIT;
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_pipeline *pipeline = bench_compile(b, program);
    vyre_status status = pipeline ? VYRE_OK : VYRE_UNSUPPORTED;
    for (int round = 0; round < 2 && status == VYRE_OK; round++) {
        vyre_pending *pending[FLIGHTS] = {0};
        start_recording();
        for (int i = 0; i < FLIGHTS && status == VYRE_OK; i++)
            status = vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending[i], &error);
        for (int i = 0; i < FLIGHTS && status == VYRE_OK; i++) {
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            status = vyre_pending_wait(pending[i], UINT64_MAX, &outputs, NULL, &error);
            vyre_outputs_free(&outputs);
        }
        for (int i = 0; i < FLIGHTS; i++)
            vyre_pending_free(pending[i]);
        if (round == 1 && status == VYRE_OK)
            draw(b->report, picture);
    }
    if (status != VYRE_OK)
        printf("SKIP %s: %s\n", picture, error.message);
    vyre_pipeline_release(pipeline);
}

void suite_timeline(report *r, int quick) {
    vyre_error error = VYRE_ERROR_INIT;
    device_bench b = {.report = r, .backend = suite_ours_backend(), .quick = quick};
    size_t size = quick ? (size_t)256 << 20 : (size_t)1 << 30;
    void *memory = malloc(size);
    if (memory && (b.module = suite_ours_parse("bench/suite/tiny.vyre", NULL, &error))) {
        vyre_span input = {memory, size};
        memset(memory, 1, size);
        dispatch(&b, "flip", "One dispatch, element by element", input);
        dispatch(&b, "turn", "One dispatch, not element by element", input);
        dispatch_in_flight(&b, "turn", "Three such dispatches in flight", input);
    } else {
        printf("SKIP timelines: %s\n", memory ? error.message : "no memory");
    }
    vyre_module_free(b.module);
    free(memory);
}
