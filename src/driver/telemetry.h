/* Telemetry: process-wide counters and trace spans (vyre/telemetry.h). */
#ifndef VY_DRIVER_TELEMETRY_H
#define VY_DRIVER_TELEMETRY_H

#include "vyre/telemetry.h"

#include <stdatomic.h>

/* ---- counters ---- */

typedef enum vy_counter {
#define X(name, kind, doc) VY_COUNTER_##name,
    VYRE_COUNTER_LIST(X)
#undef X
        VY_COUNTER_COUNT
} vy_counter;

/* The counters that belong to the calling thread, or NULL; and the function for threads without, or before the first
 * use. Only vy_count uses them. */
extern _Thread_local _Atomic uint64_t *vy_counters_own;
void vy_count_shared(vy_counter counter, uint64_t amount);

/* Adds to a counter. A gauge is decremented by adding the two's complement. Any thread, does not block. */
static inline void vy_count(vy_counter counter, uint64_t amount) {
    _Atomic uint64_t *own = vy_counters_own;
    if (__builtin_expect(own != NULL, 1))
        atomic_store_explicit(&own[counter], atomic_load_explicit(&own[counter], memory_order_relaxed) + amount,
                              memory_order_relaxed);
    else
        vy_count_shared(counter, amount);
}

/* ---- spans ---- */

/* Spans: where the time of a call goes (vyre_trace_start, vyre/telemetry.h).
 *
 *   vy_span span = vy_span_begin();
 *   status = …;
 *   vy_span_end(span, upload, .backend = backend->id, .bytes = size, .status = status);
 *
 * A span begins and ends on one thread, and the spans of a thread nest. While nothing is traced, a span costs one
 * relaxed load and two branches, and its attributes are not evaluated. A span never allocates or fails, and waits for
 * the file only. */

/* X(name, doc): the kinds of spans. */
#define VY_SPAN_LIST(X)                                                                                                \
    X(resolve, "matching arguments to the program: counts, sizes, grid, limits")                                       \
    X(prepare, "preparing the backend for a program")                                                                  \
    X(compile, "compiling a program for the device")                                                                   \
    X(load, "loading a compiled program onto the device")                                                              \
    X(split, "splitting a program at its grid barriers")                                                               \
    X(dispatch, "a whole dispatch, from the call to its return")                                                       \
    X(launch, "the call of the backend")                                                                               \
    X(upload, "copying bytes into a resident buffer")                                                                  \
    X(download, "copying bytes out of a resident buffer")                                                              \
    X(wait, "waiting for the device, another thread or a pending dispatch")                                            \
    X(readback, "copying results from the device to the host")                                                         \
    X(deliver, "moving checked results into the caller's storage")                                                     \
    X(cache, "looking up or storing a compiled program")

typedef enum vy_span_kind {
#define X(name, doc) VY_SPAN_##name,
    VY_SPAN_LIST(X)
#undef X
        VY_SPAN_COUNT
} vy_span_kind;

typedef struct vy_span {
    uint64_t start; /* nanoseconds of CLOCK_MONOTONIC; 0: nothing is traced */
    uint32_t depth; /* 1 for an outermost span of its thread */
} vy_span;

/* Attributes of a span. All are optional: NULL, 0 and VYRE_OK are omitted. Texts are untrusted and truncated. */
typedef struct vy_span_attributes {
    vy_span span;
    const char *label;   /* of the caller */
    const char *program; /* its name */
    const char *backend;
    uint64_t bytes;
    uint64_t count; /* number of launches, ranges, … */
    vyre_status status;
} vy_span_attributes;

enum { VY_TRACE_UNKNOWN, VY_TRACE_OFF, VY_TRACE_ON };
extern _Atomic int vy_trace_state;

/* Slow paths of vy_span_begin and vy_span_end; called only by them. */
vy_span vy_trace_begin(void);
void vy_trace_end(vy_span_kind stage, const vy_span_attributes *facts);

static inline vy_span vy_span_begin(void) {
    if (__builtin_expect(atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_OFF, 1))
        return (vy_span){0, 0};
    return vy_trace_begin();
}

/* The attributes are written as designated initialisers. */
#define vy_span_end(given, stage, ...)                                                                                 \
    do {                                                                                                               \
        vy_span vy_span_ended = (given);                                                                               \
        if (__builtin_expect(vy_span_ended.start != 0, 0))                                                             \
            vy_trace_end(VY_SPAN_##stage, &(vy_span_attributes){.span = vy_span_ended, __VA_ARGS__});                  \
    } while (0)

#endif
