/* One entry as a file: looked at, written, removed. */
#ifndef VY_DRIVER_CACHE_FILE_H
#define VY_DRIVER_CACHE_FILE_H

#include "driver/cache_entry.h"

typedef enum vy_cache_file_status {
    VY_CACHE_FILE_VALID,
    VY_CACHE_FILE_MISSING,    /* no such entry */
    VY_CACHE_FILE_CORRUPT,    /* will never be right again */
    VY_CACHE_FILE_UNREADABLE, /* the system did not let us look */
    VY_CACHE_FILE_NO_MEMORY,
} vy_cache_file_status;

typedef struct vy_cache_file_info {
    vy_cache_entry entry;
    const char *problem; /* a few words unless GOOD */
    uint64_t size, used; /* of the file; seconds since 1970 */
} vy_cache_file_info;

/* Examines the entry of that key. With bytes not NULL all of it is read there and its checksum compared, and after a GOOD that is older than ten
 * minutes, if `touch`, it counts as just used. */
vy_cache_file_status vy_cache_entry_examine(int folder, const vy_cache_key *key, vyre_bytes *bytes, int touch,
                                            vy_cache_file_info *found);
/* Writes a temporary file and renames it. Returns 0, or what the system said. */
int vy_cache_entry_write(int folder, const vy_cache_key *key, const uint8_t *image, size_t size);
/* Returns 0, also when there is none, or what the system said. */
int vy_cache_entry_remove(int folder, const vy_cache_key *key);

#endif
