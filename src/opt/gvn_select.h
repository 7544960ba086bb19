/* Choosing: what the trees of a statement become, the largest ones that become anything. Internal to pass_values*.c.
 *
 * What must stay true: a literal comes before a variable, and that before a leader, so that no `let` is made of what is there already; below a tree that goes nothing
 * leads, since nobody would put that; and what leads is in scope, which the state sees to. */
#ifndef VY_OPT_GVN_SELECT_H
#define VY_OPT_GVN_SELECT_H

#include "opt/pass_gvn.h"

/* For the trees of a statement, whose numbers are known. Those that stay lead from here on. */
void vy_gvn_choose(vy_gvn *n, const vy_stmt *s);

#endif
