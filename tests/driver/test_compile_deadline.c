/* Deadlines of compiles: they reach the backend, from the options or from the dispatch that compiles; and what they
 * forbid is not begun. */
#include "driver/pipeline_forms.h"

#include "base/thread.h"
#include "vyre/cache.h"
#include "vyre/telemetry.h"

#define SECOND_NS UINT64_C(1000000000)

static void open_cancellable(rig *r) {
    fake *f = fake_new();
    f->can_cancel = 1;
    rig_open_with(r, f);
}

static void the_deadline_of_the_options_reaches_the_backend(void **state) {
    (void)state;
    const uint64_t deadline = vy_clock_now() + 600 * SECOND_NS;
    for (int is_short = 0; is_short < 2; is_short++) {
        rig r;
        vyre_pipeline *pipeline;
        vyre_compile_options options = {.struct_size = sizeof options, .deadline_ns = deadline};
        if (is_short) /* the struct of callers without a deadline: bytes after it are not read */
            options.struct_size = offsetof(vyre_compile_options, deadline_ns);
        rig_open(&r);
        r.f->compile_deadline = 1;
        assert_int_equal(vyre_compile(r.backend, r.c.program, &options, &pipeline, NULL), VYRE_OK);
        assert_int_equal(r.f->compile_deadline, is_short ? 0 : deadline);
        vyre_pipeline_release(pipeline);
        rig_close(&r);
    }
}

static void a_deadline_that_has_passed_compiles_nothing(void **state) {
    (void)state;
    rig r;
    vyre_pipeline *pipeline;
    vyre_error error;
    vyre_compile_options options = {.struct_size = sizeof options, .deadline_ns = 1};
    rig_open(&r);
    assert_int_equal(vyre_compile(r.backend, r.c.program, &options, &pipeline, &error), VYRE_TIMEOUT);
    assert_null(pipeline);
    assert_non_null(strstr(error.message, vyre_program_name(r.c.program)));
    assert_true(error.fix[0] != 0);
    assert_int_equal(atomic_load(&r.f->calls[FAKE_compile]), 0);
    assert_int_equal(vyre_compile(r.backend, r.c.program, NULL, &pipeline, &error),
                     VYRE_OK); /* the failure was not kept */
    vyre_pipeline *found;
    assert_int_equal(vyre_compile(r.backend, r.c.program, &options, &found, &error),
                     VYRE_OK); /* in memory: nothing to compile */
    vyre_pipeline_release(found);
    vyre_pipeline_release(pipeline);
    rig_close(&r);
}

/* Each way to dispatch, on a pipeline that was not compiled for deadlines. */
typedef struct way {
    rig *r;
    vyre_pipeline *pipeline;
    const vyre_dispatch_config *config;
    vyre_outputs *outputs;
} way;

static vyre_status run_batch(const way *w) {
    return vyre_pipeline_dispatch_batch(w->pipeline, &w->r->c.arguments, 1, w->config, w->outputs, NULL, NULL, NULL);
}

static vyre_status run_persistent(const way *w) {
    const vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_HOST, .host = {w->r->c.x, sizeof w->r->c.x}},
                                       {.kind = VYRE_RESOURCE_HOST}};
    return vyre_pipeline_dispatch_persistent(w->pipeline, bindings, 2, &w->r->c.arguments, w->config, w->outputs, NULL,
                                             NULL, NULL);
}

static vyre_status run_persistent_batch(const way *w) {
    const vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_HOST, .host = {w->r->c.x, sizeof w->r->c.x}},
                                       {.kind = VYRE_RESOURCE_HOST}},
                        *items[] = {bindings};
    return vyre_pipeline_dispatch_persistent_batch(w->pipeline, items, 2, 1, &w->r->c.arguments, w->config, w->outputs,
                                                   NULL, NULL, NULL);
}

