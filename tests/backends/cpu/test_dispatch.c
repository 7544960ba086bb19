/* Dispatches on hand-written code: every road to it, bytes in place, traps, deadlines, cancellation, the
 * floating-point environment, memory of frames. */
#include "backends/cpu/blob.h"

#include "base/thread.h"
#include "driver/dispatch.h"
#include "vyre/async.h"
#include "vyre/cache.h"

#include <sched.h>
#include <unistd.h>

enum { COUNT = 5000 };

typedef struct adding {
    blob_rig rig;
    vyre_pipeline *pipeline;
    uint32_t in[COUNT];
    vyre_span span;
    vyre_scalar p;
    vyre_arguments arguments;
    vyre_outputs outputs;
} adding;

static void adding_open(adding *a, unsigned threads) {
    blob_open(&a->rig, threads);
    a->pipeline = blob_pipeline(&a->rig, BLOB_ADD);
    for (uint32_t i = 0; i < COUNT; i++)
        a->in[i] = i * 3;
    a->span = (vyre_span){a->in, sizeof a->in};
    a->p = vyre_scalar_u32(7);
    a->arguments = (vyre_arguments){.params = &a->p, .param_count = 1, .inputs = &a->span, .input_count = 1};
    a->outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
}

static void adding_close(adding *a) {
    vyre_outputs_free(&a->outputs);
    vyre_pipeline_release(a->pipeline);
    blob_close(&a->rig);
}

static void check_added(const void *data, size_t size, uint32_t p) {
    const uint32_t *values = data;
    assert_int_equal(size, COUNT * sizeof *values);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(values[i], i * 3 + p);
}

/* ---- from host bytes ---- */

static void all_forms_give_the_same(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    for (unsigned threads = 1; threads < 5; threads += 3) {
        adding a;
        vyre_timing timing = {0};
        vyre_bytes owned;
        adding_open(&a, threads);
        for (int i = 0; i < 50; i++) {
            assert_int_equal(vyre_pipeline_dispatch(a.pipeline, &a.arguments, NULL, &a.outputs, NULL, NULL), VYRE_OK);
            check_added(a.outputs.items[0].data, a.outputs.items[0].size, 7);
            assert_int_equal(vyre_pipeline_dispatch_into(a.pipeline, &a.arguments, NULL, &a.outputs, NULL, NULL),
                             VYRE_OK);
            check_added(a.outputs.items[0].data, a.outputs.items[0].size, 7);
        }
        assert_int_equal(vyre_pipeline_dispatch_timed(a.pipeline, &a.arguments, NULL, &a.outputs, &timing, NULL, NULL),
                         VYRE_OK);
        check_added(a.outputs.items[0].data, a.outputs.items[0].size, 7);
        assert_true(timing.present & VYRE_TIMED_DEVICE);
        assert_true(timing.wall_ns >= timing.device_ns);
        owned = (vyre_bytes){a.in, sizeof a.in, sizeof a.in};
        assert_int_equal(
            vyre_pipeline_dispatch_owned(a.pipeline, &owned, 1, &a.arguments, NULL, &a.outputs, NULL, NULL), VYRE_OK);
        check_added(a.outputs.items[0].data, a.outputs.items[0].size, 7);
        adding_close(&a);
    }
}

static void into_writes_where_the_caller_says(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    adding a;
    adding_open(&a, 2);
    assert_int_equal(vyre_pipeline_dispatch_into(a.pipeline, &a.arguments, NULL, &a.outputs, NULL, NULL), VYRE_OK);
    const void *place = a.outputs.items[0].data;
    a.p = vyre_scalar_u32(9);
    assert_int_equal(vyre_pipeline_dispatch_into(a.pipeline, &a.arguments, NULL, &a.outputs, NULL, NULL), VYRE_OK);
    assert_ptr_equal(a.outputs.items[0].data, place);
    check_added(place, a.outputs.items[0].size, 9);
    adding_close(&a);
}

