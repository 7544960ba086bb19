/* Cache key of a pipeline and its disk cache entry: encoding, reading and writing of the file (cache_entry.h).
 *
 * No value of a file is used before it has been checked against the file's size. Existing files are never modified, so
 * an open file never changes. */
#include "driver/cache_entry.h"

#include "base/memory.h"
#include "base/string.h"
#include "vyre_build.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- encoding ---- */

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

/* memcpy that accepts NULL with size 0. */
static void append(uint8_t *to, const void *from, size_t size) {
    if (size)
        memcpy(to, from, size);
}

/* A label is printed: it must not contain control characters. */
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
        return "truncated";
    if (file_size > VY_CACHE_ENTRY_MAX)
        return "too large";
    if (memcmp(head, magic, sizeof magic) != 0)
        return "not a cache entry";
    if (get(head + AT_FORMAT, 4) != VY_CACHE_ENTRY_FORMAT)
        return "of another format";
    uint64_t label = get(head + AT_LABEL, 4), payload = get(head + AT_PAYLOAD, 8);
    uint64_t rest = file_size - VY_CACHE_ENTRY_MIN;
    if (label > VY_CACHE_ENTRY_LABEL || label > rest || payload != rest - label)
        return "not of the size in its header";
    if (label > size - VY_CACHE_ENTRY_HEAD)
        return "truncated";
    if (!is_label(head + VY_CACHE_ENTRY_HEAD, (size_t)label))
        return "without a valid label";
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

enum { TOUCH_SECONDS = 600, TEMPORARY_TRIES = 100 };

/* ---- reading ---- */

static vy_cache_file_status set_problem(vy_cache_file_info *found, vy_cache_file_status verdict, const char *problem) {
    found->problem = problem;
    return verdict;
}

static vy_cache_file_status classify_open_failure(vy_cache_file_info *found, int reason) {
    switch (reason) {
    case ENOENT:
        return set_problem(found, VY_CACHE_FILE_MISSING, "missing");
    case ELOOP: /* O_NOFOLLOW */
        return set_problem(found, VY_CACHE_FILE_CORRUPT, "a symbolic link");
    case ENXIO: /* a socket */
        return set_problem(found, VY_CACHE_FILE_CORRUPT, "not a regular file");
    case EACCES:
        return set_problem(found, VY_CACHE_FILE_UNREADABLE, "not readable by this user");
    default:
        return set_problem(found, VY_CACHE_FILE_UNREADABLE, "not readable now");
    }
}

/* NULL, or the reason why the file is rejected regardless of its contents: the rule of base/trusted_path.h for a file
 * in a checked folder. */
static const char *find_trust_problem(const struct stat *facts) {
    if (!S_ISREG(facts->st_mode))
        return "not a regular file";
    if (facts->st_uid != geteuid() && facts->st_uid != 0)
        return "owned by another user";
    if (facts->st_mode & (S_IWGRP | S_IWOTH))
        return "writable by others";
    if (facts->st_size < VY_CACHE_ENTRY_MIN)
        return "truncated";
    if ((uint64_t)facts->st_size > VY_CACHE_ENTRY_MAX)
        return "too large";
    return NULL;
}

/* Reads `size` bytes. Returns 0 on an error or if the file is shorter. */
static int read_whole(int file, void *to, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t count = read(file, (char *)to + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return 0;
        done += (size_t)count;
    }
    return 1;
}

/* Resizes without zeroing, unlike vyre_bytes_resize. */
static int resize_uninitialized(vyre_bytes *bytes, size_t size) {
    if (bytes->capacity < size) {
        vyre_bytes_free(bytes);
        bytes->data = vy_allocate(size);
        bytes->capacity = bytes->data ? size : 0;
    }
    bytes->size = bytes->data ? size : 0;
    return bytes->data != NULL;
}

