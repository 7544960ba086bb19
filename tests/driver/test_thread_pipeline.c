/* Threads that compile equal and different programs, dispatch, lose and recover the device, and release, concurrently.
 * Meant for the thread sanitizer. */
#include "driver/pipeline_forms.h"

#include "base/thread.h"
#include "vyre/cache.h"

enum { THREADS = 8, ROUNDS = 30, PROGRAMS = 4 };

typedef struct shared {
    rig r;
    vyre_module *modules[PROGRAMS];
    vyre_program *programs[PROGRAMS];
    vyre_pipeline *pipeline;
    _Atomic unsigned wrong, done;
    _Atomic int fail_once;
} shared;

static void shared_open(shared *s) {
    char text[200];
    memset(s, 0, sizeof *s);
    fake *f = fake_new();
    f->is_shared = 1;
    rig_open_with(&s->r, f);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        snprintf(text, sizeof text, "program n {\n buffer x : u32 read_write\n grid 1\n x[0] = x[0] + %u }", i);
        s->programs[i] = fake_parse(text, &s->modules[i]);
    }
}

static void shared_close(shared *s) {
    for (unsigned i = 0; i < PROGRAMS; i++)
        vyre_module_free(s->modules[i]);
    rig_close(&s->r);
}

static int is_right(shared *s, vyre_pipeline *pipeline, unsigned number) {
    uint32_t x = 7;
    vyre_span input = {&x, 4};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status = vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, NULL);
    int right = status == VYRE_OK ? ((uint32_t *)outputs.items[0].data)[0] == 7 + number : status == VYRE_DEVICE_LOST;
    vyre_outputs_free(&outputs);
    if (status == VYRE_OK)
        atomic_fetch_add(&s->done, 1);
    return right;
}

static void compile_same(void *user, unsigned worker) {
    shared *s = user;
    vyre_pipeline *pipeline;
    (void)worker;
    if (vyre_compile(s->r.backend, s->programs[1], NULL, &pipeline, NULL) != VYRE_OK || !is_right(s, pipeline, 1))
        atomic_fetch_add(&s->wrong, 1);
    vyre_pipeline_release(pipeline);
}

static void equal_compiles_at_once_are_one(void **state) {
    (void)state;
    for (unsigned limit = 0; limit < 2; limit++) {
        shared s;
        vyre_cache_set_memory_limit(limit * 256);
        shared_open(&s);
        s.r.f->compile_ms = 300; /* all are there before the first is done */
        vy_parallel(THREADS, compile_same, &s);
        assert_int_equal(atomic_load(&s.wrong), 0);
        if (limit)
            assert_int_equal(atomic_load(&s.r.f->calls[FAKE_compile]), 1);
        else /* a late thread, on a busy machine, finds nothing in memory */
            assert_true(atomic_load(&s.r.f->calls[FAKE_compile]) < THREADS);
        shared_close(&s);
    }
    vyre_cache_set_memory_limit(256);
}

/* Worker 0 compiles, which is slow; the others wait for it until their deadlines. */
static void compile_or_leave(void *user, unsigned worker) {
    shared *s = user;
    vyre_pipeline *pipeline;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_compile_options options = {.struct_size = sizeof options};
    while (worker && !atomic_load(&s->r.f->calls[FAKE_compile]))
        usleep(100);
    if (worker)
        options.deadline_ns = vy_clock_now() + 1000000 * worker;
    vyre_status status = vyre_compile(s->r.backend, s->programs[1], &options, &pipeline, &error);
    if (status != (worker ? VYRE_TIMEOUT : VYRE_OK) ||
        (worker && !strstr(error.message, "another thread was compiling it")))
        atomic_fetch_add(&s->wrong, 1);
    vyre_pipeline_release(pipeline);
}

