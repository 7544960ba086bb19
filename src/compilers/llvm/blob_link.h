/* Linker from a relocatable ELF object to a flat code blob, which needs no loader.
 *
 * Sections of code and constants are laid out sequentially, and all references between them are resolved. A
 * reference to an external symbol is an error: so a call of a library function that LLVM inserted is detected here,
 * not at run time.
 *
 * Invariant: the blob works at every address that is a multiple of VY_BLOB_ALIGNMENT. This code does not depend on
 * LLVM. */
#ifndef VY_COMPILERS_LLVM_BLOB_LINK_H
#define VY_COMPILERS_LLVM_BLOB_LINK_H

#include "vyre/base.h"

/* ---- relocations ----
 *
 * Relocations that can be resolved without the final address of the code, as a table of the bits that each kind
 * writes. */

/* A reference to resolve; both positions are relative to the start of the blob. */
typedef struct vy_relocation {
    uint16_t machine; /* EM_… */
    uint32_t type;    /* R_… */
    uint64_t place;
    int64_t target; /* including the addend */
} vy_relocation;

/* Writes the reference into the blob, after checking that it is inside.
 *
 * VYRE_UNSUPPORTED  the kind of relocation is not in the table, or the target is out of its range
 * VYRE_CORRUPT      the reference is outside the blob */
vyre_status vy_relocate(const vy_relocation *reference, uint8_t *blob, size_t size, vyre_error *error);

/* ---- linking ---- */

/* The page size of AArch64's ADRP; the alignment of sections is smaller. */
enum { VY_BLOB_ALIGNMENT = 4096 };

typedef struct vy_linked_blob {
    vyre_bytes code;
    uint64_t entry;      /* offset of the function in the code */
    uint64_t entry_size; /* its size in bytes */
    /* the object itself, for debuggers: the address of a section is its offset in the code */
    vyre_bytes file;
} vy_linked_blob;

/* Start from zeros; end with vy_linked_blob_free, also after a failure. The object is borrowed for the call.
 * with_file: also sets out->file.
 *
 * VYRE_CORRUPT      not a relocatable little-endian ELF64 object, or parts of it are out of bounds
 * VYRE_UNSUPPORTED  an undefined symbol, writable data, a relocation that depends on the address of the code, or
 *                   another machine; the error names it
 * VYRE_NOT_FOUND    it does not define `function`
 * VYRE_NO_MEMORY */
vyre_status vy_blob_link(const void *object, size_t size, const char *function, int with_file, vy_linked_blob *out,
                         vyre_error *error);
void vy_linked_blob_free(vy_linked_blob *flat);

#endif
