/* IR builder: appends to the arrays of a program under construction (the draft). The parser, the public builder, the
 * decoder, the inliner, the generator and every transform write programs through it, so the canonical layout of model.h
 * is made by one component.
 *
 * Append functions return an index, or VY_NONE when out of memory. A VY_NONE operand of a later call is passed through,
 * and `failed` stays set, so the caller checks once, in vy_irb_finish. The validator checks the meaning, not the IR
 * builder. Order of calls: header fields and functions in any order, but one function at a time: begin,
 * params/results/arrays, statements, end; the entry last. An expression must be appended directly before the statement
 * that uses it (operands a, b, c, args in that order), and every expression must be used exactly once. One thread at a
 * time. */
#ifndef VY_IR_IRBUILDER_H
#define VY_IR_IRBUILDER_H

#include "base/diagnostics.h"
#include "ir/model.h"

typedef struct vy_irb {
    vyre_program *program; /* being filled; header fields (kind, level, numerics, workgroup, grid) are set directly */
    int failed;
    /* an append that would exceed the limits fails; otherwise the validator reports it */
    int fail_at_limit;
    int too_large;
    /* The program is an intermediate step of a transform: it is assumed valid and gets no fingerprint until
     * vy_program_verify and vy_program_finalize. The invariants that all code relies on (nesting, depth of expressions)
     * are checked nevertheless. */
    int skip_verify;
    vy_position position; /* of everything appended while it is set; with keep_positions */
    int keep_positions;
    /* keep positions of statements and declarations only */
    int drop_expr_positions;
    int in_entry;
    uint32_t open[VY_LIMIT_NESTING + 2]; /* open structured statements of the current function */
    uint32_t depth;                      /* may exceed the array: deeper statements set too_deep and are not recorded */
    int too_deep;
    uint32_t written_exprs; /* by the statements so far */
    int needs_verify;       /* something may be over the limits of nesting or depth */
} vy_irb;

/* Starts an empty program: kind program, level source, strict numerics, workgroup 1,1,1, no grid. */
vyre_status vy_irb_start(vy_irb *draft, const char *name, vyre_error *error);
/* Frees the program under construction. */
void vy_irb_discard(vy_irb *draft);

/* With fail_at_limit: whether `count` has reached the limit, which sets too_large. */
int vy_irb_is_full(vy_irb *draft, uint32_t count, uint32_t limit);
/* Whether expressions have positions. */
static inline int vy_irb_keeps_expr_positions(const vy_irb *draft) {
    return draft->keep_positions && !draft->drop_expr_positions;
}
/* Reserves room for a program as large as `like`. */
void vy_irb_reserve(vy_irb *draft, const vyre_program *like);

/* Copies all names of `from` with their symbols, and the program's name. Must precede every other use of names. */
void vy_irb_clone_symbols(vy_irb *draft, const vyre_program *from);
vy_symbol vy_irb_intern(vy_irb *draft, const char *text, size_t length);
vy_symbol vy_irb_intern_numbered(vy_irb *draft, char letter, uint32_t number); /* v123 */

/* Size expressions. */
uint32_t vy_irb_size(vy_irb *draft, vy_size_kind kind, uint32_t a, uint32_t b, uint64_t value);

/* Functions and the entry. */
uint32_t vy_irb_begin_function(vy_irb *draft, vy_symbol name); /* index of the function */
uint32_t vy_irb_begin_entry(vy_irb *draft);
/* The same with the sizes, workgroup and grid of `from`'s entry. All its params and memories must follow in their
 * order, since sizes and grid refer to them. */
uint32_t vy_irb_clone_entry(vy_irb *draft, const vyre_program *from);
void vy_irb_end_function(vy_irb *draft);

/* Parameters. Of a function: recorded in its params. Of the entry: program params and buffers. Returns the variable or
 * memory. */
uint32_t vy_irb_scalar_param(vy_irb *draft, vy_symbol name, vyre_type type);
uint32_t vy_irb_memory_param(vy_irb *draft, vy_symbol name, vy_space space, vyre_type type, vyre_access access,
                             uint32_t size);
void vy_irb_result(vy_irb *draft, vy_symbol name, vyre_type type);
/* A workgroup or private array of the current function, after its memory params. */
uint32_t vy_irb_array(vy_irb *draft, vy_symbol name, vy_space space, vyre_type type, uint32_t elements);

/* A table with these bytes, elements of that type: an equal one, or a new one with proper values. `bytes` must not be
 * those of the draft. */
