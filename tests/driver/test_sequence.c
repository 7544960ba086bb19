/* Sequences: pipelines of one backend in order on resident buffers, one native call or step by step, then ranges read
 * back. */
#include "driver/pipeline_forms.h"

#include "vyre/cache.h"
#include "vyre/telemetry.h"

enum { STEPS = 3 };

/* Step i: next = this * 5 + 1, this = this + 1, over buffers 0 … STEPS in a row. */
typedef struct chain {
    rig r;
    vyre_pipeline *pipeline;
    vyre_resident buffers[STEPS + 1];
    vyre_resource bindings[STEPS][2];
    vyre_step steps[STEPS];
    uint32_t last[FAKE_N], first[2];
    vyre_readback readbacks[2];
} chain;

static void chain_open_with(chain *c, fake *f) {
    rig_open_with(&c->r, f);
    c->pipeline = rig_compile(&c->r);
    for (int i = 0; i <= STEPS; i++)
        assert_int_equal(
            vyre_resident_allocate(c->r.backend, sizeof c->r.c.x, i ? NULL : c->r.c.x, &c->buffers[i], NULL), VYRE_OK);
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < 2; k++)
            c->bindings[i][k] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = c->buffers[i + k]};
        c->steps[i] = (vyre_step){c->pipeline, c->bindings[i], 2, &c->r.c.arguments};
    }
    c->readbacks[0] = (vyre_readback){c->buffers[STEPS], 0, sizeof c->last, c->last};
    c->readbacks[1] = (vyre_readback){c->buffers[0], 4, sizeof c->first, c->first};
}

static void chain_close(chain *c) {
    for (int i = 0; i <= STEPS; i++)
        assert_int_equal(vyre_resident_free(c->r.backend, c->buffers[i], NULL), VYRE_OK); /* no pin is left */
    vyre_pipeline_release(c->pipeline);
    rig_close(&c->r);
}

static vyre_status run(chain *c, const vyre_dispatch_config *config, vyre_timing *timing, size_t *failed,
                       vyre_trap *trap, vyre_error *error) {
    return vyre_sequence_run(c->r.backend, c->steps, STEPS, c->readbacks, 2, config, timing, failed, trap, error);
}

static void chain_check(const chain *c) {
    for (uint32_t k = 0; k < FAKE_N; k++) {
        uint32_t value = c->r.c.x[k];
        for (int i = 0; i < STEPS; i++)
            value = value * 5 + 1;
        assert_int_equal(c->last[k], value);
    }
    assert_int_equal(c->first[0], c->r.c.x[1] + 1);
    assert_int_equal(c->first[1], c->r.c.x[2] + 1);
}

static void a_sequence_is_one_native_call(void **state) {
    (void)state;
    chain c;
    chain_open_with(&c, fake_new());
    vyre_dispatch_config config = {.label = "a chain"};
    vyre_timing timing;
    vyre_counters before, after;
    size_t failed = 99;
    vyre_counters_get(&before);
    assert_int_equal(run(&c, &config, &timing, &failed, NULL, NULL), VYRE_OK);
    vyre_counters_get(&after);
    chain_check(&c);
    fake *f = c.r.f;
    assert_int_equal(failed, 99);
    assert_int_equal(atomic_load(&f->calls[FAKE_sequence]), 1);
    assert_int_equal(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_persistent_into]), 0);
    assert_int_equal(atomic_load(&f->calls[FAKE_resident_download]), 0);
    assert_int_equal(after.dispatches - before.dispatches, STEPS);
    assert_int_equal(f->seen.launches, STEPS);
    assert_int_equal(f->seen.params[0].bits, 5);
    assert_int_equal(f->seen.elements[0], FAKE_N);
    assert_int_equal(f->seen.groups[0], 3);
    assert_string_equal(f->seen.label, "a chain");
    assert_int_equal(timing.wall_ns, 72);
    assert_int_equal(timing.device_ns, 52);
    chain_close(&c);
}

/* Without the entry; where the backend itself runs the steps; with a deadline only a thread can keep; where a program
 * needs stages. */
