/* One entry as a file: looked at, written, removed. */
#ifndef VY_DRIVER_CACHE_FILE_H
#define VY_DRIVER_CACHE_FILE_H

#include "driver/cache_entry.h"

typedef enum vy_verdict {
    VY_VERDICT_GOOD,
    VY_VERDICT_GONE,       /* no such entry */
    VY_VERDICT_DAMAGED,    /* will never be right again */
    VY_VERDICT_UNREADABLE, /* the system did not let us look */
    VY_VERDICT_NO_MEMORY,
} vy_verdict;

typedef struct vy_found {
    vy_entry entry;
    const char *problem; /* a few words unless GOOD */
    uint64_t size, used; /* of the file; seconds since 1970 */
} vy_found;

/* Examines the entry of that key. With bytes not NULL all of it is read there and its checksum compared, and after a GOOD that is older than ten
 * minutes, if `touch`, it counts as just used. */
vy_verdict vy_entry_examine(int folder, const vy_cache_key *key, vyre_bytes *bytes, int touch, vy_found *found);
/* Writes a temporary file and renames it. Returns 0, or what the system said. */
int vy_entry_write(int folder, const vy_cache_key *key, const uint8_t *image, size_t size);
/* Returns 0, also when there is none, or what the system said. */
int vy_entry_remove(int folder, const vy_cache_key *key);

#endif
