/* Device memory (memory.h). The boundary has checked handles and ranges. */
#include "backends/cuda/memory.h"

#include "backends/cuda/graph.h"
#include "backends/cuda/interop.h"
#include "backends/cuda/parallel_copy.h"
#include "backends/cuda/stream_slot.h"
#include "base/memory.h"
#include "base/status.h"

#include <inttypes.h>

/* ---- the pool ---- */

/* What the pool keeps of freed memory: an eighth of the device's, so that others of the machine find some. */
static uint64_t threshold(const vy_cuda *cuda) {
    return cuda->device_info.memory_bytes / 8;
}

vyre_status vy_cuda_pool_start(vy_cuda *cuda, vyre_error *error) {
    const vy_cu_pool_properties properties = {.allocation_type = 1, .location_type = 1, .location = cuda->device};
    uint64_t keep = threshold(cuda);
    if (!cuda->device_info.has_pools)
        return VYRE_OK;
    vyre_status status =
        vy_cuda_check(cuda, cuda->api.pool_create(&cuda->pool, &properties), "making a memory pool", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, cuda->api.pool_set(cuda->pool, VY_CU_POOL_RELEASE_THRESHOLD, &keep),
                               "bounding a memory pool", error);
    return status;
}

void vy_cuda_pool_end(vy_cuda *cuda) {
    if (cuda->pool)
        cuda->api.pool_destroy(cuda->pool);
    cuda->pool = NULL;
}

static int allocate(vy_cuda *cuda, vy_cu_stream stream, uint64_t size, vy_cu_address *out) {
    return cuda->pool ? cuda->api.pool_allocate(out, (size_t)size, cuda->pool, stream)
                      : cuda->api.memory_allocate(out, (size_t)size);
}

/* What was freed in the order of a stream is free once that was waited for: of streams on which others have nothing, for what others run may end only when this thread says so. */
void vy_cuda_memory_trim(vy_cuda *cuda, vy_cu_stream stream) {
    vy_cuda_stream_slots_trim(cuda);
    vy_cuda_graphs_drop(cuda, NULL);
    if (cuda->pool) {
        if (cuda->signal) /* it comes behind the first stream_slot */
            cuda->api.stream_synchronize(cuda->signal);
        cuda->api.stream_synchronize(stream);
        cuda->api.pool_trim(cuda->pool, 0);
    }
}

static vyre_status fail_memory(vy_cuda *cuda, uint64_t size, const char *doing, vyre_error *error) {
    size_t free_bytes = 0, total = 0;
    cuda->api.memory_info(&free_bytes, &total);
    return vy_fail(error, VYRE_NO_DEVICE_MEMORY, NULL,
                   "device memory for %s is out: %" PRIu64 " bytes are asked for, %zu of %zu are free", doing, size,
                   free_bytes, total);
}

vyre_status vy_cuda_memory_allocate(vy_cuda *cuda, vy_cu_stream stream, uint64_t size, const char *doing,
                                    vy_cu_address *out, vyre_error *error) {
    int result = allocate(cuda, stream, size, out);
    if (result == VY_CU_OUT_OF_MEMORY) {
        vy_cuda_memory_trim(cuda, stream);
        result = allocate(cuda, stream, size, out);
    }
    if (result == VY_CU_OK)
        return VYRE_OK;
    *out = 0;
    return result == VY_CU_OUT_OF_MEMORY ? fail_memory(cuda, size, doing, error)
                                         : vy_cuda_failed(cuda, result, "allocating device memory", error);
}

/* Freeing reports errors of work that came before: who waits for that work sees them. */
void vy_cuda_memory_free(vy_cuda *cuda, vy_cu_stream stream, vy_cu_address address) {
    if (cuda->pool)
        cuda->api.pool_free(address, stream);
    else
        cuda->api.memory_free(address);
}

/* ---- blocks ---- */

