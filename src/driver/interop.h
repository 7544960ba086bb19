/* Foreign memory: helpers for backends that wrap memory of the process (vyre/interop.h). */
#ifndef VY_DRIVER_INTEROP_H
#define VY_DRIVER_INTEROP_H

#include "vyre/driver.h"

/* VYRE_INVALID_ARGUMENT unless the location is in memory of the process. backend: for the message. */
vyre_status vy_host_location_check(const vyre_memory_location *location, const char *backend, vyre_error *error);

/* "CUDA", "host", …: for messages. */
const char *vy_location_name(int32_t device);

#endif
