/* Full unrolling of loops over private arrays, with scalar replacement: arrays whose indices become literals turn into
 * variables, which an emitter keeps in registers.
 *
 * It runs after the optimiser and the other phases of legalisation; only memory access vectorisation follows. A program
 * may grow tenfold, and so would the time of every later pass. So they see the loop, and this transform does the
 * remaining work of the iterations itself: it propagates literals, decides branches, and removes what the inliner left
 * for calls (names for arguments, variables for results, regions). What the range analysis proves for an index in the
 * loop holds for every iteration. */
#ifndef VY_OPT_UNROLL_ARRAYS_H
#define VY_OPT_UNROLL_ARRAYS_H

#include "vyre/program.h"

/* Rewrites a program of level legal. *out receives one reference: the same object if it has no private arrays, or if
 * the result is over a limit of the language. It is valid if `program` is, and has no fingerprint; what was made is
 * nobody else's (vyre_program.is_unique), and whoever hands it on says so.
 *
 * VYRE_NO_MEMORY  *out is NULL */
vyre_status vy_unroll_arrays(const vyre_program *program, vyre_program **out, vyre_error *error);

/* About how many statements and expressions a program of any level is when its loops over private arrays are written
 * out; 0 if it has no such arrays.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_unroll_arrays_size(const vyre_program *program, uint64_t *nodes, vyre_error *error);

#endif
