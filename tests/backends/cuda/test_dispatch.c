/* Dispatches on backend `cuda`, through the public interface: every form, ranges and batches of resident buffers,
 * sizes around the staging's chunks, times, waits with a timeout, notification, memory that is out, and what a
 * dispatch costs. */
#include "backends/conform.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/executable.h"
#include "backends/cuda/submission.h"
#include "driver/backend.h"
#include "driver/dispatch.h"
#include "driver/pipeline.h"
#include "vyre/async.h"

static const char texts[] =
    "program add {\n param a : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 256\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = x[i] + a }\n}\n"
    "program twice {\n buffer x : u32 read_write\n workgroup 256\n grid over x\n let i = global_id.x\n"
    " if i < len(x) { x[i] = 2 * x[i] }\n}\n"
    "program some {\n buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n let i = global_id.x\n"
    " if x[i] % 2 == 1 { y[i] = x[i] }\n}\n"
    "program refuses {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " if x[i] == 13 { trap 99 }\n if i < len(x) { x[i] = x[i] + 1 }\n}\n"
    "program reverse {\n buffer x : u32 read\n buffer y : u32 write\n workgroup 256\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = x[len(x) - 1 - i] }\n}\n"
    "program long {\n param n : u32\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " var v = x[i]\n for k in 0 .. n { v = v * 1664525 + 1013904223 }\n if i < len(x) { x[i] = v }\n}\n";

enum { ADD, TWICE, SOME, REFUSES, REVERSE, LONG, PROGRAMS };

typedef struct rig {
    conform c;
    vyre_pipeline *pipelines[PROGRAMS];
} rig;

static void rig_open(rig *r) {
    static const char *const names[] = {"add", "twice", "some", "refuses", "reverse", "long"};
    vyre_error error = VYRE_ERROR_INIT;
    conform_open(&r->c, "cuda");
    for (int i = 0; i < PROGRAMS; i++) {
        vyre_program *program = conform_parse(texts, NULL, 0, names[i]);
        if (vyre_compile(r->c.backend, program, NULL, &r->pipelines[i], &error) != VYRE_OK)
            fail_msg("%s: %s", names[i], error.message);
        vyre_program_release(program);
    }
}

static void rig_close(rig *r) {
    for (int i = 0; i < PROGRAMS; i++)
        vyre_pipeline_release(r->pipelines[i]);
    conform_close(&r->c);
}

static uint32_t *numbers(size_t count) {
    uint32_t *x = malloc((count + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = (uint32_t)i * 2654435761u;
    return x;
}

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        vyre_error error = VYRE_ERROR_INIT;                                                                            \
        vyre_status status = (call);                                                                                   \
        if (status != VYRE_OK)                                                                                         \
            fail_msg("%s: %s (%s)", #call, vyre_status_name(status), error.message);                                   \
    } while (0)

/* ---- host bytes ---- */

static void check_add(const vyre_outputs *outputs, const uint32_t *x, size_t count, uint32_t a) {
    const uint32_t *y = outputs->items[0].data;
    assert_int_equal(outputs->items[0].size, count * 4);
    for (size_t i = 0; i < count; i++)
        if (y[i] != x[i] + a)
            fail_msg("element %zu of %zu is %u instead of %u", i, count, y[i], x[i] + a);
}

static void sizes_around_the_stagings_chunks_arrive_whole(void **state) {
    (void)state;
    static rig r;
    enum { MEGA = 1 << 18 }; /* elements of a chunk */
    static const size_t counts[] = {0,        1,    255,      4096,     MEGA / 2 - 64, MEGA / 2,     MEGA / 2 + 1,
                                    MEGA - 1, MEGA, MEGA + 1, 4 * MEGA, 4 * MEGA + 3,  5 * MEGA - 1, 9 * MEGA + 77};
    rig_open(&r);
    uint32_t *x = numbers(10 * MEGA);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        uint64_t count = counts[k];
        vyre_span input = {x, count * 4};
        vyre_scalar a = vyre_scalar_u32((uint32_t)k);
        vyre_arguments arguments = {
            .params = &a, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
        vyre_pending *pending;
        OK(vyre_pipeline_dispatch(r.pipelines[ADD], &arguments, NULL, &r.c.given, NULL, &error));
        check_add(&r.c.given, x, count, (uint32_t)k);
        OK(vyre_pipeline_dispatch_into(r.pipelines[ADD], &arguments, NULL, &r.c.given, NULL, &error));
        check_add(&r.c.given, x, count, (uint32_t)k);
        OK(vyre_pipeline_dispatch_async(r.pipelines[ADD], &arguments, NULL, &pending, &error));
        OK(vyre_pending_wait(pending, UINT64_MAX, &r.c.given, NULL, &error));
        check_add(&r.c.given, x, count, (uint32_t)k);
        vyre_pending_free(pending);
    }
    free(x);
    rig_close(&r);
}

/* Pieces of a pipelined dispatch compute the ids, counts and bounds of the whole grid; also where invocations of the
 * kernel handle several elements, and the last piece is short. */
static void pieces_have_the_ids_of_the_whole_grid(void **state) {
    (void)state;
    enum { COUNT = (40 << 20) + 777, GROUPS = (COUNT + 127) / 128 };
    static const struct {
        const char *text;
        uint32_t per_id;
    } rows[] = {{"u8(i >> 7) + u8(group_count.x)", 1}, {"u8(group_count.x)", 0}};
    static conform c;
    conform_open(&c, "cuda");
    uint8_t *x = malloc(COUNT), *y = malloc(COUNT);
    assert_true(x && y);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (uint8_t)(i * 2654435761u >> 24), y[i] = (uint8_t)(i % 251);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char source[512];
        vyre_pipeline *pipeline;
        const vyre_span inputs[2] = {{x, COUNT}, {y, COUNT}};
        const vyre_scalar a = vyre_scalar_bits(VYRE_TYPE_U8, 7);
        const vyre_arguments arguments = {.params = &a, .param_count = 1, .inputs = inputs, .input_count = 2};
        snprintf(source, sizeof source,
                 "program place {\n param a : u8\n buffer x : u8 read\n buffer y : u8 read_write\n workgroup 128\n"
                 " grid over y\n let i = global_id.x\n if i < len(y) { y[i] = (y[i] ^ x[i]) + a + %s }\n}\n",
                 rows[k].text);
        vyre_program *program = conform_parse(source, NULL, 0, NULL);
        OK(vyre_compile(c.backend, program, NULL, &pipeline, &error));
        for (int again = 0; again < 2; again++) {
            OK(vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &c.given, NULL, &error));
            const uint8_t *made = c.given.items[0].data;
            for (size_t i = 0; i < COUNT; i++) {
                uint8_t expected = (uint8_t)((y[i] ^ x[i]) + 7 + rows[k].per_id * (i >> 7) + GROUPS);
                if (made[i] != expected)
                    fail_msg("`%s`: element %zu is %u instead of %u", rows[k].text, i, made[i], expected);
            }
        }
        vyre_pipeline_release(pipeline);
        vyre_program_release(program);
    }
    free(x);
    free(y);
    conform_close(&c);
}

