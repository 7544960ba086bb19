/* The boundary: what it refuses before a backend is called, and what it contains when a backend misbehaves. */
#include "driver/fake.h"

#include "vyre/pipeline.h"
#include "vyre/telemetry.h"

#include <time.h>

typedef struct bench {
    fake *f;
    vyre_backend *backend;
    fake_case c;
    vyre_outputs outputs;
    vyre_error error;
} bench;

static void bench_open(bench *b) {
    b->f = fake_new();
    b->backend = fake_open(b->f);
    fake_case_open(&b->c);
    b->outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
}

static void bench_close(bench *b) {
    vyre_outputs_free(&b->outputs);
    fake_case_close(&b->c);
    vyre_backend_release(b->backend);
}

static vyre_status bench_run(bench *b, int form, const vyre_dispatch_config *config) {
    return fake_run(form, b->backend, b->c.program, &b->c.arguments, config, &b->outputs, NULL, &b->error);
}

static unsigned dispatches(const bench *b) {
    return atomic_load(&b->f->calls[FAKE_dispatch]) + atomic_load(&b->f->calls[FAKE_dispatch_borrowed]) +
           atomic_load(&b->f->calls[FAKE_dispatch_borrowed_timed]) +
           atomic_load(&b->f->calls[FAKE_dispatch_borrowed_into]);
}

/* ---- before the backend ---- */

static void arguments_that_do_not_fit_reach_no_backend(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    b.c.arguments.param_count = 0;
    for (int form = 0; form < FAKE_FORMS; form++)
        assert_int_equal(bench_run(&b, form, NULL), VYRE_INVALID_ARGUMENT);
    b.c.arguments.param_count = 1;
    b.c.inputs[0].size = 7;
    for (int form = 0; form < FAKE_FORMS; form++)
        assert_int_equal(bench_run(&b, form, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_backend_dispatch_owned(b.backend, b.c.program, NULL, 1000, &b.c.arguments, NULL, &b.outputs,
                                                 NULL, &b.error),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_backend_dispatch(b.backend, b.c.program, NULL, NULL, &b.outputs, NULL, &b.error),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(dispatches(&b), 0);
    bench_close(&b);
}

static void programs_of_level_legal_are_the_library_s_own(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    vyre_module *module;
    b.c.program = fake_parse(
        "program p { level legal; param n : u32; buffer x : u32 read_write; grid over x; x![0] = n }", &module);
    for (int form = 0; form < FAKE_FORMS; form++) {
        assert_int_equal(bench_run(&b, form, NULL), VYRE_INVALID_ARGUMENT);
        assert_non_null(strstr(b.error.message, "`p` is at level legal"));
        assert_true(b.error.fix[0] != 0);
    }
    assert_int_equal(dispatches(&b), 0);
    vyre_module_free(module);
    bench_close(&b);
}

static void sizes_over_the_bound_of_the_dispatch_are_refused(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    vyre_dispatch_config config = {.max_output_bytes = 2 * sizeof b.c.x - 1};
    for (int form = 0; form < FAKE_FORMS; form++)
        assert_int_equal(bench_run(&b, form, &config), VYRE_LIMIT);
    assert_int_equal(dispatches(&b), 0);
    config.max_output_bytes++;
    assert_int_equal(bench_run(&b, 0, &config), VYRE_OK);
    bench_close(&b);
}

static void limits_of_the_device_are_kept(void **state) {
    (void)state;
    fake *f = fake_new();
    f->table.capability = NULL; /* one workgroup of one invocation */
    vyre_backend *backend = fake_open(f);
    fake_case c;
    fake_case_open(&c);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    assert_int_equal(vyre_backend_dispatch(backend, c.program, &c.arguments, NULL, &outputs, NULL, &error), VYRE_LIMIT);
    assert_non_null(strstr(error.message, "workgroup size in x (4) exceeds the limit of backend `fake` (1)"));
    vyre_module *module;
    vyre_program *program =
        fake_parse("program q {\n buffer x : u32 read_write\n grid over x\n x[global_id.x] = 1 }", &module);
    vyre_arguments arguments = {.inputs = c.inputs, .input_count = 1};
    assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, &error), VYRE_OK);
    assert_int_equal(atomic_load(&f->calls[FAKE_dispatch_resident]), 10); /* as many launches as workgroups */
    for (uint32_t i = 0; i < FAKE_N; i++)
        assert_int_equal(((uint32_t *)outputs.items[0].data)[i], 1);
    vyre_outputs_free(&outputs);
    vyre_module_free(module);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

static void an_empty_grid_reaches_no_backend(void **state) {
    (void)state;
    for (int form = 0; form < FAKE_FORMS; form++) {
        bench b;
        bench_open(&b);
        b.c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {0, 1, 1}};
        assert_int_equal(bench_run(&b, form, NULL), VYRE_OK);
        assert_int_equal(dispatches(&b), 0);
        assert_int_equal(b.outputs.count, 2);
        assert_memory_equal(b.outputs.items[0].data, b.c.x, sizeof b.c.x); /* read_write: as given */
        for (uint32_t i = 0; i < FAKE_N; i++)
            assert_int_equal(((uint32_t *)b.outputs.items[1].data)[i], 0); /* write: zeros */
        bench_close(&b);
    }
}

