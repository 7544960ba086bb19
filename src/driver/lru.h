/* A bounded table from keys to pointers that forgets what was used longest ago. What it points at, and the lock around it, are the caller's. */
#ifndef VY_DRIVER_LRU_H
#define VY_DRIVER_LRU_H

#include "base/memory.h"
#include "driver/cache_key.h"

/* Places in `entries`, plus one; 0 is none. */
typedef struct vy_lru_entry {
    vy_cache_key key;
    void *value;
    uint32_t next_in_bucket; /* the next of the same bucket, or of the free ones */
    uint32_t newer, older;   /* neighbours in the order of use */
} vy_lru_entry;

/* Starts as zeros. */
typedef struct vy_lru {
    VY_VECTOR(vy_lru_entry) entries;
    uint32_t *buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t count;
    uint32_t newest, oldest, free;
} vy_lru;

/* NULL if it is not there; otherwise it is the newest now. */
void *vy_lru_find(vy_lru *lru, const vy_cache_key *key);
/* Adds a key that is not there. Returns 0 when memory is out: nothing changed. */
int vy_lru_add(vy_lru *lru, const vy_cache_key *key, void *value);
/* Takes the oldest out while there are more than `limit`; NULL when there are not. */
void *vy_lru_evict(vy_lru *lru, uint32_t limit);
/* Frees the table itself: empty it first. */
void vy_lru_free(vy_lru *lru);

#endif
