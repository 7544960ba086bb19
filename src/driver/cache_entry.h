/* The file format of one cache entry: bytes in, bytes out, no files.
 *
 *   offset  size
 *        0     8  magic "vyrepipe"
 *        8     4  format
 *       12     4  length of the label
 *       16     8  length of the payload
 *       24     8  time of creation, seconds since 1970
 *       32    32  key
 *       64        label: "<backend>:<fingerprint>", printable ASCII
 *                 payload: what the backend's `serialize` gave
 *      end    16  checksum of everything before: XXH3-128, big endian, as its authors define
 *
 * Else little endian. The lengths account for every byte of the file, and the checksum covers them all. It is against accidents; against
 * attackers stands that nobody else may write to the folder, which a digest anybody can compute would not replace. */
#ifndef VY_DRIVER_CACHE_ENTRY_H
#define VY_DRIVER_CACHE_ENTRY_H

#include "driver/cache_key.h"

#define VY_CACHE_ENTRY_FORMAT 1
#define VY_CACHE_ENTRY_FORMAT_TEXT "1" /* part of every key: an entry of another format is never looked for */

enum {
    VY_CACHE_ENTRY_HEAD = 64,
    VY_CACHE_ENTRY_LABEL = 128, /* a backend id of 63, a colon, 64 digits */
    VY_CACHE_ENTRY_TAIL = 16,
    VY_CACHE_ENTRY_MIN = VY_CACHE_ENTRY_HEAD + VY_CACHE_ENTRY_TAIL,
};
/* Larger files are not read: nothing we write comes near. */
#define VY_CACHE_ENTRY_MAX ((uint64_t)1 << 30)

/* A file's name: 64 hexadecimal digits of its key and this. */
#define VY_CACHE_ENTRY_SUFFIX ".vyrepipe"
enum { VY_CACHE_ENTRY_NAME = 64 + sizeof VY_CACHE_ENTRY_SUFFIX };

typedef struct vy_cache_entry {
    vy_cache_key key;
    char label[VY_CACHE_ENTRY_LABEL + 1];
    uint64_t created;
    size_t payload_offset, payload_size;
} vy_cache_entry;

/* The size of an entry's file, 0 if the label does not fit or the whole would be over VY_CACHE_ENTRY_MAX. */
size_t vy_cache_entry_size(const char *label, size_t payload_size);
/* Writes one into vy_cache_entry_size() bytes. */
void vy_cache_entry_encode(const vy_cache_key *key, const char *label, uint64_t created, vyre_span payload,
                           uint8_t *out);

/* Both return NULL, or what is wrong in a few words; `out` holds nothing of use then.
 * head: the first bytes of a file of `file_size` bytes, as many as there are up to VY_CACHE_ENTRY_HEAD + VY_CACHE_ENTRY_LABEL. */
const char *vy_cache_entry_parse_head(const uint8_t *head, size_t size, uint64_t file_size, vy_cache_entry *out);
/* All of it, checksum included. */
const char *vy_cache_entry_parse(const uint8_t *data, size_t size, vy_cache_entry *out);

void vy_cache_entry_name(const vy_cache_key *key, char name[VY_CACHE_ENTRY_NAME]);
/* Returns 0 if this is no entry's name. */
int vy_cache_entry_name_parse(const char *name, vy_cache_key *out);

/* ---- files ---- */

/* Temporary names: this, then what makes them unique. Writers that died leave them behind. */
#define VY_CACHE_TEMPORARY_PREFIX ".vyrepipe-"

typedef enum vy_cache_file_status {
    VY_CACHE_FILE_VALID,
    VY_CACHE_FILE_MISSING,    /* no such entry */
    VY_CACHE_FILE_CORRUPT,    /* will never be right again */
    VY_CACHE_FILE_UNREADABLE, /* the system did not let us look */
    VY_CACHE_FILE_NO_MEMORY,
} vy_cache_file_status;

typedef struct vy_cache_file_info {
    vy_cache_entry entry;
    const char *problem; /* a few words unless GOOD */
    uint64_t size, used; /* of the file; seconds since 1970 */
} vy_cache_file_info;

/* Examines the entry of that key. With bytes not NULL all of it is read there and its checksum compared, and after a GOOD that is older than ten
 * minutes, if `touch`, it counts as just used. */
vy_cache_file_status vy_cache_entry_examine(int folder, const vy_cache_key *key, vyre_bytes *bytes, int touch,
                                            vy_cache_file_info *found);
/* Writes a temporary file and renames it. Returns 0, or what the system said. */
int vy_cache_entry_write(int folder, const vy_cache_key *key, const uint8_t *image, size_t size);
/* Returns 0, also when there is none, or what the system said. */
int vy_cache_entry_remove(int folder, const vy_cache_key *key);

#endif