/* In slices where that can be, by several threads in any case. */
static void large_dispatches_arrive_whole(void **state) {
    (void)state;
    enum { COUNT = (24 << 20) + 1234 }; /* about 100 MB */
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT);
    uint64_t count = COUNT, start;
    vyre_span input = {x, COUNT * UINT64_C(4)};
    vyre_scalar a = vyre_scalar_u32(5);
    vyre_arguments arguments = {
        .params = &a, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    vyre_trap trap;
    vyre_error error = VYRE_ERROR_INIT;
    for (int i = 0; i < 4; i++) {
        start = vy_clock_now();
        OK(vyre_pipeline_dispatch_into(r.pipelines[ADD], &arguments, NULL, &r.c.given, NULL, &error));
        printf("in slices: %.2f GB/s there and back\n", 2.0 * COUNT * 4 / (double)(vy_clock_now() - start));
    }
    check_add(&r.c.given, x, COUNT, 5);
    arguments.param_count = 0;
    for (int i = 0; i < 4; i++) {
        start = vy_clock_now();
        OK(vyre_pipeline_dispatch_into(r.pipelines[REVERSE], &arguments, NULL, &r.c.given, NULL, &error));
        printf("as a whole: %.2f GB/s there and back\n", 2.0 * COUNT * 4 / (double)(vy_clock_now() - start));
    }
    for (size_t i = 0; i < COUNT; i++)
        if (((uint32_t *)r.c.given.items[0].data)[i] != x[COUNT - 1 - i])
            fail_msg("element %zu is wrong", i);
    OK(vyre_pipeline_dispatch(r.pipelines[SOME], &arguments, NULL, &r.c.given, NULL, &error));
    for (size_t i = 0; i < COUNT; i++)
        if (((uint32_t *)r.c.given.items[0].data)[i] != (x[i] % 2 ? x[i] : 0))
            fail_msg("element %zu is wrong", i);
    /* Of all traps in all slices, the first. */
    arguments.count_count = 0;
    for (size_t i = 0; i < COUNT; i++)
        x[i] |= 64;
    OK(vyre_pipeline_dispatch(r.pipelines[REFUSES], &arguments, NULL, &r.c.given, NULL, &error));
    for (size_t i = 7654321; i < COUNT; i += 1000003)
        x[i] = 13;
    assert_int_equal(vyre_pipeline_dispatch(r.pipelines[REFUSES], &arguments, NULL, &r.c.given, &trap, &error),
                     VYRE_TRAPPED);
    assert_int_equal(trap.invocation, 7654321);
    assert_int_equal(trap.code, 99);
    vyre_resident resident;
    vyre_bytes back = VYRE_BYTES_INIT;
    OK(vyre_resident_allocate(r.c.backend, input.size, NULL, &resident, &error));
    start = vy_clock_now();
    OK(vyre_resident_upload(r.c.backend, resident, x, input.size, &error));
    printf("upload %.2f GB/s\n", (double)input.size / (double)(vy_clock_now() - start));
    OK(vyre_resident_download(r.c.backend, resident, &back, &error));
    start = vy_clock_now();
    OK(vyre_resident_download(r.c.backend, resident, &back, &error));
    printf("download %.2f GB/s\n", (double)input.size / (double)(vy_clock_now() - start));
    assert_memory_equal(back.data, x, input.size);
    OK(vyre_resident_free(r.c.backend, resident, &error));
    vyre_bytes_free(&back);
    free(x);
    rig_close(&r);
}

