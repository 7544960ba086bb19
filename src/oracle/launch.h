/* The oracle on a launch that is resolved already: for the reference backend, whose resident `write` buffers keep their old bytes. */
#ifndef VY_ORACLE_LAUNCH_H
#define VY_ORACLE_LAUNCH_H

#include "ir/launch.h"
#include "vyre/oracle.h"

/* As vyre_oracle_run. The launch was resolved against the oracle's program; the `data` of a `write` buffer, which the resolver leaves NULL, may be
 * set to what the buffer holds before the run, `bytes` long. */
vyre_status vy_oracle_launch(const vyre_oracle *oracle, const vy_launch *launch, const vyre_oracle_options *options,
                             vyre_bytes *outputs, vyre_oracle_report *report, vyre_diagnostics *diagnostics,
                             vyre_error *error);

#endif
