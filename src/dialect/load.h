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
/* Checks the code of an op for c or ptx with a tool of the host, which this module cannot run
 * (targets/lowering_check.h). */
typedef struct vy_lowering_checker {
    vyre_status (*check)(void *user, vyre_dialects_guard guard, const vyre_op_definition *op,
                         const vyre_lowering *lowering, vyre_error *error);
    void *user;
} vy_lowering_checker;

/* Checks whether vy_load_strict would succeed now, and the code of ops (checker: may be NULL); installs nothing. A
 * manifest may define a dialect of the standard library and is then checked in its stead, so that manifests of lib/ can
 * be checked. */
vyre_status vy_load_check(vy_load_item *items, size_t count, const vy_lowering_checker *checker, vyre_diagnostics *list,
                          vyre_error *error);

/* Linking against the newest snapshot: dispatch and emit functions call this for a program that may call dialect
 * ops. */
/* Like vyre_program_resolve. A program that calls no op is retained, and the registry is not read. */
vyre_status vy_program_resolve_newest(vyre_program *program, vyre_program **out, vyre_error *error);

/* Which code of dialects replaces bodies: called for each op that the program calls, directly or in bodies, and that
 * has code for the target. It sets *is_usable, or fails, and then so does linking. */
typedef struct vy_lowering_policy {
    vyre_status (*use)(void *user, vyre_dialects_guard guard, const vyre_op_definition *op,
                       const vyre_lowering *lowering, int *is_usable, vyre_error *error);
    void *user;
} vy_lowering_policy;
/* Links a program that vyre_program_resolve made again, for one target (c, ptx). Calls of ops whose code is usable
 * remain calls (vy_lowered_op_of), and the emitter of the target writes their code. Code with a bound is offered only
 * if the numerics of the program are not strict. *out is the program itself if no code is used, or if it is not the
 * result of linking but was transformed or decoded. */
vyre_status vy_program_lower_ops(vyre_program *program, vyre_target target, const vy_lowering_policy *policy,
                                 vyre_program **out, vyre_error *error);

/* Links a program that vyre_program_resolve made again, for targets with another body of some functions: ops of the
 * standard library whose file has a function `FUNCTION_VARIANT` call that instead of `FUNCTION`. The bits are the same.
 * *out is the program itself in the same cases as above. */
vyre_status vy_program_link_variant(vyre_program *program, const char *variant, vyre_program **out, vyre_error *error);
#define VY_VARIANT_WITHOUT_F64 "without_f64"
#define VY_VARIANT_WITH_TABLES "with_tables"

/* Standard library: the manifests and bodies of lib/, embedded in libvyre. */
#define VY_STANDARD_LIBRARY_OWNER "libvyre"

/* Adds the dialect of its index-th file to a builder, with libvyre as owner; nothing if the file is not a manifest.
 * VYRE_NO_MEMORY; any other status is an error in lib/. */
vyre_status vy_standard_library_add(vyre_dialect_builder *builder, size_t index, vyre_error *error);

/* The index of the manifest with the dialect of an op id; the number of files if it is not in the library. A manifest
 * has the name of its dialect. */
size_t vy_standard_library_find(const char *id, size_t length);

/* Returns the index-th file by name ("bits.toml"); 0 past the end. */
int vy_standard_library_file(size_t index, const char **name, vyre_span *bytes);

#endif