/* Outputs come back while other inputs go there; memory changes hands; one is cancelled, one is not waited for. */
static void large_flights_arrive_whole(void **state) {
    (void)state;
    enum { COUNT = (6 << 20) + 77, FLIGHTS = 3, ROUNDS = 5 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT);
    uint64_t count = COUNT;
    vyre_span input = {x, COUNT * UINT64_C(4)};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    vyre_outputs outputs[FLIGHTS] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_pending *pending[FLIGHTS];
    vyre_error error = VYRE_ERROR_INIT;
    vyre_trap trap;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t start = vy_clock_now();
        for (int i = 0; i < FLIGHTS; i++) {
            OK(vyre_pipeline_dispatch_async(r.pipelines[REVERSE], &arguments, NULL, &pending[i], &error));
            x[0]++; /* what was lent may change */
        }
        for (int i = 0; i < FLIGHTS; i++) {
            OK(vyre_pending_wait(pending[i], UINT64_MAX, &outputs[i], NULL, &error));
            vyre_pending_free(pending[i]);
        }
        printf("in flight: %.2f GB/s there and back\n", 2.0 * COUNT * 4 * FLIGHTS / (double)(vy_clock_now() - start));
        for (uint32_t i = 0; i < FLIGHTS; i++) {
            const uint32_t *y = outputs[i].items[0].data;
            assert_int_equal(outputs[i].items[0].size, input.size);
            assert_int_equal(y[COUNT - 1], x[0] - (FLIGHTS - i));
            for (size_t k = 0; k < COUNT - 1; k++)
                if (y[k] != x[COUNT - 1 - k])
                    fail_msg("flight %u, element %zu: %u", i, k, y[k]);
        }
    }
    OK(vyre_pipeline_dispatch_async(r.pipelines[REVERSE], &arguments, NULL, &pending[0], &error));
    vyre_pending_cancel(pending[0]);
    vyre_pending_free(pending[0]);
    OK(vyre_pipeline_dispatch_async(r.pipelines[REVERSE], &arguments, NULL, &pending[0], &error));
    vyre_pending_free(pending[0]);
    /* A trap delivers nothing. */
    arguments.count_count = 0;
    const void *had = outputs[0].items[0].data;
    x[54321] = 13;
    OK(vyre_pipeline_dispatch_async(r.pipelines[REFUSES], &arguments, NULL, &pending[0], &error));
    vyre_status status = vyre_pending_wait(pending[0], UINT64_MAX, &outputs[0], &trap, &error);
    assert_int_equal(status, VYRE_TRAPPED);
    assert_int_equal(trap.code, 99);
    assert_ptr_equal(outputs[0].items[0].data, had);
    assert_int_equal(((const uint32_t *)had)[0], x[COUNT - 1]);
    vyre_pending_free(pending[0]);
    for (int i = 0; i < FLIGHTS; i++)
        vyre_outputs_free(&outputs[i]);
    free(x);
    rig_close(&r);
}

static void what_nobody_writes_is_zero(void **state) {
    (void)state;
    static rig r;
    static const size_t counts[] = {1000, 3000, 300000};
    rig_open(&r);
    uint32_t *x = numbers(300000);
    for (int round = 0; round < 2; round++)
        for (size_t k = 0; k < 3; k++) {
            uint64_t count = counts[k];
            vyre_span input = {x, count * 4};
            vyre_arguments arguments = {.inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
            OK(vyre_pipeline_dispatch(r.pipelines[SOME], &arguments, NULL, &r.c.given, NULL, &error));
            const uint32_t *y = r.c.given.items[0].data;
            for (size_t i = 0; i < count; i++)
                assert_int_equal(y[i], x[i] % 2 ? x[i] : 0);
        }
    free(x);
    rig_close(&r);
}

static void batches_are_all_of_their_items_and_name_the_one_that_failed(void **state) {
    (void)state;
    enum { ITEMS = 20, COUNT = 3000 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT * ITEMS);
    vyre_span inputs[ITEMS];
    vyre_arguments arguments[ITEMS];
    vyre_outputs outputs[ITEMS];
    vyre_trap trap;
    size_t failed = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        inputs[i] = (vyre_span){x + i * COUNT, COUNT * 4};
        arguments[i] = (vyre_arguments){.inputs = &inputs[i], .input_count = 1};
        outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
        for (size_t k = 0; k < COUNT; k++)
            x[i * COUNT + k] |= 64; /* no 13 */
    }
    OK(vyre_pipeline_dispatch_batch(r.pipelines[TWICE], arguments, ITEMS, NULL, outputs, &failed, NULL, &error));
    for (size_t i = 0; i < ITEMS; i++)
        for (size_t k = 0; k < COUNT; k++)
            assert_int_equal(((uint32_t *)outputs[i].items[0].data)[k], 2 * x[i * COUNT + k]);
    OK(vyre_pipeline_dispatch_batch(r.pipelines[REFUSES], arguments, ITEMS, NULL, outputs, &failed, NULL, &error));
    x[7 * COUNT + 123] = 13;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(
        vyre_pipeline_dispatch_batch(r.pipelines[REFUSES], arguments, ITEMS, NULL, outputs, &failed, &trap, &error),
        VYRE_TRAPPED);
    assert_int_equal(failed, 7);
    assert_int_equal(trap.invocation, 123);
    assert_int_equal(trap.code, 99);
    for (size_t i = 0; i < ITEMS; i++)
        vyre_outputs_free(&outputs[i]);
    free(x);
    rig_close(&r);
}

