/* Memory and streams that are there already: wrapping what others own as resident buffers, telling others where ours lie, and the order between their work and
 * ours. Nothing is copied. For tensors of other libraries see vyre/dlpack.h, which is made of this.
 *
 * Which backends can: `cuda` (device memory, streams), `cpu` and `reference` (memory of the process). Others answer VYRE_UNSUPPORTED, with the feature.
 *
 * Order. Every call that works on resident buffers returns when the device is done with them. So whatever is put into a stream after such a call finds
 * its results there, and needs no event. The other way round, work that was put into a stream may not have run yet when a dispatch on the same
 * memory starts: vyre_stream_join puts the two in order, on the device, without waiting.
 *
 * Threads: any, several at once, as everything of vyre/driver.h. */
#ifndef VYRE_INTEROP_H
#define VYRE_INTEROP_H

#include "vyre/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of somebody else's. Zero-initialise, set struct_size.
 *
 * location    address: where it starts, as the device knows it (a CUdeviceptr; a pointer of the process). Any address is taken, but a dispatch binds a range only if it
 *          starts at a multiple of its elements' size. device VYRE_LOCATION_OWN: the backend's own, which is what there is unless somebody else says where it lies
 * size     bytes; 0 is fine, and the address is not looked at then
 * is_read_only  uploads and programs that write it are refused with VYRE_INVALID_ARGUMENT
 * release  optional: called with `user`, once, when nothing of ours uses the memory any more: by vyre_resident_free, by the end of the backend (vyre_backend_shutdown
 *          or its last release), or by recovery, after which the handle is stale. From the thread that does that, with no lock held; it may not free or
 *          shut down this backend's things, but for what vyre_resident_unexport does */
typedef struct vyre_foreign {
    uint32_t struct_size;
    int is_read_only;
    vyre_memory_location location;
    uint64_t size;
    void (*release)(void *user);
    void *user;
} vyre_foreign;

/* A resident buffer of memory that is there already. It is used as any other, until vyre_resident_free, which leaves the memory alone. The memory stays the
 * caller's: it must stay valid and in its place until then. It may be wrapped several times, as a whole or in parts: a dispatch sees that they are the same
 * memory, and refuses what it refuses of one buffer bound twice. Bytes lent to a call (vyre_span) may not lie in it if the call writes it. Does not block.
 *
 * On failure the memory is not used and `release` is not called.
 *
 * VYRE_INVALID_ARGUMENT  no address; memory of another device; on `cuda`, memory of the host, or whose first or last byte the driver does not know
 * VYRE_LIMIT             over the backend's largest buffer
 * VYRE_UNSUPPORTED       the backend wraps nothing
 * VYRE_NO_MEMORY, VYRE_DEVICE_LOST */
VYRE_API vyre_status vyre_resident_wrap(vyre_backend *backend, const vyre_foreign *foreign, vyre_resident *out,
                                        vyre_error *error);

/* Where a resident buffer lies, for others to work on it: *out has device, ordinal and address. Until vyre_resident_unexport, as often as it was exported,
 * vyre_resident_free answers VYRE_CONFLICT; the address ends all the same with vyre_backend_shutdown, with the last release of the backend and with the loss of the device.
 * Recovery does not restore it. Others may write it while no call uses it. Does not block.
 *
 * VYRE_INVALID_ARGUMENT  stale or foreign handle
 * VYRE_UNSUPPORTED       the backend's buffers have no address */
VYRE_API vyre_status vyre_resident_export(vyre_backend *backend, vyre_resident resident, vyre_memory_location *out,
                                          vyre_error *error);
/* VYRE_INVALID_ARGUMENT: stale or foreign handle, or not exported. */
VYRE_API vyre_status vyre_resident_unexport(vyre_backend *backend, vyre_resident resident, vyre_error *error);

/* Everything that this backend starts from now on, from any thread, starts on the device behind what is in the stream now. Several streams may be joined, one
 * call each; join again after putting more into one. Does not wait.
 *
 * stream  on `cuda` a CUstream of the device's primary context, or NULL for the default stream; it need not outlive the call. Elsewhere UNSUPPORTED: calls are
 *         in order with the threads that make them
 *
 * VYRE_INVALID_ARGUMENT  a stream of another context, or one that is being captured
 * VYRE_UNSUPPORTED       the backend has no streams */
VYRE_API vyre_status vyre_stream_join(vyre_backend *backend, void *stream, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
