/* A draft: a program under construction. The parser, the builder, the decoder, the inliner, the generator and every transform write programs
 * through this, so the canonical layout of model.h is made in one place.
 *
 * Append functions return an index, or VY_NONE when memory is out; VY_NONE given as an operand to a later call is passed through, and
 * `failed` stays set, so that a writer checks once, in vy_draft_finish. No meaning is checked here: that is the validator's work.
 * Order of calls: header fields and functions in any order, but one function at a time: begin, params/results/arrays,
 * statements, end; the entry last. An expression must be appended directly before the statement that uses it (operands a, b, c, args in that order), and
 * every expression must be used exactly once. One thread at a time. */
#ifndef VY_IR_DRAFT_H
#define VY_IR_DRAFT_H

#include "base/diagnostics.h"
#include "ir/model.h"

typedef struct vy_draft {
    vyre_program *program; /* being filled; header fields (kind, level, numerics, workgroup, grid) are set directly */
    int failed;
    int stops_at_limit; /* what would make the program too large fails; else the validator finds it, when it is finished */
    int too_large;
    /* Somebody makes another program of it at once: it is trusted to be valid and gets no fingerprint, until vy_program_check and
     * vy_program_seal make up for that. What all code relies on (nesting, depth of expressions) is looked at all the same. */
    int is_step;
    vy_position position; /* given to everything appended while it is set; with keep_positions */
    int keep_positions;
    int forgets_exprs; /* of them only those of statements and declarations: nobody asks where an expression came from */
    int in_entry;
    uint32_t open[VY_LIMIT_NESTING + 2]; /* open structured statements of the current function */
    uint32_t depth;                      /* may exceed the array: deeper statements set too_deep and are not recorded */
    int too_deep;
    uint32_t written_exprs; /* by the statements so far */
    int is_doubtful;        /* something may be over the limits of nesting or depth */
} vy_draft;

/* Starts an empty program of that name: kind program, level source, strict numerics, workgroup 1,1,1, no grid. */
vyre_status vy_draft_start(vy_draft *draft, const char *name, vyre_error *error);
/* Drops what was built. */
void vy_draft_discard(vy_draft *draft);

/* With stops_at_limit: whether nothing can be added to `count`, which is noted. */
int vy_draft_is_full(vy_draft *draft, uint32_t count, uint32_t limit);
/* Whether expressions have positions. */
static inline int vy_draft_places_exprs(const vy_draft *draft) {
    return draft->keep_positions && !draft->forgets_exprs;
}
/* Room for a program as large as that one. */
void vy_draft_reserve(vy_draft *draft, const vyre_program *like);

/* Before anything else is named: every name of `from` is that of the draft, too, and the program is called as that one. */
void vy_draft_copy_names(vy_draft *draft, const vyre_program *from);
vy_name vy_draft_name(vy_draft *draft, const char *text, size_t length);
vy_name vy_draft_numbered(vy_draft *draft, char letter, uint32_t number); /* v123 */

/* Size expressions. */
uint32_t vy_draft_size(vy_draft *draft, vy_size_kind kind, uint32_t a, uint32_t b, uint64_t value);

/* Functions and the entry. */
uint32_t vy_draft_begin_function(vy_draft *draft, vy_name name); /* index of the function */
uint32_t vy_draft_begin_entry(vy_draft *draft);
/* The same with the sizes, workgroup and grid of `from`'s entry. Its params and memories must follow, all of them, in their order: that is what sizes
 * and grid refer to. */
uint32_t vy_draft_copy_entry(vy_draft *draft, const vyre_program *from);
void vy_draft_end_function(vy_draft *draft);

/* Parameters. Of a function: recorded in its params. Of the entry: program params and buffers. Returns the variable or memory. */
uint32_t vy_draft_scalar_param(vy_draft *draft, vy_name name, vyre_type type);
uint32_t vy_draft_memory_param(vy_draft *draft, vy_name name, vy_space space, vyre_type type, vyre_access access,
                               uint32_t size);
void vy_draft_result(vy_draft *draft, vy_name name, vyre_type type);
/* A workgroup or private array of the current function, after its memory params. */
uint32_t vy_draft_array(vy_draft *draft, vy_name name, vy_space space, vyre_type type, uint32_t elements);

/* Expressions. vy_draft_expr is the general form; the rest are shorthands. Literals are cleaned (NaN, excess bits). */
uint32_t vy_draft_expr(vy_draft *draft, const vy_expr *expr);
/* A literal, its bits made proper: for what is written into expressions that are there already. */
vy_expr vy_literal_expr(vyre_type type, uint64_t bits);
uint32_t vy_draft_literal(vy_draft *draft, vyre_type type, uint64_t bits);
uint32_t vy_draft_variable(vy_draft *draft, uint32_t variable);
uint32_t vy_draft_load(vy_draft *draft, uint32_t memory, uint32_t index);
/* Of level legal. The index is a u32, the condition a bool or VY_NONE: the index was appended before the condition. */
uint32_t vy_draft_load_unguarded(vy_draft *draft, uint32_t memory, uint32_t index, uint32_t condition);
uint32_t vy_draft_misalignment(vy_draft *draft, uint32_t memory);
uint32_t vy_draft_len(vy_draft *draft, uint32_t memory);
uint32_t vy_draft_builtin(vy_draft *draft, vyre_builtin builtin, unsigned axis);
uint32_t vy_draft_op(vy_draft *draft, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);

