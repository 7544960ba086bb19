/* Affine indices: an index of u32 as a base plus a literal offset, modulo 2^32.
 *
 * Nothing is stored, so nothing can become invalid. */
#ifndef VY_ANALYSIS_AFFINE_INDEX_H
#define VY_ANALYSIS_AFFINE_INDEX_H

#include "analysis/literal.h"

/* The value of expression `base` plus `offset`. */
typedef struct vy_affine_index {
    uint32_t base;
    uint32_t offset; /* modulo 2^32 */
} vy_affine_index;

/* Moves one literal from the base to the offset: of `x + 3`, `3 + x` or `x - 3`, of type u32. Returns 0 if the base is
 * not such a sum. */
static inline int vy_affine_index_peel(const vyre_program *p, vy_affine_index *at) {
    const vy_expr *e = vy_expr_at(p, at->base);
    if (e->kind != VY_EXPR_OP || e->type != VYRE_TYPE_U32 || (e->op != VYRE_OP_ADD && e->op != VYRE_OP_SUB))
        return 0;
    const vy_expr *right = vy_literal_at(p, e->b), *left = e->op == VYRE_OP_ADD ? vy_literal_at(p, e->a) : NULL;
    if (!right && !left)
        return 0;
    uint32_t literal = (uint32_t)(right ? right : left)->bits;
    *at = (vy_affine_index){right ? e->a : e->b, at->offset + (e->op == VYRE_OP_ADD ? literal : 0u - literal)};
    return 1;
}

#endif
