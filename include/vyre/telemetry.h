/* Telemetry: counters of the process, a trace file with a span for every stage of a dispatch, and a log sink. The
 * library never prints. docs/telemetry.md is the guide.
 *
 * Threads:  any thread, concurrently. */
#ifndef VYRE_TELEMETRY_H
#define VYRE_TELEMETRY_H

#include "vyre/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counters of the process. X(name, kind, doc). kind: a counter only increases; a gauge may also decrease. */
#define VYRE_COUNTER_LIST(X)                                                                                           \
    X(dispatches, counter, "dispatches that reached a backend")                                                        \
    X(dispatch_failures, counter, "dispatches that ended with an error")                                               \
    X(input_bytes, counter, "bytes given to backends")                                                                 \
    X(output_bytes, counter, "bytes delivered to callers")                                                             \
    X(slots_reused, counter, "output slots refilled in place")                                                         \
    X(slots_moved, counter, "output slots replaced by moving memory")                                                  \
    X(slots_appended, counter, "output slots made new")                                                                \
    X(resident_allocations, counter, "resident buffers allocated")                                                     \
    X(resident_bytes, gauge, "resident bytes allocated now")                                                           \
    X(upload_bytes, counter, "bytes uploaded to resident buffers")                                                     \
    X(download_bytes, counter, "bytes downloaded from resident buffers")                                               \
    X(traps, counter, "dispatches that trapped")                                                                       \
    X(timeouts, counter, "dispatches that passed their deadline")                                                      \
    X(device_losses, counter, "devices lost")                                                                          \
    X(violations, counter, "answers of backends that broke the contract and were contained")                           \
    X(splits, counter, "programs split at their grid barriers")                                                        \
    X(split_launches, counter, "launches of the parts of split programs")                                              \
    X(compiles, counter, "programs compiled by backends")                                                              \
    X(cache_hits, counter, "compiled programs found in a cache")                                                       \
    X(cache_misses, counter, "compiled programs looked for in a cache and not found")                                  \
    X(cancellations, counter, "dispatches that were cancelled")                                                        \
    X(async_dispatches, counter, "dispatches that were handed over to run on their own")                               \
    X(pending, gauge, "dispatches handed over and not ended now")                                                      \
    X(grid_syncs, counter, "dispatches whose grid barriers ran inside one launch that was found to be small enough")   \
    X(passes, counter, "passes of the optimiser and of legalisation that ran")

typedef struct vyre_counters {
#define X(name, kind, doc) uint64_t name;
    VYRE_COUNTER_LIST(X)
#undef X
} vyre_counters;

/* Copies the first `size` bytes of the counters. Each counter is exact, but they are not read at a single instant.
 * Counters are only appended to the struct; counters that the library does not have are 0. Does not block. */
VYRE_API void vyre_counters_read(vyre_counters *out, size_t size);
/* Copies all counters of this header. */
static inline void vyre_counters_get(vyre_counters *out) {
    vyre_counters_read(out, sizeof *out);
}

/* Renders the counters in the Prometheus text exposition format, with names vyre_….
 *
 * VYRE_NO_MEMORY  out of host memory */
VYRE_API vyre_status vyre_counters_prometheus(vyre_bytes *out, vyre_error *error);

/* Starts a trace: the duration of each stage of each dispatch, on each thread, as Trace Event JSON, which
 * https://ui.perfetto.dev and chrome://tracing open. A trace can also be started with the environment variable
 * VYRE_TRACE=path: at the first span of the process, unless this function was called before; set-user-id programs
 * ignore it.
 *
 * path  An existing file is replaced.
 *
 * Durability:  the file is complete JSON after every outermost span, also if the process is killed. If the disk is full
 *              the trace ends, with one line for the log sink; no dispatch fails.
 * Fork:        a child process does not write to its parent's file.
 *
 * VYRE_CONFLICT          a trace is being written already, or another process writes this file
 * VYRE_INVALID_ARGUMENT  the path is empty
 * VYRE_NOT_FOUND         the folder does not exist
 * VYRE_IO                the file cannot be opened or written
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_trace_start(const char *path, vyre_error *error);

/* Ends the trace and closes its file. Spans that have not ended are omitted. VYRE_OK also if no trace is being written.
 *
 * VYRE_IO  the file could not be written completely; it contains the earlier spans */
VYRE_API vyre_status vyre_trace_stop(vyre_error *error);

/* Receives log lines of the library and of backends. Called from any thread, concurrently.
 *
 * level  0 error, 1 warning, 2 info, 3 debug. */
typedef void vyre_log_sink(void *user, int level, const char *source, const char *message);

/* Sets the log sink; NULL, the default, turns logging off. A concurrent line of another thread may still reach the
 * previous sink. */
VYRE_API void vyre_log_set_sink(vyre_log_sink *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