static void inputs_that_are_not_aligned_are_copied(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    adding a;
    static char bytes[sizeof a.in + 16];
    adding_open(&a, 2);
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(bytes + shift, a.in, sizeof a.in);
        a.span.data = bytes + shift;
        assert_int_equal(vyre_pipeline_dispatch(a.pipeline, &a.arguments, NULL, &a.outputs, NULL, NULL), VYRE_OK);
        check_added(a.outputs.items[0].data, a.outputs.items[0].size, 7);
    }
    adding_close(&a);
}

static void what_is_read_and_written_starts_as_given(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    blob_rig r;
    uint32_t x[64];
    vyre_span span = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    blob_open(&r, 4);
    vyre_pipeline *pipeline = blob_pipeline(&r, BLOB_OVER_X("slow"));
    for (uint32_t i = 0; i < 64; i++)
        x[i] = i;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        for (uint32_t i = 0; i < 64; i++) {
            assert_int_equal(x[i], i);
            assert_int_equal(((uint32_t *)outputs.items[0].data)[i], i + 1);
        }
    }
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    blob_close(&r);
}

static void batches_are_all_of_their_items(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    enum { ITEMS = 40 };
    for (unsigned threads = 1; threads < 5; threads += 3) {
        adding a;
        vyre_arguments arguments[ITEMS];
        vyre_scalar params[ITEMS];
        vyre_outputs outputs[ITEMS];
        size_t failed = 77;
        adding_open(&a, threads);
        for (uint32_t i = 0; i < ITEMS; i++) {
            params[i] = vyre_scalar_u32(i);
            arguments[i] = a.arguments;
            arguments[i].params = &params[i];
            outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
        }
        for (size_t count = 1; count <= ITEMS; count += 13) {
            assert_int_equal(
                vyre_pipeline_dispatch_batch(a.pipeline, arguments, count, NULL, outputs, &failed, NULL, NULL),
                VYRE_OK);
            for (uint32_t i = 0; i < count; i++)
                check_added(outputs[i].items[0].data, outputs[i].items[0].size, i);
        }
        for (int i = 0; i < ITEMS; i++)
            vyre_outputs_free(&outputs[i]);
        adding_close(&a);
    }
}

/* ---- resident ---- */

static vyre_resource resource_of(vyre_resident resident) {
    return (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = resident};
}

static void resident_buffers_are_used_in_place(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    adding a;
    vyre_resident in, out;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_timing timing;
    adding_open(&a, 4);
    assert_int_equal(vyre_resident_allocate(a.rig.backend, sizeof a.in, a.in, &in, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(a.rig.backend, sizeof a.in, NULL, &out, NULL), VYRE_OK);
    vyre_resource bindings[2] = {resource_of(in), resource_of(out)};
    vyre_resource mixed[2] = {{.kind = VYRE_RESOURCE_HOST, .host = a.span}, resource_of(out)};
    vyre_resource back[2] = {resource_of(in), {.kind = VYRE_RESOURCE_HOST}};
    const vyre_resource *all[3] = {bindings, mixed, bindings};
    vyre_outputs many[3] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    size_t failed;
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(a.pipeline, bindings, 2, &a.arguments, NULL, &a.outputs, &timing, NULL, NULL),
        VYRE_OK);
    assert_int_equal(vyre_resident_download(a.rig.backend, out, &bytes, NULL), VYRE_OK);
    check_added(bytes.data, bytes.size, 7);
    assert_int_equal(a.outputs.items[0].size, 0);
    a.p = vyre_scalar_u32(8);
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(a.pipeline, mixed, 2, &a.arguments, NULL, &a.outputs, NULL, NULL, NULL),
        VYRE_OK);
    assert_int_equal(vyre_resident_download(a.rig.backend, out, &bytes, NULL), VYRE_OK);
    check_added(bytes.data, bytes.size, 8);
    a.p = vyre_scalar_u32(9);
    assert_int_equal(
        vyre_pipeline_dispatch_persistent(a.pipeline, back, 2, &a.arguments, NULL, &a.outputs, NULL, NULL, NULL),
        VYRE_OK);
    check_added(a.outputs.items[0].data, a.outputs.items[0].size, 9);
    a.p = vyre_scalar_u32(10);
    assert_int_equal(
        vyre_pipeline_dispatch_persistent_batch(a.pipeline, all, 2, 3, &a.arguments, NULL, many, &failed, NULL, NULL),
        VYRE_OK);
    assert_int_equal(vyre_resident_download(a.rig.backend, out, &bytes, NULL), VYRE_OK);
    check_added(bytes.data, bytes.size, 10);
    for (int i = 0; i < 3; i++)
        vyre_outputs_free(&many[i]);
    vyre_bytes_free(&bytes);
    adding_close(&a);
}

