/* A launch sets only the arguments that differ from those set on its kernel object. The results are correct when a new
 * buffer has the address of a freed one, after a failed call, and after a recovery. */
#include "backends/conform.h"
#include "backends/opencl/shim.h"

static const char text[] =
    "program plain {\n param a : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n"
    " if global_id.x < len(y) { y[global_id.x] = x[global_id.x] * a + 1 }\n}\n";

/* COUNT: each buffer has a separate memory object. FEW: buffers share one. */
enum { COUNT = 20000, FEW = 64 };

/* ---- memory objects whose addresses are reused immediately: the lowest free one ---- */

enum { OBJECTS = 64 };
static struct {
    vy_ocl_dynamic_symbols real;
    vy_cl_memory objects[OBJECTS];
    uint64_t made[OBJECTS]; /* the number of objects that had this address */
} table;

static vy_cl_memory real_of(vy_cl_memory given) {
    return *(vy_cl_memory *)(void *)given;
}

static vy_cl_memory table_create(vy_cl_context context, uint64_t flags, size_t size, void *host, int32_t *result) {
    int i = 0;
    while (i < OBJECTS && table.objects[i])
        i++;
    assert_true(i < OBJECTS);
    table.objects[i] = table.real.memory_create(context, flags, size, host, result);
    table.made[i]++;
    return table.objects[i] ? (vy_cl_memory)(void *)&table.objects[i] : NULL;
}

static int32_t table_release(vy_cl_memory memory) {
    int32_t result = table.real.memory_release(real_of(memory));
    *(vy_cl_memory *)(void *)memory = NULL;
    return result;
}

static int32_t table_argument(vy_cl_kernel kernel, uint32_t index, size_t size, const void *value) {
    uintptr_t given = 0;
    if (size == sizeof given)
        memcpy(&given, value, sizeof given);
    int is_memory = given >= (uintptr_t)table.objects && given < (uintptr_t)(table.objects + OBJECTS);
    return table.real.set_argument(kernel, index, size, is_memory ? (const void *)given : value);
}

static int32_t table_read(vy_cl_queue queue, vy_cl_memory memory, uint32_t is_blocking, size_t offset, size_t size,
                          void *to, uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event) {
    return table.real.enqueue_read(queue, real_of(memory), is_blocking, offset, size, to, wait_count, wait, event);
}

static int32_t table_write(vy_cl_queue queue, vy_cl_memory memory, uint32_t is_blocking, size_t offset, size_t size,
                           const void *from, uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event) {
    return table.real.enqueue_write(queue, real_of(memory), is_blocking, offset, size, from, wait_count, wait, event);
}

static int32_t table_fill(vy_cl_queue queue, vy_cl_memory memory, const void *pattern, size_t pattern_size,
                          size_t offset, size_t size, uint32_t wait_count, const vy_cl_event *wait,
                          vy_cl_event *event) {
    return table.real.enqueue_fill(queue, real_of(memory), pattern, pattern_size, offset, size, wait_count, wait,
                                   event);
}

static void *table_map(vy_cl_queue queue, vy_cl_memory memory, uint32_t is_blocking, uint64_t flags, size_t offset,
                       size_t size, uint32_t wait_count, const vy_cl_event *wait, vy_cl_event *event, int32_t *result) {
    return table.real.enqueue_map(queue, real_of(memory), is_blocking, flags, offset, size, wait_count, wait, event,
                                  result);
}

static int32_t table_unmap(vy_cl_queue queue, vy_cl_memory memory, void *mapped, uint32_t wait_count,
                           const vy_cl_event *wait, vy_cl_event *event) {
    return table.real.enqueue_unmap(queue, real_of(memory), mapped, wait_count, wait, event);
}

static void wrap(vy_ocl_dynamic_symbols *api) {
    shim_wrap(api);
    table.real = shim.real;
    shim.real.memory_create = table_create;
    shim.real.memory_release = table_release;
    shim.real.set_argument = table_argument;
    shim.real.enqueue_read = table_read;
    shim.real.enqueue_write = table_write;
    shim.real.enqueue_fill = table_fill;
    shim.real.enqueue_map = table_map;
    shim.real.enqueue_unmap = table_unmap;
}

/* ---- dispatches ---- */

static conform c;
static vyre_backend *backend;
static vyre_pipeline *pipeline;
static uint32_t values[2][COUNT];

