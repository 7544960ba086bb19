/* Blocks of memory for frames (scratch.h). */
#include "backends/cpu/scratch.h"

#include "backends/cpu/kernel.h"
#include "base/memory.h"

struct vy_cpu_block {
    size_t size; /* of all of it */
    size_t room; /* of its bytes */
};

static void free_block(vy_cpu_block *block) {
    if (block)
        vy_release(block, block->size);
}

uint8_t *vy_cpu_block_bytes(vy_cpu_block *block) {
    uintptr_t start = (uintptr_t)(block + 1);
    return (uint8_t *)vy_cpu_align(start);
}

static vy_cpu_block *make(uint64_t room) {
    if (room > PTRDIFF_MAX / 2)
        return NULL;
    size_t size = sizeof(vy_cpu_block) + VY_CPU_ALIGNMENT + (size_t)room;
    vy_cpu_block *block = vy_allocate(size);
    if (block)
        *block = (vy_cpu_block){.size = size, .room = (size_t)room};
    return block;
}

static _Atomic(vy_cpu_block *) *place_of(vy_cpu_scratch *scratch, unsigned place) {
    return &scratch->places[place % VY_CPU_PLACES].kept;
}

vy_cpu_block *vy_cpu_scratch_take(vy_cpu_scratch *scratch, unsigned place, uint64_t size) {
    vy_cpu_block *block = atomic_exchange_explicit(place_of(scratch, place), NULL, memory_order_acquire);
    if (block && block->room >= size)
        return block;
    free_block(block); /* one that is too small makes room for one that is not */
    return make(size);
}

void vy_cpu_scratch_give(vy_cpu_scratch *scratch, unsigned place, vy_cpu_block *block) {
    free_block(atomic_exchange_explicit(place_of(scratch, place), block, memory_order_acq_rel));
}

void vy_cpu_scratch_trim(vy_cpu_scratch *scratch) {
    for (unsigned i = 0; i < VY_CPU_PLACES; i++)
        free_block(atomic_exchange_explicit(place_of(scratch, i), NULL, memory_order_acquire));
}
