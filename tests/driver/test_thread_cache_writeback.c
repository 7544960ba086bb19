/* Binaries that are slow to produce: stored after the compile, when nothing else is compiled, and before the backend
 * ends. */
#include "driver/slow_binaries.h"
#include "support/fault.h"

static void a_compile_does_not_wait_for_its_binary(void **state) {
    (void)state;
    rig r;
    uint64_t before = stores();
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    rig_open_with(&r, slow_fake());
    atomic_store(&gate.holds_binaries, 1);
    vyre_pipeline *pipeline = rig_compile(&r);
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    fake_case_check(&r.c, &outputs);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    assert_int_equal(atomic_load(&r.f->pipelines), 1); /* kept until it is stored */
    assert_int_equal(stores(), before);
    atomic_store(&gate.holds_binaries, 0);
    vyre_backend_flush_cache(r.backend);
    assert_int_equal(stores(), before + 1);
    assert_int_equal(atomic_load(&r.f->pipelines), 0);
    assert_int_equal(atomic_load(&gate.by_others), 1);
    vyre_backend_flush_cache(r.backend); /* nothing is left */
    assert_int_equal(stores(), before + 1);
    vyre_cache_forbid_compile(1);
    vyre_pipeline_release(rig_compile(&r));
    rig_close(&r);
}

/* Without a request: a quiet period suffices. */
static void quiet_is_enough(void **state) {
    (void)state;
    rig r;
    uint64_t before = stores();
    rig_open_with(&r, slow_fake());
    compile_numbered(r.backend, 1);
    for (int i = 0; i < 20000 && stores() == before; i++)
        usleep(1000);
    assert_int_equal(stores(), before + 1);
    rig_close(&r);
}

static void the_last_release_stores_what_is_left(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        rig r;
        uint64_t before = stores();
        rig_open_with(&r, slow_fake());
        for (unsigned i = 0; i < 5; i++)
            compile_numbered(r.backend, 10 * (unsigned)way + i);
        if (way)
            assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK);
        rig_close(&r);
        assert_int_equal(stores(), before + 5);
    }
}

static void *compile_slowly(void *user) {
    assert_int_equal(try_numbered(user, "held", 0), VYRE_OK);
    return NULL;
}

static void nothing_is_made_while_somebody_compiles(void **state) {
    (void)state;
    rig r;
    pthread_t thread;
    rig_open_with(&r, slow_fake());
    atomic_store(&gate.holds_compiles, 1);
    assert_true(vy_thread_start(&thread, compile_slowly, r.backend));
    while (!atomic_load(&gate.compiling))
        usleep(1000);
    compile_numbered(r.backend, 1);
    usleep(250000);
    assert_int_equal(atomic_load(&gate.by_others), 0);
    atomic_store(&gate.holds_compiles, 0);
    pthread_join(thread, NULL);
    vyre_backend_flush_cache(r.backend);
    assert_int_equal(atomic_load(&gate.by_others), 2);
    rig_close(&r);
}

/* The queue and its memory are bounded: a thread that finds it full produces its binary itself. */
static void who_finds_the_line_full_stores_his_own(void **state) {
    (void)state;
    enum { MANY = 100 };
    rig r;
    uint64_t before = stores();
    rig_open_with(&r, slow_fake());
    atomic_store(&gate.holds_binaries, 1);
    for (unsigned i = 0; i < MANY; i++)
        compile_numbered(r.backend, i);
    assert_true(atomic_load(&gate.by_owner) >= MANY - 65);
    assert_true(atomic_load(&r.f->pipelines) <= 65);
    atomic_store(&gate.holds_binaries, 0);
    vyre_backend_flush_cache(r.backend);
    assert_int_equal(stores(), before + MANY);
    rig_close(&r);
}

static void without_a_disk_no_binary_is_made(void **state) {
    (void)state;
    rig r;
    rig_open_with(&r, slow_fake());
    vyre_cache_set_folder("", NULL);
    compile_numbered(r.backend, 1);
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_set_disk_limit(0);
    compile_numbered(r.backend, 2);
    vyre_cache_set_disk_limit(UINT64_C(1) << 30);
    rig_close(&r);
    assert_int_equal(atomic_load(&gate.by_owner) + atomic_load(&gate.by_others), 0);
}

