/* Binaries that are slow to produce: a thread that waits for them always finishes, and so does the process. */
#include "driver/slow_binaries.h"

#include "vyre/async.h"

#include <sys/wait.h>

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
            vyre_backend_flush_cache(r.backend);
        unsigned fed = atomic_load(&gate.fed);
        atomic_store(&gate.feeds, 0);
        pthread_join(thread, NULL);
        rig_close(&r);
        if (fed == FED)
            fail_msg("%s waits for what is compiled meanwhile", shuts_down ? "shutdown" : "vyre_backend_flush_cache");
    }
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

/* The only thread drops the last reference, and the queued binary waits for that very thread. */
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

static void *feed_behind(void *user) {
    while (!atomic_load(&gate.begun))
        usleep(1000);
    return feed(user);
}

/* A caller that drains the queue for lack of a thread drains the entries queued before; another thread drains the
 * rest. */
static void who_compiles_without_a_thread_does_not_serve_for_ever(void **state) {
    (void)state;
    rig r;
    pthread_t thread;
    uint64_t before = stores();
    rig_open_with(&r, slow_fake());
    atomic_store(&gate.feeds, 1);
    assert_true(vy_thread_start(&thread, feed_behind, r.backend));
    allow_threads(0);
    compile_numbered(r.backend, 1);
    unsigned fed = atomic_load(&gate.fed);
    atomic_store(&gate.feeds, 0);
    pthread_join(thread, NULL);
    vyre_backend_flush_cache(r.backend);
    allow_threads(1);
    assert_int_equal(stores(), before + 1 + atomic_load(&gate.fed));
    rig_close(&r);
    if (fed == FED)
        fail_msg("a compile serves those that others put in line meanwhile");
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
        vyre_backend_flush_cache(r.backend);
        uint64_t before = stores();
        if (try_numbered(r.backend, "child", 2) != VYRE_DEVICE_LOST) /* a backend is of the process that acquired it */
            _exit(1);
        vyre_backend_flush_cache(r.backend);
        _exit(stores() == before ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    atomic_store(&gate.holds_binaries, 0);
    rig_close(&r);
}

/* The thread at the line waits for quiet, in the parent only. */
static void a_forked_child_may_release(void **state) {
    (void)state;
    rig r;
    int status = -1;
    rig_open_with(&r, slow_fake());
    compile_numbered(r.backend, 1);
    usleep(30000);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        rig_close(&r);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rig_close(&r);
}

/* A process that ends without a release. */
static struct {
    rig r;
    int is_this, releases;
    uint64_t stores;
    _Atomic int is_torn_down;
} ending;

/* What drivers register when they start: it is called after what the library has registered since. */
static void tear_down(void) {
    if (!ending.is_this)
        return;
    if (ending.releases) {
        rig_close(&ending.r);
        if (stores() != ending.stores + 3)
            _exit(4);
    }
    atomic_store(&ending.is_torn_down, 1);
    usleep(300000);
}

static vyre_status make_slowly(void *self, vyre_bytes *out, vyre_error *error) {
    vyre_status status = make_binary(self, out, error);
    usleep(100000);
    if (atomic_load(&ending.is_torn_down))
        _exit(3);
    return status;
}

static void nothing_is_made_while_the_process_ends(void **state) {
    (void)state;
    for (int releases = 0; releases < 2; releases++) {
        int status = -1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            ending.is_this = 1, ending.releases = releases, ending.stores = stores();
            fake *f = slow_fake();
            f->pipeline_table.serialize_later = make_slowly;
            rig_open_with(&ending.r, f);
            for (unsigned i = 0; i < 3; i++)
                if (try_numbered(ending.r.backend, "n", i) != VYRE_OK)
                    _exit(1);
            while (!atomic_load(&gate.begun))
                usleep(1000);
            exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(vyre_cache_clear(NULL, NULL, NULL, NULL), VYRE_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nobody_waits_for_what_is_compiled_later, set_up),
        cmocka_unit_test_setup(the_only_thread_may_be_the_one_that_releases, set_up),
        cmocka_unit_test_setup(who_compiles_without_a_thread_does_not_serve_for_ever, set_up),
        cmocka_unit_test_setup(a_forked_child_does_not_wait_for_a_thread_it_has_not, set_up),
        cmocka_unit_test_setup(a_forked_child_may_release, set_up),
        cmocka_unit_test_setup(nothing_is_made_while_the_process_ends, set_up),
    };
    if (atexit(tear_down) != 0)
        return 1;
    if (!mkdtemp(folder))
        return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return failures;
}