static void no_elements_are_an_empty_grid(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    b.c.inputs[0] = (vyre_span){NULL, 0};
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_OK);
    assert_int_equal(b.outputs.count, 2);
    assert_int_equal(b.outputs.items[1].size, 0);
    bench_close(&b);
}

/* ---- what a backend does wrong ---- */

static void broken_answers_are_contained(void **state) {
    (void)state;
    for (int sin = FAKE_FEWER_OUTPUTS; sin <= FAKE_TRAP_OUTSIDE; sin++)
        for (int form = 0; form < FAKE_FORMS; form++)
            for (int guarded = 0; guarded < 2; guarded++) {
                bench b;
                bench_open(&b);
                vyre_dispatch_config config = {.timeout_ns = guarded ? 10000000000u : 0};
                vyre_counters before, after;
                assert_int_equal(bench_run(&b, form, NULL), VYRE_OK);
                vyre_counters_get(&before);
                b.f->sin = (fake_sin)sin;
                vyre_status status = bench_run(&b, form, &config);
                if (status != VYRE_CORRUPT)
                    fail_msg("sin %d, form %d: %s", sin, form, vyre_status_name(status));
                assert_non_null(strstr(b.error.message, "backend `fake` broke its contract"));
                assert_true(b.error.fix[0]);
                vyre_counters_get(&after);
                assert_int_equal(after.violations - before.violations, 1);
                assert_int_equal(after.dispatch_failures - before.dispatch_failures, 1);
                b.f->sin = FAKE_HONEST;
                if (form != 2)
                    fake_case_check(&b.c, &b.outputs);                   /* untouched */
                assert_int_equal(bench_run(&b, form, &config), VYRE_OK); /* and it works on */
                fake_case_check(&b.c, &b.outputs);
                bench_close(&b);
            }
}

static void an_error_without_words_is_completed(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    b.f->fail_entry = FAKE_dispatch_borrowed;
    b.f->fail_at = 1;
    b.f->fail_silently = 1;
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_NO_DEVICE_MEMORY);
    assert_int_equal(b.error.code, VYRE_NO_DEVICE_MEMORY);
    assert_non_null(strstr(b.error.message, "backend `fake` failed with NO_DEVICE_MEMORY"));
    assert_string_equal(b.error.fix, vyre_status_fix(VYRE_NO_DEVICE_MEMORY));
    bench_close(&b);
}

/* The k-th call of every entry that can fail, in a script that calls them all: the failure comes out, once, and the
 * rest works. */
