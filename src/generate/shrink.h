/* Rewriting a case: a copy with parts left out or replaced, made through a draft. What the shrinker's candidates are made with.
 *
 * Any set of edits gives a well-formed draft: where something is left out that something else uses, the use becomes a literal (0, or the
 * value the dispatch gives) or goes too. Whether the result is a program is for the validator to say. */
#ifndef VY_GENERATE_SHRINK_H
#define VY_GENERATE_SHRINK_H

#include "generate/generator.h"
#include "ir/dispatch_resolve.h"

typedef enum vy_shrink_stmt_edit {
    VY_SHRINK_KEEP,
    VY_SHRINK_DELETE,
    VY_SHRINK_BODY,      /* the body (of an if: the first branch) in place of the statement */
    VY_SHRINK_ELSE_BODY, /* the else branch in place of the if */
    VY_SHRINK_NO_ELSE    /* the if without its else branch */
} vy_shrink_stmt_edit;

/* What to change; indices are those of the program's arrays. Made for one program by vy_shrink_edits_init. */
typedef struct vy_shrink_edits {
    uint8_t *stmts;      /* vy_shrink_stmt_edit */
    uint32_t *exprs;     /* the expression of the same type, below it, that takes its place; VY_NONE = itself */
    uint8_t *is_literal; /* 1: a literal of its type with `bits` takes its place */
    uint64_t *bits;
    uint8_t *functions, *variables, *memories, *results; /* 1: left out; of variables only parameters */
    uint32_t *counts;                                    /* of the program's buffers: fewer elements */
    uint32_t workgroup[3], groups[3];
    uint8_t freeze;       /* counts and grid become the numbers they have (or that stand above) */
    uint8_t rename;       /* every variable and memory gets a short name of its own */
    unsigned char *block; /* where the arrays lie */
    size_t block_size;
} vy_shrink_edits;

/* No edits yet. NO_MEMORY is the only failure; free with vy_shrink_edits_free in any case. */
vyre_status vy_shrink_edits_init(vy_shrink_edits *edits, const vyre_program *program,
                                 const vy_resolved_dispatch *launch, vyre_error *error);
void vy_shrink_edits_free(vy_shrink_edits *edits);

/* The copy. INVALID_PROGRAM, INVALID_ARGUMENT or LIMIT: the edits do not give a case that can be dispatched. launch is that of `from`. */
vyre_status vy_shrink_apply(const vyre_case *from, const vy_resolved_dispatch *launch, const vy_shrink_edits *edits,
                            vyre_case **out, vyre_error *error);

#endif
