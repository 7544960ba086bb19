/* The walk over a function's statements: what is visible where. Shared by body.c, expressions.c and memory_ops.c. */
#ifndef VY_IR_VALIDATE_STATEMENTS_H
#define VY_IR_VALIDATE_STATEMENTS_H

#include "ir/validate/verifier.h"

typedef struct vy_body_verifier {
    vy_verifier *verifier;
    const vyre_program *program;
    const vy_function *function;
    uint32_t stmt;               /* being checked */
    uint32_t next_expr;          /* its first expression */
    uint32_t next_variable;      /* variables from here on are not declared yet */
    uint32_t *visible_until;     /* of each variable: the end of the block it is declared in */
    uint32_t *last_declarations; /* of each name: the last declaration with that name, see body.c */
} vy_body_verifier;

static inline vy_position vy_body_position(const vy_body_verifier *body) {
    return vy_stmt_position(body->program, body->stmt);
}

static inline uint8_t vy_body_expr_type(const vy_body_verifier *body, uint32_t expr) {
    return body->program->exprs.items[expr].type;
}

/* The position of an expression, or of its statement if that is not known. */
static inline vy_position vy_body_expr_position(const vy_body_verifier *body, uint32_t expr) {
    vy_position at = vy_expr_position(body->program, expr);
    return at.line ? at : vy_body_position(body);
}

/* expressions.c: one node; its operands have been checked. */
void vy_verify_expression(vy_body_verifier *body, uint32_t expr);
/* An index into `memory`, in the access at `at`: an integer, and a constant one had better be in range; of an unguarded access, a u32. */
void vy_verify_index(vy_body_verifier *body, vy_position at, uint32_t memory, uint32_t index, uint8_t guard);
/* `what` is of level legal: an error in source, with what to write there instead. */
void vy_verify_level(vy_body_verifier *body, vy_position at, const char *fix, const char *what);
/* Whether a variable may be used at the current statement. */
int vy_body_is_visible(const vy_body_verifier *body, uint32_t variable);

/* memory_ops.c: statements that touch memory or other invocations, and calls. */
void vy_verify_store(vy_body_verifier *body, const vy_stmt *stmt);
void vy_verify_atomic(vy_body_verifier *body, const vy_stmt *stmt);
void vy_verify_collective(vy_body_verifier *body, const vy_stmt *stmt);
void vy_verify_call(vy_body_verifier *body, const vy_stmt *stmt);
void vy_verify_load_wide(vy_body_verifier *body, const vy_stmt *stmt);
void vy_verify_store_wide(vy_body_verifier *body, const vy_stmt *stmt);
void vy_verify_poll(vy_body_verifier *body, const vy_stmt *stmt);

/* Reports that something of type `given` stands where `wanted` belongs. */
void vy_body_type_mismatch(vy_body_verifier *body, vy_diag_code code, vy_position at, const char *what, uint8_t given,
                           uint8_t wanted);

#endif
