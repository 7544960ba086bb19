/* Resident buffers of the `cpu` backend (memory.h). The driver layer has checked handles and ranges. */
#include "backends/cpu/memory.h"

#include "backends/cpu/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "driver/interop.h"

#include <sys/mman.h>

typedef struct block {
    size_t size; /* of all of it that is ours */
    uint8_t *bytes;
} block;

/* Page tables of large buffers take as long to walk as the buffers; to be asked for on systems that have large pages
 * for those who ask. Whether it helps or not, nothing depends on it. */
void vy_cpu_memory_advise(void *memory, size_t size) {
    enum { LARGE = 4 << 20, PAGE = 2 << 20 };
    uintptr_t first = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE, end = ((uintptr_t)memory + size) / PAGE * PAGE;
    if (size >= LARGE && first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
}

static block *block_of(uint64_t native) {
    return (block *)(uintptr_t)native;
}

uint8_t *vy_cpu_resident_bytes(uint64_t native) {
    return block_of(native)->bytes;
}

/* The threads that will work on it clear it, each its share: systems with several memories put pages where they are
 * used first. */
vyre_status vy_cpu_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    size_t whole = size < PTRDIFF_MAX / 2 ? sizeof(block) + VY_CPU_ALIGNMENT + (size_t)size : 0;
    block *made = vy_allocate(whole);
    if (!made)
        return vy_fail_memory(error, "allocating a resident buffer");
    vy_cpu_memory_advise(made, whole);
    uintptr_t start = (uintptr_t)(made + 1) + VY_CPU_ALIGNMENT - 1;
    *made = (block){whole, (uint8_t *)(start / VY_CPU_ALIGNMENT * VY_CPU_ALIGNMENT)};
    vy_cpu_pool_copy_or_clear(((vy_cpu *)self)->pool, made->bytes, NULL, (size_t)size);
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_cpu_resident_free(void *self, uint64_t native, vyre_error *error) {
    (void)self;
    (void)error;
    vy_release(block_of(native), block_of(native)->size);
    return VYRE_OK;
}

vyre_status vy_cpu_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error) {
    (void)self;
    (void)size;
    vyre_status status = vy_host_location_check(place, "cpu", error);
    if (status != VYRE_OK)
        return status;
    block *made = vy_allocate(sizeof *made);
    if (!made)
        return vy_fail_memory(error, "wrapping foreign memory");
    *made = (block){sizeof *made, (uint8_t *)(uintptr_t)place->address};
    *native = (uintptr_t)made;
    return VYRE_OK;
}

vyre_status vy_cpu_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error) {
    (void)self;
    (void)error;
    *place = (vyre_memory_location){VYRE_LOCATION_HOST, 0, (uintptr_t)vy_cpu_resident_bytes(native)};
    return VYRE_OK;
}

vyre_status vy_cpu_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error) {
    (void)error;
    vy_cpu_pool_copy_or_clear(((vy_cpu *)self)->pool, vy_cpu_resident_bytes(native) + offset, data, (size_t)size);
    return VYRE_OK;
}

vyre_status vy_cpu_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error) {
    (void)error;
    vy_cpu_pool_copy_or_clear(((vy_cpu *)self)->pool, data, vy_cpu_resident_bytes(native) + offset, (size_t)size);
    return VYRE_OK;
}
