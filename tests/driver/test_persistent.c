/* Pipelines on persistent handles: host bytes and resident buffers mixed, outputs that stay on the device, batches,
 * rows of four. */
#include "driver/pipeline_forms.h"

#include "vyre/cache.h"
#include "vyre/telemetry.h"

/* A compiled case with a resident buffer for each of its two. */
typedef struct world {
    rig r;
    vyre_pipeline *pipeline;
    vyre_resident x, out;
    vyre_outputs outputs;
} world;

static void world_open_with(world *w, fake *f) {
    rig_open_with(&w->r, f);
    w->pipeline = rig_compile(&w->r);
    w->outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
    w->x = w->out = (vyre_resident){0, 0};
    if (f->table.resident_allocate) {
        assert_int_equal(vyre_resident_allocate(w->r.backend, sizeof w->r.c.x, w->r.c.x, &w->x, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_allocate(w->r.backend, sizeof w->r.c.x, NULL, &w->out, NULL), VYRE_OK);
    }
}

static void world_open(world *w) {
    world_open_with(w, fake_new());
}

static void world_close(world *w) {
    vyre_outputs_free(&w->outputs);
    vyre_pipeline_release(w->pipeline);
    rig_close(&w->r);
}

static vyre_resource resident(vyre_resident handle) {
    return (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = handle};
}

static vyre_resource host(const void *data, size_t size) {
    return (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {data, size}};
}

/* Bit 0: x is resident; bit 1: out is. */
static void bind(const world *w, int mix, vyre_resource bindings[2]) {
    bindings[0] = mix & 1 ? resident(w->x) : host(w->r.c.x, sizeof w->r.c.x);
    bindings[1] = mix & 2 ? resident(w->out) : host(NULL, 0);
}

static vyre_status run(world *w, int mix, const vyre_dispatch_config *config, vyre_timing *timing, vyre_error *error) {
    vyre_resource bindings[2];
    bind(w, mix, bindings);
    return vyre_pipeline_dispatch_persistent(w->pipeline, bindings, 2, &w->r.c.arguments, config, &w->outputs, timing,
                                             NULL, error);
}

/* Outputs bound to host bytes came back, the others are where they were and have an empty slot. */
static void check(world *w, int mix) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    assert_int_equal(w->outputs.count, 2);
    for (int i = 0; i < 2; i++) {
        int stays = mix >> i & 1;
        const uint32_t *got = w->outputs.items[i].data;
        assert_int_equal(w->outputs.items[i].size, stays ? 0 : sizeof w->r.c.x);
        if (stays) {
            assert_int_equal(vyre_resident_download(w->r.backend, i ? w->out : w->x, &bytes, NULL), VYRE_OK);
            got = bytes.data;
        }
        for (uint32_t k = 0; k < FAKE_N; k++)
            assert_int_equal(got[k], i ? w->r.c.x[k] * 5 + 1 : w->r.c.x[k] + 1);
    }
    vyre_bytes_free(&bytes);
}

static void mixed_bindings_reach_the_native_entry_as_given(void **state) {
    (void)state;
    for (int mix = 0; mix < 4; mix++) {
        world w;
        world_open(&w);
        vyre_dispatch_config config = {.label = "a label"};
        vyre_timing timing;
        assert_int_equal(run(&w, mix, &config, &timing, NULL), VYRE_OK);
        fake *f = w.r.f;
        assert_int_equal(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_persistent_into]), 1);
        assert_int_equal(atomic_load(&f->calls[FAKE_dispatch_resident]), 0);
        assert_int_equal(f->seen.input_count, 2);
        assert_int_equal(f->seen.params[0].bits, 5);
        assert_int_equal(f->seen.elements[0], FAKE_N);
        assert_int_equal(f->seen.elements[1], FAKE_N);
        assert_int_equal(f->seen.groups[0], 3);
        assert_string_equal(f->seen.label, "a label");
        if (!(mix & 1))
            assert_ptr_equal(f->seen.first_input, w.r.c.x);
        if (mix)
            assert_int_equal(f->seen.first_size, sizeof w.r.c.x);
        assert_int_equal(timing.wall_ns, 71);
        assert_int_equal(timing.device_ns, 51);
        check(&w, mix);
        world_close(&w);
    }
}

