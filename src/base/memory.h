/* Memory: the only door to the allocator hook, plus growable arrays and an arena.
 *
 * Sizes are passed back on release, so a hook can account without headers. Multiplications are checked here and nowhere
 * else. */
#ifndef VY_BASE_MEMORY_H
#define VY_BASE_MEMORY_H

#include "vyre/base.h"

#include <stdalign.h>
#include <string.h>

/* NULL for size 0, which callers do not treat as failure, and when memory is out. Resizing NULL allocates, resizing to
 * 0 releases. */
void *vy_allocate(size_t size);
void *vy_allocate_zero(size_t size);
void *vy_resize(void *memory, size_t old_size, size_t new_size);
void vy_release(void *memory, size_t size);

/* count * size, or SIZE_MAX when it overflows (which every allocator refuses). */
size_t vy_array_size(size_t count, size_t size);

/* Growth for "T *items; uint32_t count, capacity" triples: makes room for `extra` more. Returns 0 when memory or the
 * 32-bit count is exhausted; the array is unchanged then. */
int vy_grow(void **items, uint32_t *capacity, uint32_t count, uint32_t extra, size_t item_size);

/* VY_VECTOR(T) declares such a triple; VY_PUSH appends one zeroed item and gives its address, or NULL. */
#define VY_VECTOR(T)                                                                                                   \
    struct {                                                                                                           \
        T *items;                                                                                                      \
        uint32_t count, capacity;                                                                                      \
    }
#define VY_RESERVE(v, extra)                                                                                           \
    ((v)->capacity - (v)->count >= (uint32_t)(extra) ||                                                                \
     vy_grow((void **)&(v)->items, &(v)->capacity, (v)->count, (uint32_t)(extra), sizeof *(v)->items))
#define VY_PUSH(v)                                                                                                     \
    (VY_RESERVE(v, 1) ? (memset(&(v)->items[(v)->count], 0, sizeof *(v)->items), &(v)->items[(v)->count++]) : NULL)
#define VY_VECTOR_FREE(v)                                                                                              \
    (vy_release((v)->items, (v)->capacity * sizeof *(v)->items), (v)->items = NULL, (v)->count = (v)->capacity = 0)

/* Arena: many small objects freed together. One thread at a time. Initialise with zeros. */
typedef struct vy_arena {
    struct vy_arena_block *blocks;
    size_t used; /* in the first block */
} vy_arena;

/* Zeroed, aligned for any object; NULL when memory is out. */
void *vy_arena_allocate(vy_arena *arena, size_t size);
/* A NUL-terminated copy. */
char *vy_arena_copy(vy_arena *arena, const char *text, size_t length);
void vy_arena_free(vy_arena *arena);

#endif
