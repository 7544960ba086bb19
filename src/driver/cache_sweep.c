/* Listing and bounding the folder.
 *
 * Looking at every file for every store would make storing n entries quadratic. So a process looks once, counts what it adds, and looks
 * again when that reaches the bound, or a sixteenth of it: others add too. */
#include "driver/cache_sweep.h"

#include "base/status.h"
#include "driver/cache_disk.h"
#include "driver/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- listing ---- */

static int by_use(const void *left, const void *right) {
    const vy_listed *a = left, *b = right;
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
    if (old >= age || old <= -VY_TEMPORARY_AGE)
        (void)unlinkat(folder, name, 0);
}

static int list_one(int folder, const char *name, vy_listing *out) {
    vy_cache_key key;
    struct stat facts;
    if (!vy_entry_name_parse(name, &key) || fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return 1;
    vy_listed *listed = VY_PUSH(&out->entries);
    if (!listed)
        return 0;
    *listed = (vy_listed){key, (uint64_t)facts.st_size, nanoseconds(&facts.st_mtim)};
    out->total += listed->size;
    return 1;
}

static vyre_status list_all(int folder, DIR *names, int64_t age, vy_listing *out, vyre_error *error) {
    const struct dirent *entry;
    while (errno = 0, entry = readdir(names)) {
        if (strncmp(entry->d_name, VY_TEMPORARY_PREFIX, sizeof VY_TEMPORARY_PREFIX - 1) == 0) {
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

vyre_status vy_listing_make(int folder, int64_t age, vy_listing *out, vyre_error *error) {
    *out = (vy_listing){0};
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
        vy_listing_free(out);
    else if (out->entries.count)
        qsort(out->entries.items, out->entries.count, sizeof *out->entries.items, by_use);
    return status;
}

void vy_listing_free(vy_listing *listing) {
    VY_VECTOR_FREE(&listing->entries);
    listing->total = 0;
}

/* ---- bounding ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_counted, is_sweeping;
static uint64_t total, since; /* bytes: in the folder as far as we know, and stored by us since we looked */

void vy_sweep_forget(void) {
    pthread_mutex_lock(&lock);
    is_counted = 0;
    pthread_mutex_unlock(&lock);
}

/* Counts the entry, and says whether it is time to look. One thread looks; the others go on storing. */
static int count_and_ask(uint64_t incoming, uint64_t limit) {
    pthread_mutex_lock(&lock);
    total += incoming;
    since += incoming;
    int due = !is_sweeping && (!is_counted || total > limit || since > limit / 16);
    if (due) {
        is_sweeping = is_counted = 1;
        since = incoming;
    }
    pthread_mutex_unlock(&lock);
    return due;
}

static void finish(uint64_t found) {
    pthread_mutex_lock(&lock);
    total = found + since;
    is_sweeping = 0;
    pthread_mutex_unlock(&lock);
}

/* Down to an eighth below the bound, so that the next store need not sweep again. Returns what is left. */
static uint64_t evict(int folder, const vy_listing *listing, uint64_t incoming, uint64_t limit) {
    uint64_t left = listing->total, goal = limit - limit / 8;
    goal = goal > incoming ? goal - incoming : 0;
    if (left + incoming <= limit)
        return left;
    for (uint32_t i = listing->entries.count; i-- > 0 && left > goal;) {
        char name[VY_ENTRY_NAME];
        vy_entry_name(&listing->entries.items[i].key, name);
        if (unlinkat(folder, name, 0) == 0)
            vy_cache_count(VY_CACHE_disk_evictions, 1);
        else if (errno != ENOENT) /* ENOENT: another process sweeps too */
            continue;
        left -= listing->entries.items[i].size;
    }
    return left;
}

void vy_sweep(int folder, uint64_t incoming) {
    uint64_t limit = vy_cache_disk_limit(), left = 0;
    vy_listing listing;
    vyre_error error;
    if (!count_and_ask(incoming, limit))
        return;
    if (vy_listing_make(folder, VY_TEMPORARY_AGE, &listing, &error) == VYRE_OK) {
        left = evict(folder, &listing, incoming, limit);
        vy_listing_free(&listing);
    } else {
        vy_cache_report(VY_TROUBLE_SWEEP, "the size of the cache folder is not bounded: %s", error.message);
    }
    finish(left);
}
