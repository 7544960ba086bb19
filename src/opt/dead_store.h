/* Dead store analysis: finds the assignments and stores whose value cannot be read, because it is overwritten first.
 *
 * One backward walk over a program without calls of its own functions. A variable is dead where every path assigns it,
 * or leaves its scope, before reading it. An element is dead if the later store certainly has the same index; a whole
 * array is dead if it is never read again. Memory that other invocations may read counts as read at every barrier,
 * collective, call, and atomic that orders memory; a jump, return or trap reads everything. Two indices are the same if
 * they are the same expression of literals, ids, lengths and immutable variables.
 *
 * Sound, not complete: the answer 1 holds in every run; 0 means unknown. */
#ifndef VY_OPT_DEAD_STORE_H
#define VY_OPT_DEAD_STORE_H

#include "opt/pass_manager.h"

/* first_expr: by statement, and for the end of the program.
 *
 * Sets is_overwritten[i] (by statement, zeros before) for assignments and stores that may be left out, and for `var`s
 * whose first value does not matter. VYRE_NO_MEMORY */
vyre_status vy_dead_stores_find(const vyre_program *program, const vy_opt_policy *rules, const uint32_t *first_expr,
                                uint8_t *is_overwritten, vyre_error *error);

#endif
