/* Holding back manifests that may be half written: half a manifest may be a manifest. */
#ifndef VY_DIALECT_WRITE_QUIESCE_H
#define VY_DIALECT_WRITE_QUIESCE_H

#include "dialect/inotify.h"

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
