/* Memory of large outputs that changed hands, kept for those that come next.
 *
 * Memory that is new is cleared by the system page by page when it is first touched, and that takes several times as
 * long as to fill it. What is kept is bounded: a few pieces, and a sixteenth of the machine's memory in all. */
#ifndef VY_BASE_BUFFER_RECYCLER_H
#define VY_BASE_BUFFER_RECYCLER_H

#include "vyre/base.h"

#include <pthread.h>

/* Smaller ones the allocator keeps itself. */
enum { VY_BUFFER_RECYCLER_MIN_BYTES = 1 << 20, VY_BUFFER_RECYCLER_SLOTS = 8 };

typedef struct vy_buffer_recycler {
    pthread_mutex_t lock;
    vyre_bytes items[VY_BUFFER_RECYCLER_SLOTS]; /* an empty one has no capacity */
    uint64_t bytes, max_bytes;
} vy_buffer_recycler;

void vy_buffer_recycler_init(vy_buffer_recycler *hoard);
void vy_buffer_recycler_destroy(vy_buffer_recycler *hoard);
/* Memory for an empty slot, if there is some of that size that is not much larger: what it holds is anybody's. */
void vy_buffer_recycler_acquire(vy_buffer_recycler *hoard, uint64_t size, vyre_bytes *slot);
/* Keeps what is large, if there is room: the slot is empty then. */
void vy_buffer_recycler_release(vy_buffer_recycler *hoard, vyre_bytes *slot);

#endif
