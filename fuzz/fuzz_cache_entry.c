/* Cache entries from strangers: any bytes are refused, or are exactly what encoding their parts gives. Tried as they
 * are, and with the checksum made right, so that the fuzzer gets past it. */
#include "base/string.h"
#include "driver/cache_entry.h"

#include <stdlib.h>
#include <string.h>

static void require(int holds) {
    if (!holds)
        abort();
}

static void check_head(const uint8_t *data, size_t size, const vy_cache_entry *whole, int is_whole) {
    enum { MOST = VY_CACHE_ENTRY_HEAD + VY_CACHE_ENTRY_LABEL };
    vy_cache_entry head;
    const char *problem = vy_cache_entry_parse_head(data, size < MOST ? size : MOST, size, &head);
    if (is_whole)
        require(!problem && memcmp(&head.key, &whole->key, sizeof head.key) == 0 &&
                strcmp(head.label, whole->label) == 0 && head.created == whole->created &&
                head.payload_offset == whole->payload_offset && head.payload_size == whole->payload_size);
}

static void try_bytes(const uint8_t *data, size_t size) {
    vy_cache_entry entry;
    const char *problem = vy_cache_entry_parse(data, size, &entry);
    check_head(data, size, &entry, !problem);
    if (problem) {
        require(*problem != 0);
        return;
    }
    uint8_t *again = malloc(size);
    require(again && vy_cache_entry_size(entry.label, entry.payload_size) == size);
    vy_cache_entry_encode(&entry.key, entry.label, entry.created,
                          (vyre_span){data + entry.payload_offset, entry.payload_size}, again);
    require(memcmp(again, data, size) == 0);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_bytes(data, size);
    if (size < VY_CACHE_ENTRY_TAIL)
        return 0;
    uint8_t *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    vy_checksum(copy, size - VY_CACHE_ENTRY_TAIL, copy + size - VY_CACHE_ENTRY_TAIL);
    try_bytes(copy, size);
    free(copy);
    return 0;
}
