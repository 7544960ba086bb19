/* Objects made by hand, laid flat: what is resolved, what is refused, and that a damaged one is an error and nothing
 * worse. */
#include "support/test.h"

#include "compilers/llvm/blob_link.h"
#include "support/fault.h"
#include "vyre/base.h"

#include <elf.h>

/* ---- objects ---- */

enum { NULL_SECTION, TEXT, RODATA, SYMTAB, STRTAB, RELA, SECTIONS };
enum { SYMBOLS = 4, RELOCATIONS = 2 };

/* Laid out as a linker would find it: code with places for two references, constants, a table of symbols. */
typedef struct object {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    uint8_t text[32];
    uint8_t rodata[64];
    Elf64_Sym symbols[SYMBOLS];
    Elf64_Rela relocations[RELOCATIONS];
    char strings[64];
} object;

static const char names[] = "\0.text\0.rodata\0.eh_frame\0kernel\0fmaf\0constants";
enum { AT_TEXT = 1, AT_RODATA = 7, AT_EH_FRAME = 15, AT_KERNEL = 25, AT_FMAF = 32, AT_CONSTANTS = 37 };

static object make_object(uint16_t machine) {
    object o = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                           .e_type = ET_REL,
                           .e_machine = machine,
                           .e_version = EV_CURRENT,
                           .e_shoff = offsetof(object, sections),
                           .e_ehsize = sizeof(Elf64_Ehdr),
                           .e_shentsize = sizeof(Elf64_Shdr),
                           .e_shnum = SECTIONS,
                           .e_shstrndx = STRTAB}};
    o.sections[RODATA] = (Elf64_Shdr){.sh_name = AT_RODATA,
                                      .sh_type = SHT_PROGBITS,
                                      .sh_flags = SHF_ALLOC,
                                      .sh_offset = offsetof(object, rodata),
                                      .sh_size = sizeof o.rodata,
                                      .sh_addralign = 64};
    o.sections[TEXT] = (Elf64_Shdr){.sh_name = AT_TEXT,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                    .sh_offset = offsetof(object, text),
                                    .sh_size = sizeof o.text,
                                    .sh_addralign = 16};
    o.sections[SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                      .sh_offset = offsetof(object, symbols),
                                      .sh_size = sizeof o.symbols,
                                      .sh_link = STRTAB,
                                      .sh_entsize = sizeof(Elf64_Sym)};
    o.sections[STRTAB] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = offsetof(object, strings), .sh_size = sizeof o.strings};
    o.sections[RELA] = (Elf64_Shdr){.sh_type = SHT_RELA,
                                    .sh_offset = offsetof(object, relocations),
                                    .sh_size = sizeof o.relocations,
                                    .sh_link = SYMTAB,
                                    .sh_info = TEXT,
                                    .sh_entsize = sizeof(Elf64_Rela)};
    o.symbols[1] = (Elf64_Sym){AT_KERNEL, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, TEXT, 8, 16};
    o.symbols[2] = (Elf64_Sym){AT_FMAF, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SHN_UNDEF, 0, 0};
    o.symbols[3] = (Elf64_Sym){AT_CONSTANTS, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, RODATA, 16, 4};
    for (unsigned i = 0; i < sizeof o.rodata; i++)
        o.rodata[i] = (uint8_t)i;
    memcpy(o.strings, names, sizeof names);
    return o;
}

static void relocate(object *o, unsigned index, uint32_t type, uint32_t symbol, uint64_t offset, int64_t addend) {
    o->relocations[index] = (Elf64_Rela){offset, ELF64_R_INFO((uint64_t)symbol, type), addend};
}

static vyre_status flatten(const object *o, vy_linked_blob *out, vyre_error *error) {
    return vy_blob_link(o, sizeof *o, "kernel", 0, out, error);
}

static uint32_t word_at(const vy_linked_blob *flat, size_t offset) {
    uint32_t word;
    assert_true(offset + 4 <= flat->code.size);
    memcpy(&word, (const uint8_t *)flat->code.data + offset, 4);
    return word;
}

/* ---- claims ---- */

static void code_comes_first_and_constants_are_aligned(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    assert_int_equal(flatten(&o, &flat, NULL), VYRE_OK);
    assert_int_equal(flat.code.size, 64 + 64);
    assert_int_equal(flat.entry, 8);
    assert_int_equal(flat.entry_size, 16);
    assert_memory_equal((uint8_t *)flat.code.data + 64, o.rodata, 64);
    vy_linked_blob_free(&flat);
}

