/* Batches and sequences that come again are graphs of the driver's: the same bits as one dispatch after the other,
 * whatever of them changed in between. */
#include "backends/cuda/graph_rig.h"

#include <pthread.h>

/* Both memories hold the same. */
static void compare(rig *r, const char *what) {
    vyre_bytes bytes[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    for (int i = 0; i < 2; i++)
        OK(vyre_resident_download(r->c.backend, r->memory[i], &bytes[i], &error));
    const uint32_t *given = bytes[0].data, *expected = bytes[1].data;
    for (size_t i = 0; i < WORDS; i++)
        if (given[i] != expected[i])
            fail_msg("%s: element %zu of slot %zu is %u instead of %u", what, i % ELEMENTS, i / ELEMENTS, given[i],
                     expected[i]);
    vyre_bytes_free(&bytes[0]);
    vyre_bytes_free(&bytes[1]);
}

/* A batch of one pipeline: bindings of item i in each memory. */
typedef struct table {
    size_t count, width;
    vyre_resource resources[2][SLOTS][4];
    const vyre_resource *rows[2][SLOTS];
} table;

static void put(rig *r, table *t, size_t row, const size_t *slots, size_t elements) {
    for (int m = 0; m < 2; m++) {
        for (size_t b = 0; b < t->width; b++)
            t->resources[m][row][b] = slot_of(r->memory[m], slots[b], elements);
        t->rows[m][row] = t->resources[m][row];
    }
}

/* Item i reads slot 2k + by and changes slot 2k + 1 + by, where k counts upwards or downwards: downwards they are not
 * a table (graph.h). */
static void put_upwards(rig *r, table *t, size_t count, size_t by) {
    t->count = count;
    t->width = 2;
    for (size_t i = 0; i < count; i++)
        put(r, t, i, (size_t[]){2 * i + by, 2 * i + 1 + by}, ELEMENTS);
}
static void put_pairs(rig *r, table *t, size_t count, size_t by) {
    t->count = count;
    t->width = 2;
    for (size_t i = 0; i < count; i++)
        put(r, t, count - 1 - i, (size_t[]){2 * i + by, 2 * i + 1 + by}, ELEMENTS);
}

static void run_both(rig *r, const table *t, int pipeline, uint32_t a, const char *what) {
    vyre_scalar scalar = vyre_scalar_u32(a);
    vyre_arguments arguments = {.params = &scalar, .param_count = pipeline == MIX};
    vyre_pipeline *p = r->pipelines[pipeline];
    OK(vyre_pipeline_dispatch_persistent_batch(p, t->rows[0], t->width, t->count, &arguments, NULL, r->outputs, NULL,
                                               NULL, &error));
    unsigned launched_before = launched;
    for (size_t i = 0; i < t->count; i++)
        OK(vyre_pipeline_dispatch_persistent(p, t->rows[1][i], t->width, &arguments, NULL, r->outputs, NULL, NULL,
                                             &error));
    launched = launched_before; /* those of the batch count */
    compare(r, what);
}

/* ---- batches ---- */

static void rows_that_come_again_are_one_graph(void **state) {
    (void)state;
    static rig r;
    static table t;
    rig_open(&r);
    put_pairs(&r, &t, 1000, 0);
    run_both(&r, &t, MIX, 3, "the first time");
    assert_int_equal(launched, 1000);
    assert_int_equal(made, 0);
    for (int i = 0; i < 5; i++)
        run_both(&r, &t, MIX, 3, "unchanged");
    assert_int_equal(launched, 1000);
    assert_int_equal(made, 1);
    assert_int_equal(replayed, 5);
    assert_int_equal(set, 0);
    rig_close(&r);
}

static void rows_that_changed_are_set(void **state) {
    (void)state;
    static rig r;
    static table t;
    rig_open(&r);
    put_pairs(&r, &t, 600, 0);
    run_both(&r, &t, MIX, 3, "the first time");
    run_both(&r, &t, MIX, 3, "the second time");
    put(&r, &t, 17, (size_t[]){5, 2001}, ELEMENTS);
    put(&r, &t, 400, (size_t[]){2001, 7}, ELEMENTS);
    run_both(&r, &t, MIX, 3, "two rows changed");
    assert_int_equal(set, 2);
    put(&r, &t, 599, (size_t[]){0, 1}, 5); /* fewer elements */
    put(&r, &t, 3, (size_t[]){1, 100}, 7 * ELEMENTS);
    run_both(&r, &t, MIX, 3, "other geometry");
    assert_int_equal(set, 4);
    assert_int_equal(made, 1);
    for (uint32_t i = 0; i < 3 * VY_CUDA_GRAPH_VARIANTS; i++) {
        put_pairs(&r, &t, 600, 11 * i + 1);
        run_both(&r, &t, MIX, i, "all rows changed");
        run_both(&r, &t, MIX, i + 100, "all params changed");
    }
    assert_int_equal(made, VY_CUDA_GRAPH_VARIANTS);
    assert_int_equal(launched, 600);
    assert_true(set > 600);
    rig_close(&r);
}

/* Every row reads what the one before it wrote. */
static void rows_that_share_buffers_keep_their_order(void **state) {
    (void)state;
    static rig r;
    static table t;
    rig_open(&r);
    t = (table){.count = 500, .width = 2};
    for (size_t i = 0; i < t.count; i++)
        put(&r, &t, i, (size_t[]){i % 7, (i + 1 + i % 3) % 7}, ELEMENTS);
    for (uint32_t i = 0; i < 4; i++)
        run_both(&r, &t, MIX, 1, "a chain");
    for (size_t i = 0; i < t.count; i += 2)
        put(&r, &t, i, (size_t[]){i % 13, (i + 2 + i % 5) % 13}, ELEMENTS);
    for (uint32_t i = 0; i < 2; i++)
        run_both(&r, &t, MIX, 1, "another chain");
    assert_true(replayed >= 5);
    rig_close(&r);
}

/* Every invocation reads, through the read-only path, what one of another workgroup wrote in the row before: the
 * memory it reads held something else two rows before. */
static void try_turns(int may_begin_early) {
    static const size_t sizes[] = {ELEMENTS, 32 * 132, 32 * 1056, WORDS / 2};
    static rig r;
    static table t;
    rig_open(&r);
    vy_executable *code;
    OK(vy_pipeline_executable(r.pipelines[TURN], (vy_stop_condition){0}, 0, &code, &error));
    const vy_cuda *cuda = ((vy_cuda_executable *)((vy_gpu_pipeline *)code->entries->self)->code)->cuda;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        t = (table){.count = 301, .width = 2};
        for (size_t i = 0; i < t.count; i++)
            put(&r, &t, i, (size_t[]){i % 2 ? SLOTS / 2 : 0, i % 2 ? 0 : SLOTS / 2}, sizes[s]);
        for (int i = 0; i < 3; i++)
            run_both(&r, &t, TURN, 0, "there and back");
    }
    assert_int_equal(made, 4);
    assert_int_equal(replayed, 11);
    assert_int_equal(cuda->device_info.has_dependent_launch,
                     may_begin_early && cuda->device_info.architecture >= 90 && real.graph_link);
    assert_int_equal(linked, cuda->device_info.has_dependent_launch ? 4 * 300 : 0);
    rig_close(&r);
}