/* ---- resident ---- */

static vyre_resource whole(vyre_resident resident) {
    return (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = resident};
}

static void resident_buffers_start_as_zero_and_are_read_and_written_in_ranges(void **state) {
    (void)state;
    static rig r;
    enum { SIZE = 3 << 20 };
    rig_open(&r);
    vyre_bytes back = VYRE_BYTES_INIT;
    for (int round = 0; round < 3; round++) { /* memory comes from the pool, used */
        vyre_resident buffer;
        OK(vyre_resident_allocate(r.c.backend, SIZE, NULL, &buffer, &error));
        OK(vyre_resident_download(r.c.backend, buffer, &back, &error));
        for (size_t i = 0; i < SIZE; i++)
            assert_int_equal(((uint8_t *)back.data)[i], 0);
        uint8_t *bytes = malloc(SIZE);
        assert_non_null(bytes);
        for (size_t i = 0; i < SIZE; i++)
            bytes[i] = (uint8_t)(i * 7 + i / 251);
        vyre_transfer transfers[100];
        for (size_t i = 0; i < 100; i++) /* odd sizes at odd places, some over a chunk */
            transfers[i] = (vyre_transfer){.resident = buffer,
                                           .offset = i * 20011,
                                           .size = i == 99 ? 1100003 : i * 199,
                                           .host = bytes + i * 20011};
        OK(vyre_resident_upload_batch(r.c.backend, transfers, 100, &error));
        OK(vyre_resident_download(r.c.backend, buffer, &back, &error));
        for (size_t i = 0; i < 100; i++)
            assert_memory_equal((uint8_t *)back.data + transfers[i].offset, bytes + transfers[i].offset,
                                transfers[i].size);
        assert_int_equal(((uint8_t *)back.data)[20011 * 5 + 5 * 199], 0);
        uint8_t *taken = calloc(1, SIZE);
        assert_non_null(taken);
        for (size_t i = 0; i < 100; i++)
            transfers[i].host = taken + i * 20011;
        OK(vyre_resident_download_batch(r.c.backend, transfers, 100, &error));
        for (size_t i = 0; i < 100; i++)
            assert_memory_equal(taken + transfers[i].offset, bytes + transfers[i].offset, transfers[i].size);
        free(taken);
        free(bytes);
        OK(vyre_resident_free(r.c.backend, buffer, &error));
        vyre_error error = VYRE_ERROR_INIT;
        assert_int_equal(vyre_resident_download(r.c.backend, buffer, &back, &error), VYRE_INVALID_ARGUMENT); /* stale */
    }
    vyre_bytes_free(&back);
    rig_close(&r);
}

static void steps_see_what_those_before_wrote(void **state) {
    (void)state;
    enum { COUNT = 5000, STEPS = 40 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT), *back = malloc(COUNT * 4);
    vyre_resident buffer;
    vyre_step steps[STEPS];
    vyre_resource binding;
    vyre_timing timing = {0};
    vyre_trap trap;
    size_t failed = 0;
    OK(vyre_resident_allocate(r.c.backend, COUNT * 4, NULL, &buffer, &error));
    OK(vyre_resident_upload(r.c.backend, buffer, x, COUNT * 4, &error));
    binding = whole(buffer);
    vyre_readback readback = {.resident = buffer, .size = COUNT * 4, .host = back};
    for (int i = 0; i < STEPS; i++)
        steps[i] = (vyre_step){.pipeline = r.pipelines[TWICE], .bindings = &binding, .binding_count = 1};
    OK(vyre_sequence_run(r.c.backend, steps, 3, &readback, 1, NULL, &timing, &failed, &trap, &error));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(back[i], 8 * x[i]);
    assert_true(timing.present & VYRE_TIMED_DEVICE);
    printf("three steps: %llu ns wall, %llu ns on the device\n", (unsigned long long)timing.wall_ns,
           (unsigned long long)timing.device_ns);
    OK(vyre_sequence_run(r.c.backend, steps, STEPS, &readback, 1, NULL, NULL, &failed, &trap, &error));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(back[i], 0);
    /* A step that traps is the last. */
    for (size_t i = 0; i < COUNT; i++)
        x[i] = 12;
    OK(vyre_resident_upload(r.c.backend, buffer, x, COUNT * 4, &error));
    steps[0].pipeline = steps[1].pipeline = r.pipelines[REFUSES];
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_sequence_run(r.c.backend, steps, 4, &readback, 1, NULL, NULL, &failed, &trap, &error),
                     VYRE_TRAPPED);
    assert_int_equal(failed, 1);
    assert_int_equal(trap.invocation, 0);
    assert_int_equal(trap.code, 99);
    vyre_bytes bytes = VYRE_BYTES_INIT;
    OK(vyre_resident_download(r.c.backend, buffer, &bytes, &error));
    assert_int_equal(((uint32_t *)bytes.data)[0], 13);
    /* With a time that suffices. */
    vyre_dispatch_config patient = {.timeout_ns = UINT64_C(30000000000)};
    OK(vyre_resident_upload(r.c.backend, buffer, x, COUNT * 4, &error));
    steps[0].pipeline = steps[1].pipeline = r.pipelines[TWICE];
    OK(vyre_sequence_run(r.c.backend, steps, 2, &readback, 1, &patient, NULL, &failed, &trap, &error));
    assert_int_equal(back[0], 48);
    vyre_bytes_free(&bytes);
    OK(vyre_resident_free(r.c.backend, buffer, &error));
    free(x);
    free(back);
    rig_close(&r);
}