static vyre_status script(bench *b) {
    vyre_status first = VYRE_OK, status;
    vyre_resident x = {0, 0}, out = {0, 0};
    uint32_t word = 0;
#define STEP(call)                                                                                                     \
    do {                                                                                                               \
        status = (call);                                                                                               \
        first = first == VYRE_OK ? status : first;                                                                     \
    } while (0)
    for (int round = 0; round < 2; round++)
        for (int form = 0; form < FAKE_FORMS; form++)
            STEP(bench_run(b, form, NULL));
    STEP(vyre_resident_allocate(b->backend, sizeof b->c.x, b->c.x, &x, &b->error));
    STEP(vyre_resident_allocate(b->backend, sizeof b->c.x, NULL, &out, &b->error));
    if (x.owner && out.owner) {
        vyre_transfer transfer = {x, 4, 4, &word};
        vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x},
                                     {.kind = VYRE_RESOURCE_RESIDENT, .resident = out}};
        STEP(vyre_resident_upload(b->backend, x, b->c.x, sizeof b->c.x, &b->error));
        STEP(vyre_resident_upload_batch(b->backend, &transfer, 1, &b->error));
        STEP(vyre_resident_download_batch(b->backend, &transfer, 1, &b->error));
        STEP(vyre_resident_download_at(b->backend, x, 0, &word, 4, &b->error));
        STEP(vyre_backend_dispatch_resident(b->backend, b->c.program, bindings, 2, &b->c.arguments, NULL, NULL, NULL,
                                            &b->error));
    }
    if (x.owner)
        STEP(vyre_resident_free(b->backend, x, &b->error));
    if (out.owner)
        STEP(vyre_resident_free(b->backend, out, &b->error));
    STEP(vyre_backend_flush(b->backend, &b->error));
    STEP(vyre_backend_shutdown(b->backend, &b->error));
#undef STEP
    return first;
}

static void the_kth_failure_of_any_entry_comes_out_and_stays_alone(void **state) {
    (void)state;
    static const fake_entry entries[] = {FAKE_dispatch,
                                         FAKE_dispatch_borrowed,
                                         FAKE_dispatch_borrowed_timed,
                                         FAKE_dispatch_borrowed_into,
                                         FAKE_resident_allocate,
                                         FAKE_resident_free,
                                         FAKE_resident_upload,
                                         FAKE_resident_download,
                                         FAKE_resident_upload_batch,
                                         FAKE_resident_download_batch,
                                         FAKE_dispatch_resident,
                                         FAKE_prepare,
                                         FAKE_flush,
                                         FAKE_shutdown};
    for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
        for (unsigned k = 1;; k++) {
            bench b;
            bench_open(&b);
            b.f->fail_entry = entries[e];
            b.f->fail_at = k;
            vyre_status status = script(&b);
            int was_reached = atomic_load(&b.f->calls[entries[e]]) >= k;
            assert_int_equal(status, was_reached ? VYRE_NO_DEVICE_MEMORY : VYRE_OK);
            bench_close(&b);
            if (!was_reached)
                break;
        }
}

/* ---- loss ---- */

static void a_lost_device_stays_lost(void **state) {
    (void)state;
    for (int by_status = 0; by_status < 2; by_status++) {
        bench b;
        bench_open(&b);
        b.f->fail_entry = FAKE_dispatch_borrowed;
        b.f->fail_at = 1;
        b.f->fail_with = by_status ? VYRE_DEVICE_LOST : VYRE_NO_DEVICE_MEMORY;
        atomic_store(&b.f->is_lost, !by_status);
        assert_int_equal(bench_run(&b, 0, NULL), b.f->fail_with);
        atomic_store(&b.f->is_lost, 0); /* the device may deny it */
        for (int form = 0; form < FAKE_FORMS; form++)
            assert_int_equal(bench_run(&b, form, NULL), VYRE_DEVICE_LOST);
        assert_true(vyre_backend_device_lost(b.backend));
        assert_int_equal(vyre_backend_flush(b.backend, &b.error), VYRE_DEVICE_LOST);
        assert_int_equal(dispatches(&b), 1);
        bench_close(&b);
    }
}