static void sequences_run_in_order(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    adding a;
    vyre_resident one, two;
    uint32_t back[COUNT];
    vyre_timing timing;
    size_t failed = 77;
    adding_open(&a, 4);
    assert_int_equal(vyre_resident_allocate(a.rig.backend, sizeof a.in, a.in, &one, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(a.rig.backend, sizeof a.in, NULL, &two, NULL), VYRE_OK);
    vyre_resource there[2] = {resource_of(one), resource_of(two)}, home[2] = {resource_of(two), resource_of(one)};
    vyre_step steps[10];
    for (int i = 0; i < 10; i++)
        steps[i] = (vyre_step){
            .pipeline = a.pipeline, .bindings = i % 2 ? home : there, .binding_count = 2, .arguments = &a.arguments};
    vyre_readback readback = {.resident = one, .size = sizeof back, .host = back};
    assert_int_equal(vyre_sequence_run(a.rig.backend, steps, 10, &readback, 1, NULL, &timing, &failed, NULL, NULL),
                     VYRE_OK);
    check_added(back, sizeof back, 70);
    assert_true(timing.present & VYRE_TIMED_DEVICE);
    assert_true(timing.wall_ns >= timing.device_ns);
    adding_close(&a);
}

/* ---- traps ---- */

static void the_smallest_invocation_that_traps_is_named(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    for (unsigned threads = 1; threads < 5; threads++) {
        blob_rig r;
        uint32_t x[COUNT] = {0};
        vyre_span span = {x, sizeof x};
        vyre_arguments arguments = {.inputs = &span, .input_count = 1};
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_trap trap;
        vyre_error error;
        blob_open(&r, threads);
        vyre_pipeline *pipeline = blob_pipeline(&r, BLOB_OVER_X("trapping"));
        for (int i = 0; i < 100; i++) {
            trap = (vyre_trap){77, 77};
            assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, &trap, &error), VYRE_TRAPPED);
            assert_int_equal(trap.invocation, 3);
            assert_int_equal(trap.code, 103);
            assert_string_equal(error.message, "invocation 3 trapped with code 103");
        }
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
        blob_close(&r);
    }
}

static void a_batch_names_its_first_item_that_traps(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    enum { ITEMS = 30 };
    blob_rig r;
    uint32_t x[COUNT] = {0};
    vyre_span small = {x, 4}, large = {x, sizeof x};
    vyre_arguments arguments[ITEMS];
    vyre_outputs outputs[ITEMS];
    vyre_trap trap;
    size_t failed;
    blob_open(&r, 4);
    vyre_pipeline *pipeline = blob_pipeline(&r, BLOB_OVER_X("trapping"));
    for (int i = 0; i < ITEMS; i++) {
        arguments[i] = (vyre_arguments){.inputs = i < 11 ? &small : &large, .input_count = 1};
        outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
    }
    for (int i = 0; i < 50; i++) {
        assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, arguments, ITEMS, NULL, outputs, &failed, &trap, NULL),
                         VYRE_TRAPPED);
        assert_int_equal(failed, 11);
        assert_int_equal(trap.invocation, 3);
    }
    for (int i = 0; i < ITEMS; i++)
        vyre_outputs_free(&outputs[i]);
    vyre_pipeline_release(pipeline);
    blob_close(&r);
}

/* ---- deadlines and cancellation ---- */

typedef struct spinning {
    blob_rig rig;
    vyre_pipeline *pipeline;
    uint32_t x[16];
    vyre_span span;
    vyre_arguments arguments;
    vyre_outputs outputs;
} spinning;

static void spinning_open(spinning *s, unsigned threads) {
    blob_open(&s->rig, threads);
    s->pipeline = blob_pipeline(&s->rig, BLOB_OVER_X("spin"));
    memset(s->x, 0, sizeof s->x);
    s->span = (vyre_span){s->x, sizeof s->x};
    s->arguments = (vyre_arguments){.inputs = &s->span, .input_count = 1};
    s->outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
}