static void outputs_that_are_nowhere_are_refused(void **state) {
    (void)state;
    world w;
    vyre_error error;
    size_t failed = 9;
    world_open(&w);
    vyre_resource bindings[2] = {{.host = {w.r.c.x, sizeof w.r.c.x}}, {.host = {NULL, 0}}};
    const vyre_resource *items[2] = {bindings, bindings};
    uint64_t count = FAKE_N;
    vyre_arguments arguments = w.r.c.arguments;
    arguments.counts = &count, arguments.count_count = 1;
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(w.pipeline, bindings, 2, &arguments, NULL, NULL, NULL, NULL, &error),
        VYRE_INVALID_ARGUMENT);
    assert_int_equal(
        vyre_pipeline_dispatch_persistent_batch(w.pipeline, items, 2, 2, &arguments, NULL, NULL, &failed, NULL, &error),
        VYRE_INVALID_ARGUMENT);
    assert_int_equal(failed, 2);
    assert_int_equal(vyre_pipeline_dispatch_batch(w.pipeline, &w.r.c.arguments, 1, NULL, NULL, &failed, NULL, &error),
                     VYRE_INVALID_ARGUMENT);
    world_close(&w);
}

/* Temporary buffers replace host bytes, and are freed afterwards. */
static void without_the_entry_the_backends_resident_memory_is_used(void **state) {
    (void)state;
    for (int passthrough = 0; passthrough < 2; passthrough++)
        for (int mix = 0; mix < 4; mix++) {
            fake *f = fake_new();
            f->gives_no_pipelines = passthrough;
            f->pipeline_table.dispatch_persistent_into = NULL;
            world w;
            vyre_counters before, after;
            world_open_with(&w, f);
            vyre_counters_get(&before);
            for (int again = 0; again < 2; again++) {
                assert_int_equal(vyre_resident_upload(w.r.backend, w.x, w.r.c.x, sizeof w.r.c.x, NULL), VYRE_OK);
                assert_int_equal(run(&w, mix, NULL, NULL, NULL), VYRE_OK);
                check(&w, mix);
            }
            vyre_counters_get(&after);
            assert_int_equal(after.resident_bytes, before.resident_bytes);
            assert_int_equal(atomic_load(&f->calls[FAKE_dispatch_resident]), 2);
            world_close(&w);
        }
}

static void with_neither_the_feature_and_the_backend_are_named(void **state) {
    (void)state;
    fake *f = fake_new();
    f->pipeline_table.dispatch_persistent_into = NULL;
    f->pipeline_table.dispatch_persistent_batched_into = NULL;
    f->table.dispatch_resident = NULL;
    world w;
    world_open_with(&w, f);
    vyre_error error;
    vyre_resource bindings[2], outputs[2];
    const vyre_resource *items[1] = {bindings};
    bind(&w, 3, bindings);
    assert_int_equal(run(&w, 3, NULL, NULL, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "persistent handle dispatch"));
    assert_non_null(strstr(error.message, "`fake`"));
    assert_true(error.fix[0]);
    assert_int_equal(vyre_pipeline_dispatch_persistent_batch(w.pipeline, items, 2, 1, &w.r.c.arguments, NULL,
                                                             &w.outputs, NULL, NULL, &error),
                     VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "persistent handle dispatch"));
    assert_int_equal(vyre_pipeline_dispatch_resident_outputs(w.pipeline, bindings, 2, &w.r.c.arguments, NULL, outputs,
                                                             2, NULL, &error),
                     VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "persistent resident output dispatch"));
    assert_non_null(strstr(error.message, "`fake`"));
    world_close(&w);
    f = fake_new();
    f->pipeline_table.dispatch_persistent_into = NULL;
    f->table.resident_allocate = NULL;
    world_open_with(&w, f);
    assert_int_equal(run(&w, 0, NULL, NULL, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "persistent handle dispatch"));
    world_close(&w);
}

