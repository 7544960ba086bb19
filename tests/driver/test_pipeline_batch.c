/* Batches from host bytes: one native call with everything as given, or one dispatch after the other; all is checked
 * before anything runs. */
#include "driver/pipeline_forms.h"

#include "vyre/cache.h"
#include "vyre/telemetry.h"

enum { ITEMS = 5 };

typedef struct many {
    uint32_t x[ITEMS][FAKE_N];
    vyre_scalar params[ITEMS];
    vyre_span inputs[ITEMS];
    vyre_arguments arguments[ITEMS];
    vyre_outputs outputs[ITEMS];
} many;

static void many_open(many *m) {
    memset(m, 0, sizeof *m);
    for (uint32_t i = 0; i < ITEMS; i++) {
        for (uint32_t k = 0; k < FAKE_N; k++)
            m->x[i][k] = 100 * i + k;
        m->params[i] = (vyre_scalar){VYRE_TYPE_U32, i + 2};
        m->inputs[i] = (vyre_span){m->x[i], (FAKE_N - i) * sizeof(uint32_t)};
        m->arguments[i] =
            (vyre_arguments){.params = &m->params[i], .param_count = 1, .inputs = &m->inputs[i], .input_count = 1};
    }
}

static void many_check(const many *m) {
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_int_equal(m->outputs[i].count, 2);
        assert_int_equal(m->outputs[i].items[1].size, (FAKE_N - i) * sizeof(uint32_t));
        for (uint32_t k = 0; k < FAKE_N - i; k++) {
            assert_int_equal(((uint32_t *)m->outputs[i].items[0].data)[k], m->x[i][k] + 1);
            assert_int_equal(((uint32_t *)m->outputs[i].items[1].data)[k], m->x[i][k] * (i + 2) + 1);
        }
    }
}

static void many_close(many *m) {
    for (int i = 0; i < ITEMS; i++)
        vyre_outputs_free(&m->outputs[i]);
}

static void a_batch_is_one_native_call(void **state) {
    (void)state;
    rig r;
    many m;
    rig_open(&r);
    many_open(&m);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_dispatch_config config = {.label = "a batch"};
    vyre_counters before, after;
    size_t failed = 99;
    for (int round = 0; round < 3; round++) {
        void *slot = round ? m.outputs[0].items[1].data : NULL;
        vyre_counters_get(&before);
        assert_int_equal(
            vyre_pipeline_dispatch_batch(pipeline, m.arguments, ITEMS, &config, m.outputs, &failed, NULL, NULL),
            VYRE_OK);
        vyre_counters_get(&after);
        many_check(&m);
        assert_int_equal(failed, 99);
        assert_int_equal(after.dispatches - before.dispatches, ITEMS);
        if (round) {
            assert_ptr_equal(slot, m.outputs[0].items[1].data); /* capacity is kept */
            assert_int_equal(after.slots_reused - before.slots_reused, 2 * ITEMS);
        }
    }
    fake_seen *seen = &r.f->seen; /* of the last item */
    assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_dispatch_batched_into]), 3);
    assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_dispatch_borrowed_into]), 0);
    assert_int_equal(seen->launches, ITEMS);
    assert_ptr_equal(seen->program, r.c.program);
    assert_int_equal(seen->params[0].bits, ITEMS + 1);
    assert_int_equal(seen->elements[1], FAKE_N - ITEMS + 1);
    assert_int_equal(seen->groups[0], 2);
    assert_ptr_equal(seen->first_input, m.x[ITEMS - 1]);
    assert_string_equal(seen->label, "a batch");
    vyre_pipeline_release(pipeline);
    many_close(&m);
    rig_close(&r);
}

/* Without the entry, with an empty grid among the items, with a deadline that only the watchdog can keep. */
static void other_batches_run_one_after_the_other(void **state) {
    (void)state;
    for (int why = 0; why < 4; why++) {
        rig r;
        many m;
        rig_open(&r);
        many_open(&m);
        if (why == 0)
            r.f->pipeline_table.dispatch_batched_into = NULL;
        if (why == 1)
            r.f->gives_no_pipelines = 1;
        vyre_pipeline *pipeline = rig_compile(&r);
        vyre_dispatch_config config = {.timeout_ns = why == 2 ? 60000000000u : 0};
        if (why == 3)
            m.arguments[2].geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {0, 1, 1}};
        assert_int_equal(
            vyre_pipeline_dispatch_batch(pipeline, m.arguments, ITEMS, &config, m.outputs, NULL, NULL, NULL), VYRE_OK);
        assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_dispatch_batched_into]), 0);
        if (why < 3)
            many_check(&m);
        else
            assert_int_equal(((uint32_t *)m.outputs[2].items[0].data)[0], m.x[2][0]);
        vyre_pipeline_release(pipeline);
        many_close(&m);
        rig_close(&r);
    }
}

