/* Being told of changes in folders of manifests: inotify, and what its events mean here. One thread at a time. */
#ifndef VY_DIALECT_NOTIFY_H
#define VY_DIALECT_NOTIFY_H

#include "dialect/folder.h"

typedef struct vy_notify_watch {
    int number;
    int is_wanted;
    char *path;
    char *only; /* the one name in it that matters; NULL: every name */
} vy_notify_watch;

/* What was told of a file, lately or since it was opened. */
typedef struct vy_notify_trace {
    int number; /* of the watch */
    uint64_t name;
    int is_open;    /* written to, and not closed since */
    int is_touched; /* since vy_notify_begin: what was read of it may be half of it */
    int64_t whole;  /* when it was told to be whole: closed, or moved here; 0: not since it was made or written to */
    int64_t at;     /* when anything was told; both are CLOCK_REALTIME in nanoseconds, as the times of files are */
} vy_notify_trace;

typedef struct vy_notify {
    int file;     /* to wait for; -1: nobody tells */
    int is_blind; /* not everything could be watched: look from time to time, too */
    VY_VECTOR(vy_notify_watch) watches;
    VY_VECTOR(vy_notify_trace) traces;
    uint32_t moved; /* the cookie of the latest file that was moved away while it was open; 0 if none was */
} vy_notify;

/* Without inotify `file` is -1. */
void vy_notify_open(vy_notify *notify);
void vy_notify_close(vy_notify *notify);
/* Watches the folders, the folders of every file they lead to, and what is nearest above a folder that is not there. *added says whether any is new: what happened in it
 * before was not told. */
void vy_notify_cover(vy_notify *notify, const vy_folders *folders, int *added);
/* Gives up the watches that the latest vy_notify_cover had no use for, and what was told there. */
void vy_notify_trim(vy_notify *notify);
/* Takes all events there are; does not wait. Whether there was any that may matter. */
int vy_notify_take(vy_notify *notify);
/* Files are read from now on: takes the events of before. */
void vy_notify_begin(vy_notify *notify);
/* What was told of the file that has this absolute path, whose folder is watched; NULL if nothing was. */
const vy_notify_trace *vy_notify_trace_of(const vy_notify *notify, const char *path);

#endif