static vy_cache_file_status check_contents(int file, uint64_t size, vyre_bytes *bytes, vy_cache_file_info *found) {
    uint8_t head[VY_CACHE_ENTRY_HEAD + VY_CACHE_ENTRY_LABEL];
    size_t wanted = size < sizeof head ? (size_t)size : sizeof head;
    if (bytes && !resize_uninitialized(bytes, (size_t)size))
        return set_problem(found, VY_CACHE_FILE_NO_MEMORY, "too large for the available memory");
    if (!(bytes ? read_whole(file, bytes->data, (size_t)size) : read_whole(file, head, wanted)))
        return set_problem(found, VY_CACHE_FILE_UNREADABLE, "not readable now");
    found->problem = bytes ? vy_cache_entry_parse(bytes->data, (size_t)size, &found->entry)
                           : vy_cache_entry_parse_head(head, wanted, size, &found->entry);
    return found->problem ? VY_CACHE_FILE_CORRUPT : VY_CACHE_FILE_VALID;
}

static vy_cache_file_status check_file(int file, const vy_cache_key *key, vyre_bytes *bytes, int touch,
                                       vy_cache_file_info *found) {
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return set_problem(found, VY_CACHE_FILE_UNREADABLE, "not readable now");
    found->size = (uint64_t)facts.st_size;
    found->used = facts.st_mtim.tv_sec > 0 ? (uint64_t)facts.st_mtim.tv_sec : 0;
    const char *problem = find_trust_problem(&facts);
    if (problem)
        return set_problem(found, VY_CACHE_FILE_CORRUPT, problem);
    vy_cache_file_status verdict = check_contents(file, found->size, bytes, found);
    if (verdict == VY_CACHE_FILE_VALID && memcmp(&found->entry.key, key, sizeof *key) != 0)
        verdict = set_problem(found, VY_CACHE_FILE_CORRUPT, "stored under the name of another key");
    /* Rarely, since a hit should not write. A failure, as on a read-only disk, only affects the order of eviction. */
    if (verdict == VY_CACHE_FILE_VALID && touch && time(NULL) - facts.st_mtim.tv_sec > TOUCH_SECONDS)
        (void)futimens(file, NULL);
    return verdict;
}

vy_cache_file_status vy_cache_entry_examine(int folder, const vy_cache_key *key, vyre_bytes *bytes, int touch,
                                            vy_cache_file_info *found) {
    char name[VY_CACHE_ENTRY_NAME];
    memset(found, 0, sizeof *found);
    vy_cache_entry_name(key, name);
    /* Non-blocking: the file may be a pipe. */
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return classify_open_failure(found, errno);
    vy_cache_file_status verdict = check_file(file, key, bytes, touch, found);
    close(file);
    return verdict;
}

/* ---- writing ---- */

/* Names are unique within the process by a counter and between processes by the process id. Where ids repeat
 * (containers, a killed process), O_EXCL fails and the next name is tried. */
