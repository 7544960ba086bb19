/* Foreign memory as resident buffers, and export of resident buffers: no copies, checked, released exactly once. */
#include "driver/foreign.h"

#include "support/fault.h"
#include "vyre/pipeline.h"

static const char *const ids[] = {"reference", "cpu"};
enum { IDS = sizeof ids / sizeof *ids };

static void expect_sum(const rig *r) {
    for (int i = 0; i < N; i++)
        assert_true(r->y[i] == (float)(5 * i));
}

static void a_dispatch_works_on_wrapped_memory_in_place(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        rig r;
        if (!rig_open(&r, ids[i]))
            continue;
        vyre_resident x = rig_wrap(&r, r.x, N * sizeof *r.x, 1), y = rig_wrap(&r, r.y, N * sizeof *r.y, 0);
        if (rig_run(&r, x, y) != VYRE_OK)
            fail_msg("%s: %s", ids[i], r.error.message);
        expect_sum(&r);
        assert_true(r.y[N] == (float)(3 * N)); /* and nothing after it */
        float one = 17;
        assert_int_equal(vyre_resident_upload_at(r.backend, y, 8, &one, sizeof one, NULL), VYRE_OK);
        assert_true(r.y[2] == 17);
        r.y[3] = 19;
        assert_int_equal(vyre_resident_download_at(r.backend, y, 12, &one, sizeof one, NULL), VYRE_OK);
        assert_true(one == 19);
        assert_int_equal(r.released, 0);
        assert_int_equal(vyre_resident_free(r.backend, x, NULL), VYRE_OK);
        assert_int_equal(r.released, 1);
        assert_int_equal(vyre_resident_free(r.backend, x, NULL), VYRE_INVALID_ARGUMENT);
        assert_int_equal(r.released, 1);
        rig_close(&r); /* frees `y` */
        assert_int_equal(r.released, 2);
        assert_true(r.y[3] == 19);
    }
}

static void shutting_down_gives_memory_back(void **state) {
    (void)state;
    rig r;
    assert_true(rig_open(&r, "reference"));
    vyre_resident x = rig_wrap(&r, r.x, N, 0);
    assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK);
    assert_int_equal(r.released, 1);
    assert_int_equal(vyre_resident_free(r.backend, x, NULL), VYRE_DEVICE_LOST);
    rig_close(&r);
    assert_int_equal(r.released, 1);
}

static void read_only_memory_is_not_written(void **state) {
    (void)state;
    rig r;
    float one = 1;
    assert_true(rig_open(&r, "reference"));
    vyre_resident x = rig_wrap(&r, r.x, N * sizeof *r.x, 1), y = rig_wrap(&r, r.y, N * sizeof *r.y, 1);
    assert_int_equal(rig_run(&r, x, y), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(r.error.message, "read-only"));
    assert_int_equal(vyre_resident_upload_at(r.backend, y, 0, &one, sizeof one, &r.error), VYRE_INVALID_ARGUMENT);
    assert_true(r.y[1] == 3);
    rig_close(&r);
}

/* Two handles of the same bytes are the same bytes. */
static void overlaps_are_seen_through_handles(void **state) {
    (void)state;
    rig r;
    assert_true(rig_open(&r, "reference"));
    vyre_resident whole = rig_wrap(&r, r.y, N * sizeof *r.y, 0), again = rig_wrap(&r, r.y, N * sizeof *r.y, 0);
    vyre_resident shifted = rig_wrap(&r, r.y + 4, N * sizeof *r.y, 0);
    assert_int_equal(rig_run(&r, again, whole), VYRE_CONFLICT);
    assert_int_equal(rig_run(&r, shifted, whole), VYRE_CONFLICT);
    vyre_resident first = rig_wrap(&r, r.x, N / 2 * sizeof *r.x, 0);
    vyre_resident second = rig_wrap(&r, r.x + N / 2, N / 2 * sizeof *r.x, 0);
    assert_int_equal(rig_run(&r, first, second), VYRE_OK);
    /* What we exported, and got back. */
    vyre_resident own;
    vyre_memory_location location;
    assert_int_equal(vyre_resident_allocate(r.backend, N * sizeof *r.x, NULL, &own, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_export(r.backend, own, &location, NULL), VYRE_OK);
    vyre_resident back = rig_wrap(&r, (void *)(uintptr_t)location.address, N * sizeof *r.x, 0);
    assert_int_equal(rig_run(&r, own, back), VYRE_CONFLICT);
    assert_int_equal(vyre_resident_unexport(r.backend, own, NULL), VYRE_OK);
    rig_close(&r);
}

static void memory_between_elements_is_refused_when_it_is_bound(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        rig r;
        if (!rig_open(&r, ids[i]))
            continue;
        vyre_resident x = rig_wrap(&r, (char *)r.x + 2, N * sizeof *r.x, 0), y = rig_wrap(&r, r.y, N * sizeof *r.y, 0);
        assert_int_equal(rig_run(&r, x, y), VYRE_INVALID_ARGUMENT);
        assert_non_null(strstr(r.error.message, "not a multiple of its element size (4)"));
        assert_int_equal(vyre_resident_free(r.backend, x, NULL), VYRE_OK); /* nothing is pinned */
        /* At elements, but nothing more. */
        x = rig_wrap(&r, r.x + 1, N * sizeof *r.x, 0);
        assert_int_equal(rig_run(&r, x, y), VYRE_OK);
        for (int k = 0; k < N; k++)
            assert_true(r.y[k] == (float)(5 * k + 2));
        rig_close(&r);
    }
}