/* Workgroups share lines of the cache: what one has read and another has written meanwhile is read anew in the next
 * row. */
static void rows_share_no_caches(void **state) {
    (void)state;
    static const size_t sizes[] = {3 * 100, 3 * 132 + 1, 3 * 1056, WORDS / 8};
    static rig r;
    static table t;
    rig_open(&r);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        t = (table){.count = 301, .width = 1};
        for (size_t i = 0; i < t.count; i++)
            put(&r, &t, i, (size_t[]){0}, sizes[s]);
        for (int i = 0; i < 5; i++)
            run_both(&r, &t, NEAR, 0, "in place");
    }
    assert_int_equal(replayed, 19);
    rig_close(&r);
}

static void rows_begin_before_the_one_before_has_ended(void **state) {
    (void)state;
    try_turns(1);
}

static void rows_can_be_kept_from_beginning_early(void **state) {
    (void)state;
    setenv("VYRE_CUDA_EARLY", "0", 1);
    try_turns(0);
    unsetenv("VYRE_CUDA_EARLY");
}

static void many_rows_are_several_graphs(void **state) {
    (void)state;
    static rig r;
    static table t;
    static const vyre_resource *rows[2 * VY_GPU_MANY + 9];
    static vyre_outputs outputs[2 * VY_GPU_MANY + 9];
    rig_open(&r);
    t = (table){.count = SLOTS, .width = 1};
    for (size_t i = 0; i < t.count; i++)
        put(&r, &t, t.count - 1 - i, (size_t[]){i}, ELEMENTS);
    for (int k = 0; k < 3; k++)
        run_both(&r, &t, TWICE, 0, "4096 rows");
    forget_counts();
    size_t count = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < count; i++)
        rows[i] = t.rows[0][i % SLOTS];
    for (int k = 0; k < 3; k++) {
        OK(vyre_pipeline_dispatch_persistent_batch(r.pipelines[TWICE], rows, 1, count, NULL, NULL, outputs, NULL, NULL,
                                                   &error));
        for (size_t i = 0; i < count; i++)
            OK(vyre_pipeline_dispatch_persistent(r.pipelines[TWICE], t.rows[1][i % SLOTS], 1, NULL, NULL, r.outputs,
                                                 NULL, NULL, &error));
        compare(&r, "more rows than one graph has");
    }
    assert_int_equal(replayed, 3 * 2 + 2); /* the full ones are known */
    for (size_t i = 0; i < count; i++)
        vyre_outputs_free(&outputs[i]);
    rig_close(&r);
}

