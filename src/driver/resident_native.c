/* Native buffers (resident_native.h). */
#include "driver/resident_native.h"

#include "base/status.h"
#include "driver/backend.h"
#include "driver/trace.h"

vyre_status vy_native_allocate(vyre_backend *backend, uint64_t size, uint64_t *native, vyre_error *error) {
    if (!backend->calls.resident_allocate)
        return vy_backend_unsupported(backend, "resident buffer allocation", error);
    vy_error_clear(error);
    /* A buffer without bytes still has a handle: no device allocates nothing. */
    return vy_backend_check_result(
        backend, backend->calls.resident_allocate(backend->self, size ? size : 1, native, error), error);
}

vyre_status vy_native_free(vyre_backend *backend, uint64_t native, vyre_error *error) {
    if (!backend->calls.resident_free)
        return vy_backend_unsupported(backend, "resident buffer free", error);
    vy_error_clear(error);
    return vy_backend_check_result(backend, backend->calls.resident_free(backend->self, native, error), error);
}

vyre_status vy_native_upload(vyre_backend *backend, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                             vyre_error *error) {
    if (!backend->calls.resident_upload)
        return vy_backend_unsupported(backend, "resident buffer upload", error);
    if (size == 0)
        return VYRE_OK;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status = vy_backend_check_result(
        backend, backend->calls.resident_upload(backend->self, native, offset, data, size, error), error);
    vy_span_end(span, upload, .backend = backend->id, .bytes = size, .status = status);
    if (status == VYRE_OK)
        vy_count(VY_COUNTER_upload_bytes, size);
    return status;
}

vyre_status vy_native_download(vyre_backend *backend, uint64_t native, uint64_t offset, void *data, uint64_t size,
                               vyre_error *error) {
    if (!backend->calls.resident_download)
        return vy_backend_unsupported(backend, "resident buffer download", error);
    if (size == 0)
        return VYRE_OK;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status = vy_backend_check_result(
        backend, backend->calls.resident_download(backend->self, native, offset, data, size, error), error);
    vy_span_end(span, download, .backend = backend->id, .bytes = size, .status = status);
    if (status == VYRE_OK)
        vy_count(VY_COUNTER_download_bytes, size);
    return status;
}

vyre_status vy_native_fail_duplicate(vyre_backend *backend, vyre_error *error) {
    return vy_backend_violation(backend, error, "it allocated a resident buffer under a handle that is in use");
}
