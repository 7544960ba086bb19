/* Memory and streams that somebody else made, on backend `cuda`: in place, in order, given back once; the driver's
 * k-th call failing. */
#include "driver/foreign.h"

#include "backends/cuda/shim.h"
#include "vyre/pipeline.h"

#include <stdlib.h>

/* Another user of the device, in the same context: what the CUDA runtime is. */
typedef struct side {
    rig r;
    vy_cuda_dynamic_symbols api;
    int device;
    vy_cu_context context;
} side;

#define DRIVER(call)                                                                                                   \
    do {                                                                                                               \
        int driver_result = (call);                                                                                    \
        if (driver_result)                                                                                             \
            fail_msg("%s: %d", #call, driver_result);                                                                  \
    } while (0)

static void side_open(side *s) {
    vyre_backend *backend;
    vyre_error error;
    if (vyre_acquire("cuda", &backend, &error) != VYRE_OK)
        VY_SKIP("%s", error.message);
    vyre_backend_release(backend);
    assert_true(rig_open(&s->r, "cuda"));
    assert_int_equal(vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &s->api, NULL), VYRE_OK);
    DRIVER(s->api.device_get(&s->device, 0));
    DRIVER(s->api.context_retain(&s->context, s->device));
    DRIVER(s->api.context_set(s->context));
}

static void side_close(side *s) {
    rig_close(&s->r);
    s->api.context_set(NULL);
    s->api.context_release(s->device);
}

static void side_write(side *s, vy_cu_address to, const void *from, size_t size, vy_cu_stream stream) {
    DRIVER(s->api.copy_to_device(to, from, size, stream));
    DRIVER(s->api.stream_synchronize(stream));
}

static void side_read(side *s, void *to, vy_cu_address from, size_t size) {
    DRIVER(s->api.copy_to_host(to, from, size, NULL));
    DRIVER(s->api.stream_synchronize(NULL));
}

static vy_cu_address side_memory(side *s, const float *values) {
    vy_cu_address address;
    DRIVER(s->api.memory_allocate(&address, sizeof s->r.x));
    side_write(s, address, values, sizeof s->r.x, NULL);
    return address;
}

static vyre_status wrap(side *s, int device, int ordinal, uint64_t address, uint64_t size, vyre_resident *out) {
    vyre_foreign foreign = {.struct_size = sizeof foreign,
                            .location = {device, ordinal, address},
                            .size = size,
                            .release = rig_release,
                            .user = &s->r.released};
    return vyre_resident_wrap(s->r.backend, &foreign, out, &s->r.error);
}

static vyre_resident wrapped(side *s, vy_cu_address address) {
    vyre_resident handle;
    if (wrap(s, VYRE_LOCATION_OWN, 0, address, N * sizeof(float), &handle) != VYRE_OK)
        fail_msg("%s", s->r.error.message);
    return handle;
}

/* ---- memory ---- */

