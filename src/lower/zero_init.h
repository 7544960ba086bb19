/* Zero initialisation: arrays read as zero until they are written, but on devices their initial contents are undefined.
 * An array that may be read before it is written is zeroed at the start of the program.
 *
 * definite_init.c finds these arrays by walking the program with the values that are known statically: literals,
 * positions in the workgroup, bounds of loops. An element of a private array is written once a store to it was
 * executed; an element of a workgroup array once some invocation of every workgroup has stored to it and a barrier
 * followed. Sound, not complete: an array without a proof is zeroed. */
#ifndef VY_LOWER_ZERO_INIT_H
#define VY_LOWER_ZERO_INIT_H

#include "ir/model.h"

/* needs[memory] (one for each memory of the program) becomes 1 for arrays that may be read before they are written, 0
 * for all else. `program` is of level source, valid and has no calls: where a barrier stands, the whole workgroup
 * comes. */
vyre_status vy_zero_init_needs(const vyre_program *program, uint8_t *needs, vyre_error *error);

/* *out: the program, one reference, which zeroes the arrays that need it. Any thread. */
vyre_status vy_legalize_zero_init(const vyre_program *program, vyre_program **out, vyre_error *error);

#endif
