/* Device memory, slabs, resident buffers and transfers (memory.h). */
#include "backends/opencl/memory.h"

#include "backends/opencl/launch.h"
#include "base/status.h"
#include "driver/dispatch.h"

#include <inttypes.h>

/* ---- areas ---- */

/* Idle slots have arenas. If the allocation fails, the idle slots are freed and the allocation is retried. */
static vyre_status create(vy_ocl *ocl, uint64_t flags, uint64_t size, void *host, const char *doing, vy_ocl_area *area,
                          vyre_error *error) {
    int32_t result = VY_CL_ALLOCATION_FAILED;
    area->id = atomic_fetch_add_explicit(&ocl->memory_objects, 1, memory_order_relaxed) + 1;
    if (size <= ocl->info.max_allocation || host)
        area->memory = ocl->api.memory_create(ocl->context, flags, (size_t)size, host, &result);
    if (result != VY_CL_OK && vy_ocl_status(result) == VYRE_NO_DEVICE_MEMORY && size <= ocl->info.max_allocation) {
        vy_ocl_slots_free(ocl);
        area->memory = ocl->api.memory_create(ocl->context, flags, (size_t)size, host, &result);
    }
    if (result == VY_CL_OK)
        return VYRE_OK;
    area->memory = NULL;
    if (vy_ocl_status(result) == VYRE_NO_DEVICE_MEMORY)
        return vy_fail(error, VYRE_NO_DEVICE_MEMORY, NULL,
                       "%s: %" PRIu64 " bytes are asked for; the device has %" PRIu64 ", and gives %" PRIu64
                       " to one buffer at most",
                       doing, size, ocl->info.memory_bytes, ocl->info.max_allocation);
    return vy_ocl_failed(ocl, result, doing, error);
}

vyre_status vy_ocl_area_wrap(vy_ocl *ocl, uint64_t flags, const void *host, uint64_t size, const char *doing,
                             vy_ocl_area *out, vyre_error *error) {
    *out = (vy_ocl_area){.host = (uint8_t *)(uintptr_t)host, .size = size};
    return create(ocl, flags | VY_CL_MEMORY_USE_HOST, size, out->host, doing, out, error);
}

vyre_status vy_ocl_area_make(vy_ocl *ocl, uint64_t size, const char *doing, vy_ocl_area *out, vyre_error *error) {
    enum { PAGE = 4096 };
    memset(out, 0, sizeof *out);
    size = (size + VY_OCL_ALIGNMENT - 1) / VY_OCL_ALIGNMENT * VY_OCL_ALIGNMENT;
    out->size = size;
    if (!ocl->findings.shares_memory || size > ocl->info.max_allocation)
        return create(ocl, VY_CL_MEMORY_READ_WRITE, size, NULL, doing, out, error);
    size_t raw_size = (size_t)size + PAGE;
    void *raw = vy_allocate(raw_size);
    if (!raw)
        return vy_fail_memory(error, doing);
    void *host = (void *)(((uintptr_t)raw + PAGE - 1) / PAGE * PAGE);
    vyre_status status = vy_ocl_area_wrap(ocl, VY_CL_MEMORY_READ_WRITE, host, size, doing, out, error);
    if (status != VYRE_OK) {
        vy_release(raw, raw_size);
        memset(out, 0, sizeof *out);
        return status;
    }
    out->raw = raw, out->raw_size = raw_size;
    return VYRE_OK;
}

void vy_ocl_area_free(vy_ocl *ocl, vy_ocl_area *area) {
    if (area->memory)
        ocl->api.memory_release(area->memory);
    vy_release(area->raw, area->raw_size);
    memset(area, 0, sizeof *area);
}

/* ---- slabs ---- */

enum { PIECES = 64, PIECE_MIN = VY_OCL_ALIGNMENT, PIECE_MAX = 16 << 10 };

static uint64_t piece_size(uint64_t size) {
    uint64_t piece = PIECE_MIN;
    while (piece < size)
        piece *= 2;
    return piece;
}

/* Allocates a free piece, if a slab of this piece size has one. */
static int take_piece(vy_ocl *ocl, uint64_t piece, vy_ocl_block *block) {
    pthread_mutex_lock(&ocl->base.lock);
    vy_ocl_slab *slab = ocl->slabs;
    while (slab && (slab->piece != piece || slab->used == UINT64_MAX))
        slab = slab->next;
    if (slab) {
        int index = __builtin_ctzll(~slab->used);
        slab->used |= UINT64_C(1) << index;
        block->slab = slab;
        block->offset = (uint64_t)index * piece;
    }
    pthread_mutex_unlock(&ocl->base.lock);
    return slab != NULL;
}

