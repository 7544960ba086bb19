/* Full unrolling of loops over private arrays, with scalar replacement: arrays whose indices become literals turn
 * into variables, which an emitter keeps in registers.
 *
 * Invariant: a fact that the range analysis proved for an index in the loop holds for every iteration. The transform
 * runs after the optimiser and the other phases of legalisation; only memory access vectorisation follows. A program
 * may grow tenfold, and so would the time of every later pass. So earlier passes see the loop, and this transform
 * does the remaining work of the iterations itself: it propagates literals, decides branches, and removes remnants
 * of inlined calls (names for arguments, variables for results, regions). */
#ifndef VY_OPT_UNROLL_ARRAYS_H
#define VY_OPT_UNROLL_ARRAYS_H

#include "base/memory.h"
#include "ir/model.h"
#include "vyre/program.h"

/* Rewrites a program of level legal. *out receives one reference: the same object if it has no private arrays, or if
 * the result exceeds a limit of the language. It is valid if `program` is, and has no fingerprint. A new program has
 * one owner (vyre_program.is_unique); a caller that shares it must clear that flag.
 *
 * VYRE_NO_MEMORY  *out is NULL */
vyre_status vy_unroll_arrays(const vyre_program *program, vyre_program **out, vyre_error *error);

/* Estimates the number of statements and expressions of a program of any level after its loops over private arrays
 * are unrolled; 0 if it has no such arrays.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_unroll_arrays_size(const vyre_program *program, uint64_t *nodes, vyre_error *error);

/* Plan of unrolling loops over private arrays: the transformation of each loop, array and variable of a program.
 * Internal to unroll_arrays.c and unroll_arrays_plan.c. */
/* Transformation of a statement. */
typedef enum vy_unroll_arrays_stmt {
    VY_UNROLL_KEEP,
    VY_UNROLL_ITERATIONS, /* a `for`: unrolled */
    VY_UNROLL_LET,        /* the only assignment of a variable: declares it */
    VY_UNROLL_ALIAS,      /* a `let`: an alias of a variable */
    VY_UNROLL_INLINE,     /* a `let`, or an assignment that becomes one: inlined at its use */
    VY_UNROLL_NOTHING
} vy_unroll_arrays_stmt;

/* Transformation of an array. */
typedef enum vy_unroll_arrays_array { VY_ARRAY_STAYS, VY_ARRAY_VARIABLES, VY_ARRAY_LITERALS } vy_unroll_arrays_array;

/* At most so many elements in total are replaced; further arrays stay arrays. */
enum { VY_UNROLL_ARRAYS_ELEMENTS = 256 };

typedef struct vy_unroll_arrays_plan {
    uint32_t *first_expr;    /* by statement, with one more entry for the end */
    uint8_t *becomes;        /* by statement: vy_unroll_arrays_stmt */
    uint8_t *may_be_counted; /* by loop: its trip count may be a literal once the enclosing loops are unrolled */
    uint8_t *holds;          /* by unrolled loop: its iterations become one sequence of statements */
    uint32_t *there;         /* by variable: the statement whose value is inlined at its uses; VY_NONE */
    uint32_t *exprs;         /* by statement: upper bound of the size of its trees */
    /* By expression: the root of the largest tree starting there that is a literal in every iteration, or a load
     * from an array that is replaced; VY_NONE. */
    uint32_t *known_from;
    uint8_t *is_known;       /* by expression: literal in every iteration */
    uint8_t *loads;          /* by statement: has loads from an array that stays */
    uint32_t *size;          /* by statement: its size in nodes after the transform; for a loop that stays, that of
                              * its body */
    uint32_t nodes;          /* estimated size of the result */
    uint32_t room;           /* total nodes that loops with may_be_counted may add */
    uint8_t *array;          /* by memory: vy_unroll_arrays_array */
    uint32_t *first_element; /* by memory: index into `elements` */
    uint64_t elements[VY_UNROLL_ARRAYS_ELEMENTS]; /* bits of literals; for variables the writer may use the slot */
    vy_arena arena;
} vy_unroll_arrays_plan;

/* Whether the transform applies: the program consists of its entry and has private arrays. */
int vy_unroll_arrays_takes(const vyre_program *program);

/* Requires vy_unroll_arrays_takes. Free the plan also after a failure. */
vyre_status vy_unroll_arrays_plan_make(vy_unroll_arrays_plan *plan, const vyre_program *program, vyre_error *error);
void vy_unroll_arrays_plan_free(vy_unroll_arrays_plan *plan);

/* Whether to unroll a loop with this trip count and body size. */
int vy_unroll_arrays_pays(int touches_private, uint32_t trips, uint64_t body);

#endif
