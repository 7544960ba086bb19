/* Blocks of memory for frames (frame_pool.h). */
#include "backends/cpu/frame_pool.h"

#include "base/memory.h"

struct vy_cpu_frame_block {
    size_t size; /* of all of it */
    size_t room; /* of its bytes */
    vy_cpu_stack stack;
};

static void free_block(vy_cpu_frame_block *block) {
    if (!block)
        return;
    vy_cpu_stack_free(&block->stack);
    vy_release(block, block->size);
}

uint8_t *vy_cpu_frame_block_bytes(vy_cpu_frame_block *block) {
    uintptr_t start = (uintptr_t)(block + 1);
    return (uint8_t *)vy_cpu_align(start);
}

const vy_cpu_stack *vy_cpu_frame_block_stack(const vy_cpu_frame_block *block) {
    return &block->stack;
}

/* Takes the stack over, also if it fails. */
static vy_cpu_frame_block *make(uint64_t room, vy_cpu_stack stack) {
    size_t size = room > PTRDIFF_MAX / 2 ? SIZE_MAX : sizeof(vy_cpu_frame_block) + VY_CPU_ALIGNMENT + (size_t)room;
    vy_cpu_frame_block *block = size < SIZE_MAX ? vy_allocate(size) : NULL;
    if (block)
        *block = (vy_cpu_frame_block){.size = size, .room = (size_t)room, .stack = stack};
    else
        vy_cpu_stack_free(&stack);
    return block;
}

static _Atomic(vy_cpu_frame_block *) *slot_of(vy_cpu_frame_pool *frame_pool, unsigned slot) {
    return &frame_pool->slots[slot % VY_CPU_FRAME_SLOTS].kept;
}

vy_cpu_frame_block *vy_cpu_frame_pool_acquire(vy_cpu_frame_pool *frame_pool, unsigned slot, uint64_t size,
                                              uint64_t stack_bytes) {
    vy_cpu_frame_block *block = atomic_exchange_explicit(slot_of(frame_pool, slot), NULL, memory_order_acquire);
    if (!block || block->room < size) { /* one that is too small makes room for one that is not */
        vy_cpu_stack stack = block ? block->stack : (vy_cpu_stack){NULL, 0};
        if (block)
            vy_release(block, block->size);
        block = make(size, stack);
    }
    if (!block || !vy_cpu_stack_is_needed(stack_bytes) || vy_cpu_stack_reserve(&block->stack, stack_bytes))
        return block;
    free_block(block);
    return NULL;
}

void vy_cpu_frame_pool_release(vy_cpu_frame_pool *frame_pool, unsigned slot, vy_cpu_frame_block *block) {
    free_block(atomic_exchange_explicit(slot_of(frame_pool, slot), block, memory_order_acq_rel));
}

void vy_cpu_frame_pool_trim(vy_cpu_frame_pool *frame_pool) {
    for (unsigned i = 0; i < VY_CPU_FRAME_SLOTS; i++)
        free_block(atomic_exchange_explicit(slot_of(frame_pool, i), NULL, memory_order_acquire));
}
