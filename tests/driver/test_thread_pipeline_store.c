/* Binaries that take long to make: stored after the compile, when nothing else is compiled, and before the backend is gone. */
#include "driver/pipeline_forms.h"
#include "support/fault.h"

#include "base/thread.h"
#include "vyre/async.h"
#include "vyre/cache.h"

#include <sys/wait.h>

static char folder[] = "/tmp/vyre-stores-XXXXXX";

/* Makers of binaries and compilers wait here. */
static struct {
    pthread_t owner; /* never waits for a binary */
    _Atomic int holds_binaries, holds_compiles, holds_dispatches, feeds;
    _Atomic unsigned by_owner, by_others, compiling, dispatching, begun, fed;
} gate;

static vyre_status make_binary(void *self, vyre_bytes *out, vyre_error *error) {
    int is_owner = pthread_equal(pthread_self(), gate.owner);
    unsigned fed = atomic_load(&gate.fed);
    atomic_fetch_add(&gate.begun, 1);
    while (atomic_load(&gate.feeds) && atomic_load(&gate.fed) == fed)
        usleep(1000);
    while (!is_owner && atomic_load(&gate.holds_binaries))
        usleep(1000);
    atomic_fetch_add(is_owner ? &gate.by_owner : &gate.by_others, 1);
    return fake_pipeline_serialize_later(self, out, error);
}

static vyre_status compile_held(void *self, vyre_program *program, const vyre_compile_options *options,
                                vyre_native_pipeline *out, vyre_error *error) {
    if (strcmp(vyre_program_name(program), "held") == 0) {
        atomic_fetch_add(&gate.compiling, 1);
        while (atomic_load(&gate.holds_compiles))
            usleep(1000);
    }
    return fake_compile(self, program, options, out, error);
}

static fake *slow_fake(void) {
    fake *f = fake_new();
    f->table.compile = compile_held;
    f->pipeline_table.serialize = NULL;
    f->pipeline_table.serialize_later = make_binary;
    f->is_shared = 1;
    return f;
}

static uint64_t stores(void) {
    vyre_cache_stats now;
    vyre_cache_get_stats(&now);
    return now.stores;
}

static vyre_status try_numbered(vyre_backend *backend, const char *name, unsigned number) {
    char text[200];
    vyre_module *module;
    vyre_pipeline *pipeline = NULL;
    snprintf(text, sizeof text, "program %s {\n buffer x : u32 read_write\n grid 1\n x[0] = x[0] + %u }", name, number);
    vyre_status status = vyre_compile(backend, fake_parse(text, &module), NULL, &pipeline, NULL);
    vyre_pipeline_release(pipeline);
    vyre_module_free(module);
    return status;
}

static void compile_numbered(vyre_backend *backend, unsigned number) {
    assert_int_equal(try_numbered(backend, "n", number), VYRE_OK);
}

static int set_up(void **state) {
    (void)state;
    memset(&gate, 0, sizeof gate);
    gate.owner = pthread_self();
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_set_memory_limit(0);
    vyre_cache_forbid_compile(0);
    return (int)vyre_cache_clear(NULL, NULL, NULL, NULL);
}

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
    vyre_backend_store(r.backend);
    assert_int_equal(stores(), before + 1);
    assert_int_equal(atomic_load(&r.f->pipelines), 0);
    assert_int_equal(atomic_load(&gate.by_others), 1);
    vyre_backend_store(r.backend); /* nothing is left */
    assert_int_equal(stores(), before + 1);
    vyre_cache_forbid_compile(1);
    vyre_pipeline_release(rig_compile(&r));
    rig_close(&r);
}

/* Nobody asks for it: quiet is enough. */
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

enum { FED = 200 };

/* As long as a binary is made another program is compiled: the line does not come to its end. */
static void *feed(void *user) {
    for (unsigned i = 0; i < FED && atomic_load(&gate.feeds); i++) {
        if (try_numbered(user, "fed", i) != VYRE_OK)
            break;
        atomic_fetch_add(&gate.fed, 1);
        while (atomic_load(&gate.feeds) && atomic_load(&gate.fed) > atomic_load(&gate.begun) + 8)
            usleep(1000);
    }
    atomic_store(&gate.feeds, 0);
    return NULL;
}

