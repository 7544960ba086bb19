/* Fill: arrays read as zero until they are written, and on devices they start with anything. An array that may be read before it was written is
 * zeroed at the start of the program.
 *
 * Which are written in time is found by walking the program with what is known without running it: literals, places in the workgroup, bounds of
 * loops. An element of a private array is written once a store to it has been passed; one of a workgroup array once some invocation of every
 * workgroup has stored to it and a barrier was passed. Sound, not complete: an array that is not proven is filled. */
#ifndef VY_LOWER_ZERO_INIT_H
#define VY_LOWER_ZERO_INIT_H

#include "ir/model.h"

/* needs[memory] (one for each memory of the program) becomes 1 for arrays that may be read before they are written, 0 for all else. `program` is of
 * level source, valid and has no calls: where a barrier stands, the whole workgroup comes. */
vyre_status vy_zero_init_needs(const vyre_program *program, uint8_t *needs, vyre_error *error);

/* *out: the program, one reference, which zeroes the arrays that need it. Any thread. */
vyre_status vy_legalize_zero_init(const vyre_program *program, vyre_program **out, vyre_error *error);

#endif
