/* The cache of compiled pipelines: a bounded table in memory, and a folder on disk that persists between processes. A
 * compile consults the memory, then the folder, then calls the backend's compiler. A key covers everything that
 * determines the binary (program, backend, device and driver, options, build of the library), so a stale entry is never
 * found.
 *
 * Errors:    a problem with the folder, a file in it or the disk is a cache miss and never fails a compile. Each kind
 *            of problem is reported once to the log sink (vyre/telemetry.h).
 * Writes:    binaries that are expensive to produce are stored after the compile (vyre_backend_flush_cache in
 *            vyre/driver.h).
 * Scope:     all settings and figures belong to the process. A setting applies to operations that start afterwards.
 * Threads:   any thread, concurrently. No function holds a lock during disk I/O.
 * Blocking:  only vyre_cache_walk and vyre_cache_clear access the disk.
 *
 * docs/cache.md specifies the format. */
#ifndef VYRE_CACHE_H
#define VYRE_CACHE_H

#include "vyre/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ---- */

/* Sets the cache folder. No file or folder is created or opened here.
 *
 * path  Copied. A relative path is resolved against the current directory now. "": the disk cache is off. NULL, the
 *       initial setting: $VYRE_CACHE_DIR (empty: off; a relative path: off, and reported), else $XDG_CACHE_HOME/vyre,
 *       else $HOME/.cache/vyre, read at the next use. A process with raised privileges ignores the three variables, so
 *       its disk cache is off.
 *
 * Creation:  the folder is created with mode 0700 when the first entry is stored, but not below a folder of another
 *            user.
 * Trust:     entries are code. A folder is not used if it is a symbolic link, or if a user other than root and the user
 *            of the process owns it, can write to it, or can replace it through a parent folder.
 *
 * VYRE_LIMIT  the path exceeds the limit of the system; the setting is unchanged
 * VYRE_IO     the current directory has no path; the setting is unchanged */
VYRE_API vyre_status vyre_cache_set_folder(const char *path, vyre_error *error);

/* Writes the folder as an absolute path; "" if the disk cache is off.
 *
 * buffer  May be NULL, to measure. Terminated if size > 0.
 *
 * Returns the length of the whole path. */
VYRE_API size_t vyre_cache_folder(char *buffer, size_t size);

/* Sets the maximum size of the folder in bytes. Initially 1 GiB; 0: nothing more is stored. The least recently used
 * entries are evicted first. A process that stores entries enforces the limit about once per 1/64 of it added, so the
 * size may temporarily exceed the limit by a little. */
VYRE_API void vyre_cache_set_disk_limit(uint64_t bytes);
/* Sets the maximum number of pipelines kept in memory. Initially 256; 0: none is kept. */
VYRE_API void vyre_cache_set_memory_limit(uint32_t entries);

/* Forbids or allows compiling.
 *
 * forbid  1: a compile that no cache satisfies returns VYRE_UNSUPPORTED, which proves a hit otherwise. 0: compiling is
 *         allowed. -1, the initial setting: forbidden if the environment variable VYRE_FORBID_COMPILE is neither unset,
 *         "" nor "0"; it is read at each compile. */
VYRE_API void vyre_cache_forbid_compile(int forbid);

/* ---- figures ---- */

/* Figures since the start of the process. X(name, doc) */
#define VYRE_CACHE_STATS_LIST(X)                                                                                       \
    X(memory_hits, "compiles answered from memory")                                                                    \
    X(disk_hits, "compiles answered from the folder")                                                                  \
    X(misses, "compiles answered by neither")                                                                          \
    X(compiles, "times a backend compiled")                                                                            \
    X(stores, "entries written to the folder")                                                                         \
    X(evictions, "pipelines that left memory for others")                                                              \
    X(disk_evictions, "entries removed from the folder to keep its bound")                                             \
    X(rejected, "entries found damaged, or refused by the backend")                                                    \
    X(entries, "pipelines in memory now")

typedef struct vyre_cache_stats {
#define X(name, doc) uint64_t name;
    VYRE_CACHE_STATS_LIST(X)
#undef X
} vyre_cache_stats;

/* Reads the figures. Each is exact, but they are not read at a single instant. Does not block. */
VYRE_API void vyre_cache_get_stats(vyre_cache_stats *out);

/* ---- the folder's entries ---- */

/* One entry, valid during the visit. */
typedef struct vyre_cache_entry {
    const char *key;      /* 64 hexadecimal digits: the name of its file */
    const char *pipeline; /* "<backend>:<fingerprint>"; "" if it cannot be read */
    uint64_t size;        /* of the file, in bytes */
    uint64_t created;     /* seconds since 1970; 0 if it cannot be read */
    uint64_t used;        /* seconds since 1970, to within ten minutes */
    int valid;            /* 1 if no problem was found at the requested depth */
    const char *problem;  /* the problem found; NULL if valid */
} vyre_cache_entry;

/* Returns 0 to continue, anything else to stop. May call any function of this header. */
typedef int vyre_cache_visitor(void *user, const vyre_cache_entry *entry);

/* How much of each entry a walk reads: its header and size, or every byte. */
typedef enum vyre_cache_read_depth { VYRE_CACHE_READ_HEADERS, VYRE_CACHE_READ_ALL } vyre_cache_read_depth;

/* Visits the entries, most recently used first. Removes nothing. Entries that are added or removed concurrently may be
 * missed. Without a folder, or before it exists, no entry is visited.
 *
 * Blocking:  on the disk.
 *
 * VYRE_IO         the folder cannot be read, or is not trusted; the error states the reason
 * VYRE_NO_MEMORY  the list, or an entry to be read completely, does not fit in memory */
VYRE_API vyre_status vyre_cache_walk(vyre_cache_read_depth look, vyre_cache_visitor *visit, void *user,
                                     vyre_error *error);

/* Selects entries: those for which every condition holds. */
typedef struct vyre_cache_filter {
    int only_invalid;    /* only entries that VYRE_CACHE_READ_ALL reports as invalid */
    const char *backend; /* only entries of this backend; NULL: of all backends, readable or not */
} vyre_cache_filter;

/* Removes entries. Safe while other threads and processes use the folder: they get misses. Pipelines compiled before
 * and still waiting to be stored are stored afterwards.
 *
 * filter          NULL: all entries, and all temporary files of interrupted writers.
 * removed, bytes  Optional; receive the number of entries removed and their size, on failure too.
 *
 * Blocking:  on the disk.
 *
 * VYRE_IO         the folder cannot be read or written, or is not trusted; the other entries were removed
 * VYRE_NO_MEMORY  as for vyre_cache_walk */
VYRE_API vyre_status vyre_cache_clear(const vyre_cache_filter *filter, uint64_t *removed, uint64_t *bytes,
                                      vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
