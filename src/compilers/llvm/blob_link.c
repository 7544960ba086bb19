/* Linker from a relocatable ELF object to a flat code blob, and its relocations (blob_link.h). Invariant: every
 * offset, index and count of the object is checked before it is used. */
#include "compilers/llvm/blob_link.h"

#include "base/memory.h"
#include "base/status.h"

#include <elf.h>
#include <string.h>

/* ---- relocations ---- The field that each relocation writes. Fields of instructions follow the ELF supplements of
 * the two architectures: "System V ABI, AMD64", table 4.9, and "ELF for the Arm 64-bit Architecture", 5.7. */

typedef enum form {
    WORD32,   /* target - address, signed, 4 bytes */
    WORD64,   /* likewise, 8 bytes */
    BRANCH26, /* distance in instructions, in bits 0 … 25 */
    BRANCH19, /* likewise, in bits 5 … 23 */
    BRANCH14, /* likewise, in bits 5 … 18 */
    ADR21,    /* distance in bytes: the low two bits in bits 29 … 30, the others in bits 5 … 23 */
    PAGE21,   /* distance in pages, likewise */
    LOW12     /* offset of the target in its page, in bits 10 … 21, in units of 2^shift */
} form;

/* X(machine, relocation, form, shift) */
#define RELOCATION_LIST(X)                                                                                             \
    X(EM_X86_64, R_X86_64_PC32, WORD32, 0)                                                                             \
    X(EM_X86_64, R_X86_64_PLT32, WORD32, 0)                                                                            \
    X(EM_X86_64, R_X86_64_PC64, WORD64, 0)                                                                             \
    X(EM_AARCH64, R_AARCH64_PREL32, WORD32, 0)                                                                         \
    X(EM_AARCH64, R_AARCH64_PREL64, WORD64, 0)                                                                         \
    X(EM_AARCH64, R_AARCH64_LD_PREL_LO19, BRANCH19, 0)                                                                 \
    X(EM_AARCH64, R_AARCH64_ADR_PREL_LO21, ADR21, 0)                                                                   \
    X(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, PAGE21, 0)                                                               \
    X(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21_NC, PAGE21, 0)                                                            \
    X(EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, LOW12, 0)                                                                 \
    X(EM_AARCH64, R_AARCH64_LDST8_ABS_LO12_NC, LOW12, 0)                                                               \
    X(EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, LOW12, 1)                                                              \
    X(EM_AARCH64, R_AARCH64_LDST32_ABS_LO12_NC, LOW12, 2)                                                              \
    X(EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, LOW12, 3)                                                              \
    X(EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, LOW12, 4)                                                             \
    X(EM_AARCH64, R_AARCH64_TSTBR14, BRANCH14, 0)                                                                      \
    X(EM_AARCH64, R_AARCH64_CONDBR19, BRANCH19, 0)                                                                     \
    X(EM_AARCH64, R_AARCH64_JUMP26, BRANCH26, 0)                                                                       \
    X(EM_AARCH64, R_AARCH64_CALL26, BRANCH26, 0)

typedef struct relocation {
    uint16_t machine;
    uint32_t type;
    form form;
    unsigned shift;
} relocation;

static const relocation relocations[] = {
#define X(machine, relocation, form, shift) {machine, relocation, form, shift},
    RELOCATION_LIST(X)
#undef X
};

static const relocation *find(const vy_relocation *reference) {
    for (size_t i = 0; i < sizeof relocations / sizeof *relocations; i++)
        if (relocations[i].machine == reference->machine && relocations[i].type == reference->type)
            return &relocations[i];
    return NULL;
}

