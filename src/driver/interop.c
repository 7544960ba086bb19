/* Memory and streams of others (vyre/interop.h): what the dispatch does about them. */
#include "vyre/interop.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/backend.h"
#include "driver/interop.h"

#include <inttypes.h>

/* ---- places ---- */

const char *vy_location_name(int32_t device) {
    switch (device) {
    case VYRE_LOCATION_OWN:
        return "its own";
    case VYRE_LOCATION_HOST:
        return "host";
    case VYRE_LOCATION_CUDA:
        return "CUDA";
    case VYRE_LOCATION_CUDA_HOST:
        return "pinned host";
    case VYRE_LOCATION_CUDA_MANAGED:
        return "managed CUDA";
    default:
        return "other";
    }
}

vyre_status vy_host_location_check(const vyre_memory_location *location, const char *backend, vyre_error *error) {
    if (location->device == VYRE_LOCATION_OWN || location->device == VYRE_LOCATION_HOST ||
        location->device == VYRE_LOCATION_CUDA_HOST)
        return VYRE_OK;
    return vy_fail(error, VYRE_INVALID_ARGUMENT, "use the backend of that device, or copy the bytes to the host first",
                   "backend `%s` works on memory of the host, and is given %s memory (device type %" PRId32 ")",
                   backend, vy_location_name(location->device), location->device);
}

/* ---- wrapping ---- */

static vyre_status check(const vyre_backend *backend, const vyre_foreign *foreign, vyre_error *error) {
    uint64_t limit = vyre_backend_capability(backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES);
    if (foreign->struct_size < sizeof *foreign)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "set struct_size to sizeof(vyre_foreign)",
                       "the struct_size of the foreign memory (%" PRIu32 ") is too small", foreign->struct_size);
    if (foreign->size && !foreign->location.address)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "set the address of the memory",
                       "%" PRIu64 " bytes are to be wrapped at address 0", foreign->size);
    if (foreign->size > UINT64_MAX - foreign->location.address)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "state the size the memory has",
                       "%" PRIu64 " bytes at address 0x%" PRIx64 " end past the last address", foreign->size,
                       foreign->location.address);
    if (limit && foreign->size > limit)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("wrap at most %" PRIu64 " bytes a buffer", limit),
                       "foreign memory of %" PRIu64 " bytes is over the limit of backend `%s` (%" PRIu64 ")",
                       foreign->size, backend->id, limit);
    return VYRE_OK;
}

/* What has no bytes needs none of others: it is a buffer of the backend's. */
static vyre_status native_wrap(vyre_backend *backend, const vyre_foreign *foreign, uint64_t *native,
                               vyre_error *error) {
    if (!backend->calls.resident_wrap)
        return vy_backend_unsupported(backend, "wrapping of foreign memory", error);
    if (!foreign->size && !backend->calls.resident_allocate)
        return vy_backend_unsupported(backend, "resident buffer allocation", error);
    vy_error_clear(error);
    vyre_status status =
        foreign->size ? backend->calls.resident_wrap(backend->self, &foreign->location, foreign->size, native, error)
                      : backend->calls.resident_allocate(backend->self, 1, native, error);
    return vy_backend_check_result(backend, status, error);
}

static vyre_status wrap(vyre_backend *backend, const vyre_foreign *foreign, vyre_resident *out, vyre_error *error) {
    uint64_t generation = vyre_backend_generation(backend);
    vy_resident_entry what = {.size = foreign->size,
                              .address = foreign->size ? foreign->location.address : 0,
                              .release = foreign->release,
                              .user = foreign->user,
                              .is_read_only = foreign->is_read_only != 0};
    vyre_status status = native_wrap(backend, foreign, &what.native, error);
    return status == VYRE_OK ? vy_resident_adopt(backend, &what, generation, out, error) : status;
}

vyre_status vyre_resident_wrap(vyre_backend *backend, const vyre_foreign *foreign, vyre_resident *out,
                               vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = (vyre_resident){0, 0};
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, foreign);
    vyre_error own;
    vyre_status status = check(backend, foreign, error);
    if (status == VYRE_OK)
        status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    status = wrap(backend, foreign, out, error ? error : &own);
    vy_backend_leave(backend);
    return status;
}

/* ---- exporting ---- */

static vyre_status location_of(vyre_backend *backend, uint64_t native, vyre_memory_location *out, vyre_error *error) {
    if (!backend->calls.resident_location)
        return vy_backend_unsupported(backend, "export of resident buffers", error);
    vy_error_clear(error);
    return vy_backend_check_result(backend, backend->calls.resident_location(backend->self, native, out, error), error);
}

vyre_status vy_resident_export(vyre_backend *backend, vyre_resident resident, vyre_memory_location *out,
                               int *is_read_only, vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vy_resident_use use;
    vyre_memory_location location = {0};
    *out = location;
    vyre_status status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    status = vy_resident_pin(backend, resident, 0, 0, 1, 0, &use, e);
    if (status == VYRE_OK) {
        status = location_of(backend, use.native, &location, e);
        if (status == VYRE_OK) {
            vy_resident_add_export(backend, &use, use.size ? location.address : 0);
            *out = location;
            *is_read_only = use.is_read_only;
        }
        vy_resident_unpin(backend, &use, 1);
    }
    vy_backend_leave(backend);
    return status;
}

vyre_status vyre_resident_export(vyre_backend *backend, vyre_resident resident, vyre_memory_location *out,
                                 vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = (vyre_memory_location){0};
    VY_REQUIRE(error, backend);
    int is_read_only;
    return vy_resident_export(backend, resident, out, &is_read_only, error);
}

vyre_status vyre_resident_unexport(vyre_backend *backend, vyre_resident resident, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    return vy_resident_remove_export(backend, resident, error);
}

/* ---- streams ---- */

vyre_status vyre_stream_join(vyre_backend *backend, void *stream, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    if (!backend->calls.stream_join)
        return vy_backend_unsupported(backend, "ordering with a foreign stream", error);
    vyre_status status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    vy_error_clear(e);
    status = vy_backend_check_result(backend, backend->calls.stream_join(backend->self, stream, e), e);
    vy_backend_leave(backend);
    return status;
}