void vy_cuda_block_link(vy_cuda *cuda, vy_cuda_block *block) {
    pthread_mutex_lock(&cuda->lock);
    block->previous = NULL;
    block->next = cuda->blocks;
    if (cuda->blocks)
        cuda->blocks->previous = block;
    cuda->blocks = block;
    pthread_mutex_unlock(&cuda->lock);
}

static void unlink_block(vy_cuda *cuda, vy_cuda_block *block) {
    pthread_mutex_lock(&cuda->lock);
    *(block->previous ? &block->previous->next : &cuda->blocks) = block->next;
    if (block->next)
        block->next->previous = block->previous;
    pthread_mutex_unlock(&cuda->lock);
}

void vy_cuda_blocks_invalidate(vy_cuda *cuda) {
    for (vy_cuda_block *block = cuda->blocks; block; block = block->next) {
        if (!block->is_foreign && !block->is_gone)
            vy_cuda_memory_free(cuda, cuda->signal, block->address);
        block->is_gone = 1;
    }
}

void vy_cuda_blocks_free(vy_cuda *cuda) {
    vy_cuda_block *next;
    for (vy_cuda_block *block = cuda->blocks; block; block = next) {
        next = block->next;
        vy_release(block, sizeof *block);
    }
    cuda->blocks = NULL;
}

/* ---- entries ---- */

static vyre_status allocate_block(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t size, vy_cu_address *out,
                                  vyre_error *error) {
    vyre_status status = vy_cuda_memory_allocate(cuda, stream_slot->stream, size, "a resident buffer", out, error);
    if (status != VYRE_OK)
        return status;
    status =
        vy_cuda_check(cuda, cuda->api.fill(*out, 0, (size_t)size, stream_slot->stream), "clearing a buffer", error);
    if (status == VYRE_OK)
        status = vy_cuda_stream_slot_wait(cuda, stream_slot, "clearing a buffer", error);
    if (status != VYRE_OK)
        vy_cuda_memory_free(cuda, stream_slot->stream, *out);
    return status;
}

vyre_status vy_cuda_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_stream_slot *stream_slot;
    int was_pushed;
    vy_cuda_block *block = vy_allocate_zero(sizeof *block);
    if (!block)
        return vy_fail_memory(error, "allocating a resident buffer");
    block->size = size;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status == VYRE_OK) {
        status = vy_cuda_stream_slot_acquire(cuda, &stream_slot, error);
        if (status == VYRE_OK) {
            status = allocate_block(cuda, stream_slot, size ? size : 1, &block->address, error);
            vy_cuda_stream_slot_release(cuda, stream_slot);
        }
        vy_cuda_leave(cuda, was_pushed);
    }
    if (status != VYRE_OK) {
        vy_release(block, sizeof *block);
        return status;
    }
    vy_cuda_block_link(cuda, block);
    *native = (uintptr_t)block;
    return VYRE_OK;
}

/* Nothing uses it any more: freed in the order of any stream that is behind those that were joined. It takes no memory: there may be none. */
static vyre_status free_block(vy_cuda *cuda, const vy_cuda_block *block, vyre_error *error) {
    vy_cuda_stream_slot *stream_slot = vy_cuda_stream_slot_try_acquire(cuda);
    if (!stream_slot) {
        vy_cuda_memory_free(cuda, vy_cuda_external_stream_get(cuda), block->address);
        return VYRE_OK;
    }
    vyre_status status = vy_cuda_external_stream_sync(cuda, stream_slot, error);
    if (status == VYRE_OK)
        vy_cuda_memory_free(cuda, stream_slot->stream, block->address);
    vy_cuda_stream_slot_release(cuda, stream_slot);
    return status;
}

