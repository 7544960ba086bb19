/* Numerics probe: tests which operations a device computes with the bits of the reference interpreter.
 *
 * A device API promises that some operations are exact. A backend probes them once per kind of device and driver. An
 * operation with a different result is not native: programs are legalised without it. */
#ifndef VY_DRIVER_NUMERICS_PROBE_H
#define VY_DRIVER_NUMERICS_PROBE_H

#include "vyre/backend.h"

enum { VY_NUMERICS_PROBE_OPERANDS = 4096 }; /* per operation */

/* Compiles launch->program for the device and runs the launch. */
typedef vyre_status (*vy_numerics_probe_dispatch)(void *user, const vyre_launch *launch, const vyre_span *inputs,
                                                  vyre_outputs *outputs, vyre_error *error);

/* Tests the operations `promised` (bits 1 << VYRE_NUMERIC_…). *wrong receives the bits of the operations that have a
 * different result. An error of `dispatch` ends the probe. */
vyre_status vy_numerics_probe_run(uint64_t promised, vy_numerics_probe_dispatch dispatch, void *user, uint64_t *wrong,
                                  vyre_error *error);

#endif
