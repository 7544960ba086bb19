/* Pipelines: compiled once, dispatched in every form with the bytes of the backend's own dispatch. What a backend's
 * pipeline has is called with what the caller gave; what it lacks is done with what there is. */
#include "driver/pipeline_forms.h"

#include "vyre/cache.h"
#include "vyre/telemetry.h"

static const fake_entry form_entries[FAKE_FORMS] = {FAKE_PIPELINE_dispatch_borrowed,
                                                    FAKE_PIPELINE_dispatch_borrowed_timed,
                                                    FAKE_PIPELINE_dispatch_borrowed_into, FAKE_PIPELINE_dispatch};

static void the_id_names_backend_and_fingerprint(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_digest fingerprint;
    char digits[65], id[80];
    vyre_program_fingerprint(r.c.program, &fingerprint);
    vyre_digest_format(&fingerprint, digits);
    snprintf(id, sizeof id, "fake:%s", digits);
    vyre_pipeline *pipeline = rig_compile(&r);
    assert_string_equal(vyre_pipeline_id(pipeline), id);
    assert_ptr_equal(vyre_pipeline_program(pipeline), r.c.program);
    assert_true(vyre_pipeline_is_native(pipeline));
    vyre_pipeline_release(pipeline);
    rig_close(&r);
}

static void every_form_reaches_the_native_pipeline_as_given(void **state) {
    (void)state;
    for (int form = 0; form < FAKE_FORMS; form++) {
        rig r;
        rig_open(&r);
        vyre_pipeline *pipeline = rig_compile(&r);
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_dispatch_config config = {.label = "a label"};
        r.c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {3, 2, 1}};
        assert_int_equal(pipeline_run(form, pipeline, &r.c.arguments, &config, &outputs, NULL, NULL), VYRE_OK);
        fake_seen *seen = &r.f->seen;
        for (int i = 0; i < FAKE_FORMS; i++)
            assert_int_equal(atomic_load(&r.f->calls[form_entries[i]]), i == form);
        assert_int_equal(atomic_load(&r.f->calls[FAKE_dispatch]), 0);
        assert_int_equal(atomic_load(&r.f->calls[FAKE_dispatch_borrowed]), 0);
        assert_ptr_equal(seen->program, r.c.program);
        assert_int_equal(seen->param_count, 1);
        assert_int_equal(seen->params[0].bits, 5);
        assert_int_equal(seen->params[0].type, VYRE_TYPE_U32);
        assert_int_equal(seen->buffer_count, 2);
        assert_int_equal(seen->elements[0], FAKE_N);
        assert_int_equal(seen->elements[1], FAKE_N);
        assert_int_equal(seen->groups[0], 3);
        assert_int_equal(seen->groups[1], 2);
        assert_int_equal(seen->groups[2], 1);
        assert_int_equal(seen->input_count, 1);
        assert_ptr_equal(seen->first_input, r.c.x); /* no copy on the way */
        assert_int_equal(seen->first_input_size, sizeof r.c.x);
        assert_int_equal(seen->deadline_ns, 0);
        assert_string_equal(seen->label, "a label");
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
        rig_close(&r);
    }
}

static void timing_of_a_pipeline_is_passed_on(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_timing timing;
    assert_int_equal(vyre_pipeline_dispatch_timed(pipeline, &r.c.arguments, NULL, &outputs, &timing, NULL, NULL),
                     VYRE_OK);
    assert_int_equal(timing.wall_ns, 70);
    assert_int_equal(timing.present, VYRE_TIMED_DEVICE);
    assert_int_equal(timing.device_ns, 50);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    rig_close(&r);
}

/* Each entry removed separately, then all but the required ones: every form still returns its bytes, without a call of
 * the backend's own entries. */
static void a_pipeline_needs_dispatch_and_destroy_only(void **state) {
    (void)state;
    const int entries = FAKE_PIPELINE_destroy - FAKE_PIPELINE_dispatch;
#define X(name) offsetof(vyre_pipeline_vtable, name),
    static const size_t offsets[] = {FAKE_PIPELINE_ENTRIES(X)};
#undef X
    for (int missing = 1; missing <= entries; missing++) {
        rig r;
        rig_open_with(&r, fake_new());
        for (int i = 1; i < entries; i++)
            if (i == missing || missing == entries)
                memset((char *)&r.f->pipeline_table + offsets[i], 0, sizeof(void (*)(void)));
        vyre_pipeline *pipeline = rig_compile(&r);
        for (int form = 0; form < FAKE_FORMS; form++) {
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            assert_int_equal(pipeline_run(form, pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
            fake_case_check(&r.c, &outputs);
            vyre_outputs_free(&outputs);
        }
        if (missing == entries)
            assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_dispatch]), FAKE_FORMS);
        assert_int_equal(atomic_load(&r.f->calls[FAKE_dispatch]), 0);
        vyre_pipeline_release(pipeline);
        rig_close(&r);
    }
}

