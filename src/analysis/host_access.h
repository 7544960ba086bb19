/* Host access analysis: which buffers a device may access in host memory over the bus (zero-copy), and how many bus
 * requests each costs.
 *
 * A copy costs some microseconds however small it is. An access over the bus costs less, but every access pays it
 * again, and a dependent access pays it twice. So a buffer qualifies only if the program makes few accesses to it:
 * outside loops, neighbouring invocations at neighbouring elements or few invocations, no load that depends on
 * another load or follows a store. A buffer with atomics does not qualify, because the bus does not support them.
 *
 * The result affects only the time of a dispatch. It is stored by buffer. Changes of the buffers, of the memory
 * accesses and of the workgroup size invalidate it. */
#ifndef VY_ANALYSIS_HOST_ACCESS_H
#define VY_ANALYSIS_HOST_ACCESS_H

#include "ir/model.h"

/* requests: one for each buffer of the program, in declaration order: the most bus requests of a group of 32
 * invocations; 0: the buffer does not qualify. An unused buffer has 1. Calls must be inlined before, else no buffer
 * qualifies; nor does any if the program is large.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_host_access_find(const vyre_program *program, uint8_t *requests, vyre_error *error);

#endif
