/* Private arrays whose every index is a literal become variables: an emitter keeps those in registers, and the optimiser sees through them. */
#ifndef VY_TRANSFORM_SCALARS_H
#define VY_TRANSFORM_SCALARS_H

#include "vyre/program.h"

/* Arrays of more elements together stay arrays. */
enum { VY_SCALARS_MOST = 256 };

/* Rewrites a program without calls of its own functions. *out receives one reference: the same object if there is no such array.
 *
 * VYRE_NO_MEMORY  *out is NULL */
vyre_status vy_scalars(const vyre_program *program, vyre_program **out, vyre_error *error);

#endif
