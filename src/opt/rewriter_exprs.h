/* The pool: expressions of one statement, read through the hooks and then written. Internal to optimize_rewrite*.c; what passes call of it stands in rewriter.h.
 *
 * What must stay true: operands are in the pool before what uses them, with their depth; nothing of it outlives its statement; and while the rewriter looks nothing is
 * made: whoever would make a node counts a change and gets VY_NONE. */
#ifndef VY_OPT_REWRITER_EXPRS_H
#define VY_OPT_REWRITER_EXPRS_H

#include "opt/rewriter.h"

/* Appends a tree of the source that was read as `node` to the draft: as it was, where it would be deeper than the language allows. */
uint32_t vy_rewrite_write_tree(vy_rewrite *rewrite, uint32_t root, uint32_t node);

#endif
