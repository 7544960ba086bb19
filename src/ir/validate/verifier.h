/* State shared by the parts of the verifier: the program, the destination of findings, and scratch memory.
 *
 * The parts run in this order. Each relies on the facts that earlier parts established, and runs only if these found no
 * error:
 *
 *   layout.c        indices, tags and array layout as model.h specifies    (stops at its first finding)
 *   declarations.c  names, limits, memories, geometry, size expressions    (collects findings, as do the rest)
 *   statements.c    types, scopes, statements
 *   calls.c         recursion, reachability, sizes after inlining
 *   validate.c      program flags
 *   uniformity.c    barriers and collectives are in uniform control flow   (level source only)
 *   races.c         races that occur in every run                          (level source only)
 *   declarations.c  warnings about unused declarations                     (level source only)
 *
 * The declarations and the statements are both checked even if the first of the two parts finds errors. Time is linear
 * in the size of the program; memory is a small multiple of it. */
#ifndef VY_IR_VALIDATE_VERIFIER_H
#define VY_IR_VALIDATE_VERIFIER_H

#include "base/diagnostics.h"
#include "ir/diagnostic_codes.h"
#include "ir/model.h"
#include "ir/walk.h"

typedef struct vy_verifier {
    vyre_program *program;
    vyre_diagnostics *diagnostics; /* may be NULL */
    vyre_error *error;             /* receives the first error; may be NULL */
    size_t errors, findings;       /* findings includes warnings */
    int out_of_memory;
    vy_arena scratch;     /* lives as long as the verifier */
    uint32_t *first_expr; /* set by statements.c: first expression of each function */
    /* Set by calls.c if the program has functions other than its entry: all functions, callees before callers, and
     * their summaries. */
    uint32_t *order;
    struct vy_callee_summary *callees;
} vy_verifier;

/* Summary of a function for its callers, by index of the function. */
typedef struct vy_callee_summary {
    uint64_t stmts, exprs;                         /* upper bounds after inlining; saturated above the limits */
    uint32_t nesting;                              /* deepest block after inlining */
    uint32_t depth;                                /* depth of nested calls */
    uint32_t facts;                                /* VY_PROGRAM_HAS_*, including callees */
    uint32_t orders;                               /* whether it may order memory: vy_stmt_orders of any statement */
    uint32_t may_loop;                             /* whether it may not terminate: vy_stmt_may_loop of any statement */
    uint32_t calls_over;                           /* whether a callee exceeds a limit, which has been reported */
    uint64_t written[(VY_LIMIT_PARAMS + 63) / 64]; /* parameters it stores to, by position */
} vy_callee_summary;

/* Adds an error; fix NULL means the default fix of the code. */
void vy_verifier_error(vy_verifier *verifier, vy_diag_code code, vy_position at, const char *fix, const char *format,
                       ...) VY_PRINTF(5, 6);
/* Adds a finding that does not make the program invalid. */
void vy_verifier_warning(vy_verifier *verifier, vy_diag_code code, vy_position at, const char *fix, const char *format,
                         ...) VY_PRINTF(5, 6);
/* Zeroed memory that lives as long as the verifier; on failure sets out_of_memory and returns NULL. */
void *vy_verifier_scratch(vy_verifier *verifier, size_t count, size_t size);
static inline int vy_verifier_is_clean(const vy_verifier *verifier) {
    return verifier->errors == 0 && !verifier->out_of_memory;
}

/* The parts. */
void vy_verify_layout(vy_verifier *verifier);
void vy_verify_declarations(vy_verifier *verifier);
void vy_verify_bodies(vy_verifier *verifier);
void vy_verify_calls(vy_verifier *verifier);
/* The program flags that a statement implies. */
uint32_t vy_stmt_flags(const vy_stmt *stmt);
/* Whether a statement may not terminate. A `for` always does: its trip count is computed before the first iteration. */
static inline int vy_stmt_may_loop(const vy_stmt *stmt) {
    return stmt->kind == VY_STMT_WHILE;
}
void vy_verify_uniformity(vy_verifier *verifier);
void vy_verify_races(vy_verifier *verifier);
void vy_verify_unused(vy_verifier *verifier);

/* ---- helpers of several parts ---- */

static inline const char *vy_verifier_name(const vy_verifier *verifier, vy_symbol name) {
    return vy_symbol_name(verifier->program, name);
}

/* The end of the block of `function` that begins after `open` (VY_NONE = the body itself) and holds `stmt`. */
static inline uint32_t vy_block_end(const vyre_program *program, const vy_function *function, uint32_t open,
                                    uint32_t stmt) {
    if (open == VY_NONE)
        return function->end_stmt;
    const vy_stmt *block = &program->stmts.items[open];
    return stmt < block->middle ? block->middle : block->end;
}

/* Whether the access allows loads or stores. */
int vy_access_loads(uint8_t access);
int vy_access_stores(uint8_t access);
const char *vy_access_name(uint8_t access);
const char *vy_space_name(uint8_t space);

#endif