static void rows_run_one_after_the_other(void **state) {
    (void)state;
    enum { COUNT = 1000, ITEMS = 100 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT);
    vyre_resident buffer;
    vyre_resource binding;
    const vyre_resource *rows[ITEMS];
    vyre_outputs outputs[ITEMS];
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_arguments nothing[ITEMS];
    size_t failed;
    memset(nothing, 0, sizeof nothing);
    OK(vyre_resident_allocate(r.c.backend, COUNT * 4, NULL, &buffer, &error));
    OK(vyre_resident_upload(r.c.backend, buffer, x, COUNT * 4, &error));
    binding = whole(buffer);
    for (int i = 0; i < ITEMS; i++) {
        rows[i] = &binding;
        outputs[i] = (vyre_outputs)VYRE_OUTPUTS_INIT;
    }
    OK(vyre_pipeline_dispatch_persistent_batch(r.pipelines[TWICE], rows, 1, 5, nothing, NULL, outputs, &failed, NULL,
                                               &error));
    OK(vyre_resident_download(r.c.backend, buffer, &bytes, &error));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(((uint32_t *)bytes.data)[i], 32 * x[i]);
    uint64_t start = vy_clock_now();
    OK(vyre_pipeline_dispatch_persistent_batch(r.pipelines[TWICE], rows, 1, ITEMS, nothing, NULL, outputs, &failed,
                                               NULL, &error));
    printf("a batch of %d: %llu ns each\n", ITEMS, (unsigned long long)((vy_clock_now() - start) / ITEMS));
    for (int i = 0; i < ITEMS; i++)
        vyre_outputs_free(&outputs[i]);
    vyre_bytes_free(&bytes);
    OK(vyre_resident_free(r.c.backend, buffer, &error));
    free(x);
    rig_close(&r);
}

static void more_memory_than_there_is_is_an_error_with_sizes(void **state) {
    (void)state;
    static rig r;
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_resident resident, small;
    rig_open(&r);
    vyre_backend_profile(r.c.backend, &profile);
    vyre_status status = VYRE_OK;
    vyre_resident held[64];
    int count = 0;
    /* Until there is no more: no single one is over the device's limit. */
    while (count < 64) {
        status = vyre_resident_allocate(r.c.backend, UINT64_C(16) << 30, NULL, &resident, &error);
        if (status != VYRE_OK)
            break;
        held[count++] = resident;
    }
    assert_int_equal(status, VYRE_NO_DEVICE_MEMORY);
    printf("after %d buffers of 16 GiB: %s\n", count, error.message);
    assert_non_null(strstr(error.message, "17179869184"));
    assert_true(error.fix[0] != 0);
    assert_int_equal(vyre_backend_device_lost(r.c.backend), 0);
    for (int i = 0; i < count; i++)
        OK(vyre_resident_free(r.c.backend, held[i], &error));
    OK(vyre_resident_allocate(r.c.backend, UINT64_C(1) << 30, NULL, &small, &error));
    OK(vyre_resident_free(r.c.backend, small, &error));
    rig_close(&r);
}

/* ---- time ---- */

static void times_are_told(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT);
    vyre_span input = {x, COUNT * 4};
    vyre_scalar n = vyre_scalar_u32(100000);
    vyre_arguments arguments = {.params = &n, .param_count = 1, .inputs = &input, .input_count = 1};
    vyre_timing timing = {0};
    OK(vyre_pipeline_dispatch_timed(r.pipelines[LONG], &arguments, NULL, &r.c.given, &timing, NULL, &error));
    printf("wall %llu, device %llu, enqueue %llu, wait %llu ns\n", (unsigned long long)timing.wall_ns,
           (unsigned long long)timing.device_ns, (unsigned long long)timing.enqueue_ns,
           (unsigned long long)timing.wait_ns);
    assert_int_equal(timing.present, VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT);
    assert_true(timing.device_ns > 10000 && timing.device_ns < timing.wall_ns);
    assert_true(timing.enqueue_ns + timing.wait_ns <= timing.wall_ns);
    free(x);
    rig_close(&r);
}

