/* File watcher, internals: inotify events of manifest directories, and write quiescence. Use from one thread at a
 * time. */
#ifndef VY_DIALECT_WATCH_H
#define VY_DIALECT_WATCH_H

#include "dialect/manifest_dir.h"

typedef struct vy_inotify_watch {
    int number;
    int is_wanted;
    char *path;
    char *only; /* the only relevant name in the folder; NULL: every name */
} vy_inotify_watch;

/* Recent events of one file, or those since it was opened for writing. */
typedef struct vy_inotify_trace {
    int number; /* of the watch */
    uint64_t name;
    int is_open;     /* written to, and not closed since */
    int is_modified; /* since vy_inotify_begin_scan: the bytes read may be incomplete */
    int64_t whole;   /* time when it was closed or moved here; 0: not since it was created or written to */
    int64_t at;      /* time of the latest event; both are CLOCK_REALTIME in nanoseconds, like file times */
} vy_inotify_trace;

typedef struct vy_inotify {
    int file;          /* to poll; -1: inotify is unavailable */
    int is_incomplete; /* not everything could be watched: scans must also poll */
    VY_VECTOR(vy_inotify_watch) watches;
    VY_VECTOR(vy_inotify_trace) traces;
    uint32_t moved; /* the cookie of the latest file that was moved away while it was open; 0 if none was */
} vy_inotify;

/* If inotify is unavailable, `file` is -1. */
void vy_inotify_open(vy_inotify *notify);
void vy_inotify_close(vy_inotify *notify);
/* Watches the folders, the folders of all files of manifests, and for a folder that does not exist its nearest
 * ancestor. *added is set if any watch is new: earlier events of that folder were not received. */
void vy_inotify_add_watches(vy_inotify *notify, const vy_manifest_dirs *folders, int *added);
/* Processes all queued events without blocking. Returns whether any may matter. */
int vy_inotify_drain(vy_inotify *notify);
/* Starts a scan: processes the earlier events, and clears is_modified of all files. */
void vy_inotify_begin_scan(vy_inotify *notify);

/* ---- write quiescence: deferring manifests that may be half-written, since half a manifest may be valid ---- */

enum { VY_QUIESCE_LIMIT_MS = 10000 /* maximum deferral, for a writer that does not stop */ };

/* Parameters of a scan. */
typedef struct vy_quiesce_options {
    const vy_inotify *notify;
    int64_t now;      /* CLOCK_MONOTONIC in milliseconds */
    int64_t quiesce;  /* period in milliseconds that a file must be unchanged if it was not reported complete */
    int trusts_mtime; /* the modification time counts, too: it comes from the clock of this machine */
} vy_quiesce_options;

/* Starts a scan: no entry is deferred. */
void vy_quiesce_begin(vy_manifest_dirs *folders);
/* Defers scanned entries that may be half-written: the parsed manifest is discarded, and scans skip the entry until the
 * next vy_quiesce_begin. An entry that was deferred for too long is not deferred again, which is reported. Call
 * vy_inotify_drain between the scan and this. Returns the number of newly deferred entries. */
size_t vy_quiesce_defer_unstable(vy_manifest_dirs *folders, const vy_quiesce_options *terms, vyre_diagnostics *list);
/* Returns the time of the next scan because of deferred entries; -1 if there are none. */
int64_t vy_quiesce_next_deadline(const vy_manifest_dirs *folders);
/* Ends a scan: entries that are not deferred are stable. */
void vy_quiesce_end(vy_manifest_dirs *folders);

#endif