/* Statements. vy_draft_stmt appends `stmt` as given, except: `end`/`middle` are managed here; args are appended from the array;
 * for kinds that declare variables (let, var, for, and result_count > 0 on atomic, collective, call) the variables are made from `names` and
 * `types` (result_count of them) and stmt->variable is set. Structured kinds open a block that vy_draft_end closes;
 * vy_draft_else starts the else branch of the innermost open if. Returns the index of the statement. */
uint32_t vy_draft_stmt(vy_draft *draft, const vy_stmt *stmt, const vy_arg *args, uint32_t arg_count,
                       const vy_name *names, const vyre_type *types);
void vy_draft_else(vy_draft *draft);
/* A statement of that kind with every reference VY_NONE: start from this. */
vy_stmt vy_draft_blank(vy_stmt_kind kind);
void vy_draft_end(vy_draft *draft);

/* Shorthands over vy_draft_stmt. */
uint32_t vy_draft_let(vy_draft *draft, vy_name name, vyre_type type, uint32_t value); /* returns the variable */
uint32_t vy_draft_var(vy_draft *draft, vy_name name, vyre_type type, uint32_t value); /* returns the variable */
void vy_draft_assign(vy_draft *draft, uint32_t variable, uint32_t value);
void vy_draft_store(vy_draft *draft, uint32_t memory, uint32_t index, uint32_t value);
uint32_t vy_draft_if(vy_draft *draft, uint32_t condition);
/* Returns the variable. */
uint32_t vy_draft_for(vy_draft *draft, vy_name name, vyre_type type, uint32_t from, uint32_t to, uint32_t step);
uint32_t vy_draft_while(vy_draft *draft, uint32_t condition);
void vy_draft_simple(vy_draft *draft, vy_stmt_kind kind); /* break, continue */

/* Validates (src/ir/validate), derives the facts, computes the fingerprint and hands the program over with one reference. On failure
 * the draft is discarded and the findings are in `diagnostics` (optional); error sums them up. source (optional) is retained. */
vyre_status vy_draft_finish(vy_draft *draft, vy_source *source, vyre_diagnostics *diagnostics, vyre_program **out,
                            vyre_error *error);

/* Validates a finished program that was not (is_step): after the last of several steps. Fails as vy_validate; the program stays. */
vyre_status vy_program_check(vyre_program *program, vyre_error *error);
/* The same for one of level legal that is only made code of: steps are trusted with all but what is declared, of which they make more until it is over a limit. How
 * large and deep a program is was looked at when each was made. Whoever else is to see it checks it. */
vyre_status vy_program_check_step(vyre_program *program, vyre_error *error);
/* As vy_program_check, and gives it its fingerprint if it has none: before anybody else sees it. Fails as vy_validate and vy_fingerprint. */
vyre_status vy_program_seal(vyre_program *program, vyre_error *error);

/* As vyre_program_inline, for who makes another program of it at once (is_step). */
vyre_status vy_program_inline_step(const vyre_program *program, vyre_program **out, vyre_error *error);

/* Copies the tree rooted at `root` of `from` into the draft. map_variable and map_memory (indexed by the absolute indices in `from`; NULL =
 * identity) give the new indices. Positions are copied when both keep them. Shared by the inliner and the transforms. */
uint32_t vy_draft_copy_expr(vy_draft *draft, const vyre_program *from, uint32_t root, const uint32_t *map_variable,
                            const uint32_t *map_memory);
/* Copies the expressions [first, end) of `from`, whole trees, in a row. Returns the index of the first. */
uint32_t vy_draft_copy_exprs(vy_draft *draft, const vyre_program *from, uint32_t first, uint32_t end,
                             const uint32_t *map_variable, const uint32_t *map_memory);
/* Copies the statements [first, end) of `from`, which follow each other in a block, with all that is in them, in a row. map_variable receives what they declare. map_name: by name of
 * `from`, with all they need; NULL: the draft has the names of `from` (vy_draft_copy_names). Like the one before it may write over what it copies, where the arrays of the draft are those
 * of `from`: it is never behind what it reads. */
void vy_draft_copy_stmts(vy_draft *draft, const vyre_program *from, uint32_t first, uint32_t end,
                         uint32_t *map_variable, const uint32_t *map_memory, const vy_name *map_name);

#endif
