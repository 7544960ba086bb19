/* Buffer recycler: a bounded free list of large host output buffers.
 *
 * The operating system clears new memory page by page on first touch, which costs several times as much as filling it.
 * The list is bounded: eight buffers and a sixteenth of the machine's memory in total. */
#ifndef VY_BASE_BUFFER_RECYCLER_H
#define VY_BASE_BUFFER_RECYCLER_H

#include "vyre/base.h"

#include <pthread.h>

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
