/* Trees of the rewriter, as its parts make them. Internal to legal_rewrite*.c; what phases call of it stands in legalizer.h.
 *
 * What must stay true: every tree has its depth beside it, and none that has grown to VY_LEGALIZER_MAX_DEPTH gets another one above it: it is bound first; after a failure nothing is
 * added, and VY_NONE in gives VY_NONE out. */
#ifndef VY_LOWER_LEGALIZER_NODES_H
#define VY_LOWER_LEGALIZER_NODES_H

#include "lower/legalizer.h"

/* A tree of that depth; the operands of e are trees. May fail: the draft notes it. */
uint32_t vy_legalizer_add(vy_legalizer *rw, const vy_expr *e, unsigned depth);

/* Whether it may be used again. */
static inline int vy_legalizer_is_leaf(const vy_legalizer *rw, uint32_t tree) {
    return tree != VY_NONE &&
           (rw->trees.items[tree].kind == VY_EXPR_LITERAL || rw->trees.items[tree].kind == VY_EXPR_VARIABLE);
}

#endif