static void a_wait_with_a_timeout_returns_and_may_be_repeated(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT);
    vyre_span input = {x, COUNT * 4};
    vyre_scalar n = vyre_scalar_u32(200000000);
    vyre_arguments arguments = {.params = &n, .param_count = 1, .inputs = &input, .input_count = 1};
    vyre_pending *pending;
    OK(vyre_pipeline_dispatch_async(r.pipelines[LONG], &arguments, NULL, &pending, &error));
    uint64_t start = vy_clock_now();
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_pending_wait(pending, 5000000, &r.c.given, NULL, &error), VYRE_NOT_READY);
    uint64_t waited = vy_clock_now() - start;
    assert_int_equal(vyre_pending_is_ready(pending), 0);
    assert_true(waited >= 5000000 && waited < UINT64_C(1000000000));
    OK(vyre_pending_wait(pending, UINT64_MAX, &r.c.given, NULL, &error));
    printf("a wait of 5 ms took %llu ns; the kernel %llu\n", (unsigned long long)waited,
           (unsigned long long)(vy_clock_now() - start));
    vyre_pending_free(pending);
    /* One that nobody waits for. */
    OK(vyre_pipeline_dispatch_async(r.pipelines[LONG], &arguments, NULL, &pending, &error));
    vyre_pending_free(pending);
    free(x);
    rig_close(&r);
}

static void completions_come_as_flights_end(void **state) {
    (void)state;
    enum { COUNT = 1000, FLIGHTS = 20 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT);
    vyre_completions *queue;
    vyre_span input = {x, COUNT * 4};
    uint64_t seen = 0;
    OK(vyre_completions_new(&queue, &error));
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < FLIGHTS; i++) { /* the first take longest */
            vyre_scalar n = vyre_scalar_u32((FLIGHTS - i) * 20000);
            vyre_arguments arguments = {.params = &n, .param_count = 1, .inputs = &input, .input_count = 1};
            vyre_pending *pending;
            OK(vyre_pipeline_dispatch_async(r.pipelines[LONG], &arguments, NULL, &pending, &error));
            OK(vyre_completions_attach(queue, pending, i, &error));
        }
        for (uint32_t i = 0; i < FLIGHTS; i++) {
            vyre_pending *pending;
            uint64_t tag;
            OK(vyre_completions_next(queue, UINT64_C(20000000000), &pending, &tag, &error));
            OK(vyre_pending_wait(pending, UINT64_MAX, &r.c.given, NULL, &error));
            vyre_pending_free(pending);
            seen += tag;
        }
    }
    assert_int_equal(seen, 3 * FLIGHTS * (FLIGHTS - 1) / 2);
    vyre_completions_free(queue);
    free(x);
    rig_close(&r);
}

static void deadlines_are_kept_to_some_milliseconds(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    static rig r;
    rig_open(&r);
    uint32_t *x = numbers(COUNT);
    vyre_span input = {x, COUNT * 4};
    vyre_scalar n = vyre_scalar_u32(UINT32_MAX);
    vyre_arguments arguments = {.params = &n, .param_count = 1, .inputs = &input, .input_count = 1};
    uint64_t late = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        vyre_dispatch_config config = {.timeout_ns = 50000000};
        vyre_error error = VYRE_ERROR_INIT;
        uint64_t start = vy_clock_now();
        assert_int_equal(vyre_pipeline_dispatch(r.pipelines[LONG], &arguments, &config, &r.c.given, NULL, &error),
                         VYRE_TIMEOUT);
        uint64_t took = vy_clock_now() - start;
        printf("a deadline of 50 ms: ended after %.3f ms (%s)\n", (double)took / 1e6, error.message);
        if (i) /* the first one compiles */
            late = took > late ? took : late;
    }
    assert_true(late >= 45000000 && late < 150000000);
    assert_int_equal(vyre_backend_device_lost(r.c.backend), 0);
    free(x);
    rig_close(&r);
}

/* ---- what it costs ---- */

typedef struct cost {
    rig *r;
    vyre_resource bindings[2], native[2];
    vyre_arguments arguments;
} cost;

static double time_of(cost *k, int (*once)(cost *k)) {
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        uint64_t start = vy_clock_now();
        for (int i = 0; i < 200; i++)
            assert_int_equal(once(k), 0);
        double each = (double)(vy_clock_now() - start) / 200;
        best = each < best ? each : best;
    }
    return best;
}

static vy_cuda_executable *code_of(cost *k) {
    vy_executable *code;
    vyre_error error;
    assert_int_equal(vy_pipeline_executable(k->r->pipelines[ADD], (vy_stop_condition){0}, 0, &code, &error), VYRE_OK);
    return ((vy_cuda_executable *)((vy_gpu_pipeline *)code->entries->self)->code);
}