static void outputs_may_stay_resident_for_the_next_pipeline(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++) {
        fake *f = fake_new();
        if (!native)
            f->pipeline_table.dispatch_persistent_into = NULL;
        world w;
        world_open_with(&w, f);
        vyre_resource bindings[2], outputs[2];
        vyre_error error;
        bind(&w, 3, bindings);
        assert_int_equal(vyre_pipeline_dispatch_resident_outputs(w.pipeline, bindings, 2, &w.r.c.arguments, NULL,
                                                                 outputs, 2, NULL, NULL),
                         VYRE_OK);
        assert_int_equal(outputs[0].resident.id, w.x.id);
        assert_int_equal(outputs[1].resident.id, w.out.id);
        assert_int_equal(outputs[1].size, sizeof w.r.c.x);
        /* The second feeds the first of another one: out = (5x+1)·5 + 1. */
        vyre_resource next[2] = {outputs[1], outputs[0]};
        assert_int_equal(vyre_pipeline_dispatch_resident_outputs(w.pipeline, next, 2, &w.r.c.arguments, NULL, outputs,
                                                                 2, NULL, NULL),
                         VYRE_OK);
        uint32_t word;
        assert_int_equal(vyre_resident_download_at(w.r.backend, w.x, 4, &word, 4, NULL), VYRE_OK);
        assert_int_equal(word, (w.r.c.x[1] * 5 + 1) * 5 + 1);
        bind(&w, 1, bindings);
        assert_int_equal(vyre_pipeline_dispatch_resident_outputs(w.pipeline, bindings, 2, &w.r.c.arguments, NULL,
                                                                 outputs, 2, NULL, &error),
                         VYRE_INVALID_ARGUMENT);
        assert_int_equal(vyre_pipeline_dispatch_resident_outputs(w.pipeline, bindings, 2, &w.r.c.arguments, NULL,
                                                                 outputs, 1, NULL, &error),
                         VYRE_INVALID_ARGUMENT);
        world_close(&w);
    }
}

static void what_is_bound_wrongly_reaches_no_backend(void **state) {
    (void)state;
    world w;
    world_open(&w);
    vyre_error error;
    vyre_resource bindings[2];
    vyre_resident gone;
    const vyre_arguments *arguments = &w.r.c.arguments;
    assert_int_equal(vyre_resident_allocate(w.r.backend, 40, NULL, &gone, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(w.r.backend, gone, NULL), VYRE_OK);
    const struct {
        vyre_resource x, out;
        vyre_status status;
    } rows[] = {
        {resident(w.x), resident(w.x), VYRE_CONFLICT},
        {resident(gone), resident(w.out), VYRE_INVALID_ARGUMENT},
        {resident((vyre_resident){1, 1}), resident(w.out), VYRE_INVALID_ARGUMENT},
        {host(w.r.c.x, 39), resident(w.out), VYRE_INVALID_ARGUMENT},
        {host(w.r.c.x, 36), resident(w.out), VYRE_INVALID_ARGUMENT}, /* out has ten elements */
        {{.kind = VYRE_RESOURCE_RESIDENT, .resident = w.x, .offset = 2}, resident(w.out), VYRE_INVALID_ARGUMENT},
        {{.kind = VYRE_RESOURCE_RESIDENT, .resident = w.x, .offset = 8, .size = 40},
         resident(w.out),
         VYRE_INVALID_ARGUMENT},
        {{.kind = (vyre_resource_kind)7}, resident(w.out), VYRE_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bindings[0] = rows[i].x, bindings[1] = rows[i].out;
        assert_int_equal(
            vyre_pipeline_dispatch_persistent(w.pipeline, bindings, 2, arguments, NULL, &w.outputs, NULL, NULL, &error),
            rows[i].status);
        assert_true(error.fix[0]);
    }
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(w.pipeline, bindings, 1, arguments, NULL, &w.outputs, NULL, NULL, &error),
        VYRE_INVALID_ARGUMENT);
    assert_int_equal(atomic_load(&w.r.f->calls[FAKE_PIPELINE_dispatch_persistent_into]), 0);
    assert_int_equal(vyre_resident_free(w.r.backend, w.x, NULL), VYRE_OK); /* nothing holds it */
    world_close(&w);
}

static void an_open_count_bound_to_host_bytes_comes_from_the_arguments(void **state) {
    (void)state;
    static const char text[] = "program open {\n buffer a : u32 write\n buffer b : u32 write\n grid 1\n"
                               "a[0] = len(a)\n b[0] = len(b) }";
    rig r;
    rig_open(&r);
    vyre_module *module;
    vyre_program *program = fake_parse(text, &module);
    vyre_pipeline *pipeline;
    vyre_resident handle;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    uint64_t counts[1] = {3};
    assert_int_equal(vyre_compile(r.backend, program, NULL, &pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(r.backend, 20, NULL, &handle, NULL), VYRE_OK);
    vyre_resource bindings[2] = {resident(handle), host(NULL, 0)};
    vyre_arguments arguments = {.counts = counts, .count_count = 1};
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, &arguments, NULL, &outputs, NULL, NULL, &error),
        VYRE_OK);
    assert_int_equal(outputs.items[1].size, 12);
    assert_int_equal(((uint32_t *)outputs.items[1].data)[0], 3);
    assert_int_equal(vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, NULL, NULL, &outputs, NULL, NULL, &error),
                     VYRE_INVALID_ARGUMENT);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_module_free(module);
    rig_close(&r);
}

