/* Set of live native values of a fake backend, for tests in which threads free buffers that others use. Has a separate
 * lock. */
#ifndef VY_TESTS_DRIVER_LIVE_H
#define VY_TESTS_DRIVER_LIVE_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { LIVE = 4096 };

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live[LIVE];

/* Replaces a value: 0 is a free slot, and replacing a value by itself tests whether it is live. Returns 0 if it was not
 * found. */
static inline int live_set(uint64_t from, uint64_t to) {
    int i = 0;
    pthread_mutex_lock(&live_lock);
    while (i < LIVE && live[i] != from)
        i++;
    if (i < LIVE)
        live[i] = to;
    pthread_mutex_unlock(&live_lock);
    return i < LIVE;
}

static inline void live_forget(void) {
    pthread_mutex_lock(&live_lock);
    memset(live, 0, sizeof live);
    pthread_mutex_unlock(&live_lock);
}

#endif
