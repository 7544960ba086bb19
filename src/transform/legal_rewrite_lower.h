/* Lowering: an expression of the program becomes a tree of the phase's ops and types. Internal to legal_rewrite*.c; vy_legaliser_lower stands in legal_rewrite.h.
 *
 * What must stay true: a tree is of the type that carries values of the expression's (rw->phase->carrier), so what is read from memory, or a param, is widened at once, and a
 * literal converted; and nothing is lowered after a failure or a refusal. */
#ifndef VY_TRANSFORM_LEGAL_REWRITE_LOWER_H
#define VY_TRANSFORM_LEGAL_REWRITE_LOWER_H

#include "transform/legal_rewrite.h"

/* The index of an access. */
uint32_t vy_legaliser_lower_index(vy_legaliser *rw, uint32_t root);
/* Whether lowering the expression, so deep in its tree, needs no statement. */
int vy_legaliser_is_kept(const vy_legaliser *rw, uint32_t root, unsigned depth);

#endif
