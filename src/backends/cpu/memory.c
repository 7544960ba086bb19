/* Resident buffers (memory.h). The boundary has checked handles and ranges. */
#include "backends/cpu/memory.h"

#include "backends/cpu/cpu.h"
#include "base/memory.h"
#include "base/status.h"

typedef struct block {
    size_t size; /* of all of it */
    uint8_t *bytes;
} block;

static block *block_of(uint64_t native) {
    return (block *)(uintptr_t)native;
}

uint8_t *vy_cpu_resident_bytes(uint64_t native) {
    return block_of(native)->bytes;
}

vyre_status vy_cpu_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    (void)self;
    size_t whole = size < PTRDIFF_MAX / 2 ? sizeof(block) + VY_CPU_ALIGNMENT + (size_t)size : 0;
    block *made = vy_allocate_zero(whole);
    if (!made)
        return vy_fail_memory(error, "allocating a resident buffer");
    uintptr_t start = (uintptr_t)(made + 1) + VY_CPU_ALIGNMENT - 1;
    *made = (block){whole, (uint8_t *)(start / VY_CPU_ALIGNMENT * VY_CPU_ALIGNMENT)};
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_cpu_resident_free(void *self, uint64_t native, vyre_error *error) {
    (void)self;
    (void)error;
    vy_release(block_of(native), block_of(native)->size);
    return VYRE_OK;
}

vyre_status vy_cpu_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error) {
    (void)error;
    vy_cpu_pool_fill(((vy_cpu *)self)->pool, vy_cpu_resident_bytes(native) + offset, data, (size_t)size);
    return VYRE_OK;
}

vyre_status vy_cpu_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error) {
    (void)error;
    vy_cpu_pool_fill(((vy_cpu *)self)->pool, data, vy_cpu_resident_bytes(native) + offset, (size_t)size);
    return VYRE_OK;
}
