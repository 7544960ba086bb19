/* Device memory: a stream-ordered pool, resident buffers, and interoperability with the memory and streams of other
 * libraries.
 *
 * The pool keeps freed memory up to a bound. The native value of a resident buffer is the address of a block. Blocks
 * are listed, so that none is leaked when the device is lost. */
#ifndef VY_BACKENDS_CUDA_MEMORY_H
#define VY_BACKENDS_CUDA_MEMORY_H

#include "backends/cuda/cuda.h"
#include "backends/cuda/stream_slot.h"

/* ---- device memory ---- */

typedef struct vy_cuda_block {
    vy_gpu_block base;
    vy_cu_address address;
    int is_foreign; /* allocated by another library (interoperability, below) */
} vy_cuda_block;

/* Creates the pool. Without driver support for pools, plain allocations are used. Inside, like all functions of this
 * section. */
vyre_status vy_cuda_pool_start(vy_cuda *cuda, vyre_error *error);
void vy_cuda_pool_end(vy_cuda *cuda);

/* Stream-ordered allocation, not cleared, aligned to 256 bytes. If it fails, the memory held by idle stream slots is
 * freed and the allocation is retried once.
 *
 * VYRE_NO_DEVICE_MEMORY  the message has the requested and the available size */
vyre_status vy_cuda_memory_allocate(vy_cuda *cuda, vy_cu_stream stream, uint64_t size, const char *doing,
                                    vy_cu_address *out, vyre_error *error);
void vy_cuda_memory_free(vy_cuda *cuda, vy_cu_stream stream, vy_cu_address address);

static inline vy_cu_address vy_cuda_resident_address(uint64_t native) {
    return ((const vy_cuda_block *)(uintptr_t)native)->address;
}

/* Frees the device memory of all blocks before the device ends. The blocks themselves can still be freed. */
void vy_cuda_blocks_invalidate(vy_cuda *cuda);
/* Frees all blocks; their memory is lost. */
void vy_cuda_blocks_free(vy_cuda *cuda);

/* Entries of the backend's table. */
vyre_status vy_cuda_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error);
vyre_status vy_cuda_resident_free(void *self, uint64_t native, vyre_error *error);
/* Calls of src/backends/gpu. */
vyre_status vy_cuda_download(vy_gpu_slot *slot, const vyre_transfer *transfers, size_t count, vyre_error *error);
vyre_status vy_cuda_transfer(vy_gpu *gpu, const vyre_transfer *transfers, size_t count, int is_upload,
                             vyre_error *error);

/* ---- interoperability ----
 *
 * Memory and streams of other libraries (vyre/interop.h): device memory that another library allocated, the address of
 * a resident buffer, and waiting for foreign streams on the device.
 *
 * A stream of the backend waits for a joined stream, and stream slots wait for that stream's event when they are
 * acquired. One event covers all streams joined so far, and a slot that has waited for the last join only compares two
 * counters. */

/* Entries of the backend's table. */
vyre_status vy_cuda_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                  vyre_error *error);
vyre_status vy_cuda_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);
vyre_status vy_cuda_stream_join(void *self, void *stream, vyre_error *error);
void vy_cuda_external_stream_start(vy_cuda_external_stream *join);
/* Called while the context still exists, if there is one. */
void vy_cuda_external_stream_end(vy_cuda *cuda);
void vy_cuda_external_stream_destroy(vy_cuda_external_stream *join);

/* Makes the stream of a slot wait for the streams joined since it was last acquired. Inside. */
vyre_status vy_cuda_external_stream_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error);
static inline vyre_status vy_cuda_external_stream_sync(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot,
                                                       vyre_error *error) {
    return atomic_load_explicit(&cuda->join.count, memory_order_acquire) == stream_slot->joined
               ? (vyre_status)VYRE_OK
               : vy_cuda_external_stream_wait(cuda, stream_slot, error);
}

#endif
