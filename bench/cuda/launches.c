/* Launches and waits, batches as graphs, small transfers: the bare driver, then ours. */
#include "extras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_OF_BATCH = 1000, ROW_BYTES = 256, LAUNCHES = 2000, WAITS = 500, SMALL = 4096 };

static const char amortised[] = "launches, one wait for all, each";
static const char waited[] = "launch and wait";
static const char batch[] = "batch of 1000 tiny dispatches";
static const char round_trip[] = "4 KiB to the device, dispatch, and back";

/* ---- the bare driver ---- */

typedef struct bare {
    cu_driver *cu;
    void *function;
    cu_address memory;
    void *pinned, *graph, *executable;
    void **nodes;
    cu_address rows[2];
    int turn;
} bare;

static int bare_launch_at(bare *d, cu_address *at) {
    void *params[] = {at};
    return d->cu->launch(d->function, 1, 1, 1, 32, 1, 1, 0, d->cu->stream, params, NULL) == 0;
}

static int bare_many(void *user) {
    bare *d = user;
    for (int i = 0; i < LAUNCHES; i++)
        if (!bare_launch_at(d, &d->memory))
            return 0;
    return d->cu->stream_synchronize(d->cu->stream) == 0;
}

static int bare_wait(void *user) {
    bare *d = user;
    return bare_launch_at(d, &d->memory) && d->cu->stream_synchronize(d->cu->stream) == 0;
}

static int bare_rows(void *user) {
    bare *d = user;
    for (int i = 0; i < ROWS_OF_BATCH; i++) {
        cu_address at = d->memory + (cu_address)i * ROW_BYTES;
        if (!bare_launch_at(d, &at))
            return 0;
    }
    return d->cu->stream_synchronize(d->cu->stream) == 0;
}

static int bare_replay(void *user) {
    bare *d = user;
    return d->cu->graph_launch(d->executable, d->cu->stream) == 0 && d->cu->stream_synchronize(d->cu->stream) == 0;
}

/* Every node gets another address first. */
static int bare_change(void *user) {
    bare *d = user;
    d->turn ^= 1;
    for (int i = 0; i < ROWS_OF_BATCH; i++) {
        cu_address at = d->rows[d->turn] + (cu_address)i * ROW_BYTES;
        void *params[] = {&at};
        const cu_kernel_node_params node = {
            .function = d->function, .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params};
        if (d->cu->graph_set_kernel(d->executable, d->nodes[i], &node))
            return 0;
    }
    return bare_replay(d);
}

static int bare_round_trip(void *user) {
    bare *d = user;
    return d->cu->copy_to_device(d->memory, d->pinned, SMALL, d->cu->stream) == 0 && bare_launch_at(d, &d->memory) &&
           d->cu->copy_to_host(d->pinned, d->memory, SMALL, d->cu->stream) == 0 &&
           d->cu->stream_synchronize(d->cu->stream) == 0;
}

/* From memory of the caller's, as a library gets it. */
static int bare_round_trip_copied(void *user) {
    static uint8_t given[SMALL], got[SMALL];
    bare *d = user;
    memcpy(d->pinned, given, SMALL);
    int good = bare_round_trip(d);
    memcpy(got, d->pinned, SMALL);
    return good;
}

static int capture(bare *d) {
    size_t count = ROWS_OF_BATCH;
    if (d->cu->capture_begin(d->cu->stream, 0))
        return 0;
    for (int i = 0; i < ROWS_OF_BATCH; i++) {
        cu_address at = d->rows[0] + (cu_address)i * ROW_BYTES;
        bare_launch_at(d, &at);
    }
    return d->cu->capture_end(d->cu->stream, &d->graph) == 0 && d->cu->graph_nodes(d->graph, d->nodes, &count) == 0 &&
           count == ROWS_OF_BATCH && d->cu->graph_instantiate(&d->executable, d->graph, 0) == 0;
}

