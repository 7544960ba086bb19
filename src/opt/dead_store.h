/* What is overwritten: assignments and stores whose value nobody can read, because another takes its place first.
 *
 * One walk over a program without calls of its own functions, backwards: a variable is dead where every way on gives it another value, or
 * leaves its scope, before reading it. So is an element, if the later store has the same index for certain; so is a whole array
 * that is never read again. What others may read counts as read at every barrier, collective, call, and atomic that orders memory; at a jump,
 * return or trap everything does. Two indices are the same if they are the same expression of literals, ids, lengths and variables that are never
 * assigned.
 *
 * Sound, not complete: 1 holds in every run; 0 says nothing. */
#ifndef VY_OPT_DEAD_STORE_H
#define VY_OPT_DEAD_STORE_H

#include "opt/pass_manager.h"

/* first_expr: by statement, and for the end of the program.
 *
 * Sets is_overwritten[i] (by statement, zeros before) for assignments and stores that may be left out, and for `var`s whose first value
 * does not matter. VYRE_NO_MEMORY */
vyre_status vy_dead_stores_find(const vyre_program *program, const vy_opt_policy *rules, const uint32_t *first_expr,
                                uint8_t *is_overwritten, vyre_error *error);

#endif
