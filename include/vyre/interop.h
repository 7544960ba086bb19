/* Interoperation with other libraries on the same device: wrap memory owned by others as resident buffers, export the
 * addresses of resident buffers, and order work with a foreign stream. No data is copied. For tensors, see
 * vyre/dlpack.h, which is built on this header.
 *
 * Backends:  `cuda` (device memory, streams); `cpu`, `reference` and `opencl` on a processor (memory of the process).
 *            Others return VYRE_UNSUPPORTED with the name of the feature.
 * Order:     every call on resident buffers returns when the device has finished with them, so work enqueued in a
 *            stream after such a call sees its results without an event. In the other direction, work enqueued in a
 *            stream may not have run when a dispatch on the same memory starts: vyre_stream_join orders the two on the
 *            device, without waiting.
 * Threads:   any thread, concurrently.
 * Blocking:  no function blocks. */
#ifndef VYRE_INTEROP_H
#define VYRE_INTEROP_H

#include "vyre/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory owned by others. Zero-initialise and set struct_size.
 *
 * location      The start address for the device: a CUdeviceptr, or a pointer of the process. Any address is accepted,
 *               but a dispatch requires that a bound range starts at a multiple of its element size. Device
 *               VYRE_LOCATION_OWN: memory of the backend's device, the default.
 * size          In bytes; 0 is allowed, and the address is ignored then.
 * is_read_only  Uploads, and programs that write it, are rejected with VYRE_INVALID_ARGUMENT.
 * release       Optional: called with `user` exactly once, when the library no longer uses the memory: by
 *               vyre_resident_free, by the end of the backend (vyre_backend_shutdown or its last release), or by
 *               recovery, after which the handle is stale. Called on the thread that performs this, with no lock held.
 *               It may call vyre_resident_unexport, but must not free objects of this backend or shut it down. */
typedef struct vyre_foreign {
    uint32_t struct_size;
    int is_read_only;
    vyre_memory_location location;
    uint64_t size;
    void (*release)(void *user);
    void *user;
} vyre_foreign;

/* Wraps existing memory as a resident buffer. vyre_resident_free ends the buffer and leaves the memory unmodified.
 *
 * foreign  Copied. The memory remains the caller's and must stay valid, at its address, until the buffer is freed. It
 *          may be wrapped several times, completely or in parts: dispatches detect overlaps as for one buffer bound
 *          twice. Host bytes passed to a call (vyre_span) must not overlap memory that the call writes.
 * out      Free with vyre_resident_free. On failure the memory is not used and `release` is not called.
 *
 * VYRE_INVALID_ARGUMENT  no address; a size past the last address; memory of another device; on `cuda`, host memory, or
 *                        memory whose first or last byte is unknown to the driver
 * VYRE_LIMIT             size exceeds the largest buffer of the backend
 * VYRE_UNSUPPORTED       the backend cannot wrap memory
 * VYRE_NO_MEMORY         out of host memory
 * VYRE_DEVICE_LOST       the device is lost, or the backend is shut down */
VYRE_API vyre_status vyre_resident_wrap(vyre_backend *backend, const vyre_foreign *foreign, vyre_resident *out,
                                        vyre_error *error);

/* Exports the address of a resident buffer, so that others can use its memory while no call uses it.
 *
 * out  Device, ordinal and address. Valid until vyre_resident_unexport, until vyre_backend_shutdown or the last release
 *      of the backend, or until the device is lost; recovery does not restore it.
 *
 * Each export is ended by one vyre_resident_unexport. Until then vyre_resident_free returns VYRE_CONFLICT.
 *
 * VYRE_INVALID_ARGUMENT  a stale handle, or one of another backend
 * VYRE_UNSUPPORTED       buffers of the backend have no address
 * VYRE_DEVICE_LOST       the device is lost, or the backend is shut down */
VYRE_API vyre_status vyre_resident_export(vyre_backend *backend, vyre_resident resident, vyre_memory_location *out,
                                          vyre_error *error);

/* Ends one export.
 *
 * VYRE_INVALID_ARGUMENT  a stale handle, one of another backend, or a buffer that is not exported */
VYRE_API vyre_status vyre_resident_unexport(vyre_backend *backend, vyre_resident resident, vyre_error *error);

/* Orders this backend after a stream: all work that the backend starts after this call, from any thread, starts on the
 * device after the work that is in the stream now. Several streams may be joined, one call each. Join again after
 * enqueuing more work. Does not wait.
 *
 * stream  On `cuda`, a CUstream of the device's primary context, or NULL for the default stream; it need not outlive
 *         the call.
 *
 * VYRE_INVALID_ARGUMENT  a stream of another context, or one that is being captured
 * VYRE_UNSUPPORTED       the backend has no streams; its calls are ordered with the threads that make them
 * VYRE_DEVICE_LOST       the device is lost, or the backend is shut down */
VYRE_API vyre_status vyre_stream_join(vyre_backend *backend, void *stream, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
