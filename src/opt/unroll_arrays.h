/* Full unrolling of loops over private arrays, with scalar replacement: arrays whose indices become literals turn into
 * variables, which an emitter keeps in registers.
 *
 * It runs after the optimiser and the other phases of legalisation; only memory access vectorisation follows. A program
 * may grow tenfold, and so would the time of every later pass. So they see the loop, and this transform does the
 * remaining work of the iterations itself: it propagates literals, decides branches, and removes what the inliner left
 * for calls (names for arguments, variables for results, regions). What the range analysis proves for an index in the
 * loop holds for every iteration. */
#ifndef VY_OPT_UNROLL_ARRAYS_H
#define VY_OPT_UNROLL_ARRAYS_H

#include "base/memory.h"
#include "ir/model.h"
#include "vyre/program.h"

/* Rewrites a program of level legal. *out receives one reference: the same object if it has no private arrays, or if
 * the result is over a limit of the language. It is valid if `program` is, and has no fingerprint; what was made is
 * nobody else's (vyre_program.is_unique), and whoever hands it on says so.
 *
 * VYRE_NO_MEMORY  *out is NULL */
vyre_status vy_unroll_arrays(const vyre_program *program, vyre_program **out, vyre_error *error);

/* About how many statements and expressions a program of any level is when its loops over private arrays are written
 * out; 0 if it has no such arrays.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_unroll_arrays_size(const vyre_program *program, uint64_t *nodes, vyre_error *error);

/* Plan of unrolling loops over private arrays: what becomes of the loops, arrays and variables of a program. Internal
 * to unroll_arrays.c and unroll_arrays_plan.c. */
/* What becomes of a statement. */
typedef enum vy_unroll_arrays_stmt {
    VY_UNROLL_KEEP,
    VY_UNROLL_ITERATIONS, /* a `for`: trip by trip */
    VY_UNROLL_LET,        /* the only assignment of a variable: declares it */
    VY_UNROLL_ALIAS,      /* a `let`: another name of a variable */
    VY_UNROLL_INLINE,     /* a `let`, or what becomes one: its value stands where it is used */
    VY_UNROLL_NOTHING
} vy_unroll_arrays_stmt;

/* What becomes of an array. */
typedef enum vy_unroll_arrays_array { VY_ARRAY_STAYS, VY_ARRAY_VARIABLES, VY_ARRAY_LITERALS } vy_unroll_arrays_array;

/* Arrays of more elements together stay arrays. */
enum { VY_UNROLL_ARRAYS_ELEMENTS = 256 };

typedef struct vy_unroll_arrays_plan {
    uint32_t *first_expr;    /* by statement, and of the end */
    uint8_t *becomes;        /* by statement: vy_unroll_arrays_stmt */
    uint8_t *may_be_counted; /* by loop: its trips may be known once those around it are written out */
    uint8_t *holds;          /* by loop that is written trip by trip: its trips are one row of statements */
    uint32_t *there;         /* by variable: the statement whose value stands where it is used; VY_NONE */
    uint32_t *exprs;         /* by statement: how many its trees are, at most */
    /* By expression: the last of a tree that starts there and is nothing but a literal in every trip, or a load from
     * what does not stay an array; VY_NONE. */
    uint32_t *known_from;
    uint8_t *is_known;       /* by expression: it is such a literal */
    uint8_t *loads;          /* by statement: it has loads from what stays an array */
    uint32_t *size;          /* by statement: nodes of what it becomes; of a loop that stays, those of its body */
    uint32_t nodes;          /* of all of it, about */
    uint32_t room;           /* nodes that loops which may be counted may become, together */
    uint8_t *array;          /* by memory: vy_unroll_arrays_array */
    uint32_t *first_element; /* by memory: of `elements` */
    uint64_t elements[VY_UNROLL_ARRAYS_ELEMENTS]; /* of literals their bits; free to use for variables */
    vy_arena arena;
} vy_unroll_arrays_plan;

/* Whether there is anything to write out: a program that consists of its entry, with private arrays. */
int vy_unroll_arrays_takes(const vyre_program *program);

/* For a program that is taken. Free it also after a failure. */
vyre_status vy_unroll_arrays_plan_make(vy_unroll_arrays_plan *plan, const vyre_program *program, vyre_error *error);
void vy_unroll_arrays_plan_free(vy_unroll_arrays_plan *plan);

/* Whether a loop with such a body is written out in so many trips. */
int vy_unroll_arrays_pays(int touches_private, uint32_t trips, uint64_t body);

#endif