static void references_of_x86_are_distances(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    relocate(&o, 0, R_X86_64_PC32, 3, 4, -4); /* constants + 16 are at 80, the next instruction at 8 */
    relocate(&o, 1, R_X86_64_PLT32, 1, 20, -4);
    assert_int_equal(flatten(&o, &flat, NULL), VYRE_OK);
    assert_int_equal((int32_t)word_at(&flat, 4), 80 - 8);
    assert_int_equal((int32_t)word_at(&flat, 20), 8 - 24);
    vy_linked_blob_free(&flat);
}

static void constants_may_refer_to_code(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    o.sections[RELA].sh_info = RODATA; /* a table of jumps */
    relocate(&o, 0, R_X86_64_PC32, 1, 0, 0);
    relocate(&o, 1, R_X86_64_PC64, 1, 8, 8);
    assert_int_equal(flatten(&o, &flat, NULL), VYRE_OK);
    assert_int_equal((int32_t)word_at(&flat, 64), 8 - 64);
    assert_int_equal((int32_t)word_at(&flat, 72), 16 - 72);
    assert_int_equal(word_at(&flat, 76), UINT32_MAX);
    vy_linked_blob_free(&flat);
}

/* Encodings from the Arm architecture reference manual, C6.2: what `llvm-mc -triple=aarch64 --show-encoding` shows. */
static void references_of_aarch64_are_fields_of_instructions(void **state) {
    static const struct {
        uint32_t type, instruction, want;
        uint64_t place;
        int64_t target;
    } rows[] = {
        {R_AARCH64_CALL26, 0x94000000, 0x94000040, 0, 256},                    /* bl +256 */
        {R_AARCH64_JUMP26, 0x14000000, 0x17ffffff, 8, 4},                      /* b -4 */
        {R_AARCH64_CONDBR19, 0x54000000, 0x54000040, 0, 8},                    /* b.eq +8 */
        {R_AARCH64_TSTBR14, 0x36000000, 0x3607ffe0, 8, 4},                     /* tbz w0, #0, -4 */
        {R_AARCH64_ADR_PREL_LO21, 0x10000000, 0x70000000, 0, 3},               /* adr x0, +3 */
        {R_AARCH64_LD_PREL_LO19, 0x1c000000, 0x1c000080, 0, 16},               /* ldr s0, +16 */
        {R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0xb0000000, 16, 4096},        /* adrp x0, the next page */
        {R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0xf0ffffe0, 4096 + 16, 4080}, /* the one before */
        {R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, 0x91004000, 0, 4096 + 16},     /* add x0, x0, #16 */
        {R_AARCH64_LDST8_ABS_LO12_NC, 0x39400000, 0x39400c00, 0, 3},           /* ldrb w0, [x0, #3] */
        {R_AARCH64_LDST16_ABS_LO12_NC, 0x79400000, 0x79400400, 0, 2},          /* ldrh w0, [x0, #2] */
        {R_AARCH64_LDST32_ABS_LO12_NC, 0xb9400000, 0xb9400400, 0, 4},          /* ldr w0, [x0, #4] */
        {R_AARCH64_LDST64_ABS_LO12_NC, 0xf9400000, 0xf9400400, 0, 8},          /* ldr x0, [x0, #8] */
        {R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, 0x3dc00400, 0, 4096 + 16}, /* ldr q0, [x0, #16] */
        {R_AARCH64_PREL32, 0, 12, 4, 16},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static uint8_t blob[8192];
        uint32_t got;
        memcpy(blob + rows[i].place, &rows[i].instruction, 4);
        vy_relocation reference = {EM_AARCH64, rows[i].type, rows[i].place, rows[i].target};
        assert_int_equal(vy_relocate(&reference, blob, sizeof blob, NULL), VYRE_OK);
        memcpy(&got, blob + rows[i].place, 4);
        if (got != rows[i].want)
            fail_msg("row %zu: %08x, must be %08x", i, got, rows[i].want);
    }
}

static void what_does_not_reach_is_refused(void **state) {
    static const vy_relocation rows[] = {
        {EM_X86_64, R_X86_64_PC32, 0, INT64_C(1) << 31},
        {EM_AARCH64, R_AARCH64_CALL26, 0, INT64_C(1) << 27},
        {EM_AARCH64, R_AARCH64_CALL26, 0, 2},
        {EM_AARCH64, R_AARCH64_CONDBR19, 0, 1 << 20},
        {EM_AARCH64, R_AARCH64_ADR_PREL_LO21, 0, 1 << 20},
        {EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, 0, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t blob[8] = {0};
        assert_int_equal(vy_relocate(&rows[i], blob, sizeof blob, NULL), VYRE_UNSUPPORTED);
    }
}

static void a_call_of_a_library_is_refused_by_name(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    vyre_error error = VYRE_ERROR_INIT;
    relocate(&o, 0, R_X86_64_PLT32, 2, 4, -4);
    assert_int_equal(flatten(&o, &flat, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "`fmaf`"));
    vy_linked_blob_free(&flat);
}

static void absolute_addresses_are_refused(void **state) {
    static const uint32_t types[] = {R_X86_64_64, R_X86_64_32, R_X86_64_32S, R_X86_64_GOTPCREL, R_X86_64_TPOFF32};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        object o = make_object(EM_X86_64);
        vy_linked_blob flat = {0};
        vyre_error error = VYRE_ERROR_INIT;
        relocate(&o, 0, types[i], 3, 4, 0);
        assert_int_equal(flatten(&o, &flat, &error), VYRE_UNSUPPORTED);
        assert_non_null(strstr(error.message, "relocation"));
        vy_linked_blob_free(&flat);
    }
}

