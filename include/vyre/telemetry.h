/* Telemetry: counters that every dispatch bumps, a trace file with a span for every stage, and a log sink. The library
 * never prints. docs/telemetry.md shows how to use them. */
#ifndef VYRE_TELEMETRY_H
#define VYRE_TELEMETRY_H

#include "vyre/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, kind, doc). Counters of the process, bumped in the boundary. kind: counter, or gauge for what also falls. */
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
    X(grid_syncs, counter, "dispatches whose grid barriers ran inside one launch that was found to be small enough")

typedef struct vyre_counters {
#define X(name, kind, doc) uint64_t name;
    VYRE_COUNTER_LIST(X)
#undef X
} vyre_counters;

/* A consistent-enough copy of the first `size` bytes: each counter is exact, the set is not one instant. Any thread. Counters are added at the end;
 * a library that knows fewer than the caller leaves the rest 0. */
VYRE_API void vyre_counters_read(vyre_counters *out, size_t size);
/* All that this header names. */
static inline void vyre_counters_get(vyre_counters *out) {
    vyre_counters_read(out, sizeof *out);
}
/* Prometheus text exposition format, names vyre_… */
VYRE_API vyre_status vyre_counters_prometheus(vyre_bytes *out, vyre_error *error);

/* Starts to write a trace: what each stage of each dispatch took, on each thread, as Trace Event JSON, which
 * https://ui.perfetto.dev and chrome://tracing open. A file at the path is replaced. The environment variable VYRE_TRACE=path starts one
 * at the first span of the process unless this function was called before.
 *
 * The file is complete JSON after every outermost span, so that a process that ends without vyre_trace_stop, or is killed, leaves one that
 * opens. A process that is forked does not write to its parent's file. If the disk fills, the trace ends there with one line for the
 * log sink; no dispatch fails for it. Any thread.
 *
 * VYRE_CONFLICT   a trace is being written.
 * VYRE_NOT_FOUND, VYRE_IO, VYRE_NO_MEMORY  nothing is traced. */
VYRE_API vyre_status vyre_trace_start(const char *path, vyre_error *error);
/* Ends the trace and closes its file. Spans that have not ended are left out. VYRE_OK also if none is being written.
 *
 * VYRE_IO  the file could not be written to its end: it holds what came before. */
VYRE_API vyre_status vyre_trace_stop(vyre_error *error);

/* Receives log lines of the library and of backends: from any thread, several at once. level: 0 error, 1 warning, 2 info, 3 debug. */
typedef void vyre_log_sink(void *user, int level, const char *source, const char *message);
/* NULL turns it off (the default). A line under way on another thread may still reach the sink that was set before. */
VYRE_API void vyre_log_set_sink(vyre_log_sink *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