static void bench_bare(device_bench *b) {
    bare d = {.cu = b->cu, .function = b->tiny, .nodes = calloc(ROWS_OF_BATCH, sizeof *d.nodes)};
    size_t size = 2 * (size_t)ROWS_OF_BATCH * ROW_BYTES;
    b->cu->context_set(b->cu->context);
    if (!d.nodes || b->cu->memory_allocate(&d.memory, size) || b->cu->host_allocate(&d.pinned, SMALL, 0)) {
        printf("SKIP the bare driver: no memory\n");
        free(d.nodes);
        return;
    }
    b->cu->fill(d.memory, 0, size, b->cu->stream);
    memset(d.pinned, 0, SMALL);
    d.rows[0] = d.memory;
    d.rows[1] = d.memory + (cu_address)ROWS_OF_BATCH * ROW_BYTES;
    double times[SAMPLES];
    int count = 0;
    for (int i = -1; i < SAMPLES; i++) {
        double start = suite_now();
        if (bare_many(&d) && i >= 0)
            times[count++] = (suite_now() - start) / LAUNCHES;
    }
    suite_extra(b->report, amortised, "bare: cuLaunchKernel", "s", times, count);
    bench_sample(b, waited, "bare: cuLaunchKernel, cuStreamSynchronize", SAMPLES, WAITS, bare_wait, &d);
    bench_sample(b, batch, "bare: launches in a stream, one wait", SAMPLES, 5, bare_rows, &d);
    if (capture(&d)) {
        bench_sample(b, batch, "bare: replay of a graph", SAMPLES, 20, bare_replay, &d);
        bench_sample(b, batch, "bare: every node changed, then replay", SAMPLES, 5, bare_change, &d);
    } else {
        printf("SKIP the bare graph: it cannot be made\n");
    }
    bench_sample(b, round_trip, "bare: pinned memory", SAMPLES, 300, bare_round_trip, &d);
    bench_sample(b, round_trip, "bare: copied to and from pinned memory", SAMPLES, 300, bare_round_trip_copied, &d);
    if (d.executable)
        b->cu->graph_executable_free(d.executable);
    if (d.graph)
        b->cu->graph_free(d.graph);
    b->cu->host_free(d.pinned);
    b->cu->memory_free(d.memory);
    free(d.nodes);
}

/* ---- ours ---- */

typedef struct ours {
    device_bench *bench;
    vyre_pipeline *pipeline;
    vyre_resident memory;
    vyre_resource one, *rows[2];
    const vyre_resource **row_pointers[2];
    vyre_step *steps;
    vyre_outputs outputs, *row_outputs;
    vyre_arguments arguments;
    vyre_timing timing;
    vyre_span input;
    int turn;
} ours;

static int said(vyre_status status, const vyre_error *error) {
    if (status != VYRE_OK)
        printf("%s: %s\n", vyre_status_name(status), error->message);
    return status == VYRE_OK;
}

static int ours_wait(void *user) {
    ours *o = user;
    vyre_error error = VYRE_ERROR_INIT;
    return said(vyre_pipeline_dispatch_persistent(o->pipeline, &o->one, 1, &o->arguments, NULL, &o->outputs, NULL, NULL,
                                                  &error),
                &error);
}

static int ours_many(void *user) {
    ours *o = user;
    vyre_error error = VYRE_ERROR_INIT;
    return said(vyre_sequence_run(o->bench->backend, o->steps, LAUNCHES, NULL, 0, NULL, NULL, NULL, NULL, &error),
                &error);
}

static int ours_batch_of(ours *o, int set) {
    vyre_error error = VYRE_ERROR_INIT;
    return said(vyre_pipeline_dispatch_persistent_batch(o->pipeline, o->row_pointers[set], 1, ROWS_OF_BATCH,
                                                        &o->arguments, NULL, o->row_outputs, NULL, NULL, &error),
                &error);
}

static int ours_batch(void *user) {
    return ours_batch_of(user, 0);
}

static int ours_changed_batch(void *user) {
    ours *o = user;
    o->turn ^= 1;
    return ours_batch_of(o, o->turn);
}

static int ours_round_trip(void *user) {
    ours *o = user;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_arguments arguments = {.inputs = &o->input, .input_count = 1};
    return said(vyre_pipeline_dispatch_into(o->pipeline, &arguments, NULL, &o->outputs, NULL, &error), &error);
}

