/* Foreign memory and streams: wrapping, exporting, DLPack tensors (vyre/interop.h, vyre/dlpack.h). */
#include "driver/dispatch.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/backend.h"
#include "vyre/dlpack.h"
#include "vyre/interop.h"

#include <inttypes.h>

/* ---- locations ---- */

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
                   "backend `%s` works on host memory, but was passed %s memory (device type %" PRId32 ")", backend,
                   vy_location_name(location->device), location->device);
}

/* ---- wrapping ---- */

static vyre_status check_foreign(const vyre_backend *backend, const vyre_foreign *foreign, vyre_error *error) {
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
                       "foreign memory of %" PRIu64 " bytes exceeds the limit of backend `%s` (%" PRIu64 ")",
                       foreign->size, backend->id, limit);
    return VYRE_OK;
}

/* Foreign memory of size 0 is not wrapped: the backend allocates a buffer instead. */
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
    vyre_status status = check_foreign(backend, foreign, error);
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

static vyre_status export_resident(vyre_backend *backend, vyre_resident resident, vyre_memory_location *out,
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
    return export_resident(backend, resident, out, &is_read_only, error);
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

/* ---- DLPack ---- */

_Static_assert(sizeof(vyre_dl_tensor) == 48 && offsetof(vyre_dl_tensor, shape) == 24, "DLPack's layout");
_Static_assert(offsetof(vyre_dl_managed, deleter) == 56, "DLPack's layout");
_Static_assert(offsetof(vyre_dl_versioned, flags) == 24 && offsetof(vyre_dl_versioned, tensor) == 32,
               "DLPack's layout");

/* X(type, code, bits): the first row of a type is used for export; further rows are accepted on import. */
#define TYPES(X)                                                                                                       \
    X(I8, INT, 8)                                                                                                      \
    X(I16, INT, 16)                                                                                                    \
    X(I32, INT, 32)                                                                                                    \
    X(I64, INT, 64)                                                                                                    \
    X(U8, UINT, 8)                                                                                                     \
    X(U16, UINT, 16)                                                                                                   \
    X(U32, UINT, 32)                                                                                                   \
    X(U64, UINT, 64)                                                                                                   \
    X(F16, FLOAT, 16)                                                                                                  \
    X(F32, FLOAT, 32)                                                                                                  \
    X(F64, FLOAT, 64)                                                                                                  \
    X(BF16, BFLOAT, 16)                                                                                                \
    X(U8, BOOL, 8)

static const struct {
    vyre_type type;
    uint8_t code, bits;
} types[] = {
#define X(type, code, bits) {VYRE_TYPE_##type, VYRE_DL_##code, bits},
    TYPES(X)
#undef X
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

/* Number of elements of a shape. Returns 0 if it overflows or a dimension is negative. */
static int count_elements(const int64_t *shape, int32_t ndim, uint64_t *out) {
    uint64_t count = 1;
    int is_empty = 0;
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return 0;
        is_empty |= shape[i] == 0;
    }
    for (int32_t i = 0; i < ndim && !is_empty; i++)
        if (__builtin_mul_overflow(count, (uint64_t)shape[i], &count))
            return 0;
    *out = is_empty ? 0 : count;
    return 1;
}

/* ---- import ---- */

/* A tensor of either form. */
typedef struct arrival {
    const vyre_dl_tensor *tensor;
    int is_read_only;
    void (*end)(void *managed);
    void *managed;
    const char *function; /* the called function, for messages */
} arrival;

static void end_managed(void *managed) {
    vyre_dl_managed *tensor = managed;
    if (tensor->deleter)
        tensor->deleter(tensor);
}

static void end_versioned(void *managed) {
    vyre_dl_versioned *tensor = managed;
    if (tensor->deleter)
        tensor->deleter(tensor);
}

static vyre_status find_type(const vyre_dl_tensor *tensor, vyre_type *out, vyre_error *error) {
    for (int i = 0; i < TYPE_COUNT; i++)
        if (types[i].code == tensor->code && types[i].bits == tensor->bits) {
            *out = types[i].type;
            return VYRE_OK;
        }
    return vy_fail(error, VYRE_UNSUPPORTED,
                   tensor->code == VYRE_DL_COMPLEX
                       ? "view the tensor as real numbers, two for each element"
                       : "convert the tensor to integers or floats of 8, 16, 32 or 64 bits, or bfloat16",
                   "the tensor's elements (DLPack type code %u, %u bits) have no corresponding type", tensor->code,
                   tensor->bits);
}

/* Dimensions of size 1 may have any stride. */
static vyre_status check_strides(const vyre_dl_tensor *tensor, vyre_error *error) {
    int64_t expected = 1;
    for (int32_t i = tensor->strides ? tensor->ndim - 1 : -1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != expected)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "make the tensor contiguous first, as `.contiguous()` does",
                           "the tensor is not contiguous in row-major order: dimension %" PRId32 " has stride %" PRId64
                           ", expected %" PRId64,
                           i, tensor->strides[i], expected);
        expected *= tensor->shape[i]; /* no overflow: the product of all dimensions does not overflow */
    }
    return VYRE_OK;
}

