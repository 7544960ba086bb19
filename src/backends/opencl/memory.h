/* Device memory: areas, resident buffers and their transfers.
 *
 * An area is one memory object. It is in host memory if kernels access host memory in place (vy_ocl_findings), else in
 * device memory. Resident buffers of up to 16 KiB are pieces of a slab of 64, because drivers round allocation sizes up
 * and limit their number; a larger buffer has a separate area. The native value of a resident buffer is the address of
 * a block. All blocks are in a list, so that none is leaked when the device is lost. */
#ifndef VY_BACKENDS_OPENCL_MEMORY_H
#define VY_BACKENDS_OPENCL_MEMORY_H

#include "backends/opencl/opencl.h"

enum { VY_OCL_ALIGNMENT = VY_GPU_ALIGNMENT }; /* of areas and of pieces */

typedef struct vy_ocl_area {
    vy_cl_memory memory; /* NULL: none */
    uint64_t id;         /* of the memory object; unlike its address, never reused */
    uint8_t *host;       /* its bytes; NULL: in device memory */
    void *raw;           /* the allocation that contains `host`, or NULL */
    size_t raw_size;
    uint64_t size;
} vy_ocl_area;

typedef struct vy_ocl_slab {
    struct vy_ocl_slab *next;
    vy_ocl_area area;
    uint64_t piece, used; /* bytes per piece; one bit per piece in use */
} vy_ocl_slab;

typedef struct vy_ocl_block {
    vy_gpu_block base;
    vy_ocl_area area;  /* empty if the block is a piece of a slab */
    vy_ocl_slab *slab; /* or NULL */
    uint64_t offset;   /* in the slab's area */
} vy_ocl_block;

/* Allocates memory without clearing it. Frees the idle slots and retries before it fails.
 *
 * VYRE_NO_DEVICE_MEMORY  the message has the requested size and the device's limits
 * VYRE_NO_MEMORY         out of host memory */
vyre_status vy_ocl_area_make(vy_ocl *ocl, uint64_t size, const char *doing, vy_ocl_area *out, vyre_error *error);
/* Creates a memory object for host bytes that kernels access in place. */
vyre_status vy_ocl_area_wrap(vy_ocl *ocl, uint64_t flags, const void *host, uint64_t size, const char *doing,
                             vy_ocl_area *out, vyre_error *error);
void vy_ocl_area_free(vy_ocl *ocl, vy_ocl_area *area);

static inline vy_ocl_area *vy_ocl_block_area(vy_ocl_block *block) {
    return block->slab ? &block->slab->area : &block->area;
}
static inline vy_ocl_block *vy_ocl_block_of(uint64_t native) {
    return (vy_ocl_block *)(uintptr_t)native;
}

/* Releases the memory of all blocks before the context is released. The blocks can still be freed. */
void vy_ocl_blocks_invalidate(vy_ocl *ocl);
/* Frees all blocks, after their memory was released. */
void vy_ocl_blocks_free(vy_ocl *ocl);

/* Enqueues a copy between host bytes and device memory, and waits for it if is_blocking. */
vyre_status vy_ocl_copy(vy_gpu_slot *slot, const vy_ocl_area *area, uint64_t at, void *host, uint64_t size,
                        int is_upload, int is_blocking, vyre_error *error);

/* Calls of src/backends/gpu. */
vyre_status vy_ocl_transfer(vy_gpu *gpu, const vyre_transfer *transfers, size_t count, int is_upload,
                            vyre_error *error);
vyre_status vy_ocl_download(vy_gpu_slot *slot, const vyre_transfer *transfers, size_t count, vyre_error *error);

/* Entries of the backend's table. */
vyre_status vy_ocl_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error);
vyre_status vy_ocl_resident_free(void *self, uint64_t native, vyre_error *error);
vyre_status vy_ocl_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error);
vyre_status vy_ocl_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);

#endif
