/* Clocks, and the deadline of the calling thread's work.
 *
 * A compile with a deadline opens a deadline scope on its thread. Passes check the deadline between each other and in
 * long loops. The deadline is thread-local so that the functions of the optimiser need not pass it on. A thread started
 * within a scope has no deadline. */
#ifndef VY_BASE_CLOCK_H
#define VY_BASE_CLOCK_H

#include "vyre/base.h"

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t vy_clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_REALTIME in nanoseconds since 1970, for comparison with file times. May jump. */
static inline int64_t vy_clock_wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Converts a vy_clock_now() time for pthread_cond_timedwait() (vy_cond_init_monotonic() in base/thread.h). */
static inline struct timespec vy_clock_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

typedef struct vy_deadline_scope {
    uint64_t deadline_ns, begun_ns;
} vy_deadline_scope;

/* Opens a scope: the deadline of this thread becomes the earlier of deadline_ns (CLOCK_MONOTONIC, 0 = none) and its
 * present deadline. Returns the outer scope, which vy_deadline_end restores. */
vy_deadline_scope vy_deadline_begin(uint64_t deadline_ns);
void vy_deadline_end(vy_deadline_scope before);

/* The deadline of this thread; 0 if it has none. */
uint64_t vy_deadline(void);

/* VYRE_TIMEOUT if the deadline has passed. The error names the program, the next step and the time since the scope was
 * opened. Costs 30 ns with a deadline. */
vyre_status vy_deadline_check(const char *program, const char *step, vyre_error *error);

#endif
