/* Helpers of the cache tests: a private folder, numbered keys, and distinguishable payloads. */
#ifndef VY_TESTS_DRIVER_CACHE_H
#define VY_TESTS_DRIVER_CACHE_H

#include "support/test.h"

#include "driver/cache_disk.h"
#include "driver/cache_entry.h"
#include "vyre/telemetry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char cache_folder[256];

/* A fresh folder that is the cache's from now on. */
static inline void cache_enter(void) {
    snprintf(cache_folder, sizeof cache_folder, "%s", "/tmp/vyre-cache-XXXXXX");
    assert_non_null(mkdtemp(cache_folder));
    assert_int_equal(vyre_cache_set_folder(cache_folder, NULL), VYRE_OK);
    vyre_cache_set_disk_limit((uint64_t)1 << 30);
}

static inline void cache_leave(void) {
    char line[300];
    snprintf(line, sizeof line, "rm -rf '%s'", cache_folder);
    assert_int_equal(system(line), 0);
    assert_int_equal(vyre_cache_set_folder("", NULL), VYRE_OK);
}

static inline int cache_setup(void **state) {
    (void)state;
    cache_enter();
    return 0;
}

static inline int cache_teardown(void **state) {
    (void)state;
    vyre_log_set_sink(NULL, NULL);
    cache_leave();
    return 0;
}

static inline vy_cache_key cache_key(unsigned number) {
    const vy_cache_parts parts = {.backend = "test", .identity = {&number, sizeof number}};
    vy_cache_key key;
    vy_cache_key_make(&parts, &key);
    return key;
}

/* Each byte depends on the number and its offset. */
static inline void cache_fill(unsigned number, uint8_t *data, size_t size) {
    uint64_t state = number * UINT64_C(0x9e3779b97f4a7c15) + size;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data[i] = (uint8_t)(state >> 56);
    }
}

static inline void cache_store(unsigned number, size_t size) {
    uint8_t *data = malloc(size + 1);
    vy_cache_key key = cache_key(number);
    cache_fill(number, data, size);
    vy_disk_cache_store(&key, "test:label", (vyre_span){data, size});
    free(data);
}

/* 1: the right bytes; 0: a miss; -1: wrong bytes, which may never be. */
static inline int cache_load(unsigned number, size_t size) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vy_cache_key key = cache_key(number);
    vyre_status status = vy_disk_cache_load(&key, &bytes);
    int verdict = status == VYRE_NOT_FOUND && bytes.size == 0 ? 0 : -1;
    if (status == VYRE_OK && bytes.size == size) {
        uint8_t *wanted = malloc(size + 1);
        cache_fill(number, wanted, size);
        verdict = size == 0 || memcmp(wanted, bytes.data, size) == 0 ? 1 : -1;
        free(wanted);
    }
    vyre_bytes_free(&bytes);
    return verdict;
}

static inline const char *cache_path(unsigned number) {
    static _Thread_local char path[512];
    char name[VY_CACHE_ENTRY_NAME];
    vy_cache_key key = cache_key(number);
    vy_cache_entry_name(&key, name);
    snprintf(path, sizeof path, "%s/%s", cache_folder, name);
    return path;
}

/* Names in the folder that start with the prefix; "" counts all but . and .. */
static inline unsigned cache_count_names(const char *prefix) {
    unsigned count = 0;
    DIR *names = opendir(cache_folder);
    for (struct dirent *entry; names && (entry = readdir(names));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (names)
        closedir(names);
    return count;
}

static inline void cache_set_age(const char *path, int64_t seconds) {
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static inline vyre_cache_stats cache_stats(void) {
    vyre_cache_stats stats;
    vyre_cache_get_stats(&stats);
    return stats;
}

#endif
