/* Resident buffers of the reference backend: plain memory. A native value is the address of a block that knows its size. The boundary has
 * checked handles and ranges. */
#include "backends/reference/reference.h"

#include "base/status.h"
#include "driver/interop.h"

typedef struct vy_reference_block {
    struct vy_reference_block *before, *after; /* of the backend's */
    size_t size;                               /* of all of it that is ours */
    unsigned char *bytes;                      /* those that follow, or somebody else's */
    alignas(max_align_t) unsigned char own[];
} block;

/* The backend knows its blocks: a call that was abandoned does not free what it allocated. */
static void enter(vy_reference_backend *reference, block *made) {
    pthread_mutex_lock(&reference->lock);
    made->before = NULL;
    made->after = reference->blocks;
    if (made->after)
        made->after->before = made;
    reference->blocks = made;
    pthread_mutex_unlock(&reference->lock);
}

static void leave(vy_reference_backend *reference, block *made) {
    pthread_mutex_lock(&reference->lock);
    if (made->before)
        made->before->after = made->after;
    else
        reference->blocks = made->after;
    if (made->after)
        made->after->before = made->before;
    pthread_mutex_unlock(&reference->lock);
}

void vy_reference_free_all(vy_reference_backend *reference) {
    while (reference->blocks)
        vy_reference_free(reference, (uintptr_t)reference->blocks, NULL);
}

static block *block_of(uint64_t native) {
    return (block *)(uintptr_t)native;
}

unsigned char *vy_reference_bytes(uint64_t native, uint64_t offset) {
    return block_of(native)->bytes + offset;
}

vyre_status vy_reference_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    block *made = size < SIZE_MAX / 2 ? vy_allocate_zero(sizeof *made + (size_t)size) : NULL;
    if (!made)
        return vy_fail_memory(error, "allocating a resident buffer");
    made->size = sizeof *made + (size_t)size;
    made->bytes = made->own;
    enter(self, made);
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_reference_free(void *self, uint64_t native, vyre_error *error) {
    (void)error;
    leave(self, block_of(native));
    vy_release(block_of(native), block_of(native)->size);
    return VYRE_OK;
}

vyre_status vy_reference_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                              vyre_error *error) {
    (void)size;
    vyre_status status = vy_host_location_check(place, ((vy_reference_backend *)self)->id, error);
    if (status != VYRE_OK)
        return status;
    block *made = vy_allocate(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "wrapping foreign memory");
    made->size = sizeof *made;
    made->bytes = (unsigned char *)(uintptr_t)place->address;
    enter(self, made);
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_reference_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error) {
    (void)self;
    (void)error;
    *place = (vyre_memory_location){VYRE_LOCATION_HOST, 0, (uintptr_t)vy_reference_bytes(native, 0)};
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