static void rows_of_four_are_graphs_too(void **state) {
    (void)state;
    static rig r;
    static table t;
    rig_open(&r);
    for (int k = 0; k < 4; k++) {
        t = (table){.count = 300, .width = 4};
        for (size_t i = 0; i < t.count; i++)
            put(&r, &t, i, (size_t[]){i, i + 1, 2 * i, 1000 + i + (size_t)k / 2}, ELEMENTS);
        OK(vyre_pipeline_dispatch_rows(r.pipelines[FOUR], (const vyre_resource(*)[4])t.resources[0], t.count, NULL,
                                       NULL, r.outputs, NULL, NULL, &error));
        for (size_t i = 0; i < t.count; i++)
            OK(vyre_pipeline_dispatch_persistent(r.pipelines[FOUR], t.rows[1][i], 4, NULL, NULL, r.outputs, NULL, NULL,
                                                 &error));
        compare(&r, "rows of four");
    }
    assert_int_equal(replayed, 3);
    rig_close(&r);
}

static void batches_of_several_pipelines_alternate(void **state) {
    (void)state;
    static rig r;
    static table pairs, ones;
    rig_open(&r);
    put_pairs(&r, &pairs, 50, 9);
    ones = (table){.count = 50, .width = 1};
    for (size_t i = 0; i < ones.count; i++)
        put(&r, &ones, i, (size_t[]){i + 20}, ELEMENTS);
    for (uint32_t i = 0; i < 4; i++) {
        run_both(&r, &pairs, MIX, i, "one pipeline");
        run_both(&r, &ones, TWICE, 0, "another pipeline");
    }
    assert_int_equal(replayed, 6);
    rig_close(&r);
}

/* ---- tables ---- */

static void rows_that_do_not_meet_run_at_once(void **state) {
    (void)state;
    enum { ROWS = 1000 };
    static rig r;
    static table t;
    rig_open(&r);
    put_upwards(&r, &t, ROWS, 0);
    for (int i = 0; i <= VY_CUDA_BATCHED_COMPILE_AFTER / ROWS + 1; i++)
        run_both(&r, &t, MIX, 3, "until it is worth it");
    unsigned before = replayed;
    launched = 0;
    for (uint32_t i = 0; i < 4; i++) {
        put_upwards(&r, &t, ROWS - i, 3 * i);
        run_both(&r, &t, MIX, i, "as one launch");
    }
    assert_int_equal(launched, 4);
    for (size_t i = 0; i < ROWS; i++) /* all read the same, and write with gaps */
        put(&r, &t, i, (size_t[]){0, 1 + i * 4}, ELEMENTS / 2);
    run_both(&r, &t, MIX, 9, "one buffer is read by all");
    assert_int_equal(launched, 5);
    assert_int_equal(replayed, before);
    rig_close(&r);
}

