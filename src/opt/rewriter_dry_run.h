/* Looking: whether the hooks would change anything, and where, before anything is written. Internal to optimize_rewrite*.c.
 *
 * Most runs of a pass change nothing, and writing a program to see that costs most of them. What must stay true: what is looked at is what would be written, in the same
 * order; and looking leaves nothing behind but changes that were counted and statements that were noted. */
#ifndef VY_OPT_REWRITER_DRY_RUN_H
#define VY_OPT_REWRITER_DRY_RUN_H

#include "opt/rewriter.h"

/* All functions: counts changes, up to the first; with keeps_blocks notes every statement of which the hooks say something. */
void vy_rewrite_dry_run(vy_rewrite *rewrite);
/* Whether the trees of a statement, [*first, *end), stay as they are. */
int vy_rewrite_keeps_trees(vy_rewrite *rewrite, uint32_t stmt, uint32_t *first, uint32_t *end);

/* Whether somebody says which statements the hooks say something of, and they are not asked. */
static inline int vy_rewrite_knows_touched(const vy_rewriter *hooks) {
    return hooks->changes_stmt_hook || hooks->find || hooks->next;
}
/* With keeps_blocks: the first statement from `stmt` on of which the hooks say something; NULL: none. */
static inline const vy_touched *vy_rewrite_next_touched(vy_rewrite *rw, uint32_t stmt) {
    while (rw->next_touched < rw->touched.count && rw->touched.items[rw->next_touched].stmt < stmt)
        rw->next_touched++;
    return rw->next_touched < rw->touched.count ? &rw->touched.items[rw->next_touched] : NULL;
}

#endif
