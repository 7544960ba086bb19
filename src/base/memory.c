/* The allocator hook and the growth of arrays.
 *
 * The hook is the one mutable global of the library. It never sees a size of 0 nor one over PTRDIFF_MAX, so a hook
 * needs no special cases. */
#include "base/memory.h"

#include <stdlib.h>

/* What an array has room for when it grows first, in items and in bytes: small items come in numbers. */
enum { LEAST_ITEMS = 8, LEAST_BYTES = 256 };

static void *default_allocate(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void *default_resize(void *user, void *memory, size_t old_size, size_t new_size) {
    (void)user;
    (void)old_size;
    return realloc(memory, new_size);
}

static void default_release(void *user, void *memory, size_t size) {
    (void)user;
    (void)size;
    free(memory);
}

static const vyre_allocator default_allocator = {NULL, default_allocate, default_resize, default_release};
static vyre_allocator hook = {NULL, default_allocate, default_resize, default_release};

void vyre_allocator_set(const vyre_allocator *allocator) {
    int complete = allocator && allocator->allocate && allocator->resize && allocator->release;
    hook = complete ? *allocator : default_allocator;
}

void *vy_allocate(size_t size) {
    if (size == 0 || size > PTRDIFF_MAX)
        return NULL;
    return hook.allocate(hook.user, size);
}

void *vy_allocate_zero(size_t size) {
    void *memory = vy_allocate(size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void *vy_resize(void *memory, size_t old_size, size_t new_size) {
    if (!memory)
        return vy_allocate(new_size);
    if (new_size == 0) {
        vy_release(memory, old_size);
        return NULL;
    }
    if (new_size > PTRDIFF_MAX)
        return NULL;
    return hook.resize(hook.user, memory, old_size, new_size);
}

void vy_release(void *memory, size_t size) {
    if (memory)
        hook.release(hook.user, memory, size);
}

size_t vy_array_size(size_t count, size_t size) {
    size_t total;
    return __builtin_mul_overflow(count, size, &total) ? SIZE_MAX : total;
}

int vy_grow(void **items, uint32_t *capacity, uint32_t count, uint32_t extra, size_t item_size) {
    if (extra > UINT32_MAX - count)
        return 0;
    uint32_t needed = count + extra;
    if (needed <= *capacity)
        return 1;
    uint32_t doubled = *capacity > UINT32_MAX / 2 ? UINT32_MAX : *capacity * 2;
    uint32_t least = item_size < LEAST_BYTES / LEAST_ITEMS ? (uint32_t)(LEAST_BYTES / item_size) : LEAST_ITEMS;
    uint32_t target = doubled < least ? least : doubled;
    if (target < needed)
        target = needed;
    /* The caller's pointer is a T *, not a void *: copying its bytes is the way that aliasing rules allow. */
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = vy_resize(old, vy_array_size(*capacity, item_size), vy_array_size(target, item_size));
    if (!grown)
        return 0;
    memcpy(items, &grown, sizeof grown);
    *capacity = target;
    return 1;
}