/* The kernel by rows is there, and must not be used. */
static void rows_that_meet_run_one_after_the_other(void **state) {
    (void)state;
    enum { ROWS = 1000 };
    static rig r;
    static table t;
    rig_open(&r);
    put_upwards(&r, &t, ROWS, 0);
    for (int i = 0; i <= VY_CUDA_BATCHED_COMPILE_AFTER / ROWS + 1; i++)
        run_both(&r, &t, MIX, 3, "until it is worth it");
    unsigned long long before = launched;
    run_both(&r, &t, MIX, 3, "as one launch");
    assert_int_equal(launched, before + 1);
    for (size_t i = 0; i < ROWS; i++)
        put(&r, &t, i, (size_t[]){i, i + 1}, ELEMENTS);
    run_both(&r, &t, MIX, 3, "each reads what the one before it wrote");
    for (size_t i = 0; i < ROWS; i++)
        put(&r, &t, i, (size_t[]){2000, i + 1}, i == 500 ? ELEMENTS + 1 : ELEMENTS);
    run_both(&r, &t, MIX, 3, "two overlap by an element");
    put_upwards(&r, &t, ROWS, 0);
    put(&r, &t, 700, (size_t[]){1400, 3}, ELEMENTS);
    run_both(&r, &t, MIX, 3, "one goes back");
    put_upwards(&r, &t, ROWS, 0);
    put(&r, &t, 999, (size_t[]){1998, 1999}, 3);
    run_both(&r, &t, MIX, 3, "one has another grid");
    assert_true(launched > before + 1 || replayed > 0);
    rig_close(&r);
}

/* ---- sequences ---- */

static void sequences_are_graphs_too(void **state) {
    (void)state;
    enum { STEPS = 40 };
    static rig r;
    vyre_resource bindings[2][STEPS][2];
    vyre_step steps[2][STEPS];
    vyre_scalar scalars[STEPS];
    vyre_arguments arguments[STEPS];
    uint32_t back[ELEMENTS], expected[ELEMENTS];
    vyre_timing timing;
    rig_open(&r);
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < STEPS; i++) {
            int is_mix = i % 3 != 0;
            scalars[i] = vyre_scalar_u32((uint32_t)i * (round > 3 ? 7u : 1u));
            arguments[i] = (vyre_arguments){.params = &scalars[i], .param_count = (size_t)is_mix};
            for (int m = 0; m < 2; m++) {
                bindings[m][i][0] = slot_of(r.memory[m], (i + 2) % 4, ELEMENTS);
                bindings[m][i][1] = slot_of(r.memory[m], i % 4, ELEMENTS);
                steps[m][i] = (vyre_step){.pipeline = r.pipelines[is_mix ? MIX : TWICE],
                                          .bindings = bindings[m][i],
                                          .binding_count = is_mix ? 2 : 1,
                                          .arguments = &arguments[i]};
            }
        }
        vyre_readback readback = {
            .resident = r.memory[0], .offset = 2 * ELEMENTS * 4, .size = sizeof back, .host = back};
        OK(vyre_sequence_run(r.c.backend, steps[0], STEPS, &readback, 1, NULL, round % 2 ? &timing : NULL, NULL, NULL,
                             &error));
        readback.resident = r.memory[1], readback.host = expected;
        for (size_t i = 0; i < STEPS; i++)
            OK(vyre_sequence_run(r.c.backend, &steps[1][i], 1, &readback, 1, NULL, NULL, NULL, NULL, &error));
        assert_memory_equal(back, expected, sizeof back);
        compare(&r, "a sequence");
    }
    assert_int_equal(replayed, 5);
    assert_int_equal(made, 1);
    assert_true(set > 0);
    rig_close(&r);
}

/* ---- what cannot be a graph ---- */

static void a_row_that_traps_is_named(void **state) {
    (void)state;
    static rig r;
    static table t;
    rig_open(&r);
    t = (table){.count = 20, .width = 1};
    for (size_t i = 0; i < t.count; i++)
        put(&r, &t, i, (size_t[]){i}, ELEMENTS);
    for (int k = 0; k < 3; k++)
        run_both(&r, &t, REFUSES, 0, "rows that may trap");
    assert_int_equal(replayed, 0);
    uint32_t bad = 13;
    vyre_trap trap;
    size_t failed = 99;
    vyre_error error = VYRE_ERROR_INIT;
    OK(vyre_resident_upload_at(r.c.backend, r.memory[0], (11 * ELEMENTS + 5) * 4, &bad, 4, &error));
    assert_int_equal(vyre_pipeline_dispatch_persistent_batch(r.pipelines[REFUSES], t.rows[0], 1, t.count, NULL, NULL,
                                                             r.outputs, &failed, &trap, &error),
                     VYRE_TRAPPED);
    assert_int_equal(failed, 11);
    assert_int_equal(trap.code, 99);
    rig_close(&r);
}

