/* Writing loops out, behind all other steps: a `for` over private arrays is written trip by trip, and arrays whose indices are literals by that become variables, which an
 * emitter keeps in registers.
 *
 * A program grows tenfold by it, and everything that looked at it afterwards would take ten times as long. So the optimiser and legalisation see the loop, and this
 * does at once what is left to do of its trips: literals go through what becomes of them, branches are decided, and what the inliner wrote for calls (names
 * for arguments, variables for results, regions) goes. What the ranges of an index prove for the loop holds for every trip of it. */
#ifndef VY_OPT_UNROLL_ARRAYS_H
#define VY_OPT_UNROLL_ARRAYS_H

#include "vyre/program.h"

/* Rewrites a program of level legal. *out receives one reference: the same object if it has no private arrays, or if the result is over a limit of the language. It is
 * valid if `program` is, and has no fingerprint; what was made is nobody else's (vyre_program.is_unique), and whoever hands it on says so.
 *
 * VYRE_NO_MEMORY  *out is NULL */
vyre_status vy_unroll_arrays(const vyre_program *program, vyre_program **out, vyre_error *error);

/* About how many statements and expressions a program of any level is when its loops over private arrays are written out; 0 if it has no such arrays.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_unroll_arrays_size(const vyre_program *program, uint64_t *nodes, vyre_error *error);

#endif