/* Whether the value fits a signed number of `bits` bits. */
static int fits(int64_t value, unsigned bits) {
    return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

static void write_field(uint8_t *place, unsigned first, unsigned bits, uint64_t value) {
    uint32_t word, mask = ((UINT32_C(1) << bits) - 1) << first;
    memcpy(&word, place, sizeof word);
    word = (word & ~mask) | ((uint32_t)(value << first) & mask);
    memcpy(place, &word, sizeof word);
}

static int write_branch(uint8_t *place, int64_t distance, unsigned first, unsigned bits) {
    if (distance % 4 != 0 || !fits(distance / 4, bits))
        return 0;
    write_field(place, first, bits, (uint64_t)(distance / 4));
    return 1;
}

static int write_adr(uint8_t *place, int64_t distance) {
    if (!fits(distance, 21))
        return 0;
    write_field(place, 29, 2, (uint64_t)distance);
    write_field(place, 5, 19, (uint64_t)distance >> 2);
    return 1;
}

/* Returns 0 if the target is out of range of the form. */
static int write_reference(const relocation *relocation, const vy_relocation *reference, uint8_t *place) {
    int64_t distance = reference->target - (int64_t)reference->place;
    int32_t word = (int32_t)distance;
    switch (relocation->form) {
    case WORD32:
        memcpy(place, &word, sizeof word);
        return fits(distance, 32);
    case WORD64:
        memcpy(place, &distance, sizeof distance);
        return 1;
    case BRANCH26:
        return write_branch(place, distance, 0, 26);
    case BRANCH19:
        return write_branch(place, distance, 5, 19);
    case BRANCH14:
        return write_branch(place, distance, 5, 14);
    case ADR21:
        return write_adr(place, distance);
    case PAGE21:
        return write_adr(place, (reference->target >> 12) - ((int64_t)reference->place >> 12));
    case LOW12:
        write_field(place, 10, 12, ((uint64_t)reference->target & 0xfff) >> relocation->shift);
        return (reference->target & ((1 << relocation->shift) - 1)) == 0;
    }
    return 0;
}

vyre_status vy_relocate(const vy_relocation *reference, uint8_t *blob, size_t size, vyre_error *error) {
    const relocation *relocation = find(reference);
    if (!relocation)
        return vy_fail(error, VYRE_UNSUPPORTED, "report this with the program, and choose another backend until then",
                       "the compiled code has a relocation (type %u) that depends on its address",
                       (unsigned)reference->type);
    size_t bytes = relocation->form == WORD64 ? 8 : 4;
    if (reference->place > size || size - reference->place < bytes)
        return vy_fail(error, VYRE_CORRUPT, NULL, "a relocation of the compiled code is outside of it (at %llu of %zu)",
                       (unsigned long long)reference->place, size);
    if (!write_reference(relocation, reference, blob + reference->place))
        return vy_fail(error, VYRE_UNSUPPORTED, "make the program smaller",
                       "a relocation (type %u) of the compiled code does not reach its target (%lld bytes away)",
                       (unsigned)reference->type, (long long)(reference->target - (int64_t)reference->place));
    return VYRE_OK;
}

/* ---- linking ---- Reads an ELF object, lays out the loaded sections, and resolves references.
 *
 * The object is created by LLVM, but it is not trusted: every offset, index and count is checked before it is used,
 * so that a damaged object is an error. */

enum { CODE_LIMIT = 1 << 30 };

#define NOT_PLACED UINT64_MAX
#define REPORT_FIX "report this with the program, and choose another backend until then"

typedef struct reader {
    const uint8_t *data;
    size_t size;
    Elf64_Ehdr header;
    uint64_t *places; /* by section: offset in the blob, or NOT_PLACED */
    uint64_t end;     /* of the blob */
    vyre_error *error;
} reader;

static vyre_status corrupt(const reader *reader, const char *what) {
    return vy_fail(reader->error, VYRE_CORRUPT, REPORT_FIX, "the compiled object is damaged: %s", what);
}

static int is_inside(const reader *reader, uint64_t offset, uint64_t size) {
    return offset <= reader->size && size <= reader->size - offset;
}

/* ---- parts of the object ---- */

static vyre_status read_header(reader *reader) {
    const unsigned char *ident = reader->header.e_ident;
    if (!is_inside(reader, 0, sizeof reader->header))
        return corrupt(reader, "it is shorter than its header");
    memcpy(&reader->header, reader->data, sizeof reader->header);
    if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
        reader->header.e_type != ET_REL)
        return corrupt(reader, "it is not a relocatable ELF64 object, little endian");
    if (reader->header.e_machine != EM_X86_64 && reader->header.e_machine != EM_AARCH64)
        return vy_fail(reader->error, VYRE_UNSUPPORTED, "compile for x86-64 or AArch64",
                       "the compiled object is for another machine (%u)", (unsigned)reader->header.e_machine);
    if (reader->header.e_shentsize != sizeof(Elf64_Shdr) || !reader->header.e_shnum ||
        !is_inside(reader, reader->header.e_shoff, (uint64_t)reader->header.e_shnum * sizeof(Elf64_Shdr)))
        return corrupt(reader, "its sections are outside of it");
    return VYRE_OK;
}

