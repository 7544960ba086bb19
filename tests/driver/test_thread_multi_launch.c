/* Threads share a backend that cannot do their programs in one launch: every result is right, and no stage runs
 * unprepared. */
#include "driver/fake.h"

#include <pthread.h>

enum { THREADS = 4, PROGRAMS = 5, N = 16 };

typedef struct shared {
    vyre_backend *backend;
    vyre_module *modules[PROGRAMS];
    vyre_program *programs[PROGRAMS];
    _Atomic unsigned failures;
} shared;

/* y[i] = x[last - i] + i * n + number of groups, by way of two barriers. */
static vyre_program *make_program(unsigned n, vyre_module **module) {
    char text[512];
    snprintf(
        text, sizeof text,
        "program p%u {\n buffer x : u32 read_write\n buffer y : u32 write count len(x)\n workgroup 2\n grid over x\n"
        "let i = global_id.x\n let a = x[len(x) - 1 - i]\n grid_barrier\n x[i] = a + i * %uu32\n grid_barrier\n"
        "y[i] = x[i] + group_count.x }",
        n, n);
    return fake_parse(text, module);
}

static void *work(void *user) {
    shared *s = user;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    uint32_t x[N];
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    unsigned rounds = (VY_SANITIZED ? 20 : 100) * vy_test_effort();
    for (uint32_t i = 0; i < N; i++)
        x[i] = i * i;
    for (unsigned round = 0; round < rounds; round++) {
        unsigned n = round % PROGRAMS;
        vyre_dispatch_config config = {.timeout_ns = round % 8 == 7 ? 60000000000u : 0};
        vyre_error error;
        if (fake_run((int)(round % FAKE_FORMS), s->backend, s->programs[n], &arguments, &config, &outputs, NULL,
                     &error) != VYRE_OK)
            atomic_fetch_add(&s->failures, 1);
        for (uint32_t i = 0; outputs.count == 2 && i < N; i++)
            if (((uint32_t *)outputs.items[1].data)[i] != (N - 1 - i) * (N - 1 - i) + i * n + N / 2)
                atomic_fetch_add(&s->failures, 1);
    }
    vyre_outputs_free(&outputs);
    return NULL;
}

static void threads_share_stages(void **state) {
    (void)state;
    for (int has_resident = 0; has_resident < 2; has_resident++) {
        shared s = {0};
        pthread_t threads[THREADS];
        fake *f = fake_new();
        f->no_grid_sync = 1, f->most_groups = 3, f->is_shared = 1;
        if (!has_resident)
            f->table.resident_allocate = NULL;
        s.backend = fake_open(f);
        for (unsigned i = 0; i < PROGRAMS; i++)
            s.programs[i] = make_program(i, &s.modules[i]);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &s), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&s.failures), 0);
        assert_true(atomic_load(&f->calls[FAKE_prepare]) >= PROGRAMS * 3); /* some may push each other out */
        for (int i = 0; i < PROGRAMS; i++)
            vyre_module_free(s.modules[i]);
        vyre_backend_release(s.backend);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_stages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
