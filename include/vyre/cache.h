/* The cache of compiled pipelines: a bounded table in memory and a folder on disk that outlives the process.
 *
 * Compiling a program asks memory first, then the folder, then the backend's compiler. A key covers everything that decides the binary
 * (program, backend, device and driver, options, build of the library), so an entry is right or it is not found. Whatever is wrong
 * with the folder, a file in it or the disk under it is a miss: it is reported once to the log sink (vyre/telemetry.h) and never fails
 * a compile. What takes long to make is stored after the compile (vyre_backend_flush_cache in vyre/driver.h). docs/cache.md has the format and
 * the reasons.
 *
 * Everything here belongs to the process, may be called from any thread, and takes effect for operations that start afterwards. */
#ifndef VYRE_CACHE_H
#define VYRE_CACHE_H

#include "vyre/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ---- */

/* Chooses the folder. A path is copied; one that is not absolute counts from the current directory of this moment. "" turns the disk off.
 * NULL, as at the start, means $VYRE_CACHE_DIR (set but empty: off), else $XDG_CACHE_HOME/vyre, else $HOME/.cache/vyre, looked up at the
 * next use; a process with raised privileges ignores all three, and has no folder then. Nothing is made or opened here: the folder is
 * created, for its owner alone (0700), when something is first stored. Its entries are code, so a folder is not used if it is a symbolic
 * link, or if a user other than that of the process and root owns it, can write to it, or can replace it through a folder above it.
 * Nothing is created below a folder of another user. Does not block on the disk.
 *
 * VYRE_LIMIT  the path is longer than the system allows; nothing changed.
 * VYRE_IO     the current directory has no path; nothing changed. */
VYRE_API vyre_status vyre_cache_set_folder(const char *path, vyre_error *error);
/* The folder as an absolute path, "" if the disk is off. Writes as much as fits, terminated if size > 0; returns the
 * whole length. buffer may be NULL, to measure. */
VYRE_API size_t vyre_cache_folder(char *buffer, size_t size);

/* Bytes the folder may hold (1 GiB at the start); 0 stores nothing more. What was used longest ago goes first. The bound is looked
 * after by whoever stores, about once for every sixty-fourth of it that is added: it may be passed by little, and for a while. */
VYRE_API void vyre_cache_set_disk_limit(uint64_t bytes);
/* Pipelines kept in memory (256 at the start); 0 keeps none. */
VYRE_API void vyre_cache_set_memory_limit(uint32_t entries);

/* 1 forbids compiling: what is in no cache is VYRE_UNSUPPORTED then, which proves a hit. 0 allows it, and -1, as at the start, leaves
 * it to the environment, which is asked at each compile: VYRE_FORBID_COMPILE set to anything but "" and "0" forbids. */
VYRE_API void vyre_cache_forbid_compile(int forbid);

/* ---- figures ---- */

/* X(name, doc): what happened since the process started. */
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

/* Each figure is exact, the set is not one instant. Does not block. */
VYRE_API void vyre_cache_get_stats(vyre_cache_stats *out);

/* ---- the folder's entries ---- */

/* One entry, borrowed for the visit. */
typedef struct vyre_cache_entry {
    const char *key;      /* 64 hexadecimal digits: the name of its file */
    const char *pipeline; /* "<backend>:<fingerprint>"; "" if it cannot be read */
    uint64_t size;        /* of the file, in bytes */
    uint64_t created;     /* seconds since 1970; 0 if it cannot be read */
    uint64_t used;        /* seconds since 1970, to within ten minutes */
    int valid;            /* nothing is wrong with it, as far as was asked */
    const char *problem;  /* what is wrong, NULL if valid */
} vyre_cache_entry;

/* Returns 0 to go on, anything else to stop. It may call any function of this header. */
typedef int vyre_cache_visitor(void *user, const vyre_cache_entry *entry);

/* How closely a walk looks: at heads and sizes, or at every byte. */
typedef enum vyre_cache_read_depth { VYRE_CACHE_READ_HEADERS, VYRE_CACHE_READ_ALL } vyre_cache_read_depth;

/* Visits the entries, those used last first. Removes nothing. Entries that come or go meanwhile may be missed. Blocks on the disk; holds
 * no lock. No folder, or one that does not exist yet, has no entries.
 *
 * VYRE_IO         the folder cannot be read, or is not one the library uses; the error says why.
 * VYRE_NO_MEMORY  the list, or an entry to be read whole, does not fit. */
VYRE_API vyre_status vyre_cache_walk(vyre_cache_read_depth look, vyre_cache_visitor *visit, void *user,
                                     vyre_error *error);

/* What to remove: all that every given condition fits. */
typedef struct vyre_cache_filter {
    int only_invalid;    /* only what a walk over every byte calls damaged */
    const char *backend; /* only entries of this backend; NULL = of all, readable or not */
} vyre_cache_filter;

/* Removes entries; filter NULL removes all, with what writers that died left behind. Safe while others use the folder: they miss. What was
 * compiled before and still waits to be stored is stored afterwards.
 * Blocks on the disk; holds no lock. removed and bytes, optional, count what went.
 *
 * VYRE_IO         the folder cannot be read or written, or is not one the library uses; what could be removed is removed.
 * VYRE_NO_MEMORY  as for a walk. */
VYRE_API vyre_status vyre_cache_clear(const vyre_cache_filter *filter, uint64_t *removed, uint64_t *bytes,
                                      vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
