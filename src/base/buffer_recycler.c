/* Buffer recycler (buffer_recycler.h). */
#include "base/buffer_recycler.h"

#include <unistd.h>

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
