/* Memory access vectorisation: loads or stores of x[b], x[b + 1], … in one block become one wide access
 * (docs/internals/lower.md, "Wide access"). */
#ifndef VY_LOWER_VECTORIZE_MEM_H
#define VY_LOWER_VECTORIZE_MEM_H

#include "base/memory.h"
#include "ir/model.h"
#include "lower/legalize.h"
#include "opt/rewriter.h"

/* *out is `program`, at level legal and inlined, with wide accesses of up to target->access_bytes where they pay off.
 * If there are none, it is `program` itself, retained. If the caller owns the only reference (vyre_program.is_unique),
 * it is `program`, modified in place; after a failure such a program must not be used. Only unguarded accesses are
 * combined, so a wide access is in bounds like each of its elements.
 *
 * VYRE_LIMIT      the result is too large or too deep
 * VYRE_NO_MEMORY  out of memory */
vyre_status vy_vectorize_mem(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                             vyre_error *error);

/* The plan: which accesses become one. Internal to vectorize_mem.c and vectorize_mem_plan.c. */
/* A value that can be written any number of times. */
typedef struct vy_vectorize_mem_value {
    uint32_t variable; /* of the draft; VY_NONE: a literal */
    uint64_t bits;
} vy_vectorize_mem_value;

/* Accesses to `count` consecutive elements of a memory, in one block. */
typedef struct vy_vectorize_mem_group {
    uint32_t memory;
    uint8_t count;
    uint8_t is_store;
    uint8_t index_is_aligned, starts_aligned; /* proven, for index and memory; otherwise tested at run time */
    uint32_t at;                    /* the statement where it is emitted: of loads the first, of stores the last */
    uint32_t index;                 /* an expression that can be evaluated there; VY_NONE: zero … */
    uint32_t offset;                /* … and the amount to add to it for the first element, modulo 2^32 */
    uint32_t next;                  /* the next group at the same statement, plus 1 */
    vy_vectorize_mem_value *values; /* by element, filled while writing */
} vy_vectorize_mem_group;

/* An access that may be in a group. */
typedef struct vy_vectorize_mem_access {
    uint32_t stmt;
    uint32_t expr;  /* the load; of a store, the value */
    uint32_t group; /* plus 1; 0: none */
    uint8_t element;
    uint8_t is_store;
} vy_vectorize_mem_access;

typedef struct vy_vectorize_mem_plan {
    const vyre_program *program;
    VY_VECTOR(vy_vectorize_mem_group) groups;
    VY_VECTOR(vy_vectorize_mem_access) accesses; /* in program order; the store of a statement after its loads */
    uint32_t *at_stmt;   /* by statement: the first group of loads made before it, plus 1; 0: none */
    uint32_t kept_exprs; /* added after the last expression of the program */
    vy_arena arena;
} vy_vectorize_mem_plan;

/* Free it after a failure, too. */
vyre_status vy_vectorize_mem_plan_make(vy_vectorize_mem_plan *plan, const vyre_program *program,
                                       const vy_target_desc *target, vyre_error *error);
void vy_vectorize_mem_plan_free(vy_vectorize_mem_plan *plan);

#endif