uint32_t vy_irb_table(vy_irb *draft, vyre_type type, uint32_t elements, const void *bytes);
/* A constant array of the current function, after its memory params. */
uint32_t vy_irb_constant(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t elements, uint32_t table);
/* An array like `memory` of `from`, which may be the draft: workgroup, private or constant. */
uint32_t vy_irb_clone_array(vy_irb *draft, const vyre_program *from, uint32_t memory, vy_symbol name);

/* Expressions. vy_irb_expr is the general form; the rest are shorthands. Literals become proper values (eval.h). */
uint32_t vy_irb_expr(vy_irb *draft, const vy_expr *expr);
/* A literal expression with a proper value, to overwrite an existing expression. */
vy_expr vy_literal_expr(vyre_type type, uint64_t bits);
/* The expression that reads a variable. */
static inline vy_expr vy_variable_expr(vyre_type type, uint32_t variable) {
    return (vy_expr){.kind = VY_EXPR_VARIABLE, .type = (uint8_t)type, .a = variable, .b = VY_NONE, .c = VY_NONE};
}
uint32_t vy_irb_literal(vy_irb *draft, vyre_type type, uint64_t bits);
uint32_t vy_irb_variable(vy_irb *draft, uint32_t variable);
uint32_t vy_irb_load(vy_irb *draft, uint32_t memory, uint32_t index);
/* At level legal. The index is a u32; the condition, appended after the index, is a bool or VY_NONE. */
uint32_t vy_irb_load_unchecked(vy_irb *draft, uint32_t memory, uint32_t index, uint32_t condition);
uint32_t vy_irb_align_offset(vy_irb *draft, uint32_t memory);
uint32_t vy_irb_len(vy_irb *draft, uint32_t memory);
uint32_t vy_irb_builtin(vy_irb *draft, vyre_builtin builtin, unsigned axis);
uint32_t vy_irb_op(vy_irb *draft, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);

/* Statements. vy_irb_stmt appends `stmt` as given, except: `end`/`middle` are managed here; args are appended from the
 * array; for kinds that declare variables (let, var, for, and result_count > 0 on atomic, collective, call) the
 * variables are made from `names` and `types` (result_count of them) and stmt->variable is set. Structured kinds open a
 * block that vy_irb_end_block closes; vy_irb_else starts the else branch of the innermost open if. Returns the index of
 * the statement. */
uint32_t vy_irb_stmt(vy_irb *draft, const vy_stmt *stmt, const vy_arg *args, uint32_t arg_count, const vy_symbol *names,
                     const vyre_type *types);
void vy_irb_else(vy_irb *draft);
/* A statement of that kind with every reference set to VY_NONE, to be filled by the caller. */
vy_stmt vy_irb_blank_stmt(vy_stmt_kind kind);
void vy_irb_end_block(vy_irb *draft);

/* Shorthands over vy_irb_stmt. */
uint32_t vy_irb_let(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t value); /* returns the variable */
uint32_t vy_irb_var(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t value); /* returns the variable */
void vy_irb_assign(vy_irb *draft, uint32_t variable, uint32_t value);
void vy_irb_store(vy_irb *draft, uint32_t memory, uint32_t index, uint32_t value);
uint32_t vy_irb_if(vy_irb *draft, uint32_t condition);
/* Returns the variable. */
uint32_t vy_irb_for(vy_irb *draft, vy_symbol name, vyre_type type, uint32_t from, uint32_t to, uint32_t step);
uint32_t vy_irb_while(vy_irb *draft, uint32_t condition);
void vy_irb_simple(vy_irb *draft, vy_stmt_kind kind); /* break, continue */

/* Clones the tree rooted at `root` of `from`. map_variable and map_memory map absolute indices of `from` to new
 * indices; NULL is the identity. Positions are copied if both programs keep them. */
uint32_t vy_irb_clone_expr(vy_irb *draft, const vyre_program *from, uint32_t root, const uint32_t *map_variable,
                           const uint32_t *map_memory);
/* Clones the expressions [first, end) of `from`, which are whole trees. Returns the index of the first. */
uint32_t vy_irb_clone_exprs(vy_irb *draft, const vyre_program *from, uint32_t first, uint32_t end,
                            const uint32_t *map_variable, const uint32_t *map_memory);
/* Clones the statements [first, end) of `from`, siblings of one block with their bodies. map_variable receives the
 * variables that they declare. map_name maps symbols of `from`; NULL: the draft has the names of `from`
 * (vy_irb_clone_symbols). The draft's arrays may be those of `from`: the clone never overwrites nodes that it has not
 * read yet. The same holds for vy_irb_clone_exprs. */
void vy_irb_clone_stmts(vy_irb *draft, const vyre_program *from, uint32_t first, uint32_t end, uint32_t *map_variable,
                        const uint32_t *map_memory, const vy_symbol *map_name);

#endif
