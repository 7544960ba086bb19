/* The cache on disk, and what caches in memory share with it: figures, limits, the ban on compiling.
 *
 * One file an entry, named by its key, written to a temporary name and renamed: readers see all of an entry or none. There are no locks between
 * processes, and none is held here while the disk works. Nothing is synced: after a loss of power an entry may be cut short or
 * hold zeros, and its checksum makes that a miss. */
#ifndef VY_DRIVER_CACHE_DISK_H
#define VY_DRIVER_CACHE_DISK_H

#include "base/memory.h"
#include "driver/cache_entry.h"
#include "vyre/cache.h"

/* Replaces what `out` holds with the payload stored under the key, whose bytes are those that were stored.
 *
 * VYRE_NOT_FOUND  not there, or anything at all is wrong; `out` is empty then. An entry that is damaged is removed, and counted as rejected.
 *
 * Blocks on the disk. Any thread. Counts no hit or miss: whether the backend takes the payload is for the caller to see. */
vyre_status vy_disk_cache_load(const vy_cache_key *key, vyre_bytes *out);

/* Stores, replacing what is there; best effort: that nothing was stored is seen in the figures and the log only. label: the pipeline's id,
 * "<backend>:<fingerprint>". Counts a store. Blocks on the disk. Any thread. */
void vy_disk_cache_store(const vy_cache_key *key, const char *label, vyre_span payload);

/* Whether there is a folder, as far as that is a choice, and it may hold anything: without it there is nothing to look for or to make. */
int vy_disk_cache_is_enabled(void);

/* ---- figures, limits ---- */

typedef enum vy_cache_stat {
#define X(name, doc) VY_CACHE_##name,
    VYRE_CACHE_STATS_LIST(X)
#undef X
        VY_CACHE_STAT_COUNT
} vy_cache_stat;

/* Adds; `entries` falls by adding the two's complement. Any thread, does not block. */
void vy_cache_count(vy_cache_stat figure, uint64_t amount);

uint32_t vy_cache_memory_limit(void);
uint64_t vy_cache_disk_limit(void);
/* 1 when a compile is to be refused. */
int vy_compile_forbidden(void);

/* ---- listing ---- */

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

#endif
