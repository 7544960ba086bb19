/* Memory of large outputs that changed hands, kept for those that come next.
 *
 * Memory that is new is cleared by the system page by page when it is first touched, and that takes several times as long as to fill it. What is kept is bounded: a few pieces,
 * and a sixteenth of the machine's memory in all. */
#ifndef VY_BASE_HOARD_H
#define VY_BASE_HOARD_H

#include "vyre/base.h"

#include <pthread.h>

/* Smaller ones the allocator keeps itself. */
enum { VY_HOARD_LEAST = 1 << 20, VY_HOARD_PLACES = 8 };

typedef struct vy_hoard {
    pthread_mutex_t lock;
    vyre_bytes items[VY_HOARD_PLACES]; /* an empty one has no capacity */
    uint64_t bytes, most;
} vy_hoard;

void vy_hoard_start(vy_hoard *hoard);
void vy_hoard_end(vy_hoard *hoard);
/* Memory for an empty slot, if there is some of that size that is not much larger: what it holds is anybody's. */
void vy_hoard_take(vy_hoard *hoard, uint64_t size, vyre_bytes *slot);
/* Keeps what is large, if there is room: the slot is empty then. */
void vy_hoard_give(vy_hoard *hoard, vyre_bytes *slot);

#endif
