/* Writing a program in its own arrays: what a pass makes of one that is nobody else's takes its place. Internal to optimize_rewrite*.c.
 *
 * The source is moved up as far as what is written may be ahead of what has been read, which the pass says (vy_rewriter.ahead); mostly it is not moved at all. What must stay true: nothing is
 * read of the source but the statement that is written, what comes behind it, and what the pass has put behind the last expression; and whoever writes has read before what that may cover. */
#ifndef VY_OPT_REWRITER_OVERLAP_H
#define VY_OPT_REWRITER_OVERLAP_H

#include "opt/rewriter.h"

/* Whether a program may be written in its own arrays: only its entry, and no positions of expressions, which nobody keeps then. */
static inline int vy_rewrite_may_stay(const vyre_program *from, const vy_rewriter *hooks) {
    return from->is_unique && hooks->growth_bound && from->functions.count == 1 && vy_program_has_entry(from) &&
           from->expr_positions.count == 0;
}
/* Does so; *out is the source, retained. After a failure it is good for nothing. */
vyre_status vy_rewrite_in_place(vy_rewrite *rewrite, vyre_program **out, vyre_error *error);

#endif
