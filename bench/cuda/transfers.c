/* Dispatches on host buffers of 1 GiB: how much of transfers and work overlaps. */
#include "extras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLIGHTS = 3, PIECES = 16 };

static const char up[] = "bare: to the device alone, pinned", change[] = "bare: the kernel alone";
static const char down[] = "bare: to the host alone, pinned",
                  by_hand[] = "bare: overlapped by hand in 16 pieces, pinned";
static const char ordinary[] = "bare: parts in turn, ordinary memory";
static const char ours[] = "ours: one dispatch on host bytes";

static const char *group_of(const device_bench *b) {
    return b->quick ? "256 MiB to the device, every element changed, and back"
                    : "1 GiB to the device, every element changed, and back";
}

static const char *flights_group_of(const device_bench *b) {
    return b->quick ? "three dispatches on 256 MiB, blocks turned around"
                    : "three dispatches on 1 GiB, blocks turned around";
}

static size_t bytes_of(const device_bench *b) {
    return b->quick ? (size_t)256 << 20 : (size_t)1 << 30;
}

/* ---- the bare driver: parts alone, and overlapped by hand ---- */

typedef struct transfer {
    cu_driver *cu;
    void *flip, *pinned, *other_stream, *given, *got;
    cu_address memory;
    size_t size;
    void *events[PIECES + 1];
} transfer;

static int to_device(void *user) {
    transfer *t = user;
    return t->cu->copy_to_device(t->memory, t->pinned, t->size, t->cu->stream) == 0 &&
           t->cu->stream_synchronize(t->cu->stream) == 0;
}

static int to_host(void *user) {
    transfer *t = user;
    return t->cu->copy_to_host(t->pinned, t->memory, t->size, t->cu->stream) == 0 &&
           t->cu->stream_synchronize(t->cu->stream) == 0;
}

static int flip(transfer *t, size_t offset, size_t size, void *stream) {
    uint32_t n = (uint32_t)(size / 4);
    cu_address at = t->memory + offset;
    void *params[] = {&at, &n};
    return t->cu->launch(t->flip, (unsigned)((n / 4 + 255) / 256), 1, 1, 256, 1, 1, 0, stream, params, NULL) == 0;
}

static int work_alone(void *user) {
    transfer *t = user;
    return flip(t, 0, t->size, t->cu->stream) && t->cu->stream_synchronize(t->cu->stream) == 0;
}

/* Pieces are copied to the device on one stream; the kernel and the copy back wait for each on another. */
static int overlapped(void *user) {
    transfer *t = user;
    size_t piece = t->size / PIECES;
    for (size_t i = 0; i < PIECES; i++) {
        size_t at = i * piece;
        if (t->cu->copy_to_device(t->memory + at, (char *)t->pinned + at, piece, t->cu->stream) ||
            t->cu->event_record(t->events[i], t->cu->stream) ||
            t->cu->stream_wait_event(t->other_stream, t->events[i], 0) || !flip(t, at, piece, t->other_stream) ||
            t->cu->copy_to_host((char *)t->pinned + at, t->memory + at, piece, t->other_stream))
            return 0;
    }
    return t->cu->stream_synchronize(t->other_stream) == 0;
}

/* From ordinary memory to ordinary memory of the caller, as libvyre receives it. */
static int from_ordinary(void *user) {
    transfer *t = user;
    return t->cu->copy_to_device(t->memory, t->given, t->size, t->cu->stream) == 0 &&
           flip(t, 0, t->size, t->cu->stream) && t->cu->copy_to_host(t->got, t->memory, t->size, t->cu->stream) == 0 &&
           t->cu->stream_synchronize(t->cu->stream) == 0;
}

