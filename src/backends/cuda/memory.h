/* Device memory: a stream-ordered pool that keeps what is freed up to a bound, and resident buffers out of it.
 *
 * A native value of a resident buffer is the address of a block. Blocks are listed, so that a lost device leaves none behind. */
#ifndef VY_BACKENDS_CUDA_MEMORY_H
#define VY_BACKENDS_CUDA_MEMORY_H

#include "backends/cuda/cuda.h"

struct vy_cuda_block {
    vy_cuda_block *previous, *next;
    vy_cu_address address;
    uint64_t size;
    int is_foreign; /* somebody else's memory (interop.h) */
    int is_gone;    /* its memory went with a device that has not come back */
};

/* The pool; a driver without them gets along without one. Inside, as all here. */
vyre_status vy_cuda_pool_start(vy_cuda *cuda, vyre_error *error);
void vy_cuda_pool_end(vy_cuda *cuda);

/* Memory in the order of a stream, not cleared, aligned to 256 bytes. What idle stream_slots hold is given back before it fails.
 *
 * VYRE_NO_DEVICE_MEMORY  with how much was asked for, and how much there is */
vyre_status vy_cuda_memory_allocate(vy_cuda *cuda, vy_cu_stream stream, uint64_t size, const char *doing,
                                    vy_cu_address *out, vyre_error *error);
void vy_cuda_memory_free(vy_cuda *cuda, vy_cu_stream stream, vy_cu_address address);
/* Gives back what nobody uses. stream: the caller's own. */
void vy_cuda_memory_trim(vy_cuda *cuda, vy_cu_stream stream);

static inline vy_cu_address vy_cuda_resident_address(uint64_t native) {
    return ((const vy_cuda_block *)(uintptr_t)native)->address;
}
/* Lists a block. */
void vy_cuda_block_link(vy_cuda *cuda, vy_cuda_block *block);
/* Gives back the memory of all blocks: those of a device that ends. They can still be freed. */
void vy_cuda_blocks_invalidate(vy_cuda *cuda);
/* Frees all blocks, which are lost. */
void vy_cuda_blocks_free(vy_cuda *cuda);

/* Entries of the backend's table. */
vyre_status vy_cuda_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error);
vyre_status vy_cuda_resident_free(void *self, uint64_t native, vyre_error *error);
vyre_status vy_cuda_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                    vyre_error *error);
vyre_status vy_cuda_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                      vyre_error *error);
vyre_status vy_cuda_resident_upload_batch(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error);
vyre_status vy_cuda_resident_download_batch(void *self, const vyre_transfer *transfers, size_t count,
                                            vyre_error *error);

#endif
