/* Loading: manifests that were read become the next snapshot, together or not at all. */
#ifndef VY_DIALECT_LOAD_H
#define VY_DIALECT_LOAD_H

#include "dialect/manifest.h"

typedef enum vy_load_change {
    VY_LOAD_KEEP,    /* what is registered stays; only its requirements are looked at again */
    VY_LOAD_REPLACE, /* `next` replaces all that its owner provided */
    VY_LOAD_REMOVE   /* all that the owner provided goes */
} vy_load_change;

/* One manifest in a batch. */
typedef struct vy_load_item {
    const char *owner;                /* as the registry knows it */
    const vy_manifest *next, *before; /* to put, and in force until now; NULL if none is known */
    vy_load_change change;
    int is_refused;  /* set: the change was not made, for a reason that was reported */
    int is_reported; /* what it requires is known to be missing */
} vy_load_item;

/* Reads a manifest, with the ops of the standard library known to its bodies. */
vyre_status vy_load_parse(const char *file, const char *text, size_t size, vy_manifest_read_file *read, void *user,
                          vyre_diagnostics *list, vy_manifest **out, vyre_error *error);

/* Registers one manifest's dialect under an owner. */
vyre_status vy_load_register(vyre_dialect_builder *builder, const vy_manifest *manifest, const char *owner,
                             vyre_error *error);

/* Installs the changes as one snapshot; if there are none, nothing. What stands in the way of one (another provider, a requirement) is in the list, at the
 * manifest's place. Strict: then nothing is installed, and the error is the first of them. Lenient: changes that cannot be made are refused, and the
 * others are installed; VYRE_OK, *made counts them, and `error`, which is not NULL, has the first refusal (code VYRE_OK: none). NO_MEMORY: nothing is installed, in both. */
vyre_status vy_load_strict(vy_load_item *items, size_t count, vyre_diagnostics *list, vyre_error *error);
vyre_status vy_load_lenient(vy_load_item *items, size_t count, vyre_diagnostics *list, size_t *made, vyre_error *error);
/* Whether vy_load_strict would succeed now; installs nothing. A manifest may have a dialect of the standard library: whoever works on lib/ asks, too,
 * and then it is checked in the place of what is compiled in. */
vyre_status vy_load_check(vy_load_item *items, size_t count, vyre_diagnostics *list, vyre_error *error);

#endif