static void what_a_lost_device_compiled_is_dropped(void **state) {
    (void)state;
    for (int recovers = 0; recovers < 2; recovers++) {
        rig r;
        rig_open_with(&r, slow_fake());
        atomic_store(&gate.holds_binaries, 1);
        for (unsigned i = 0; i < 5; i++)
            compile_numbered(r.backend, i);
        atomic_store(&r.f->is_lost, 1);
        assert_true(vyre_backend_device_lost(r.backend));
        atomic_store(&gate.holds_binaries, 0);
        atomic_store(&gate.by_others, 0);
        if (recovers) {
            assert_int_equal(vyre_backend_try_recover(r.backend, NULL), VYRE_OK);
            compile_numbered(r.backend, 5);
        }
        vyre_backend_flush_cache(r.backend);
        assert_true(atomic_load(&gate.by_others) <= (unsigned)recovers + 1); /* one may have been in the making */
        assert_int_equal(atomic_load(&r.f->pipelines), 0);
        rig_close(&r);
    }
}

static void a_binary_that_cannot_be_made_is_no_failure(void **state) {
    (void)state;
    rig r;
    uint64_t before = stores();
    fake *f = slow_fake();
    f->fail_entry = FAKE_PIPELINE_serialize_later, f->fail_at = 1, f->fail_with = VYRE_NO_DEVICE_MEMORY;
    rig_open_with(&r, f);
    for (unsigned i = 0; i < 2; i++)
        compile_numbered(r.backend, i);
    vyre_backend_flush_cache(r.backend);
    assert_int_equal(stores(), before + 1);
    assert_false(vyre_backend_device_lost(r.backend));
    rig_close(&r);
}

/* A table of before this entry was there. */
static void a_shorter_table_has_no_such_entry(void **state) {
    (void)state;
    rig r;
    uint64_t before = stores();
    fake *f = slow_fake();
    f->pipeline_table.struct_size = offsetof(vyre_pipeline_vtable, serialize_later);
    rig_open_with(&r, f);
    compile_numbered(r.backend, 1);
    rig_close(&r);
    assert_int_equal(stores(), before);
    assert_int_equal(atomic_load(&gate.by_owner) + atomic_load(&gate.by_others), 0);
}

static vyre_status compile_and_store(void *user) {
    fake *f = fake_new_or_null();
    vyre_backend *backend = NULL;
    vyre_pipeline *pipeline = NULL;
    if (!f)
        return VYRE_NO_MEMORY;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    f->pipeline_table.serialize = NULL;
    vyre_backend_instance instance = {&f->table, f};
    vyre_status status = vy_backend_wrap(&instance, &backend, NULL);
    if (status == VYRE_OK)
        status = vyre_compile(backend, user, NULL, &pipeline, NULL);
    if (status == VYRE_OK)
        vyre_backend_flush_cache(backend);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    fake_case c;
    fake_case_open(&c);
    VY_FAULT_LOOP_LENIENT(compile_and_store, c.program);
    fake_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_allocation_may_fail, set_up), /* first: no object of the library is alive */
        cmocka_unit_test_setup(a_compile_does_not_wait_for_its_binary, set_up),
        cmocka_unit_test_setup(quiet_is_enough, set_up),
        cmocka_unit_test_setup(the_last_release_stores_what_is_left, set_up),
        cmocka_unit_test_setup(nothing_is_made_while_somebody_compiles, set_up),
        cmocka_unit_test_setup(who_finds_the_line_full_stores_his_own, set_up),
        cmocka_unit_test_setup(without_a_disk_no_binary_is_made, set_up),
        cmocka_unit_test_setup(what_a_lost_device_compiled_is_dropped, set_up),
        cmocka_unit_test_setup(a_binary_that_cannot_be_made_is_no_failure, set_up),
        cmocka_unit_test_setup(a_shorter_table_has_no_such_entry, set_up),
    };
    if (!mkdtemp(folder))
        return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return failures;
}
