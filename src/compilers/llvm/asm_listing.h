/* Assembly for people: with the lines of the source between the instructions that were made from them. */
#ifndef VY_COMPILERS_LLVM_ASM_LISTING_H
#define VY_COMPILERS_LLVM_ASM_LISTING_H

#include "base/diagnostics.h"
#include "vyre/base.h"

/* Replaces the contents of out by LLVM's assembly, with the places it names (.loc) as comments and without what else is there for debuggers. What is left can be
 * assembled. VYRE_NO_MEMORY. */
vyre_status vy_llvm_listing(const char *text, size_t size, const vy_source *source, vyre_bytes *out, vyre_error *error);

#endif