static void an_empty_grid_gives_back_what_was_given(void **state) {
    (void)state;
    world w;
    world_open(&w);
    w.r.c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {0, 1, 1}};
    assert_int_equal(run(&w, 2, NULL, NULL, NULL), VYRE_OK);
    assert_memory_equal(w.outputs.items[0].data, w.r.c.x, sizeof w.r.c.x);
    assert_int_equal(w.outputs.items[1].size, 0);
    assert_int_equal(atomic_load(&w.r.f->calls[FAKE_PIPELINE_dispatch_persistent_into]), 0);
    world_close(&w);
}

static void a_deadline_is_kept_with_mixed_bindings(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++)
        for (int mix = 0; mix < 4; mix++) {
            fake *f = fake_new();
            if (!native)
                f->pipeline_table.dispatch_persistent_into = NULL;
            world w;
            world_open_with(&w, f);
            vyre_dispatch_config config = {.timeout_ns = 60000000000u};
            assert_int_equal(run(&w, mix, &config, NULL, NULL), VYRE_OK);
            check(&w, mix);
            world_close(&w);
        }
}

static void an_abandoned_call_keeps_what_it_uses(void **state) {
    (void)state;
    _Atomic int destroyed = 0;
    world w;
    world_open(&w);
    w.r.f->destroyed = &destroyed;
    w.r.f->hang_ms = 200;
    vyre_dispatch_config config = {.timeout_ns = 20000000};
    assert_int_equal(run(&w, 2, &config, NULL, NULL), VYRE_TIMEOUT);
    vyre_outputs_free(&w.outputs);
    vyre_pipeline_release(w.pipeline);
    rig_close(&w.r);
    while (!atomic_load(&destroyed))
        usleep(1000);
}

static void wrong_answers_are_contained(void **state) {
    (void)state;
    for (fake_sin sin = FAKE_FEWER_OUTPUTS; sin < FAKE_SAME_HANDLE; sin++) {
        if (sin == FAKE_SHORT_OUTPUT)
            continue; /* the slot it would shorten is one that stays */
        for (int mix = 0; mix < 4; mix += 2) {
            world w;
            world_open(&w);
            w.r.f->sin = sin;
            assert_int_equal(run(&w, mix, NULL, NULL, NULL), VYRE_CORRUPT);
            assert_int_equal(w.outputs.count, 0);
            w.r.f->sin = FAKE_HONEST;
            assert_int_equal(run(&w, mix, NULL, NULL, NULL), VYRE_OK);
            check(&w, mix);
            world_close(&w);
        }
    }
}

/* ---- many ---- */

enum { ITEMS = 3 };