static void recovery_restores_what_has_a_source_and_was_not_written(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    uint32_t source[4] = {1, 2, 3, 4}, other[4] = {9, 9, 9, 9}, got[4];
    vyre_resident kept, written, plain;
    assert_int_equal(vyre_resident_allocate(b.backend, sizeof source, source, &kept, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(b.backend, sizeof source, source, &written, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(b.backend, sizeof source, NULL, &plain, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload(b.backend, written, other, sizeof other, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_try_recover(b.backend, NULL), VYRE_OK); /* nothing to do */
    assert_int_equal(vyre_backend_generation(b.backend), 1);
    atomic_store(&b.f->is_lost, 1);
    assert_true(vyre_backend_device_lost(b.backend));
    assert_int_equal(vyre_backend_try_recover(b.backend, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_generation(b.backend), 2);
    assert_false(vyre_backend_device_lost(b.backend));
    assert_int_equal(vyre_resident_download_at(b.backend, kept, 0, got, sizeof got, NULL), VYRE_OK);
    assert_memory_equal(got, source, sizeof got);
    assert_int_equal(vyre_resident_download_at(b.backend, written, 0, got, sizeof got, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_download_at(b.backend, plain, 0, got, sizeof got, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_OK);
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&b.f->calls[FAKE_prepare]), 1);
    bench_close(&b);
}

static void a_failed_recovery_leaves_it_lost(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    atomic_store(&b.f->is_lost, 1);
    assert_true(vyre_backend_device_lost(b.backend));
    b.f->fail_entry = FAKE_try_recover;
    b.f->fail_at = 1;
    assert_int_equal(vyre_backend_try_recover(b.backend, &b.error), VYRE_NO_DEVICE_MEMORY);
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_DEVICE_LOST);
    assert_int_equal(vyre_backend_try_recover(b.backend, &b.error), VYRE_OK);
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_OK);
    bench_close(&b);
}

static void after_shutdown_everything_is_refused(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    vyre_resident resident;
    assert_int_equal(vyre_resident_allocate(b.backend, 16, NULL, &resident, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_shutdown(b.backend, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&b.f->calls[FAKE_resident_free]), 1); /* the one that the caller did not free */
    assert_int_equal(vyre_backend_shutdown(b.backend, NULL), VYRE_OK);
    assert_int_equal(atomic_load(&b.f->calls[FAKE_shutdown]), 1);
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_DEVICE_LOST);
    assert_non_null(strstr(b.error.message, "is shut down"));
    assert_int_equal(vyre_resident_allocate(b.backend, 16, NULL, &resident, NULL), VYRE_DEVICE_LOST);
    assert_int_equal(vyre_backend_try_recover(b.backend, NULL), VYRE_DEVICE_LOST);
    bench_close(&b);
}

/* ---- deadlines ---- */

static void a_call_that_does_not_come_back_is_abandoned(void **state) {
    (void)state;
    for (int form = 0; form < FAKE_FORMS; form++) {
        bench b;
        _Atomic int destroyed = 0;
        bench_open(&b);
        b.f->destroyed = &destroyed;
        b.f->hang_ms = 150;
        vyre_dispatch_config config = {.timeout_ns = 10000000};
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        assert_int_equal(bench_run(&b, form, &config), VYRE_TIMEOUT);
        clock_gettime(CLOCK_MONOTONIC, &end);
        double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
        assert_true(seconds < 0.12);
        assert_int_equal(b.outputs.count, 0);
        assert_true(vyre_backend_device_lost(b.backend));
        assert_int_equal(bench_run(&b, form, NULL), VYRE_DEVICE_LOST);
        memset(b.c.x, 0xee, sizeof b.c.x); /* the worker has copies */
        bench_close(&b);
        for (int i = 0; i < 100 && !atomic_load(&destroyed); i++)
            usleep(10000);
        assert_int_equal(atomic_load(&destroyed), 1); /* by the worker, when it came back */
    }
}

static void a_device_that_is_shut_down_is_asked_nothing_more(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_backend_profile(b.backend, &profile);
    assert_string_equal(profile.device, "made up");
    assert_int_equal(vyre_backend_shutdown(b.backend, NULL), VYRE_OK);
    unsigned profiles = b.f->calls[FAKE_device_profile], asked = b.f->calls[FAKE_device_lost];
    vyre_backend_profile(b.backend, &profile);
    vyre_backend_device_lost(b.backend);
    assert_int_equal(b.f->calls[FAKE_device_profile], profiles);
    assert_int_equal(b.f->calls[FAKE_device_lost], asked);
    assert_string_equal(profile.device, "");
    assert_string_equal(profile.backend, "fake");
    bench_close(&b);
}

static void outputs_that_are_nowhere_are_refused(void **state) {
    (void)state;
    bench b;
    vyre_error error;
    bench_open(&b);
    assert_int_equal(vyre_backend_dispatch(b.backend, b.c.program, &b.c.arguments, NULL, NULL, NULL, &error),
                     VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "`outputs`"));
    bench_close(&b);
}

static void a_call_within_its_deadline_is_delivered(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    vyre_dispatch_config config = {.timeout_ns = 60000000000u};
    for (int form = 0; form < FAKE_FORMS; form++) {
        assert_int_equal(bench_run(&b, form, &config), VYRE_OK);
        fake_case_check(&b.c, &b.outputs);
        assert_true(b.f->seen.deadline_ns > 0);
    }
    config.timeout_ns = UINT64_MAX; /* past the end of the clock: none */
    assert_int_equal(bench_run(&b, 0, &config), VYRE_OK);
    assert_int_equal(b.f->seen.deadline_ns, 0);
    bench_close(&b);
}

static void a_backend_that_can_cancel_keeps_deadlines_itself(void **state) {
    (void)state;
    fake *f = fake_new();
    f->can_cancel = 1;
    vyre_backend *backend = fake_open(f);
    backend->is_built_in = 1; /* of a plug-in it is not believed (driver.thread_deadline) */
    fake_case c;
    fake_case_open(&c);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config config = {.timeout_ns = 60000000000u};
    assert_int_equal(vyre_backend_dispatch(backend, c.program, &c.arguments, &config, &outputs, NULL, NULL), VYRE_OK);
    assert_ptr_equal(f->seen.first_input, c.x); /* no copies for a worker */
    f->fail_entry = FAKE_dispatch_borrowed;
    f->fail_at = 2;
    f->fail_with = VYRE_TIMEOUT;
    assert_int_equal(vyre_backend_dispatch(backend, c.program, &c.arguments, &config, &outputs, NULL, NULL),
                     VYRE_TIMEOUT);
    assert_false(vyre_backend_device_lost(backend));
    vyre_outputs_free(&outputs);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

/* ---- labels ---- */

static void a_label_is_in_the_errors_of_every_form(void **state) {
    (void)state;
    static const vyre_status statuses[] = {VYRE_TRAPPED, VYRE_TIMEOUT, VYRE_NO_DEVICE_MEMORY};
    for (int form = 0; form < FAKE_FORMS; form++) {
        bench b;
        vyre_error error;
        bench_open(&b);
        vyre_dispatch_config config = {.label = "frame 7", .max_output_bytes = 1};
        assert_int_equal(fake_run(form, b.backend, b.c.program, &b.c.arguments, &config, &b.outputs, NULL, &error),
                         VYRE_LIMIT);
        assert_string_equal(error.where, "dispatch `frame 7`");
        config.max_output_bytes = 0;
        for (int i = 0; i < 3; i++) {
            static const fake_entry entries[] = {FAKE_dispatch_borrowed, FAKE_dispatch_borrowed_timed,
                                                 FAKE_dispatch_borrowed_into, FAKE_dispatch};
            b.f->fail_entry = entries[form], b.f->fail_with = statuses[i];
            b.f->fail_at = atomic_load(&b.f->calls[entries[form]]) + 1;
            assert_int_equal(fake_run(form, b.backend, b.c.program, &b.c.arguments, &config, &b.outputs, NULL, &error),
                             statuses[i]);
            assert_string_equal(error.where, "backend fake, dispatch `frame 7`");
        }
        config.label = "";
        config.max_output_bytes = 1;
        assert_int_equal(fake_run(form, b.backend, b.c.program, &b.c.arguments, &config, &b.outputs, NULL, &error),
                         VYRE_LIMIT);
        assert_string_equal(error.where, "");
        bench_close(&b);
    }
}

static void a_label_is_in_the_errors_on_buffers_and_in_flight(void **state) {
    (void)state;
    bench b;
    vyre_error error;
    vyre_pending *pending;
    vyre_pipeline *pipeline;
    bench_open(&b);
    vyre_dispatch_config config = {.label = "frame 7"};
    vyre_resource none[2] = {{.kind = VYRE_RESOURCE_RESIDENT}, {.kind = VYRE_RESOURCE_RESIDENT}};
    assert_int_equal(
        vyre_backend_dispatch_resident(b.backend, b.c.program, none, 2, &b.c.arguments, &config, NULL, NULL, &error),
        VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.where, "dispatch `frame 7`"));
    b.f->fail_entry = FAKE_dispatch_borrowed, b.f->fail_with = VYRE_IO, b.f->fail_at = 1;
    assert_int_equal(vyre_backend_dispatch_async(b.backend, b.c.program, &b.c.arguments, &config, &pending, &error),
                     VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &b.outputs, NULL, &error), VYRE_IO);
    assert_string_equal(error.where, "backend fake, dispatch `frame 7`");
    vyre_pending_free(pending);
    assert_int_equal(vyre_compile(b.backend, b.c.program, NULL, &pipeline, NULL), VYRE_OK);
    config.max_output_bytes = 1;
    assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, &b.c.arguments, 1, &config, &b.outputs, NULL, NULL, &error),
                     VYRE_LIMIT);
    assert_string_equal(error.where, "dispatch `frame 7`");
    vyre_step step = {.pipeline = pipeline, .bindings = none, .binding_count = 2, .arguments = &b.c.arguments};
    assert_int_equal(vyre_sequence_run(b.backend, &step, 1, NULL, 0, &config, NULL, NULL, NULL, &error),
                     VYRE_INVALID_ARGUMENT);
    assert_string_equal(error.where, "buffer `x`, dispatch `frame 7`");
    vyre_pipeline_release(pipeline);
    bench_close(&b);
}