/* The setup of the bare driver; 0 with a printed line on failure. */
static int prepare_bare(device_bench *b, transfer *t) {
    int good = b->cu && b->hand;
    if (!good)
        return 0;
    b->cu->context_set(b->cu->context);
    good = b->cu->module_function(&t->flip, b->hand, "flip") == 0 && b->cu->memory_allocate(&t->memory, t->size) == 0 &&
           b->cu->host_allocate(&t->pinned, t->size, 0) == 0 && b->cu->stream_create(&t->other_stream, 1) == 0;
    for (size_t i = 0; i < PIECES && good; i++)
        good = b->cu->event_create(&t->events[i], 2) == 0;
    t->given = calloc(1, t->size);
    t->got = calloc(1, t->size);
    if (!good || !t->given || !t->got) {
        printf("SKIP bare transfers: no memory\n");
        return 0;
    }
    memset(t->pinned, 1, t->size);
    return 1;
}

static void discard_bare(transfer *t) {
    free(t->given);
    free(t->got);
    if (t->pinned)
        t->cu->host_free(t->pinned);
    if (t->memory)
        t->cu->memory_free(t->memory);
}

/* ---- libvyre ---- */

typedef struct large {
    vyre_pipeline *pipeline;
    vyre_span input;
    vyre_outputs outputs;
} large;

static int dispatch(void *user) {
    large *l = user;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_arguments arguments = {.inputs = &l->input, .input_count = 1};
    if (vyre_pipeline_dispatch_into(l->pipeline, &arguments, NULL, &l->outputs, NULL, &error) == VYRE_OK)
        return 1;
    printf("%s\n", error.message);
    return 0;
}

static const char *const flight_names[FLIGHTS] = {"first", "second", "third"};

/* Starts all of them, then waits for all; the picture shows when each began and was delivered. */
static int fly(device_bench *b, large *l, vyre_outputs *outputs, int is_drawn, double *took, vyre_error *error) {
    vyre_pending *pending[FLIGHTS] = {0};
    vyre_arguments arguments = {.inputs = &l->input, .input_count = 1};
    double starts[FLIGHTS] = {0}, begin = suite_now();
    int good = 1;
    for (int i = 0; i < FLIGHTS && good; i++) {
        starts[i] = suite_now() - begin;
        good = vyre_pipeline_dispatch_async(l->pipeline, &arguments, NULL, &pending[i], error) == VYRE_OK;
    }
    for (int i = 0; i < FLIGHTS && good; i++) {
        good = vyre_pending_wait(pending[i], UINT64_MAX, &outputs[i], NULL, error) == VYRE_OK;
        if (is_drawn)
            suite_span(b->report, "Three dispatches in flight", flight_names[i], flight_names[i], starts[i],
                       suite_now() - begin);
    }
    *took = suite_now() - begin;
    for (int i = 0; i < FLIGHTS; i++)
        vyre_pending_free(pending[i]);
    return good;
}

static int in_turn(device_bench *b, large *l, vyre_outputs *outputs, int is_drawn, double *took, vyre_error *error) {
    vyre_arguments arguments = {.inputs = &l->input, .input_count = 1};
    double begin = suite_now();
    int good = 1;
    for (int i = 0; i < FLIGHTS && good; i++) {
        double start = suite_now() - begin;
        good = vyre_pipeline_dispatch_into(l->pipeline, &arguments, NULL, &outputs[0], NULL, error) == VYRE_OK;
        if (is_drawn)
            suite_span(b->report, "Three dispatches one after the other", flight_names[i], flight_names[i], start,
                       suite_now() - begin);
    }
    *took = suite_now() - begin;
    return good;
}

/* The first rounds allocate the outputs. */
static void bench_flights(device_bench *b, large *l) {
    enum { ROUNDS = 5, SAMPLES = 5 };
    vyre_outputs outputs[FLIGHTS];
    vyre_error error = VYRE_ERROR_INIT;
    double first = 0, samples[ROUNDS + SAMPLES];
    int good = 1;
    for (int i = 0; i < FLIGHTS; i++)
        outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
    for (int i = 0; i < ROUNDS + SAMPLES && good; i++)
        good = fly(b, l, outputs, i == ROUNDS + SAMPLES - 1, &samples[i], &error);
    first = samples[0];
    suite_extra(b->report, flights_group_of(b), "ours: all in flight", "s", samples + ROUNDS, good ? SAMPLES : 0);
    suite_extra(b->report, flights_group_of(b), "ours: all in flight, into memory that is new", "s", &first, good);
    for (int i = 0; i < SAMPLES && good; i++)
        good = in_turn(b, l, outputs, i == SAMPLES - 1, &samples[i], &error);
    suite_extra(b->report, flights_group_of(b), "ours: one after the other", "s", samples, good ? SAMPLES : 0);
    if (!good)
        printf("SKIP dispatches in flight: %s\n", error.message);
    for (int i = 0; i < FLIGHTS; i++)
        vyre_outputs_free(&outputs[i]);
}