/* way 0: natively; 1: without the batched entry; 2: without any. */
static void batches_run_as_if_one_after_the_other(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        fake *f = fake_new();
        if (way > 0)
            f->pipeline_table.dispatch_persistent_batched_into = NULL;
        if (way > 1)
            f->pipeline_table.dispatch_persistent_into = NULL;
        world w;
        world_open_with(&w, f);
        vyre_outputs outputs[ITEMS] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
        vyre_resource bindings[ITEMS][2];
        const vyre_resource *items[ITEMS];
        vyre_dispatch_config config = {.label = "all"};
        size_t failed = 99;
        for (int i = 0; i < ITEMS; i++) {
            bind(&w, 1, bindings[i]); /* the same x for all */
            items[i] = bindings[i];
        }
        assert_int_equal(vyre_pipeline_dispatch_persistent_batch(w.pipeline, items, 2, ITEMS, &w.r.c.arguments, &config,
                                                                 outputs, &failed, NULL, NULL),
                         VYRE_OK);
        for (uint32_t i = 0; i < ITEMS; i++) {
            assert_int_equal(outputs[i].count, 2);
            assert_int_equal(outputs[i].items[0].size, 0);
            for (uint32_t k = 0; k < FAKE_N; k++)
                assert_int_equal(((uint32_t *)outputs[i].items[1].data)[k], (w.r.c.x[k] + i) * 5 + 1);
        }
        assert_int_equal(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_persistent_batched_into]), way == 0);
        assert_int_equal(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_persistent_into]), way == 1 ? ITEMS : 0);
        assert_string_equal(f->seen.label, "all");
        assert_int_equal(f->seen.params[0].bits, 5);
        assert_int_equal(f->seen.elements[1], FAKE_N);
        assert_int_equal(f->seen.groups[0], 3);
        /* One wrong item, and none runs. */
        bindings[1][0] = host(w.r.c.x, 3);
        assert_int_equal(vyre_pipeline_dispatch_persistent_batch(w.pipeline, items, 2, ITEMS, &w.r.c.arguments, NULL,
                                                                 outputs, &failed, NULL, NULL),
                         VYRE_INVALID_ARGUMENT);
        assert_int_equal(failed, 1);
        uint32_t word;
        assert_int_equal(vyre_resident_download_at(w.r.backend, w.x, 0, &word, 4, NULL), VYRE_OK);
        assert_int_equal(word, w.r.c.x[0] + ITEMS);
        assert_int_equal(vyre_resident_free(w.r.backend, w.x, NULL), VYRE_OK); /* no pin is left */
        for (int i = 0; i < ITEMS; i++)
            vyre_outputs_free(&outputs[i]);
        world_close(&w);
    }
}

static void wrong_answers_to_a_batch_are_contained(void **state) {
    (void)state;
    for (fake_sin sin = FAKE_FEWER_OUTPUTS; sin < FAKE_SAME_HANDLE; sin++) {
        world w;
        world_open(&w);
        vyre_resource bindings[2];
        const vyre_resource *items[1] = {bindings};
        size_t failed = 99;
        bind(&w, 0, bindings);
        w.r.f->sin = sin;
        assert_int_equal(vyre_pipeline_dispatch_persistent_batch(w.pipeline, items, 2, 1, &w.r.c.arguments, NULL,
                                                                 &w.outputs, &failed, NULL, NULL),
                         VYRE_CORRUPT);
        assert_true(failed <= 1);
        assert_int_equal(w.outputs.count, 0);
        world_close(&w);
    }
}

static const char *const row_text = "program row {\n buffer control : u32 read\n buffer ring : u32 read_write\n"
                                    "buffer log : u32 write count 1\n buffer io : u32 read\n grid 1\n"
                                    "log[0] = control[0] + ring[0] + io[0]\n ring[0] = ring[0] + 1 }";

/* way 0: natively; 1: as a batch; 2: one after the other; 3: on the backend's resident memory. */
static void rows_of_four_need_no_array(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        fake *f = fake_new();
        if (way > 0)
            f->pipeline_table.dispatch_persistent_rows_into = NULL;
        if (way > 1)
            f->pipeline_table.dispatch_persistent_batched_into = NULL;
        if (way > 2)
            f->pipeline_table.dispatch_persistent_into = NULL;
        world w;
        world_open_with(&w, f);
        vyre_module *module;
        vyre_program *program = fake_parse(row_text, &module);
        vyre_pipeline *pipeline;
        vyre_resident ring;
        vyre_outputs outputs[ITEMS] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
        vyre_error error;
        uint32_t words[ITEMS] = {10, 20, 30}, seven = 7;
        vyre_resource rows[ITEMS][4];
        size_t failed = 99;
        assert_int_equal(vyre_compile(w.r.backend, program, NULL, &pipeline, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_allocate(w.r.backend, 4, &seven, &ring, NULL), VYRE_OK);
        for (int i = 0; i < ITEMS; i++) {
            rows[i][0] = host(&words[i], 4), rows[i][1] = resident(ring);
            rows[i][2] = host(NULL, 0), rows[i][3] = host(&words[0], 4);
        }
        assert_int_equal(vyre_pipeline_dispatch_rows(pipeline, (const vyre_resource(*)[4])rows, ITEMS, NULL, NULL,
                                                     outputs, &failed, NULL, NULL),
                         VYRE_OK);
        for (uint32_t i = 0; i < ITEMS; i++)
            assert_int_equal(((uint32_t *)outputs[i].items[1].data)[0], words[i] + 7 + i + 10);
        assert_int_equal(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_persistent_rows_into]), way == 0);
        assert_int_equal(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_persistent_batched_into]), way == 1);
        assert_int_equal(vyre_pipeline_dispatch_rows(w.pipeline, (const vyre_resource(*)[4])rows, ITEMS, NULL, NULL,
                                                     outputs, &failed, NULL, &error),
                         VYRE_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "2 buffers"));
        for (int i = 0; i < ITEMS; i++)
            vyre_outputs_free(&outputs[i]);
        vyre_pipeline_release(pipeline);
        vyre_module_free(module);
        world_close(&w);
    }
}

