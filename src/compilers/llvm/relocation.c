/* What each relocation writes. Fields of instructions are as in the ELF supplements of the two processors: "System V ABI, AMD64", table 4.9, and
 * "ELF for the Arm 64-bit Architecture", 5.7. */
#include "compilers/llvm/relocation.h"

#include "base/status.h"

#include <elf.h>
#include <string.h>

typedef enum form {
    WORD32,   /* target - place, signed, 4 bytes */
    WORD64,   /* likewise, 8 bytes */
    BRANCH26, /* instructions between, in bits 0 … 25 */
    BRANCH19, /* likewise, in bits 5 … 23 */
    BRANCH14, /* likewise, in bits 5 … 18 */
    ADR21,    /* bytes between: the low two in bits 29 … 30, the others in bits 5 … 23 */
    PAGE21,   /* pages between, likewise */
    LOW12     /* the target's place in its page, in bits 10 … 21, in units of 2^shift */
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

/* Whether a signed number of `bits` bits holds the value. */
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

/* 0 if the form does not reach that far. */
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
                       "the compiled code has a relocation (type %u) that depends on where it lies",
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
