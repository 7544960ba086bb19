/* Holding back manifests that may be half written: half a manifest may be a manifest. */
#ifndef VY_DIALECT_HOLD_H
#define VY_DIALECT_HOLD_H

#include "dialect/notify.h"

enum { VY_HOLD_LIMIT_MS = 10000 /* at most, for somebody who does not stop writing */ };

/* When a look is, and what it asks of files. */
typedef struct vy_hold_terms {
    const vy_notify *notify;
    int64_t now;    /* CLOCK_MONOTONIC in milliseconds */
    int64_t settle; /* for so many milliseconds a file stays as it is, if nobody told that it is whole */
    int is_timed;   /* its own time tells that, too: the clock it is from is ours */
} vy_hold_terms;

/* A look begins: everything is read. */
void vy_hold_begin(vy_folders *folders);
/* Of what was scanned, holds back what may be half of something: it is as if it had not been read, and scans pass over it until the next look. What was
 * held for too long is not, which is reported. Events are to be taken between the scan and this. How many entries are held that were not before. */
size_t vy_hold_scanned(vy_folders *folders, const vy_hold_terms *terms, vyre_diagnostics *list);
/* When to look again because of what is held; -1 if nothing is. */
int64_t vy_hold_next(const vy_folders *folders);
/* A look has ended, and what is not held is settled. */
void vy_hold_end(vy_folders *folders);

#endif
