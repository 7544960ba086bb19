/* What is in the folder, and keeping its bound. */
#ifndef VY_DRIVER_CACHE_EVICT_H
#define VY_DRIVER_CACHE_EVICT_H

#include "base/memory.h"
#include "driver/cache_entry.h"

/* Temporary names: this, then what makes them unique. Writers that died leave them behind. */
#define VY_CACHE_TEMPORARY_PREFIX ".vyrepipe-"
/* Seconds after which nobody is writing it any more: a write takes milliseconds. One that is still alive only loses its entry. */
#define VY_CACHE_TEMPORARY_AGE 900

typedef struct vy_cache_listing_entry {
    vy_cache_key key;
    uint64_t size;
    uint64_t used_ns; /* since 1970 */
} vy_cache_listing_entry;

typedef struct vy_cache_listing {
    VY_VECTOR(vy_cache_listing_entry) entries; /* used last first; equal times by key */
    uint64_t total;                            /* bytes */
} vy_cache_listing;

/* Lists the entries, and removes temporary files that are at least `age` seconds old (negative: none) on the way. */
vyre_status vy_cache_listing_make(int folder, int64_t age, vy_cache_listing *out, vyre_error *error);
void vy_cache_listing_free(vy_cache_listing *listing);

/* Makes room before an entry of that key and size is stored, if it is time to look. */
void vy_cache_evict(int folder, const vy_cache_key *key, uint64_t incoming);

#endif
