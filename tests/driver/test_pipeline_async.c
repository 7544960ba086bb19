/* Pipelines in flight: natively, on a thread of the library, and in stages; the handle keeps the pipeline. */
#include "driver/fake_async.h"
#include "driver/pipeline_forms.h"

#include "vyre/cache.h"

static _Atomic unsigned native_starts;

static vyre_status start(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                         vyre_native_pending *out, vyre_error *error) {
    fake_pipeline *p = self;
    assert_true(vyre_program_equal(launch->program, p->program));
    atomic_fetch_add(&native_starts, 1);
    return later_start(p->f, launch, inputs, count, out, error);
}

/* way 0: the pipeline's entry; 1: none, so a thread runs it; 2: the backend's own pipelines are none, but it has an
 * entry. */
static void a_pipeline_runs_in_flight_and_is_kept(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        _Atomic int destroyed = 0;
        fake *f = later_new();
        atomic_store(&native_starts, 0);
        f->destroyed = &destroyed;
        f->pipeline_table.dispatch_async = way == 0 ? start : NULL;
        f->gives_no_pipelines = way == 2;
        rig r;
        rig_open_with(&r, f);
        vyre_pipeline *pipeline = rig_compile(&r);
        vyre_pending *pending;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_dispatch_config config = {.label = "in flight"};
        assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &r.c.arguments, &config, &pending, NULL), VYRE_OK);
        vyre_pipeline_release(pipeline);
        vyre_backend_release(r.backend);
        assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL), VYRE_OK);
        fake_case_check(&r.c, &outputs);
        assert_int_equal(atomic_load(&native_starts), way == 0);
        assert_int_equal(atomic_load(&later.started), way != 1);
        if (way == 1)
            assert_int_equal(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_borrowed]), 1);
        else
            assert_string_equal(later.seen_label, "in flight");
        vyre_pending_free(pending);
        for (int i = 0; i < 2000 && !atomic_load(&destroyed); i++)
            usleep(1000);
        assert_int_equal(atomic_load(&destroyed), 1);
        vyre_outputs_free(&outputs);
        fake_case_close(&r.c);
    }
}

static void what_can_be_cancelled_is_compiled_so(void **state) {
    (void)state;
    fake *f = later_new();
    f->can_cancel = 1;
    f->pipeline_table.dispatch_async = start;
    rig r;
    rig_open_with(&r, f);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_pending *pending;
    atomic_store(&later.hold, 1);
    assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &r.c.arguments, NULL, &pending, NULL), VYRE_OK);
    assert_int_equal(f->cancellable, 1);
    assert_int_equal(atomic_load(&f->calls[FAKE_compile]), 2);
    vyre_pending_cancel(pending);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL), VYRE_CANCELLED);
    vyre_pending_free(pending);
    assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK); /* the cancelled dispatch has ended */
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    rig_close(&r);
}

static void stages_run_in_flight(void **state) {
    (void)state;
    static const char text[] = "program staged {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
                               "let i = global_id.x\n if i < len(x) { x[i] = x[i] + 1 }\n grid_barrier\n"
                               "let y = x[(i + 1) % len(x)]\n grid_barrier\n if i < len(x) { x[i] = y } }";
    fake *f = later_new();
    f->no_grid_sync = 1;
    f->pipeline_table.dispatch_async = start;
    atomic_store(&native_starts, 0);
    rig r;
    rig_open_with(&r, f);
    vyre_module *module;
    vyre_pipeline *pipeline;
    vyre_pending *pending;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments arguments = {.inputs = r.c.inputs, .input_count = 1};
    assert_int_equal(vyre_compile(r.backend, fake_parse(text, &module), NULL, &pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending, NULL), VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL), VYRE_OK);
    for (uint32_t i = 0; i < FAKE_N; i++)
        assert_int_equal(((uint32_t *)outputs.items[0].data)[i], r.c.x[(i + 1) % FAKE_N] + 1);
    assert_int_equal(atomic_load(&native_starts), 0);
    assert_true(atomic_load(&f->calls[FAKE_PIPELINE_dispatch_persistent_into]) >= 3);
    vyre_pending_free(pending);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_module_free(module);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_runs_in_flight_and_is_kept),
        cmocka_unit_test(what_can_be_cancelled_is_compiled_so),
        cmocka_unit_test(stages_run_in_flight),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