static vyre_status allocate_piece(vy_ocl *ocl, uint64_t size, vy_ocl_block *block, vyre_error *error) {
    uint64_t piece = piece_size(size);
    if (take_piece(ocl, piece, block))
        return VYRE_OK;
    vy_ocl_slab *slab = vy_allocate_zero(sizeof *slab);
    if (!slab)
        return vy_fail_memory(error, "allocating a resident buffer");
    vyre_status status = vy_ocl_area_make(ocl, piece * PIECES, "allocating a resident buffer", &slab->area, error);
    if (status != VYRE_OK) {
        vy_release(slab, sizeof *slab);
        return status;
    }
    slab->piece = piece;
    slab->used = 1;
    block->slab = slab;
    block->offset = 0;
    pthread_mutex_lock(&ocl->base.lock);
    slab->next = ocl->slabs;
    ocl->slabs = slab;
    pthread_mutex_unlock(&ocl->base.lock);
    return VYRE_OK;
}

/* Frees the piece; frees the slab too if no piece of it is in use. */
static void free_piece(vy_ocl *ocl, vy_ocl_block *block) {
    vy_ocl_slab *slab = block->slab, *unused = NULL;
    pthread_mutex_lock(&ocl->base.lock);
    slab->used &= ~(UINT64_C(1) << block->offset / slab->piece);
    for (vy_ocl_slab **link = &ocl->slabs; !slab->used && *link; link = &(*link)->next)
        if (*link == slab) {
            *link = slab->next;
            unused = slab;
            break;
        }
    pthread_mutex_unlock(&ocl->base.lock);
    if (unused) {
        vy_ocl_area_free(ocl, &unused->area);
        vy_release(unused, sizeof *unused);
    }
}

/* ---- blocks ---- */

static void free_memory(vy_ocl *ocl, vy_ocl_block *block) {
    if (block->base.is_gone)
        return;
    if (block->slab)
        free_piece(ocl, block);
    vy_ocl_area_free(ocl, &block->area);
    block->slab = NULL;
    block->base.is_gone = 1;
}

void vy_ocl_blocks_invalidate(vy_ocl *ocl) {
    for (vy_gpu_block *block = ocl->base.blocks; block; block = block->next)
        free_memory(ocl, (vy_ocl_block *)block);
}

void vy_ocl_blocks_free(vy_ocl *ocl) {
    while (ocl->base.blocks) {
        vy_ocl_block *block = (vy_ocl_block *)ocl->base.blocks;
        vy_gpu_block_unlink(&ocl->base, &block->base);
        free_memory(ocl, block);
        vy_release(block, sizeof *block);
    }
}

static vyre_status clear_block(vy_ocl *ocl, vy_ocl_block *block, vyre_error *error) {
    static const uint32_t zeros[4];
    vy_ocl_area *area = vy_ocl_block_area(block);
    vy_gpu_slot *slot;
    if (area->host) {
        memset(area->host + block->offset, 0, (size_t)block->base.size);
        return VYRE_OK;
    }
    vyre_status status = vy_ocl_slot_acquire(&ocl->base, 0, &slot, error);
    if (status != VYRE_OK)
        return status;
    const size_t size = (size_t)((block->base.size + sizeof zeros - 1) / sizeof zeros * sizeof zeros);
    int32_t result = ocl->api.enqueue_fill(vy_ocl_queue(slot), area->memory, zeros, sizeof zeros, (size_t)block->offset,
                                           size, 0, NULL, NULL);
    if (result == VY_CL_OK)
        result = ocl->api.finish(vy_ocl_queue(slot));
    status = vy_ocl_check(ocl, result, "clearing a resident buffer", error);
    vy_ocl_slot_release(slot, status != VYRE_OK);
    return status;
}

vyre_status vy_ocl_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    vy_ocl *ocl = self;
    vyre_status status = vy_ocl_enter(ocl, error);
    if (status != VYRE_OK)
        return status;
    vy_ocl_block *block = vy_allocate_zero(sizeof *block);
    if (!block)
        return vy_fail_memory(error, "allocating a resident buffer");
    block->base.size = size;
    status = size <= PIECE_MAX ? allocate_piece(ocl, size, block, error)
                               : vy_ocl_area_make(ocl, size, "allocating a resident buffer", &block->area, error);
    if (status == VYRE_OK)
        status = clear_block(ocl, block, error);
    if (status != VYRE_OK) {
        free_memory(ocl, block);
        vy_release(block, sizeof *block);
        return status;
    }
    vy_gpu_block_link(&ocl->base, &block->base);
    *native = (uintptr_t)block;
    return VYRE_OK;
}

vyre_status vy_ocl_resident_free(void *self, uint64_t native, vyre_error *error) {
    vy_ocl *ocl = self;
    vy_ocl_block *block = vy_ocl_block_of(native);
    (void)error;
    vy_gpu_block_unlink(&ocl->base, &block->base);
    free_memory(ocl, block);
    vy_release(block, sizeof *block);
    return VYRE_OK;
}

/* ---- transfers: either all blocks are in host memory or none is ---- */

