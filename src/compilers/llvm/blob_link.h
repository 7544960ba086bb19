/* From a relocatable ELF object to a blob of code that needs no loader.
 *
 * Code and constants are laid out behind each other and everything in them that refers to something else in them is resolved. What refers to anything
 * outside is an error: that is how a call of a library that LLVM slipped in is found here, and not when it is executed.
 *
 * The blob works wherever it is placed at a multiple of VY_BLOB_ALIGNMENT. Nothing here knows LLVM. */
#ifndef VY_COMPILERS_LLVM_BLOB_LINK_H
#define VY_COMPILERS_LLVM_BLOB_LINK_H

#include "vyre/base.h"

/* The page of AArch64's ADRP; sections want no more than their alignment, which is smaller. */
enum { VY_BLOB_ALIGNMENT = 4096 };

typedef struct vy_linked_blob {
    vyre_bytes code;
    uint64_t entry;      /* of the function, from the start of the code */
    uint64_t entry_size; /* its bytes */
    vyre_bytes
        file; /* the object itself, for debuggers: what of it is in the code says at which distance from its start */
} vy_linked_blob;

/* Start from zeros; end with vy_linked_blob_free, also after a failure. The object is borrowed for the call. The file is made if asked for.
 *
 * VYRE_CORRUPT      not a relocatable object of ELF64, little endian, or one whose parts lie outside of it
 * VYRE_UNSUPPORTED  a symbol that is not in it, data that can be written, a relocation that depends on where the code lies, another machine: the
 *                   error names it
 * VYRE_NOT_FOUND    it does not define `function`
 * VYRE_NO_MEMORY */
vyre_status vy_blob_link(const void *object, size_t size, const char *function, int with_file, vy_linked_blob *out,
                         vyre_error *error);
void vy_linked_blob_free(vy_linked_blob *flat);

#endif
