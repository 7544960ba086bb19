/* The table of services every backend is given (vyre/backend.h). */
#ifndef VY_DRIVER_HOST_H
#define VY_DRIVER_HOST_H

#include "vyre/backend.h"

extern const vyre_host vy_host;

#endif
