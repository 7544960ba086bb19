/* Entries as bytes (cache_entry.h). Nothing read here is believed before it is compared with what is there. */
#include "driver/cache_entry.h"

#include "base/hash.h"

#include <string.h>

static const uint8_t magic[8] = {'v', 'y', 'r', 'e', 'p', 'i', 'p', 'e'};

enum { AT_FORMAT = 8, AT_LABEL = 12, AT_PAYLOAD = 16, AT_CREATED = 24, AT_KEY = 32 };

static void put(uint8_t *to, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

/* Bytes, not text; none may have no address. */
static void append(uint8_t *to, const void *from, size_t size) {
    if (size)
        memcpy(to, from, size);
}

/* A label is shown to people: nothing in it moves a cursor. */
static int is_label(const uint8_t *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < 0x21 || text[i] > 0x7e)
            return 0;
    return 1;
}

size_t vy_cache_entry_size(const char *label, size_t payload_size) {
    size_t length = strlen(label);
    if (length > VY_CACHE_ENTRY_LABEL || !is_label((const uint8_t *)label, length))
        return 0;
    if (payload_size > VY_CACHE_ENTRY_MAX - VY_CACHE_ENTRY_MIN - length)
        return 0;
    return VY_CACHE_ENTRY_MIN + length + payload_size;
}

void vy_cache_entry_encode(const vy_cache_key *key, const char *label, uint64_t created, vyre_span payload,
                           uint8_t *out) {
    size_t length = strlen(label), end = VY_CACHE_ENTRY_HEAD + length + payload.size;
    memcpy(out, magic, sizeof magic);
    put(out + AT_FORMAT, VY_CACHE_ENTRY_FORMAT, 4);
    put(out + AT_LABEL, length, 4);
    put(out + AT_PAYLOAD, payload.size, 8);
    put(out + AT_CREATED, created, 8);
    memcpy(out + AT_KEY, key->digest.bytes, sizeof key->digest.bytes);
    append(out + VY_CACHE_ENTRY_HEAD, label, length);
    append(out + VY_CACHE_ENTRY_HEAD + length, payload.data, payload.size);
    vy_checksum(out, end, out + end);
}

const char *vy_cache_entry_parse_head(const uint8_t *head, size_t size, uint64_t file_size, vy_cache_entry *out) {
    memset(out, 0, sizeof *out);
    if (file_size < VY_CACHE_ENTRY_MIN || size < VY_CACHE_ENTRY_HEAD)
        return "cut short";
    if (file_size > VY_CACHE_ENTRY_MAX)
        return "too large";
    if (memcmp(head, magic, sizeof magic) != 0)
        return "not a cache entry";
    if (get(head + AT_FORMAT, 4) != VY_CACHE_ENTRY_FORMAT)
        return "of another format";
    uint64_t label = get(head + AT_LABEL, 4), payload = get(head + AT_PAYLOAD, 8);
    uint64_t rest = file_size - VY_CACHE_ENTRY_MIN;
    if (label > VY_CACHE_ENTRY_LABEL || label > rest || payload != rest - label)
        return "of another size than it says";
    if (label > size - VY_CACHE_ENTRY_HEAD)
        return "cut short";
    if (!is_label(head + VY_CACHE_ENTRY_HEAD, (size_t)label))
        return "without a readable label";
    memcpy(out->key.digest.bytes, head + AT_KEY, sizeof out->key.digest.bytes);
    memcpy(out->label, head + VY_CACHE_ENTRY_HEAD, (size_t)label);
    out->created = get(head + AT_CREATED, 8);
    out->payload_offset = VY_CACHE_ENTRY_HEAD + (size_t)label;
    out->payload_size = (size_t)payload;
    return NULL;
}

const char *vy_cache_entry_parse(const uint8_t *data, size_t size, vy_cache_entry *out) {
    const char *problem = vy_cache_entry_parse_head(data, size, size, out);
    if (problem)
        return problem;
    uint8_t checksum[VY_CACHE_ENTRY_TAIL];
    vy_checksum(data, size - VY_CACHE_ENTRY_TAIL, checksum);
    return memcmp(checksum, data + size - VY_CACHE_ENTRY_TAIL, sizeof checksum) == 0 ? NULL : "damaged";
}

void vy_cache_entry_name(const vy_cache_key *key, char name[VY_CACHE_ENTRY_NAME]) {
    vyre_digest_format(&key->digest, name);
    memcpy(name + 64, VY_CACHE_ENTRY_SUFFIX, sizeof VY_CACHE_ENTRY_SUFFIX);
}

static int digit_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int vy_cache_entry_name_parse(const char *name, vy_cache_key *out) {
    if (strlen(name) != VY_CACHE_ENTRY_NAME - 1 || strcmp(name + 64, VY_CACHE_ENTRY_SUFFIX) != 0)
        return 0;
    for (int i = 0; i < 32; i++) {
        int high = digit_value(name[2 * i]), low = digit_value(name[2 * i + 1]);
        if (high < 0 || low < 0)
            return 0;
        out->digest.bytes[i] = (uint8_t)(high << 4 | low);
    }
    return 1;
}
