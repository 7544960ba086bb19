/* Plan of memory access vectorisation: which accesses become one. Internal to vectorize_mem.c and
 * vectorize_mem_plan.c. */
#ifndef VY_LOWER_VECTORIZE_MEM_PLAN_H
#define VY_LOWER_VECTORIZE_MEM_PLAN_H

#include "base/memory.h"
#include "ir/model.h"
#include "lower/legalize.h"
#include "opt/rewriter.h"

/* What can be written any number of times. */
typedef struct vy_vectorize_mem_value {
    uint32_t variable; /* of the draft; VY_NONE: a literal */
    uint64_t bits;
} vy_vectorize_mem_value;

/* Accesses to `count` consecutive elements of a memory, in one block. */
typedef struct vy_vectorize_mem_group {
    uint32_t memory;
    uint8_t count;
    uint8_t is_store;
    uint8_t index_is_aligned,
        starts_aligned;             /* by proof, of the index and of the memory; else it is looked at when it runs */
    uint32_t at;                    /* the statement where it is made: of loads the first, of stores the last */
    uint32_t index;                 /* an expression that can be evaluated there; VY_NONE: zero … */
    uint32_t offset;                /* … and what to add to it for the first element, modulo 2^32 */
    uint32_t next;                  /* the next group at the same statement, plus 1 */
    vy_vectorize_mem_value *values; /* by element, filled while writing */
} vy_vectorize_mem_group;

/* An access that may be in a group. */
typedef struct vy_vectorize_mem_access {
    uint32_t stmt;
    uint32_t expr;  /* the load; of a store the value */
    uint32_t group; /* plus 1; 0: none */
    uint8_t element;
    uint8_t is_store;
} vy_vectorize_mem_access;

typedef struct vy_vectorize_mem_plan {
    const vyre_program *program;
    VY_VECTOR(vy_vectorize_mem_group) groups;
    VY_VECTOR(vy_vectorize_mem_access) accesses; /* in their order; the store of a statement behind its loads */
    uint32_t *at_stmt;   /* by statement: the first group of loads made before it, plus 1; 0: none */
    uint32_t kept_exprs; /* that stand behind the last of the program */
    vy_arena arena;
} vy_vectorize_mem_plan;

/* Free it also after a failure. */
vyre_status vy_vectorize_mem_plan_make(vy_vectorize_mem_plan *plan, const vyre_program *program,
                                       const vy_target_desc *target, vyre_error *error);
void vy_vectorize_mem_plan_free(vy_vectorize_mem_plan *plan);

#endif
