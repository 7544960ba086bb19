/* DLPack import and export: tensors are checked, nothing is copied, and every deleter is called exactly once. */
#include "driver/foreign.h"

#include "support/fault.h"

static const char *const ids[] = {"reference", "cpu"};
enum { IDS = sizeof ids / sizeof *ids };

/* A tensor of another library. */
typedef struct theirs {
    vyre_dl_managed managed;
    vyre_dl_versioned versioned;
    int64_t shape[4], strides[4];
    int deleted;
} theirs;

static void delete_managed(vyre_dl_managed *self) {
    ((theirs *)self->context)->deleted++;
}

static void delete_versioned(vyre_dl_versioned *self) {
    ((theirs *)self->context)->deleted++;
}

/* f32[count], contiguous, on the host. */
static void theirs_make(theirs *t, void *data, int64_t count) {
    memset(t, 0, sizeof *t);
    t->shape[0] = count;
    t->strides[0] = 1;
    vyre_dl_tensor tensor = {.data = data,
                             .device_type = VYRE_LOCATION_HOST,
                             .ndim = 1,
                             .code = VYRE_DL_FLOAT,
                             .bits = 32,
                             .lanes = 1,
                             .shape = t->shape,
                             .strides = t->strides};
    t->managed = (vyre_dl_managed){tensor, t, delete_managed};
    t->versioned = (vyre_dl_versioned){.major = 1, .minor = 1, .context = t, .deleter = delete_versioned};
    t->versioned.tensor = tensor;
}

/* Both forms are refused alike, and gone. */
static void expect_refused(rig *r, theirs *t, vyre_status status, const char *part) {
    vyre_resident handle = {1, 1};
    vyre_dl_view view;
    t->versioned.tensor = t->managed.tensor;
    assert_int_equal(vyre_resident_from_dlpack(r->backend, &t->managed, &handle, &view, &r->error), status);
    if (!strstr(r->error.message, part))
        fail_msg("`%s` is not in `%s`", part, r->error.message);
    assert_true(r->error.fix[0]);
    assert_int_equal(t->deleted, 1);
    assert_int_equal(handle.id, 0);
    assert_int_equal(vyre_resident_from_dlpack_versioned(r->backend, &t->versioned, &handle, NULL, NULL), status);
    assert_int_equal(t->deleted, 2);
}

/* ---- in ---- */

static void a_tensor_is_used_in_place(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        rig r;
        theirs x, y;
        vyre_resident hx, hy;
        vyre_dl_view view;
        if (!rig_open(&r, ids[i]))
            continue;
        theirs_make(&x, r.x, N);
        theirs_make(&y, r.y, N / 10);
        y.managed.tensor.ndim = 3; /* (N/10) × 1 × 10, the middle dimension with another stride */
        y.shape[1] = 1, y.shape[2] = 10;
        y.strides[0] = 10, y.strides[1] = 12345, y.strides[2] = 1;
        assert_int_equal(vyre_resident_from_dlpack_versioned(r.backend, &x.versioned, &hx, NULL, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_from_dlpack(r.backend, &y.managed, &hy, &view, NULL), VYRE_OK);
        assert_int_equal(view.type, VYRE_TYPE_F32);
        assert_int_equal(view.elements, N);
        assert_int_equal(view.is_read_only, 0);
        if (rig_run(&r, hx, hy) != VYRE_OK)
            fail_msg("%s: %s", ids[i], r.error.message);
        for (int k = 0; k < N; k++)
            assert_true(r.y[k] == (float)(5 * k));
        assert_int_equal(x.deleted + y.deleted, 0);
        assert_int_equal(vyre_resident_free(r.backend, hx, NULL), VYRE_OK);
        assert_int_equal(x.deleted, 1);
        rig_close(&r);
        assert_int_equal(x.deleted, 1);
        assert_int_equal(y.deleted, 1);
    }
}