static void an_unsupported_feature_is_a_part_of_its_error(void **state) {
    (void)state;
    bench b;
    vyre_error error;
    bench_open(&b);
    assert_int_equal(vy_backend_unsupported(b.backend, "time travel", &error), VYRE_UNSUPPORTED);
    assert_string_equal(error.subject, "time travel");
    assert_string_equal(error.first, "fake");
    assert_string_equal(error.second, "");
    /* What a backend leaves in them is not read. */
    memset(&error, 'x', sizeof error);
    b.f->fail_entry = FAKE_dispatch_borrowed, b.f->fail_with = VYRE_IO, b.f->fail_at = 1, b.f->fail_silently = 1;
    assert_int_equal(fake_run(0, b.backend, b.c.program, &b.c.arguments, NULL, &b.outputs, NULL, &error), VYRE_IO);
    assert_int_equal(error.subject[0] | error.first[0] | error.second[0], 0);
    bench_close(&b);
}

/* ---- slots and counters ---- */

static void slots_are_refilled_in_place(void **state) {
    (void)state;
    for (int form = 0; form < FAKE_FORMS; form++) {
        bench b;
        bench_open(&b);
        vyre_counters before, after;
        vyre_counters_get(&before);
        assert_int_equal(bench_run(&b, form, NULL), VYRE_OK);
        void *first = b.outputs.items[0].data;
        assert_int_equal(bench_run(&b, form, NULL), VYRE_OK);
        assert_ptr_equal(b.outputs.items[0].data, first);
        vyre_counters_get(&after);
        assert_int_equal(after.slots_appended - before.slots_appended, 2);
        assert_int_equal(after.slots_reused - before.slots_reused, 2);
        assert_int_equal(after.slots_moved - before.slots_moved, 0);
        assert_int_equal(after.dispatches - before.dispatches, 2);
        assert_int_equal(after.input_bytes - before.input_bytes, 2 * sizeof b.c.x);
        assert_int_equal(after.output_bytes - before.output_bytes, 4 * sizeof b.c.x);
        bench_close(&b);
    }
}