/* Requires an index below e_shnum. */
static Elf64_Shdr section_at(const reader *reader, uint32_t index) {
    Elf64_Shdr section;
    memcpy(&section, reader->data + reader->header.e_shoff + (uint64_t)index * sizeof section, sizeof section);
    return section;
}

/* A string of a string table; NULL if the offset is invalid. */
static const char *text_at(const reader *reader, uint32_t table, uint64_t offset) {
    if (table >= reader->header.e_shnum)
        return NULL;
    Elf64_Shdr section = section_at(reader, table);
    if (section.sh_type != SHT_STRTAB || !is_inside(reader, section.sh_offset, section.sh_size) ||
        offset >= section.sh_size)
        return NULL;
    const char *text = (const char *)reader->data + section.sh_offset + offset;
    return memchr(text, 0, section.sh_size - offset) ? text : NULL;
}

/* The number of records in a section; 0 if its size is not a multiple of the record size. */
static uint64_t record_count(const reader *reader, const Elf64_Shdr *section, uint64_t size) {
    if (section->sh_entsize != size || section->sh_size % size != 0 ||
        !is_inside(reader, section->sh_offset, section->sh_size))
        return 0;
    return section->sh_size / size;
}

static int read_symbol(const reader *reader, uint32_t table, uint64_t index, Elf64_Sym *out, const char **name) {
    if (table >= reader->header.e_shnum)
        return 0;
    Elf64_Shdr section = section_at(reader, table);
    if (section.sh_type != SHT_SYMTAB || index >= record_count(reader, &section, sizeof *out))
        return 0;
    memcpy(out, reader->data + section.sh_offset + index * sizeof *out, sizeof *out);
    *name = text_at(reader, section.sh_link, out->st_name);
    return *name != NULL;
}

/* ---- layout ---- */

/* Unwind tables are needed only by objects that a linker loads. */
static int is_loaded(const reader *reader, const Elf64_Shdr *section) {
    const char *name = text_at(reader, reader->header.e_shstrndx, section->sh_name);
    return section->sh_flags & SHF_ALLOC && section->sh_size && !(name && strncmp(name, ".eh_frame", 9) == 0);
}

static vyre_status place_section(reader *reader, uint32_t index, const Elf64_Shdr *section) {
    const char *name = text_at(reader, reader->header.e_shstrndx, section->sh_name);
    uint64_t alignment = section->sh_addralign ? section->sh_addralign : 1;
    if (section->sh_flags & (SHF_WRITE | SHF_TLS) || section->sh_type == SHT_NOBITS)
        return vy_fail(reader->error, VYRE_UNSUPPORTED, REPORT_FIX,
                       "the compiled code has data that can be written (section `%s`)", name ? name : "?");
    if (!is_inside(reader, section->sh_offset, section->sh_size))
        return corrupt(reader, "a section is outside of it");
    if (alignment & (alignment - 1) || alignment > VY_BLOB_ALIGNMENT)
        return corrupt(reader, "a section has an alignment that is not a small power of two");
    reader->places[index] = (reader->end + alignment - 1) & ~(alignment - 1);
    reader->end = reader->places[index] + section->sh_size;
    if (reader->end > CODE_LIMIT)
        return vy_fail(reader->error, VYRE_LIMIT, "make the program smaller", "the compiled code exceeds %d bytes",
                       CODE_LIMIT);
    return VYRE_OK;
}

