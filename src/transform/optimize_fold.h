/* Folding the trees of a statement, written in a row: for the pass that does nothing else, and for those that put literals in place of variables. */
#ifndef VY_TRANSFORM_OPTIMIZE_FOLD_H
#define VY_TRANSFORM_OPTIMIZE_FOLD_H

#include "transform/optimize_rewrite.h"

/* By variable of the source. */
typedef struct vy_literals {
    uint64_t *bits;
    uint8_t *is_known; /* not 0: the variable is `bits` */
} vy_literals;

/* Whether an expression of the source, which is no variable, is folded as it stands. */
int vy_folds(const vy_rewrite *rewrite, uint32_t expr);
/* A row hook (optimize_rewrite.h), with the literals there are. Counts a change for whatever is folded. */
void vy_fold_row(vy_rewrite *rewrite, const vy_literals *literals, uint32_t first, uint32_t end);

#endif
