/* The walk: all functions, statement after statement, in the order of the program. Internal to pass_values*.c.
 *
 * What must stay true: trees are numbered and chosen before anything that their statement changes; at the head of a loop whatever its body changes is forgotten
 * before the first expression in it is numbered; and of the condition of a `while`, which is evaluated again, nothing leads. */
#ifndef VY_OPT_GVN_WALK_H
#define VY_OPT_GVN_WALK_H

#include "opt/pass_gvn.h"

/* Fills what is the result in `n`, whose tables are there. May fail: n->failed. */
void vy_gvn_walk(vy_gvn *n);

#endif