/* Code first, so that constants do not share cache lines with it. */
static vyre_status place_sections(reader *reader) {
    vyre_status status = VYRE_OK;
    for (int executable = 1; executable >= 0; executable--)
        for (uint32_t i = 0; i < reader->header.e_shnum && status == VYRE_OK; i++) {
            Elf64_Shdr section = section_at(reader, i);
            if (is_loaded(reader, &section) && !(section.sh_flags & SHF_EXECINSTR) == !executable)
                status = place_section(reader, i, &section);
        }
    return status;
}

static void copy_sections(const reader *reader, uint8_t *blob) {
    for (uint32_t i = 0; i < reader->header.e_shnum; i++)
        if (reader->places[i] != NOT_PLACED) {
            Elf64_Shdr section = section_at(reader, i);
            memcpy(blob + reader->places[i], reader->data + section.sh_offset, section.sh_size);
        }
}

/* ---- references ---- */

static vyre_status locate_symbol(const reader *reader, const Elf64_Sym *symbol, const char *name, uint64_t *out) {
    if (symbol->st_shndx == SHN_UNDEF)
        return vy_fail(reader->error, VYRE_UNSUPPORTED, REPORT_FIX, "the compiled code needs `%s`, which is not in it",
                       name);
    if (symbol->st_shndx >= reader->header.e_shnum || reader->places[symbol->st_shndx] == NOT_PLACED)
        return vy_fail(reader->error, VYRE_UNSUPPORTED, REPORT_FIX,
                       "the compiled code refers to `%s`, which is neither code nor a constant", name);
    Elf64_Shdr section = section_at(reader, symbol->st_shndx);
    if (symbol->st_value > section.sh_size || symbol->st_size > section.sh_size - symbol->st_value)
        return corrupt(reader, "a symbol is outside of its section");
    *out = reader->places[symbol->st_shndx] + symbol->st_value;
    return VYRE_OK;
}

static vyre_status resolve_one(const reader *reader, const Elf64_Shdr *section, uint64_t index, uint8_t *blob) {
    Elf64_Rela record;
    Elf64_Sym symbol;
    const char *name;
    uint64_t target;
    memcpy(&record, reader->data + section->sh_offset + index * sizeof record, sizeof record);
    if (ELF64_R_TYPE(record.r_info) == 0) /* R_…_NONE of either machine */
        return VYRE_OK;
    if (!read_symbol(reader, section->sh_link, ELF64_R_SYM(record.r_info), &symbol, &name))
        return corrupt(reader, "a relocation names no symbol");
    Elf64_Shdr patched = section_at(reader, section->sh_info);
    if (record.r_offset > patched.sh_size || record.r_addend > CODE_LIMIT || record.r_addend < -CODE_LIMIT)
        return corrupt(reader, "a relocation is outside of its section");
    vyre_status status = locate_symbol(reader, &symbol, name, &target);
    if (status != VYRE_OK)
        return status;
    return vy_relocate(&(vy_relocation){.machine = reader->header.e_machine,
                                        .type = ELF64_R_TYPE(record.r_info),
                                        .place = reader->places[section->sh_info] + record.r_offset,
                                        .target = (int64_t)target + record.r_addend},
                       blob, reader->end, reader->error);
}

