/* A thousand tiny launches in one call: libvyre, and CUDA graphs made by hand with the same kernel, alternating. Rows
 * are independent, or all change the same element. */
#include "extras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_OF_BATCH = 1000,
    ROW_BYTES = 256,
    SETS = 8 /* sets of rows that alternate when every row is to change: libvyre keeps four */
};

static const char apart[] = "batch of 1000 tiny dispatches";
static const char in_line[] = "batch of 1000 tiny dispatches that depend on each other";

typedef struct batch {
    device_bench *bench;
    cu_driver *cu;
    int depends; /* all rows of a set use the same bytes */
    /* The bare driver. */
    cu_address memory;
    void *graph, *executable, **nodes;
    int turn;
    /* libvyre. */
    vyre_pipeline *pipeline;
    vyre_resident resident;
    vyre_resource (*rows)[ROWS_OF_BATCH];
    const vyre_resource *(*row_pointers)[ROWS_OF_BATCH];
    vyre_outputs *outputs;
    vyre_arguments arguments;
    int our_turn;
} batch;

static uint64_t offset_of(const batch *b, int set, int row) {
    return b->depends ? (uint64_t)set * ROW_BYTES : ((uint64_t)set * ROWS_OF_BATCH + (uint64_t)row) * ROW_BYTES;
}

static uint64_t bytes_of(const batch *b) {
    return offset_of(b, SETS - 1, ROWS_OF_BATCH - 1) + ROW_BYTES;
}

/* ---- the bare driver ---- */

static tiny_params params_of(const batch *b, int set, int row) {
    return (tiny_params){.memory = b->memory + offset_of(b, set, row), .count = ROW_BYTES / 4};
}

static int launch_all(const batch *b) {
    for (int i = 0; i < ROWS_OF_BATCH; i++) {
        tiny_params params = params_of(b, 0, i);
        if (bench_launch_tiny(b->bench, &params))
            return 0;
    }
    return 1;
}

static int bare_rows(void *user) {
    batch *b = user;
    return launch_all(b) && b->cu->stream_synchronize(b->cu->stream) == 0;
}

static int bare_replay(void *user) {
    batch *b = user;
    return b->cu->graph_launch(b->executable, b->cu->stream) == 0 && b->cu->stream_synchronize(b->cu->stream) == 0;
}

static int set_nodes(batch *b, int set) {
    size_t size = sizeof(tiny_params);
    for (int i = 0; i < ROWS_OF_BATCH; i++) {
        tiny_params params = params_of(b, set, i);
        void *extra[] = {CU_PARAMS_BYTES, &params, CU_PARAMS_SIZE, &size, CU_PARAMS_END};
        const cu_kernel_node_params node = {
            .function = b->bench->tiny, .grid = {1, 1, 1}, .block = {32, 1, 1}, .extra = extra};
        if (b->cu->graph_set_kernel(b->executable, b->nodes[i], &node))
            return 0;
    }
    return 1;
}

/* Changes the address of every node first. */
static int bare_change(void *user) {
    batch *b = user;
    b->turn = (b->turn + 1) % SETS;
    return set_nodes(b, b->turn) && bare_replay(b);
}

/* One chain, like a stream. */
static int capture(batch *b) {
    size_t count = ROWS_OF_BATCH;
    return b->cu->capture_begin(b->cu->stream, 0) == 0 && launch_all(b) &&
           b->cu->capture_end(b->cu->stream, &b->graph) == 0 && b->cu->graph_nodes(b->graph, b->nodes, &count) == 0 &&
           count == ROWS_OF_BATCH && b->cu->graph_instantiate(&b->executable, b->graph, 0) == 0;
}

static int prepare_bare(batch *b) {
    b->nodes = calloc(ROWS_OF_BATCH, sizeof *b->nodes);
    b->cu->context_set(b->cu->context);
    if (!b->nodes || b->cu->memory_allocate(&b->memory, bytes_of(b)) ||
        b->cu->fill(b->memory, 0, bytes_of(b), b->cu->stream) || !capture(b)) {
        printf("SKIP batches: the bare driver makes no graph of them\n");
        return 0;
    }
    return 1;
}

/* ---- libvyre ---- */

static int ours_of(batch *b, int set) {
    vyre_error error = VYRE_ERROR_INIT;
    return bench_said(vyre_pipeline_dispatch_persistent_batch(b->pipeline, b->row_pointers[set], 1, ROWS_OF_BATCH,
                                                              &b->arguments, NULL, b->outputs, NULL, NULL, &error),
                      &error);
}

static int ours_same(void *user) {
    return ours_of(user, 0);
}