static void data_that_can_be_written_is_refused_by_name(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    vyre_error error = VYRE_ERROR_INIT;
    o.sections[RODATA].sh_flags |= SHF_WRITE;
    assert_int_equal(flatten(&o, &flat, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "`.rodata`"));
    vy_linked_blob_free(&flat);
}

static void tables_for_unwinding_are_left_out(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    o.sections[RODATA].sh_name = AT_EH_FRAME;
    assert_int_equal(flatten(&o, &flat, NULL), VYRE_OK);
    assert_int_equal(flat.code.size, sizeof o.text);
    vy_linked_blob_free(&flat);
}

static void a_function_that_is_not_there_is_said(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_blob_link(&o, sizeof o, "other", 0, &flat, &error), VYRE_NOT_FOUND);
    assert_int_equal(vy_blob_link(&o, sizeof o, "fmaf", 0, &flat, &error), VYRE_NOT_FOUND);
    vy_linked_blob_free(&flat);
}

static void other_files_are_refused(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_linked_blob flat = {0};
    assert_int_equal(vy_blob_link("", 0, "kernel", 0, &flat, NULL), VYRE_CORRUPT);
    for (size_t size = 0; size < offsetof(object, text); size++)
        assert_int_equal(vy_blob_link(&o, size, "kernel", 0, &flat, NULL), VYRE_CORRUPT);
    o.header.e_machine = EM_RISCV;
    assert_int_equal(flatten(&o, &flat, NULL), VYRE_UNSUPPORTED);
    o.header.e_type = ET_DYN;
    assert_int_equal(flatten(&o, &flat, NULL), VYRE_CORRUPT);
    vy_linked_blob_free(&flat);
}

/* Whatever bytes are changed, it is a result or an error: the sanitizers watch. */
static void damaged_objects_do_no_harm(void **state) {
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    (void)state;
    vy_random random = vy_random_start(1);
    unsigned refused = 0;
    for (unsigned round = 0; round < 200000 * vy_test_effort(); round++) {
        object o = make_object(round & 1 ? EM_X86_64 : EM_AARCH64);
        object *given = malloc(sizeof o); /* so that a byte beyond the end is seen */
        vy_linked_blob flat = {0};
        vyre_error error = VYRE_ERROR_INIT;
        relocate(&o, 0, round & 1 ? R_X86_64_PC32 : R_AARCH64_CALL26, 1, 4, -4);
        for (uint64_t changes = 1 + vy_random_below(&random, 4); changes; changes--)
            ((uint8_t *)&o)[vy_random_below(&random, sizeof o)] = values[vy_random_below(&random, sizeof values)];
        memcpy(given, &o, sizeof o);
        refused += flatten(given, &flat, &error) != VYRE_OK;
        vy_linked_blob_free(&flat);
        free(given);
    }
    assert_true(refused > 1000);
}

static vyre_status flatten_once(void *user) {
    vy_linked_blob flat = {0};
    vyre_status status = flatten(user, &flat, NULL);
    vy_linked_blob_free(&flat);
    return status;
}

static void memory_may_run_out(void **state) {
    (void)state;
    object o = make_object(EM_X86_64);
    vy_fault_install();
    assert_true(VY_FAULT_LOOP(flatten_once, &o) > 0);
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_comes_first_and_constants_are_aligned),
        cmocka_unit_test(references_of_x86_are_distances),
        cmocka_unit_test(constants_may_refer_to_code),
        cmocka_unit_test(references_of_aarch64_are_fields_of_instructions),
        cmocka_unit_test(what_does_not_reach_is_refused),
        cmocka_unit_test(a_call_of_a_library_is_refused_by_name),
        cmocka_unit_test(absolute_addresses_are_refused),
        cmocka_unit_test(data_that_can_be_written_is_refused_by_name),
        cmocka_unit_test(tables_for_unwinding_are_left_out),
        cmocka_unit_test(a_function_that_is_not_there_is_said),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(damaged_objects_do_no_harm),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
