/* Dry run and in-place modes of the rewriter (rewriter.h). Internal to rewriter.c and rewriter_inplace.c.
 *
 * Dry run: finds out whether the hooks would change anything, and where, before anything is written. Most runs of a
 * pass change nothing. It examines exactly what would be written, in the same order, and leaves nothing behind but the
 * counted changes and the list of touched statements.
 *
 * In place: a pass that only shrinks trees edits a program that has one owner (vyre_program.is_unique); expressions
 * close up behind what became smaller. The trees of a statement are read before anything overwrites them, and none
 * becomes larger.
 *
 * Overlapped: a program with one owner is rewritten within its own arrays. The source is first moved up by as much as
 * the output may be ahead of the input (vy_rewriter.growth_bound), mostly not at all. Nothing is read of the source but
 * the current statement, what follows it, and what the pass appended after the last expression. */
#ifndef VY_OPT_REWRITER_INPLACE_H
#define VY_OPT_REWRITER_INPLACE_H

#include "opt/rewriter.h"

/* All functions: counts changes, up to the first; with keeps_blocks notes every statement of which the hooks say
 * something. */
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

/* Whether the hooks may change the program itself. */
static inline int vy_rewrite_may_edit(const vy_rewrite *rw) {
    return rw->from->is_unique && rw->hooks->only_shrinks;
}
/* Does so, with the statements that were noted by the dry run. After a failure, which is noted in the draft, the
 * program is good for nothing. */
void vy_rewrite_edit(vy_rewrite *rewrite);

/* Whether a program may be written in its own arrays: only its entry, and no positions of expressions, which nobody
 * keeps then. */
static inline int vy_rewrite_may_stay(const vyre_program *from, const vy_rewriter *hooks) {
    return from->is_unique && hooks->growth_bound && from->functions.count == 1 && vy_program_has_entry(from) &&
           from->expr_positions.count == 0;
}
/* Does so; *out is the source, retained. After a failure it is good for nothing. */
vyre_status vy_rewrite_in_place(vy_rewrite *rewrite, vyre_program **out, vyre_error *error);

/* Writes the trees of a statement of the source, its expressions [first, end), with what the hooks make of them. Their
 * roots are the operands of `copy`, and rewrite->args. */
void vy_rewrite_trees(vy_rewrite *rewrite, const vy_stmt *stmt, uint32_t first, uint32_t end, vy_stmt *copy);

/* Whether nothing may follow a statement of that kind in its block. */
static inline int vy_rewrite_ends_block(const vy_rewrite *rw, uint8_t kind) {
    return kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE || kind == VY_STMT_RETURN ||
           (kind == VY_STMT_TRAP && rw->hooks->trap_ends);
}

#endif
