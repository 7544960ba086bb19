/* Resident buffers of the reference backend: plain memory. A native value is the address of a block that knows its size. The boundary has
 * checked handles and ranges. */
#include "backends/reference/reference.h"

#include "base/status.h"

typedef struct block {
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
} block;

static block *block_of(uint64_t native) {
    return (block *)(uintptr_t)native;
}

unsigned char *vy_reference_bytes(uint64_t native, uint64_t offset) {
    return block_of(native)->bytes + offset;
}

vyre_status vy_reference_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    (void)self;
    block *made = size < SIZE_MAX / 2 ? vy_allocate_zero(sizeof *made + (size_t)size) : NULL;
    if (!made)
        return vy_fail_memory(error, "allocating a resident buffer");
    made->size = (size_t)size;
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_reference_free(void *self, uint64_t native, vyre_error *error) {
    (void)self;
    (void)error;
    vy_release(block_of(native), sizeof(block) + block_of(native)->size);
    return VYRE_OK;
}

vyre_status vy_reference_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                vyre_error *error) {
    (void)self;
    (void)error;
    memcpy(vy_reference_bytes(native, offset), data, (size_t)size);
    return VYRE_OK;
}

vyre_status vy_reference_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                  vyre_error *error) {
    (void)self;
    (void)error;
    memcpy(data, vy_reference_bytes(native, offset), (size_t)size);
    return VYRE_OK;
}
