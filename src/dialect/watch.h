/* Being told of changes in folders of manifests: inotify, and what its events mean here. One thread at a time. */
#ifndef VY_DIALECT_WATCH_H
#define VY_DIALECT_WATCH_H

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
/* Takes all events there are; does not wait. Whether there was any that may matter. */
int vy_inotify_drain(vy_inotify *notify);
/* Files are read from now on: takes the events of before. */
void vy_inotify_begin_scan(vy_inotify *notify);

/* ---- Holding back manifests that may be half written: half a manifest may be a manifest. ---- */

enum { VY_QUIESCE_LIMIT_MS = 10000 /* at most, for somebody who does not stop writing */ };

/* When a look is, and what it asks of files. */
typedef struct vy_quiesce_options {
    const vy_inotify *notify;
    int64_t now;      /* CLOCK_MONOTONIC in milliseconds */
    int64_t quiesce;  /* for so many milliseconds a file stays as it is, if nobody told that it is whole */
    int trusts_mtime; /* its own time tells that, too: the clock it is from is ours */
} vy_quiesce_options;

/* A look begins: everything is read. */
void vy_quiesce_begin(vy_manifest_dirs *folders);
/* Of what was scanned, holds back what may be half of something: it is as if it had not been read, and scans pass over it until the next look. What was
 * held for too long is not, which is reported. Events are to be taken between the scan and this. How many entries are held that were not before. */
size_t vy_quiesce_defer_unstable(vy_manifest_dirs *folders, const vy_quiesce_options *terms, vyre_diagnostics *list);
/* When to look again because of what is held; -1 if nothing is. */
int64_t vy_quiesce_next_deadline(const vy_manifest_dirs *folders);
/* A look has ended, and what is not held is settled. */
void vy_quiesce_end(vy_manifest_dirs *folders);

#endif
