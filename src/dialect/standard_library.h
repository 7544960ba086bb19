/* Standard library: the manifests and bodies of lib/, embedded in libvyre. */
#ifndef VY_DIALECT_STANDARD_LIBRARY_H
#define VY_DIALECT_STANDARD_LIBRARY_H

#include "vyre/dialect.h"

#define VY_STANDARD_LIBRARY_OWNER "libvyre"

/* Adds all of its dialects to a builder, with libvyre as owner. VYRE_NO_MEMORY; any other status is an error in
 * lib/. */
vyre_status vy_standard_library_add(vyre_dialect_builder *builder, vyre_error *error);

/* Returns the index-th file by name ("bits.toml"); 0 past the end. */
int vy_standard_library_file(size_t index, const char **name, vyre_span *bytes);

#endif
