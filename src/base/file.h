/* File access (whole reads, atomic writes, path resolution one component at a time) and environment variables. */
#ifndef VY_BASE_FILE_H
#define VY_BASE_FILE_H

#include "vyre/base.h"

#include <limits.h>
#include <sys/stat.h>

/* Reads a whole file, or standard input for "-", into out. VYRE_LIMIT if it is larger than `limit` bytes. */
vyre_status vy_file_read(const char *path, size_t limit, vyre_bytes *out, vyre_error *error);
/* The same for a regular file. Anything else fails with VYRE_IO and is never waited for, even if it replaced the file a
 * moment ago: opening a pipe could block forever. */
vyre_status vy_file_read_plain(const char *path, size_t limit, vyre_bytes *out, vyre_error *error);
/* The same for a regular file below a folder, by its relative path; `shown` is its name in messages. Symbolic links are
 * followed if they stay in the folder; an absolute link has to name the folder by its real path. No entry outside the
 * folder is opened or examined, even if another process changes links meanwhile.
 *
 * VYRE_INVALID_ARGUMENT  a link leads out of the folder */
vyre_status vy_file_read_beneath(const char *folder, const char *name, const char *shown, size_t limit, vyre_bytes *out,
                                 vyre_error *error);
/* Replaces the file atomically: writes a temporary file in the same folder, then renames it. "-" is standard output. */
vyre_status vy_file_write(const char *path, const void *data, size_t size, vyre_error *error);
/* Checks that vy_file_write can write there now, without changing the file: creates the temporary file and removes it.
 * Fails as vy_file_write does. A device or pipe is not opened. */
vyre_status vy_file_check_write(const char *path, vyre_error *error);

/* Path walk: resolves an absolute path with openat(), one component and one symbolic link at a time, so that the caller
 * can check each component before the walk passes through it. Entries are looked up in open folders: if another process
 * replaces a component during the walk, the walk sees either the old or the new one, and uses the one that the caller
 * checked.
 *
 *   for (number = vy_path_walk_begin(&walk, path); !number && walk.parent < 0 && vy_path_walk_next(&walk);)
 *       if (!(number = vy_path_walk_open(&walk, &opened)))
 *           number = vy_path_walk_enter(&walk, opened);
 *   … vy_path_walk_end(&walk);
 *
 * The functions return 0 or an errno value, except vy_path_walk_next. They allocate nothing. At most three descriptors
 * are open. */
typedef struct vy_path_walk {
    int at;                      /* the file or folder reached, opened with O_PATH */
    int parent;                  /* the folder of `at` if that is not a folder, which ends the walk; else -1 */
    struct stat metadata;        /* of the component that was opened last, or of `at` after a link */
    char current_path[PATH_MAX]; /* the path of `metadata`, without symbolic links; "" for the root */
    char name[PATH_MAX];         /* the current component */
    char rest[PATH_MAX];         /* the components that follow */
    unsigned links;              /* followed so far */
} vy_path_walk;

/* Opens the root. vy_path_walk_end has to be called even if this fails. */
int vy_path_walk_begin(vy_path_walk *walk, const char *path);
/* Moves the next component to `name` and returns 1; returns 0 at the end of the path. "." is skipped. */
int vy_path_walk_next(vy_path_walk *walk);
/* Opens `name` with O_PATH, without following a link, and sets `metadata` and `current_path`. The caller passes *opened
 * to vy_path_walk_enter, or closes it. */
int vy_path_walk_open(vy_path_walk *walk, int *opened);
/* Continues at the opened component: at the target of a link, in a folder, or at a file. Owns `opened`. */
int vy_path_walk_enter(vy_path_walk *walk, int opened);
/* Opens the result of the walk for reading, without blocking, if it is a folder or a regular file; else *file is -1.
 * ESTALE: the entry was replaced meanwhile. */
int vy_path_walk_read(const vy_path_walk *walk, int *file);
void vy_path_walk_end(vy_path_walk *walk);

/* Environment variables VYRE_…. An empty variable counts as unset. A setuid or otherwise privileged process ignores all
 * of them (secure_getenv). Any thread, if no thread changes the environment meanwhile. */
/* NULL if unset; else not empty. */
const char *vy_env_get(const char *variable);

/* 0 for `0`, 1 for any other value, `fallback` if unset. */
int vy_env_flag(const char *variable, int fallback);

/* A decimal number without sign and spaces, or `fallback` if unset.
 *
 * VYRE_INVALID_ARGUMENT  not a number, or outside [min, max]: *out is unset */
vyre_status vy_env_number(const char *variable, uint32_t min, uint32_t max, uint32_t fallback, uint32_t *out,
                          vyre_error *error);

#endif