static void spinning_close(spinning *s) {
    vyre_outputs_free(&s->outputs);
    vyre_pipeline_release(s->pipeline);
    blob_close(&s->rig);
}

static void a_deadline_ends_what_runs(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    for (unsigned threads = 1; threads < 4; threads++) {
        spinning s;
        vyre_error error;
        vyre_dispatch_config config = {.timeout_ns = 10000000};
        spinning_open(&s, threads);
        for (int i = 0; i < 3; i++) {
            uint64_t start = vy_clock_now();
            assert_int_equal(vyre_pipeline_dispatch(s.pipeline, &s.arguments, &config, &s.outputs, NULL, &error),
                             VYRE_TIMEOUT);
            assert_true(vy_clock_now() - start >= config.timeout_ns);
            assert_int_equal(s.outputs.count, 0);
            assert_true(error.fix[0] != 0);
        }
        assert_int_equal(vyre_backend_device_lost(s.rig.backend), 0);
        spinning_close(&s);
    }
}

static void *set_soon(void *word) {
    usleep(20000);
    __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void a_word_cancels_a_resident_dispatch_without_a_deadline(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    for (unsigned threads = 1; threads < 4; threads++) {
        spinning s;
        vyre_error error;
        vyre_resource binding = {.kind = VYRE_RESOURCE_RESIDENT};
        uint32_t word = 0;
        vyre_dispatch_config config = {.cancel = &word};
        pthread_t thread;
        spinning_open(&s, threads);
        assert_int_equal(vyre_resident_allocate(s.rig.backend, sizeof s.x, NULL, &binding.resident, NULL), VYRE_OK);
        assert_int_equal(pthread_create(&thread, NULL, set_soon, &word), 0);
        assert_int_equal(
            vyre_pipeline_dispatch_persistent(s.pipeline, &binding, 1, NULL, &config, &s.outputs, NULL, NULL, &error),
            VYRE_CANCELLED);
        pthread_join(thread, NULL);
        assert_int_equal(vyre_resident_free(s.rig.backend, binding.resident, NULL), VYRE_OK);
        assert_int_equal(vyre_backend_device_lost(s.rig.backend), 0);
        spinning_close(&s);
    }
}

static void a_deadline_that_is_kept_changes_nothing(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    adding a;
    vyre_dispatch_config config = {.timeout_ns = 60000000000u};
    adding_open(&a, 4);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(vyre_pipeline_dispatch(a.pipeline, &a.arguments, &config, &a.outputs, NULL, NULL), VYRE_OK);
        check_added(a.outputs.items[0].data, a.outputs.items[0].size, 7);
    }
    adding_close(&a);
}

static void what_is_in_flight_can_be_cancelled(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    for (unsigned threads = 1; threads < 4; threads++) {
        spinning s;
        vyre_pending *pending[5];
        spinning_open(&s, threads);
        for (int i = 0; i < 5; i++)
            assert_int_equal(vyre_pipeline_dispatch_async(s.pipeline, &s.arguments, NULL, &pending[i], NULL), VYRE_OK);
        assert_int_equal(vyre_pending_wait(pending[0], 1000000, &s.outputs, NULL, NULL), VYRE_NOT_READY);
        for (int i = 0; i < 5; i++)
            vyre_pending_cancel(pending[i]);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(vyre_pending_wait(pending[i], UINT64_MAX, &s.outputs, NULL, NULL), VYRE_CANCELLED);
            vyre_pending_free(pending[i]);
        }
        assert_int_equal(s.outputs.count, 0);
        spinning_close(&s);
    }
}

static void what_is_in_flight_has_a_deadline(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    spinning s;
    vyre_pending *pending;
    vyre_dispatch_config config = {.timeout_ns = 5000000};
    spinning_open(&s, 2);
    assert_int_equal(vyre_pipeline_dispatch_async(s.pipeline, &s.arguments, &config, &pending, NULL), VYRE_OK);
    while (!vyre_pending_is_ready(pending))
        ;
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &s.outputs, NULL, NULL), VYRE_TIMEOUT);
    vyre_pending_free(pending);
    spinning_close(&s);
}