/* A block that cannot be freed now stays until the device ends. */
vyre_status vy_cuda_resident_free(void *self, uint64_t native, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_block *block = (vy_cuda_block *)(uintptr_t)native;
    int was_pushed = 0, has_memory = !block->is_foreign && !block->is_gone;
    vyre_status status = has_memory ? vy_cuda_enter(cuda, &was_pushed, error) : (vyre_status)VYRE_OK;
    if (status == VYRE_OK && has_memory) {
        status = free_block(cuda, block, error);
        vy_cuda_leave(cuda, was_pushed);
    }
    if (status == VYRE_OK) {
        unlink_block(cuda, block);
        vy_release(block, sizeof *block);
    }
    return status;
}

/* Whether several threads are worth it; one large transfer is what they are for. */
static int is_large(const vyre_transfer *transfers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (transfers[i].size >= VY_CUDA_PARALLEL_COPY_MIN)
            return 1;
    return 0;
}

static vyre_status upload(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vyre_transfer *transfers, size_t count,
                          vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status = vy_cuda_stage_in(cuda, &stream_slot->staging, stream_slot->stream,
                                  vy_cuda_resident_address(transfers[i].resident.id) + transfers[i].offset,
                                  transfers[i].host, transfers[i].size, error);
    return status == VYRE_OK ? vy_cuda_stream_slot_wait(cuda, stream_slot, "copying to the device", error) : status;
}

static vyre_status download(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vyre_transfer *transfers,
                            size_t count, vyre_error *error) {
    enum { AT_ONCE = 64 };
    vy_cuda_copy copies[AT_ONCE];
    vyre_status status = VYRE_OK;
    while (count && status == VYRE_OK) {
        size_t n = count < AT_ONCE ? count : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            copies[i] = (vy_cuda_copy){vy_cuda_resident_address(transfers[i].resident.id) + transfers[i].offset,
                                       transfers[i].host, transfers[i].size};
        status = vy_cuda_stage_out(cuda, &stream_slot->staging, stream_slot->stream, copies, n, error);
        transfers += n, count -= n;
    }
    return status;
}

/* One after the other, each by all threads. */
static vyre_status move_each(vy_cuda *cuda, const vyre_transfer *transfers, size_t count, int is_upload,
                             vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        vy_cuda_copy copy = {vy_cuda_resident_address(transfers[i].resident.id) + transfers[i].offset,
                             transfers[i].host, transfers[i].size};
        status = vy_cuda_parallel_copy(cuda, &copy, 1, is_upload, error);
    }
    return status;
}

static vyre_status transfer_inside(vy_cuda *cuda, const vyre_transfer *transfers, size_t count, int is_upload,
                                   vyre_error *error) {
    vy_cuda_stream_slot *stream_slot;
    if (is_large(transfers, count))
        return move_each(cuda, transfers, count, is_upload, error);
    vyre_status status = vy_cuda_stream_slot_acquire(cuda, &stream_slot, error);
    if (status != VYRE_OK)
        return status;
    status = (is_upload ? upload : download)(cuda, stream_slot, transfers, count, error);
    if (status != VYRE_OK)
        cuda->api.stream_synchronize(
            stream_slot->stream); /* nothing may be under way when another takes the stream_slot */
    vy_cuda_stream_slot_release(cuda, stream_slot);
    return status;
}

static vyre_status transfer(vy_cuda *cuda, const vyre_transfer *transfers, size_t count, int is_upload,
                            vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = transfer_inside(cuda, transfers, count, is_upload, error);
    vy_cuda_leave(cuda, was_pushed);
    return status;
}

vyre_status vy_cuda_resident_upload_batch(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error) {
    return transfer(self, transfers, count, 1, error);
}

vyre_status vy_cuda_resident_download_batch(void *self, const vyre_transfer *transfers, size_t count,
                                            vyre_error *error) {
    return transfer(self, transfers, count, 0, error);
}

vyre_status vy_cuda_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                    vyre_error *error) {
    vyre_transfer one = {{0, native}, offset, size, (void *)(uintptr_t)data};
    return transfer(self, &one, 1, 1, error);
}

vyre_status vy_cuda_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                      vyre_error *error) {
    vyre_transfer one = {{0, native}, offset, size, data};
    return transfer(self, &one, 1, 0, error);
}
