/* The list of resident buffers, and their transfers (gpu.h). */
#include "backends/gpu/gpu.h"

void vy_gpu_block_link(vy_gpu *gpu, vy_gpu_block *block) {
    pthread_mutex_lock(&gpu->lock);
    block->previous = NULL;
    block->next = gpu->blocks;
    if (block->next)
        block->next->previous = block;
    gpu->blocks = block;
    pthread_mutex_unlock(&gpu->lock);
}

void vy_gpu_block_unlink(vy_gpu *gpu, vy_gpu_block *block) {
    pthread_mutex_lock(&gpu->lock);
    *(block->previous ? &block->previous->next : &gpu->blocks) = block->next;
    if (block->next)
        block->next->previous = block->previous;
    pthread_mutex_unlock(&gpu->lock);
}

static vyre_status transfer(vy_gpu *gpu, const vyre_transfer *transfers, size_t count, int is_upload,
                            vyre_error *error) {
    int was_pushed;
    vyre_status status = gpu->calls->enter(gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = gpu->calls->transfer(gpu, transfers, count, is_upload, error);
    gpu->calls->leave(gpu, was_pushed);
    return status;
}

vyre_status vy_gpu_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error) {
    const vyre_transfer one = {{0, native}, offset, size, (void *)(uintptr_t)data};
    return transfer(self, &one, 1, 1, error);
}

vyre_status vy_gpu_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error) {
    const vyre_transfer one = {{0, native}, offset, size, data};
    return transfer(self, &one, 1, 0, error);
}

vyre_status vy_gpu_resident_upload_batch(void *self, const vyre_transfer *transfers, size_t count, vyre_error *error) {
    return transfer(self, transfers, count, 1, error);
}

vyre_status vy_gpu_resident_download_batch(void *self, const vyre_transfer *transfers, size_t count,
                                           vyre_error *error) {
    return transfer(self, transfers, count, 0, error);
}