/* A compiled program that is dispatched repeatedly uses the fast path. */
static void a_pipeline_sees_all_of_that_too(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        rig r;
        vyre_pipeline *pipeline;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        if (!rig_open(&r, ids[i]))
            continue;
        assert_int_equal(vyre_compile(r.backend, r.program, NULL, &pipeline, NULL), VYRE_OK);
        vyre_resident x = rig_wrap(&r, r.x, N * sizeof *r.x, 1), y = rig_wrap(&r, r.y, N * sizeof *r.y, 0);
        const struct {
            vyre_resident x, y;
            vyre_status status;
        } rows[] = {{x, y, VYRE_OK},
                    {x, y, VYRE_OK},
                    {x, y, VYRE_OK},
                    {rig_wrap(&r, r.y, N * sizeof *r.y, 0), y, VYRE_CONFLICT},
                    {rig_wrap(&r, r.y + 4, N * sizeof *r.y, 0), y, VYRE_CONFLICT},
                    {y, x, VYRE_INVALID_ARGUMENT},
                    {rig_wrap(&r, (char *)r.x + 1, N * sizeof *r.y, 0), y, VYRE_INVALID_ARGUMENT},
                    {x, y, VYRE_OK}};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = rows[k].x},
                                         {.kind = VYRE_RESOURCE_RESIDENT, .resident = rows[k].y}};
            vyre_status status =
                vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, NULL, NULL, &outputs, NULL, NULL, &r.error);
            if (status != rows[k].status)
                fail_msg("%s, row %zu: %s (%s)", ids[i], k, vyre_status_name(status), r.error.message);
        }
        for (int k = 0; k < N; k++)
            assert_true(r.y[k] == (float)(3 * k + 4 * 2 * k));
        vyre_outputs_free(&outputs);
        vyre_pipeline_release(pipeline);
        rig_close(&r);
    }
}

