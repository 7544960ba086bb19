/* Edits of the test-case reducer: a copy of a case with parts dropped or replaced.
 *
 * Any set of edits yields a well-formed draft: where a dropped part is used, the use becomes a literal (0, or the value
 * in the dispatch) or is dropped, too. The verifier decides whether the result is a valid program. */
#ifndef VY_GENERATE_SHRINK_H
#define VY_GENERATE_SHRINK_H

#include "generate/generator.h"
#include "ir/dispatch_resolve.h"

typedef enum vy_shrink_stmt_edit {
    VY_SHRINK_KEEP,
    VY_SHRINK_DELETE,
    VY_SHRINK_BODY,      /* replaces the statement by its body (of an if: the first branch) */
    VY_SHRINK_ELSE_BODY, /* replaces the if by its else branch */
    VY_SHRINK_NO_ELSE    /* removes the else branch */
} vy_shrink_stmt_edit;

/* The edits of one program; indices are those of its arrays. Initialise with vy_shrink_edits_init. */
typedef struct vy_shrink_edits {
    uint8_t *stmts;      /* vy_shrink_stmt_edit */
    uint32_t *exprs;     /* replaces an expression by a descendant of the same type; VY_NONE: unchanged */
    uint8_t *is_literal; /* 1: replaces an expression by a literal of its type with `bits` */
    uint64_t *bits;
    uint8_t *functions, *variables, *memories, *results; /* 1: dropped; of variables only parameters */
    uint32_t *counts;                                    /* of the program's buffers: reduced element counts */
    uint32_t workgroup[3], groups[3];
    uint8_t freeze;       /* counts and grid become the numbers of the dispatch, or those above */
    uint8_t rename;       /* every variable and memory receives a short unique name */
    unsigned char *block; /* memory of the arrays */
    size_t block_size;
} vy_shrink_edits;

/* Initialises without edits. NO_MEMORY is the only failure; call vy_shrink_edits_free in any case. */
vyre_status vy_shrink_edits_init(vy_shrink_edits *edits, const vyre_program *program,
                                 const vy_resolved_dispatch *launch, vyre_error *error);
void vy_shrink_edits_free(vy_shrink_edits *edits);

/* Makes the edited copy. `launch` is the resolved dispatch of `from`. INVALID_PROGRAM, INVALID_ARGUMENT or LIMIT: the
 * result cannot be dispatched. */
vyre_status vy_shrink_apply(const vyre_case *from, const vy_resolved_dispatch *launch, const vy_shrink_edits *edits,
                            vyre_case **out, vyre_error *error);

#endif
