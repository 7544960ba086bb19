/* Relocations that can be resolved without knowing where code will lie: a table of what each kind writes. */
#ifndef VY_COMPILERS_LLVM_RELOCATION_H
#define VY_COMPILERS_LLVM_RELOCATION_H

#include "vyre/base.h"

/* One place that refers to something, both by their distance from the start of the blob. */
typedef struct vy_relocation {
    uint16_t machine; /* EM_… */
    uint32_t type;    /* R_… */
    uint64_t place;
    int64_t target; /* with the addend */
} vy_relocation;

/* Writes it into the blob. The place need not be inside: that is checked.
 *
 * VYRE_UNSUPPORTED  a kind that is not in the table, or one that does not reach its target
 * VYRE_CORRUPT      the place is outside the blob */
vyre_status vy_relocate(const vy_relocation *reference, uint8_t *blob, size_t size, vyre_error *error);

#endif