/* ---- both ---- */

/* libvyre alternating with the variants of the driver, if there are any. */
static void bench_once(device_bench *b, large *l) {
    transfer t = {.cu = b->cu, .size = bytes_of(b)};
    enum { UP, CHANGE, DOWN, BY_HAND, ORDINARY, OURS, WAYS };
    const bench_way ways[WAYS] = {
        [UP] = {.name = up, .call = to_device, .user = &t, .count = 1},
        [CHANGE] = {.name = change, .call = work_alone, .user = &t, .count = 1},
        [DOWN] = {.name = down, .call = to_host, .user = &t, .count = 1},
        [BY_HAND] = {.name = by_hand, .call = overlapped, .user = &t, .count = 1},
        [ORDINARY] = {.name = ordinary, .call = from_ordinary, .user = &t, .count = 1},
        [OURS] = {.name = ours, .call = dispatch, .user = l, .count = 1, .is_compared = 1, .against = BY_HAND}};
    const bench_way alone = {.name = ours, .call = dispatch, .user = l, .count = 1};
    int samples = b->quick ? 3 : 7, has_bare = prepare_bare(b, &t);
    if ((l->pipeline = bench_compile(b, "flip")))
        bench_contest(b, group_of(b), has_bare ? ways : &alone, has_bare ? WAYS : 1, samples);
    vyre_pipeline_release(l->pipeline);
    vyre_outputs_free(&l->outputs);
    discard_bare(&t);
}

static void bench_both(device_bench *b) {
    large l = {.outputs = VYRE_OUTPUTS_INIT};
    void *memory = malloc(bytes_of(b));
    if (!memory) {
        printf("SKIP transfers: no memory\n");
        return;
    }
    memset(memory, 1, bytes_of(b));
    l.input = (vyre_span){memory, bytes_of(b)};
    bench_once(b, &l);
    if ((l.pipeline = bench_compile(b, "turn")))
        bench_flights(b, &l);
    vyre_pipeline_release(l.pipeline);
    free(memory);
}

/* ---- a picture of one dispatch ---- */

static double median_of(const device_bench *b, const char *name) {
    for (size_t i = 0; i < b->report->extra_count; i++)
        if (b->report->extras[i].group == group_of(b) && b->report->extras[i].name == name)
            return b->report->extras[i].value.median;
    return 0;
}

/* The parts in sequence, and the unmodified whole, which is shorter if parts overlap. */
static void draw(device_bench *b) {
    static const char picture[] = "One dispatch on large host buffers", in_turn[] = "bare, parts in turn";
    double first = median_of(b, up), second = first + median_of(b, change), third = second + median_of(b, down);
    if (third > 0) {
        suite_span(b->report, picture, in_turn, up, 0, first);
        suite_span(b->report, picture, in_turn, change, first, second);
        suite_span(b->report, picture, in_turn, down, second, third);
        suite_span(b->report, picture, "bare, overlapped", by_hand, 0, median_of(b, by_hand));
        suite_span(b->report, picture, "bare, ordinary memory", ordinary, 0, median_of(b, ordinary));
    }
    if (median_of(b, ours) > 0)
        suite_span(b->report, picture, "ours", ours, 0, median_of(b, ours));
}

void bench_transfers(device_bench *b) {
    if (!b->backend)
        return;
    bench_both(b);
    draw(b);
}