static vyre_status measure(const vyre_dl_tensor *tensor, vyre_dl_view *view, uint64_t *bytes, vyre_error *error) {
    vyre_status status = find_type(tensor, &view->type, error);
    if (status != VYRE_OK)
        return status;
    if (tensor->ndim < 0 || (tensor->ndim && !tensor->shape) ||
        !count_elements(tensor->shape, tensor->ndim, &view->elements) ||
        __builtin_mul_overflow(view->elements, (uint64_t)tensor->lanes, &view->elements) ||
        __builtin_mul_overflow(view->elements, (uint64_t)tensor->bits / 8, bytes) || *bytes > INT64_MAX)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a tensor whose shape matches its memory",
                       "the shape of the tensor (%" PRId32 " dimensions) is negative or too large", tensor->ndim);
    return *bytes ? check_strides(tensor, error) : (vyre_status)VYRE_OK;
}

static vyre_status import_tensor(vyre_backend *backend, const arrival *a, vyre_resident *out, vyre_dl_view *view,
                                 vyre_error *error) {
    const vyre_dl_tensor *tensor = a->tensor;
    vyre_dl_view own;
    vyre_foreign foreign = {.struct_size = sizeof foreign, .release = a->end, .user = a->managed};
    vyre_dl_view *seen = view ? view : &own;
    vyre_status status = backend && out ? measure(tensor, seen, &foreign.size, error)
                                        : vy_fail_null(error, backend ? "out" : "backend", a->function);
    seen->is_read_only = foreign.is_read_only = a->is_read_only;
    foreign.location = (vyre_memory_location){tensor->device_type, tensor->device_id,
                                              tensor->data ? (uintptr_t)tensor->data + tensor->byte_offset : 0};
    if (status == VYRE_OK)
        status = vyre_resident_wrap(backend, &foreign, out, error);
    if (status != VYRE_OK)
        a->end(a->managed);
    return status;
}

vyre_status vyre_resident_from_dlpack(vyre_backend *backend, vyre_dl_managed *tensor, vyre_resident *out,
                                      vyre_dl_view *view, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (out)
        *out = (vyre_resident){0, 0};
    VY_REQUIRE(error, tensor);
    return import_tensor(backend, &(arrival){&tensor->tensor, 0, end_managed, tensor, __func__}, out, view, error);
}

vyre_status vyre_resident_from_dlpack_versioned(vyre_backend *backend, vyre_dl_versioned *tensor, vyre_resident *out,
                                                vyre_dl_view *view, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (out)
        *out = (vyre_resident){0, 0};
    VY_REQUIRE(error, tensor);
    if (tensor->major != VYRE_DL_MAJOR) {
        vyre_status status = vy_fail(error, VYRE_UNSUPPORTED,
                                     VY_FIX("request a tensor of version %u from the other library", VYRE_DL_MAJOR),
                                     "the tensor has DLPack version %" PRIu32 ".%" PRIu32 " (supported: %u)",
                                     tensor->major, tensor->minor, VYRE_DL_MAJOR);
        end_versioned(tensor);
        return status;
    }
    int is_read_only = (tensor->flags & VYRE_DL_READ_ONLY) != 0;
    return import_tensor(backend, &(arrival){&tensor->tensor, is_read_only, end_versioned, tensor, __func__}, out, view,
                         error);
}

/* ---- export ---- */

/* An exported tensor; shape and strides follow. */
typedef struct exported_tensor {
    union {
        vyre_dl_managed managed;
        vyre_dl_versioned versioned;
    };
    vyre_backend *backend; /* retained */
    vyre_resident resident;
    size_t size; /* of the allocation */
    int64_t dimensions[];
} exported_tensor;

/* A stale handle belongs to a backend that was shut down or recovered: its export has ended. */
static void end_export(exported_tensor *d) {
    vyre_resident_unexport(d->backend, d->resident, NULL);
    vyre_backend_release(d->backend);
    vy_release(d, d->size);
}

static void delete_managed(vyre_dl_managed *self) {
    end_export(self->context);
}

static void delete_versioned(vyre_dl_versioned *self) {
    end_export(self->context);
}

