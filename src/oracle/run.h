/* Oracle runs with a resolved dispatch: for the reference backend, whose resident `write` buffers keep their old bytes,
 * and whose runs can be cancelled or have a deadline. */
#ifndef VY_ORACLE_RUN_H
#define VY_ORACLE_RUN_H

#include "ir/dispatch_resolve.h"
#include "vyre/oracle.h"

/* Conditions that end a run early. */
typedef struct vy_run_end {
    uint64_t deadline_ns;   /* CLOCK_MONOTONIC; 0 = none */
    const uint32_t *cancel; /* set to non-zero (atomically) to cancel the run; NULL: not cancellable */
} vy_run_end;

/* Like vyre_oracle_run. The dispatch must be resolved against the program of the oracle. The `data` of a `write`
 * buffer, which the resolver leaves NULL, may be set to the contents before the run, `bytes` long. `end` is checked
 * about every half millisecond.
 *
 * VYRE_TIMEOUT, VYRE_CANCELLED  the run was ended early; nothing is delivered */
vyre_status vy_oracle_launch(const vyre_oracle *oracle, const vy_resolved_dispatch *launch,
                             const vyre_oracle_options *options, vy_run_end end, vyre_bytes *outputs,
                             vyre_oracle_report *report, vyre_diagnostics *diagnostics, vyre_error *error);

#endif
