/* Deadlines, cancellation and shutdown hold whatever a backend claims or does: plug-ins that claim `cancel` and hang,
 * the reference with programs that never end, words that cancel, and calls that never return. */
#include "driver/fake_async.h"
#include "vyre/pipeline.h"

static const char endless_text[] = "program endless {\n buffer y : u32 read_write\n workgroup 1\n grid over y\n"
                                   " var a = 1u32\n while a != 0 { a = a | 1 }\n y[0] = a\n}\n";
static const char barrier_text[] = "program barriers {\n buffer y : u32 read_write\n workgroup 8\n grid over y\n array "
                                   "s : u32 [8] workgroup\n var a = y[0]\n"
                                   " for i in 0u32 .. 0xffffffff { s[local_index] = a + i\n barrier\n a = s[7 - "
                                   "local_index]\n barrier }\n y[global_id.x] = a\n}\n";
static const char short_text[] = "program brief {\n buffer y : u32 read_write\n workgroup 1\n grid over y\n "
                                 "y[global_id.x] = y[global_id.x] + 1\n}\n";

static double seconds_since(uint64_t start_ns) {
    return (double)(vy_clock_now() - start_ns) * 1e-9;
}

/* ---- a plug-in that claims to stop kernels ---- */

static void a_plugin_that_claims_cancel_and_hangs_is_abandoned(void **state) {
    (void)state;
    for (int form = 0; form < FAKE_FORMS; form++) {
        _Atomic int destroyed = 0;
        fake_case c;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_error error;
        fake *f = fake_new();
        f->can_cancel = 1, f->is_shared = 1, f->destroyed = &destroyed;
        f->hang_ms = 1500;
        vyre_backend *backend = fake_open(f);
        fake_case_open(&c);
        vyre_dispatch_config config = {.timeout_ns = 20000000};
        uint64_t start = vy_clock_now();
        assert_int_equal(fake_run(form, backend, c.program, &c.arguments, &config, &outputs, NULL, &error),
                         VYRE_TIMEOUT);
        assert_true(seconds_since(start) < 1.4);
        assert_non_null(strstr(error.message, "has the capability `cancel`"));
        assert_int_equal(outputs.count, 0);
        assert_true(vyre_backend_device_lost(backend));
        vyre_outputs_free(&outputs);
        fake_case_close(&c);
        vyre_backend_release(backend);
        for (int i = 0; i < 5000 && !atomic_load(&destroyed); i++)
            usleep(1000);
        assert_int_equal(atomic_load(&destroyed), 1); /* by the worker, when it came back */
    }
}

/* Natively it would be waited for in the plug-in. */
static void a_plugin_in_flight_that_claims_cancel_and_hangs_is_abandoned(void **state) {
    (void)state;
    _Atomic int destroyed = 0;
    fake_case c;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    vyre_pending *pending;
    fake *f = later_new();
    f->can_cancel = 1, f->is_shared = 1, f->destroyed = &destroyed;
    f->hang_ms = 1500;
    vyre_backend *backend = fake_open(f);
    fake_case_open(&c);
    atomic_store(&later.hold, 1);
    vyre_dispatch_config config = {.timeout_ns = 200000000};
    uint64_t start = vy_clock_now();
    assert_int_equal(vyre_backend_dispatch_async(backend, c.program, &c.arguments, &config, &pending, &error), VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, &error), VYRE_TIMEOUT);
    assert_true(seconds_since(start) < 1.4);
    assert_true(vyre_backend_device_lost(backend));
    vyre_pending_free(pending);
    vyre_outputs_free(&outputs);
    fake_case_close(&c);
    vyre_backend_release(backend);
    for (int i = 0; i < 5000 && !atomic_load(&destroyed); i++)
        usleep(1000);
    assert_int_equal(atomic_load(&destroyed), 1);
}

