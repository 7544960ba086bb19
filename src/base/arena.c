/* The arena: a chain of blocks, the newest first; `used` counts in that one. */
#include "base/memory.h"

#define FIRST_BLOCK 4096u
#define LARGEST_STEP (1u << 20)

struct vy_arena_block {
    struct vy_arena_block *next;
    size_t size; /* of data */
    alignas(max_align_t) unsigned char data[];
};

static int add_block(vy_arena *arena, size_t size) {
    size_t step = FIRST_BLOCK - sizeof(struct vy_arena_block);
    if (arena->blocks) {
        step = arena->blocks->size < LARGEST_STEP / 2 ? arena->blocks->size * 2 : LARGEST_STEP;
        step -= step % alignof(max_align_t);
    }
    if (step < size)
        step = size;
    struct vy_arena_block *block = vy_allocate(sizeof *block + step);
    if (!block)
        return 0;
    block->next = arena->blocks;
    block->size = step;
    arena->blocks = block;
    arena->used = 0;
    return 1;
}

void *vy_arena_allocate(vy_arena *arena, size_t size) {
    if (size > PTRDIFF_MAX / 2)
        return NULL;
    size_t unit = alignof(max_align_t);
    size = size ? (size + unit - 1) / unit * unit : unit;
    if (!arena->blocks || arena->blocks->size - arena->used < size) {
        if (!add_block(arena, size))
            return NULL;
    }
    void *memory = arena->blocks->data + arena->used;
    arena->used += size;
    return memset(memory, 0, size);
}

char *vy_arena_copy(vy_arena *arena, const char *text, size_t length) {
    if (length == SIZE_MAX)
        return NULL;
    char *copy = vy_arena_allocate(arena, length + 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

void vy_arena_free(vy_arena *arena) {
    for (struct vy_arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        vy_release(block, sizeof *block + block->size);
    }
    *arena = (vy_arena){0};
}
