/* Trees of the rewriter, as its parts make them. Internal to legal_rewrite*.c; what phases call of it stands in legal_rewrite.h.
 *
 * What must stay true: every tree has its depth beside it, and none that has grown to VY_LEGALISER_DEEPEST gets another one above it: it is bound first; after a failure nothing is
 * added, and VY_NONE in gives VY_NONE out. */
#ifndef VY_TRANSFORM_LEGAL_REWRITE_TREES_H
#define VY_TRANSFORM_LEGAL_REWRITE_TREES_H

#include "transform/legal_rewrite.h"

/* A tree of that depth; the operands of e are trees. May fail: the draft notes it. */
uint32_t vy_legaliser_add(vy_legaliser *rw, const vy_expr *e, unsigned depth);

/* Whether it may be used again. */
static inline int vy_legaliser_is_leaf(const vy_legaliser *rw, uint32_t tree) {
    return tree != VY_NONE &&
           (rw->trees.items[tree].kind == VY_EXPR_LITERAL || rw->trees.items[tree].kind == VY_EXPR_VARIABLE);
}

#endif
