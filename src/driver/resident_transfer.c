/* Transfers between the host and resident buffers (vyre/driver.h): one range, many ranges. */
#include "base/status.h"

#include "base/thread.h"
#include "driver/backend.h"
#include "driver/resident.h"
#include "driver/resident_native.h"
#include "driver/trace.h"

#include <inttypes.h>

/* ---- one range ---- */

/* One range, either way: `data` is read by an upload and written by a download. */
static vyre_status transfer(vyre_backend *backend, vyre_resident resident, uint64_t offset, void *data, uint64_t size,
                            int upload, vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vy_resident_use use;
    if (upload ? !backend->calls.resident_upload : !backend->calls.resident_download)
        return vy_backend_unsupported(backend, upload ? "resident buffer upload" : "resident buffer download", error);
    vyre_status status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    status = vy_resident_pin(backend, resident, offset, size, 0, upload, &use, e);
    if (status == VYRE_OK) {
        status = upload ? vy_native_upload(backend, use.native, offset, data, size, e)
                        : vy_native_download(backend, use.native, offset, data, size, e);
        vy_resident_unpin(backend, &use, 1);
    }
    vy_backend_leave(backend);
    return status;
}

vyre_status vyre_resident_upload_at(vyre_backend *backend, vyre_resident resident, uint64_t offset, const void *data,
                                    uint64_t size, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, data, size);
    return transfer(backend, resident, offset, (void *)data, size, 1, error);
}

vyre_status vyre_resident_download_at(vyre_backend *backend, vyre_resident resident, uint64_t offset, void *data,
                                      uint64_t size, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, data, size);
    return transfer(backend, resident, offset, data, size, 0, error);
}

vyre_status vyre_resident_upload(vyre_backend *backend, vyre_resident resident, const void *data, uint64_t size,
                                 vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, data, size);
    uint64_t whole;
    if (!backend->calls.resident_upload)
        return vy_backend_unsupported(backend, "resident buffer upload", error);
    vyre_status status = vyre_resident_size(backend, resident, &whole, error);
    if (status == VYRE_OK && size != whole)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("upload exactly %" PRIu64 " bytes, or a range with vyre_resident_upload_at", whole),
                       "an upload of %" PRIu64 " bytes does not match the resident buffer (%" PRIu64 " bytes)", size,
                       whole);
    return status == VYRE_OK ? vyre_resident_upload_at(backend, resident, 0, data, size, error) : status;
}

vyre_status vyre_resident_download(vyre_backend *backend, vyre_resident resident, vyre_bytes *out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, out);
    uint64_t whole;
    if (!backend->calls.resident_download)
        return vy_backend_unsupported(backend, "resident buffer download", error);
    vyre_status status = vyre_resident_size(backend, resident, &whole, error);
    if (status == VYRE_OK)
        status = vyre_bytes_resize(out, (size_t)whole, error);
    return status == VYRE_OK ? vyre_resident_download_at(backend, resident, 0, out->data, whole, error) : status;
}

/* ---- many ranges ---- */

static vyre_status pin_all(vyre_backend *backend, const vyre_transfer *transfers, size_t count, int upload,
                           vy_resident_use *uses, vyre_transfer *native, vyre_error *error) {
    for (size_t i = 0; i < count; i++) {
        vyre_status status = VYRE_OK;
        if (transfers[i].size && !transfers[i].host)
            status = vy_fail(error, VYRE_INVALID_ARGUMENT, "point at the bytes",
                             "%" PRIu64 " bytes of transfer %zu are at a NULL pointer", transfers[i].size, i);
        if (status == VYRE_OK)
            status = vy_resident_pin(backend, transfers[i].resident, transfers[i].offset, transfers[i].size, 0, upload,
                                     &uses[i], error);
        if (status != VYRE_OK) {
            vy_resident_unpin(backend, uses, i);
            return status;
        }
        native[i] = transfers[i];
        native[i].resident.id = uses[i].native;
    }
    return VYRE_OK;
}

static vyre_status run_batch(vyre_backend *backend, const vyre_transfer *native, size_t count, int upload,
                             vyre_error *error) {
    vyre_status (*batch)(void *, const vyre_transfer *, size_t, vyre_error *) =
        upload ? backend->calls.resident_upload_batch : backend->calls.resident_download_batch;
    vyre_status status = VYRE_OK;
    if (!batch) {
        for (size_t i = 0; i < count && status == VYRE_OK; i++)
            status = upload ? vy_native_upload(backend, native[i].resident.id, native[i].offset, native[i].host,
                                               native[i].size, error)
                            : vy_native_download(backend, native[i].resident.id, native[i].offset, native[i].host,
                                                 native[i].size, error);
        return status;
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += native[i].size;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    status = vy_backend_check_result(backend, batch(backend->self, native, count, error), error);
    if (upload)
        vy_span_end(span, upload, .backend = backend->id, .bytes = bytes, .count = count, .status = status);
    else
        vy_span_end(span, download, .backend = backend->id, .bytes = bytes, .count = count, .status = status);
    if (status == VYRE_OK)
        vy_count(upload ? VY_COUNTER_upload_bytes : VY_COUNTER_download_bytes, bytes);
    return status;
}

static vyre_status transfer_all(vyre_backend *backend, const vyre_transfer *transfers, size_t count, int upload,
                                vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    size_t item = sizeof(vy_resident_use) + sizeof(vyre_transfer);
    if (upload ? !backend->calls.resident_upload : !backend->calls.resident_download)
        return vy_backend_unsupported(backend, upload ? "resident buffer upload" : "resident buffer download", error);
    if (count == 0)
        return VYRE_OK;
    vyre_transfer *native = vy_allocate(vy_array_size(count, item));
    if (!native)
        return vy_fail_memory(error, "listing the transfers");
    vy_resident_use *uses = (vy_resident_use *)(native + count);
    vyre_status status = vy_backend_enter(backend, error);
    if (status == VYRE_OK) {
        status = pin_all(backend, transfers, count, upload, uses, native, e);
        if (status == VYRE_OK) {
            status = run_batch(backend, native, count, upload, e);
            vy_resident_unpin(backend, uses, count);
        }
        vy_backend_leave(backend);
    }
    vy_release(native, count * item);
    return status;
}

vyre_status vyre_resident_upload_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                       vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, transfers, count);
    return transfer_all(backend, transfers, count, 1, error);
}

vyre_status vyre_resident_download_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                         vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, transfers, count);
    return transfer_all(backend, transfers, count, 0, error);
}
