/* Lowering: an expression of the program becomes a tree of the phase's ops and types. Internal to legal_rewrite*.c; vy_legalizer_lower stands in legalizer.h.
 *
 * What must stay true: a tree is of the type that carries values of the expression's (rw->phase->carrier), so what is read from memory, or a param, is widened at once, and a
 * literal converted; and nothing is lowered after a failure or a refusal. */
#ifndef VY_LOWER_LEGALIZER_EXPRS_H
#define VY_LOWER_LEGALIZER_EXPRS_H

#include "lower/legalizer.h"

/* The index of an access. */
uint32_t vy_legalizer_lower_index(vy_legalizer *rw, uint32_t root);
/* Whether lowering the expression, so deep in its tree, needs no statement. */
int vy_legalizer_is_kept(const vy_legalizer *rw, uint32_t root, unsigned depth);

#endif