static vyre_status run_sequence(const way *w) {
    vyre_backend *backend = w->r->backend;
    vyre_resident buffers[2];
    vyre_resource bindings[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vyre_resident_allocate(backend, sizeof w->r->c.x, NULL, &buffers[i], NULL), VYRE_OK);
        bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = buffers[i]};
    }
    const vyre_step step = {w->pipeline, bindings, 2, &w->r->c.arguments};
    vyre_status status = vyre_sequence_run(backend, &step, 1, NULL, 0, w->config, NULL, NULL, NULL, NULL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(vyre_resident_free(backend, buffers[i], NULL), VYRE_OK);
    return status;
}

static vyre_status run_async(const way *w) {
    vyre_pending *pending;
    vyre_status status = vyre_pipeline_dispatch_async(w->pipeline, &w->r->c.arguments, w->config, &pending, NULL);
    if (status != VYRE_OK)
        return status;
    status = vyre_pending_wait(pending, UINT64_MAX, w->outputs, NULL, NULL);
    vyre_pending_free(pending);
    return status;
}

enum { MORE_WAYS = 5, WAYS = FAKE_FORMS + MORE_WAYS };

static vyre_status run_way(int number, const way *w) {
    static vyre_status (*const more[MORE_WAYS])(const way *w) = {run_batch, run_persistent, run_persistent_batch,
                                                                 run_sequence, run_async};
    return number < FAKE_FORMS
               ? pipeline_run(number, w->pipeline, &w->r->c.arguments, w->config, w->outputs, NULL, NULL)
               : more[number - FAKE_FORMS](w);
}

static void a_dispatch_that_compiles_uses_its_own_deadline(void **state) {
    (void)state;
    for (int i = 0; i < WAYS; i++) {
        rig r;
        open_cancellable(&r);
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        const vyre_dispatch_config config = {.timeout_ns = 600 * SECOND_NS};
        const way w = {&r, rig_compile(&r), &config, &outputs};
        uint64_t before = vy_clock_now();
        assert_int_equal(r.f->compile_deadline, 0);
        assert_int_equal(run_way(i, &w), VYRE_OK);
        uint64_t after = vy_clock_now();
        assert_int_equal(r.f->cancellable, 1);
        if (r.f->compile_deadline < before + config.timeout_ns || r.f->compile_deadline > after + config.timeout_ns)
            fail_msg("way %d: the deadline of the compile is not that of the dispatch", i);
        assert_int_equal(r.f->seen.deadline_ns, r.f->compile_deadline); /* one deadline for both */
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(w.pipeline);
        rig_close(&r);
    }
}

/* The fake ignores the deadline: its compile is slower. Then nothing runs, and the backend is not lost. */
static void a_dispatch_does_not_start_after_a_compile_that_took_too_long(void **state) {
    (void)state;
    for (int i = 0; i < FAKE_FORMS; i++) {
        rig r;
        open_cancellable(&r);
        vyre_counters counters[2];
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        const vyre_dispatch_config config = {.timeout_ns = SECOND_NS / 100};
        const way w = {&r, rig_compile(&r), &config, &outputs};
        r.f->compile_ms = 30;
        vyre_counters_get(&counters[0]);
        assert_int_equal(run_way(i, &w), VYRE_TIMEOUT);
        vyre_counters_get(&counters[1]);
        assert_int_equal(counters[1].timeouts - counters[0].timeouts, 1);
        for (fake_entry k = FAKE_PIPELINE_dispatch; k <= FAKE_PIPELINE_dispatch_borrowed_into; k++)
            assert_int_equal(atomic_load(&r.f->calls[k]), 0);
        assert_int_equal(vyre_backend_device_lost(r.backend), 0);
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(w.pipeline);
        rig_close(&r);
    }
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_deadline_of_the_options_reaches_the_backend),
        cmocka_unit_test(a_deadline_that_has_passed_compiles_nothing),
        cmocka_unit_test(a_dispatch_that_compiles_uses_its_own_deadline),
        cmocka_unit_test(a_dispatch_does_not_start_after_a_compile_that_took_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
