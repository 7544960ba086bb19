/* Lowering of collectives: replaces every collective that the target does not execute natively by code in the
 * canonical order (docs/bits.md). The phase runs before bounds checks and the numeric phases: the combining op is an
 * ordinary op of the original type, which later phases lower.
 *  - collectives.c: selection, the arrays for the exchange, the walk over the program
 *  - collectives_reduce.c: reductions and scans
 *  - collectives_shuffle.c: votes, broadcasts and shuffles; moving a value between lanes of the hardware
 *
 * Invocations exchange values through a workgroup array with barriers or, in blocks of `block` consecutive
 * invocations, through native shuffles. Invariants:
 *  - Barriers and native shuffles are where the collective was, never under an added condition.
 *  - Accesses to the arrays are unguarded: their indices are in bounds by construction.
 *  - An element of an array is written before it is read, and only existing lanes are read: the last block may be
 *    partial.
 *  - An array that has been read is written again only after a barrier. `unfree` records the arrays read since the
 *    last one. */
#ifndef VY_LOWER_COLLECTIVES_H
#define VY_LOWER_COLLECTIVES_H

#include "lower/legalize.h"
#include "lower/legalizer.h"

/* Lowers the collectives of `program`, which has no calls, and drops its prints. The result is of level legal. */
vyre_status vy_legalize_collectives(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                    vyre_error *error);

/* ---- interface between the files of the phase ---- */

/* All collectives of a type share an array; one more array is for votes. Short arrays exist twice: while one is still
 * being read, its twin can be written, and the barrier of that exchange frees the first. */
enum {
    VY_COLLECTIVE_LOWER_VOTES = VYRE_TYPE_COUNT,
    VY_COLLECTIVE_LOWER_ARRAYS,
    VY_COLLECTIVE_LOWER_TWIN = VY_COLLECTIVE_LOWER_ARRAYS,
    VY_COLLECTIVE_LOWER_SHORT = 64
};

typedef struct vy_collective_lowering {
    vy_legalizer rw; /* for its trees and its draft; without a phase */
    const vy_target_desc *target;
    uint32_t count; /* invocations of a workgroup */
    uint32_t block; /* consecutive invocations that exchange values by native shuffles; 1: none */
    uint32_t
        arrays[2 * VY_COLLECTIVE_LOWER_ARRAYS]; /* of the draft; twins are VY_COLLECTIVE_LOWER_TWIN apart; VY_NONE */
    uint32_t unfree;                            /* bits 1 << array: read since the last barrier */
} vy_collective_lowering;

/* A collective being lowered. Trees are those of `rw`; all of them are leaves here. */
typedef struct vy_collective_site {
    vy_collective_lowering *m;
    vyre_collective kind;
    vyre_op combine;
    vyre_type type;   /* of the values */
    uint32_t width;   /* participating invocations: of a subgroup, or of the workgroup if it is not larger */
    uint32_t value;   /* of this invocation */
    uint32_t operand; /* the second one; VY_NONE */
    uint32_t index;   /* in the workgroup */
} vy_collective_site;

/* Returns the result of the collective, a tree. */
uint32_t vy_collective_combine(vy_collective_site *meeting);
uint32_t vy_collective_vote(vy_collective_site *meeting);
uint32_t vy_collective_move(vy_collective_site *meeting);

/* The number of words for votes: a bit per invocation, in pairs of words for subgroups of 64, or one word for all. */
uint32_t vy_collective_vote_words(const vy_collective_lowering *m, vyre_collective kind, uint32_t width);

/* The array for a collective (VY_NONE: none) and its number of elements. */
typedef struct vy_collective_storage {
    uint32_t array, elements;
} vy_collective_storage;

/* Whether the participants are in one block, so that they need no array. */
static inline int vy_collective_in_block(const vy_collective_lowering *m, uint32_t width) {
    return width <= m->block;
}

/* Whether every block has a lane for each block of the workgroup: all blocks are complete, and there are at most as
 * many as lanes. */
static inline int vy_collective_fits_lanes(const vy_collective_lowering *m, uint32_t width) {
    return width == m->count && m->count % m->block == 0 && m->count / m->block <= m->block;
}

/* ---- trees: an operand that is a leaf may be used again ---- */

uint32_t vy_collective_op(vy_collective_lowering *m, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);
uint32_t vy_collective_number(vy_collective_lowering *m, uint32_t value);
uint32_t vy_collective_u32(vy_collective_lowering *m, vyre_op op, uint32_t a, uint32_t b);
uint32_t vy_collective_test(vy_collective_lowering *m, vyre_op compare, uint32_t a, uint32_t b);
/* Whether a bit of a number is set. */
uint32_t vy_collective_has(vy_collective_lowering *m, uint32_t number, uint32_t bit);
/* The tree as a leaf: itself if it is one, else a new variable. */
uint32_t vy_collective_let(vy_collective_lowering *m, const char *name, uint32_t tree);
/* A new variable that is assigned to. */
uint32_t vy_collective_var(vy_collective_lowering *m, const char *name, uint32_t tree);
uint32_t vy_collective_load(vy_collective_lowering *m, uint32_t array, vyre_type type, uint32_t index);

/* ---- statements ---- */

void vy_collective_assign(vy_collective_lowering *m, uint32_t variable, uint32_t tree);
void vy_collective_if(vy_collective_lowering *m, uint32_t condition);
void vy_collective_end(vy_collective_lowering *m);
void vy_collective_store(vy_collective_lowering *m, uint32_t array, uint32_t index, uint32_t value);
void vy_collective_barrier(vy_collective_lowering *m);
/* Before an array is written: returns the array or its twin, whichever is not being read any more. After the last read
 * of it: records that. */
uint32_t vy_collective_open(vy_collective_lowering *m, uint32_t array);
void vy_collective_close(vy_collective_lowering *m, uint32_t array);
/* The value of another lane of the hardware's subgroup, by its number there. Requires uniform control flow. */
uint32_t vy_collective_shuffle(vy_collective_lowering *m, vyre_type type, uint32_t value, uint32_t lane);
/* The representation of a value in an array (a bool is a u32), and the inverse. */
uint32_t vy_collective_pack(vy_collective_lowering *m, uint32_t value);
uint32_t vy_collective_unpack(vy_collective_lowering *m, vyre_type type, uint32_t element);
/* The number of this invocation in its block, a leaf. */
uint32_t vy_collective_lane(vy_collective_site *meeting);

#endif