static void the_device_computes_what_is_promised(void **state) {
    (void)state;
    static rig r;
    cost k = {.r = &r};
    rig_open(&r);
    vy_cuda *cuda = code_of(&k)->cuda;
    uint64_t promised = vy_ptx_target(cuda->device_info.architecture, 0).exact, given = cuda->base.exact;
    for (int i = 0; i < VYRE_NUMERIC_COUNT; i++)
        if (promised & ~given & UINT64_C(1) << i)
            printf("%s is promised, and the device does something else\n", vyre_numeric_name((vyre_numeric)i));
    assert_int_equal(cuda->base.is_probed, 1);
    assert_int_equal(given, promised);
    rig_close(&r);
}

static struct {
    const vy_cuda_dynamic_symbols *api;
    vy_cuda_executable *code;
    vy_cu_stream stream;
    uint64_t params[8];
} raw;

static int raw_launch(cost *k) {
    (void)k;
    size_t size = raw.code->kernel.param_bytes;
    void *extra[] = {VY_CU_PARAMS_BYTES, raw.params, VY_CU_PARAMS_SIZE, &size, VY_CU_PARAMS_END};
    return raw.api->launch(raw.code->kernel.function, 1, 1, 1, 256, 1, 1, 0, raw.stream, NULL, extra);
}

static int raw_launch_and_wait(cost *k) {
    return raw_launch(k) || raw.api->stream_synchronize(raw.stream);
}

static int raw_context(cost *k) {
    vy_cu_context context;
    (void)k;
    return raw.api->context_current(&context);
}

/* The backend without the library above it. */
static int our_flight(cost *k) {
    vyre_error error;
    const uint64_t elements[] = {256, 256};
    const vyre_launch launch = {.struct_size = sizeof launch,
                                .program = raw.code->base.program,
                                .params = k->arguments.params,
                                .param_count = 1,
                                .elements = elements,
                                .buffer_count = 2,
                                .groups = {1, 1, 1},
                                .label = ""};
    return vy_gpu_submission_run(&raw.code->base, &launch, NULL, k->native, NULL, NULL, &error);
}

static int our_dispatch(cost *k) {
    return vyre_pipeline_dispatch_persistent(k->r->pipelines[ADD], k->bindings, 2, &k->arguments, NULL, &k->r->c.given,
                                             NULL, NULL, NULL);
}

/* Figures for people, and no promise: beside another process on the device each of them may wait for half a
 * millisecond. */
static void a_resident_dispatch_is_a_launch_and_a_wait(void **state) {
    (void)state;
    static rig r;
    cost k = {.r = &r};
    vyre_resident x, y;
    vyre_scalar a = vyre_scalar_u32(1);
    rig_open(&r);
    OK(vyre_resident_allocate(r.c.backend, 1024, NULL, &x, &error));
    OK(vyre_resident_allocate(r.c.backend, 1024, NULL, &y, &error));
    k.bindings[0] = whole(x);
    k.bindings[1] = whole(y);
    k.arguments = (vyre_arguments){.params = &a, .param_count = 1};
    raw.code = code_of(&k);
    raw.api = &raw.code->cuda->api;
    assert_int_equal(raw.api->stream_create(&raw.stream, VY_CU_STREAM_NON_BLOCKING), 0);
    memcpy(k.native, k.bindings, sizeof k.native);
    for (int i = 0; i < 2; i++) {
        vy_resident_use use;
        vyre_error error;
        assert_int_equal(vy_resident_pin(r.c.backend, k.bindings[i].resident, 0, 0, 1, 0, &use, &error), VYRE_OK);
        k.native[i].resident.id = use.native;
        vy_resident_unpin(r.c.backend, &use, 1);
    }
    double ours = time_of(&k, our_dispatch), both = time_of(&k, raw_launch_and_wait), flight = time_of(&k, our_flight),
           context = time_of(&k, raw_context), launch = time_of(&k, raw_launch);
    assert_int_equal(raw.api->stream_synchronize(raw.stream), 0);
    raw.api->stream_destroy(raw.stream);
    printf("a resident dispatch %.0f ns; launch and wait without us %.0f ns (we add %.0f, %.3f times); a launch alone "
           "%.0f ns\n",
           ours, both, ours - both, ours / both, launch);
    printf("of it the backend alone %.0f ns; to ask for the context %.0f ns\n", flight, context);
    OK(vyre_resident_free(r.c.backend, x, &error));
    OK(vyre_resident_free(r.c.backend, y, &error));
    rig_close(&r);
}

/* The same without us, through pinned memory of our own. */
static int raw_round_trip(cost *k) {
    static uint8_t *pinned;
    static vy_cu_address memory;
    (void)k;
    if (!pinned) {
        void *made;
        if (raw.api->host_allocate(&made, 8192, VY_CU_HOST_PORTABLE) || raw.api->memory_allocate(&memory, 8192))
            return 1;
        pinned = made;
        raw.params[0] = memory, raw.params[1] = memory + 4096;
    }
    return raw.api->copy_to_device(memory, pinned, 4096, raw.stream) || raw_launch(k) ||
           raw.api->copy_to_host(pinned, memory + 4096, 4096, raw.stream) || raw.api->stream_synchronize(raw.stream);
}

static int our_round_trip(cost *k) {
    return vyre_pipeline_dispatch_into(k->r->pipelines[ADD], &k->arguments, NULL, &k->r->c.given, NULL, NULL);
}

