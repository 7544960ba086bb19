/* Where the cache on disk is, and whether that place can be trusted. */
#ifndef VY_DRIVER_CACHE_FOLDER_H
#define VY_DRIVER_CACHE_FOLDER_H

#include "vyre/cache.h"

/* Opens the folder for reading and searching. With `create`, it and the folders above it are made if they are missing, but
 * nothing is made below a folder of another user. *folder receives a descriptor that the caller closes, or -1 with VYRE_OK when
 * the disk cache is off or nothing is there.
 *
 * VYRE_IO  the folder cannot be opened or made, or its path is not trusted (base/trusted_path.h) */
vyre_status vy_cache_folder_open(int create, int *folder, vyre_error *error);

/* What goes wrong with a cache, by kind: each kind is said once for each folder that is set. */
typedef enum vy_cache_problem {
    VY_CACHE_PROBLEM_FOLDER, /* none, or not to be used */
    VY_CACHE_PROBLEM_WRITE,  /* an entry could not be written */
    VY_CACHE_PROBLEM_ENTRY,  /* an entry is damaged */
    VY_CACHE_PROBLEM_EVICT,  /* the bound could not be kept */
} vy_cache_problem;
void vy_cache_report(vy_cache_problem trouble, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "No space left on device": what the system said, whatever the locale. */
const char *vy_cache_reason(int number);

#endif