static void an_offset_in_bytes_is_added(void **state) {
    (void)state;
    rig r;
    theirs x;
    vyre_resident handle;
    float got;
    assert_true(rig_open(&r, "reference"));
    theirs_make(&x, r.x, 4);
    x.managed.tensor.byte_offset = 20;
    assert_int_equal(vyre_resident_from_dlpack(r.backend, &x.managed, &handle, NULL, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_download_at(r.backend, handle, 4, &got, 4, NULL), VYRE_OK);
    assert_true(got == 6);
    rig_close(&r);
    assert_int_equal(x.deleted, 1);
}

static void what_is_read_only_stays_so(void **state) {
    (void)state;
    rig r;
    theirs y;
    vyre_resident handle;
    vyre_dl_view view;
    vyre_dl_managed *plain;
    vyre_dl_versioned *out;
    int64_t shape[] = {N};
    assert_true(rig_open(&r, "reference"));
    theirs_make(&y, r.y, N);
    y.versioned.flags = VYRE_DL_READ_ONLY;
    assert_int_equal(vyre_resident_from_dlpack_versioned(r.backend, &y.versioned, &handle, &view, NULL), VYRE_OK);
    assert_int_equal(view.is_read_only, 1);
    vyre_resident x = rig_wrap(&r, r.x, N * sizeof *r.x, 0);
    assert_int_equal(rig_run(&r, x, handle), VYRE_INVALID_ARGUMENT);
    assert_int_equal(rig_run(&r, handle, x), VYRE_OK);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, handle, VYRE_TYPE_F32, shape, 1, &plain, &r.error),
                     VYRE_INVALID_ARGUMENT);
    assert_null(plain);
    assert_int_equal(vyre_resident_to_dlpack_versioned(r.backend, handle, VYRE_TYPE_F32, shape, 1, &out, NULL),
                     VYRE_OK);
    assert_int_equal(out->flags, VYRE_DL_READ_ONLY);
    out->deleter(out);
    assert_int_equal(vyre_resident_free(r.backend, handle, NULL), VYRE_OK); /* no export is left */
    assert_int_equal(y.deleted, 1);
    rig_close(&r);
}

static void empty_tensors_are_fine(void **state) {
    (void)state;
    rig r;
    theirs t;
    vyre_resident handle;
    vyre_dl_view view;
    vyre_dl_managed *out;
    assert_true(rig_open(&r, "reference"));
    theirs_make(&t, NULL, INT64_MAX);
    t.managed.tensor.ndim = 3; /* too large, but for the 0 */
    t.shape[1] = 0, t.shape[2] = INT64_MAX;
    assert_int_equal(vyre_resident_from_dlpack(r.backend, &t.managed, &handle, &view, NULL), VYRE_OK);
    assert_int_equal(view.elements, 0);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, handle, VYRE_TYPE_F32, t.shape, 3, &out, NULL), VYRE_OK);
    assert_null(out->tensor.data);
    assert_int_equal(out->tensor.shape[1], 0);
    out->deleter(out);
    assert_int_equal(vyre_resident_free(r.backend, handle, NULL), VYRE_OK);
    assert_int_equal(t.deleted, 1);
    rig_close(&r);
}