static void other_sequences_run_step_by_step(void **state) {
    (void)state;
    for (int why = 0; why < 5; why++) {
        fake *f = fake_new();
        if (why == 0)
            f->table.sequence = NULL;
        if (why == 1)
            f->gives_no_pipelines = 1;
        if (why == 3)
            f->table.sequence = NULL, f->pipeline_table.dispatch_persistent_into = NULL;
        if (why == 4)
            f->most_groups = 2;
        chain c;
        chain_open_with(&c, f);
        vyre_dispatch_config config = {.timeout_ns = why == 2 ? 60000000000u : 0};
        vyre_timing timing;
        assert_int_equal(run(&c, &config, &timing, NULL, NULL, NULL), VYRE_OK);
        chain_check(&c);
        assert_true(timing.wall_ns > 0);
        assert_int_equal(timing.present, 0);
        assert_int_equal(atomic_load(&f->calls[FAKE_sequence]), 0);
        chain_close(&c);
    }
}

static void everything_is_checked_before_anything_runs(void **state) {
    (void)state;
    chain c, other;
    chain_open_with(&c, fake_new());
    chain_open_with(&other, fake_new());
    vyre_error error;
    size_t failed;
    const vyre_step steps = c.steps[2];
    const vyre_readback readback = c.readbacks[1];
    for (int wrong = 0; wrong < 7; wrong++) {
        failed = 99;
        if (wrong == 0)
            c.bindings[2][1].offset = 2;
        if (wrong == 1)
            c.bindings[2][1] = c.bindings[2][0];
        if (wrong == 2)
            c.bindings[2][0] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {c.last, sizeof c.last}};
        if (wrong == 3)
            c.steps[2].pipeline = other.pipeline;
        if (wrong == 4)
            c.steps[2].pipeline = NULL;
        if (wrong == 5)
            c.readbacks[1].offset = 36;
        if (wrong == 6)
            c.readbacks[1].host = NULL;
        assert_int_equal(run(&c, NULL, NULL, &failed, NULL, &error),
                         wrong == 1 ? VYRE_CONFLICT : VYRE_INVALID_ARGUMENT);
        assert_int_equal(failed, wrong < 5 ? 2 : STEPS);
        assert_true(error.fix[0]);
        c.steps[2] = steps;
        c.readbacks[1] = readback;
        for (int k = 0; k < 2; k++)
            c.bindings[2][k] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = c.buffers[2 + k]};
    }
    assert_int_equal(atomic_load(&c.r.f->calls[FAKE_sequence]), 0);
    assert_int_equal(atomic_load(&c.r.f->calls[FAKE_PIPELINE_dispatch_persistent_into]), 0);
    assert_int_equal(vyre_sequence_run(c.r.backend, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL), VYRE_OK);
    assert_int_equal(run(&c, NULL, NULL, NULL, NULL, NULL), VYRE_OK);
    chain_check(&c);
    chain_close(&c);
    chain_close(&other);
}

static const char *const trap_text = "program t {\n buffer x : u32 read_write\n buffer out : u32 write count len(x)\n"
                                     "workgroup 4\n grid over x\n let i = global_id.x\n if i == 6 { trap 8 } }";

static void a_trap_stops_and_names_its_step(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) { /* natively, natively without a word, step by step */
        fake *f = fake_new();
        if (way == 2)
            f->table.sequence = NULL;
        f->is_silent_about_items = way == 1;
        chain c;
        chain_open_with(&c, f);
        vyre_module *module;
        vyre_pipeline *trapping;
        vyre_trap trap = {0, 0};
        size_t failed = 99;
        vyre_arguments no_params = {.params = NULL};
        assert_int_equal(vyre_compile(c.r.backend, fake_parse(trap_text, &module), NULL, &trapping, NULL), VYRE_OK);
        c.steps[1].pipeline = trapping;
        c.steps[1].arguments = &no_params;
        c.last[0] = 12345;
        assert_int_equal(run(&c, NULL, NULL, &failed, &trap, NULL), VYRE_TRAPPED);
        assert_int_equal(failed, 1);
        assert_int_equal(trap.invocation, 6);
        assert_int_equal(trap.code, 8);
        assert_int_equal(c.last[0], 12345); /* nothing is read back */
        vyre_pipeline_release(trapping);
        vyre_module_free(module);
        chain_close(&c);
    }
}

