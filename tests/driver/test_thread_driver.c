/* Threads that acquire, dispatch, allocate, lose, recover, release and shut down concurrently. Meant for the thread
 * sanitizer. */
#include "driver/fake.h"

#include "base/thread.h"
#include "vyre/telemetry.h"

enum { THREADS = 6, ROUNDS = 40 };

typedef struct shared {
    fake *f;
    vyre_backend *backend;
    fake_case c;
    _Atomic unsigned done, refused, wrong;
} shared;

static int is_right(const fake_case *c, const vyre_outputs *outputs) {
    for (uint32_t i = 0; i < FAKE_N; i++)
        if (((uint32_t *)outputs->items[1].data)[i] != c->x[i] * 5 + 1)
            return 0;
    return 1;
}

static void use(shared *s, vyre_backend *backend, unsigned worker, vyre_outputs *outputs) {
    vyre_dispatch_config config = {.timeout_ns = worker == 1 ? 60000000000u : 0};
    vyre_status status =
        fake_run((int)worker % FAKE_FORMS, backend, s->c.program, &s->c.arguments, &config, outputs, NULL, NULL);
    vyre_resident resident;
    if (status == VYRE_OK && !is_right(&s->c, outputs))
        atomic_fetch_add(&s->wrong, 1);
    if (status != VYRE_OK && status != VYRE_DEVICE_LOST)
        atomic_fetch_add(&s->wrong, 1);
    atomic_fetch_add(status == VYRE_OK ? &s->done : &s->refused, 1);
    if (vyre_resident_allocate(backend, 64, NULL, &resident, NULL) == VYRE_OK)
        vyre_resident_free(backend, resident, NULL);
}

static void own_backends(void *user, unsigned worker) {
    shared *s = user;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    for (int i = 0; i < ROUNDS; i++) {
        vyre_backend *backend;
        vyre_policy policy = {.only = "cpu-ref"};
        vyre_status status =
            worker % 2 ? vyre_acquire("reference", &backend, NULL) : vyre_select(&policy, &backend, NULL, NULL);
        if (status != VYRE_OK) {
            atomic_fetch_add(&s->wrong, 1);
            break;
        }
        use(s, backend, worker, &outputs);
        if (i % 3 == 0)
            vyre_backend_shutdown(backend, NULL);
        vyre_backend_release(backend);
    }
    vyre_outputs_free(&outputs);
}

/* One thread adds plug-ins, good and bad, while the others choose, acquire, dispatch and shut down. */
static void own_backends_or_plugins(void *user, unsigned worker) {
    static const char *const names[] = {"good", "too_new", "second", "fault"};
    shared *s = user;
    const char *folder = getenv("VYRE_BINARY_DIR");
    if (worker != 0) {
        own_backends(user, worker);
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        char path[1024];
        const char *name = names[i % 4];
        snprintf(path, sizeof path, "%s/plugins/%s.so", folder ? folder : VYRE_BINARY_DIR, name);
        vyre_status status = vyre_plugin_load(path, NULL);
        if (access(path, R_OK) == 0 && (status == VYRE_OK) == (strcmp(name, "too_new") == 0))
            atomic_fetch_add(&s->wrong, 1);
    }
}

static void one_backend(void *user, unsigned worker) {
    shared *s = user;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_backend *backend = vyre_backend_retain(s->backend);
    for (int i = 0; i < ROUNDS; i++) {
        vyre_counters counters;
        use(s, backend, worker, &outputs);
        if (worker == 0 && i % 10 == 9) {
            atomic_store(&s->f->is_lost, 1);
            vyre_backend_device_lost(backend);
        }
        if (worker == 2 || i == ROUNDS - 1)
            vyre_backend_try_recover(backend, NULL);
        vyre_counters_get(&counters);
        vyre_backend_capability(backend, VYRE_CAPABILITY_GRID_SYNC);
    }
    if (worker % 3 == 0)
        vyre_backend_shutdown(backend, NULL);
    vyre_backend_release(backend);
    vyre_outputs_free(&outputs);
}

static void each_thread_may_have_its_own_backends(void **state) {
    (void)state;
    shared s = {0};
    fake_case_open(&s.c);
    vy_parallel(THREADS, own_backends, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_int_equal(atomic_load(&s.done), THREADS * ROUNDS);
    fake_case_close(&s.c);
}

static void plugins_may_come_while_others_choose_and_run(void **state) {
    (void)state;
    shared s = {0};
    fake_case_open(&s.c);
    vy_parallel(THREADS, own_backends_or_plugins, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_int_equal(atomic_load(&s.done), (THREADS - 1) * ROUNDS);
    fake_case_close(&s.c);
}

static void one_backend_may_be_used_by_all(void **state) {
    (void)state;
    shared s = {0};
    _Atomic int destroyed = 0;
    fake_case_open(&s.c);
    s.f = fake_new();
    s.f->destroyed = &destroyed;
    s.f->is_shared = 1;
    s.backend = fake_open(s.f);
    vy_parallel(THREADS, one_backend, &s);
    vyre_backend_release(s.backend);
    assert_int_equal(atomic_load(&destroyed), 1);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_true(atomic_load(&s.done) > 0);
    fake_case_close(&s.c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_may_have_its_own_backends),
        cmocka_unit_test(plugins_may_come_while_others_choose_and_run),
        cmocka_unit_test(one_backend_may_be_used_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
