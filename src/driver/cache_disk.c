/* Loading and storing (cache_disk.h). */
#include "driver/cache_disk.h"

#include "base/memory.h"
#include "driver/cache_evict.h"
#include "driver/cache_file.h"
#include "driver/cache_folder.h"

#include <time.h>
#include <unistd.h>

/* -1 when there is none to use, which is said if it is not a choice. */
static int open_folder(int create) {
    int folder;
    vyre_error error;
    if (vy_cache_folder_open(create, &folder, &error) != VYRE_OK)
        vy_cache_report(VY_CACHE_PROBLEM_FOLDER, "pipelines are not kept on disk: %s. Fix: %s", error.message,
                        error.fix);
    return folder;
}

/* Removed, so that the next store heals it; a good entry that another process renamed into its place just now is lost, and made again. */
static void reject(int folder, const vy_cache_key *key, const char *problem) {
    char digits[65];
    vyre_digest_format(&key->digest, digits);
    vy_cache_count(VY_CACHE_rejected, 1);
    vy_cache_report(VY_CACHE_PROBLEM_ENTRY, "the cache entry %s is %s: it is removed and compiled again", digits,
                    problem);
    (void)vy_cache_entry_remove(folder, key);
}

/* The payload moves to the front: the caller wants bytes, not an entry. */
static void keep_payload(vyre_bytes *bytes, const vy_cache_entry *entry) {
    memmove(bytes->data, (const char *)bytes->data + entry->payload_offset, entry->payload_size);
    bytes->size = entry->payload_size;
}

vyre_status vy_disk_cache_load(const vy_cache_key *key, vyre_bytes *out) {
    vy_cache_file_info found;
    out->size = 0;
    int folder = open_folder(0);
    if (folder < 0)
        return VYRE_NOT_FOUND;
    vy_cache_file_status verdict = vy_cache_entry_examine(folder, key, out, 1, &found);
    if (verdict == VY_CACHE_FILE_VALID)
        keep_payload(out, &found.entry);
    else
        out->size = 0;
    if (verdict == VY_CACHE_FILE_CORRUPT)
        reject(folder, key, found.problem);
    close(folder);
    return verdict == VY_CACHE_FILE_VALID ? VYRE_OK : VYRE_NOT_FOUND;
}

static void write_image(int folder, const vy_cache_key *key, const uint8_t *image, size_t size) {
    vy_cache_evict(folder, key, size);
    int reason = vy_cache_entry_write(folder, key, image, size);
    if (!reason)
        vy_cache_count(VY_CACHE_stores, 1);
    else
        vy_cache_report(VY_CACHE_PROBLEM_WRITE, "a pipeline (%zu bytes) could not be stored: %s", size,
                        vy_cache_reason(reason));
}

int vy_disk_cache_is_enabled(void) {
    return vy_cache_disk_limit() != 0 && vyre_cache_folder(NULL, 0) != 0;
}

void vy_disk_cache_store(const vy_cache_key *key, const char *label, vyre_span payload) {
    size_t size = vy_cache_entry_size(label, payload.size);
    if (size == 0 || size > vy_cache_disk_limit())
        return;
    int folder = open_folder(1);
    uint8_t *image = folder >= 0 ? vy_allocate(size) : NULL;
    if (image) {
        vy_cache_entry_encode(key, label, (uint64_t)time(NULL), payload, image);
        write_image(folder, key, image, size);
    }
    vy_release(image, size);
    if (folder >= 0)
        close(folder);
}