static void nothing_runs_if_any_item_is_wrong(void **state) {
    (void)state;
    rig r;
    many m;
    rig_open(&r);
    many_open(&m);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_error error;
    size_t failed = 99;
    m.inputs[3].size = 7;
    assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, m.arguments, ITEMS, NULL, m.outputs, &failed, NULL, &error),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(failed, 3);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(m.outputs[i].count, 0);
    assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_dispatch_batched_into]), 0);
    assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_dispatch_borrowed_into]), 0);
    assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, NULL, 0, NULL, NULL, &failed, NULL, &error), VYRE_OK);
    vyre_pipeline_release(pipeline);
    many_close(&m);
    rig_close(&r);
}

static const char *const trap_text = "program t {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
                                     "let i = global_id.x\n if i < len(x) && x[i] == 203 { trap 9 }\n"
                                     "if i < len(x) { x[i] = 1 } }";

static void a_trap_ends_the_batch_and_names_its_item(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) { /* natively, natively without a word, one by one */
        rig r;
        many m;
        rig_open(&r);
        many_open(&m);
        r.f->is_silent_about_items = way == 1;
        if (way == 2)
            r.f->pipeline_table.dispatch_batched_into = NULL;
        vyre_module *module;
        vyre_program *program = fake_parse(trap_text, &module);
        vyre_pipeline *pipeline;
        vyre_trap trap = {0, 0};
        size_t failed = 99;
        assert_int_equal(vyre_compile(r.backend, program, NULL, &pipeline, NULL), VYRE_OK);
        for (int i = 0; i < ITEMS; i++)
            m.arguments[i].param_count = 0;
        assert_int_equal(
            vyre_pipeline_dispatch_batch(pipeline, m.arguments, ITEMS, NULL, m.outputs, &failed, &trap, NULL),
            VYRE_TRAPPED);
        assert_int_equal(failed, 2);
        assert_int_equal(trap.invocation, 3);
        assert_int_equal(trap.code, 9);
        vyre_pipeline_release(pipeline);
        vyre_module_free(module);
        many_close(&m);
        rig_close(&r);
    }
}

static void wrong_answers_to_a_batch_are_contained(void **state) {
    (void)state;
    for (fake_sin sin = FAKE_FEWER_OUTPUTS; sin < FAKE_SAME_HANDLE; sin++) {
        rig r;
        many m;
        rig_open(&r);
        many_open(&m);
        vyre_pipeline *pipeline = rig_compile(&r);
        r.f->sin = sin;
        assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, m.arguments, ITEMS, NULL, m.outputs, NULL, NULL, NULL),
                         VYRE_CORRUPT);
        for (int i = 0; i < ITEMS; i++)
            assert_int_equal(m.outputs[i].count, 0);
        r.f->sin = FAKE_HONEST;
        assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, m.arguments, ITEMS, NULL, m.outputs, NULL, NULL, NULL),
                         VYRE_OK);
        many_check(&m);
        vyre_pipeline_release(pipeline);
        many_close(&m);
        rig_close(&r);
    }
}

static void the_timeout_is_for_the_whole_batch(void **state) {
    (void)state;
    rig r;
    many m;
    rig_open(&r);
    many_open(&m);
    r.f->pipeline_table.dispatch_batched_into = NULL;
    r.f->hang_ms = 60;
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_dispatch_config config = {.timeout_ns = 150000000};
    size_t failed = 99;
    assert_int_equal(
        vyre_pipeline_dispatch_batch(pipeline, m.arguments, ITEMS, &config, m.outputs, &failed, NULL, NULL),
        VYRE_TIMEOUT);
    assert_true(failed < ITEMS - 1);
    vyre_pipeline_release(pipeline);
    many_close(&m);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_one_native_call),
        cmocka_unit_test(other_batches_run_one_after_the_other),
        cmocka_unit_test(nothing_runs_if_any_item_is_wrong),
        cmocka_unit_test(a_trap_ends_the_batch_and_names_its_item),
        cmocka_unit_test(wrong_answers_to_a_batch_are_contained),
        cmocka_unit_test(the_timeout_is_for_the_whole_batch),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