static void a_small_round_trip_beside_two_copies_and_a_launch(void **state) {
    (void)state;
    static rig r;
    static uint32_t x[1024];
    uint64_t count = 1024;
    vyre_span input = {x, sizeof x};
    vyre_scalar a = vyre_scalar_u32(1);
    cost k = {.r = &r};
    k.arguments = (vyre_arguments){
        .params = &a, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    rig_open(&r);
    raw.code = code_of(&k);
    raw.api = &raw.code->cuda->api;
    memset(raw.params, 0, sizeof raw.params);
    assert_int_equal(raw.api->stream_create(&raw.stream, VY_CU_STREAM_NON_BLOCKING), 0);
    double ours = time_of(&k, our_round_trip), without = time_of(&k, raw_round_trip);
    raw.api->stream_destroy(raw.stream);
    printf("4 KiB there and back: %.0f ns; without us %.0f ns (%.3f times)\n", ours, without, ours / without);
    rig_close(&r);
}

/* The driver's compiler alone, both ways it is reached, and the road to it. Figures for people. */
static void compiling_takes_as_long_as_the_drivers_compiler(void **state) {
    (void)state;
    static rig r;
    cost k = {.r = &r};
    static const char *const names[] = {"add", "refuses", "long"};
    rig_open(&r);
    vy_cuda *cuda = code_of(&k)->cuda;
    const vy_cuda_dynamic_symbols *api = &cuda->api;
    for (int i = 0; i < 3; i++) {
        vyre_program *program = conform_parse(texts, NULL, 0, names[i]);
        vyre_error error = VYRE_ERROR_INIT;
        double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
        for (int round = 0; round < 5; round++) {
            vy_cuda_lowered lowered;
            vy_gpu_executable *code;
            vy_cu_module text, cubin;
            vy_cu_link link;
            void *image;
            size_t size;
            uint64_t at[6] = {vy_clock_now()};
            vy_cuda_lowering how = {.architecture = cuda->device_info.architecture,
                                    .target = vy_ptx_target(cuda->device_info.architecture, 0)};
            how.target.exact = cuda->base.exact;
            assert_int_equal(vy_cuda_lower(program, &how, &lowered, &error), 0);
            at[1] = vy_clock_now();
            assert_int_equal(api->module_load(&text, lowered.code.text.data, 0, NULL, NULL), 0);
            at[2] = vy_clock_now();
            assert_int_equal(api->link_create(0, NULL, NULL, &link), 0);
            assert_int_equal(api->link_add(link, VY_CU_INPUT_PTX, lowered.code.text.data, lowered.code.text.size + 1,
                                           "p", 0, NULL, NULL),
                             0);
            assert_int_equal(api->link_complete(link, &image, &size), 0);
            at[3] = vy_clock_now();
            assert_int_equal(api->module_load(&cubin, image, 0, NULL, NULL), 0);
            at[4] = vy_clock_now();
            assert_int_equal(vy_cuda_compile(&cuda->base, program, 0, &code, &error), 0);
            at[5] = vy_clock_now();
            for (int step = 0; step < 5; step++) {
                double took = (double)(at[step + 1] - at[step]) / 1e6;
                best[step] = took < best[step] ? took : best[step];
            }
            vy_gpu_executable_release(code);
            api->module_unload(text);
            api->module_unload(cubin);
            api->link_destroy(link);
            vy_cuda_lowered_free(&lowered);
        }
        printf("%s: to PTX %.3f ms, loaded as text %.3f, linked %.3f, loaded as a cubin %.3f; ours in all %.3f\n",
               names[i], best[0], best[1], best[2], best[3], best[4]);
        vyre_program_release(program);
    }
    rig_close(&r);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    setenv("CUDA_CACHE_DISABLE", "1", 1); /* the driver's own, which would compile nothing the second time */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_the_stagings_chunks_arrive_whole),
        cmocka_unit_test(large_dispatches_arrive_whole),
        cmocka_unit_test(pieces_have_the_ids_of_the_whole_grid),
        cmocka_unit_test(large_flights_arrive_whole),
        cmocka_unit_test(what_nobody_writes_is_zero),
        cmocka_unit_test(batches_are_all_of_their_items_and_name_the_one_that_failed),
        cmocka_unit_test(resident_buffers_start_as_zero_and_are_read_and_written_in_ranges),
        cmocka_unit_test(steps_see_what_those_before_wrote),
        cmocka_unit_test(rows_run_one_after_the_other),
        cmocka_unit_test(more_memory_than_there_is_is_an_error_with_sizes),
        cmocka_unit_test(times_are_told),
        cmocka_unit_test(a_wait_with_a_timeout_returns_and_may_be_repeated),
        cmocka_unit_test(completions_come_as_flights_end),
        cmocka_unit_test(deadlines_are_kept_to_some_milliseconds),
        cmocka_unit_test(the_device_computes_what_is_promised),
        cmocka_unit_test(a_resident_dispatch_is_a_launch_and_a_wait),
        cmocka_unit_test(a_small_round_trip_beside_two_copies_and_a_launch),
        cmocka_unit_test(compiling_takes_as_long_as_the_drivers_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