/* The fake's device is the reference, which stops. */
static void a_plugin_that_stops_by_itself_is_not_lost(void **state) {
    (void)state;
    fake *f = fake_new();
    f->can_cancel = 1, f->is_shared = 1;
    vyre_backend *backend = fake_open(f);
    vyre_program *endless = vy_test_parse(endless_text);
    uint32_t y = 1;
    vyre_span input = {&y, sizeof y};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config config = {.timeout_ns = 20000000};
    assert_int_equal(vyre_backend_dispatch(backend, endless, &arguments, &config, &outputs, NULL, NULL), VYRE_TIMEOUT);
    assert_false(vyre_backend_device_lost(backend));
    vyre_outputs_free(&outputs);
    vyre_program_release(endless);
    vyre_backend_release(backend);
}

/* ---- the reference ---- */

typedef struct reference {
    vyre_backend *backend;
    vyre_program *program;
    uint32_t y[8];
    vyre_span input;
    vyre_arguments arguments;
    vyre_outputs outputs;
    vyre_resident resident;
    vyre_resource binding;
    uint32_t cancel; /* a word of a dispatch */
} reference;

static void open_reference(reference *r, const char *text) {
    *r = (reference){.y = {1, 1, 1, 1, 1, 1, 1, 1}};
    assert_int_equal(vyre_acquire("reference", &r->backend, NULL), VYRE_OK);
    r->program = vy_test_parse(text);
    r->input = (vyre_span){r->y, sizeof r->y};
    r->arguments = (vyre_arguments){.inputs = &r->input, .input_count = 1};
    assert_int_equal(vyre_resident_allocate(r->backend, sizeof r->y, NULL, &r->resident, NULL), VYRE_OK);
    r->binding = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = r->resident};
}

static void close_reference(reference *r) {
    vyre_outputs_free(&r->outputs);
    vyre_program_release(r->program);
    vyre_backend_release(r->backend);
}

static void the_reference_keeps_deadlines(void **state) {
    (void)state;
    static const char *const texts[] = {endless_text, barrier_text};
    for (int i = 0; i < 2; i++) {
        reference r;
        vyre_error error;
        open_reference(&r, texts[i]);
        vyre_dispatch_config config = {.timeout_ns = 20000000};
        uint64_t start = vy_clock_now();
        assert_int_equal(vyre_backend_dispatch(r.backend, r.program, &r.arguments, &config, &r.outputs, NULL, &error),
                         VYRE_TIMEOUT);
        assert_int_equal(
            vyre_backend_dispatch_resident(r.backend, r.program, &r.binding, 1, NULL, &config, NULL, NULL, &error),
            VYRE_TIMEOUT);
        assert_true(seconds_since(start) < 5);
        assert_false(vyre_backend_device_lost(r.backend));
        assert_int_equal(vyre_resident_free(r.backend, r.resident, NULL), VYRE_OK); /* nothing uses it any more */
        vyre_program *brief = vy_test_parse(short_text);
        assert_int_equal(vyre_backend_dispatch(r.backend, brief, &r.arguments, NULL, &r.outputs, NULL, &error),
                         VYRE_OK);
        assert_int_equal(((uint32_t *)r.outputs.items[0].data)[0], 2);
        vyre_program_release(brief);
        close_reference(&r);
    }
}

/* A thread that waits for all of it observes that the work has ended. */
static void the_reference_ends_what_is_cancelled(void **state) {
    (void)state;
    reference r;
    vyre_pending *pending;
    open_reference(&r, endless_text);
    assert_int_equal(vyre_backend_dispatch_async(r.backend, r.program, &r.arguments, NULL, &pending, NULL), VYRE_OK);
    usleep(10000);
    vyre_pending_cancel(pending);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &r.outputs, NULL, NULL), VYRE_CANCELLED);
    vyre_pending_free(pending);
    assert_int_equal(vyre_backend_flush(r.backend, NULL), VYRE_OK);
    close_reference(&r);
}

/* ---- words that cancel ---- */

static void *set_soon(void *word) {
    usleep(20000);
    __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELAXED);
    return NULL;
}