static void open_backend(void) {
    vyre_error error = VYRE_ERROR_INIT;
    vy_ocl_dynamic_symbols_wrap(wrap);
    conform_open(&c, "opencl");
    backend = c.backend;
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    if (vyre_compile(backend, program, NULL, &pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program_release(program);
    for (int n = 0; n < 2; n++)
        for (uint32_t i = 0; i < COUNT; i++)
            values[n][i] = i * 2654435761u + (uint32_t)n;
}

static void close_backend(void) {
    vyre_pipeline_release(pipeline);
    conform_close(&c);
    vy_ocl_dynamic_symbols_wrap(NULL);
    assert_null(shim_leaks());
}

static vyre_resource allocate(const uint32_t *source, size_t count) {
    vyre_resource resource = {.kind = VYRE_RESOURCE_RESIDENT};
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_resident_allocate(backend, count * 4, source, &resource.resident, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return resource;
}

static void release(vyre_resource resource) {
    assert_int_equal(vyre_resident_free(backend, resource.resident, NULL), VYRE_OK);
}

static vyre_status dispatch(vyre_resource x, vyre_resource y, uint32_t a) {
    const vyre_resource bindings[] = {x, y};
    vyre_scalar param = vyre_scalar_u32(a);
    vyre_arguments arguments = {.params = &param, .param_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status =
        vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, &arguments, NULL, &outputs, NULL, NULL, &error);
    vyre_outputs_free(&outputs);
    if (status != VYRE_OK && !shim.strike)
        fail_msg("%s", error.message);
    return status;
}

/* Dispatches and compares the output; returns the number of driver calls. */
static uint64_t check(vyre_resource x, vyre_resource y, uint32_t a, const uint32_t *given, size_t count) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    shim_start(0, 0);
    assert_int_equal(dispatch(x, y, a), VYRE_OK);
    uint64_t calls = shim.calls;
    assert_int_equal(vyre_resident_download(backend, y.resident, &bytes, &error), VYRE_OK);
    assert_int_equal(bytes.size, count * 4);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(((const uint32_t *)bytes.data)[i], given[i] * a + 1);
    vyre_bytes_free(&bytes);
    return calls;
}

enum { LAUNCH_AND_WAIT = 2, NEW_SLOT = 2 };

static void arguments_that_are_set_are_not_set_again(void **state) {
    (void)state;
    open_backend();
    vyre_resource x = allocate(values[0], COUNT), y = allocate(NULL, COUNT), z = allocate(values[1], COUNT);
    vyre_resource few = allocate(values[1], FEW), more = allocate(NULL, FEW);
    assert_int_equal(check(x, y, 3, values[0], COUNT), LAUNCH_AND_WAIT + 3);
    assert_int_equal(check(x, y, 3, values[0], COUNT), LAUNCH_AND_WAIT);
    assert_int_equal(check(x, y, 4, values[0], COUNT), LAUNCH_AND_WAIT + 1); /* the values */
    assert_int_equal(check(z, y, 4, values[1], COUNT), LAUNCH_AND_WAIT + 1); /* a buffer */
    assert_int_equal(check(few, more, 4, values[1], FEW), LAUNCH_AND_WAIT + 3);
    assert_int_equal(check(few, more, 4, values[1], FEW), LAUNCH_AND_WAIT);
    release(x), release(y), release(z), release(few), release(more);
    close_backend();
}

static void an_address_that_is_used_again_is_another_buffer(void **state) {
    (void)state;
    open_backend();
    vyre_resource y = allocate(NULL, COUNT), x = allocate(values[0], COUNT);
    check(x, y, 5, values[0], COUNT);
    for (int i = 1; i < 6; i++) {
        uint64_t made[OBJECTS], again = 0;
        memcpy(made, table.made, sizeof made);
        release(x);
        x = allocate(values[i % 2], COUNT);
        for (int n = 0; n < OBJECTS; n++)
            again += made[n] && table.made[n] > made[n];
        assert_int_equal(again, 1);
        assert_int_equal(check(x, y, 5, values[i % 2], COUNT), LAUNCH_AND_WAIT + 1);
    }
    release(x), release(y);
    close_backend();
}

static void an_argument_that_was_refused_is_set_again(void **state) {
    (void)state;
    open_backend();
    vyre_resource x = allocate(values[0], COUNT), y = allocate(NULL, COUNT), z = allocate(values[1], COUNT);
    check(x, y, 6, values[0], COUNT);
    for (int i = 0; i < 2; i++) { /* a buffer, the values */
        shim_start(1, VY_CL_INVALID_VALUE);
        assert_int_not_equal(dispatch(i ? x : z, y, i ? 7 : 6), VYRE_OK);
        assert_string_equal(shim_stop(), "set_argument");
        assert_int_equal(check(x, y, 6, values[0], COUNT), NEW_SLOT + LAUNCH_AND_WAIT + 1);
    }
    release(x), release(y), release(z);
    close_backend();
}

static void all_are_set_again_after_a_recovery(void **state) {
    (void)state;
    open_backend();
    vyre_resource x = allocate(values[0], COUNT), y = allocate(NULL, COUNT);
    vyre_error error = VYRE_ERROR_INIT;
    check(x, y, 8, values[0], COUNT);
    for (int i = 0; i < 2; i++) {
        shim_start(1, VY_CL_INVALID_QUEUE);
        assert_int_equal(dispatch(x, y, 8), VYRE_DEVICE_LOST);
        assert_non_null(shim_stop());
        if (vyre_backend_try_recover(backend, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        vyre_resident_free(backend, y.resident, NULL); /* stale: it has no source */
        y = allocate(NULL, COUNT);
        check(x, y, 8, values[0], COUNT);
        assert_int_equal(check(x, y, 8, values[0], COUNT), LAUNCH_AND_WAIT);
    }
    release(x), release(y);
    close_backend();
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_that_are_set_are_not_set_again),
        cmocka_unit_test(an_address_that_is_used_again_is_another_buffer),
        cmocka_unit_test(an_argument_that_was_refused_is_set_again),
        cmocka_unit_test(all_are_set_again_after_a_recovery),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    setenv("VYRE_OPENCL_SHARED", "0", 1);
    return failures + cmocka_run_group_tests(tests, NULL, NULL);
}
