/* Manifests: TOML files that declare a dialect and its ops, parsed into checked definitions. docs/dialects.md describes
 * the format.
 *
 * Parsing registers nothing. The result is the input of vyre_dialect_builder_replace, with source positions. It is
 * immutable and may be used from any thread. */
#ifndef VY_DIALECT_MANIFEST_H
#define VY_DIALECT_MANIFEST_H

#include "base/diagnostics.h"
#include "vyre/dialect.h"

#include <stddef.h>

enum { VY_MANIFEST_LIMIT_FILES = 1024 /* that one manifest may name */ };

/* A dialect that must be registered, in this version or a later one. */
typedef struct vy_manifest_requirement {
    const char *dialect, *version;
    vy_position at;
} vy_manifest_requirement;

typedef struct vy_manifest_op {
    vyre_op_definition definition; /* complete with body and function, except for the fields that the registry sets */
    const char *signature;         /* as written */
    const char *file;              /* as written; NULL for an inline body or no body */
    vy_position at;                /* of its `[[op]]` */
    const vy_position *attribute_positions; /* of definition.attributes */
    const vy_position *law_positions;       /* of definition.laws */
    const vy_position *lowering_positions;  /* of definition.lowerings */
} vy_manifest_op;

typedef struct vy_manifest {
    vyre_dialect dialect; /* owner: the manifest's file */
    vy_position at;       /* of its name */
    vy_manifest_requirement *requirements;
    vy_manifest_op *ops; /* in the order of the file */
    const char **files;  /* that contain bodies, as written */
    uint32_t requirement_count, op_count, file_count;
    vy_source *source;
} vy_manifest;

/* Reads a file with bodies. `name` is relative and stays inside the folder of the manifest. */
typedef vyre_status vy_manifest_read_file(void *user, const char *name, vyre_bytes *out, vyre_error *error);
/* The default vy_manifest_read_file, also used for the manifest itself: reads from the folder of the manifest. A
 * symbolic link must not lead out of that folder, because diagnostics quote lines of the file. `shown` is the name in
 * messages. */
vyre_status vy_manifest_read_sibling(const char *manifest, const char *name, const char *shown, vyre_bytes *out,
                                     vyre_error *error);

/* Parses the text of a manifest. Bodies can call the ops of the standard library if a snapshot exists. `file` is the
 * name in diagnostics. If `read` is NULL, bodies are read from the folder of `file`. All errors of one run are in
 * `list` (may be NULL); `error` summarises them.
 *
 * VYRE_INVALID_PROGRAM  the manifest has errors
 * VYRE_LIMIT            the text is larger than VY_TOML_LIMIT_BYTES
 * VYRE_NO_MEMORY */
vyre_status vy_manifest_parse(const char *file, const char *text, size_t size, vy_manifest_read_file *read, void *user,
                              vyre_diagnostics *list, vy_manifest **out, vyre_error *error);
/* The same for a file. Also VYRE_NOT_FOUND, VYRE_IO. */
vyre_status vy_manifest_load(const char *path, vyre_diagnostics *list, vy_manifest **out, vyre_error *error);
void vy_manifest_free(vy_manifest *manifest); /* NULL is ignored */

/* Semantic versions (semver.org 2.0.0): MAJOR.MINOR.PATCH, then -PRERELEASE, then +BUILD. Texts and numbers may have
 * any size; nothing is allocated. */
/* Whether the complete text is a version. */
int vy_semver_is_valid(const char *text, size_t size);
/* Compares the precedence of two valid versions: negative, 0 or positive. Build metadata is ignored. */
int vy_semver_compare(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
