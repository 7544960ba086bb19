/* Manifests: a TOML file that declares a dialect and its ops → a checked description. docs/dialects.md has the format.
 *
 * Nothing is registered here: what is read is what vyre_dialect_builder_replace takes, with the places it was written at beside it. A
 * manifest never changes once read; any thread. */
#ifndef VY_DIALECT_MANIFEST_H
#define VY_DIALECT_MANIFEST_H

#include "base/diagnostics.h"
#include "vyre/dialect.h"

enum { VY_MANIFEST_LIMIT_FILES = 1024 /* that one manifest may name */ };

/* Another dialect that must be there, in this version or a later one. */
typedef struct vy_manifest_requirement {
    const char *dialect, *version;
    vy_position at;
} vy_manifest_requirement;

typedef struct vy_manifest_op {
    vyre_op_definition definition;          /* complete, with body and function, but for what the registry fills in */
    const char *signature;                  /* as written */
    const char *file;                       /* as written; NULL for an inline body or none */
    vy_position at;                         /* of its `[[op]]` */
    const vy_position *attribute_positions; /* of definition.attributes */
    const vy_position *law_positions;       /* of definition.laws */
} vy_manifest_op;

typedef struct vy_manifest {
    vyre_dialect dialect; /* owner: the manifest's file */
    vy_position at;       /* of its name */
    vy_manifest_requirement *requirements;
    vy_manifest_op *ops; /* in the order of the file */
    const char **files;  /* that bodies came from, as written */
    uint32_t requirement_count, op_count, file_count;
    vy_source *source;
} vy_manifest;

/* How bodies in files are read; `name` is relative and stays inside the manifest's folder. */
typedef vyre_status vy_manifest_read_file(void *user, const char *name, vyre_bytes *out, vyre_error *error);
/* How they are read unless told otherwise, and how the manifest itself is read: from the folder that the manifest's path
 * names. No symbolic link may lead out of that folder, since findings show lines of the file. `shown` is the name in
 * messages. */
vyre_status vy_manifest_read_sibling(const char *manifest, const char *name, const char *shown, vyre_bytes *out,
                                     vyre_error *error);

/* Reads a manifest from its text. Bodies see the ops of the standard library if there is a snapshot that has them. `file` is shown in findings; unless `read` is given, bodies are read from the folder it lies in. Everything that is wrong is
 * in `list` (optional), found in one run, and summed up in `error`.
 *
 * VYRE_INVALID_PROGRAM  the manifest has errors
 * VYRE_LIMIT            the text is larger than VY_TOML_LIMIT_BYTES
 * VYRE_NO_MEMORY */
vyre_status vy_manifest_parse(const char *file, const char *text, size_t size, vy_manifest_read_file *read, void *user,
                              vyre_diagnostics *list, vy_manifest **out, vyre_error *error);
/* The same from a file. VYRE_NOT_FOUND, VYRE_IO too. */
vyre_status vy_manifest_load(const char *path, vyre_diagnostics *list, vy_manifest **out, vyre_error *error);
void vy_manifest_free(vy_manifest *manifest); /* NULL is ignored */

#endif