/* Without `compile`, or if it returns no pipeline, every form uses the backend. */
static void a_backend_without_a_compiler_gets_a_passthrough(void **state) {
    (void)state;
    for (int gives_nothing = 0; gives_nothing < 2; gives_nothing++) {
        fake *f = fake_new();
        if (gives_nothing)
            f->gives_no_pipelines = 1;
        else
            f->table.compile = NULL, f->table.load = NULL;
        rig r;
        rig_open_with(&r, f);
        vyre_pipeline *pipeline = rig_compile(&r);
        static const fake_entry entries[FAKE_FORMS] = {FAKE_dispatch_borrowed, FAKE_dispatch_borrowed_timed,
                                                       FAKE_dispatch_borrowed_into, FAKE_dispatch};
        assert_false(vyre_pipeline_is_native(pipeline));
        for (int form = 0; form < FAKE_FORMS; form++) {
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            assert_int_equal(pipeline_run(form, pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
            fake_case_check(&r.c, &outputs);
            assert_int_equal(atomic_load(&f->calls[entries[form]]), 1);
            vyre_outputs_free(&outputs);
        }
        vyre_pipeline_release(pipeline);
        rig_close(&r);
    }
}

static void a_broken_table_is_contained(void **state) {
    (void)state;
    static const struct {
        uint32_t size;
        int dispatch, destroy;
    } rows[] = {{0, 1, 1},
                {8, 1, 1},
                {offsetof(vyre_pipeline_vtable, destroy), 1, 1},
                {sizeof(vyre_pipeline_vtable), 0, 1},
                {sizeof(vyre_pipeline_vtable), 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig r;
        rig_open(&r);
        vyre_pipeline *pipeline;
        vyre_error error;
        vyre_counters before, after;
        r.f->pipeline_table.struct_size = rows[i].size;
        if (!rows[i].dispatch)
            r.f->pipeline_table.dispatch = NULL;
        if (!rows[i].destroy)
            r.f->pipeline_table.destroy = NULL;
        int can_be_destroyed = rows[i].size == sizeof(vyre_pipeline_vtable) && rows[i].destroy;
        vyre_counters_get(&before);
        assert_int_equal(vyre_compile(r.backend, r.c.program, NULL, &pipeline, &error), VYRE_CORRUPT);
        vyre_counters_get(&after);
        assert_null(pipeline);
        assert_non_null(strstr(error.message, "`fake` broke its contract"));
        assert_int_equal(after.violations, before.violations + 1);
        assert_int_equal(atomic_load(&r.f->calls[FAKE_PIPELINE_destroy]), can_be_destroyed);
        assert_int_equal(atomic_load(&r.f->pipelines), !can_be_destroyed);
        atomic_store(&r.f->pipelines, 0); /* what cannot be destroyed is lost */
        if (!can_be_destroyed)
            vyre_program_release(r.f->last_pipeline->program), free(r.f->last_pipeline);
        rig_close(&r);
    }
}

static void wrong_answers_of_a_pipeline_are_contained(void **state) {
    (void)state;
    for (fake_sin sin = FAKE_FEWER_OUTPUTS; sin < FAKE_SAME_HANDLE; sin++)
        for (int form = 0; form < FAKE_FORMS; form++) {
            rig r;
            rig_open(&r);
            vyre_pipeline *pipeline = rig_compile(&r);
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            vyre_error error;
            r.f->sin = sin;
            assert_int_equal(pipeline_run(form, pipeline, &r.c.arguments, NULL, &outputs, NULL, &error), VYRE_CORRUPT);
            assert_int_equal(outputs.count, 0);
            r.f->sin = FAKE_HONEST;
            assert_int_equal(pipeline_run(form, pipeline, &r.c.arguments, NULL, &outputs, NULL, &error), VYRE_OK);
            fake_case_check(&r.c, &outputs);
            vyre_outputs_free(&outputs);
            vyre_pipeline_release(pipeline);
            rig_close(&r);
        }
}

/* Whatever entry fails at its first call, compile and dispatch fail with that or do without it, and the next try
 * succeeds. */
static void any_entry_may_fail(void **state) {
    (void)state;
    for (int i = 0; i < FAKE_COUNT; i++)
        for (unsigned k = 1; k <= 2; k++) {
            rig r;
            rig_open(&r);
            vyre_cache_set_memory_limit(0); /* each compile queries the backend */
            r.f->fail_entry = (fake_entry)i;
            r.f->fail_at = k;
            for (int round = 0; round < 3; round++) {
                vyre_pipeline *pipeline = NULL;
                vyre_error error = VYRE_ERROR_INIT;
                vyre_status status = vyre_compile(r.backend, r.c.program, NULL, &pipeline, &error);
                assert_true(status == VYRE_OK || status == VYRE_NO_DEVICE_MEMORY);
                for (int form = 0; form < FAKE_FORMS && pipeline; form++) {
                    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
                    status = pipeline_run(form, pipeline, &r.c.arguments, NULL, &outputs, NULL, &error);
                    assert_true(status == VYRE_OK || status == VYRE_NO_DEVICE_MEMORY);
                    if (status == VYRE_OK)
                        fake_case_check(&r.c, &outputs);
                    else
                        assert_string_equal(error.message, "the fake fails as asked");
                    vyre_outputs_free(&outputs);
                }
                if (round == 2)
                    assert_non_null(pipeline);
                vyre_pipeline_release(pipeline);
            }
            vyre_cache_set_memory_limit(256);
            rig_close(&r);
        }
}

static void what_cannot_be_compiled_is_refused(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_error error;
    vyre_pipeline *pipeline;
    vyre_compile_options options = {.struct_size = 2};
    assert_int_equal(vyre_compile(r.backend, r.c.program, &options, &pipeline, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.fix, "struct_size"));
    vyre_module *module;
    vyre_program *unresolved =
        fake_parse("program u {\n buffer x : u32 read_write\n grid 1\n let a : u32 = t.op(x[0])\n x[0] = a }", &module);
    assert_int_equal(vyre_compile(r.backend, unresolved, NULL, &pipeline, &error), VYRE_NOT_FOUND);
    assert_non_null(strstr(error.message, "`t.op`"));
    vyre_module_free(module);
    vyre_backend_shutdown(r.backend, NULL);
    assert_int_equal(vyre_compile(r.backend, r.c.program, NULL, &pipeline, &error), VYRE_DEVICE_LOST);
    assert_null(pipeline);
    rig_close(&r);

    fake *f = fake_new();
    f->table.capability = NULL; /* workgroups of one */
    rig_open_with(&r, f);
    assert_int_equal(vyre_compile(r.backend, r.c.program, NULL, &pipeline, &error), VYRE_LIMIT);
    assert_int_equal(atomic_load(&f->calls[FAKE_compile]), 0);
    rig_close(&r);
}

static void a_pipeline_keeps_backend_and_program(void **state) {
    (void)state;
    _Atomic int destroyed = 0;
    rig r;
    rig_open(&r);
    r.f->destroyed = &destroyed;
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_backend_release(r.backend);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    fake_case_check(&r.c, &outputs);
    fake_case_close(&r.c);
    assert_int_equal(vyre_program_buffer_count(vyre_pipeline_program(pipeline)), 2);
    assert_int_equal(atomic_load(&destroyed), 0);
    vyre_pipeline_release(vyre_pipeline_retain(pipeline));
    vyre_pipeline_release(pipeline);
    assert_int_equal(atomic_load(&destroyed), 1); /* what memory keeps does not keep the backend */
    vyre_outputs_free(&outputs);
}

static void shutdown_destroys_native_pipelines_first(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_error error;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(atomic_load(&r.f->pipelines), 1);
    assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK); /* the fake looks */
    assert_int_equal(atomic_load(&r.f->pipelines), 0);
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, &error), VYRE_DEVICE_LOST);
    vyre_pipeline_release(pipeline);
    rig_close(&r);
}

