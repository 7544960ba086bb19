/* Constant folding of expression trees while they are written, used by the pass const-fold and by the transforms
 * that replace variables by literals. Invariant: a folded tree has the bits that the evaluator returns. */
#ifndef VY_OPT_CONSTANT_FOLD_H
#define VY_OPT_CONSTANT_FOLD_H

#include "opt/rewriter.h"

/* By variable of the source. */
typedef struct vy_literals {
    uint64_t *bits;
    uint8_t *is_known; /* nonzero: the variable equals `bits` */
} vy_literals;

/* A row hook (rewriter.h) that folds with the given literals. Each folded tree counts as a change. */
void vy_fold_exprs(vy_rewrite *rewrite, const vy_literals *literals, uint32_t first, uint32_t end);

/* An expression of a row that starts at `first`, with its operands translated to the draft; rewrite->row maps the
 * operands. Inline because it runs for every node. */
static inline vy_expr vy_rewritten_expr(const vy_rewrite *rewrite, uint32_t first, vy_expr e) {
    const uint32_t *row = rewrite->row.items;
    if (e.kind == VY_EXPR_VARIABLE) {
        e.a = rewrite->variables[e.a];
    } else if (e.kind == VY_EXPR_OP || e.kind == VY_EXPR_LOAD) {
        e.a = e.kind == VY_EXPR_OP ? row[e.a - first] : rewrite->memories[e.a];
        e.b = e.b == VY_NONE ? VY_NONE : row[e.b - first];
        e.c = e.c == VY_NONE ? VY_NONE : row[e.c - first];
    } else if (e.kind == VY_EXPR_LEN || e.kind == VY_EXPR_ALIGN_OFFSET) {
        e.a = rewrite->memories[e.a];
    }
    return e;
}

/* ---- building blocks for writers of rows, also used by unroll_arrays.c: a folded tree replaces its operands, which
 * are the last expressions written ---- */

/* Whether all operands of an op of `program`, not a selection, are literals; *bits is then the result. */
int vy_fold_op(const vyre_program *program, const vy_expr *e, uint64_t *bits);
/* Whether `load`, whose index is the literal `index`, reads a constant array; *bits is then the element. */
int vy_fold_constant_element(const vyre_program *program, const vy_expr *load, uint8_t index_type, uint64_t index,
                             uint64_t *bits);
/* Replaces a selection with a literal condition by the selected arm. Condition and arms are the last expressions
 * written. Returns one past the result. */
uint32_t vy_fold_select(vyre_program *program, const vy_expr *e);
/* Moves the trees [first, end) down to `to`. */
void vy_fold_slide(vyre_program *program, uint32_t first, uint32_t end, uint32_t to);

#endif
