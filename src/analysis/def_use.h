/* Definitions and uses: the statements that define a variable, the statements that read it, the statement around a
 * statement, and the expressions of each statement.
 *
 * Each part is computed when it is first requested, in time linear in the program, and kept. Every change of the
 * program's statements, expressions or variables invalidates all of it. Positions and names are not read.
 *
 * Belongs to one thread. The program is borrowed, and so is the arena, which holds the arrays. */
#ifndef VY_ANALYSIS_DEF_USE_H
#define VY_ANALYSIS_DEF_USE_H

#include "ir/model.h"

enum {
    VY_DEF_USE_EXPRS = 1,        /* first_expr */
    VY_DEF_USE_PARENTS = 2,      /* parents */
    VY_DEF_USE_DECLARATIONS = 4, /* declarations */
    VY_DEF_USE_ASSIGNED = 8,     /* is_assigned */
    VY_DEF_USE_DEFINITIONS = 16, /* first_definition, definitions */
    VY_DEF_USE_READS = 32        /* reads, first_read, last_read */
};

/* Initialise program and arena; the rest is zero. A parameter is defined by no statement. */
typedef struct vy_def_use {
    const vyre_program *program;
    vy_arena *arena;
    unsigned has;           /* the parts that were computed */
    uint32_t *first_expr;   /* by statement, and of the end of the program: the first expression */
    uint32_t *parents;      /* by statement: the structured statement around it, or VY_NONE */
    uint32_t *declarations; /* by variable: the statement that declares it, or VY_NONE */
    uint8_t *is_assigned;   /* by variable: 1 if a statement assigns to it */
    /* By variable, and of the end: where its part of `definitions` begins. That lists the statements that declare the
     * variable or assign to it, in ascending order. */
    uint32_t *first_definition, *definitions;
    uint32_t *reads;                  /* by variable: the number of expressions that read it */
    uint32_t *first_read, *last_read; /* by variable: the statements with these; VY_NONE and 0 if none reads it */
} vy_def_use;

/* Computes the parts that were not computed before. Returns 0 if out of memory. */
int vy_def_use_need(vy_def_use *u, unsigned parts);

/* The expression of the `let` of a variable; VY_NONE if another statement declares it. Needs DECLARATIONS. */
static inline uint32_t vy_let_value(const vy_def_use *u, uint32_t variable) {
    uint32_t at = u->declarations[variable];
    const vy_stmt *stmts = u->program->stmts.items;
    return at != VY_NONE && stmts[at].kind == VY_STMT_LET ? stmts[at].a : VY_NONE;
}

/* The innermost loop around a statement; VY_NONE if there is none. Needs PARENTS. */
static inline uint32_t vy_loop_around(const vy_def_use *u, uint32_t stmt) {
    do
        stmt = u->parents[stmt];
    while (stmt != VY_NONE && !vy_stmt_is_loop(vy_stmt_at(u->program, stmt)->kind));
    return stmt;
}

/* Follows `let`s: while the expression is a variable of a `let`, at most `most` times, it is replaced by the expression
 * of that `let`. Needs DECLARATIONS. */
uint32_t vy_see_through_lets(const vy_def_use *u, uint32_t expr, unsigned most);

/* The first definition of a variable in statement `stmt` or after it; the last one before. VY_NONE if there is none.
 * Both need DEFINITIONS. */
uint32_t vy_next_definition(const vy_def_use *u, uint32_t variable, uint32_t stmt);
uint32_t vy_last_definition(const vy_def_use *u, uint32_t variable, uint32_t stmt);

#endif