static void a_dispatch_works_on_foreign_device_memory(void **state) {
    (void)state;
    side s;
    side_open(&s);
    for (int shift = 0; shift < 3; shift++) { /* by elements: at 16 bytes, and not */
        vy_cu_address x = side_memory(&s, s.r.x), y = side_memory(&s, s.r.y);
        vyre_resident hx = wrapped(&s, x + 4 * (unsigned)shift), hy = wrapped(&s, y);
        float got[N + 8];
        int released = s.r.released;
        if (rig_run(&s.r, hx, hy) != VYRE_OK)
            fail_msg("%s", s.r.error.message);
        side_read(&s, got, y, sizeof got);
        for (int i = 0; i < N; i++)
            assert_true(got[i] == (float)(5 * i + 2 * shift));
        assert_true(got[N] == (float)(3 * N));
        assert_int_equal(vyre_resident_free(s.r.backend, hx, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_free(s.r.backend, hy, NULL), VYRE_OK);
        assert_int_equal(s.r.released, released + 2);
        side_read(&s, got, x, sizeof got); /* it is still there */
        assert_true(got[5] == 5);
        DRIVER(s.api.memory_free(x));
        DRIVER(s.api.memory_free(y));
    }
    side_close(&s);
}

static void others_work_on_ours(void **state) {
    (void)state;
    side s;
    vyre_resident handle;
    vyre_memory_location location;
    float got[N];
    side_open(&s);
    assert_int_equal(vyre_resident_allocate(s.r.backend, sizeof got, NULL, &handle, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_export(s.r.backend, handle, &location, NULL), VYRE_OK);
    assert_int_equal(location.device, VYRE_LOCATION_CUDA);
    assert_int_equal(location.ordinal, 0);
    side_write(&s, location.address, s.r.x, sizeof got, NULL);
    assert_int_equal(vyre_resident_download_at(s.r.backend, handle, 0, got, sizeof got, NULL), VYRE_OK);
    assert_memory_equal(got, s.r.x, sizeof got);
    assert_int_equal(vyre_resident_free(s.r.backend, handle, NULL), VYRE_CONFLICT);
    assert_int_equal(vyre_resident_unexport(s.r.backend, handle, NULL), VYRE_OK);
    /* As a tensor, out and in. */
    vyre_dl_managed *tensor;
    vyre_resident back;
    vyre_dl_view view;
    int64_t shape[] = {10, N / 10};
    assert_int_equal(vyre_resident_to_dlpack(s.r.backend, handle, VYRE_TYPE_F32, shape, 2, &tensor, NULL), VYRE_OK);
    assert_int_equal(tensor->tensor.device_type, VYRE_LOCATION_CUDA);
    assert_int_equal((uintptr_t)tensor->tensor.data, location.address);
    if (vyre_resident_from_dlpack(s.r.backend, tensor, &back, &view, &s.r.error) != VYRE_OK)
        fail_msg("%s", s.r.error.message);
    assert_int_equal(view.elements, N);
    assert_int_equal(vyre_resident_free(s.r.backend, back, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(s.r.backend, handle, NULL), VYRE_OK);
    side_close(&s);
}

static void expect_refused(side *s, int device, int ordinal, uint64_t address, uint64_t size) {
    vyre_resident handle;
    assert_int_equal(wrap(s, device, ordinal, address, size, &handle), VYRE_INVALID_ARGUMENT);
    printf("refused: %s. Fix: %s\n", s->r.error.message, s->r.error.fix);
    assert_true(s->r.error.fix[0]);
}

static void what_is_not_the_devices_memory_is_refused(void **state) {
    (void)state;
    side s;
    side_open(&s);
    void *pinned, *heap = malloc(4096);
    vy_cu_address x = side_memory(&s, s.r.x);
    assert_non_null(heap);
    DRIVER(s.api.host_allocate(&pinned, 4096, VY_CU_HOST_PORTABLE));
    expect_refused(&s, VYRE_LOCATION_OWN, 0, (uintptr_t)heap, 4096);
    expect_refused(&s, VYRE_LOCATION_OWN, 0, (uintptr_t)pinned, 4096);
    expect_refused(&s, VYRE_LOCATION_CUDA, 0, x,
                   UINT64_C(1) << 34); /* far behind its end, but below the limit of a buffer (32 GiB) */
    expect_refused(&s, VYRE_LOCATION_CUDA, 7, x, 4096);
    expect_refused(&s, VYRE_LOCATION_HOST, 0, x, 4096);
    assert_int_equal(s.r.released, 0);
    free(heap);
    DRIVER(s.api.host_free(pinned));
    DRIVER(s.api.memory_free(x));
    side_close(&s);
}

/* ---- streams ---- */

/* A stream that is busy for some milliseconds, and then writes x. */
static void keep_busy(side *s, vy_cu_stream stream, vy_cu_address room, size_t size, vy_cu_address x, void *pinned) {
    for (int i = 0; i < 200; i++)
        DRIVER(s->api.fill(room, (unsigned char)i, size, stream));
    DRIVER(s->api.copy_to_device(x, pinned, N * sizeof(float), stream));
}

static void a_dispatch_waits_for_a_joined_stream(void **state) {
    enum { ROOM = 256 << 20 };
    (void)state;
    side s;
    side_open(&s);
    vy_cu_stream streams[2];
    vy_cu_address room, x = side_memory(&s, s.r.x), y = side_memory(&s, s.r.y);
    vyre_resident hx = wrapped(&s, x), hy = wrapped(&s, y);
    void *pinned;
    float got[N];
    DRIVER(s.api.memory_allocate(&room, ROOM));
    DRIVER(s.api.host_allocate(&pinned, N * sizeof(float), VY_CU_HOST_PORTABLE));
    for (int i = 0; i < 2; i++)
        DRIVER(s.api.stream_create(&streams[i], VY_CU_STREAM_NON_BLOCKING));
    assert_int_equal(rig_run(&s.r, hx, hy), VYRE_OK); /* compiled */
    for (int round = 0; round < 6; round++) {
        int is_joined = round > 0; /* the first shows what happens without */
        float *values = pinned;
        DRIVER(s.api.context_synchronize());
        for (int i = 0; i < N; i++)
            values[i] = (float)(round * 1000 + i);
        side_write(&s, y, s.r.y, N * sizeof(float), NULL);
        keep_busy(&s, round == 5 ? NULL : streams[round % 2], room, ROOM, x, pinned);
        if (is_joined && vyre_stream_join(s.r.backend, round == 5 ? NULL : streams[round % 2], &s.r.error) != VYRE_OK)
            fail_msg("%s", s.r.error.message);
        if (is_joined) /* a second one that has nothing to do takes nothing away */
            assert_int_equal(vyre_stream_join(s.r.backend, streams[(round + 1) % 2], NULL), VYRE_OK);
        int was_busy = s.api.stream_query(round == 5 ? NULL : streams[round % 2]) == VY_CU_NOT_READY;
        assert_int_equal(rig_run(&s.r, hx, hy), VYRE_OK);
        DRIVER(s.api.context_synchronize());
        side_read(&s, got, y, sizeof got);
        int wrong = 0;
        for (int i = 0; i < N; i++)
            wrong += got[i] != 2 * values[i] + (float)(3 * i);
        printf("round %d: %s, the stream was %s, %d of %d values are of before\n", round,
               is_joined ? "joined" : "not joined", was_busy ? "busy" : "idle", wrong, N);
        assert_true(!is_joined || wrong == 0);
    }
    /* What is put into a stream after a dispatch finds its results. */
    DRIVER(s.api.copy_to_host(pinned, y, N * sizeof(float), streams[0]));
    DRIVER(s.api.stream_synchronize(streams[0]));
    assert_memory_equal(pinned, got, sizeof got);
    for (int i = 0; i < 2; i++)
        DRIVER(s.api.stream_destroy(streams[i]));
    DRIVER(s.api.host_free(pinned));
    DRIVER(s.api.memory_free(room));
    assert_int_equal(vyre_resident_free(s.r.backend, hx, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(s.r.backend, hy, NULL), VYRE_OK);
    DRIVER(s.api.memory_free(x));
    DRIVER(s.api.memory_free(y));
    side_close(&s);
}

/* ---- grids from a buffer ---- */

static const char grids_text[] = "program dims {\n  buffer d : u32 read_write\n  grid 1\n  d[1] = 7\n}\n"
                                 "program count {\n  buffer d : u32 read\n  buffer out : u32 read_write\n"
                                 "  workgroup 32\n  grid indirect d[1]\n  atomic_add(out[0], 1)\n}\n";

/* Alone, and in a sequence whose first step makes the grid of the second. */
static void a_grid_comes_from_a_resident_buffer(void **state) {
    (void)state;
    side s;
    side_open(&s);
    vyre_module *module;
    vyre_pipeline *pipelines[2];
    vyre_resident d, out;
    uint32_t start[] = {99, 2, 3, 4}, count = 0;
    if (vyre_text_parse(grids_text, sizeof grids_text - 1, NULL, NULL, &module, &s.r.error) != VYRE_OK)
        fail_msg("%s", s.r.error.message);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(vyre_compile(s.r.backend, vyre_module_program(module, i), NULL, &pipelines[i], NULL), VYRE_OK);
    assert_int_equal(vyre_backend_capability(s.r.backend, VYRE_CAPABILITY_INDIRECT_DISPATCH), 1);
    assert_int_equal(vyre_resident_allocate(s.r.backend, sizeof start, start, &d, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(s.r.backend, 4, NULL, &out, NULL), VYRE_OK);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = d},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = out}};
    vyre_step steps[2] = {{pipelines[0], bindings, 1, NULL}, {pipelines[1], bindings, 2, NULL}};
    vyre_readback readback = {out, 0, 4, &count};
    assert_int_equal(vyre_sequence_run(s.r.backend, &steps[1], 1, &readback, 1, NULL, NULL, NULL, NULL, NULL), VYRE_OK);
    assert_int_equal(count, 2 * 3 * 4 * 32);
    if (vyre_sequence_run(s.r.backend, steps, 2, &readback, 1, NULL, NULL, NULL, NULL, &s.r.error) != VYRE_OK)
        fail_msg("%s", s.r.error.message);
    assert_int_equal(count, (2 + 7) * 3 * 4 * 32);
    assert_int_equal(vyre_backend_dispatch_resident(s.r.backend, vyre_module_program(module, 1), bindings, 2, NULL,
                                                    NULL, NULL, NULL, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_resident_download_at(s.r.backend, out, 0, &count, 4, NULL), VYRE_OK);
    assert_int_equal(count, (2 + 7 + 7) * 3 * 4 * 32);
    for (int i = 0; i < 2; i++)
        vyre_pipeline_release(pipelines[i]);
    vyre_module_free(module);
    side_close(&s);
}

/* ---- faults ---- */

/* All of it on a backend that has run the program before, with memory of our own that is wrapped a second time. */
static vyre_status strike(rig *r, uint64_t k, int result, const char **struck, vyre_error *error) {
    vyre_resident x, y, back;
    vyre_memory_location location = {0};
    float got[N];
    int was_wrapped = 0;
    assert_int_equal(vyre_acquire("cuda", &r->backend, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(r->backend, sizeof got, NULL, &x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(r->backend, sizeof got, NULL, &y, NULL), VYRE_OK);
    assert_int_equal(rig_run(r, x, y), VYRE_OK);
    shim_start(k, result);
    vyre_status status = vyre_resident_export(r->backend, y, &location, error);
    vyre_foreign foreign = {.struct_size = sizeof foreign,
                            .location = location,
                            .size = sizeof got,
                            .release = rig_release,
                            .user = &r->released};
    if (status == VYRE_OK) {
        status = vyre_resident_wrap(r->backend, &foreign, &back, error);
        was_wrapped = status == VYRE_OK;
    }
    for (int i = 0; i < 2 && status == VYRE_OK; i++) {
        status = vyre_stream_join(r->backend, NULL, error);
        if (status == VYRE_OK) {
            status = rig_run(r, x, back);
            *error = r->error;
        }
    }
    if (status == VYRE_OK)
        status = vyre_resident_download_at(r->backend, y, 0, got, sizeof got, error);
    *struck = shim_stop();
    vyre_backend_release(r->backend);
    assert_int_equal(r->released, was_wrapped);
    r->released = 0;
    return status;
}

static void whichever_call_fails_nothing_is_left(void **state) {
    (void)state;
    static const int results[] = {2, 400, 700};
    side s;
    vyre_error error;
    side_open(&s);
    vyre_backend_release(s.r.backend);
    shim_install();
    for (size_t kind = 0; kind < sizeof results / sizeof *results; kind++) {
        unsigned k = 0, failed = 0;
        const char *struck;
        do {
            vyre_status status = strike(&s.r, ++k, results[kind], &struck, &error);
            if (!struck && status != VYRE_OK)
                fail_msg("%s", error.message);
            if (status != VYRE_OK && !error.fix[0])
                fail_msg("call %u (%s): no fix: %s", k, struck, error.message);
            if (shim_leaks())
                fail_msg("call %u (%s): left%s", k, struck ? struck : "none", shim_leaks());
            failed += status != VYRE_OK;
        } while (struck);
        printf("result %d at each of %u calls: %u times an error, nothing was left\n", results[kind], k - 1, failed);
    }
    vy_cuda_dynamic_symbols_wrap(NULL);
    vyre_module_free(s.r.module);
    s.api.context_set(NULL);
    s.api.context_release(s.device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dispatch_works_on_foreign_device_memory),
        cmocka_unit_test(others_work_on_ours),
        cmocka_unit_test(what_is_not_the_devices_memory_is_refused),
        cmocka_unit_test(a_dispatch_waits_for_a_joined_stream),
        cmocka_unit_test(a_grid_comes_from_a_resident_buffer),
        cmocka_unit_test(whichever_call_fails_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
