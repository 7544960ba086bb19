/* Disk cache of compiled pipelines, and the statistics and limits that it shares with the caches in memory.
 *
 * Each entry is one file, named by its key. It is written under a temporary name and renamed, so readers see a complete
 * entry or none. No lock exists between processes, and no lock is held here during disk access. Nothing is synced:
 * after a power loss an entry may be truncated or contain zeros, which its checksum turns into a miss. */
#ifndef VY_DRIVER_CACHE_DISK_H
#define VY_DRIVER_CACHE_DISK_H

#include "base/memory.h"
#include "driver/cache_entry.h"
#include "driver/executable.h"
#include "driver/thread_pool.h"
#include "vyre/cache.h"

/* Replaces the contents of `out` with the payload stored under the key.
 *
 * VYRE_NOT_FOUND  no such entry, or any problem; `out` is empty then. A damaged entry is removed and counted as
 *                 rejected.
 *
 * Blocks on the disk. Any thread. Counts no hit or miss: the caller does, once the backend has accepted the payload. */
vyre_status vy_disk_cache_load(const vy_cache_key *key, vyre_bytes *out);

/* Stores a payload and replaces an existing entry. Best effort: a failure appears in the statistics and the log only.
 * label: the pipeline's id, "<backend>:<fingerprint>". Counts a store. Blocks on the disk. Any thread. */
void vy_disk_cache_store(const vy_cache_key *key, const char *label, vyre_span payload);

/* Whether a folder is configured and the disk limit is not 0. Otherwise lookups and stores are skipped. */
int vy_disk_cache_is_enabled(void);

/* ---- statistics, limits ---- */

typedef enum vy_cache_stat {
#define X(name, doc) VY_CACHE_##name,
    VYRE_CACHE_STATS_LIST(X)
#undef X
        VY_CACHE_STAT_COUNT
} vy_cache_stat;

/* Adds to a counter. `entries` is decremented by adding the two's complement. Any thread, does not block. */
void vy_cache_count(vy_cache_stat figure, uint64_t amount);

uint32_t vy_cache_memory_limit(void);
uint64_t vy_cache_disk_limit(void);
/* Whether compiling is forbidden. */
int vy_compile_forbidden(void);

/* ---- listing ---- */

/* Age in seconds at which a temporary file is considered abandoned: a write lasts milliseconds. A live writer only
 * loses its entry. */
#define VY_CACHE_TEMPORARY_AGE 900

typedef struct vy_cache_listing_entry {
    vy_cache_key key;
    uint64_t size;
    uint64_t used_ns; /* since 1970 */
} vy_cache_listing_entry;

typedef struct vy_cache_listing {
    VY_VECTOR(vy_cache_listing_entry) entries; /* most recently used first; equal times by key */
    uint64_t total;                            /* bytes */
} vy_cache_listing;

/* Lists the entries, and removes temporary files that are at least `age` seconds old (negative: none). */
vyre_status vy_cache_listing_make(int folder, int64_t age, vy_cache_listing *out, vyre_error *error);
void vy_cache_listing_free(vy_cache_listing *listing);

/* Write-back of compiled binaries to the disk cache (cache_disk.h).
 *
 * Most backends have their binary ready, and it is stored before the compile returns. A backend that must first produce
 * it has `serialize_later`. A thread of the backend's pool calls that when no compile has run for a while, because the
 * call would delay a compile. To bound the queue, a long queue is drained without waiting, and a thread that finds the
 * queue full stores its binary itself.
 *
 * A queued entry holds a reference to its executable and is dropped if the device is lost. Shutdown waits until the
 * queue is empty. */
typedef struct vy_writeback_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vy_writeback *first, *last; /* queued */
    unsigned count;                    /* of them */
    uint64_t put, done;                /* counts so far; entries are processed in order */
    unsigned compiling;                /* calls of the backend's compiler in progress */
    uint64_t compiled;                 /* when the last one ended, in nanoseconds */
    unsigned urgent_waiters;           /* threads that wait for the end of the queue: it is drained without delay */
    int is_draining;                   /* a thread drains the queue */
    vyre_backend *backend;
    vy_thread_pool_job job;
} vy_writeback_queue;

void vy_writeback_queue_start(vy_writeback_queue *stores, vyre_backend *backend);
/* After the pool's threads have ended. */
void vy_writeback_queue_end(vy_writeback_queue *stores);

/* Around a call of the backend's compiler. */
void vy_writeback_queue_begin_compile(vy_writeback_queue *stores);
void vy_writeback_queue_end_compile(vy_writeback_queue *stores);

/* Stores part `index` of an executable, compiled from this program, under the key: now or later, if the backend can
 * serialize and the disk cache is enabled. Best effort: a pipeline that cannot be stored is still valid. Inside the
 * backend. */
void vy_writeback_store(vy_executable *executable, uint32_t index, const vyre_program *program,
                        const vy_cache_key *key);
/* Waits until all entries queued before the call are stored. Not inside the backend. */
void vy_writeback_queue_flush(vy_writeback_queue *stores);

#endif
