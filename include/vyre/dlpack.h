/* DLPack: tensors of other libraries as resident buffers, and resident buffers as tensors. No data is copied. The
 * structs have the layout of DLPack's (versions 0.x and 1.x) under different names, so that this header and dlpack.h
 * can be included together: cast pointers from DLManagedTensor * ("dltensor" capsules of PyTorch, CuPy, JAX, …) and
 * DLManagedTensorVersioned * ("dltensor_versioned").
 *
 * Order:    call vyre_stream_join (vyre/interop.h) before the first dispatch on a tensor that the other library's
 *           stream may still be writing. Nothing is needed afterwards.
 * Threads:  any thread, concurrently. */
#ifndef VYRE_DLPACK_H
#define VYRE_DLPACK_H

#include "vyre/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Type codes of elements. */
enum {
    VYRE_DL_INT = 0,
    VYRE_DL_UINT = 1,
    VYRE_DL_FLOAT = 2,
    VYRE_DL_BFLOAT = 4,
    VYRE_DL_COMPLEX = 5,
    VYRE_DL_BOOL = 6 /* one byte per element */
};

/* Layout of DLTensor. */
typedef struct vyre_dl_tensor {
    void *data;
    int32_t device_type; /* VYRE_LOCATION_… */
    int32_t device_id;
    int32_t ndim;
    uint8_t code; /* VYRE_DL_… */
    uint8_t bits; /* of one lane */
    uint16_t lanes;
    int64_t *shape;   /* ndim entries */
    int64_t *strides; /* ndim entries, in elements; NULL: compact, row-major */
    uint64_t byte_offset;
} vyre_dl_tensor;

/* Layout of DLManagedTensor. Its owner calls the deleter, if any, exactly once. */
typedef struct vyre_dl_managed {
    vyre_dl_tensor tensor;
    void *context; /* of the producer */
    void (*deleter)(struct vyre_dl_managed *self);
} vyre_dl_managed;

/* Layout of DLManagedTensorVersioned. For another major version only major, minor, context and deleter are defined. */
typedef struct vyre_dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct vyre_dl_versioned *self);
    uint64_t flags; /* VYRE_DL_READ_ONLY, … */
    vyre_dl_tensor tensor;
} vyre_dl_versioned;
#define VYRE_DL_READ_ONLY UINT64_C(1)
#define VYRE_DL_MAJOR 1u
#define VYRE_DL_MINOR 0u

/* Description of an imported tensor. */
typedef struct vyre_dl_view {
    vyre_type type;    /* of the elements; a bool is u8 */
    uint64_t elements; /* counting each lane */
    int is_read_only;
} vyre_dl_view;

/* Wraps the memory of a tensor as a resident buffer (vyre_resident_wrap). Elements must be compact and row-major. A
 * read-only tensor yields a buffer that programs and uploads may not write. A tensor that this backend exported may be
 * imported again; it keeps the backend alive meanwhile.
 *
 * tensor  Consumed, on failure too: its deleter is called once, when the buffer is released (see `release` of
 *         vyre_foreign) or before a failing call returns.
 * out     Free with vyre_resident_free.
 * view    May be NULL. Unspecified on failure.
 *
 * VYRE_INVALID_ARGUMENT  a NULL argument; strides with gaps or in another order; a negative or too large shape; memory
 *                        of another device
 * VYRE_UNSUPPORTED       an element type that the language does not have, another major version of DLPack, or a backend
 *                        that cannot wrap memory
 * other                  any status of vyre_resident_wrap */
VYRE_API vyre_status vyre_resident_from_dlpack(vyre_backend *backend, vyre_dl_managed *tensor, vyre_resident *out,
                                               vyre_dl_view *view, vyre_error *error);
VYRE_API vyre_status vyre_resident_from_dlpack_versioned(vyre_backend *backend, vyre_dl_versioned *tensor,
                                                         vyre_resident *out, vyre_dl_view *view, vyre_error *error);

/* Exports a whole resident buffer as a tensor (vyre_resident_export).
 *
 * type, shape, ndim  Element type and shape; ndim 0 means one element.
 * out                Keeps the backend alive until its deleter is called, from any thread. Until then
 *                    vyre_resident_free returns VYRE_CONFLICT.
 *
 * VYRE_INVALID_ARGUMENT  type and shape do not have as many bytes as the buffer; type bool, which has no memory
 *                        representation; a read-only buffer in the unversioned form
 * VYRE_NO_MEMORY         out of host memory
 * other                  any status of vyre_resident_export */
VYRE_API vyre_status vyre_resident_to_dlpack(vyre_backend *backend, vyre_resident resident, vyre_type type,
                                             const int64_t *shape, int32_t ndim, vyre_dl_managed **out,
                                             vyre_error *error);
VYRE_API vyre_status vyre_resident_to_dlpack_versioned(vyre_backend *backend, vyre_resident resident, vyre_type type,
                                                       const int64_t *shape, int32_t ndim, vyre_dl_versioned **out,
                                                       vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