static vyre_status run_by(int road, reference *r, vyre_pipeline *pipeline, vyre_error *error) {
    vyre_dispatch_config config = {.cancel = &r->cancel, .label = "a word"};
    const vyre_resource *bindings = &r->binding;
    vyre_step step = {.pipeline = pipeline, .bindings = &r->binding, .binding_count = 1};
    vyre_outputs several[2] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    const vyre_arguments arguments[2] = {r->arguments, r->arguments};
    vyre_status status;
    switch (road) {
    case 0:
        return vyre_backend_dispatch(r->backend, r->program, &r->arguments, &config, &r->outputs, NULL, error);
    case 1:
        return vyre_backend_dispatch_resident(r->backend, r->program, &r->binding, 1, NULL, &config, NULL, NULL, error);
    case 2:
        return vyre_pipeline_dispatch(pipeline, &r->arguments, &config, &r->outputs, NULL, error);
    case 3:
        return vyre_pipeline_dispatch_persistent(pipeline, &r->binding, 1, NULL, &config, &r->outputs, NULL, NULL,
                                                 error);
    case 4:
        status = vyre_pipeline_dispatch_persistent_batch(pipeline, &bindings, 1, 1, NULL, &config, several, NULL, NULL,
                                                         error);
        break;
    case 5:
        status = vyre_pipeline_dispatch_batch(pipeline, arguments, 2, &config, several, NULL, NULL, error);
        break;
    default:
        return vyre_sequence_run(r->backend, &step, 1, NULL, 0, &config, NULL, NULL, NULL, error);
    }
    vyre_outputs_free(&several[0]);
    vyre_outputs_free(&several[1]);
    return status;
}

static void a_dispatch_without_a_deadline_is_cancelled_by_its_word(void **state) {
    (void)state;
    for (int road = 0; road < 7; road++) {
        reference r;
        vyre_error error;
        vyre_pipeline *pipeline;
        pthread_t thread;
        open_reference(&r, endless_text);
        assert_int_equal(vyre_compile(r.backend, r.program, NULL, &pipeline, NULL), VYRE_OK);
        assert_int_equal(pthread_create(&thread, NULL, set_soon, &r.cancel), 0);
        assert_int_equal(run_by(road, &r, pipeline, &error), VYRE_CANCELLED);
        pthread_join(thread, NULL);
        assert_int_equal(run_by(road, &r, pipeline, &error), VYRE_CANCELLED); /* it is set: nothing starts */
        assert_false(vyre_backend_device_lost(r.backend));
        vyre_pipeline_release(pipeline);
        close_reference(&r);
    }
}

static void a_word_that_is_set_starts_nothing_on_any_backend(void **state) {
    (void)state;
    fake_case c;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    fake *f = fake_new();
    vyre_backend *backend = fake_open(f);
    fake_case_open(&c);
    const uint32_t word = 1;
    vyre_dispatch_config config = {.cancel = &word};
    for (int form = 0; form < FAKE_FORMS; form++)
        assert_int_equal(fake_run(form, backend, c.program, &c.arguments, &config, &outputs, NULL, NULL),
                         VYRE_CANCELLED);
    assert_int_equal(atomic_load(&f->calls[FAKE_dispatch]) + atomic_load(&f->calls[FAKE_dispatch_borrowed]), 0);
    vyre_outputs_free(&outputs);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

/* ---- shutdown ---- */

static void a_shutdown_cancels_what_is_in_flight(void **state) {
    (void)state;
    reference r;
    vyre_pending *pending;
    vyre_error error;
    open_reference(&r, endless_text);
    assert_int_equal(vyre_backend_dispatch_async(r.backend, r.program, &r.arguments, NULL, &pending, NULL), VYRE_OK);
    uint64_t start = vy_clock_now();
    assert_int_equal(vyre_backend_shutdown(r.backend, &error), VYRE_OK);
    assert_true(seconds_since(start) < 3.5);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &r.outputs, NULL, &error), VYRE_CANCELLED);
    vyre_pending_free(pending);
    close_reference(&r);
}

