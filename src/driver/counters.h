/* Bumping counters and logging (vyre/telemetry.h). */
#ifndef VY_DRIVER_COUNTERS_H
#define VY_DRIVER_COUNTERS_H

#include "vyre/telemetry.h"

typedef enum vy_counter {
#define X(name, kind, doc) VY_COUNTER_##name,
    VYRE_COUNTER_LIST(X)
#undef X
        VY_COUNTER_COUNT
} vy_counter;

/* Adds; a gauge falls by adding the two's complement. Any thread, does not block. */
void vy_count(vy_counter counter, uint64_t amount);

/* One line for the sink of the process, if there is one. */
void vy_log(int level, const char *source, const char *message);

#endif
