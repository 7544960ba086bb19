/* Rows of a batch on persistent handles, and steps of a sequence, where most are like the one before: whatever they
 * are, a batch is its dispatches one after the other, or, if one of them is wrong, nothing but that one's error. */
#include "driver/pipeline_forms.h"

#include "vyre/cache.h"

enum { WIDTH = 4, MEMORIES = 3, WORDS = 96, ROWS = 24 };

static const char *const texts[] = {
    "program two {\n buffer a : u32 read\n buffer y : u32 read_write\n workgroup 4\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = y[i] * 5 + a[i] + 1 } }",
    "program four {\n buffer p : u32 read\n buffer q : u32 read\n buffer r : u32 read\n buffer y : u32 read_write\n"
    " workgroup 4\n grid over y\n let i = global_id.x\n if i < len(y) { y[i] = y[i] * 7 + p[i] * 3 + (q[i] ^ r[i]) } }",
};
static const size_t widths[] = {2, 4};

/* The same twice: for batches, and for one dispatch after the other. */
typedef struct world {
    rig r;
    vyre_module *module;
    vyre_pipeline *pipeline;
    size_t width;
    vyre_resident memory[2][MEMORIES], stale;
    vyre_resource rows[2][ROWS][WIDTH];
    vyre_outputs outputs[ROWS];
    uint64_t random;
} world;

static uint32_t any(world *w, uint32_t bound) {
    w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(w->random >> 33) % bound;
}

