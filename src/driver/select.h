/* Probes with a time limit: each runs on a separate thread and is abandoned if it does not return. */
#ifndef VY_DRIVER_SELECT_H
#define VY_DRIVER_SELECT_H

#include "vyre/backend.h"

/* Time limit of a probe. */
#define VY_PROBE_LIMIT_NS UINT64_C(2000000000)

typedef enum vy_probe_outcome {
    VY_PROBE_DONE,         /* `out` holds the answer; without a probe: YES with an unknown device class */
    VY_PROBE_NO_MEMORY,    /* it was not called */
    VY_PROBE_TIMED_OUT,    /* it did not return within the limit; its thread still runs */
    VY_PROBE_STILL_RUNNING /* it was abandoned by an earlier call and has not returned since; not called again */
} vy_probe_outcome;

/* Blocks for at most the limit. If no thread can be started, the probe runs on the calling thread without a limit. Any
 * thread. */
vy_probe_outcome vy_probe_run(const vyre_backend_registration *registration, uint64_t limit_ns, vyre_probe *out);

#endif
