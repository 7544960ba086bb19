/* Memory: the allocator hook, growable arrays, the arena and vyre_bytes.
 *
 * The hook is process-wide state. It is never called with size 0 or a size over PTRDIFF_MAX, so a hook needs no special
 * cases. */
#include "base/memory.h"

#include "base/status.h"

#include <stdlib.h>
#include <unistd.h>

/* The minimum capacity of an array, in items and in bytes: arrays of small items start with more of them. */
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
    /* The caller's pointer is a T *, not a void *: strict aliasing only permits to copy its bytes. */
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = vy_resize(old, vy_array_size(*capacity, item_size), vy_array_size(target, item_size));
    if (!grown)
        return 0;
    memcpy(items, &grown, sizeof grown);
    *capacity = target;
    return 1;
}

/* ---- arena ----
 *
 * A chain of blocks, the newest first; `used` counts bytes of the newest. */

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

/* ---- vyre_bytes ---- */

void vyre_bytes_free(vyre_bytes *bytes) {
    if (!bytes)
        return;
    vy_release(bytes->data, bytes->capacity);
    *bytes = (vyre_bytes)VYRE_BYTES_INIT;
}

vyre_status vyre_bytes_resize(vyre_bytes *bytes, size_t size, vyre_error *error) {
    VY_REQUIRE(error, bytes);
    VY_REQUIRE_ARRAY(error, bytes->data, bytes->capacity);
    if (size > bytes->capacity) {
        /* Growth by half keeps repeated growth linear in total. */
        size_t half_more = bytes->capacity + bytes->capacity / 2;
        size_t capacity = half_more > size ? half_more : size;
        void *data = vy_resize(bytes->data, bytes->capacity, capacity);
        if (!data)
            return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a buffer (%zu bytes)", size);
        bytes->data = data;
        bytes->capacity = capacity;
    }
    if (size > bytes->size)
        memset((char *)bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
    return VYRE_OK;
}

/* Buffer recycler (memory.h). */
void vy_buffer_recycler_init(vy_buffer_recycler *recycler) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    *recycler = (vy_buffer_recycler){.max_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 16 : 0};
    pthread_mutex_init(&recycler->lock, NULL);
}

void vy_buffer_recycler_destroy(vy_buffer_recycler *recycler) {
    for (int i = 0; i < VY_BUFFER_RECYCLER_SLOTS; i++)
        vyre_bytes_free(&recycler->items[i]);
    pthread_mutex_destroy(&recycler->lock);
}

/* At most about twice as large: the rest would be unused while the caller has the buffer. */
static int fits(const vyre_bytes *item, uint64_t size) {
    return item->capacity >= size && item->capacity / 2 <= size;
}

void vy_buffer_recycler_acquire(vy_buffer_recycler *recycler, uint64_t size, vyre_bytes *slot) {
    vyre_bytes *best = NULL;
    if (size < VY_BUFFER_RECYCLER_MIN_BYTES || slot->capacity)
        return;
    pthread_mutex_lock(&recycler->lock);
    for (int i = 0; i < VY_BUFFER_RECYCLER_SLOTS; i++)
        if (fits(&recycler->items[i], size) && (!best || recycler->items[i].capacity < best->capacity))
            best = &recycler->items[i];
    if (best) {
        recycler->bytes -= best->capacity;
        *slot = *best;
        slot->size = 0;
        *best = (vyre_bytes)VYRE_BYTES_INIT;
    }
    pthread_mutex_unlock(&recycler->lock);
}

void vy_buffer_recycler_release(vy_buffer_recycler *recycler, vyre_bytes *slot) {
    if (slot->capacity < VY_BUFFER_RECYCLER_MIN_BYTES)
        return;
    pthread_mutex_lock(&recycler->lock);
    for (int i = 0;
         i < VY_BUFFER_RECYCLER_SLOTS && slot->capacity <= recycler->max_bytes - recycler->bytes && slot->capacity; i++)
        if (!recycler->items[i].capacity) {
            recycler->bytes += slot->capacity;
            recycler->items[i] = *slot;
            *slot = (vyre_bytes)VYRE_BYTES_INIT;
        }
    pthread_mutex_unlock(&recycler->lock);
}
