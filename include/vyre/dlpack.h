/* DLPack: tensors of other libraries as resident buffers, and resident buffers as tensors of theirs. Nothing is copied.
 *
 * The structs below have the layout of DLPack's (versions 0.x and 1.x) under names of our own, so that this header and dlpack.h get along: cast pointers from
 * DLManagedTensor * and DLManagedTensorVersioned *. What PyTorch, CuPy, JAX and others put into a capsule named "dltensor" is the first, "dltensor_versioned" the second.
 *
 * Order with the other library's stream: vyre_stream_join (vyre/interop.h) before the first dispatch on a tensor whose contents may still be under way; nothing
 * afterwards. Threads: any. */
#ifndef VYRE_DLPACK_H
#define VYRE_DLPACK_H

#include "vyre/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of elements. */
enum {
    VYRE_DL_INT = 0,
    VYRE_DL_UINT = 1,
    VYRE_DL_FLOAT = 2,
    VYRE_DL_BFLOAT = 4,
    VYRE_DL_COMPLEX = 5,
    VYRE_DL_BOOL = 6 /* a byte each */
};

typedef struct vyre_dl_tensor {
    void *data;
    int32_t device_type; /* VYRE_LOCATION_… */
    int32_t device_id;
    int32_t ndim;
    uint8_t code; /* VYRE_DL_… */
    uint8_t bits; /* of one lane */
    uint16_t lanes;
    int64_t *shape;   /* ndim of them */
    int64_t *strides; /* likewise, in elements; NULL: row by row without gaps */
    uint64_t byte_offset;
} vyre_dl_tensor;

/* A tensor and who ends it: whoever has it calls the deleter (if there is one) once, with it. */
typedef struct vyre_dl_managed {
    vyre_dl_tensor tensor;
    void *context; /* the maker's */
    void (*deleter)(struct vyre_dl_managed *self);
} vyre_dl_managed;

/* The same since version 1. Of another major version only version, context and deleter are known. */
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

/* What came in. */
typedef struct vyre_dl_view {
    vyre_type type;    /* of the elements; bytes of a bool are u8 */
    uint64_t elements; /* lanes counted */
    int is_read_only;
} vyre_dl_view;

/* The memory of a tensor as a resident buffer. The tensor is ours from here on, whether the call succeeds or not: its deleter is called once, when the buffer has ended (as vyre_foreign
 * says of `release`), or before a failing call returns. Elements must lie row by row without gaps. A read-only tensor makes a buffer that programs and uploads may not
 * write. view may be NULL. A tensor that this backend exported may come back; as long as it is here it keeps the backend alive.
 *
 * VYRE_INVALID_ARGUMENT  NULL; strides with gaps or in another order; a shape that is negative or too large; memory of another device
 * VYRE_UNSUPPORTED       an element type the language does not have, another major version of DLPack, or a backend that wraps nothing
 * and what vyre_resident_wrap returns */
VYRE_API vyre_status vyre_resident_from_dlpack(vyre_backend *backend, vyre_dl_managed *tensor, vyre_resident *out,
                                               vyre_dl_view *view, vyre_error *error);
VYRE_API vyre_status vyre_resident_from_dlpack_versioned(vyre_backend *backend, vyre_dl_versioned *tensor,
                                                         vyre_resident *out, vyre_dl_view *view, vyre_error *error);

/* A resident buffer as a tensor: all of its bytes, as elements of a type in a shape of ndim dimensions (0 = one element). The tensor exports the buffer (vyre_resident_export) and
 * keeps the backend alive until its deleter is called, by any thread; until then vyre_resident_free answers VYRE_CONFLICT.
 *
 * VYRE_INVALID_ARGUMENT  type and shape do not make as many bytes as the buffer has; a type that has no place in memory; without versions, a read-only buffer
 * VYRE_NO_MEMORY, and what vyre_resident_export returns */
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
