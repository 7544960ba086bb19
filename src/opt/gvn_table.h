/* Numbers: which value an expression has, found by its key in a table. Internal to pass_values*.c.
 *
 * What must stay true: the operands of an expression come before it, so theirs are known; a key says all that the value depends on, of a load also the states of
 * the memory and of what others may write; and a number that is given out is that of what the value stands for. */
#ifndef VY_OPT_GVN_TABLE_H
#define VY_OPT_GVN_TABLE_H

#include "opt/pass_gvn.h"

/* The expressions of a statement, which begin at n->next_expr, as things are there. May fail: n->failed; so may all that returns a number. */
void vy_gvn_number(vy_gvn *n, const vy_stmt *s);
/* A value like no other. */
uint32_t vy_gvn_fresh(vy_gvn *n, uint8_t type);
/* After a store, the statement `index`, a load from there gives what was stored: its key stands for that number. Nobody asks if no load follows. */
void vy_gvn_forward(vy_gvn *n, uint32_t index, const vy_stmt *s);

/* The literal that a value is, or NULL. */
static inline const vy_expr *vy_gvn_literal(const vy_gvn *n, uint32_t number) {
    const vy_expr *key = &n->values.items[number].key;
    return key->kind == VY_EXPR_LITERAL ? key : NULL;
}

#endif