static void a_slot_too_small_is_moved(void **state) {
    (void)state;
    bench b;
    bench_open(&b);
    vyre_counters before, after;
    b.c.inputs[0].size = 8;
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_OK);
    vyre_bytes *slot = &b.outputs.items[0];
    while (slot->capacity >= sizeof b.c.x) { /* growth may have left more */
        vyre_bytes_free(slot);
        assert_int_equal(vyre_bytes_resize(slot, 1, NULL), VYRE_OK);
        if (slot->capacity >= sizeof b.c.x)
            vyre_bytes_free(slot);
    }
    vyre_counters_get(&before);
    b.c.inputs[0].size = sizeof b.c.x;
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_OK);
    vyre_counters_get(&after);
    assert_true(after.slots_moved - before.slots_moved >= 1);
    fake_case_check(&b.c, &b.outputs);
    bench_close(&b);
}

static void counters_fit_an_older_and_a_newer_caller(void **state) {
    (void)state;
    vyre_counters all;
    uint64_t older[3] = {7, 7, 7};
    struct {
        vyre_counters known;
        uint64_t unknown;
    } newer;
    vyre_counters_get(&all);
    vyre_counters_read((vyre_counters *)older, 2 * sizeof *older);
    assert_int_equal(older[0], all.dispatches);
    assert_int_equal(older[1], all.dispatch_failures);
    assert_int_equal(older[2], 7);
    newer.unknown = 7;
    vyre_counters_read(&newer.known, sizeof newer);
    assert_memory_equal(&newer.known, &all, sizeof all);
    assert_int_equal(newer.unknown, 0);
}