static vyre_status check_shape(vyre_type type, const int64_t *shape, int32_t ndim, uint64_t size, vyre_error *error) {
    uint64_t count = 0, bytes = 0, element = vyre_type_size(type);
    if (!element)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use a number type, such as u8",
                       "type `%s` has no representation in memory", vyre_type_name(type));
    if (ndim < 0 || (ndim && !shape) || !count_elements(shape, ndim, &count) ||
        __builtin_mul_overflow(count, element, &bytes) || bytes != size)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("use a shape of %" PRIu64 " elements of `%s`", size / element, vyre_type_name(type)),
                       "the shape (%" PRId32 " dimensions, %" PRIu64
                       " bytes) does not match the resident buffer (%" PRIu64 " bytes)",
                       ndim, bytes, size);
    return VYRE_OK;
}

static void describe(vyre_dl_tensor *tensor, exported_tensor *d, const vyre_memory_location *location, uint64_t size,
                     vyre_type type, const int64_t *shape, int32_t ndim) {
    int64_t *strides = d->dimensions + ndim, stride = 1;
    int at = 0;
    while (types[at].type != type)
        at++;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        d->dimensions[i] = shape[i];
        strides[i] = stride;
        stride *= size ? shape[i] : 1;
    }
    *tensor = (vyre_dl_tensor){.data = size ? (void *)(uintptr_t)location->address : NULL,
                               .device_type = location->device,
                               .device_id = location->ordinal,
                               .ndim = ndim,
                               .code = types[at].code,
                               .bits = types[at].bits,
                               .lanes = 1,
                               .shape = d->dimensions,
                               .strides = strides};
}

/* Exports the buffer and creates the tensor that holds it. */
static vyre_status export_tensor(vyre_backend *backend, vyre_resident resident, vyre_type type, const int64_t *shape,
                                 int32_t ndim, int is_versioned, exported_tensor **out, vyre_error *error) {
    vyre_memory_location location;
    uint64_t bytes;
    int is_read_only;
    vyre_status status = vyre_resident_size(backend, resident, &bytes, error);
    if (status == VYRE_OK)
        status = check_shape(type, shape, ndim, bytes, error);
    if (status != VYRE_OK)
        return status;
    size_t size = vy_array_size(2 * (size_t)ndim, sizeof(int64_t));
    exported_tensor *d = vy_allocate_zero(sizeof *d + size);
    if (!d)
        return vy_fail_memory(error, "making a tensor");
    status = export_resident(backend, resident, &location, &is_read_only, error);
    if (status == VYRE_OK && is_read_only && !is_versioned) {
        vyre_resident_unexport(backend, resident, NULL);
        status =
            vy_fail(error, VYRE_INVALID_ARGUMENT, "use vyre_resident_to_dlpack_versioned, which has a read-only flag",
                    "the resident buffer is read-only, and an unversioned tensor has no read-only flag");
    }
    if (status != VYRE_OK) {
        vy_release(d, sizeof *d + size);
        return status;
    }
    d->backend = vyre_backend_retain(backend);
    d->resident = resident;
    d->size = sizeof *d + size;
    if (is_versioned) {
        d->versioned = (vyre_dl_versioned){.major = VYRE_DL_MAJOR,
                                           .minor = VYRE_DL_MINOR,
                                           .context = d,
                                           .deleter = delete_versioned,
                                           .flags = is_read_only ? VYRE_DL_READ_ONLY : 0};
        describe(&d->versioned.tensor, d, &location, bytes, type, shape, ndim);
    } else {
        d->managed = (vyre_dl_managed){.context = d, .deleter = delete_managed};
        describe(&d->managed.tensor, d, &location, bytes, type, shape, ndim);
    }
    *out = d;
    return VYRE_OK;
}

vyre_status vyre_resident_to_dlpack(vyre_backend *backend, vyre_resident resident, vyre_type type, const int64_t *shape,
                                    int32_t ndim, vyre_dl_managed **out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, shape, ndim);
    exported_tensor *d = NULL;
    vyre_status status = export_tensor(backend, resident, type, shape, ndim, 0, &d, error);
    *out = d ? &d->managed : NULL;
    return status;
}

vyre_status vyre_resident_to_dlpack_versioned(vyre_backend *backend, vyre_resident resident, vyre_type type,
                                              const int64_t *shape, int32_t ndim, vyre_dl_versioned **out,
                                              vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, shape, ndim);
    exported_tensor *d = NULL;
    vyre_status status = export_tensor(backend, resident, type, shape, ndim, 1, &d, error);
    *out = d ? &d->versioned : NULL;
    return status;
}
