/* Probe of the numerics of a device: which operations it computes with the bits of the reference interpreter.
 *
 * An API promises some; a probe confirms them, once for each kind of device and driver. An operation that differs once
 * is no longer native, and is legalised. */
#ifndef VY_DRIVER_NUMERICS_PROBE_H
#define VY_DRIVER_NUMERICS_PROBE_H

#include "vyre/backend.h"

enum { VY_NUMERICS_PROBE_OPERANDS = 4096 }; /* of each operation */

/* Compiles launch->program for the device and runs the launch. */
typedef vyre_status (*vy_numerics_probe_dispatch)(void *user, const vyre_launch *launch, const vyre_span *inputs,
                                                  vyre_outputs *outputs, vyre_error *error);

/* Runs programs that compute what is promised (bits 1 << VYRE_NUMERIC_…). *wrong: the bits of operations of which some
 * result differs. An error of `dispatch` ends the probe. */
vyre_status vy_numerics_probe_run(uint64_t promised, vy_numerics_probe_dispatch dispatch, void *user, uint64_t *wrong,
                                  vyre_error *error);

#endif
