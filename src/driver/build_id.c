/* Which build a backend is of (cache_key.h): the build of the executable or shared library its code lies in.
 *
 * A plug-in changes without the library, and whoever changes its emitter may forget to change its version. The linker does not: it writes a
 * build id into the module, a hash of its contents. Where there is none, the segments that nobody writes to are digested as they are
 * mapped: instructions and constants, which hold no addresses. */
#include "driver/cache_key.h"

#include "base/hash.h"

#include <elf.h>
#include <link.h>
#include <string.h>

typedef struct search {
    uintptr_t address;
    vyre_digest *out;
} search;

static uintptr_t start_of(const struct dl_phdr_info *module, const ElfW(Phdr) * segment) {
    return (uintptr_t)module->dlpi_addr + segment->p_vaddr;
}

static int holds(const struct dl_phdr_info *module, uintptr_t address) {
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - start_of(module, segment) < segment->p_memsz)
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
            digest_build_id((const uint8_t *)start_of(module, segment), segment->p_filesz, out))
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
        vy_digest((const void *)start_of(module, segment), segment->p_filesz, &chain.segment);
        vy_digest(&chain, sizeof chain, &chain.before);
    }
    *out = chain.before;
}

static int visit(struct dl_phdr_info *module, size_t size, void *user) {
    search *search = user;
    (void)size;
    if (!holds(module, search->address))
        return 0;
    if (!find_build_id(module, search->out))
        digest_segments(module, search->out);
    return 1;
}

void vy_module_build_id(const void *code, vyre_digest *out) {
    search search = {(uintptr_t)code, out};
    memset(out, 0, sizeof *out);
    (void)dl_iterate_phdr(visit, &search);
}
