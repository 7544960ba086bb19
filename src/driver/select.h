/* Selection's inside: what a report holds. */
#ifndef VY_DRIVER_SELECT_H
#define VY_DRIVER_SELECT_H

#include "base/memory.h"
#include "vyre/driver.h"

struct vyre_selection {
    vy_arena texts;
    VY_VECTOR(vyre_candidate) candidates;
};

#endif
