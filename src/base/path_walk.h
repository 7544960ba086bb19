/* Path walk: resolves an absolute path with openat(), one component and one symbolic link at a time, so that the caller
 * can judge each component before the walk passes through it.
 *
 * Entries are looked up in open folders: if another process replaces a component during the walk, the walk sees either
 * the old or the new one, and what the caller judged is what the walk used.
 *
 *   for (number = vy_path_walk_begin(&walk, path); !number && walk.parent < 0 && vy_path_walk_next(&walk);)
 *       if (!(number = vy_path_walk_open(&walk, &opened)))
 *           number = vy_path_walk_enter(&walk, opened);
 *   … vy_path_walk_end(&walk);
 *
 * Functions that return `int` return 0 or an errno value, unless they say otherwise. Nothing is allocated; at most three
 * descriptors are open. */
#ifndef VY_BASE_PATH_WALK_H
#define VY_BASE_PATH_WALK_H

#include <limits.h>
#include <sys/stat.h>

typedef struct vy_path_walk {
    int at;                      /* what was reached, opened with O_PATH */
    int parent;                  /* its folder if it is no folder itself, which ends the walk; else -1 */
    struct stat metadata;        /* of the component that was opened last, or of `at` after a link */
    char current_path[PATH_MAX]; /* the path of `metadata`, without symbolic links; "" for the root */
    char name[PATH_MAX];         /* the component that was taken last */
    char rest[PATH_MAX];         /* the components that follow */
    unsigned links;              /* followed so far */
} vy_path_walk;

/* Opens the root. Whatever it returns, vy_path_walk_end has to be called. */
int vy_path_walk_begin(vy_path_walk *walk, const char *path);
/* Moves the next component to `name`; returns 0 if there is none. "." is skipped. */
int vy_path_walk_next(vy_path_walk *walk);
/* Opens `name` with O_PATH, without following a link; fills `metadata` and `current_path`. vy_path_walk_enter takes *opened over,
 * else the caller closes it. */
int vy_path_walk_open(vy_path_walk *walk, int *opened);
/* Goes on at the component that was opened: to the target of a link, into a folder, or to a file. */
int vy_path_walk_enter(vy_path_walk *walk, int opened);
/* Opens what was reached for reading, without blocking, if it is a folder or a regular file; else *file is -1. ESTALE: it
 * was replaced meanwhile. */
int vy_path_walk_read(const vy_path_walk *walk, int *file);
void vy_path_walk_end(vy_path_walk *walk);

#endif
