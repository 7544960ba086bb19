/* Being told of changes in folders of manifests: inotify, and what its events mean here. One thread at a time. */
#ifndef VY_DIALECT_INOTIFY_H
#define VY_DIALECT_INOTIFY_H

#include "dialect/manifest_dir.h"

typedef struct vy_inotify_watch {
    int number;
    int is_wanted;
    char *path;
    char *only; /* the one name in it that matters; NULL: every name */
} vy_inotify_watch;

/* What was told of a file, lately or since it was opened. */
typedef struct vy_inotify_trace {
    int number; /* of the watch */
    uint64_t name;
    int is_open;     /* written to, and not closed since */
    int is_modified; /* since vy_inotify_begin_scan: what was read of it may be half of it */
    int64_t whole;   /* when it was told to be whole: closed, or moved here; 0: not since it was made or written to */
    int64_t at;      /* when anything was told; both are CLOCK_REALTIME in nanoseconds, as the times of files are */
} vy_inotify_trace;

typedef struct vy_inotify {
    int file;          /* to wait for; -1: nobody tells */
    int is_incomplete; /* not everything could be watched: look from time to time, too */
    VY_VECTOR(vy_inotify_watch) watches;
    VY_VECTOR(vy_inotify_trace) traces;
    uint32_t moved; /* the cookie of the latest file that was moved away while it was open; 0 if none was */
} vy_inotify;

/* Without inotify `file` is -1. */
void vy_inotify_open(vy_inotify *notify);
void vy_inotify_close(vy_inotify *notify);
/* Watches the folders, the folders of every file they lead to, and what is nearest above a folder that is not there. *added says whether any is new: what happened in it
 * before was not told. */
void vy_inotify_add_watches(vy_inotify *notify, const vy_manifest_dirs *folders, int *added);
/* Gives up the watches that the latest vy_inotify_add_watches had no use for, and what was told there. */
void vy_inotify_prune_watches(vy_inotify *notify);
/* Takes all events there are; does not wait. Whether there was any that may matter. */
int vy_inotify_drain(vy_inotify *notify);
/* Files are read from now on: takes the events of before. */
void vy_inotify_begin_scan(vy_inotify *notify);
/* What was told of the file that has this absolute path, whose folder is watched; NULL if nothing was. */
const vy_inotify_trace *vy_inotify_find_trace(const vy_inotify *notify, const char *path);

#endif
