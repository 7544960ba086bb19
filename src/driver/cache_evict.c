/* Listing and bounding the folder.
 *
 * Looking at every file for every store would make storing n entries quadratic, and a count that processes share would need locks. So a store
 * looks by chance: as likely as its size is to a sixty-fourth of the bound. Whoever stores and how often, about that much is added between two
 * looks; a look goes down to seven eighths, which leaves room for eight times as much. The chance is taken from the key, whose bits are as
 * good as any. */
#include "driver/cache_evict.h"

#include "base/status.h"
#include "driver/cache_disk.h"
#include "driver/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- listing ---- */

static int by_use(const void *left, const void *right) {
    const vy_cache_listing_entry *a = left, *b = right;
    if (a->used_ns != b->used_ns)
        return a->used_ns < b->used_ns ? 1 : -1;
    return memcmp(&a->key, &b->key, sizeof a->key);
}

static uint64_t nanoseconds(const struct timespec *time) {
    return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* Also one from the future is old: a clock was wrong. */
static void remove_if_old(int folder, const char *name, int64_t age) {
    struct stat facts;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    int64_t old = (int64_t)time(NULL) - (int64_t)facts.st_mtim.tv_sec;
    if (old >= age || old <= -VY_CACHE_TEMPORARY_AGE)
        (void)unlinkat(folder, name, 0);
}

static int list_one(int folder, const char *name, vy_cache_listing *out) {
    vy_cache_key key;
    struct stat facts;
    if (!vy_cache_entry_name_parse(name, &key) || fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return 1;
    vy_cache_listing_entry *listed = VY_PUSH(&out->entries);
    if (!listed)
        return 0;
    *listed = (vy_cache_listing_entry){key, (uint64_t)facts.st_size, nanoseconds(&facts.st_mtim)};
    out->total += listed->size;
    return 1;
}

static vyre_status list_all(int folder, DIR *names, int64_t age, vy_cache_listing *out, vyre_error *error) {
    const struct dirent *entry;
    while (errno = 0, entry = readdir(names)) {
        if (strncmp(entry->d_name, VY_CACHE_TEMPORARY_PREFIX, sizeof VY_CACHE_TEMPORARY_PREFIX - 1) == 0) {
            if (age >= 0)
                remove_if_old(folder, entry->d_name, age);
        } else if (!list_one(folder, entry->d_name, out)) {
            return vy_fail_memory(error, "the list of cache entries");
        }
    }
    if (errno)
        return vy_fail(error, VYRE_IO, NULL, "the cache folder cannot be read: %s", vy_cache_reason(errno));
    return VYRE_OK;
}

vyre_status vy_cache_listing_make(int folder, int64_t age, vy_cache_listing *out, vyre_error *error) {
    *out = (vy_cache_listing){0};
    /* A stream takes its descriptor over, and two of one descriptor would share a position. */
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = own >= 0 ? fdopendir(own) : NULL;
    if (!names) {
        vyre_status status =
            vy_fail(error, VYRE_IO, NULL, "the cache folder cannot be read: %s", vy_cache_reason(errno));
        if (own >= 0)
            close(own);
        return status;
    }
    vyre_status status = list_all(folder, names, age, out, error);
    closedir(names);
    if (status != VYRE_OK)
        vy_cache_listing_free(out);
    else if (out->entries.count)
        qsort(out->entries.items, out->entries.count, sizeof *out->entries.items, by_use);
    return status;
}

void vy_cache_listing_free(vy_cache_listing *listing) {
    VY_VECTOR_FREE(&listing->entries);
    listing->total = 0;
}

/* ---- bounding ---- */

static int is_due(const vy_cache_key *key, uint64_t incoming, uint64_t limit) {
    uint64_t chance;
    memcpy(&chance, key->digest.bytes, sizeof chance);
    return incoming >= limit / 64 || chance % limit < incoming * 64;
}

/* An eighth below the bound, so that the next look need not remove again. */
static void evict(int folder, const vy_cache_listing *listing, uint64_t incoming, uint64_t limit) {
    uint64_t left = listing->total, goal = limit - limit / 8;
    goal = goal > incoming ? goal - incoming : 0;
    if (left + incoming <= limit)
        return;
    for (uint32_t i = listing->entries.count; i-- > 0 && left > goal;) {
        char name[VY_CACHE_ENTRY_NAME];
        vy_cache_entry_name(&listing->entries.items[i].key, name);
        if (unlinkat(folder, name, 0) == 0)
            vy_cache_count(VY_CACHE_disk_evictions, 1);
        else if (errno != ENOENT) /* ENOENT: another process sweeps too */
            continue;
        left -= listing->entries.items[i].size;
    }
}

void vy_cache_evict(int folder, const vy_cache_key *key, uint64_t incoming) {
    const uint64_t limit = vy_cache_disk_limit();
    vy_cache_listing listing;
    vyre_error error;
    if (!is_due(key, incoming, limit))
        return;
    if (vy_cache_listing_make(folder, VY_CACHE_TEMPORARY_AGE, &listing, &error) == VYRE_OK) {
        evict(folder, &listing, incoming, limit);
        vy_cache_listing_free(&listing);
    } else {
        vy_cache_report(VY_CACHE_PROBLEM_EVICT, "the size of the cache folder is not bounded: %s", error.message);
    }
}
