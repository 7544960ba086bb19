/* Walking through the folder and clearing it (vyre/cache.h). */
#include "base/status.h"

#include "base/thread.h"
#include "driver/cache_evict.h"
#include "driver/cache_file.h"
#include "driver/cache_folder.h"

#include <unistd.h>

/* VYRE_OK and a descriptor of -1: nothing there. */
static vyre_status open_listing(int64_t age, int *folder, vy_cache_listing *listing, vyre_error *error) {
    *listing = (vy_cache_listing){0};
    vyre_status status = vy_cache_folder_open(0, folder, error);
    if (status == VYRE_OK && *folder >= 0) {
        status = vy_cache_listing_make(*folder, age, listing, error);
        if (status != VYRE_OK)
            close(*folder);
    }
    return status;
}

static void close_listing(int folder, vy_cache_listing *listing) {
    vy_cache_listing_free(listing);
    if (folder >= 0)
        close(folder);
}

static vyre_status fail_size(uint64_t size, vyre_error *error) {
    return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for a cache entry (%llu bytes)",
                   (unsigned long long)size);
}

static int visit_entry(const vy_cache_listing_entry *listed, vy_cache_file_status verdict,
                       const vy_cache_file_info *found, vyre_cache_visitor *visit, void *user) {
    char key[65];
    vyre_digest_format(&listed->key.digest, key);
    const vyre_cache_entry entry = {.key = key,
                                    .pipeline = found->entry.label,
                                    .size = listed->size,
                                    .created = found->entry.created,
                                    .used = listed->used_ns / 1000000000u,
                                    .valid = verdict == VY_CACHE_FILE_VALID,
                                    .problem = found->problem};
    return visit(user, &entry);
}

vyre_status vyre_cache_walk(vyre_cache_read_depth look, vyre_cache_visitor *visit, void *user, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, visit);
    int folder, stop = 0;
    vy_cache_listing listing;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_status status = open_listing(-1, &folder, &listing, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t i = 0; i < listing.entries.count && !stop && status == VYRE_OK; i++) {
        const vy_cache_listing_entry *listed = &listing.entries.items[i];
        vy_cache_file_info found;
        vy_cache_file_status verdict =
            vy_cache_entry_examine(folder, &listed->key, look == VYRE_CACHE_READ_ALL ? &bytes : NULL, 0, &found);
        if (verdict == VY_CACHE_FILE_NO_MEMORY)
            status = fail_size(listed->size, error);
        else if (verdict != VY_CACHE_FILE_MISSING)
            stop = visit_entry(listed, verdict, &found, visit, user);
    }
    vyre_bytes_free(&bytes);
    close_listing(folder, &listing);
    return status;
}

/* ---- clearing ---- */

static int is_of_backend(const char *label, const char *backend) {
    size_t length = strlen(backend);
    return strncmp(label, backend, length) == 0 && label[length] == ':';
}

/* 1, 0, or -1 when memory is out. */
static int matches_filter(int folder, const vy_cache_key *key, const vyre_cache_filter *filter, vyre_bytes *bytes) {
    vy_cache_file_info found;
    if (!filter || (!filter->only_invalid && !filter->backend))
        return 1;
    vy_cache_file_status verdict = vy_cache_entry_examine(folder, key, filter->only_invalid ? bytes : NULL, 0, &found);
    if (verdict == VY_CACHE_FILE_NO_MEMORY)
        return -1;
    if (verdict == VY_CACHE_FILE_MISSING)
        return 0;
    return (!filter->only_invalid || verdict != VY_CACHE_FILE_VALID) &&
           (!filter->backend || is_of_backend(found.entry.label, filter->backend));
}

typedef struct count {
    uint64_t removed, bytes;
} count;

static vyre_status clear_listed(int folder, const vy_cache_listing *listing, const vyre_cache_filter *filter,
                                count *gone, vyre_error *error) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < listing->entries.count; i++) {
        const vy_cache_listing_entry *listed = &listing->entries.items[i];
        int meant = matches_filter(folder, &listed->key, filter, &bytes), reason = 0;
        if (meant < 0)
            status = fail_size(listed->size, error);
        else if (meant && (reason = vy_cache_entry_remove(folder, &listed->key)) != 0)
            status = vy_fail(error, VYRE_IO, NULL, "a cache entry cannot be removed: %s", vy_cache_reason(reason));
        else if (meant)
            gone->removed++, gone->bytes += listed->size;
    }
    vyre_bytes_free(&bytes);
    return status;
}

vyre_status vyre_cache_clear(const vyre_cache_filter *filter, uint64_t *removed, uint64_t *bytes, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    int folder;
    vy_cache_listing listing;
    count gone = {0, 0};
    vyre_status status = open_listing(filter ? VY_CACHE_TEMPORARY_AGE : 0, &folder, &listing, error);
    if (status == VYRE_OK) {
        status = clear_listed(folder, &listing, filter, &gone, error);
        close_listing(folder, &listing);
    }
    if (removed)
        *removed = gone.removed;
    if (bytes)
        *bytes = gone.bytes;
    return status;
}
