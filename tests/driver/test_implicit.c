/* Backends that only compile: a program that is dispatched without a pipeline runs through an implicit one that the
 * backend keeps, with the caches and their counters. */
#include "driver/pipeline_forms.h"

#include "vyre/cache.h"
#include "vyre/telemetry.h"

/* A fake without a dispatch entry. */
static void open_compiler(rig *r) {
    fake *f = fake_new();
    f->table.dispatch = NULL;
    f->table.dispatch_borrowed = NULL;
    f->table.dispatch_borrowed_timed = NULL;
    f->table.dispatch_borrowed_into = NULL;
    f->table.dispatch_async = NULL;
    f->table.dispatch_borrowed_async = NULL;
    f->table.dispatch_resident = NULL;
    f->table.prepare = NULL;
    rig_open_with(r, f);
}

static vyre_status run(rig *r, const vyre_dispatch_config *config, vyre_error *error) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status =
        vyre_backend_dispatch(r->backend, r->c.program, &r->c.arguments, config, &outputs, NULL, error);
    vyre_outputs_free(&outputs);
    return status;
}

static unsigned compiles(const rig *r) {
    return atomic_load(&r->f->calls[FAKE_compile]);
}

static void every_form_runs_and_the_program_is_compiled_once(void **state) {
    (void)state;
    rig r;
    open_compiler(&r);
    for (int form = 0; form < FAKE_FORMS; form++) {
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        assert_int_equal(fake_run(form, r.backend, r.c.program, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        assert_int_equal(outputs.count, vyre_program_output_count(r.c.program));
        vyre_outputs_free(&outputs);
    }
    vyre_pending *pending;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_backend_dispatch_async(r.backend, r.c.program, &r.c.arguments, NULL, &pending, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL), VYRE_OK);
    vyre_outputs_free(&outputs);
    vyre_pending_free(pending);
    assert_int_equal(compiles(&r), 1);
    rig_close(&r);
}

static void resident_buffers_are_dispatched_through_the_pipeline(void **state) {
    (void)state;
    rig r;
    open_compiler(&r);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT}, {.kind = VYRE_RESOURCE_RESIDENT}};
    vyre_timing timing;
    vyre_error error;
    for (int i = 0; i < 2; i++)
        assert_int_equal(vyre_resident_allocate(r.backend, sizeof r.c.x, NULL, &bindings[i].resident, NULL), VYRE_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(vyre_backend_dispatch_resident(r.backend, r.c.program, bindings, 2, &r.c.arguments, NULL,
                                                        i ? &timing : NULL, NULL, NULL),
                         VYRE_OK);
    assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_dispatch_persistent_into]), 3);
    assert_int_equal(compiles(&r), 1);
    /* Host bytes stay refused. */
    bindings[0] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {r.c.x, sizeof r.c.x}};
    assert_int_equal(
        vyre_backend_dispatch_resident(r.backend, r.c.program, bindings, 2, &r.c.arguments, NULL, NULL, NULL, &error),
        VYRE_INVALID_ARGUMENT);
    rig_close(&r);
}

static void prepare_does_what_the_first_dispatch_would(void **state) {
    (void)state;
    rig r;
    vyre_error error;
    open_compiler(&r);
    assert_int_equal(vyre_backend_prepare(r.backend, r.c.program, &error), VYRE_OK);
    assert_int_equal(compiles(&r), 1);
    vyre_cache_forbid_compile(1);
    assert_int_equal(run(&r, NULL, &error), VYRE_OK);
    vyre_cache_forbid_compile(0);
    assert_int_equal(compiles(&r), 1);
    rig_close(&r);
}

static void what_is_in_memory_runs_although_compiling_is_forbidden(void **state) {
    (void)state;
    rig r;
    vyre_error error;
    open_compiler(&r);
    vyre_cache_forbid_compile(1);
    assert_int_equal(run(&r, NULL, &error), VYRE_UNSUPPORTED);
    vyre_cache_forbid_compile(0);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_cache_forbid_compile(1);
    assert_int_equal(run(&r, NULL, &error), VYRE_OK);
    vyre_pipeline_release(pipeline);
    assert_int_equal(run(&r, NULL, &error), VYRE_OK);
    vyre_cache_forbid_compile(0);
    assert_int_equal(compiles(&r), 1);
    rig_close(&r);
}

