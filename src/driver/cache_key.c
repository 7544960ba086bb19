/* Cache keys of compiled pipelines, and build ids of modules (cache_key.h).
 *
 * A key is a digest of a fixed layout: parts of fixed size are stored directly, parts of variable size by their
 * digests. So no two lists of parts encode to the same bytes, and nothing is allocated.
 *
 * The build id identifies the executable or shared library that contains a backend. A plug-in can change without a new
 * version number, but the linker writes a build id, a hash of the contents, into the module. In a module without one,
 * the read-only segments are digested as mapped: code and constants, which contain no relocated addresses. */
#include "driver/cache_key.h"

#include "base/hash.h"
#include "driver/cache_entry.h"
#include "vyre_build.h"

#include <elf.h>
#include <link.h>
#include <string.h>

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