static void nobody_waits_for_what_is_compiled_later(void **state) {
    (void)state;
    for (int shuts_down = 0; shuts_down < 2; shuts_down++) {
        rig r;
        pthread_t thread;
        rig_open_with(&r, slow_fake());
        atomic_store(&gate.fed, 0);
        atomic_store(&gate.begun, 0);
        atomic_store(&gate.feeds, 1);
        assert_true(vy_thread_start(&thread, feed, r.backend));
        while (atomic_load(&gate.fed) < 2)
            usleep(1000);
        if (shuts_down)
            assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK);
        else
            vyre_backend_store(r.backend);
        unsigned fed = atomic_load(&gate.fed);
        atomic_store(&gate.feeds, 0);
        pthread_join(thread, NULL);
        rig_close(&r);
        if (fed == FED)
            fail_msg("%s waits for what is compiled meanwhile", shuts_down ? "shutdown" : "vyre_backend_store");
    }
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
    vyre_backend_store(r.backend);
    assert_int_equal(atomic_load(&gate.by_others), 2);
    rig_close(&r);
}

/* The line has an end, and so has the memory it takes: who finds it full makes his own. */
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
    vyre_backend_store(r.backend);
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

static vyre_status dispatch_held(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                                 vyre_outputs *outputs, vyre_error *error) {
    atomic_fetch_add(&gate.dispatching, 1);
    while (atomic_load(&gate.holds_dispatches))
        usleep(1000);
    return fake_dispatch_borrowed(self, launch, inputs, count, outputs, error);
}

/* No thread can be started that has so large a stack. */
static void allow_threads(int allowed) {
    static pthread_attr_t usual;
    pthread_attr_t huge;
    if (!allowed)
        assert_int_equal(pthread_getattr_default_np(&usual), 0);
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, (size_t)1 << 46);
    assert_int_equal(pthread_setattr_default_np(allowed ? &usual : &huge), 0);
    pthread_attr_destroy(&huge);
}

/* The one thread there is drops the last reference, and what is to be stored waits for that very thread. */
static void the_only_thread_may_be_the_one_that_releases(void **state) {
    (void)state;
    rig r;
    vyre_pending *pending;
    _Atomic int destroyed = 0;
    uint64_t before = stores();
    fake *f = slow_fake();
    f->table.dispatch_borrowed = dispatch_held;
    f->destroyed = &destroyed;
    rig_open_with(&r, f);
    atomic_store(&gate.holds_dispatches, 1);
    assert_int_equal(vyre_backend_dispatch_async(r.backend, r.c.program, &r.c.arguments, NULL, &pending, NULL),
                     VYRE_OK);
    while (!atomic_load(&gate.dispatching))
        usleep(1000);
    allow_threads(0);
    compile_numbered(r.backend, 1);
    allow_threads(1);
    vyre_pending_free(pending);
    rig_close(&r);
    assert_false(atomic_load(&destroyed));
    atomic_store(&gate.holds_dispatches, 0);
    for (int i = 0; i < 20000 && !atomic_load(&destroyed); i++)
        usleep(1000);
    assert_true(atomic_load(&destroyed));
    assert_int_equal(stores(), before + 1);
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
        vyre_backend_store(r.backend);
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
    vyre_backend_store(r.backend);
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

static void a_forked_child_does_not_wait_for_a_thread_it_has_not(void **state) {
    (void)state;
    rig r;
    int status = -1;
    rig_open_with(&r, slow_fake());
    atomic_store(&gate.holds_binaries, 1);
    compile_numbered(r.backend, 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        vyre_backend_store(r.backend);
        uint64_t before = stores();
        if (try_numbered(r.backend, "child", 2) != VYRE_OK)
            _exit(1);
        vyre_backend_store(r.backend);
        _exit(stores() == before + 1 ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    atomic_store(&gate.holds_binaries, 0);
    rig_close(&r);
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
        vyre_backend_store(backend);
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
        cmocka_unit_test_setup(nobody_waits_for_what_is_compiled_later, set_up),
        cmocka_unit_test_setup(the_last_release_stores_what_is_left, set_up),
        cmocka_unit_test_setup(nothing_is_made_while_somebody_compiles, set_up),
        cmocka_unit_test_setup(who_finds_the_line_full_stores_his_own, set_up),
        cmocka_unit_test_setup(without_a_disk_no_binary_is_made, set_up),
        cmocka_unit_test_setup(the_only_thread_may_be_the_one_that_releases, set_up),
        cmocka_unit_test_setup(what_a_lost_device_compiled_is_dropped, set_up),
        cmocka_unit_test_setup(a_binary_that_cannot_be_made_is_no_failure, set_up),
        cmocka_unit_test_setup(a_shorter_table_has_no_such_entry, set_up),
        cmocka_unit_test_setup(a_forked_child_does_not_wait_for_a_thread_it_has_not, set_up),
    };
    if (!mkdtemp(folder))
        return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return failures;
}
