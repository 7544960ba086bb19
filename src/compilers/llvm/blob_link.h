/* Linker from a relocatable ELF object to a flat code blob, which needs no loader.
 *
 * Sections of code and constants are laid out one after the other, and all references between them are resolved. A
 * reference to anything outside is an error: so a call of a library function that LLVM inserted is found here, and not
 * when it is executed.
 *
 * The blob works at every address that is a multiple of VY_BLOB_ALIGNMENT. Nothing here depends on LLVM. */
#ifndef VY_COMPILERS_LLVM_BLOB_LINK_H
#define VY_COMPILERS_LLVM_BLOB_LINK_H

#include "vyre/base.h"

/* ---- relocations ----
 *
 * Relocations that can be resolved without the final address of the code, as a table of the bits that each kind
 * writes. */

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

/* ---- linking ---- */

/* The page of AArch64's ADRP; sections want no more than their alignment, which is smaller. */
enum { VY_BLOB_ALIGNMENT = 4096 };

typedef struct vy_linked_blob {
    vyre_bytes code;
    uint64_t entry;      /* of the function, from the start of the code */
    uint64_t entry_size; /* its bytes */
    /* the object itself, for debuggers: what of it is in the code says at which distance from its start */
    vyre_bytes file;
} vy_linked_blob;

/* Start from zeros; end with vy_linked_blob_free, also after a failure. The object is borrowed for the call. The file
 * is made if asked for.
 *
 * VYRE_CORRUPT      not a relocatable object of ELF64, little endian, or one whose parts lie outside of it
 * VYRE_UNSUPPORTED  a symbol that is not in it, data that can be written, a relocation that depends on where the code
 * lies, another machine: the
 *                   error names it
 * VYRE_NOT_FOUND    it does not define `function`
 * VYRE_NO_MEMORY */
vyre_status vy_blob_link(const void *object, size_t size, const char *function, int with_file, vy_linked_blob *out,
                         vyre_error *error);
void vy_linked_blob_free(vy_linked_blob *flat);

#endif
