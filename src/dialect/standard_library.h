/* The standard library: the manifests and bodies of lib/, inside libvyre. */
#ifndef VY_DIALECT_STANDARD_LIBRARY_H
#define VY_DIALECT_STANDARD_LIBRARY_H

#include "vyre/dialect.h"

#define VY_STANDARD_LIBRARY_OWNER "libvyre"

/* Puts all of its dialects into a builder, with libvyre as their owner. VYRE_NO_MEMORY; anything else is a mistake in lib/. */
vyre_status vy_standard_library_add(vyre_dialect_builder *builder, vyre_error *error);

/* The index-th file by name ("bits.toml"); 0 past the end. */
int vy_standard_library_file(size_t index, const char **name, vyre_span *bytes);

#endif
