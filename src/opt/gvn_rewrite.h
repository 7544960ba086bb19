/* Writing: the program with what its trees become, and the `let`s of leaders before the statements they were found in. Internal to pass_values*.c.
 *
 * What must stay true: the `let` of a leader stands before whatever becomes it, smaller trees first; and what takes the place of a tree is a leaf, which is written where
 * the tree began, so a row closes up as it is written. */
#ifndef VY_OPT_GVN_REWRITE_H
#define VY_OPT_GVN_REWRITE_H

#include "opt/pass_gvn.h"

/* Of a walk that found something (n->changes). *changes: how many trees. */
vyre_status vy_gvn_write(vy_gvn *n, vyre_program **out, uint64_t *changes, vyre_error *error);

#endif