static void host_bytes_among_the_rows_go_one_by_one(void **state) {
    (void)state;
    static rig r;
    static table t;
    rig_open(&r);
    for (int k = 0; k < 4; k++) {
        put_pairs(&r, &t, 10, 0);
        for (int m = 0; m < 2; m++)
            t.resources[m][4][0] =
                (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {r.words, ELEMENTS * sizeof *r.words}};
        run_both(&r, &t, MIX, 2, "a row with host bytes");
    }
    assert_int_equal(replayed, 0);
    rig_close(&r);
}

static void a_driver_without_graphs_does_without(void **state) {
    (void)state;
    static rig r;
    static table t;
    is_without_graphs = 1;
    rig_open(&r);
    put_pairs(&r, &t, 100, 0);
    for (int k = 0; k < 3; k++)
        run_both(&r, &t, MIX, 2, "no graphs");
    assert_int_equal(replayed, 0);
    assert_int_equal(launched, 300);
    rig_close(&r);
    is_without_graphs = 0;
}

/* ---- memory and pipelines that end ---- */

/* Memory that was freed is somebody else's: what a kept graph wrote to before stays as it is. */
static void memory_that_was_freed_is_not_written_to(void **state) {
    (void)state;
    enum { ROWS = 64 };
    static rig r;
    rig_open(&r);
    for (int round = 0; round < 6; round++) {
        vyre_resident x, y;
        vyre_resource bindings[ROWS][2];
        const vyre_resource *rows[ROWS];
        vyre_scalar a = vyre_scalar_u32(1);
        vyre_arguments arguments = {.params = &a, .param_count = 1};
        uint32_t expected[ELEMENTS];
        vyre_bytes bytes = VYRE_BYTES_INIT;
        OK(vyre_resident_allocate(r.c.backend, ELEMENTS * 4 * (round % 2 ? 3 : 1), NULL, &x, &error));
        OK(vyre_resident_allocate(r.c.backend, ELEMENTS * 4, NULL, &y, &error));
        for (int i = 0; i < ROWS; i++) {
            bindings[i][0] = slot_of(x, 0, ELEMENTS);
            bindings[i][1] = slot_of(y, 0, ELEMENTS);
            rows[i] = bindings[i];
        }
        for (int k = 0; k < 2; k++)
            OK(vyre_pipeline_dispatch_persistent_batch(r.pipelines[MIX], rows, 2, ROWS, &arguments, NULL, r.outputs,
                                                       NULL, NULL, &error));
        uint32_t value = 0;
        for (int i = 0; i < 2 * ROWS; i++)
            value = value * 5 + 1;
        for (int i = 0; i < ELEMENTS; i++)
            expected[i] = value;
        OK(vyre_resident_download(r.c.backend, y, &bytes, &error));
        assert_memory_equal(bytes.data, expected, sizeof expected);
        vyre_bytes_free(&bytes);
        vyre_resident first = round % 2 ? x : y, second = round % 2 ? y : x;
        OK(vyre_resident_free(r.c.backend, first, &error));
        if (round % 3 == 0) { /* a batch in between, on memory that lives */
            static table t;
            put_pairs(&r, &t, ROWS, 0);
            run_both(&r, &t, MIX, 1, "in between");
        }
        OK(vyre_resident_free(r.c.backend, second, &error));
    }
    assert_true(replayed > 4);
    rig_close(&r);
}

static void pipelines_that_end_take_their_graphs_along(void **state) {
    (void)state;
    static rig r;
    static table t;
    rig_open(&r);
    put_pairs(&r, &t, 30, 0);
    vyre_pipeline *kept = r.pipelines[MIX];
    for (int k = 0; k < 5; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "program mine {\n param a : u32\n buffer x : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
                 " grid over y\n let i = global_id.x\n if i < len(y) { y[i] = y[i] * %d + x[i] + a }\n}\n",
                 3 + k);
        vyre_program *program = conform_parse(text, NULL, 0, "mine");
        OK(vyre_compile(r.c.backend, program, NULL, &r.pipelines[MIX], &error));
        vyre_program_release(program);
        for (uint32_t i = 0; i < 3; i++)
            run_both(&r, &t, MIX, i, "one pipeline after the other");
        vyre_pipeline_release(r.pipelines[MIX]);
    }
    r.pipelines[MIX] = kept;
    assert_int_equal(made, 5 + 5); /* another param is another variant */
    rig_close(&r);
}

