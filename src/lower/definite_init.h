/* The proof that arrays are written before they are read (zero_init.h): one walk in the order of the program, with a bit for every element that is certainly written. What its parts
 * (legal_fill_*.h) share; internal to them.
 *
 * Bits only come; those that came in a block which not everybody passes go again at its end. What must stay true:
 *  - a bit of a private array holds for the invocation that is at this place, so it goes at the end of a branch, and of a loop whose trips are not
 *    known;
 *  - `written` of a workgroup array means: at the next place where the workgroup meets, somebody has stored to it. Whoever executes a store is found
 *    by computing the conditions around it for every invocation; one that cannot be computed means nobody. Conditions are counted from the
 *    innermost block with a barrier in it: the validator makes sure that all come there together;
 *  - a barrier turns `written` into `seen`, which is what reads ask for;
 *  - where every array is settled, walking a loop, or from a barrier to the end of its block, would find out nothing more: bits only come there;
 *  - what touches no array and has no barrier in it is not walked: nothing comes or is asked for there;
 *  - when the walk takes too long, everything needs to be filled. */
#ifndef VY_LOWER_DEFINITE_INIT_H
#define VY_LOWER_DEFINITE_INIT_H

#include "analysis/range.h"
#include "base/memory.h"
#include "ir/model.h"

enum { VY_DEFINITE_INIT_STEPS = 1 << 22 }; /* nodes computed and statements walked; more: it takes too long */

typedef struct vy_definite_init_array {
    uint64_t *seen, *written; /* bits; the same ones for private arrays; NULL: not looked at */
} vy_definite_init_array;

typedef struct vy_definite_init_change {
    uint64_t *word, old;
} vy_definite_init_change;
typedef VY_VECTOR(vy_definite_init_change) vy_definite_init_changes;

/* A condition around the place, and what it is. */
typedef struct vy_definite_init_condition {
    uint32_t expr;
    int holds;
} vy_definite_init_condition;

typedef struct vy_definite_init {
    const vyre_program *p;
    vy_ranges *ranges;              /* made when somebody asks */
    uint8_t *needs;                 /* by memory */
    vy_definite_init_array *arrays; /* by memory */
    uint32_t *first_expr;           /* by statement */
    uint32_t *barriers;             /* by statement: how many stand before it */
    uint32_t *touches;              /* by statement: how many before it touch an array, or are barriers */
    uint8_t *loads;                 /* by statement: it loads from an array */
    uint32_t *values;               /* by variable: the expression of its `let`, or VY_NONE */
    uint64_t *trips;                /* by variable: its value in the trip of a loop being walked */
    uint8_t *has_trip;              /* by variable */
    vy_definite_init_changes privately, together;
    VY_VECTOR(vy_definite_init_condition) path;
    uint32_t base;  /* conditions before are the same for the whole workgroup */
    uint32_t size;  /* of the workgroup */
    uint32_t times; /* trips of the loops around: how often this place is walked */
    uint32_t steps;
    int uses_place; /* the last value depends on the place in the workgroup */
    int failed;
} vy_definite_init;

#endif