static void wrong_answers_are_contained(void **state) {
    (void)state;
    static const fake_sin sins[] = {FAKE_UNKNOWN_STATUS, FAKE_TRAP_OUTSIDE};
    for (int i = 0; i < 2; i++) {
        chain c;
        chain_open_with(&c, fake_new());
        c.r.f->sin = sins[i];
        assert_int_equal(run(&c, NULL, NULL, NULL, NULL, NULL), VYRE_CORRUPT);
        chain_close(&c);
    }
}

static void the_deadline_is_for_the_whole(void **state) {
    static _Atomic int destroyed;
    (void)state;
    fake *f = fake_new();
    f->hang_ms = 60;
    f->destroyed = &destroyed;
    chain c;
    chain_open_with(&c, f);
    vyre_dispatch_config config = {.timeout_ns = 100000000};
    size_t failed = 99;
    assert_int_equal(run(&c, &config, NULL, &failed, NULL, NULL), VYRE_TIMEOUT);
    assert_true(failed < STEPS);
    vyre_pipeline_release(c.pipeline);
    rig_close(&c.r);
    while (!atomic_load(&destroyed)) /* by the abandoned call, when it ends */
        usleep(1000);
}

static const char *const grid_text = "program g {\n buffer dims : u32 read\n buffer out : u32 read_write\n"
                                     "grid indirect dims[0]\n atomic_add(out[0], 1) }";
static const char *const dims_text = "program d {\n buffer dims : u32 read_write\n grid 1\n dims[0] = 7 }";

/* A step may make the grid of a later one. */
static void an_indirect_grid_is_read_when_its_step_comes(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_module *modules[2];
    vyre_pipeline *pipelines[2];
    vyre_resident dims, out;
    uint32_t start[3] = {0xffffffff, 0xffffffff, 1}, count = 0;
    start[1] = 1;
    assert_int_equal(vyre_compile(r.backend, fake_parse(dims_text, &modules[0]), NULL, &pipelines[0], NULL), VYRE_OK);
    assert_int_equal(vyre_compile(r.backend, fake_parse(grid_text, &modules[1]), NULL, &pipelines[1], NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(r.backend, 12, start, &dims, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(r.backend, 4, NULL, &out, NULL), VYRE_OK);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = dims},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = out}};
    vyre_step steps[2] = {{pipelines[0], bindings, 1, NULL}, {pipelines[1], bindings, 2, NULL}};
    vyre_readback readback = {out, 0, 4, &count};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_sequence_run(r.backend, steps, 2, &readback, 1, NULL, NULL, NULL, NULL, &error);
    if (status != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(count, 7);
    for (int i = 0; i < 2; i++) {
        vyre_pipeline_release(pipelines[i]);
        vyre_module_free(modules[i]);
    }
    rig_close(&r);
}

static void a_backend_without_resident_dispatch_has_no_sequences(void **state) {
    (void)state;
    fake *f = fake_new();
    f->table.sequence = NULL, f->table.dispatch_resident = NULL, f->pipeline_table.dispatch_persistent_into = NULL;
    chain c;
    chain_open_with(&c, f);
    vyre_error error;
    assert_int_equal(run(&c, NULL, NULL, NULL, NULL, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "sequences"));
    chain_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sequence_is_one_native_call),
        cmocka_unit_test(other_sequences_run_step_by_step),
        cmocka_unit_test(everything_is_checked_before_anything_runs),
        cmocka_unit_test(a_trap_stops_and_names_its_step),
        cmocka_unit_test(wrong_answers_are_contained),
        cmocka_unit_test(the_deadline_is_for_the_whole),
        cmocka_unit_test(an_indirect_grid_is_read_when_its_step_comes),
        cmocka_unit_test(a_backend_without_resident_dispatch_has_no_sequences),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