vyre_status vy_ocl_copy(vy_gpu_slot *slot, const vy_ocl_area *area, uint64_t at, void *host, uint64_t size,
                        int is_upload, int is_blocking, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)slot->gpu;
    const uint32_t blocks = (uint32_t)is_blocking;
    int32_t result = is_upload ? ocl->api.enqueue_write(vy_ocl_queue(slot), area->memory, blocks, (size_t)at,
                                                        (size_t)size, host, 0, NULL, NULL)
                               : ocl->api.enqueue_read(vy_ocl_queue(slot), area->memory, blocks, (size_t)at,
                                                       (size_t)size, host, 0, NULL, NULL);
    return vy_ocl_check(ocl, result, is_upload ? "copying to the device" : "copying from the device", error);
}

static vyre_status move(vy_gpu_slot *slot, const vyre_transfer *t, int is_upload, vyre_error *error) {
    vy_ocl_block *block = vy_ocl_block_of(t->resident.id);
    const vy_ocl_area *area = vy_ocl_block_area(block);
    const size_t offset = (size_t)(block->offset + t->offset), size = (size_t)t->size;
    if (!size)
        return VYRE_OK;
    if (area->host) {
        memcpy(is_upload ? area->host + offset : t->host, is_upload ? t->host : area->host + offset, size);
        return VYRE_OK;
    }
    return vy_ocl_copy(slot, area, offset, t->host, size, is_upload, 0, error);
}

static vyre_status move_all(vy_gpu_slot *slot, vy_ocl *ocl, const vyre_transfer *transfers, size_t count, int is_upload,
                            vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status = move(slot, &transfers[i], is_upload, error);
    return status == VYRE_OK && slot
               ? vy_ocl_check(ocl, ocl->api.finish(vy_ocl_queue(slot)),
                              is_upload ? "copying to the device" : "copying from the device", error)
               : status;
}

vyre_status vy_ocl_transfer(vy_gpu *gpu, const vyre_transfer *transfers, size_t count, int is_upload,
                            vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)gpu;
    vy_gpu_slot *slot = NULL;
    if (ocl->findings.shares_memory || !count)
        return move_all(NULL, ocl, transfers, count, is_upload, error);
    vyre_status status = vy_ocl_slot_acquire(gpu, 0, &slot, error);
    if (status != VYRE_OK)
        return status;
    status = move_all(slot, ocl, transfers, count, is_upload, error);
    vy_ocl_slot_release(slot, status != VYRE_OK);
    return status;
}

vyre_status vy_ocl_download(vy_gpu_slot *slot, const vyre_transfer *transfers, size_t count, vyre_error *error) {
    vy_ocl *ocl = (vy_ocl *)slot->gpu;
    if (!ocl->findings.shares_memory)
        return move_all(slot, ocl, transfers, count, 0, error);
    vyre_status status = vy_ocl_finish(slot, error);
    return status == VYRE_OK ? move_all(NULL, ocl, transfers, count, 0, error) : status;
}

/* ---- foreign memory ---- */

static vyre_status check_shared(const vy_ocl *ocl, const char *what, vyre_error *error) {
    return ocl->findings.shares_memory
               ? (vyre_status)VYRE_OK
               : vy_fail(error, VYRE_UNSUPPORTED, "copy the bytes: vyre_resident_upload, vyre_resident_download",
                         "backend `opencl` does not support %s: its device does not share memory with the host", what);
}

vyre_status vy_ocl_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error) {
    vy_ocl *ocl = self;
    const void *host = (const void *)(uintptr_t)place->address;
    vyre_status status = vy_host_location_check(place, "opencl", error);
    if (status == VYRE_OK)
        status = check_shared(ocl, "wrapping of foreign memory", error);
    if (status == VYRE_OK && place->address % 16)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "align the memory to 16 bytes, or upload it",
                         "memory at %p is not aligned for the device", host);
    if (status == VYRE_OK)
        status = vy_ocl_enter(ocl, error);
    if (status != VYRE_OK)
        return status;
    vy_ocl_block *block = vy_allocate_zero(sizeof *block);
    if (!block)
        return vy_fail_memory(error, "wrapping foreign memory");
    block->base.size = size;
    status = vy_ocl_area_wrap(ocl, VY_CL_MEMORY_READ_WRITE, host, size, "wrapping foreign memory", &block->area, error);
    if (status != VYRE_OK) {
        vy_release(block, sizeof *block);
        return status;
    }
    vy_gpu_block_link(&ocl->base, &block->base);
    *native = (uintptr_t)block;
    return VYRE_OK;
}

vyre_status vy_ocl_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error) {
    vy_ocl_block *block = vy_ocl_block_of(native);
    vyre_status status = check_shared(self, "export of resident buffers", error);
    if (status == VYRE_OK)
        *place =
            (vyre_memory_location){VYRE_LOCATION_HOST, 0, (uintptr_t)vy_ocl_block_area(block)->host + block->offset};
    return status;
}