static int ours_changed(void *user) {
    batch *b = user;
    b->our_turn = b->our_turn % (SETS - 1) + 1; /* the first set is for rows that do not change */
    return ours_of(b, b->our_turn);
}

static int prepare_ours(batch *b) {
    vyre_error error = VYRE_ERROR_INIT;
    if (!(b->pipeline = bench_compile(b->bench, "tiny")) ||
        !bench_said(vyre_resident_allocate(b->bench->backend, bytes_of(b), NULL, &b->resident, &error), &error))
        return 0;
    b->rows = calloc(SETS, sizeof *b->rows);
    b->row_pointers = calloc(SETS, sizeof *b->row_pointers);
    b->outputs = calloc(ROWS_OF_BATCH, sizeof *b->outputs);
    if (!b->rows || !b->row_pointers || !b->outputs)
        return 0;
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < ROWS_OF_BATCH; i++) {
            b->rows[set][i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                                              .resident = b->resident,
                                              .offset = offset_of(b, set, i),
                                              .size = ROW_BYTES};
            b->row_pointers[set][i] = &b->rows[set][i];
        }
    for (int i = 0; i < ROWS_OF_BATCH; i++)
        b->outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
    return 1;
}

/* ---- both ---- */

/* Whether both compute the same: the words that the first two rows count in. */
static int agree(batch *b) {
    uint32_t bare[2] = {0}, ours[2] = {0};
    uint64_t second = offset_of(b, 0, 1);
    vyre_error error = VYRE_ERROR_INIT;
    int good =
        bare_replay(b) && ours_same(b) && ours_same(b) && bare_replay(b) &&
        bench_said(vyre_resident_download_at(b->bench->backend, b->resident, 0, &ours[0], 4, &error), &error) &&
        bench_said(vyre_resident_download_at(b->bench->backend, b->resident, second, &ours[1], 4, &error), &error) &&
        b->cu->context_set(b->cu->context) == 0 && b->cu->copy_to_host(&bare[0], b->memory, 4, b->cu->stream) == 0 &&
        b->cu->copy_to_host(&bare[1], b->memory + second, 4, b->cu->stream) == 0 &&
        b->cu->stream_synchronize(b->cu->stream) == 0 && memcmp(bare, ours, sizeof bare) == 0 &&
        ours[0] == (b->depends ? 2 * ROWS_OF_BATCH : 2);
    if (!good)
        printf("SKIP batches: the driver counts %u and %u, ours %u and %u\n", bare[0], bare[1], ours[0], ours[1]);
    return good;
}

static void discard(batch *b) {
    for (int i = 0; b->outputs && i < ROWS_OF_BATCH; i++)
        vyre_outputs_free(&b->outputs[i]);
    free(b->outputs);
    free(b->rows);
    free(b->row_pointers);
    vyre_pipeline_release(b->pipeline);
    if (b->resident.owner)
        vyre_resident_free(b->bench->backend, b->resident, NULL);
    if (b->executable)
        b->cu->graph_executable_free(b->executable);
    if (b->graph)
        b->cu->graph_free(b->graph);
    if (b->memory)
        b->cu->memory_free(b->memory);
    free(b->nodes);
}

static void bench_one(device_bench *bench, int depends, int samples) {
    enum { REPLAY, CHANGE, ALONE };
    batch b = {.bench = bench, .cu = bench->cu, .depends = depends};
    batch changing = {0}; /* the nodes that change belong to another graph */
    const bench_way ways[] = {
        [REPLAY] = {.name = "bare: replay of a graph", .call = bare_replay, .user = &b, .count = 2},
        [CHANGE] = {.name = "bare: every node changed, then replay",
                    .call = bare_change,
                    .user = &changing,
                    .count = 2},
        [ALONE] = {.name = "bare: launches in a stream, one wait", .call = bare_rows, .user = &b, .count = 1},
        {.name = "ours: rows unchanged",
         .call = ours_same,
         .user = &b,
         .count = 2,
         .is_compared = 1,
         .against = REPLAY},
        {.name = "ours: every row changed",
         .call = ours_changed,
         .user = &b,
         .count = 2,
         .is_compared = 1,
         .against = CHANGE}};
    int good = prepare_bare(&b) && prepare_ours(&b) && agree(&b);
    changing = (batch){.bench = bench, .cu = bench->cu, .depends = depends};
    if (good && prepare_bare(&changing))
        bench_contest(bench, depends ? in_line : apart, ways, sizeof ways / sizeof *ways, samples);
    discard(&changing);
    discard(&b);
}

void bench_batches(device_bench *b) {
    if (!b->cu || !b->backend)
        return;
    bench_one(b, 0, b->quick ? 21 : 61);
    bench_one(b, 1, b->quick ? 41 : 101);
}
