/* Cache key of a compiled pipeline, and its entry in the disk cache: file format, encoding, and its file.
 *
 *   offset  size
 *        0     8  magic "vyrepipe"
 *        8     4  format
 *       12     4  length of the label
 *       16     8  length of the payload
 *       24     8  time of creation, seconds since 1970
 *       32    32  key
 *       64        label: "<backend>:<fingerprint>", printable ASCII
 *                 payload: the result of the backend's `serialize`
 *      end    16  checksum of everything before: XXH3-128 in its canonical form, big endian
 *
 * All other numbers are little endian. The lengths account for every byte of the file, and the checksum covers them
 * all. The checksum detects accidents only. The protection against attackers is that no other user may write to the
 * folder; a digest, which any process can compute, would not replace that. */
#ifndef VY_DRIVER_CACHE_ENTRY_H
#define VY_DRIVER_CACHE_ENTRY_H

#include "vyre/backend.h"

/* Cache key of a compiled pipeline: a digest of everything that determines the binary, and of nothing else.
 *
 * A missing component causes a wrong hit, the worst failure of a cache. A static assertion on the size of the compile
 * options stops the build when an option is added. */
/* Equal keys mean equal binaries. The key is also the name of the entry on disk and the key of the table in memory. */
typedef struct vy_cache_key {
    vyre_digest digest;
} vy_cache_key;

/* The components of a key. All borrowed. */
typedef struct vy_cache_parts {
    /* Fingerprint of the program as compiled, with functions and ops inlined. The fingerprint of a caller does not
     * cover the bodies of the ops it calls. */
    vyre_digest program;
    const char *backend; /* id */
    /* The result of the backend's cache_identity (device, driver, target, numerics profile), and the build id of its
     * module if that is not the library. */
    vyre_span identity;
    const vyre_compile_options *options; /* NULL: all zero */
} vy_cache_parts;

/* Cannot fail, allocates nothing. Adds the version and the build of this library. */
void vy_cache_key_make(const vy_cache_parts *parts, vy_cache_key *out);
/* The same for a library of another version or build: for tests. */
void vy_cache_key_make_for(const vy_cache_parts *parts, const char *version, const char *build, vy_cache_key *out);

/* A digest of the library's sources, as text: it differs if any emitter differs. The same sources yield the same text
 * on every machine. */
const char *vy_cache_build(void);

/* A digest that identifies the build of the executable or shared library that contains an address, independent of its
 * path; zeros if none contains it. Part of the identity of backends in other modules. Costs microseconds, or
 * milliseconds if the module has no build id. */
void vy_module_build_id(const void *code, vyre_digest *out);

#define VY_CACHE_ENTRY_FORMAT 1
#define VY_CACHE_ENTRY_FORMAT_TEXT "1" /* part of every key: entries of another format are never read */

enum {
    VY_CACHE_ENTRY_HEAD = 64,
    VY_CACHE_ENTRY_LABEL = 128, /* a backend id of 63, a colon, 64 digits */
    VY_CACHE_ENTRY_TAIL = 16,
    VY_CACHE_ENTRY_MIN = VY_CACHE_ENTRY_HEAD + VY_CACHE_ENTRY_TAIL,
};
/* Larger files are not read; valid entries are far smaller. */
#define VY_CACHE_ENTRY_MAX ((uint64_t)1 << 30)

/* The name of a file: 64 hexadecimal digits of its key, and this suffix. */
#define VY_CACHE_ENTRY_SUFFIX ".vyrepipe"
enum { VY_CACHE_ENTRY_NAME = 64 + sizeof VY_CACHE_ENTRY_SUFFIX };

typedef struct vy_cache_entry {
    vy_cache_key key;
    char label[VY_CACHE_ENTRY_LABEL + 1];
    uint64_t created;
    size_t payload_offset, payload_size;
} vy_cache_entry;

/* The size of an entry's file, or 0 if the label is invalid or the size exceeds VY_CACHE_ENTRY_MAX. */
size_t vy_cache_entry_size(const char *label, size_t payload_size);
/* Encodes an entry into vy_cache_entry_size() bytes. */
void vy_cache_entry_encode(const vy_cache_key *key, const char *label, uint64_t created, vyre_span payload,
                           uint8_t *out);

/* Both return NULL, or a short description of the problem; the contents of `out` are unspecified then.
 *
 * head: the first bytes of a file of `file_size` bytes, up to VY_CACHE_ENTRY_HEAD + VY_CACHE_ENTRY_LABEL of them. */
const char *vy_cache_entry_parse_head(const uint8_t *head, size_t size, uint64_t file_size, vy_cache_entry *out);
/* The whole file, including the checksum. */
const char *vy_cache_entry_parse(const uint8_t *data, size_t size, vy_cache_entry *out);

void vy_cache_entry_name(const vy_cache_key *key, char name[VY_CACHE_ENTRY_NAME]);
/* Returns 0 if this is not the name of an entry. */
int vy_cache_entry_name_parse(const char *name, vy_cache_key *out);

/* ---- files ---- */

/* Prefix of temporary names. A writer that was killed leaves its file in the folder. */
#define VY_CACHE_TEMPORARY_PREFIX ".vyrepipe-"

typedef enum vy_cache_file_status {
    VY_CACHE_FILE_VALID,
    VY_CACHE_FILE_MISSING,    /* no such entry */
    VY_CACHE_FILE_CORRUPT,    /* permanently invalid */
    VY_CACHE_FILE_UNREADABLE, /* could not be read now */
    VY_CACHE_FILE_NO_MEMORY,
} vy_cache_file_status;

typedef struct vy_cache_file_info {
    vy_cache_entry entry;
    const char *problem; /* a short description unless VALID */
    uint64_t size, used; /* of the file; seconds since 1970 */
} vy_cache_file_info;

/* Examines the entry of that key. If `bytes` is not NULL, the whole file is read into it and its checksum compared.
 * With `touch`, the time of use of a valid entry is updated if it is older than ten minutes. */
vy_cache_file_status vy_cache_entry_examine(int folder, const vy_cache_key *key, vyre_bytes *bytes, int touch,
                                            vy_cache_file_info *found);
/* Writes a temporary file and renames it. Returns 0 or errno. */
int vy_cache_entry_write(int folder, const vy_cache_key *key, const uint8_t *image, size_t size);
/* Returns 0, also if the entry does not exist, or errno. */
int vy_cache_entry_remove(int folder, const vy_cache_key *key);

#endif
