/* Constant folding of the trees of a statement while they are written: for the pass const-fold, and for the transforms
 * that replace variables by literals. */
#ifndef VY_OPT_CONSTANT_FOLD_H
#define VY_OPT_CONSTANT_FOLD_H

#include "opt/rewriter.h"

/* By variable of the source. */
typedef struct vy_literals {
    uint64_t *bits;
    uint8_t *is_known; /* not 0: the variable is `bits` */
} vy_literals;

/* A row hook (rewriter.h), with the literals there are. Counts a change for whatever is folded. */
void vy_fold_exprs(vy_rewrite *rewrite, const vy_literals *literals, uint32_t first, uint32_t end);

/* What an expression of a row that begins at `first` refers to, in the draft: rewrite->row says where its operands
 * went. Inline: it is asked for every node. */
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

/* ---- for whoever writes trees in a row: what is folded takes the place of its operands, which end what is written.
 * Also for unroll_arrays.c ---- */

/* Whether the operands of an op of `program`, which is no selection, are literals; then *bits is what it gives. */
int vy_fold_op(const vyre_program *program, const vy_expr *e, uint64_t *bits);
/* Whether `load`, whose index is the literal `index`, loads from a constant array; then *bits is what it gives. */
int vy_fold_constant_element(const vyre_program *program, const vy_expr *load, uint8_t index_type, uint64_t index,
                             uint64_t *bits);
/* One of the arms of a selection whose condition is a literal stays: condition and arms end what is written. Returns
 * one past it. */
uint32_t vy_fold_select(vyre_program *program, const vy_expr *e);
/* The trees [first, end) go to `to`, which is before. */
void vy_fold_slide(vyre_program *program, uint32_t first, uint32_t end, uint32_t to);

#endif
