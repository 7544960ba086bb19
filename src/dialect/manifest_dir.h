/* Manifest directories: the manifests that they contain, compared with those of the previous scan. */
#ifndef VY_DIALECT_MANIFEST_DIR_H
#define VY_DIALECT_MANIFEST_DIR_H

#include "base/memory.h"
#include "dialect/load.h"
#include "ir/diagnostic_codes.h"

#include <limits.h>

enum { VY_MANIFEST_DIRS_LIMIT_MANIFESTS = 4096 /* in all folders together */ };

/* Digest of the bytes of a file, or the reason why it could not be read. */
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

/* State of a manifest whose files may be half-written (watch.h). Times are CLOCK_MONOTONIC in milliseconds. */
typedef struct vy_quiesce_state {
    int is_deferred; /* set by the latest scan: a file may be half-written, so the previous version stays in force */
    int64_t since, same;   /* first found unstable; first found with the present content; 0 if stable */
    int64_t until;         /* when it must be checked again */
    uint64_t content_hash; /* of the files that were found */
} vy_quiesce_state;

/* One manifest, by its path. */
typedef struct vy_manifest_entry {
    char *path;                    /* absolute; the owner of its dialect */
    char *shown;                   /* name in diagnostics: as the user gave it */
    vy_manifest *installed, *next; /* the registered one; the one that was read and not registered yet; or NULL */
    vy_file_state state;
    VY_VECTOR(vy_file_input) inputs;
    int is_present, is_known; /* found by the latest scan; `state` and `inputs` are valid */
    int is_gone;        /* also absent in an earlier scan, but still in force because other manifests require it */
    int is_uncommitted; /* read or removed, and not committed since */
    vy_quiesce_state write_quiesce;
} vy_manifest_entry;

typedef struct vy_manifest_dir {
    char *path, *shown;
} vy_manifest_dir;

typedef struct vy_manifest_dirs {
    VY_VECTOR(vy_manifest_dir) roots;
    VY_VECTOR(vy_manifest_entry) entries; /* by path */
    vyre_error first;                     /* of the latest scan; code VYRE_OK if it had no errors */
} vy_manifest_dirs;

/* Adds a folder; does nothing if it was added before. */
vyre_status vy_manifest_dirs_add(vy_manifest_dirs *folders, const char *path, vyre_error *error);
/* Adds the folders of VYRE_DIALECT_PATH. */
vyre_status vy_manifest_dirs_add_path(vy_manifest_dirs *folders, vyre_error *error);
/* Adds a warning for each folder that does not exist, or is not a folder. */
void vy_manifest_dirs_warn_missing(const vy_manifest_dirs *folders, vyre_diagnostics *list);
/* Adds one manifest, in any folder. */
vyre_status vy_manifest_dirs_add_file(vy_manifest_dirs *folders, const char *path, vyre_error *error);
void vy_manifest_dirs_free(vy_manifest_dirs *folders);
/* Discards the parsed manifest; the next scan reads it again. The paths of its files are kept. */
void vy_manifest_entry_discard(vy_manifest_entry *entry);
/* Writes the path of a file that it names; returns 0 if it is too long. */
int vy_manifest_entry_input_path(const vy_manifest_entry *entry, uint32_t index, char path[PATH_MAX]);

/* Resolves the symbolic links of the manifest or of a file that it names. Returns 0 if the target does not exist or is
 * outside the folder of the manifest; such a target is neither read nor watched. */
int vy_manifest_entry_resolve(const vy_manifest_entry *entry, const char *path, char real[PATH_MAX]);

/* Reports an error of a manifest that has no position in its text. */
void vy_manifest_dirs_report(vy_manifest_dirs *folders, const char *shown, vy_diag_code code, const vyre_error *error,
                             vyre_diagnostics *list);

/* Lists every folder and reads new and changed manifests, except deferred ones. Errors of a manifest are in
 * the list and in `first`, not in the status. *changed counts the entries that changed.
 *
 * VYRE_NO_MEMORY  the next scan reads the rest */
vyre_status vy_manifest_dirs_scan(vy_manifest_dirs *folders, vyre_diagnostics *list, size_t *changed,
                                  vyre_error *error);
/* The same for the known entries, without listing the folders. */
vyre_status vy_manifest_dirs_read(vy_manifest_dirs *folders, vyre_diagnostics *list, size_t *changed,
                                  vyre_error *error);

/* Makes the batch of the scan: one item per entry, in order; NULL if memory is exhausted. Free with vy_release. */
vy_load_item *vy_manifest_dirs_batch(const vy_manifest_dirs *folders);
/* Records the results of the batch and frees it. */
void vy_manifest_dirs_commit(vy_manifest_dirs *folders, vy_load_item *items, int was_installed);

/* Makes the next scan read entries again that were read and not committed. */
void vy_manifest_dirs_discard_uncommitted(vy_manifest_dirs *folders);

/* "<absolute path of the folder>/<name>" if the folder exists; else the path made absolute. Free with vy_path_free. */
vyre_status vy_path_absolute(const char *path, char **out, vyre_error *error);
void vy_path_free(char *path);

#endif