static vyre_status run_many(world *w, int what) {
    vyre_resource bindings[2];
    const vyre_resource *items[1] = {bindings};
    vyre_step step = {w->pipeline, bindings, 2, &w->r.c.arguments};
    bind(w, 3, bindings);
    if (what == 0)
        return run(w, 0, NULL, NULL, NULL);
    if (what == 1)
        return vyre_pipeline_dispatch_persistent_batch(w->pipeline, items, 2, 1, &w->r.c.arguments, NULL, &w->outputs,
                                                       NULL, NULL, NULL);
    if (what == 2)
        return vyre_pipeline_dispatch_batch(w->pipeline, &w->r.c.arguments, 1, NULL, &w->outputs, NULL, NULL, NULL);
    if (what == 3)
        return vyre_sequence_run(w->r.backend, &step, 1, NULL, 0, NULL, NULL, NULL, NULL, NULL);
    w->r.f->pipeline_table.dispatch_persistent_into = NULL; /* of pipelines compiled from now on */
    vyre_pipeline_release(w->pipeline);
    vyre_cache_set_memory_limit(0);
    w->pipeline = rig_compile(&w->r);
    vyre_cache_set_memory_limit(256);
    return run(w, 0, NULL, NULL, NULL);
}

/* The first call of each fails, and is the call's error; the second succeeds. */
static void a_failing_entry_fails_its_call_alone(void **state) {
    (void)state;
    static const struct {
        fake_entry entry;
        int what;
    } rows[] = {{FAKE_PIPELINE_dispatch_persistent_into, 0},
                {FAKE_PIPELINE_dispatch_persistent_batched_into, 1},
                {FAKE_PIPELINE_dispatch_batched_into, 2},
                {FAKE_sequence, 3},
                {FAKE_dispatch_resident, 4},
                {FAKE_resident_allocate, 4},
                {FAKE_resident_upload, 4},
                {FAKE_resident_download, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world w;
        vyre_counters before, after;
        world_open(&w);
        vyre_counters_get(&before);
        w.r.f->fail_entry = rows[i].entry;
        w.r.f->fail_at = atomic_load(&w.r.f->calls[rows[i].entry]) + 1;
        assert_int_equal(run_many(&w, rows[i].what), VYRE_NO_DEVICE_MEMORY);
        assert_int_equal(run_many(&w, rows[i].what), VYRE_OK);
        vyre_counters_get(&after);
        assert_int_equal(after.resident_bytes, before.resident_bytes);
        assert_int_equal(vyre_resident_free(w.r.backend, w.x, NULL), VYRE_OK);
        world_close(&w);
    }
}

static void what_is_not_there_is_an_error(void **state) {
    (void)state;
    world w;
    world_open(&w);
    size_t failed = 99;
    assert_int_equal(
        vyre_pipeline_dispatch_persistent_batch(w.pipeline, NULL, 2, 1, NULL, NULL, &w.outputs, &failed, NULL, NULL),
        VYRE_INVALID_ARGUMENT);
    assert_int_equal(failed, 1);
    assert_int_equal(vyre_pipeline_dispatch_batch(w.pipeline, NULL, 1, NULL, &w.outputs, &failed, NULL, NULL),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(failed, 0);
    assert_int_equal(vyre_sequence_run(w.r.backend, NULL, 2, NULL, 0, NULL, NULL, &failed, NULL, NULL),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_sequence_run(w.r.backend, NULL, 0, NULL, 2, NULL, NULL, &failed, NULL, NULL),
                     VYRE_INVALID_ARGUMENT);
    world_close(&w);
}

/* ---- stages ---- */

static const char *const staged_text =
    "program staged {\n buffer x : u32 read_write\n buffer sum : u32 write count len(x)\n workgroup 4\n grid over x\n"
    "let i = global_id.x\n if i < len(x) { x[i] = x[i] + 1 }\n grid_barrier\n"
    "if i < len(x) { sum[i] = x[i] + x[(i + 5) % len(x)] } }";

/* One pipeline, compiled stage by stage; every form returns the results of a backend with grid barriers. */
static void a_program_in_stages_is_one_pipeline(void **state) {
    (void)state;
    for (int native = 0; native < 2; native++)
        for (int over = 0; over < 2; over++) { /* the grid exceeds the limit, too */
            fake *f = fake_new();
            f->no_grid_sync = 1;
            if (over)
                f->most_groups = 2;
            if (!native)
                f->pipeline_table.dispatch_persistent_into = NULL;
            world w;
            world_open_with(&w, f);
            unsigned compiles = atomic_load(&f->calls[FAKE_compile]);
            vyre_module *module;
            vyre_program *program = fake_parse(staged_text, &module);
            vyre_pipeline *pipeline;
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            vyre_arguments arguments = {.inputs = w.r.c.inputs, .input_count = 1};
            assert_int_equal(vyre_compile(w.r.backend, program, NULL, &pipeline, NULL), VYRE_OK);
            assert_true(vyre_pipeline_is_native(pipeline));
            assert_int_equal(atomic_load(&f->calls[FAKE_compile]) - compiles, 2);
            for (int form = 0; form < FAKE_FORMS + 5; form++) {
                vyre_resource bindings[2];
                int mix = form - FAKE_FORMS;
                assert_int_equal(vyre_resident_upload(w.r.backend, w.x, w.r.c.x, sizeof w.r.c.x, NULL), VYRE_OK);
                if (mix < 0) {
                    assert_int_equal(pipeline_run(form, pipeline, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
                } else if (mix < 4) {
                    bind(&w, mix, bindings);
                    assert_int_equal(vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, NULL, NULL, &outputs,
                                                                       NULL, NULL, NULL),
                                     VYRE_OK);
                } else {
                    assert_int_equal(
                        vyre_pipeline_dispatch_batch(pipeline, &arguments, 1, NULL, &outputs, NULL, NULL, NULL),
                        VYRE_OK);
                }
                uint32_t sum[FAKE_N];
                if (mix >= 0 && mix < 4 && mix & 2)
                    assert_int_equal(vyre_resident_download_at(w.r.backend, w.out, 0, sum, sizeof sum, NULL), VYRE_OK);
                else
                    memcpy(sum, outputs.items[1].data, sizeof sum);
                for (uint32_t k = 0; k < FAKE_N; k++)
                    assert_int_equal(sum[k], w.r.c.x[k] + 1 + w.r.c.x[(k + 5) % FAKE_N] + 1);
            }
            assert_int_equal(atomic_load(&f->calls[FAKE_compile]) - compiles, over ? 4 : 2);
            assert_int_equal(atomic_load(&f->calls[FAKE_dispatch]), 0);
            assert_int_equal(atomic_load(&f->calls[FAKE_dispatch_borrowed]), 0);
            vyre_outputs_free(&outputs);
            vyre_pipeline_release(pipeline);
            vyre_module_free(module);
            world_close(&w);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_bindings_reach_the_native_entry_as_given),
        cmocka_unit_test(without_the_entry_the_backends_resident_memory_is_used),
        cmocka_unit_test(with_neither_the_feature_and_the_backend_are_named),
        cmocka_unit_test(outputs_may_stay_resident_for_the_next_pipeline),
        cmocka_unit_test(what_is_bound_wrongly_reaches_no_backend),
        cmocka_unit_test(an_open_count_bound_to_host_bytes_comes_from_the_arguments),
        cmocka_unit_test(an_empty_grid_gives_back_what_was_given),
        cmocka_unit_test(a_deadline_is_kept_with_mixed_bindings),
        cmocka_unit_test(outputs_that_are_nowhere_are_refused),
        cmocka_unit_test(an_abandoned_call_keeps_what_it_uses),
        cmocka_unit_test(wrong_answers_are_contained),
        cmocka_unit_test(batches_run_as_if_one_after_the_other),
        cmocka_unit_test(wrong_answers_to_a_batch_are_contained),
        cmocka_unit_test(rows_of_four_need_no_array),
        cmocka_unit_test(a_failing_entry_fails_its_call_alone),
        cmocka_unit_test(what_is_not_there_is_an_error),
        cmocka_unit_test(a_program_in_stages_is_one_pipeline),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