static void every_type_has_a_type(void **state) {
    (void)state;
    static const struct {
        uint8_t code, bits;
        uint16_t lanes;
        vyre_type type;
        unsigned elements;
    } rows[] = {{VYRE_DL_INT, 8, 1, VYRE_TYPE_I8, 6},     {VYRE_DL_INT, 16, 1, VYRE_TYPE_I16, 6},
                {VYRE_DL_INT, 32, 1, VYRE_TYPE_I32, 6},   {VYRE_DL_INT, 64, 1, VYRE_TYPE_I64, 6},
                {VYRE_DL_UINT, 8, 1, VYRE_TYPE_U8, 6},    {VYRE_DL_UINT, 16, 1, VYRE_TYPE_U16, 6},
                {VYRE_DL_UINT, 32, 4, VYRE_TYPE_U32, 24}, {VYRE_DL_UINT, 64, 1, VYRE_TYPE_U64, 6},
                {VYRE_DL_FLOAT, 16, 1, VYRE_TYPE_F16, 6}, {VYRE_DL_FLOAT, 32, 2, VYRE_TYPE_F32, 12},
                {VYRE_DL_FLOAT, 64, 1, VYRE_TYPE_F64, 6}, {VYRE_DL_BFLOAT, 16, 1, VYRE_TYPE_BF16, 6},
                {VYRE_DL_BOOL, 8, 1, VYRE_TYPE_U8, 6}};
    rig r;
    assert_true(rig_open(&r, "reference"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        theirs t;
        vyre_resident handle;
        vyre_dl_view view;
        vyre_dl_managed *out;
        int64_t shape[] = {rows[i].elements};
        theirs_make(&t, r.x, 6);
        t.managed.tensor.code = rows[i].code, t.managed.tensor.bits = rows[i].bits;
        t.managed.tensor.lanes = rows[i].lanes;
        assert_int_equal(vyre_resident_from_dlpack(r.backend, &t.managed, &handle, &view, NULL), VYRE_OK);
        assert_int_equal(view.type, rows[i].type);
        assert_int_equal(view.elements, rows[i].elements);
        assert_int_equal(vyre_resident_to_dlpack(r.backend, handle, view.type, shape, 1, &out, NULL), VYRE_OK);
        assert_int_equal(out->tensor.code, rows[i].code == VYRE_DL_BOOL ? VYRE_DL_UINT : rows[i].code);
        assert_int_equal(out->tensor.bits, rows[i].bits);
        assert_int_equal(out->tensor.lanes, 1);
        out->deleter(out);
        assert_int_equal(vyre_resident_free(r.backend, handle, NULL), VYRE_OK);
        assert_int_equal(t.deleted, 1);
    }
    rig_close(&r);
}

static void what_does_not_fit_is_refused_and_gone(void **state) {
    (void)state;
    rig r;
    theirs t;
    vyre_resident handle;
    assert_true(rig_open(&r, "reference"));
    assert_int_equal(vyre_resident_from_dlpack(r.backend, NULL, &handle, NULL, &r.error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_from_dlpack_versioned(r.backend, NULL, &handle, NULL, &r.error),
                     VYRE_INVALID_ARGUMENT);
    theirs_make(&t, r.x, N / 2);
    t.strides[0] = 2;
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "the tensor is not contiguous in row-major order");
    theirs_make(&t, r.x, 4); /* transposed */
    t.managed.tensor.ndim = 2, t.shape[1] = 3, t.strides[1] = 4;
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "stride");
    theirs_make(&t, r.x, N);
    t.managed.tensor.device_type = VYRE_LOCATION_CUDA;
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "was passed CUDA memory");
    theirs_make(&t, r.x, -1);
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "negative or too large");
    theirs_make(&t, r.x, INT64_MAX);
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "negative or too large");
    theirs_make(&t, r.x, N);
    t.managed.tensor.shape = NULL;
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "negative or too large");
    theirs_make(&t, r.x, N);
    t.managed.tensor.ndim = -1;
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "negative or too large");
    theirs_make(&t, NULL, N);
    expect_refused(&r, &t, VYRE_INVALID_ARGUMENT, "at address 0");
    theirs_make(&t, r.x, N);
    t.managed.tensor.code = VYRE_DL_COMPLEX, t.managed.tensor.bits = 64;
    expect_refused(&r, &t, VYRE_UNSUPPORTED, "have no corresponding type");
    theirs_make(&t, r.x, N);
    t.managed.tensor.bits = 4;
    expect_refused(&r, &t, VYRE_UNSUPPORTED, "have no corresponding type");
    theirs_make(&t, r.x, N);
    t.versioned.major = 2;
    t.versioned.tensor.shape = (int64_t *)1; /* not to be looked at */
    assert_int_equal(vyre_resident_from_dlpack_versioned(r.backend, &t.versioned, &handle, NULL, &r.error),
                     VYRE_UNSUPPORTED);
    assert_int_equal(t.deleted, 1);
    theirs_make(&t, r.x, N); /* no deleter is fine */
    t.managed.deleter = NULL;
    assert_int_equal(vyre_resident_from_dlpack(r.backend, &t.managed, &handle, NULL, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_free(r.backend, handle, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK);
    theirs_make(&t, r.x, N);
    expect_refused(&r, &t, VYRE_DEVICE_LOST, "");
    rig_close(&r);
}

/* ---- out ---- */

static void a_buffer_goes_out_and_comes_back(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        rig r;
        vyre_resident own, back, x;
        vyre_dl_managed *out;
        int64_t shape[] = {4, 5, N / 20};
        if (!rig_open(&r, ids[i]))
            continue;
        assert_int_equal(vyre_resident_allocate(r.backend, N * sizeof *r.y, r.y, &own, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_F32, shape, 3, &out, NULL), VYRE_OK);
        const vyre_dl_tensor *t = &out->tensor;
        assert_int_equal(t->device_type, VYRE_LOCATION_HOST);
        assert_int_equal(t->ndim, 3);
        assert_memory_equal(t->shape, shape, sizeof shape);
        assert_int_equal(t->strides[0], N / 4);
        assert_int_equal(t->strides[1], N / 20);
        assert_int_equal(t->strides[2], 1);
        assert_int_equal(t->byte_offset, 0);
        assert_true(((float *)t->data)[7] == 21);
        ((float *)t->data)[7] = 0;
        assert_int_equal(vyre_resident_free(r.backend, own, NULL), VYRE_CONFLICT);
        /* Back, and used under its second handle. */
        assert_int_equal(vyre_resident_from_dlpack(r.backend, out, &back, NULL, NULL), VYRE_OK);
        x = rig_wrap(&r, r.x, N * sizeof *r.x, 0);
        assert_int_equal(rig_run(&r, x, back), VYRE_OK);
        float got[N];
        assert_int_equal(vyre_resident_download_at(r.backend, own, 0, got, sizeof got, NULL), VYRE_OK);
        for (int k = 0; k < N; k++)
            assert_true(got[k] == (float)(k == 7 ? 14 : 5 * k));
        assert_int_equal(rig_run(&r, own, back), VYRE_CONFLICT);
        assert_int_equal(vyre_resident_free(r.backend, back, NULL), VYRE_OK); /* calls our deleter */
        assert_int_equal(vyre_resident_free(r.backend, own, NULL), VYRE_OK);
        rig_close(&r);
    }
}