/* Neither `wait` returns nor does `cancel` do anything. */
static void a_shutdown_does_not_wait_for_a_plugin_in_flight(void **state) {
    (void)state;
    _Atomic int destroyed = 0;
    fake_case c;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    vyre_pending *pending;
    fake *f = later_new();
    f->is_shared = 1, f->destroyed = &destroyed;
    later_table.cancel = NULL;
    vyre_backend *backend = fake_open(f);
    fake_case_open(&c);
    atomic_store(&later.hold, 1);
    assert_int_equal(vyre_backend_dispatch_async(backend, c.program, &c.arguments, NULL, &pending, &error), VYRE_OK);
    uint64_t start = vy_clock_now();
    assert_int_equal(vyre_backend_shutdown(backend, &error), VYRE_TIMEOUT);
    assert_true(seconds_since(start) < 4);
    assert_int_equal(atomic_load(&f->calls[FAKE_shutdown]), 0); /* the device is still in use */
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, &error), VYRE_CANCELLED);
    assert_int_equal(vyre_backend_shutdown(backend, &error), VYRE_OK);
    vyre_pending_free(pending);
    vyre_outputs_free(&outputs);
    fake_case_close(&c);
    vyre_backend_release(backend);
    assert_int_equal(atomic_load(&destroyed), 0);
    atomic_store(&later.hold, 0); /* now it ends, and the backend with it */
    for (int i = 0; i < 5000 && !atomic_load(&destroyed); i++)
        usleep(1000);
    assert_int_equal(atomic_load(&destroyed), 1);
    assert_int_equal(atomic_load(&later.alive), 0);
}

typedef struct stuck {
    vyre_backend *backend;
    fake_case c;
    vyre_status status;
} stuck;

static void *run_stuck(void *user) {
    stuck *s = user;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    s->status = vyre_backend_dispatch(s->backend, s->c.program, &s->c.arguments, NULL, &outputs, NULL, NULL);
    vyre_outputs_free(&outputs);
    return NULL;
}

static void a_shutdown_does_not_wait_for_a_call_that_never_ends(void **state) {
    (void)state;
    stuck s;
    vyre_error error;
    pthread_t thread;
    fake *f = fake_new();
    f->is_shared = 1, f->hang_ms = 5000;
    s.backend = fake_open(f);
    fake_case_open(&s.c);
    assert_int_equal(pthread_create(&thread, NULL, run_stuck, &s), 0);
    while (!atomic_load(&s.backend->in_flight))
        usleep(1000);
    uint64_t start = vy_clock_now();
    assert_int_equal(vyre_backend_shutdown(s.backend, &error), VYRE_TIMEOUT);
    assert_true(seconds_since(start) < 4);
    assert_non_null(strstr(error.message, "has not ended"));
    pthread_join(thread, NULL);
    assert_int_equal(s.status, VYRE_OK);
    fake_case_close(&s.c);
    vyre_backend_release(s.backend); /* closes what the shutdown could not */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_that_claims_cancel_and_hangs_is_abandoned),
        cmocka_unit_test(a_plugin_in_flight_that_claims_cancel_and_hangs_is_abandoned),
        cmocka_unit_test(a_plugin_that_stops_by_itself_is_not_lost),
        cmocka_unit_test(the_reference_keeps_deadlines),
        cmocka_unit_test(the_reference_ends_what_is_cancelled),
        cmocka_unit_test(a_dispatch_without_a_deadline_is_cancelled_by_its_word),
        cmocka_unit_test(a_word_that_is_set_starts_nothing_on_any_backend),
        cmocka_unit_test(a_shutdown_cancels_what_is_in_flight),
        cmocka_unit_test(a_shutdown_does_not_wait_for_a_plugin_in_flight),
        cmocka_unit_test(a_shutdown_does_not_wait_for_a_call_that_never_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
