/* The clock that deadlines and measurements use. */
#ifndef VY_BASE_CLOCK_H
#define VY_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t vy_clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_REALTIME in nanoseconds since 1970: what the times of files are compared with. It may jump. */
static inline int64_t vy_clock_wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The same time as what pthread_cond_timedwait() takes (vy_cond_init_monotonic() in base/thread.h). */
static inline struct timespec vy_clock_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

#endif