/* A table of pipelines that has room for none would compile at each dispatch. */
static void without_a_cache_in_memory_a_program_is_still_compiled_once(void **state) {
    (void)state;
    rig r;
    open_compiler(&r);
    vyre_cache_set_memory_limit(0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(&r, NULL, NULL), VYRE_OK);
    vyre_cache_set_memory_limit(256);
    assert_int_equal(compiles(&r), 1);
    rig_close(&r);
}

static void the_environment_is_asked_each_time(void **state) {
    (void)state;
    rig r;
    vyre_error error;
    open_compiler(&r);
    vyre_cache_forbid_compile(-1);
    setenv("VYRE_FORBID_COMPILE", "1", 1);
    assert_int_equal(run(&r, NULL, &error), VYRE_UNSUPPORTED);
    setenv("VYRE_FORBID_COMPILE", "0", 1);
    assert_int_equal(run(&r, NULL, &error), VYRE_OK);
    setenv("VYRE_FORBID_COMPILE", "1", 1);
    assert_int_equal(vyre_backend_prepare(r.backend, r.c.program, &error), VYRE_OK); /* it is there */
    unsetenv("VYRE_FORBID_COMPILE");
    vyre_cache_forbid_compile(0);
    rig_close(&r);
}

static void the_counters_of_the_caches_count_it(void **state) {
    (void)state;
    rig r;
    vyre_cache_stats before, after;
    vyre_counters counted_before, counted;
    vyre_cache_snapshot snapshot;
    open_compiler(&r);
    vyre_cache_get_stats(&before);
    vyre_counters_get(&counted_before);
    assert_int_equal(run(&r, NULL, NULL), VYRE_OK);
    vyre_cache_get_stats(&after);
    vyre_counters_get(&counted);
    assert_int_equal(after.compiles - before.compiles, 1);
    assert_int_equal(after.misses - before.misses, 1);
    assert_int_equal(counted.compiles - counted_before.compiles, 1);
    assert_int_equal(counted.cache_misses - counted_before.cache_misses, 1);
    vyre_pipeline_release(rig_compile(&r));
    /* The library has the cache of such a backend, and counts for it. */
    assert_true(vyre_backend_cache_snapshot(r.backend, &snapshot));
    assert_int_equal(snapshot.hits, 1);
    assert_int_equal(snapshot.misses, 1);
    assert_int_equal(snapshot.entries, 5);
    assert_int_equal(snapshot.bytes, 6);
    rig_close(&r);
}

static void after_recovery_it_is_compiled_again(void **state) {
    (void)state;
    rig r;
    open_compiler(&r);
    assert_int_equal(run(&r, NULL, NULL), VYRE_OK);
    atomic_store(&r.f->is_lost, 1);
    assert_true(vyre_backend_device_lost(r.backend));
    assert_int_equal(vyre_backend_try_recover(r.backend, NULL), VYRE_OK);
    assert_int_equal(run(&r, NULL, NULL), VYRE_OK);
    assert_int_equal(compiles(&r), 2);
    rig_close(&r);
}

static void a_compiler_that_leaves_a_program_alone_breaks_the_contract(void **state) {
    (void)state;
    rig r;
    vyre_error error;
    open_compiler(&r);
    r.f->gives_no_pipelines = 1;
    assert_int_equal(run(&r, NULL, &error), VYRE_CORRUPT);
    assert_non_null(strstr(error.message, "`dispatch`"));
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_runs_and_the_program_is_compiled_once),
        cmocka_unit_test(resident_buffers_are_dispatched_through_the_pipeline),
        cmocka_unit_test(prepare_does_what_the_first_dispatch_would),
        cmocka_unit_test(what_is_in_memory_runs_although_compiling_is_forbidden),
        cmocka_unit_test(without_a_cache_in_memory_a_program_is_still_compiled_once),
        cmocka_unit_test(the_environment_is_asked_each_time),
        cmocka_unit_test(the_counters_of_the_caches_count_it),
        cmocka_unit_test(after_recovery_it_is_compiled_again),
        cmocka_unit_test(a_compiler_that_leaves_a_program_alone_breaks_the_contract),
    };
    vyre_cache_set_folder("", NULL);
    vyre_cache_forbid_compile(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
