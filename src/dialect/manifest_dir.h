/* Folders of manifests: what is in them now, compared with what was found there before. */
#ifndef VY_DIALECT_MANIFEST_DIR_H
#define VY_DIALECT_MANIFEST_DIR_H

#include "base/memory.h"
#include "dialect/load.h"
#include "ir/diagnostic_codes.h"

#include <limits.h>

enum { VY_MANIFEST_DIRS_LIMIT_MANIFESTS = 4096 /* in all folders together */ };

/* The bytes of a file as they were read, or why they were not. */
typedef struct vy_file_state {
    vyre_status status;
    size_t size;
    uint64_t hash;
} vy_file_state;

/* A file that a manifest names. */
typedef struct vy_file_input {
    char *name; /* relative to the manifest's folder */
    vy_file_state state;
} vy_file_input;

/* What keeps a manifest from being changed; src/dialect/write_quiesce.h. Times are of CLOCK_MONOTONIC in milliseconds. */
typedef struct vy_quiesce_state {
    int is_deferred;       /* by the latest scan: it may be half written, and stays as it was */
    int64_t since, same;   /* it was not trusted, and was found as it is now; 0 if it is trusted */
    int64_t until;         /* it has to be looked at again */
    uint64_t content_hash; /* of what was found */
} vy_quiesce_state;

/* One manifest, by its path. */
typedef struct vy_manifest_entry {
    char *path;                    /* absolute; the owner of its dialect */
    char *shown;                   /* in findings: as the user named it */
    vy_manifest *installed, *next; /* registered by us, and read and not registered yet; NULL */
    vy_file_state state;
    VY_VECTOR(vy_file_input) inputs;
    int is_present, is_known; /* found by the latest scan; `state` and `inputs` are those of the latest reading */
    int is_gone;              /* not found by an earlier scan either; still in force because others require it */
    int is_uncommitted;       /* read, or gone, and not settled since */
    vy_quiesce_state write_quiesce;
} vy_manifest_entry;

typedef struct vy_manifest_dir {
    char *path, *shown;
} vy_manifest_dir;

typedef struct vy_manifest_dirs {
    VY_VECTOR(vy_manifest_dir) roots;
    VY_VECTOR(vy_manifest_entry) entries; /* by path */
    vyre_error first;                     /* of the latest scan; code VYRE_OK if all went well */
} vy_manifest_dirs;

/* Adds a folder; one that is there already is left alone. */
vyre_status vy_manifest_dirs_add(vy_manifest_dirs *folders, const char *path, vyre_error *error);
/* Those of VYRE_DIALECT_PATH. */
vyre_status vy_manifest_dirs_add_path(vy_manifest_dirs *folders, vyre_error *error);
/* Adds a warning for each folder that does not exist, or is not a folder. */
void vy_manifest_dirs_warn_missing(const vy_manifest_dirs *folders, vyre_diagnostics *list);
/* Adds one manifest, in whatever folder. */
vyre_status vy_manifest_dirs_add_file(vy_manifest_dirs *folders, const char *path, vyre_error *error);
void vy_manifest_dirs_free(vy_manifest_dirs *folders);
/* What was read is not to be registered, and is to be read again. Where its files are stays known. */
void vy_manifest_entry_discard(vy_manifest_entry *entry);
/* The path of a file it names; 0 if that is too long. */
int vy_manifest_entry_input_path(const vy_manifest_entry *entry, uint32_t index, char path[PATH_MAX]);

/* Where symbolic links lead from the manifest or from a file it names; 0 if nowhere, or out of the manifest's folder:
 * what is there is neither read nor watched. */
int vy_manifest_entry_resolve(const vy_manifest_entry *entry, const char *path, char real[PATH_MAX]);

/* Something is wrong with a manifest, but not at a place in its text. */
void vy_manifest_dirs_report(vy_manifest_dirs *folders, const char *shown, vy_diag_code code, const vyre_error *error,
                             vyre_diagnostics *list);

/* Looks into every folder and reads what is new or different, but for what is held. What is wrong with a manifest is in the list and in `first`, not in the status. *changed counts entries that
 * are not as they were.
 *
 * VYRE_NO_MEMORY  what was not read will be the next time */
vyre_status vy_manifest_dirs_scan(vy_manifest_dirs *folders, vyre_diagnostics *list, size_t *changed,
                                  vyre_error *error);
/* The same for the entries that are there, without looking for others. */
vyre_status vy_manifest_dirs_read(vy_manifest_dirs *folders, vyre_diagnostics *list, size_t *changed,
                                  vyre_error *error);

/* The batch for what was scanned, one item for each entry in order; NULL when memory is out. Free with vy_release. */
vy_load_item *vy_manifest_dirs_batch(const vy_manifest_dirs *folders);
/* Takes note of what the batch did. Frees it. */
void vy_manifest_dirs_commit(vy_manifest_dirs *folders, vy_load_item *items, int was_installed);

/* What was read and not settled is read again by the next scan. */
void vy_manifest_dirs_discard_uncommitted(vy_manifest_dirs *folders);

/* "<absolute path of the folder>/<name>" of a path whose folder is there; else the path made absolute. Free with vy_path_free. */
vyre_status vy_path_absolute(const char *path, char **out, vyre_error *error);
void vy_path_free(char *path);

#endif
