/* Names of what is rewritten. Internal to optimize_rewrite*.c; what passes call of it stands in rewriter.h.
 *
 * What must stay true: a declaration has a name that nothing visible there has. Where names of the source cannot meet nobody looks; else the visible ones are noted as
 * they are declared, and taken back where their block ends. A name of the draft counts only as long as rw->draft.failed is not set. */
#ifndef VY_OPT_REWRITER_NAMES_H
#define VY_OPT_REWRITER_NAMES_H

#include "opt/rewriter.h"

/* A name of the source that the draft does not have yet: into the draft. */
vy_symbol vy_rewrite_enter_name(vy_rewrite *rewrite, vy_symbol name);
/* The name itself where it is free, else with a suffix: passes put blocks where they did not stand, and write them twice. */
vy_symbol vy_rewrite_suffix_name(vy_rewrite *rewrite, vy_symbol wanted);
/* Makes a name of the draft visible, up to the end of the block. */
void vy_rewrite_show_name(vy_rewrite *rewrite, vy_symbol name);

/* Inline from here on: most passes keep names, and every statement asks. */

/* A name of the source in the draft; each is looked up once. */
static inline vy_symbol vy_rewrite_copy_name(vy_rewrite *rw, vy_symbol name) {
    if (rw->hooks->keeps_names)
        return name;
    return name && !rw->names[name] ? vy_rewrite_enter_name(rw, name) : rw->names[name];
}

/* Whether names of the source cannot meet; those of new `let`s are like no other. */
static inline int vy_rewrite_keeps_scopes(const vy_rewrite *rw) {
    return rw->hooks->keeps_names || rw->hooks->keeps_blocks;
}

/* For a declaration of the source. */
static inline vy_symbol vy_rewrite_free_name(vy_rewrite *rw, vy_symbol wanted) {
    return vy_rewrite_keeps_scopes(rw) ? vy_rewrite_copy_name(rw, wanted) : vy_rewrite_suffix_name(rw, wanted);
}

/* A name of the source: where no two can meet, nobody asks who is visible. */
static inline void vy_rewrite_show_copied(vy_rewrite *rw, vy_symbol name) {
    if (!vy_rewrite_keeps_scopes(rw))
        vy_rewrite_show_name(rw, name);
}

#endif