static void after_recovery_a_pipeline_is_compiled_again(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_pipeline *pipeline = rig_compile(&r), *other = rig_compile(&r);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    for (unsigned round = 1; round <= 3; round++) {
        assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        assert_int_equal(vyre_pipeline_dispatch(other, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        fake_case_check(&r.c, &outputs);
        assert_int_equal(atomic_load(&r.f->calls[FAKE_compile]), round); /* both have one code */
        assert_int_equal(atomic_load(&r.f->pipelines), 1);
        atomic_store(&r.f->is_lost, 1);
        assert_true(vyre_backend_device_lost(r.backend));
        assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, &error),
                         VYRE_DEVICE_LOST);
        assert_int_equal(vyre_backend_try_recover(r.backend, NULL), VYRE_OK);
        assert_int_equal(atomic_load(&r.f->pipelines), 0);
    }
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_pipeline_release(other);
    rig_close(&r);
}

static void a_deadline_compiles_the_cancellable_variant_once(void **state) {
    (void)state;
    fake *f = fake_new();
    f->can_cancel = 1;
    rig r;
    rig_open_with(&r, f);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_dispatch_config config = {.timeout_ns = 60000000000u};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(f->cancellable, 0);
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&f->calls[FAKE_compile]), 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, &config, &outputs, NULL, NULL), VYRE_OK);
        fake_case_check(&r.c, &outputs);
        assert_int_equal(f->cancellable, 1);
        assert_true(f->seen.deadline_ns > 0);
        assert_int_equal(atomic_load(&f->calls[FAKE_compile]), 2);
    }
    vyre_compile_options options = {.struct_size = sizeof options, .cancellable = 1};
    vyre_pipeline *cancellable;
    assert_int_equal(vyre_compile(r.backend, r.c.program, &options, &cancellable, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch(cancellable, &r.c.arguments, &config, &outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&f->calls[FAKE_compile]), 2); /* the same variant: found */
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_pipeline_release(cancellable);
    rig_close(&r);
}

