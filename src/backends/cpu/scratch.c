/* Blocks of memory for frames (scratch.h). */
#include "backends/cpu/scratch.h"

#include "backends/cpu/kernel.h"
#include "base/memory.h"

struct vy_cpu_block {
    vy_cpu_block *next;
    size_t size; /* of all of it */
    size_t room; /* of its bytes */
};

void vy_cpu_scratch_start(vy_cpu_scratch *scratch) {
    pthread_mutex_init(&scratch->lock, NULL);
}

static void free_block(vy_cpu_block *block) {
    vy_release(block, block->size);
}

uint8_t *vy_cpu_block_bytes(vy_cpu_block *block) {
    uintptr_t start = (uintptr_t)(block + 1);
    return (uint8_t *)((start + VY_CPU_ALIGNMENT - 1) / VY_CPU_ALIGNMENT * VY_CPU_ALIGNMENT);
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

vy_cpu_block *vy_cpu_scratch_take(vy_cpu_scratch *scratch, uint64_t size) {
    pthread_mutex_lock(&scratch->lock);
    vy_cpu_block *block = scratch->kept;
    if (block)
        scratch->kept = block->next;
    pthread_mutex_unlock(&scratch->lock);
    if (block && block->room >= size)
        return block;
    if (block)
        free_block(block); /* one that is too small makes room for one that is not */
    return make(size);
}

void vy_cpu_scratch_give(vy_cpu_scratch *scratch, vy_cpu_block *block) {
    pthread_mutex_lock(&scratch->lock);
    block->next = scratch->kept;
    scratch->kept = block;
    pthread_mutex_unlock(&scratch->lock);
}

void vy_cpu_scratch_trim(vy_cpu_scratch *scratch) {
    pthread_mutex_lock(&scratch->lock);
    vy_cpu_block *block = scratch->kept, *next;
    scratch->kept = NULL;
    pthread_mutex_unlock(&scratch->lock);
    for (; block; block = next) {
        next = block->next;
        free_block(block);
    }
}

void vy_cpu_scratch_end(vy_cpu_scratch *scratch) {
    vy_cpu_scratch_trim(scratch);
    pthread_mutex_destroy(&scratch->lock);
}