static int open_temporary(int folder, char name[64]) {
    static atomic_uint next;
    for (int try = 0; try < TEMPORARY_TRIES; try++) {
        snprintf(name, 64, VY_CACHE_TEMPORARY_PREFIX "%ld-%u", (long)getpid(), atomic_fetch_add(&next, 1));
        int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static int write_whole(int file, const uint8_t *from, size_t size) {
    while (size > 0) {
        ssize_t count = write(file, from, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno;
        from += count;
        size -= (size_t)count;
    }
    return 0;
}

/* Exceeding RLIMIT_FSIZE raises a signal that would end the process. */
static int is_over_file_limit(size_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur;
}

int vy_cache_entry_write(int folder, const vy_cache_key *key, const uint8_t *image, size_t size) {
    char temporary[64], name[VY_CACHE_ENTRY_NAME];
    if (is_over_file_limit(size))
        return EFBIG;
    int file = open_temporary(folder, temporary);
    if (file < 0)
        return errno;
    int reason = write_whole(file, image, size);
    if (close(file) != 0 && !reason)
        reason = errno; /* some file systems report a full quota here */
    vy_cache_entry_name(key, name);
    if (!reason && renameat(folder, temporary, folder, name) != 0)
        reason = errno;
    if (reason)
        (void)unlinkat(folder, temporary, 0);
    return reason;
}

int vy_cache_entry_remove(int folder, const vy_cache_key *key) {
    char name[VY_CACHE_ENTRY_NAME];
    vy_cache_entry_name(key, name);
    return unlinkat(folder, name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

/* Cache keys of compiled pipelines, and build ids of modules (cache_entry.h).
 *
 * A key is a digest of a fixed layout: parts of fixed size are stored directly, parts of variable size by their
 * digests. So no two lists of parts encode to the same bytes, and nothing is allocated.
 *
 * The build id identifies the executable or shared library that contains a backend. A plug-in can change without a new
 * version number, but the linker writes a build id, a hash of the contents, into the module. In a module without one,
 * the read-only segments are digested as mapped: code and constants, which contain no relocated addresses. */
/* A deadline does not change the compiled code, so it is not part of the key. */
_Static_assert(
    sizeof(vyre_compile_options) == 2 * sizeof(uint32_t) + sizeof(uint64_t),
    "add a field for the new compile option to `encoded`, or two variants share a key; then change this size");

/* The digested bytes. Members are byte arrays, so the struct has no padding. */
typedef struct encoded {
    char format[32];
    vyre_digest version, build, program, backend, identity;
    uint8_t cancellable;
} encoded;
_Static_assert(sizeof(encoded) == 32 + 5 * sizeof(vyre_digest) + 1, "nothing but the fields is digested");

void vy_cache_key_make_for(const vy_cache_parts *parts, const char *version, const char *build, vy_cache_key *out) {
    encoded encoded = {.format = "vyre pipeline cache " VY_CACHE_ENTRY_FORMAT_TEXT,
                       .program = parts->program,
                       .cancellable = parts->options && parts->options->cancellable};
    vy_digest(version, strlen(version), &encoded.version);
    vy_digest(build, strlen(build), &encoded.build);
    vy_digest(parts->backend, strlen(parts->backend), &encoded.backend);
    vy_digest(parts->identity.data, parts->identity.size, &encoded.identity);
    vy_digest(&encoded, sizeof encoded, &out->digest);
}

void vy_cache_key_make(const vy_cache_parts *parts, vy_cache_key *out) {
    vy_cache_key_make_for(parts, vyre_version(), vy_cache_build(), out);
}

const char *vy_cache_build(void) {
    return VYRE_BUILD;
}

/* ---- build id of a module ---- */

typedef struct build_id_search {
    uintptr_t address;
    vyre_digest *out;
} build_id_search;

static uintptr_t segment_start(const struct dl_phdr_info *module, const ElfW(Phdr) * segment) {
    return (uintptr_t)module->dlpi_addr + segment->p_vaddr;
}

static int contains_address(const struct dl_phdr_info *module, uintptr_t address) {
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - segment_start(module, segment) < segment->p_memsz)
            return 1;
    }
    return 0;
}

/* Notes are a header, a name and a description, the last two padded to four bytes. */
static int digest_build_id(const uint8_t *notes, size_t size, vyre_digest *out) {
    ElfW(Nhdr) note;
    while (size >= sizeof note) {
        memcpy(&note, notes, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3, description = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size - sizeof note || description > size - sizeof note - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + sizeof note, "GNU", 4) == 0) {
            vy_digest(notes + sizeof note + name, note.n_descsz, out);
            return 1;
        }
        notes += sizeof note + name + description;
        size -= sizeof note + name + description;
    }
    return 0;
}

static int find_build_id(const struct dl_phdr_info *module, vyre_digest *out) {
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            digest_build_id((const uint8_t *)segment_start(module, segment), segment->p_filesz, out))
            return 1;
    }
    return 0;
}

static void digest_segments(const struct dl_phdr_info *module, vyre_digest *out) {
    struct {
        vyre_digest before, segment;
    } chain = {0};
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_R | PF_W)) != PF_R)
            continue;
        vy_digest((const void *)segment_start(module, segment), segment->p_filesz, &chain.segment);
        vy_digest(&chain, sizeof chain, &chain.before);
    }
    *out = chain.before;
}

static int visit_module(struct dl_phdr_info *module, size_t size, void *user) {
    build_id_search *search = user;
    (void)size;
    if (!contains_address(module, search->address))
        return 0;
    if (!find_build_id(module, search->out))
        digest_segments(module, search->out);
    return 1;
}

void vy_module_build_id(const void *code, vyre_digest *out) {
    build_id_search search = {(uintptr_t)code, out};
    memset(out, 0, sizeof *out);
    (void)dl_iterate_phdr(visit_module, &search);
}
