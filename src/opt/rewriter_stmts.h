/* Statements of what is rewritten: those of which the hooks say nothing are copied, in a row where that can be, the others written with what the hooks made of them.
 * Internal to optimize_rewrite*.c; vy_rewrite_block and the rows of passes stand in rewriter.h.
 *
 * What must stay true: the trees of a statement are written directly before it, in the order of its operands, and only after every `let` that its reading caused; and
 * nothing is written behind what ends a block. */
#ifndef VY_OPT_REWRITER_STMTS_H
#define VY_OPT_REWRITER_STMTS_H

#include "opt/rewriter.h"

/* Writes the trees of a statement of the source, its expressions [first, end), with what the hooks make of them. Their roots are the operands of `copy`, and rewrite->args. */
void vy_rewrite_trees(vy_rewrite *rewrite, const vy_stmt *stmt, uint32_t first, uint32_t end, vy_stmt *copy);

/* Whether nothing may follow a statement of that kind in its block. */
static inline int vy_rewrite_ends_block(const vy_rewrite *rw, uint8_t kind) {
    return kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE || kind == VY_STMT_RETURN ||
           (kind == VY_STMT_TRAP && rw->hooks->trap_ends);
}

#endif
