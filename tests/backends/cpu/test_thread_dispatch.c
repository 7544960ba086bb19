/* Dispatches of many threads at once on one backend: in place, in flight, with deadlines, in batches and sequences.
 * Meant for the thread sanitizer. */
#include "backends/cpu/blob.h"

#include "base/thread.h"
#include "vyre/async.h"

enum { THREADS = 6, ROUNDS = 30, COUNT = 2000 };

typedef struct shared {
    blob_rig rig;
    vyre_pipeline *add, *slow, *trapping, *spin;
    _Atomic unsigned wrong;
} shared;

static void shared_open(shared *s, unsigned threads) {
    blob_open(&s->rig, threads);
    s->add = blob_pipeline(&s->rig, BLOB_ADD);
    s->slow = blob_pipeline(&s->rig, BLOB_OVER_X("slow"));
    s->trapping = blob_pipeline(&s->rig, BLOB_OVER_X("trapping"));
    s->spin = blob_pipeline(&s->rig, BLOB_OVER_X("spin"));
    atomic_init(&s->wrong, 0);
}

static void shared_close(shared *s) {
    vyre_pipeline_release(s->add);
    vyre_pipeline_release(s->slow);
    vyre_pipeline_release(s->trapping);
    vyre_pipeline_release(s->spin);
    blob_close(&s->rig);
    assert_int_equal(s->wrong, 0);
}

static void expect(shared *s, int is_right) {
    if (!is_right)
        atomic_fetch_add(&s->wrong, 1);
}

static void run_add(shared *s, uint32_t p, int in_flight) {
    uint32_t in[COUNT];
    vyre_span span = {in, sizeof in};
    vyre_scalar scalar = vyre_scalar_u32(p);
    vyre_arguments arguments = {.params = &scalar, .param_count = 1, .inputs = &span, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pending *pending = NULL;
    vyre_status status;
    for (uint32_t i = 0; i < COUNT; i++)
        in[i] = i;
    if (in_flight) {
        status = vyre_pipeline_dispatch_async(s->add, &arguments, NULL, &pending, NULL);
        if (status == VYRE_OK)
            status = vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL);
    } else {
        status = vyre_pipeline_dispatch_into(s->add, &arguments, NULL, &outputs, NULL, NULL);
    }
    expect(s, status == VYRE_OK);
    for (uint32_t i = 0; status == VYRE_OK && i < COUNT; i++)
        if (((uint32_t *)outputs.items[0].data)[i] != i + p)
            status = VYRE_CORRUPT;
    expect(s, status == VYRE_OK);
    vyre_pending_free(pending);
    vyre_outputs_free(&outputs);
}

static void run_over_x(shared *s, vyre_pipeline *pipeline, uint64_t timeout_ns, vyre_status expected) {
    uint32_t x[64] = {0};
    vyre_span span = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_dispatch_config config = {.timeout_ns = timeout_ns};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_trap trap = {0, 0};
    vyre_status status = vyre_pipeline_dispatch(pipeline, &arguments, &config, &outputs, &trap, NULL);
    expect(s, status == expected);
    if (expected == VYRE_TRAPPED)
        expect(s, trap.invocation == 3 && trap.code == 103);
    if (expected == VYRE_OK)
        for (int i = 0; i < 64 && outputs.count; i++)
            expect(s, ((uint32_t *)outputs.items[0].data)[i] == 1);
    vyre_outputs_free(&outputs);
}

static void cancel_one(shared *s) {
    uint32_t x[8] = {0};
    vyre_span span = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pending *pending;
    if (vyre_pipeline_dispatch_async(s->spin, &arguments, NULL, &pending, NULL) != VYRE_OK) {
        expect(s, 0);
        return;
    }
    vyre_pending_cancel(pending);
    expect(s, vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL) == VYRE_CANCELLED);
    vyre_pending_free(pending);
    vyre_outputs_free(&outputs);
}

static void run_mixed(void *user, unsigned worker) {
    shared *s = user;
    for (unsigned i = 0; i < ROUNDS; i++)
        switch ((i + worker) % 7) {
        case 0:
        case 1:
            run_add(s, i, 0);
            break;
        case 2:
            run_add(s, i, 1);
            break;
        case 3:
            run_over_x(s, s->slow, 0, VYRE_OK);
            break;
        case 4:
            run_over_x(s, s->trapping, 0, VYRE_TRAPPED);
            break;
        case 5:
            run_over_x(s, s->spin, 500000, VYRE_TIMEOUT);
            break;
        default:
            cancel_one(s);
            break;
        }
}

static void threads_do_not_disturb_each_other(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    for (unsigned threads = 1; threads < 4; threads++) {
        shared s;
        shared_open(&s, threads);
        vy_parallel(THREADS, run_mixed, &s);
        shared_close(&s);
    }
}

static void run_batch(void *user, unsigned worker) {
    enum { ITEMS = 20 };
    shared *s = user;
    static uint32_t x[4096];
    vyre_span span = {x, sizeof x};
    vyre_arguments arguments[ITEMS];
    vyre_outputs outputs[ITEMS];
    size_t failed;
    for (int i = 0; i < ITEMS; i++) {
        arguments[i] = (vyre_arguments){.inputs = &span, .input_count = 1};
        outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
    }
    vyre_status expected = worker % 2 ? VYRE_TRAPPED : VYRE_OK;
    expect(s, vyre_pipeline_dispatch_batch(worker % 2 ? s->trapping : s->slow, arguments, worker % 2 ? ITEMS : 2, NULL,
                                           outputs, &failed, NULL, NULL) == expected);
    expect(s, expected == VYRE_OK || failed == 0);
    for (int i = 0; i < ITEMS; i++)
        vyre_outputs_free(&outputs[i]);
}

static void batches_do_not_disturb_each_other(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    shared s;
    shared_open(&s, 3);
    vy_parallel(4, run_batch, &s);
    shared_close(&s);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(batches_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
