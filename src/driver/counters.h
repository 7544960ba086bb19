/* Bumping counters and logging (vyre/telemetry.h). */
#ifndef VY_DRIVER_COUNTERS_H
#define VY_DRIVER_COUNTERS_H

#include "vyre/telemetry.h"

#include <stdatomic.h>

typedef enum vy_counter {
#define X(name, kind, doc) VY_COUNTER_##name,
    VYRE_COUNTER_LIST(X)
#undef X
        VY_COUNTER_COUNT
} vy_counter;

/* The values that the calling thread has to itself, or NULL; and the way of those that have none, or do not know yet. By way of vy_count only. */
extern _Thread_local _Atomic uint64_t *vy_counters_own;
void vy_count_shared(vy_counter counter, uint64_t amount);

/* Adds; a gauge falls by adding the two's complement. Any thread, does not block. */
static inline void vy_count(vy_counter counter, uint64_t amount) {
    _Atomic uint64_t *own = vy_counters_own;
    if (__builtin_expect(own != NULL, 1))
        atomic_store_explicit(&own[counter], atomic_load_explicit(&own[counter], memory_order_relaxed) + amount,
                              memory_order_relaxed);
    else
        vy_count_shared(counter, amount);
}

#endif
