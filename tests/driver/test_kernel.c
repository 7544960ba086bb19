/* Kernels: programs on the caller's memory, on every built-in backend that starts here. */
#include "support/fault.h"
#include "support/test.h"

#include "vyre/kernel.h"
#include "vyre/wire.h"

enum { ELEMENTS = 1000 };

static const char *const backends[] = {"reference", "cpu"};
enum { BACKENDS = sizeof backends / sizeof *backends };

static vyre_bytes wire_of(const char *text) {
    vyre_program *program = vy_test_parse(text);
    vyre_bytes wire = VYRE_BYTES_INIT;
    assert_int_equal(vyre_wire_encode(program, 0, &wire, NULL), VYRE_OK);
    vyre_program_release(program);
    return wire;
}

/* NULL if the backend does not start or compile here. */
static vyre_kernel *kernel_of(const char *text, const char *backend) {
    vyre_bytes wire = wire_of(text);
    vyre_policy policy = {.only = backend};
    vyre_kernel *kernel;
    vyre_error error;
    vyre_status status = vyre_kernel_open(wire.data, wire.size, &policy, &kernel, &error);
    if (status != VYRE_OK && status != VYRE_NOT_FOUND && status != VYRE_UNSUPPORTED)
        fail_msg("%s: %s", backend, error.message);
    vyre_bytes_free(&wire);
    if (!kernel)
        printf("note: `%s` does not run here\n", backend);
    return kernel;
}

static const char scale[] = "program scale {\n param a : f32\n buffer x : f32 read\n buffer y : f32 read_write\n"
                            " workgroup 64\n grid over y\n let i = global_id.x\n y[i] = a * x[i] + y[i]\n}\n";

static void a_run_works_on_the_callers_memory(void **state) {
    (void)state;
    for (int b = 0; b < BACKENDS; b++) {
        float x[ELEMENTS], y[ELEMENTS];
        vyre_kernel *kernel = kernel_of(scale, backends[b]);
        vyre_scalar a = vyre_scalar_f32(2.0f);
        for (int i = 0; i < ELEMENTS; i++)
            x[i] = (float)i, y[i] = 1.0f;
        for (int k = 1; kernel && k < 4; k++) {
            vyre_kernel_buffer buffers[2] = {{.data = x, .count = ELEMENTS}, {.data = y, .count = ELEMENTS}};
            assert_int_equal(vyre_kernel_run(kernel, &a, 1, buffers, 2, NULL, NULL, NULL, NULL), VYRE_OK);
            for (int i = 0; i < ELEMENTS; i++)
                assert_true(y[i] == 1.0f + 2.0f * (float)(k * i));
        }
        if (kernel)
            assert_string_equal(vyre_kernel_backend_id(kernel), backends[b]);
        vyre_kernel_close(kernel);
    }
}

static void shared_and_unaligned_memory_is_copied(void **state) {
    (void)state;
    for (int b = 0; b < BACKENDS; b++) {
        vyre_kernel *kernel = kernel_of(scale, backends[b]);
        vyre_scalar a = vyre_scalar_f32(2.0f);
        float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        char bytes[sizeof x + 4];
        if (!kernel)
            continue;
        memcpy(bytes + 1, x, sizeof x);
        vyre_kernel_buffer apart[2] = {{.data = x, .count = 8}, {.data = bytes + 1, .count = 8}};
        assert_int_equal(vyre_kernel_run(kernel, &a, 1, apart, 2, NULL, NULL, NULL, NULL), VYRE_OK);
        vyre_kernel_buffer same[2] = {{.data = x, .count = 8}, {.data = x, .count = 8}};
        assert_int_equal(vyre_kernel_run(kernel, &a, 1, same, 2, NULL, NULL, NULL, NULL), VYRE_OK);
        for (int i = 0; i < 8; i++) {
            float copied;
            memcpy(&copied, bytes + 1 + 4 * i, 4);
            assert_true(x[i] == 3.0f * (float)(i + 1));
            assert_true(copied == x[i]);
        }
        vyre_kernel_close(kernel);
    }
}

/* What a program does not write of a `write` buffer is zero, whatever was there. */
static void outputs_start_as_zero_and_need_room(void **state) {
    (void)state;
    static const char some[] = "program some {\n buffer x : u32 read\n buffer y : u32 write count len(x) / 2\n"
                               " buffer z : u32 write\n workgroup 4\n grid over x\n let i = global_id.x\n"
                               " if i % 3 == 0 { y[i] = x[i]\n z[i] = 7 }\n}\n";
    for (int b = 0; b < BACKENDS; b++) {
        vyre_kernel *kernel = kernel_of(some, backends[b]);
        uint32_t x[12], y[8], z[5];
        vyre_error error;
        if (!kernel)
            continue;
        for (int i = 0; i < 12; i++)
            x[i] = 100 + (uint32_t)i;
        memset(y, 0xff, sizeof y);
        memset(z, 0xff, sizeof z);
        vyre_kernel_buffer buffers[3] = {{.data = x, .count = 12}, {.data = y, .count = 8}, {.data = z, .count = 5}};
        assert_int_equal(vyre_kernel_run(kernel, NULL, 0, buffers, 3, NULL, NULL, NULL, &error), VYRE_OK);
        assert_int_equal(buffers[1].count, 6);
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(y[i], i % 3 ? 0 : x[i]);
        assert_int_equal(y[6], UINT32_MAX);
        for (uint32_t i = 0; i < 5; i++)
            assert_int_equal(z[i], i % 3 ? 0 : 7);
        buffers[1].count = 5;
        assert_int_equal(vyre_kernel_run(kernel, NULL, 0, buffers, 3, NULL, NULL, NULL, &error), VYRE_INVALID_ARGUMENT);
        assert_string_equal(error.message, "buffer `y` receives 6 elements, but has room for 5");
        assert_string_equal(error.fix, "make room for 6 elements");
        vyre_kernel_close(kernel);
    }
}