/* What the dispatch says of itself: how long it took to hand over. */
static void ours_enqueue(ours *o) {
    double times[SAMPLES];
    int count = 0;
    for (int i = -100; i < SAMPLES; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        vyre_timing timing = {0};
        if (!said(vyre_pipeline_dispatch_persistent(o->pipeline, &o->one, 1, &o->arguments, NULL, &o->outputs, &timing,
                                                    NULL, &error),
                  &error))
            return;
        if (i >= 0 && (timing.present & VYRE_TIMED_ENQUEUE))
            times[count++] = (double)timing.enqueue_ns * 1e-9;
    }
    suite_extra(o->bench->report, waited, "ours: until it was handed over, by its own account", "s", times, count);
}

static int prepare_ours(ours *o) {
    vyre_error error = VYRE_ERROR_INIT;
    size_t size = 2 * (size_t)ROWS_OF_BATCH * ROW_BYTES;
    if (!(o->pipeline = bench_compile(o->bench, "tiny")) ||
        !said(vyre_resident_allocate(o->bench->backend, size, NULL, &o->memory, &error), &error))
        return 0;
    o->one = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = o->memory, .size = ROW_BYTES};
    o->steps = calloc(LAUNCHES, sizeof *o->steps);
    o->row_outputs = calloc(ROWS_OF_BATCH, sizeof *o->row_outputs);
    o->input = (vyre_span){calloc(1, SMALL), SMALL};
    for (int set = 0; set < 2; set++) {
        o->rows[set] = calloc(ROWS_OF_BATCH, sizeof *o->rows[set]);
        o->row_pointers[set] = calloc(ROWS_OF_BATCH, sizeof *o->row_pointers[set]);
        if (!o->rows[set] || !o->row_pointers[set])
            return 0;
        for (int i = 0; i < ROWS_OF_BATCH; i++) {
            o->rows[set][i] = o->one;
            o->rows[set][i].offset = ((uint64_t)set * ROWS_OF_BATCH + (uint64_t)i) * ROW_BYTES;
            o->row_pointers[set][i] = &o->rows[set][i];
        }
    }
    for (int i = 0; o->steps && i < LAUNCHES; i++)
        o->steps[i] = (vyre_step){.pipeline = o->pipeline, .bindings = &o->one, .binding_count = 1};
    for (int i = 0; o->row_outputs && i < ROWS_OF_BATCH; i++)
        o->row_outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
    return o->steps && o->row_outputs && o->input.data;
}

static void discard_ours(ours *o) {
    for (int set = 0; set < 2; set++) {
        free(o->rows[set]);
        free(o->row_pointers[set]);
    }
    for (int i = 0; o->row_outputs && i < ROWS_OF_BATCH; i++)
        vyre_outputs_free(&o->row_outputs[i]);
    free(o->row_outputs);
    free(o->steps);
    free((void *)(uintptr_t)o->input.data);
    vyre_outputs_free(&o->outputs);
    vyre_pipeline_release(o->pipeline);
    if (o->memory.owner)
        vyre_resident_free(o->bench->backend, o->memory, NULL);
}

static void bench_ours(device_bench *b) {
    ours o = {.bench = b, .outputs = VYRE_OUTPUTS_INIT};
    if (prepare_ours(&o)) {
        double times[SAMPLES];
        int count = 0;
        for (int i = -1; i < SAMPLES; i++) {
            double start = suite_now();
            if (!ours_many(&o))
                break;
            if (i >= 0)
                times[count++] = (suite_now() - start) / LAUNCHES;
        }
        suite_extra(b->report, amortised, "ours: a sequence of dispatches on resident buffers", "s", times, count);
        bench_sample(b, waited, "ours: dispatch on a resident buffer", SAMPLES, WAITS, ours_wait, &o);
        ours_enqueue(&o);
        bench_sample(b, batch, "ours: rows unchanged", SAMPLES, 20, ours_batch, &o);
        bench_sample(b, batch, "ours: every row changed", SAMPLES, 5, ours_changed_batch, &o);
        bench_sample(b, round_trip, "ours: dispatch on host bytes", SAMPLES, 300, ours_round_trip, &o);
    }
    discard_ours(&o);
}

void bench_launches(device_bench *b) {
    if (b->cu)
        bench_bare(b);
    if (b->backend)
        bench_ours(b);
}
