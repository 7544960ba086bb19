/* Is this file a shared object the loader can map? Reads the ELF header and the program headers, and nothing else. */
#include "driver/plugin.h"

#include "base/memory.h"
#include "base/status.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
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

static vyre_status fail_system(const char *path, const char *verb, vyre_error *error) {
    int reason = errno;
    char text[128];
    vyre_status code = reason == ENOENT || reason == ENOTDIR ? VYRE_NOT_FOUND : VYRE_IO;
    return vy_fail(error, code, VY_FIX("check the path and its permissions"), "the plug-in `%s` cannot be %s (%s)",
                   path, verb, strerror_r(reason, text, sizeof text));
}

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

static vyre_status check_open_file(const char *path, int file, vyre_error *error) {
    struct stat facts;
    ElfW(Ehdr) header;
    if (fstat(file, &facts) != 0)
        return fail_system(path, "examined", error);
    if (!S_ISREG(facts.st_mode))
        return fail_format(path, "not a regular file", error);
    if (!read_at(file, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return fail_format(path, "not an ELF file", error);
    vyre_status status = check_header(path, &header, error);
    return status == VYRE_OK ? check_segments(path, file, &header, (uint64_t)facts.st_size, error) : status;
}

vyre_status vy_plugin_check_file(const char *path, vyre_error *error) {
    /* Without blocking: the path may be a pipe nobody writes to. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fail_system(path, "opened", error);
    vyre_status status = check_open_file(path, file, error);
    close(file);
    return status;
}