static void a_tensor_outlives_the_last_reference_to_its_backend(void **state) {
    (void)state;
    rig r;
    vyre_resident own;
    vyre_dl_versioned *out, *late;
    assert_true(rig_open(&r, "reference"));
    assert_int_equal(vyre_resident_allocate(r.backend, 4, NULL, &own, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_to_dlpack_versioned(r.backend, own, VYRE_TYPE_U32, NULL, 0, &out, NULL), VYRE_OK);
    assert_int_equal(out->major, 1);
    assert_int_equal(out->flags, 0);
    rig_close(&r);
    *(uint32_t *)out->tensor.data = 5;
    out->deleter(out);
    /* And its shutdown: the memory is freed, the tensor can still be deleted. */
    assert_true(rig_open(&r, "reference"));
    assert_int_equal(vyre_resident_allocate(r.backend, 4, NULL, &own, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_to_dlpack_versioned(r.backend, own, VYRE_TYPE_U32, NULL, 0, &late, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_shutdown(r.backend, NULL), VYRE_OK);
    rig_close(&r);
    late->deleter(late);
}

static void a_shape_that_is_not_the_buffers_is_refused(void **state) {
    (void)state;
    rig r;
    vyre_resident own;
    vyre_dl_managed *out;
    int64_t wrong[] = {5}, negative[] = {-2, -2}, huge[] = {INT64_MAX, INT64_MAX};
    assert_true(rig_open(&r, "reference"));
    assert_int_equal(vyre_resident_allocate(r.backend, 16, NULL, &own, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_U32, wrong, 1, &out, &r.error),
                     VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(r.error.message, "20 bytes) does not match the resident buffer (16 bytes)"));
    assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_U32, negative, 2, &out, &r.error),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_U32, huge, 2, &out, &r.error),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_U32, NULL, 1, &out, &r.error),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_BOOL, wrong, 1, &out, &r.error),
                     VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_COUNT, wrong, 1, &out, &r.error),
                     VYRE_INVALID_ARGUMENT);
    assert_null(out);
    assert_int_equal(vyre_resident_free(r.backend, own, NULL), VYRE_OK);
    assert_int_equal(vyre_resident_to_dlpack(r.backend, own, VYRE_TYPE_U32, wrong, 1, &out, &r.error),
                     VYRE_INVALID_ARGUMENT);
    rig_close(&r);
}

/* ---- faults ---- */

static vyre_status there_and_back(void *user) {
    vyre_backend *backend;
    vyre_resident in, own, back;
    vyre_dl_versioned *out;
    uint32_t words[4] = {0};
    int64_t shape[] = {4};
    theirs t;
    vyre_status status = vyre_acquire(user, &backend, NULL);
    if (status != VYRE_OK)
        return status;
    theirs_make(&t, words, 4);
    status = vyre_resident_from_dlpack(backend, &t.managed, &in, NULL, NULL);
    assert_int_equal(t.deleted, status != VYRE_OK);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof words, NULL, &own, NULL);
    if (status == VYRE_OK)
        status = vyre_resident_to_dlpack_versioned(backend, own, VYRE_TYPE_U32, shape, 1, &out, NULL);
    if (status == VYRE_OK)
        status = vyre_resident_from_dlpack_versioned(backend, out, &back, NULL, NULL);
    if (status == VYRE_OK)
        status = vyre_resident_free(backend, back, NULL);
    vyre_backend_release(backend);
    assert_int_equal(t.deleted, 1);
    return status;
}

static void no_allocation_that_fails_leaks(void **state) {
    (void)state;
    vy_fault_install();
    VY_FAULT_LOOP(there_and_back, "reference");
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_is_used_in_place),
        cmocka_unit_test(an_offset_in_bytes_is_added),
        cmocka_unit_test(what_is_read_only_stays_so),
        cmocka_unit_test(empty_tensors_are_fine),
        cmocka_unit_test(every_type_has_a_type),
        cmocka_unit_test(what_does_not_fit_is_refused_and_gone),
        cmocka_unit_test(a_buffer_goes_out_and_comes_back),
        cmocka_unit_test(a_tensor_outlives_the_last_reference_to_its_backend),
        cmocka_unit_test(a_shape_that_is_not_the_buffers_is_refused),
        cmocka_unit_test(no_allocation_that_fails_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
