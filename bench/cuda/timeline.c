/* The activity of the device during dispatches on large host buffers by backend cuda: events around every copy and
 * launch, inserted between the backend and the driver. Not for measurements: runs separately (--timeline). */
#include "extras.h"

#include "backends/cuda/dynamic_symbols.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 16384 };

typedef enum lane { LANE_UP, LANE_WORK, LANE_DOWN, LANE_COUNT } lane;
static const char *const lane_names[LANE_COUNT] = {"to the device", "kernels", "to the host"};

typedef struct record {
    lane lane;
    vy_cu_event start, end;
} record;

static vy_cuda_dynamic_symbols real; /* the driver's functions */
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

static void stand_between(vy_cuda_dynamic_symbols *api) {
    real = *api;
    api->copy_to_device = copy_to_device;
    api->copy_to_host = copy_to_host;
    api->launch = launch;
}

void suite_timeline_prepare(void) {
    vy_cuda_dynamic_symbols_wrap(stand_between);
}

/* ---- recorded events ---- */

static void start_recording(void) {
    atomic_store(&next_record, 0);
    atomic_store(&is_recording, 1);
}

/* An interval in which a lane was active. */
typedef struct stretch {
    double start, end;
} stretch;

static stretch stretches[LANE_COUNT][RECORDS];
static size_t counts[LANE_COUNT];

static int by_start(const void *a, const void *b) {
    double x = ((const stretch *)a)->start, y = ((const stretch *)b)->start;
    return (x > y) - (x < y);
}

/* Several streams feed one engine: overlapping and almost adjacent intervals of a lane are merged, so that pictures
 * stay small. */
static void join_stretches(lane lane) {
    stretch *all = stretches[lane];
    size_t kept = 0;
    qsort(all, counts[lane], sizeof *all, by_start);
    for (size_t i = 0; i < counts[lane]; i++) {
        if (kept && all[i].start - all[kept - 1].end <= 20e-6)
            all[kept - 1].end = all[i].end > all[kept - 1].end ? all[i].end : all[kept - 1].end;
        else
            all[kept++] = all[i];
    }
    counts[lane] = kept;
}

static double busy(lane lane) {
    double sum = 0;
    for (size_t i = 0; i < counts[lane]; i++)
        sum += stretches[lane][i].end - stretches[lane][i].start;
    return sum;
}

static double at_once(lane one, lane other) {
    double sum = 0;
    for (size_t i = 0, k = 0; i < counts[one] && k < counts[other];) {
        const stretch *a = &stretches[one][i], *b = &stretches[other][k];
        double start = a->start > b->start ? a->start : b->start, end = a->end < b->end ? a->end : b->end;
        sum += end > start ? end - start : 0;
        if (a->end < b->end)
            i++;
        else
            k++;
    }
    return sum;
}

/* Times are relative to the first start; records of several threads are in any order. */
static unsigned collect(void) {
    unsigned count = atomic_load(&next_record);
    double first = 0;
    atomic_store(&is_recording, 0);
    count = count > RECORDS ? RECORDS : count;
    memset(counts, 0, sizeof counts);
    for (unsigned i = 0; i < count; i++) {
        record *at = &records[i];
        float from = 0, to = 0;
        if (!at->end || real.event_elapsed(&from, records[0].start, at->start) ||
            real.event_elapsed(&to, records[0].start, at->end))
            continue;
        stretches[at->lane][counts[at->lane]++] = (stretch){(double)from * 1e-3, (double)to * 1e-3};
        first = (double)from * 1e-3 < first ? (double)from * 1e-3 : first;
    }
    for (int l = 0; l < LANE_COUNT; l++)
        for (size_t i = 0; i < counts[l]; i++)
            stretches[l][i].start -= first, stretches[l][i].end -= first;
    return count;
}

static void draw(report *r, const char *picture) {
    unsigned count = collect();
    double last = 0;
    for (int l = 0; l < LANE_COUNT; l++) {
        join_stretches((lane)l);
        for (size_t i = 0; i < counts[l]; i++)
            suite_span(r, picture, lane_names[l], lane_names[l], stretches[l][i].start, stretches[l][i].end);
        double time = busy((lane)l);
        last = counts[l] && stretches[l][counts[l] - 1].end > last ? stretches[l][counts[l] - 1].end : last;
        suite_extra(r, picture, lane_names[l], "s", &time, count > 0);
    }
    double both = at_once(LANE_UP, LANE_DOWN), above = at_once(LANE_WORK, LANE_UP);
    suite_extra(r, picture, "to the device and to the host at once", "s", &both, count > 0);
    suite_extra(r, picture, "kernels and to the device at once", "s", &above, count > 0);
    suite_extra(r, picture, "from the first start to the last end", "s", &last, count > 0);
    if (atomic_load(&next_record) > RECORDS)
        printf("%s: only the first %d copies and launches are drawn\n", picture, RECORDS);
}

static void dispatch(device_bench *b, const char *program, const char *picture, vyre_span input) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_pipeline *pipeline = bench_compile(b, program);
    for (int round = 0; round < 2 && pipeline; round++) { /* the first run allocates */
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
    enum { FLIGHTS = 3, ROUNDS = 6 };
    vyre_outputs outputs[FLIGHTS] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_pipeline *pipeline = bench_compile(b, program);
    vyre_status status = pipeline ? VYRE_OK : VYRE_UNSUPPORTED;
    for (int round = 0; round < ROUNDS && status == VYRE_OK; round++) { /* the earlier rounds allocate memory */
        vyre_pending *pending[FLIGHTS] = {0};
        start_recording();
        for (int i = 0; i < FLIGHTS && status == VYRE_OK; i++)
            status = vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending[i], &error);
        for (int i = 0; i < FLIGHTS && status == VYRE_OK; i++)
            status = vyre_pending_wait(pending[i], UINT64_MAX, &outputs[i], NULL, &error);
        for (int i = 0; i < FLIGHTS; i++)
            vyre_pending_free(pending[i]);
        if (round == ROUNDS - 1 && status == VYRE_OK)
            draw(b->report, picture);
    }
    for (int i = 0; i < FLIGHTS; i++)
        vyre_outputs_free(&outputs[i]);
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