static void open_world(world *w, int which, uint64_t seed) {
    uint32_t words[WORDS];
    memset(w, 0, sizeof *w);
    rig_open_with(&w->r, fake_new());
    w->width = widths[which];
    w->random = seed;
    assert_int_equal(vyre_compile(w->r.backend, fake_parse(texts[which], &w->module), NULL, &w->pipeline, NULL),
                     VYRE_OK);
    for (int m = 0; m < MEMORIES; m++) {
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = any(w, 1000);
        for (int copy = 0; copy < 2; copy++)
            assert_int_equal(vyre_resident_allocate(w->r.backend, sizeof words, words, &w->memory[copy][m], NULL),
                             VYRE_OK);
    }
    assert_int_equal(vyre_resident_allocate(w->r.backend, sizeof words, NULL, &w->stale, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(w->r.backend, w->stale, NULL), VYRE_OK);
}

/* Nothing holds a buffer when no call is under way. */
static void close_world(world *w) {
    for (int copy = 0; copy < 2; copy++)
        for (int m = 0; m < MEMORIES; m++)
            assert_int_equal(vyre_resident_free(w->r.backend, w->memory[copy][m], NULL), VYRE_OK);
    for (int i = 0; i < ROWS; i++)
        vyre_outputs_free(&w->outputs[i]);
    vyre_pipeline_release(w->pipeline);
    vyre_module_free(w->module);
    rig_close(&w->r);
}

static void set_range(world *w, size_t row, size_t buffer, int memory, uint64_t offset, uint64_t size) {
    for (int copy = 0; copy < 2; copy++)
        w->rows[copy][row][buffer] = (vyre_resource){
            .kind = VYRE_RESOURCE_RESIDENT, .resident = w->memory[copy][memory], .offset = offset, .size = size};
}

static void copy_row(world *w, size_t row) {
    for (int copy = 0; copy < 2; copy++)
        memcpy(w->rows[copy][row], w->rows[copy][row - 1], sizeof w->rows[copy][row]);
}

static void move(world *w, size_t row, size_t buffer, uint64_t offset) {
    for (int copy = 0; copy < 2; copy++)
        w->rows[copy][row][buffer].offset = offset;
}

/* Each buffer in a separate third of one allocation, or in a separate allocation. */
static void put_anew(world *w, size_t row) {
    uint32_t is_apart = any(w, 2), size = 4 * (1 + any(w, 5));
    for (size_t b = 0; b < w->width; b++)
        set_range(w, row, b, is_apart ? (int)(b % MEMORIES) : 0, 4 * (uint64_t)(b * WORDS / WIDTH + any(w, 16)), size);
}

/* Sometimes, an invalid row. */
static void spoil(world *w, size_t row) {
    size_t b = any(w, (uint32_t)w->width);
    vyre_resource *bad[2] = {&w->rows[0][row][b], &w->rows[1][row][b]};
    uint32_t kind = any(w, 6);
    for (int copy = 0; copy < 2; copy++) {
        const vyre_resource *written = &w->rows[copy][row][w->width - 1];
        if (kind == 0)
            bad[copy]->offset += 2;
        else if (kind == 1)
            bad[copy]->offset = WORDS * 4 - bad[copy]->size + 4;
        else if (kind == 2)
            bad[copy]->offset = UINT64_MAX - 3;
        else if (kind == 3 && b + 1 < w->width)
            bad[copy]->resident = written->resident, bad[copy]->offset = written->offset;
        else if (kind == 4)
            bad[copy]->resident = w->stale;
        else
            bad[copy]->size = 7;
    }
}

static void put_row(world *w, size_t row, int may_spoil) {
    uint32_t kind = row ? any(w, 12) : 11;
    if (kind == 11)
        put_anew(w, row);
    else
        copy_row(w, row);
    for (size_t b = 0; b < w->width && kind > 3 && kind < 10; b++)
        if (any(w, 2))
            move(w, row, b, 4 * (uint64_t)(b * WORDS / WIDTH + any(w, 16)));
    if (kind == 10) /* to the end */
        set_range(w, row, 0, 2, 4 * (WORDS - 1 - any(w, 3)), 0);
    if (may_spoil && any(w, ROWS) == 0)
        spoil(w, row);
}

static vyre_status run_batch(world *w, size_t *failed, vyre_error *error) {
    const vyre_resource *rows[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = w->rows[0][i];
    if (w->width == WIDTH && any(w, 2))
        return vyre_pipeline_dispatch_rows(w->pipeline, (const vyre_resource(*)[WIDTH])w->rows[0], ROWS, NULL, NULL,
                                           w->outputs, failed, NULL, error);
    return vyre_pipeline_dispatch_persistent_batch(w->pipeline, rows, w->width, ROWS, NULL, NULL, w->outputs, failed,
                                                   NULL, error);
}

/* As steps: what they are given for a row is its own, or that of all. */
static vyre_status run_steps(world *w, size_t *failed, vyre_error *error) {
    static const vyre_arguments nothing[ROWS];
    vyre_step steps[ROWS];
    uint32_t word;
    vyre_readback readback = {.resident = w->memory[0][0], .size = sizeof word, .host = &word};
    for (size_t i = 0; i < ROWS; i++)
        steps[i] = (vyre_step){.pipeline = w->pipeline,
                               .bindings = w->rows[0][i],
                               .binding_count = w->width,
                               .arguments = any(w, 8) ? NULL : &nothing[i]};
    return vyre_sequence_run(w->r.backend, steps, ROWS, &readback, 1, NULL, NULL, failed, NULL, error);
}

/* What one after the other comes to: the first that fails is the last. */
static vyre_status run_each(world *w, size_t *failed, vyre_error *error) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status = VYRE_OK;
    for (*failed = 0; *failed < ROWS && status == VYRE_OK; ++*failed)
        status = vyre_pipeline_dispatch_persistent(w->pipeline, w->rows[1][*failed], w->width, NULL, NULL, &outputs,
                                                   NULL, NULL, error);
    *failed -= status != VYRE_OK;
    vyre_outputs_free(&outputs);
    return status;
}

static void compare(world *w, int is_restored) {
    for (int m = 0; m < MEMORIES; m++) {
        uint32_t got[WORDS], expected[WORDS];
        assert_int_equal(vyre_resident_download_at(w->r.backend, w->memory[0][m], 0, got, sizeof got, NULL), VYRE_OK);
        if (is_restored)
            assert_int_equal(vyre_resident_upload_at(w->r.backend, w->memory[1][m], 0, got, sizeof got, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_download_at(w->r.backend, w->memory[1][m], 0, expected, sizeof expected, NULL),
                         VYRE_OK);
        assert_memory_equal(got, expected, sizeof got);
    }
}

static void trial(world *w, int may_spoil, int as_steps, unsigned *good, unsigned *bad) {
    vyre_error error = VYRE_ERROR_INIT, expected = VYRE_ERROR_INIT;
    size_t failed = ROWS, wrong;
    uint32_t before[WORDS], after[WORDS];
    for (size_t i = 0; i < ROWS; i++)
        put_row(w, i, may_spoil);
    assert_int_equal(vyre_resident_download_at(w->r.backend, w->memory[0][0], 0, before, sizeof before, NULL), VYRE_OK);
    vyre_status status = as_steps ? run_steps(w, &failed, &error) : run_batch(w, &failed, &error);
    assert_int_equal(run_each(w, &wrong, &expected), status);
    if (status == VYRE_OK) {
        ++*good;
        compare(w, 0);
        for (int i = 0; i < ROWS && !as_steps; i++)
            assert_int_equal(w->outputs[i].count, 1);
        return;
    }
    ++*bad;
    assert_int_equal(failed, wrong);
    assert_string_equal(error.message, expected.message);
    assert_string_equal(error.fix, expected.fix);
    assert_int_equal(vyre_resident_download_at(w->r.backend, w->memory[0][0], 0, after, sizeof after, NULL), VYRE_OK);
    assert_memory_equal(before, after, sizeof after); /* none ran */
    compare(w, 1);
}

static void try_many(int as_steps) {
    enum { TRIALS = 150 };
    for (int which = 0; which < 2; which++) {
        static world w;
        unsigned good = 0, bad = 0;
        open_world(&w, which, 7 + (uint64_t)which);
        for (int i = 0; i < TRIALS; i++)
            trial(&w, i % 3 == 0, as_steps, &good, &bad);
        assert_true(good > TRIALS / 3);
        assert_true(bad > 5);
        close_world(&w);
    }
}

static void batches_of_like_rows_are_their_dispatches(void **state) {
    (void)state;
    try_many(0);
}

static void sequences_of_like_steps_are_their_dispatches(void **state) {
    (void)state;
    try_many(1);
}

/* All rows the same: one buffer is held once, and given back. */
static void a_row_that_is_repeated_is_repeated(void **state) {
    (void)state;
    static world w;
    vyre_error error = VYRE_ERROR_INIT;
    size_t failed;
    open_world(&w, 0, 1);
    for (size_t i = 0; i < ROWS; i++) {
        set_range(&w, i, 0, 1, 8, 40);
        set_range(&w, i, 1, 0, 16, 40);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_batch(&w, &failed, &error), VYRE_OK);
        assert_int_equal(run_each(&w, &failed, &error), VYRE_OK);
        compare(&w, 0);
    }
    close_world(&w);
}

/* A backend that touches the slots of rows whose outputs stay is found out, in whatever row. */
static void slots_that_are_touched_are_seen(void **state) {
    (void)state;
    for (fake_sin sin = FAKE_FEWER_OUTPUTS; sin < FAKE_SAME_HANDLE; sin++) {
        static world w;
        size_t failed = ROWS + 1;
        vyre_error error = VYRE_ERROR_INIT;
        open_world(&w, 0, 1);
        for (size_t i = 0; i < ROWS; i++) {
            set_range(&w, i, 0, 1, 8, 40);
            set_range(&w, i, 1, 0, 16, 40);
        }
        w.r.f->sin = sin;
        vyre_status status = run_batch(&w, &failed, &error);
        w.r.f->sin = FAKE_HONEST;
        assert_true(status == VYRE_CORRUPT || status == VYRE_OK);
        for (int i = 0; i < ROWS; i++)
            assert_int_equal(w.outputs[i].count, status == VYRE_OK);
        assert_int_equal(run_batch(&w, &failed, &error), VYRE_OK);
        close_world(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_like_rows_are_their_dispatches),
        cmocka_unit_test(sequences_of_like_steps_are_their_dispatches),
        cmocka_unit_test(a_row_that_is_repeated_is_repeated),
        cmocka_unit_test(slots_that_are_touched_are_seen),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
