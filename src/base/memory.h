/* Memory: the only caller of the allocator hook, plus growable arrays and an arena.
 *
 * Sizes are passed on release, so a hook needs no block headers. Size multiplications are checked here and nowhere
 * else. */
#ifndef VY_BASE_MEMORY_H
#define VY_BASE_MEMORY_H

#include "vyre/base.h"

#include <pthread.h>
#include <stdalign.h>
#include <string.h>

/* NULL when out of memory, and for size 0, which callers do not treat as a failure. Resizing NULL allocates; resizing
 * to 0 releases. */
void *vy_allocate(size_t size);
void *vy_allocate_zero(size_t size);
void *vy_resize(void *memory, size_t old_size, size_t new_size);
void vy_release(void *memory, size_t size);

/* count * size, or SIZE_MAX if that overflows, for which every allocation fails. */
size_t vy_array_size(size_t count, size_t size);

/* Makes room for `extra` more items in a "T *items; uint32_t count, capacity" triple. Returns 0 when memory or the
 * 32-bit count is exhausted; the array is unchanged then. */
int vy_grow(void **items, uint32_t *capacity, uint32_t count, uint32_t extra, size_t item_size);

/* VY_VECTOR(T) declares such a triple. VY_PUSH appends one zeroed item and returns its address, or NULL. */
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

/* Arena: allocates many small objects that are freed together. One thread at a time. Initialise with zeros. */
typedef struct vy_arena {
    struct vy_arena_block *blocks;
    size_t used; /* bytes of the first block */
} vy_arena;

/* Zeroed and aligned for any object; NULL if out of memory. */
void *vy_arena_allocate(vy_arena *arena, size_t size);
/* A NUL-terminated copy. */
char *vy_arena_copy(vy_arena *arena, const char *text, size_t length);
void vy_arena_free(vy_arena *arena);

/* Buffer recycler: a bounded free list of large host output buffers.
 *
 * The operating system clears new memory page by page on first touch, which costs several times as much as filling it.
 * The list is bounded: eight buffers and a sixteenth of the machine's memory in total. */
/* Smaller buffers are left to the allocator. */
enum { VY_BUFFER_RECYCLER_MIN_BYTES = 1 << 20, VY_BUFFER_RECYCLER_SLOTS = 8 };

typedef struct vy_buffer_recycler {
    pthread_mutex_t lock;
    vyre_bytes items[VY_BUFFER_RECYCLER_SLOTS]; /* capacity 0: free */
    uint64_t bytes, max_bytes;
} vy_buffer_recycler;

void vy_buffer_recycler_init(vy_buffer_recycler *recycler);
void vy_buffer_recycler_destroy(vy_buffer_recycler *recycler);
/* Moves a buffer of at least `size` and at most about twice that to an empty slot, if the list has one. Its contents
 * are unspecified. */
void vy_buffer_recycler_acquire(vy_buffer_recycler *recycler, uint64_t size, vyre_bytes *slot);
/* Moves a large buffer to the list if it fits; the slot is empty then. */
void vy_buffer_recycler_release(vy_buffer_recycler *recycler, vyre_bytes *slot);

#endif
