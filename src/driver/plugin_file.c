/* The check before a file is loaded as code: its path is trusted, and it is a shared object that the loader can map. Reads the
 * ELF header and the program headers, and nothing else. */
#include "driver/plugin.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/trusted_path.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#else
#define OUR_MACHINE EM_NONE /* unknown: left to the loader */
#endif
#define OUR_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define OUR_DATA (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static vyre_status fail_format(const char *path, const char *what, vyre_error *error) {
    return vy_fail(error, VYRE_CORRUPT, VY_FIX("name a shared object, or build or copy it again"),
                   "the plug-in `%s` is %s", path, what);
}

/* Whole or not at all. */
static int read_at(int file, void *to, size_t size, uint64_t offset) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(file, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        done += (size_t)n;
    }
    return 1;
}

static vyre_status check_header(const char *path, const ElfW(Ehdr) * header, vyre_error *error) {
    if (header->e_ident[EI_CLASS] != OUR_CLASS)
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("build the plug-in for this machine"),
                       "the plug-in `%s` is of the wrong architecture (class %u, this process has %u)", path,
                       header->e_ident[EI_CLASS], (unsigned)OUR_CLASS);
    if (header->e_ident[EI_DATA] != OUR_DATA || (OUR_MACHINE != EM_NONE && header->e_machine != OUR_MACHINE))
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("build the plug-in for this machine"),
                       "the plug-in `%s` is of the wrong architecture (ELF machine %u, this process is %u)", path,
                       header->e_machine, (unsigned)OUR_MACHINE);
    if (header->e_type != ET_DYN)
        return fail_format(path, "not a shared object (link it with -shared)", error);
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum == 0)
        return fail_format(path, "damaged (it has no program headers)", error);
    return VYRE_OK;
}

/* Every segment that is mapped lies within the file. */
static vyre_status check_segments(const char *path, int file, const ElfW(Ehdr) * header, uint64_t size,
                                  vyre_error *error) {
    for (unsigned i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        if (!read_at(file, &segment, sizeof segment, header->e_phoff + (uint64_t)i * sizeof segment))
            return fail_format(path, "cut short (within its program headers)", error);
        if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
            return fail_format(path, "cut short (a segment ends behind the end of the file)", error);
    }
    return VYRE_OK;
}

vyre_status vy_plugin_check_file(const char *path, vyre_error *error) {
    int file;
    struct stat facts;
    ElfW(Ehdr) header;
    vyre_status status = vy_trusted_file_open(path, "plug-in", &file, error);
    if (status != VYRE_OK)
        return status;
    if (fstat(file, &facts) != 0 || !read_at(file, &header, sizeof header, 0) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        status = fail_format(path, "not an ELF file", error);
    if (status == VYRE_OK)
        status = check_header(path, &header, error);
    if (status == VYRE_OK)
        status = check_segments(path, file, &header, (uint64_t)facts.st_size, error);
    close(file);
    return status;
}