static void prometheus_has_every_counter(void **state) {
    (void)state;
    vyre_bytes text = VYRE_BYTES_INIT;
    assert_int_equal(vyre_counters_prometheus(&text, NULL), VYRE_OK);
#define X(name, kind, doc)                                                                                             \
    assert_non_null(strstr(text.data, "\nvyre_" #name));                                                               \
    assert_non_null(strstr(text.data, "# TYPE vyre_" #name));
    VYRE_COUNTER_LIST(X)
#undef X
    assert_non_null(strstr(text.data, "# TYPE vyre_dispatches_total counter\nvyre_dispatches_total "));
    assert_non_null(strstr(text.data, "# TYPE vyre_resident_bytes gauge\nvyre_resident_bytes "));
    vyre_bytes_free(&text);
}

static void count_line(void *user, int level, const char *source, const char *message) {
    (void)level, (void)message;
    if (strcmp(source, "fake") == 0)
        ++*(int *)user;
}

static void violations_are_logged(void **state) {
    (void)state;
    int lines = 0;
    bench b;
    bench_open(&b);
    b.f->sin = FAKE_LONG_OUTPUT;
    vyre_log_set_sink(count_line, &lines);
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_CORRUPT);
    vyre_log_set_sink(NULL, NULL);
    assert_int_equal(bench_run(&b, 0, NULL), VYRE_CORRUPT);
    assert_int_equal(lines, 1);
    bench_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_that_do_not_fit_reach_no_backend),
        cmocka_unit_test(programs_of_level_legal_are_the_library_s_own),
        cmocka_unit_test(sizes_over_the_bound_of_the_dispatch_are_refused),
        cmocka_unit_test(limits_of_the_device_are_kept),
        cmocka_unit_test(an_empty_grid_reaches_no_backend),
        cmocka_unit_test(no_elements_are_an_empty_grid),
        cmocka_unit_test(broken_answers_are_contained),
        cmocka_unit_test(an_error_without_words_is_completed),
        cmocka_unit_test(the_kth_failure_of_any_entry_comes_out_and_stays_alone),
        cmocka_unit_test(a_lost_device_stays_lost),
        cmocka_unit_test(recovery_restores_what_has_a_source_and_was_not_written),
        cmocka_unit_test(a_failed_recovery_leaves_it_lost),
        cmocka_unit_test(after_shutdown_everything_is_refused),
        cmocka_unit_test(a_device_that_is_shut_down_is_asked_nothing_more),
        cmocka_unit_test(outputs_that_are_nowhere_are_refused),
        cmocka_unit_test(a_call_that_does_not_come_back_is_abandoned),
        cmocka_unit_test(a_label_is_in_the_errors_of_every_form),
        cmocka_unit_test(a_label_is_in_the_errors_on_buffers_and_in_flight),
        cmocka_unit_test(an_unsupported_feature_is_a_part_of_its_error),
        cmocka_unit_test(a_call_within_its_deadline_is_delivered),
        cmocka_unit_test(a_backend_that_can_cancel_keeps_deadlines_itself),
        cmocka_unit_test(slots_are_refilled_in_place),
        cmocka_unit_test(a_slot_too_small_is_moved),
        cmocka_unit_test(counters_fit_an_older_and_a_newer_caller),
        cmocka_unit_test(prometheus_has_every_counter),
        cmocka_unit_test(violations_are_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