static void wrong_memory_is_refused(void **state) {
    (void)state;
    rig r;
    vyre_resident handle;
    assert_true(rig_open(&r, "reference"));
    vyre_foreign good = {.struct_size = sizeof good,
                         .location = {VYRE_LOCATION_HOST, 0, (uintptr_t)r.x},
                         .size = 16,
                         .release = rig_release,
                         .user = &r.released};
    vyre_foreign wrong = good;
    wrong.struct_size = 8;
    assert_int_equal(vyre_resident_wrap(r.backend, &wrong, &handle, &r.error), VYRE_INVALID_ARGUMENT);
    wrong = good, wrong.location.address = 0;
    assert_int_equal(vyre_resident_wrap(r.backend, &wrong, &handle, &r.error), VYRE_INVALID_ARGUMENT);
    wrong = good, wrong.size = UINT64_MAX - 4;
    assert_int_equal(vyre_resident_wrap(r.backend, &wrong, &handle, &r.error), VYRE_INVALID_ARGUMENT);
    wrong = good, wrong.location.device = VYRE_LOCATION_CUDA;
    assert_int_equal(vyre_resident_wrap(r.backend, &wrong, &handle, &r.error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(r.error.message, "was passed CUDA memory (device type 2)"));
    assert_true(r.error.fix[0]);
    assert_int_equal(handle.id, 0);
    vyre_memory_location location;
    assert_int_equal(vyre_resident_export(r.backend, handle, &location, &r.error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_stream_join(r.backend, NULL, &r.error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(r.error.message, "ordering with a foreign stream"));
    assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_wrap(r.backend, &good, &handle, &r.error), VYRE_DEVICE_LOST);
    assert_int_equal(r.released, 0);
    rig_close(&r);
}

static void nothing_can_be_wrapped(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        rig r;
        uint64_t size;
        if (!rig_open(&r, ids[i]))
            continue;
        vyre_resident empty = rig_wrap(&r, NULL, 0, 0), other = rig_wrap(&r, NULL, 0, 1);
        assert_int_equal(vyre_resident_size(r.backend, empty, &size, NULL), VYRE_OK);
        assert_int_equal(size, 0);
        assert_int_equal(rig_run(&r, other, empty), VYRE_OK);
        assert_int_equal(vyre_resident_free(r.backend, empty, NULL), VYRE_OK);
        assert_int_equal(r.released, 1);
        rig_close(&r);
        assert_int_equal(r.released, 2);
    }
}

static void an_exported_buffer_stays(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        rig r;
        vyre_resident handle;
        vyre_memory_location location, same;
        if (!rig_open(&r, ids[i]))
            continue;
        assert_int_equal(vyre_resident_allocate(r.backend, 64, NULL, &handle, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_unexport(r.backend, handle, &r.error), VYRE_INVALID_ARGUMENT);
        assert_int_equal(vyre_resident_export(r.backend, handle, &location, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_export(r.backend, handle, &same, NULL), VYRE_OK);
        assert_int_equal(location.device, VYRE_LOCATION_HOST);
        assert_int_equal(location.ordinal, 0);
        assert_int_equal(location.address, same.address);
        ((uint32_t *)(uintptr_t)location.address)[3] = 77;
        uint32_t word;
        assert_int_equal(vyre_resident_download_at(r.backend, handle, 12, &word, 4, NULL), VYRE_OK);
        assert_int_equal(word, 77);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(vyre_resident_free(r.backend, handle, &r.error), VYRE_CONFLICT);
            assert_non_null(strstr(r.error.message, "is exported"));
            assert_int_equal(vyre_resident_unexport(r.backend, handle, NULL), VYRE_OK);
        }
        assert_int_equal(vyre_resident_free(r.backend, handle, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_unexport(r.backend, handle, NULL), VYRE_INVALID_ARGUMENT);
        rig_close(&r);
    }
}

/* ---- faults ---- */

static vyre_status wrap_and_export(void *user) {
    vyre_backend *backend;
    vyre_resident handle;
    vyre_memory_location location;
    int words[4] = {1, 2, 3, 4}, released = 0;
    vyre_status status = vyre_acquire(user, &backend, NULL);
    if (status != VYRE_OK)
        return status;
    vyre_foreign foreign = {.struct_size = sizeof foreign,
                            .location = {VYRE_LOCATION_OWN, 0, (uintptr_t)words},
                            .size = sizeof words,
                            .release = rig_release,
                            .user = &released};
    status = vyre_resident_wrap(backend, &foreign, &handle, NULL);
    int was_wrapped = status == VYRE_OK;
    if (was_wrapped)
        status = vyre_resident_export(backend, handle, &location, NULL);
    vyre_backend_release(backend);
    assert_int_equal(released, was_wrapped);
    return status;
}

static void no_allocation_that_fails_leaks(void **state) {
    (void)state;
    vy_fault_install();
    VY_FAULT_LOOP(wrap_and_export, "reference");
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dispatch_works_on_wrapped_memory_in_place),
        cmocka_unit_test(shutting_down_gives_memory_back),
        cmocka_unit_test(read_only_memory_is_not_written),
        cmocka_unit_test(overlaps_are_seen_through_handles),
        cmocka_unit_test(memory_between_elements_is_refused_when_it_is_bound),
        cmocka_unit_test(a_pipeline_sees_all_of_that_too),
        cmocka_unit_test(wrong_memory_is_refused),
        cmocka_unit_test(nothing_can_be_wrapped),
        cmocka_unit_test(an_exported_buffer_stays),
        cmocka_unit_test(no_allocation_that_fails_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
