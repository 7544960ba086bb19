/* Resident buffers: handles, ranges, use, and dispatches on them. */
#include "driver/fake.h"

#include "vyre/telemetry.h"

#include <pthread.h>

static vyre_backend *reference(void) {
    vyre_backend *backend;
    assert_int_equal(vyre_acquire("reference", &backend, NULL), VYRE_OK);
    return backend;
}

static vyre_resource whole(vyre_resident resident) {
    return (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = resident};
}

static void bytes_go_up_and_come_down(void **state) {
    (void)state;
    vyre_backend *backend = reference();
    vyre_resident a, empty;
    uint8_t data[16], got[16];
    vyre_bytes all = VYRE_BYTES_INIT;
    uint64_t size;
    for (int i = 0; i < 16; i++)
        data[i] = (uint8_t)(i * 7);
    assert_int_equal(vyre_resident_allocate(backend, 16, NULL, &a, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download(backend, a, &all, NULL), VYRE_OK);
    for (int i = 0; i < 16; i++)
        assert_int_equal(((uint8_t *)all.data)[i], 0); /* fresh memory is zero */
    assert_int_equal(vyre_resident_upload(backend, a, data, 16, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload_at(backend, a, 4, data, 3, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download_at(backend, a, 2, got, 6, NULL), VYRE_OK);
    assert_memory_equal(got, ((uint8_t[]){14, 21, 0, 7, 14, 49}), 6);
    assert_int_equal(vyre_resident_size(backend, a, &size, NULL), VYRE_OK);
    assert_int_equal(size, 16);
    assert_int_equal(vyre_resident_allocate(backend, 0, NULL, &empty, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload(backend, empty, NULL, 0, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(backend, empty, NULL), VYRE_OK);
    vyre_bytes_free(&all);
    vyre_backend_release(backend); /* frees `a` */
}

static void wrong_lengths_are_refused(void **state) {
    (void)state;
    vyre_backend *backend = reference();
    vyre_resident a;
    vyre_error error;
    uint8_t data[32] = {0};
    assert_int_equal(vyre_resident_allocate(backend, 16, NULL, &a, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload(backend, a, data, 15, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "an upload of 15 bytes does not match the resident buffer (16 bytes)"));
    assert_int_equal(vyre_resident_upload(backend, a, data, 17, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_upload_at(backend, a, 10, data, 7, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_upload_at(backend, a, UINT64_MAX, data, 7, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_download_at(backend, a, 7, data, UINT64_MAX - 3, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_upload_at(backend, a, 0, NULL, 4, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_upload_at(backend, a, 16, data, 0, &error), VYRE_OK);
    assert_int_equal(vyre_resident_upload_batch(backend, NULL, 2, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_download_batch(backend, NULL, SIZE_MAX, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_download_batch(backend, NULL, 0, &error), VYRE_OK);
    vyre_backend_release(backend);
}

static void stale_and_foreign_handles_are_refused(void **state) {
    (void)state;
    vyre_backend *backend = reference(), *other = reference();
    vyre_resident a, b, none = {0, 0}, made_up;
    uint8_t data[16] = {0};
    vyre_error error;
    assert_int_equal(vyre_resident_allocate(backend, 16, NULL, &a, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_upload(other, a, data, 16, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "another backend"));
    assert_int_equal(vyre_resident_upload(backend, none, data, 16, &error), VYRE_INVALID_ARGUMENT);
    made_up = (vyre_resident){a.owner, a.id + 1};
    assert_int_equal(vyre_resident_upload(backend, made_up, data, 16, &error), VYRE_INVALID_ARGUMENT);
    made_up = (vyre_resident){a.owner, a.id & ~(uint64_t)UINT32_MAX};
    assert_int_equal(vyre_resident_upload(backend, made_up, data, 16, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_free(backend, a, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(backend, a, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_allocate(backend, 16, NULL, &b, NULL), VYRE_OK);
    assert_true(a.id != b.id); /* the same slot, another generation */
    assert_int_equal(vyre_resident_upload(backend, a, data, 16, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "stale"));
    assert_int_equal(vyre_resident_upload(backend, b, data, 16, &error), VYRE_OK);
    vyre_backend_release(backend);
    vyre_backend_release(other);
}

static void a_handle_given_twice_is_contained(void **state) {
    (void)state;
    fake *f = fake_new();
    vyre_backend *backend = fake_open(f);
    vyre_resident a, b;
    assert_int_equal(vyre_resident_allocate(backend, 16, NULL, &a, NULL), VYRE_OK);
    f->sin = FAKE_SAME_HANDLE;
    assert_int_equal(vyre_resident_allocate(backend, 16, NULL, &b, NULL), VYRE_CORRUPT);
    assert_int_equal(b.owner, 0);
    assert_int_equal(vyre_resident_free(backend, a, NULL), VYRE_OK);
    vyre_backend_release(backend);
}

typedef struct holder {
    vyre_backend *backend;
    fake_case *c;
    vyre_resource bindings[2];
    vyre_status status;
} holder;

static void *hold(void *user) {
    holder *h = user;
    h->status = vyre_backend_dispatch_resident(h->backend, h->c->program, h->bindings, 2, &h->c->arguments, NULL, NULL,
                                               NULL, NULL);
    return NULL;
}

static void freeing_while_in_use_is_a_conflict(void **state) {
    (void)state;
    fake *f = fake_new();
    vyre_backend *backend = fake_open(f);
    fake_case c;
    fake_case_open(&c);
    vyre_resident x, out;
    vyre_error error;
    assert_int_equal(vyre_resident_allocate(backend, sizeof c.x, c.x, &x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(backend, sizeof c.x, NULL, &out, NULL), VYRE_OK);
    holder h = {backend, &c, {whole(x), whole(out)}, VYRE_OK};
    pthread_t thread;
    f->hang_ms = 100;
    assert_int_equal(pthread_create(&thread, NULL, hold, &h), 0);
    while (!atomic_load(&f->calls[FAKE_dispatch_resident]))
        usleep(1000);
    assert_int_equal(vyre_resident_free(backend, x, &error), VYRE_CONFLICT);
    pthread_join(thread, NULL);
    assert_int_equal(h.status, VYRE_OK);
    assert_int_equal(vyre_resident_free(backend, x, &error), VYRE_OK);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

static void an_abandoned_dispatch_keeps_its_buffers(void **state) {
    (void)state;
    fake *f = fake_new();
    _Atomic int destroyed = 0;
    f->destroyed = &destroyed;
    vyre_backend *backend = fake_open(f);
    fake_case c;
    fake_case_open(&c);
    vyre_resident x, out;
    vyre_dispatch_config config = {.timeout_ns = 5000000};
    vyre_counters before, after;
    vyre_counters_get(&before);
    assert_int_equal(vyre_resident_allocate(backend, sizeof c.x, c.x, &x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(backend, sizeof c.x, NULL, &out, NULL), VYRE_OK);
    vyre_resource bindings[2] = {whole(x), whole(out)};
    f->hang_ms = 100;
    assert_int_equal(
        vyre_backend_dispatch_resident(backend, c.program, bindings, 2, &c.arguments, &config, NULL, NULL, NULL),
        VYRE_TIMEOUT);
    assert_int_equal(vyre_backend_try_recover(backend, NULL), VYRE_OK); /* while the call is still out there */
    assert_int_equal(vyre_resident_free(backend, x, NULL), VYRE_INVALID_ARGUMENT);
    vyre_counters_get(&after);
    assert_int_equal(after.resident_bytes, before.resident_bytes); /* they are gone with the device */
    vyre_backend_release(backend);
    for (int i = 0; i < 100 && !atomic_load(&destroyed); i++)
        usleep(10000);
    assert_int_equal(atomic_load(&destroyed), 1);
    fake_case_close(&c);
}

/* A hanging call ends with an error when its device is reset: that is not a report about the recovered device. */
static void an_abandoned_call_does_not_lose_the_recovered_device(void **state) {
    (void)state;
    fake *f = fake_new();
    vyre_backend *backend = fake_open(f);
    fake_case c;
    fake_case_open(&c);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config config = {.timeout_ns = 5000000};
    f->hang_ms = 100;
    f->fail_entry = FAKE_dispatch_borrowed, f->fail_at = 1, f->fail_with = VYRE_DEVICE_LOST;
    assert_int_equal(vyre_backend_dispatch(backend, c.program, &c.arguments, &config, &outputs, NULL, NULL),
                     VYRE_TIMEOUT);
    assert_int_equal(vyre_backend_try_recover(backend, NULL), VYRE_OK);
    f->hang_ms = 0;
    for (int i = 0; i < 1000 && atomic_load(&backend->abandoned); i++)
        usleep(1000);
    assert_int_equal(atomic_load(&backend->abandoned), 0);
    assert_false(vyre_backend_device_lost(backend));
    f->fail_at = 0; /* on a busy machine the deadline can pass before the backend is called */
    assert_int_equal(vyre_backend_dispatch(backend, c.program, &c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
    fake_case_close(&c);
}

static void overlapping_bindings_are_refused_if_one_is_written(void **state) {
    (void)state;
    vyre_backend *backend = reference();
    fake_case c;
    fake_case_open(&c);
    vyre_resident a;
    vyre_error error;
    assert_int_equal(vyre_resident_allocate(backend, 80, NULL, &a, NULL), VYRE_OK);
    vyre_resource bindings[2] = {whole(a), whole(a)};
    bindings[0].size = bindings[1].size = 40;
    bindings[1].offset = 36;
    assert_int_equal(
        vyre_backend_dispatch_resident(backend, c.program, bindings, 2, &c.arguments, NULL, NULL, NULL, &error),
        VYRE_CONFLICT);
    assert_non_null(strstr(error.message, "`x` and `out` overlap"));
    bindings[1].offset = 40;
    assert_int_equal(
        vyre_backend_dispatch_resident(backend, c.program, bindings, 2, &c.arguments, NULL, NULL, NULL, &error),
        VYRE_OK);
    vyre_module *module;
    vyre_program *reads =
        fake_parse("program r {\n buffer a : u32 read\n buffer b : u32 read\n buffer y : u32 write count 1\n grid 1\n"
                   "y[0] = a[0] + b[0] + 5 }",
                   &module);
    vyre_resident y;
    uint32_t got;
    assert_int_equal(vyre_resident_allocate(backend, 4, NULL, &y, NULL), VYRE_OK);
    vyre_resource three[3] = {whole(y), whole(y), whole(y)};
    three[0] = three[1] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = a, .offset = 76};
    assert_int_equal(vyre_backend_dispatch_resident(backend, reads, three, 3, NULL, NULL, NULL, NULL, &error), VYRE_OK);
    assert_int_equal(vyre_resident_download_at(backend, y, 0, &got, 4, NULL), VYRE_OK);
    assert_int_equal(got, 5 + 2); /* out[9] = 0 * 5 + 1 of before, twice */
    vyre_module_free(module);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

static void bindings_that_do_not_fit_are_refused(void **state) {
    (void)state;
    vyre_backend *backend = reference();
    fake_case c;
    fake_case_open(&c);
    vyre_resident x, out;
    vyre_error error;
    assert_int_equal(vyre_resident_allocate(backend, 40, NULL, &x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(backend, 44, NULL, &out, NULL), VYRE_OK);
    vyre_resource bindings[2] = {whole(x), whole(out)};
#define RUN(count)                                                                                                     \
    vyre_backend_dispatch_resident(backend, c.program, bindings, count, &c.arguments, NULL, NULL, NULL, &error)
    assert_int_equal(RUN(1), VYRE_INVALID_ARGUMENT);
    assert_int_equal(RUN(2), VYRE_INVALID_ARGUMENT); /* out has one element too many */
    assert_non_null(strstr(error.message, "the range bound to `out` has 44 bytes, the program states 40"));
    bindings[1].size = 40;
    assert_int_equal(RUN(2), VYRE_OK);
    bindings[0].offset = 2;
    assert_int_equal(RUN(2), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "not a multiple of its element size (4)"));
    bindings[0].offset = 44;
    assert_int_equal(RUN(2), VYRE_INVALID_ARGUMENT);
    bindings[0] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = {c.x, sizeof c.x}};
    assert_int_equal(RUN(2), VYRE_INVALID_ARGUMENT);
#undef RUN
    /* Nothing stays in use after a refusal. */
    assert_int_equal(vyre_resident_free(backend, x, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(backend, out, NULL), VYRE_OK);
    fake_case_close(&c);
    vyre_backend_release(backend);
}

static void a_resident_write_buffer_keeps_what_is_not_written(void **state) {
    (void)state;
    vyre_backend *backend = reference();
    vyre_module *module;
    vyre_program *program = fake_parse("program w {\n buffer y : u32 write\n grid 1\n y[1] = 9 }", &module);
    vyre_resident y;
    uint32_t words[3] = {5, 6, 7};
    vyre_error error;
    assert_int_equal(vyre_resident_allocate(backend, sizeof words, words, &y, NULL), VYRE_OK);
    vyre_resource binding = whole(y);
    assert_int_equal(vyre_backend_dispatch_resident(backend, program, &binding, 1, NULL, NULL, NULL, NULL, &error),
                     VYRE_OK);
    assert_int_equal(vyre_resident_download_at(backend, y, 0, words, sizeof words, NULL), VYRE_OK);
    assert_memory_equal(words, ((uint32_t[]){5, 9, 7}), sizeof words);
    vyre_module_free(module);
    vyre_backend_release(backend);
}

static void an_indirect_grid_is_read_from_the_device(void **state) {
    (void)state;
    vyre_backend *backend = reference();
    vyre_module *module;
    vyre_program *program =
        fake_parse("program g {\n buffer n : u32 read\n buffer y : u32 write count 16\n grid indirect n[1]\n"
                   "y[global_id.x] = 1 }",
                   &module);
    vyre_resident n, y;
    uint32_t grid[4] = {99, 5, 1, 1}, got[16];
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_resident_allocate(backend, sizeof grid, grid, &n, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(backend, sizeof got, NULL, &y, NULL), VYRE_OK);
    vyre_resource bindings[2] = {whole(n), whole(y)};
    if (vyre_backend_dispatch_resident(backend, program, bindings, 2, NULL, NULL, NULL, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(vyre_resident_download_at(backend, y, 0, got, sizeof got, NULL), VYRE_OK);
    for (int i = 0; i < 16; i++)
        assert_int_equal(got[i], i < 5);
    vyre_module_free(module);
    vyre_backend_release(backend);
}

static void batches_are_checked_before_the_first_byte_moves(void **state) {
    (void)state;
    vyre_backend *backend = reference();
    vyre_resident a, b;
    uint32_t one = 1, two = 2, got[2] = {0, 0};
    assert_int_equal(vyre_resident_allocate(backend, 8, NULL, &a, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(backend, 8, NULL, &b, NULL), VYRE_OK);
    vyre_transfer up[2] = {{a, 4, 4, &one}, {b, 6, 4, &two}};
    assert_int_equal(vyre_resident_upload_batch(backend, up, 2, NULL), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_download_at(backend, a, 4, got, 4, NULL), VYRE_OK);
    assert_int_equal(got[0], 0);
    up[1].offset = 0;
    assert_int_equal(vyre_resident_upload_batch(backend, up, 2, NULL), VYRE_OK);
    vyre_transfer down[2] = {{b, 0, 4, &got[0]}, {a, 4, 4, &got[1]}};
    assert_int_equal(vyre_resident_download_batch(backend, down, 2, NULL), VYRE_OK);
    assert_int_equal(got[0], 2);
    assert_int_equal(got[1], 1);
    assert_int_equal(vyre_resident_free(backend, a, NULL), VYRE_OK);
    vyre_backend_release(backend);
}

static void resident_bytes_are_counted_up_and_down(void **state) {
    (void)state;
    vyre_counters before, during, after;
    vyre_counters_get(&before);
    vyre_backend *backend = reference();
    vyre_resident a, b;
    assert_int_equal(vyre_resident_allocate(backend, 100, NULL, &a, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(backend, 28, NULL, &b, NULL), VYRE_OK);
    vyre_counters_get(&during);
    assert_int_equal(during.resident_bytes - before.resident_bytes, 128);
    assert_int_equal(vyre_resident_free(backend, a, NULL), VYRE_OK);
    vyre_backend_release(backend);
    vyre_counters_get(&after);
    assert_int_equal(after.resident_bytes, before.resident_bytes);
    assert_int_equal(after.resident_allocations - before.resident_allocations, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_up_and_come_down),
        cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(stale_and_foreign_handles_are_refused),
        cmocka_unit_test(a_handle_given_twice_is_contained),
        cmocka_unit_test(freeing_while_in_use_is_a_conflict),
        cmocka_unit_test(an_abandoned_dispatch_keeps_its_buffers),
        cmocka_unit_test(an_abandoned_call_does_not_lose_the_recovered_device),
        cmocka_unit_test(overlapping_bindings_are_refused_if_one_is_written),
        cmocka_unit_test(bindings_that_do_not_fit_are_refused),
        cmocka_unit_test(a_resident_write_buffer_keeps_what_is_not_written),
        cmocka_unit_test(an_indirect_grid_is_read_from_the_device),
        cmocka_unit_test(batches_are_checked_before_the_first_byte_moves),
        cmocka_unit_test(resident_bytes_are_counted_up_and_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
