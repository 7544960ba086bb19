/* Host services: the function table passed to every backend (vyre/backend.h). */
#ifndef VY_DRIVER_HOST_SERVICES_H
#define VY_DRIVER_HOST_SERVICES_H

#include "vyre/backend.h"

extern const vyre_host vy_host_services;

/* Runs a launch with the reference interpreter. The arguments are reconstructed from the launch, which specifies every
 * count and the grid. `before` (optional) has one address per buffer: the initial contents of a `write` buffer, instead
 * of zeros. Used by the host's reference_dispatch and the reference backend. */
struct vyre_oracle;
vyre_status vy_host_run_oracle(const struct vyre_oracle *oracle, const vyre_launch *launch, const vyre_span *inputs,
                               size_t input_count, const void *const *before, vyre_bytes *outputs, vyre_error *error);

#endif