static vyre_status resolve_section(const reader *reader, const Elf64_Shdr *section, uint8_t *blob) {
    if ((section->sh_type != SHT_RELA && section->sh_type != SHT_REL) || section->sh_info >= reader->header.e_shnum ||
        reader->places[section->sh_info] == NOT_PLACED)
        return VYRE_OK;
    uint64_t count = record_count(reader, section, sizeof(Elf64_Rela));
    if (section->sh_type == SHT_REL || (section->sh_size && !count))
        return corrupt(reader, "relocations have another form");
    for (uint64_t i = 0; i < count; i++) {
        vyre_status status = resolve_one(reader, section, i, blob);
        if (status != VYRE_OK)
            return status;
    }
    return VYRE_OK;
}

static vyre_status resolve(const reader *reader, uint8_t *blob) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < reader->header.e_shnum && status == VYRE_OK; i++) {
        Elf64_Shdr section = section_at(reader, i);
        status = resolve_section(reader, &section, blob);
    }
    return status;
}

/* ---- the file for debuggers ---- */

/* Debuggers resolve references to sections themselves, by the addresses of the sections. A section that is not part
 * of the code has no address. */
static vyre_status copy_file(const reader *reader, vyre_bytes *out) {
    vyre_status status = vyre_bytes_resize(out, reader->size, reader->error);
    if (status != VYRE_OK)
        return status;
    memcpy(out->data, reader->data, reader->size);
    for (uint32_t i = 0; i < reader->header.e_shnum; i++) {
        Elf64_Shdr section = section_at(reader, i);
        if (reader->places[i] != NOT_PLACED)
            section.sh_addr = reader->places[i];
        else
            section.sh_flags &= ~(Elf64_Xword)SHF_ALLOC;
        memcpy((uint8_t *)out->data + reader->header.e_shoff + (uint64_t)i * sizeof section, &section, sizeof section);
    }
    return VYRE_OK;
}

/* ---- the function ---- */

static vyre_status find_function(const reader *reader, const char *function, vy_linked_blob *out) {
    for (uint32_t i = 0; i < reader->header.e_shnum; i++) {
        Elf64_Shdr section = section_at(reader, i);
        Elf64_Sym symbol;
        const char *name;
        for (uint64_t k = 0; section.sh_type == SHT_SYMTAB && read_symbol(reader, i, k, &symbol, &name); k++)
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
                strcmp(name, function) == 0) {
                out->entry_size = symbol.st_size;
                return locate_symbol(reader, &symbol, name, &out->entry);
            }
    }
    return vy_fail(reader->error, VYRE_NOT_FOUND, REPORT_FIX, "the compiled object does not define `%s`", function);
}

static vyre_status make(reader *reader, const char *function, int with_file, vy_linked_blob *out) {
    vyre_status status = place_sections(reader);
    if (status == VYRE_OK)
        status = find_function(reader, function, out);
    if (status == VYRE_OK)
        status = vyre_bytes_resize(&out->code, reader->end, reader->error);
    if (status == VYRE_OK && with_file)
        status = copy_file(reader, &out->file);
    if (status != VYRE_OK)
        return status;
    copy_sections(reader, out->code.data);
    return resolve(reader, out->code.data);
}

vyre_status vy_blob_link(const void *object, size_t size, const char *function, int with_file, vy_linked_blob *out,
                         vyre_error *error) {
    reader reader = {.data = object, .size = size, .error = error};
    vyre_status status = read_header(&reader);
    if (status != VYRE_OK)
        return status;
    size_t bytes = vy_array_size(reader.header.e_shnum, sizeof *reader.places);
    reader.places = vy_allocate(bytes);
    if (!reader.places)
        return vy_fail_memory(error, "the sections of a compiled object");
    memset(reader.places, 0xff, bytes);
    status = make(&reader, function, with_file, out);
    vy_release(reader.places, bytes);
    return status;
}

void vy_linked_blob_free(vy_linked_blob *flat) {
    vyre_bytes_free(&flat->code);
    vyre_bytes_free(&flat->file);
    *flat = (vy_linked_blob){0};
}