/* ---- threads ---- */

typedef struct worker {
    rig *r;
    vyre_resident memory;
    int is_wrong;
} worker;

static void *replay(void *user) {
    enum { ROWS = 200, ROUNDS = 60 };
    worker *w = user;
    vyre_resource bindings[ROWS][2];
    const vyre_resource *rows[ROWS];
    vyre_outputs outputs[ROWS];
    vyre_bytes bytes = VYRE_BYTES_INIT;
    uint32_t value[4] = {0};
    memset(outputs, 0, sizeof outputs);
    for (int round = 0; round < ROUNDS; round++) {
        vyre_scalar a = vyre_scalar_u32((uint32_t)round / 7);
        vyre_arguments arguments = {.params = &a, .param_count = 1};
        for (size_t i = 0; i < ROWS; i++) {
            size_t to = (i + (size_t)round / 5) % 4, from = i % 4;
            bindings[i][0] = slot_of(w->memory, 8 + from, ELEMENTS); /* zeros */
            bindings[i][1] = slot_of(w->memory, to, ELEMENTS);
            rows[i] = bindings[i];
            value[to] = value[to] * 5 + (uint32_t)round / 7;
        }
        w->is_wrong |= vyre_pipeline_dispatch_persistent_batch(w->r->pipelines[MIX], rows, 2, ROWS, &arguments, NULL,
                                                               outputs, NULL, NULL, NULL) != VYRE_OK;
    }
    w->is_wrong |= vyre_resident_download(w->r->c.backend, w->memory, &bytes, NULL) != VYRE_OK;
    for (size_t i = 0; !w->is_wrong && i < 4 * ELEMENTS; i++)
        w->is_wrong |= ((const uint32_t *)bytes.data)[i] != value[i / ELEMENTS];
    vyre_bytes_free(&bytes);
    for (int i = 0; i < ROWS; i++)
        vyre_outputs_free(&outputs[i]);
    return NULL;
}

static void several_threads_run_batches_of_one_pipeline(void **state) {
    (void)state;
    enum { THREADS = 3 };
    static rig r;
    worker workers[THREADS];
    pthread_t threads[THREADS];
    rig_open(&r);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.r = &r};
        OK(vyre_resident_allocate(r.c.backend, 16 * ELEMENTS * 4, NULL, &workers[i].memory, &error));
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, replay, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].is_wrong, 0);
        OK(vyre_resident_free(r.c.backend, workers[i].memory, &error));
    }
    assert_true(replayed > 0);
    printf("%u graphs for %d threads, %u replays, %u rows set, %u launches\n", made, THREADS, replayed, set, launched);
    rig_close(&r);
}

int main(void) {
    vy_cuda_dynamic_symbols_wrap(wrap);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_come_again_are_one_graph),
        cmocka_unit_test(rows_that_changed_are_set),
        cmocka_unit_test(rows_that_share_buffers_keep_their_order),
        cmocka_unit_test(rows_begin_before_the_one_before_has_ended),
        cmocka_unit_test(rows_can_be_kept_from_beginning_early),
        cmocka_unit_test(rows_share_no_caches),
        cmocka_unit_test(many_rows_are_several_graphs),
        cmocka_unit_test(rows_of_four_are_graphs_too),
        cmocka_unit_test(batches_of_several_pipelines_alternate),
        cmocka_unit_test(rows_that_do_not_meet_run_at_once),
        cmocka_unit_test(rows_that_meet_run_one_after_the_other),
        cmocka_unit_test(sequences_are_graphs_too),
        cmocka_unit_test(a_row_that_traps_is_named),
        cmocka_unit_test(host_bytes_among_the_rows_go_one_by_one),
        cmocka_unit_test(a_driver_without_graphs_does_without),
        cmocka_unit_test(memory_that_was_freed_is_not_written_to),
        cmocka_unit_test(pipelines_that_end_take_their_graphs_along),
        cmocka_unit_test(several_threads_run_batches_of_one_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
