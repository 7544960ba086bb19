/* Loader of manifests and of the standard library: makes the next snapshot, all or nothing. Linking of programs. */
#ifndef VY_DIALECT_LOAD_H
#define VY_DIALECT_LOAD_H

#include "dialect/manifest.h"
#include "vyre/dialect.h"

typedef enum vy_load_change {
    VY_LOAD_KEEP,    /* no change; only the requirements are checked again */
    VY_LOAD_REPLACE, /* `next` replaces all dialects of the owner */
    VY_LOAD_REMOVE   /* all dialects of the owner are removed */
} vy_load_change;

/* One manifest in a batch. */
typedef struct vy_load_item {
    const char *owner;                /* as registered */
    const vy_manifest *next, *before; /* the new manifest, and the one in force; NULL if unknown */
    vy_load_change change;
    int is_refused;  /* output: the change was refused, and the reason was reported */
    int is_reported; /* a missing requirement was reported before */
} vy_load_item;

/* Parses a manifest. Its bodies can call the ops of the standard library. */
vyre_status vy_load_parse(const char *file, const char *text, size_t size, vy_manifest_read_file *read, void *user,
                          vyre_diagnostics *list, vy_manifest **out, vyre_error *error);

/* Registers one manifest's dialect under an owner. */
vyre_status vy_load_register(vyre_dialect_builder *builder, const vy_manifest *manifest, const char *owner,
                             vyre_error *error);

/* Installs the changes as one snapshot; does nothing if there are none. A change that is refused (another provider, a
 * missing requirement) is reported in the list, at the position in the manifest.
 * Strict:  if any change is refused, nothing is installed, and the error is the first refusal.
 * Lenient: refused changes are skipped and the others installed. Returns VYRE_OK; *made counts the changes made;
 * `error`, which must not be NULL, holds the first refusal (code VYRE_OK: none).
 * Both:    on NO_MEMORY nothing is installed. */
vyre_status vy_load_strict(vy_load_item *items, size_t count, vyre_diagnostics *list, vyre_error *error);
vyre_status vy_load_lenient(vy_load_item *items, size_t count, vyre_diagnostics *list, size_t *made, vyre_error *error);
/* Checks whether vy_load_strict would succeed now; installs nothing. A manifest may define a dialect of the standard
 * library and is then checked in its stead, so that manifests of lib/ can be checked. */
vyre_status vy_load_check(vy_load_item *items, size_t count, vyre_diagnostics *list, vyre_error *error);

/* Linking against the newest snapshot: dispatch and emit functions call this for a program that may call dialect
 * ops. */
/* Like vyre_program_resolve. A program that calls no op is retained, and the registry is not read. */
vyre_status vy_program_resolve_newest(vyre_program *program, vyre_program **out, vyre_error *error);

/* Standard library: the manifests and bodies of lib/, embedded in libvyre. */
#define VY_STANDARD_LIBRARY_OWNER "libvyre"

/* Adds all of its dialects to a builder, with libvyre as owner. VYRE_NO_MEMORY; any other status is an error in
 * lib/. */
vyre_status vy_standard_library_add(vyre_dialect_builder *builder, vyre_error *error);

/* Returns the index-th file by name ("bits.toml"); 0 past the end. */
int vy_standard_library_file(size_t index, const char **name, vyre_span *bytes);

#endif