/* The only thread of the pool is busy for ever; who waits for another dispatch runs it himself. */
static void who_waits_does_not_wait_for_others(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    spinning s;
    vyre_pending *busy, *other, *late;
    uint32_t in[4] = {1, 2, 3, 4};
    vyre_span span = {in, sizeof in};
    vyre_scalar p = vyre_scalar_u32(5);
    vyre_arguments arguments = {.params = &p, .param_count = 1, .inputs = &span, .input_count = 1};
    vyre_dispatch_config config = {.timeout_ns = 1000000};
    spinning_open(&s, 1);
    vyre_pipeline *add = blob_pipeline(&s.rig, BLOB_ADD);
    assert_int_equal(vyre_pipeline_dispatch_async(s.pipeline, &s.arguments, NULL, &busy, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch_async(add, &arguments, NULL, &other, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch_async(s.pipeline, &s.arguments, &config, &late, NULL), VYRE_OK);
    assert_int_equal(vyre_pending_wait(other, UINT64_MAX, &s.outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(*(uint32_t *)s.outputs.items[0].data, 6);
    assert_int_equal(vyre_pending_wait(late, UINT64_MAX, &s.outputs, NULL, NULL), VYRE_TIMEOUT);
    vyre_pending_cancel(busy);
    vyre_pending_free(busy);
    vyre_pending_free(other);
    vyre_pending_free(late);
    vyre_pipeline_release(add);
    spinning_close(&s);
}

static void releasing_ends_what_is_in_flight(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    spinning s;
    vyre_pending *pending;
    spinning_open(&s, 2);
    assert_int_equal(vyre_pipeline_dispatch_async(s.pipeline, &s.arguments, NULL, &pending, NULL), VYRE_OK);
    vyre_pending_free(pending); /* which cancels */
    spinning_close(&s);
}

/* ---- in flight ---- */

static void results_come_from_flight(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    enum { FLIGHTS = 30 };
    for (unsigned threads = 1; threads < 4; threads++) {
        adding a;
        vyre_completions *queue;
        vyre_pending *pending, *done;
        uint64_t tag;
        adding_open(&a, threads);
        assert_int_equal(vyre_completions_new(&queue, NULL), VYRE_OK);
        for (uint32_t i = 0; i < FLIGHTS; i++) {
            a.p = vyre_scalar_u32(i);
            assert_int_equal(vyre_pipeline_dispatch_async(a.pipeline, &a.arguments, NULL, &pending, NULL), VYRE_OK);
            assert_int_equal(vyre_completions_attach(queue, pending, i, NULL), VYRE_OK);
        }
        memset(a.in, 0xff, sizeof a.in); /* all was copied */
        for (int i = 0; i < FLIGHTS; i++) {
            assert_int_equal(vyre_completions_next(queue, UINT64_MAX, &done, &tag, NULL), VYRE_OK);
            assert_int_equal(vyre_pending_wait(done, 0, &a.outputs, NULL, NULL), VYRE_OK);
            check_added(a.outputs.items[0].data, a.outputs.items[0].size, (uint32_t)tag);
            vyre_pending_free(done);
        }
        assert_int_equal(vyre_backend_flush(a.rig.backend, NULL), VYRE_OK);
        vyre_completions_free(queue);
        adding_close(&a);
    }
}

/* ---- environment ---- */

static void code_runs_in_the_environment_of_the_rules(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    blob_rig r;
    uint32_t x[1] = {0};
    vyre_span span = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    blob_open(&r, 1);
    vyre_pipeline *pipeline = blob_pipeline(&r, BLOB_OVER_X("control"));
    uint32_t before = blob_control_get();
    for (int i = 0; i < 3; i++) {
        uint32_t mine = BLOB_CONTROL_OF_CALLER(i);
        blob_control_set(mine);
        vyre_status status = vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, NULL);
        uint32_t after = blob_control_get();
        blob_control_set(before);
        assert_int_equal(status, VYRE_OK);
        assert_int_equal(*(uint32_t *)outputs.items[0].data, BLOB_CONTROL_OF_RULES);
        assert_int_equal(after, mine);
    }
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    blob_close(&r);
}

static void frames_have_their_memory(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    for (unsigned threads = 1; threads < 4; threads++) {
        blob_rig r;
        static uint32_t x[COUNT];
        vyre_span span = {x, sizeof x};
        vyre_arguments arguments = {.inputs = &span, .input_count = 1};
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        blob_open(&r, threads);
        vyre_pipeline *pipeline = blob_pipeline(&r, BLOB_OVER_X("memory"));
        memset(x, 0xff, sizeof x);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
            for (int k = 0; k < COUNT; k++)
                assert_int_equal(((uint32_t *)outputs.items[0].data)[k], 0);
        }
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
        blob_close(&r);
    }
}

/* ---- what is refused ---- */

static void frames_larger_than_memory_are_refused(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    const blob huge = {add_blob.start, add_blob.end, UINT64_C(1) << 40, UINT64_C(1) << 40, 1, 0};
    blob_rig r;
    vyre_program *program = vy_test_parse(BLOB_ADD);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_native_pipeline native = {NULL, NULL};
    const vyre_compile_options options = {.struct_size = sizeof options};
    uint32_t in[1] = {1};
    vyre_span span = {in, 4};
    vyre_scalar p = vyre_scalar_u32(1);
    uint64_t elements[2] = {1, 1};
    vyre_bytes slot = VYRE_BYTES_INIT;
    vyre_outputs outputs = {&slot, 1, 1};
    vyre_launch launch = {.struct_size = sizeof launch,
                          .program = program,
                          .params = &p,
                          .param_count = 1,
                          .elements = elements,
                          .buffer_count = 2,
                          .groups = {1, 1, 1}};
    vyre_error error;
    blob_open(&r, 1);
    assert_int_equal(blob_store(program, &huge, &bytes, NULL), VYRE_OK);
    assert_int_equal(
        vy_cpu_pipeline_load(r.cpu, program, &options, (vyre_span){bytes.data, bytes.size}, &native, &error), VYRE_OK);
    if (!VY_SANITIZED) { /* whose allocator ends the process instead */
        vyre_status status = native.vtable->dispatch_borrowed(native.self, &launch, &span, 1, &outputs, &error);
        assert_true(status == VYRE_NO_MEMORY || status == VYRE_OK); /* a system may promise memory it does not have */
    }
    elements[0] = elements[1] = (uint64_t)VY_CPU_ELEMENTS_MAX + 1;
    assert_int_equal(native.vtable->dispatch_borrowed(native.self, &launch, &span, 1, &outputs, &error), VYRE_LIMIT);
    native.vtable->destroy(native.self);
    vyre_bytes_free(&slot);
    vyre_bytes_free(&bytes);
    blob_close(&r);
    vyre_program_release(program);
}

static void wrong_settings_in_the_environment_are_refused(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"VYRE_CPU_THREADS", "0"},
                                          {"VYRE_CPU_THREADS", "many"},
                                          {"VYRE_CPU_THREADS", "4097"},
                                          {"VYRE_CPU_THREADS", "-1"},
                                          {"VYRE_CPU_WIDTH", "3"},
                                          {"VYRE_CPU_WIDTH", "128"},
                                          {"VYRE_CPU_WIDTH", "1"},
                                          {"VYRE_CPU_WIDTH", "2"},
                                          {"VYRE_CPU_ISA", "avx9"},
                                          {"VYRE_CPU_ISA", "x86-64-v5"},
                                          {"VYRE_CPU_SPIN", "-1"},
                                          {"VYRE_CPU_SPIN", "1000001"},
                                          {"VYRE_CPU_SPIN", "long"},
                                          {"VYRE_CPU_STREAM", "4294967296"},
                                          {"VYRE_CPU_THREADS", " 2"},
                                          {"VYRE_CPU_THREADS", "2 "},
                                          {"VYRE_CPU_THREADS", "+2"},
                                          {"VYRE_CPU_THREADS", "0x2"},
                                          {"VYRE_CPU_THREADS", "18446744073709551617"},
                                          {"VYRE_CPU_WIDTH", "\t8"},
                                          {"VYRE_CPU_SPIN", "+0"},
                                          {"VYRE_CPU_STREAM", "-4294967295"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_backend *backend;
        vyre_error error;
        setenv(rows[i][0], rows[i][1], 1);
        assert_int_equal(vyre_acquire("cpu", &backend, &error), VYRE_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, rows[i][0]));
        unsetenv(rows[i][0]);
    }
}