/* A backend that cannot stop a kernel gets no other code for a deadline: the call runs on a worker thread and is
 * abandoned. */
static void a_hanging_pipeline_is_abandoned(void **state) {
    (void)state;
    _Atomic int destroyed = 0;
    rig r;
    rig_open(&r);
    r.f->destroyed = &destroyed;
    r.f->is_shared = 1;
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_dispatch_config config = {.timeout_ns = 60000000000u};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, &config, &outputs, NULL, NULL), VYRE_OK);
    fake_case_check(&r.c, &outputs);
    assert_int_equal(atomic_load(&r.f->calls[FAKE_compile]), 1);
    r.f->hang_ms = 300;
    config.timeout_ns = 20000000;
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, &config, &outputs, NULL, &error), VYRE_TIMEOUT);
    assert_true(vyre_backend_device_lost(r.backend));
    assert_int_equal(vyre_backend_try_recover(r.backend, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&r.f->pipelines), 1); /* it is still running */
    r.f->hang_ms = 0;
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    fake_case_check(&r.c, &outputs);
    assert_int_equal(atomic_load(&r.f->calls[FAKE_compile]), 2);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(r.backend);
    while (!atomic_load(&destroyed)) /* the abandoned call holds all it uses */
        usleep(1000);
    fake_case_close(&r.c);
    vyre_outputs_free(&outputs);
}

static void the_backends_own_cache_counters_are_shown(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_cache_snapshot snapshot;
    assert_true(vyre_backend_cache_snapshot(r.backend, &snapshot));
    assert_int_equal(snapshot.hits, 3);
    assert_int_equal(snapshot.bytes, 6);
    rig_close(&r);
    fake *f = fake_new();
    f->table.cache_snapshot = NULL;
    rig_open_with(&r, f);
    assert_false(vyre_backend_cache_snapshot(r.backend, &snapshot));
    assert_int_equal(snapshot.hits, 0);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_names_backend_and_fingerprint),
        cmocka_unit_test(every_form_reaches_the_native_pipeline_as_given),
        cmocka_unit_test(timing_of_a_pipeline_is_passed_on),
        cmocka_unit_test(a_pipeline_needs_dispatch_and_destroy_only),
        cmocka_unit_test(a_backend_without_a_compiler_gets_a_passthrough),
        cmocka_unit_test(a_broken_table_is_contained),
        cmocka_unit_test(wrong_answers_of_a_pipeline_are_contained),
        cmocka_unit_test(any_entry_may_fail),
        cmocka_unit_test(what_cannot_be_compiled_is_refused),
        cmocka_unit_test(a_pipeline_keeps_backend_and_program),
        cmocka_unit_test(shutdown_destroys_native_pipelines_first),
        cmocka_unit_test(after_recovery_a_pipeline_is_compiled_again),
        cmocka_unit_test(a_deadline_compiles_the_cancellable_variant_once),
        cmocka_unit_test(a_hanging_pipeline_is_abandoned),
        cmocka_unit_test(the_backends_own_cache_counters_are_shown),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