static void resident_buffers_are_used_where_they_are(void **state) {
    (void)state;
    for (int b = 0; b < BACKENDS; b++) {
        vyre_kernel *kernel = kernel_of(scale, backends[b]), *second = NULL;
        vyre_scalar a = vyre_scalar_f32(2.0f);
        float x[4] = {1, 2, 3, 4}, y[8] = {0, 0, 0, 0, 1, 1, 1, 1}, out[4];
        vyre_bytes wire = wire_of(scale);
        vyre_resident resident;
        if (kernel) {
            vyre_backend *backend = vyre_kernel_backend(kernel);
            assert_int_equal(vyre_kernel_open_on(backend, wire.data, wire.size, &second, NULL), VYRE_OK);
            assert_int_equal(vyre_resident_allocate(backend, sizeof y, y, &resident, NULL), VYRE_OK);
            vyre_kernel_buffer buffers[2] = {{.data = x, .count = 4}, {.resident = resident, .offset = 16, .count = 4}};
            assert_int_equal(vyre_kernel_run(kernel, &a, 1, buffers, 2, NULL, NULL, NULL, NULL), VYRE_OK);
            assert_int_equal(vyre_kernel_run(second, &a, 1, buffers, 2, NULL, NULL, NULL, NULL), VYRE_OK);
            assert_int_equal(vyre_resident_download_at(backend, resident, 16, out, sizeof out, NULL), VYRE_OK);
            for (int i = 0; i < 4; i++)
                assert_true(out[i] == 1.0f + 4.0f * x[i]);
            assert_int_equal(vyre_resident_free(backend, resident, NULL), VYRE_OK);
        }
        vyre_kernel_close(second);
        vyre_kernel_close(kernel);
        vyre_bytes_free(&wire);
    }
}

static void arguments_that_do_not_fit_are_named(void **state) {
    (void)state;
    vyre_kernel *kernel = kernel_of(scale, "reference");
    vyre_scalar a = vyre_scalar_f32(2.0f);
    float x[2] = {1, 2};
    vyre_kernel_buffer buffers[2] = {{.data = x, .count = 2}, {.count = 2}};
    vyre_error error;
    assert_int_equal(vyre_kernel_run(kernel, &a, 1, buffers, 1, NULL, NULL, NULL, &error), VYRE_INVALID_ARGUMENT);
    assert_string_equal(error.fix, "pass 2 buffers");
    assert_int_equal(vyre_kernel_run(kernel, &a, 1, buffers, 2, NULL, NULL, NULL, &error), VYRE_INVALID_ARGUMENT);
    assert_string_equal(error.message, "buffer `y` has 2 elements and no memory");
    buffers[1].data = x;
    assert_int_equal(vyre_kernel_run(kernel, &a, 0, buffers, 2, NULL, NULL, NULL, &error), VYRE_INVALID_ARGUMENT);
    buffers[0].count = SIZE_MAX;
    assert_int_equal(vyre_kernel_run(kernel, &a, 1, buffers, 2, NULL, NULL, NULL, &error), VYRE_LIMIT);
    assert_int_equal(vyre_kernel_run(NULL, &a, 1, buffers, 2, NULL, NULL, NULL, &error), VYRE_INVALID_ARGUMENT);
    vyre_kernel_close(kernel);
    assert_int_equal(vyre_kernel_open("nothing", 7, NULL, &kernel, &error), VYRE_CORRUPT);
    assert_null(kernel);
}

static vyre_status open_and_run(void *user) {
    const vyre_bytes *wire = user;
    vyre_policy policy = {.only = "reference"};
    vyre_scalar a = vyre_scalar_f32(2.0f);
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    vyre_kernel *kernel;
    vyre_status status = vyre_kernel_open(wire->data, wire->size, &policy, &kernel, NULL);
    for (int i = 0; i < 2 && status == VYRE_OK; i++) { /* zero-copy, then by copy */
        vyre_kernel_buffer buffers[2] = {{.data = x, .count = 4}, {.data = i ? x : y, .count = 4}};
        status = vyre_kernel_run(kernel, &a, 1, buffers, 2, NULL, NULL, NULL, NULL);
    }
    vyre_kernel_close(kernel);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    vyre_backend *warm; /* what the process makes once is made */
    assert_int_equal(vyre_acquire("reference", &warm, NULL), VYRE_OK);
    vyre_backend_release(warm);
    vyre_bytes wire = wire_of(scale);
    vy_fault_install();
    VY_FAULT_LOOP_LENIENT(open_and_run, &wire); /* a cache may do without */
    vy_fault_remove();
    vyre_bytes_free(&wire);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_works_on_the_callers_memory),
        cmocka_unit_test(shared_and_unaligned_memory_is_copied),
        cmocka_unit_test(outputs_start_as_zero_and_need_room),
        cmocka_unit_test(resident_buffers_are_used_where_they_are),
        cmocka_unit_test(arguments_that_do_not_fit_are_named),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
