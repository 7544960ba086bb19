/* Editing: a pass that makes nothing but smaller trees changes the program it was given, if that is nobody else's. Internal to optimize_rewrite*.c.
 *
 * Statements, declarations and names stay; expressions close up behind what became smaller. That costs a fraction of a copy, in time and in memory. What must stay true: the trees of a
 * statement are read before anything is written over them, and none becomes larger; whoever looks at the source while it is written looks at the statement that is
 * written, which nothing was written over yet. */
#ifndef VY_OPT_REWRITER_INPLACE_H
#define VY_OPT_REWRITER_INPLACE_H

#include "opt/rewriter.h"

/* Whether the hooks may change the program itself. */
static inline int vy_rewrite_may_edit(const vy_rewrite *rw) {
    return rw->from->is_unique && rw->hooks->only_shrinks;
}
/* Does so, with the statements that were noted (rewriter_dry_run.h). After a failure, which is noted in the draft, the program is good for nothing. */
void vy_rewrite_edit(vy_rewrite *rewrite);

#endif