static void a_wait_for_an_equal_compile_ends_at_the_deadline(void **state) {
    (void)state;
    shared s;
    shared_open(&s);
    s.r.f->compile_ms = 1000;
    vy_parallel(THREADS, compile_or_leave, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_int_equal(atomic_load(&s.r.f->calls[FAKE_compile]), 1);
    shared_close(&s);
}

static void compile_or_fail(void *user, unsigned worker) {
    shared *s = user;
    vyre_pipeline *pipeline;
    (void)worker;
    vyre_status status = vyre_compile(s->r.backend, s->programs[1], NULL, &pipeline, NULL);
    if (status == VYRE_OK)
        atomic_fetch_add(&s->done, 1);
    vyre_pipeline_release(pipeline);
}

static void a_failed_compile_does_not_poison_the_others(void **state) {
    (void)state;
    shared s;
    shared_open(&s);
    s.r.f->compile_ms = 100;
    s.r.f->fail_entry = FAKE_compile;
    s.r.f->fail_at = 1;
    vy_parallel(THREADS, compile_or_fail, &s);
    assert_int_equal(atomic_load(&s.done), THREADS - 1);
    assert_int_equal(atomic_load(&s.r.f->calls[FAKE_compile]), 2);
    shared_close(&s);
}

/* On resident buffers, which recovery makes stale. */
static int runs_bound(shared *s, int in_sequence) {
    uint32_t seven = 7, got = 0;
    vyre_resident handle;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status = vyre_resident_allocate(s->r.backend, 4, NULL, &handle, NULL);
    if (status != VYRE_OK)
        return status == VYRE_DEVICE_LOST;
    vyre_resource resident = {.kind = VYRE_RESOURCE_RESIDENT, .resident = handle};
    vyre_resource host = {.kind = VYRE_RESOURCE_HOST, .host = {&seven, 4}};
    vyre_step steps[2] = {{s->pipeline, &resident, 1, NULL}, {s->pipeline, &resident, 1, NULL}};
    vyre_readback readback = {handle, 0, 4, &got};
    if (in_sequence) {
        status = vyre_sequence_run(s->r.backend, steps, 2, &readback, 1, NULL, NULL, NULL, NULL, NULL);
    } else {
        status = vyre_pipeline_dispatch_persistent(s->pipeline, &host, 1, NULL, NULL, &outputs, NULL, NULL, NULL);
        if (status == VYRE_OK)
            got = ((uint32_t *)outputs.items[0].data)[0];
    }
    vyre_outputs_free(&outputs);
    vyre_resident_free(s->r.backend, handle, NULL);
    if (status == VYRE_OK)
        return got == (in_sequence ? 4 : 9);
    return status == VYRE_DEVICE_LOST || status == VYRE_INVALID_ARGUMENT;
}

static void mix(void *user, unsigned worker) {
    shared *s = user;
    for (unsigned i = 0; i < ROUNDS; i++) {
        vyre_pipeline *own = NULL;
        unsigned number = (worker + i) % PROGRAMS;
        vyre_compile_options options = {.struct_size = sizeof options, .cancellable = (int)(i & 1)};
        vyre_status status = vyre_compile(s->r.backend, s->programs[number], &options, &own, NULL);
        if ((status == VYRE_OK && !is_right(s, own, number)) || (status != VYRE_OK && status != VYRE_DEVICE_LOST))
            atomic_fetch_add(&s->wrong, 1);
        if (!is_right(s, s->pipeline, 2))
            atomic_fetch_add(&s->wrong, 1);
        vyre_pipeline_release(own);
        if (worker >= 4 && !runs_bound(s, (int)(i + worker) & 1))
            atomic_fetch_add(&s->wrong, 1);
        if (worker == 0 && i % 10 == 5) {
            atomic_store(&s->r.f->is_lost, 1);
            vyre_backend_device_lost(s->r.backend);
        }
        if (worker == 1 || i == ROUNDS - 1)
            vyre_backend_try_recover(s->r.backend, NULL);
        if (worker == 2)
            vyre_cache_set_memory_limit(i % 3);
    }
    if (worker == 3)
        vyre_backend_shutdown(s->r.backend, NULL);
}

static void everything_at_once(void **state) {
    (void)state;
    shared s;
    shared_open(&s);
    assert_int_equal(vyre_compile(s.r.backend, s.programs[2], NULL, &s.pipeline, NULL), VYRE_OK);
    vy_parallel(THREADS, mix, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_true(atomic_load(&s.done) > 0);
    vyre_pipeline_release(s.pipeline);
    shared_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_compiles_at_once_are_one),
        cmocka_unit_test(a_wait_for_an_equal_compile_ends_at_the_deadline),
        cmocka_unit_test(a_failed_compile_does_not_poison_the_others),
        cmocka_unit_test(everything_at_once),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