typedef struct settings {
    unsigned threads, spin_us;
} settings;

static settings settings_of(void) {
    vyre_backend_instance instance;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_cpu_create(NULL, 0, &instance, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    settings found = {((vy_cpu *)instance.self)->threads, ((vy_cpu *)instance.self)->spin_us};
    instance.vtable->destroy(instance.self);
    return found;
}

/* Two ISA levels never share an object: the identity is part of every key, and the profile names the features. */
static void every_isa_level_has_its_own_identity(void **state) {
    (void)state;
    vyre_bytes identities[VY_CPU_LEVEL_COUNT] = {{0}};
    vyre_error error = VYRE_ERROR_INIT;
    unsigned count = 0;
    for (; count < VY_CPU_LEVEL_COUNT; count++) {
        const uint64_t features = vy_cpu_level_features(count);
        vyre_backend_instance instance;
        vyre_device_profile profile = {0};
        if (features & ~vy_cpu_features())
            break;
        setenv("VYRE_CPU_ISA", vy_cpu_level_name(count), 1);
        assert_int_equal(vy_cpu_create(NULL, 0, &instance, &error), VYRE_OK);
        assert_int_equal(((vy_cpu *)instance.self)->features, features);
        assert_int_equal(((vy_cpu *)instance.self)->target.exact, vy_cpu_numerics(features));
        assert_int_equal(((vy_cpu *)instance.self)->lanes, vy_cpu_width(features));
        instance.vtable->device_profile(instance.self, &profile);
        assert_int_equal(strstr(profile.driver, "avx2") != NULL, (features & VY_CPU_FEATURE_AVX2) != 0);
        assert_int_equal(instance.vtable->cache_identity(instance.self, &identities[count], &error), VYRE_OK);
        for (unsigned i = 0; i < count; i++)
            assert_true(identities[i].size != identities[count].size ||
                        memcmp(identities[i].data, identities[count].data, identities[i].size) != 0);
        instance.vtable->destroy(instance.self);
    }
    unsetenv("VYRE_CPU_ISA");
    for (unsigned i = 0; i < count; i++)
        vyre_bytes_free(&identities[i]);
#if defined(__x86_64__)
    assert_true(count > 0);
#endif
}

static void threads_are_as_many_as_the_process_has_cores_and_look_for_work_if_it_does(void **state) {
    (void)state;
    cpu_set_t before, one;
    unsigned cores = vy_cpu_count();
    char text[16];
    assert_int_equal(settings_of().threads, cores);
    assert_true(settings_of().spin_us > 0);
    snprintf(text, sizeof text, "%u", cores + 1);
    setenv("VYRE_CPU_THREADS", text, 1);
    assert_int_equal(settings_of().threads, cores + 1);
    assert_int_equal(settings_of().spin_us, 0);
    setenv("VYRE_CPU_SPIN", "7", 1);
    assert_int_equal(settings_of().spin_us, 7);
    unsetenv("VYRE_CPU_THREADS");
    setenv("VYRE_CPU_SPIN", "0", 1);
    assert_int_equal(settings_of().spin_us, 0);
    unsetenv("VYRE_CPU_SPIN");
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    unsigned threads = settings_of().threads;
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(threads, 1);
}

static void a_compiler_that_is_not_there_is_named_when_it_is_needed(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    vyre_error error;
    vyre_program *program = vy_test_parse(BLOB_ADD);
    setenv("VYRE_COMPILER", "/nowhere/compiler.so", 1);
    assert_int_equal(vyre_acquire("cpu", &backend, &error), VYRE_OK);
    assert_int_not_equal(vyre_compile(backend, program, NULL, &pipeline, &error), VYRE_OK);
    assert_non_null(strstr(error.message, "/nowhere/compiler.so"));
    setenv("VYRE_COMPILER", "compiler.so", 1);
    assert_int_equal(vyre_compile(backend, program, NULL, &pipeline, &error), VYRE_INVALID_ARGUMENT);
    setenv("VYRE_COMPILER", vy_test_command(), 1);
    assert_int_not_equal(vyre_compile(backend, program, NULL, &pipeline, &error), VYRE_OK);
    assert_true(error.fix[0] != 0);
    unsetenv("VYRE_COMPILER");
    vyre_program_release(program);
    vyre_backend_release(backend);
}

static void prepare_compiles_and_the_snapshot_counts_it(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_cache_snapshot none, one, two;
    vyre_error error;
    uint32_t x[4] = {1, 2, 3, 4};
    vyre_span input = {x, sizeof x};
    vyre_scalar p = vyre_scalar_u32(7);
    vyre_arguments arguments = {.params = &p, .param_count = 1, .inputs = &input, .input_count = 1};
    vyre_program *program = vy_test_parse(BLOB_ADD);
    assert_int_equal(vyre_acquire("cpu", &backend, &error), VYRE_OK);
    assert_true(vyre_backend_cache_snapshot(backend, &none));
    assert_int_equal(none.hits + none.misses + none.entries + none.bytes, 0);
    if (vyre_backend_prepare(backend, program, &error) == VYRE_NOT_FOUND)
        VY_SKIP("backend cpu has no compiler here: %s", error.message);
    assert_true(vyre_backend_cache_snapshot(backend, &one));
    assert_int_equal(one.misses, 1);
    assert_int_equal(one.entries, 1);
    assert_true(one.bytes > 0);
    vyre_cache_forbid_compile(1);
    assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, &error), VYRE_OK);
    assert_int_equal(((uint32_t *)outputs.items[0].data)[3], 11);
    vyre_pipeline *pipeline;
    assert_int_equal(vyre_compile(backend, program, NULL, &pipeline, &error), VYRE_OK);
    vyre_cache_forbid_compile(-1);
    assert_true(vyre_backend_cache_snapshot(backend, &two));
    assert_int_equal(two.hits, 1);
    assert_int_equal(two.misses, 1);
    vyre_pipeline_release(pipeline);
    vyre_outputs_free(&outputs);
    vyre_program_release(program);
    vyre_backend_release(backend);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_give_the_same),
        cmocka_unit_test(into_writes_where_the_caller_says),
        cmocka_unit_test(inputs_that_are_not_aligned_are_copied),
        cmocka_unit_test(what_is_read_and_written_starts_as_given),
        cmocka_unit_test(batches_are_all_of_their_items),
        cmocka_unit_test(resident_buffers_are_used_in_place),
        cmocka_unit_test(sequences_run_in_order),
        cmocka_unit_test(the_smallest_invocation_that_traps_is_named),
        cmocka_unit_test(a_batch_names_its_first_item_that_traps),
        cmocka_unit_test(a_deadline_ends_what_runs),
        cmocka_unit_test(a_word_cancels_a_resident_dispatch_without_a_deadline),
        cmocka_unit_test(a_deadline_that_is_kept_changes_nothing),
        cmocka_unit_test(what_is_in_flight_can_be_cancelled),
        cmocka_unit_test(what_is_in_flight_has_a_deadline),
        cmocka_unit_test(who_waits_does_not_wait_for_others),
        cmocka_unit_test(releasing_ends_what_is_in_flight),
        cmocka_unit_test(results_come_from_flight),
        cmocka_unit_test(code_runs_in_the_environment_of_the_rules),
        cmocka_unit_test(frames_have_their_memory),
        cmocka_unit_test(frames_larger_than_memory_are_refused),
        cmocka_unit_test(wrong_settings_in_the_environment_are_refused),
        cmocka_unit_test(every_isa_level_has_its_own_identity),
        cmocka_unit_test(threads_are_as_many_as_the_process_has_cores_and_look_for_work_if_it_does),
        cmocka_unit_test(a_compiler_that_is_not_there_is_named_when_it_is_needed),
        cmocka_unit_test(prepare_compiles_and_the_snapshot_counts_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
