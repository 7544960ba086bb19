/* Lowering of collectives: replaces every collective that the target does not execute natively by code in the canonical
 * order (docs/bits.md). The phase runs before bounds checks and the numeric phases: the combining op is an ordinary op
 * of the original type, which later phases lower.
 *
 *   collectives.c          selection, the arrays for the exchange, the walk over the program
 *   collectives_reduce.c   reductions and scans
 *   collectives_shuffle.c  votes, broadcasts and shuffles; moving a value between lanes of the hardware
 *
 * Invocations exchange values through a workgroup array with barriers or, in blocks of `block` consecutive invocations,
 * through native shuffles. What must stay true:
 *
 *  - Barriers and native shuffles are where the collective was, never under an added condition.
 *  - Accesses to the arrays are unguarded: their indices are in bounds by construction.
 *  - An element of an array is written before it is read, and only existing lanes are read: the last block may be
 *    partial.
 *  - An array that has been read is written again only after a barrier. `unfree` records the arrays read since the last
 * one. */
#ifndef VY_LOWER_COLLECTIVES_H
#define VY_LOWER_COLLECTIVES_H

#include "lower/legalize.h"
#include "lower/legalizer.h"

/* Writes out the collectives of `program`, which is inlined, and drops its prints. The result is of level legal. */
vyre_status vy_legalize_collectives(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                    vyre_error *error);

/* ---- between the files of the phase ---- */

/* Arrays are shared by all collectives of a type; one more holds votes. Short ones are there twice: while one is still
 * being read, the other can be written, and a meeting in it frees the first. */
enum {
    VY_COLLECTIVE_LOWER_VOTES = VYRE_TYPE_COUNT,
    VY_COLLECTIVE_LOWER_ARRAYS,
    VY_COLLECTIVE_LOWER_TWIN = VY_COLLECTIVE_LOWER_ARRAYS,
    VY_COLLECTIVE_LOWER_SHORT = 64
};

typedef struct vy_collective_lowering {
    vy_legalizer rw; /* for its trees and its draft; it has no phase */
    const vy_target_desc *target;
    uint32_t count; /* invocations of a workgroup */
    uint32_t block; /* consecutive invocations that exchange by native shuffles; 1: none do */
    uint32_t arrays
        [2 *
         VY_COLLECTIVE_LOWER_ARRAYS]; /* of the draft; the twin of one is VY_COLLECTIVE_LOWER_TWIN behind it; VY_NONE */
    uint32_t unfree;                  /* bits 1 << array: read since the last barrier */
} vy_collective_lowering;

/* A collective being written out. Trees are those of the lowering; all here are leaves. */
typedef struct vy_collective_site {
    vy_collective_lowering *m;
    vyre_collective kind;
    vyre_op combine;
    vyre_type type;   /* of the values */
    uint32_t width;   /* invocations that meet: those of a subgroup, or of the workgroup if that is no larger */
    uint32_t value;   /* of this invocation */
    uint32_t operand; /* the second one; VY_NONE */
    uint32_t index;   /* in the workgroup */
} vy_collective_site;

/* The result of the collective, a tree. */
uint32_t vy_collective_combine(vy_collective_site *meeting);
uint32_t vy_collective_vote(vy_collective_site *meeting);
uint32_t vy_collective_move(vy_collective_site *meeting);

/* How many words votes take: a bit for each invocation, in pairs of words for subgroups of 64, or one for all. */
uint32_t vy_collective_vote_words(const vy_collective_lowering *m, vyre_collective kind, uint32_t width);

/* What a collective meets in: an array (VY_NONE: none) of how many elements. */
typedef struct vy_collective_storage {
    uint32_t array, elements;
} vy_collective_storage;

/* Whether the members of a meeting lie in one block, so that they need no array. */
static inline int vy_collective_in_block(const vy_collective_lowering *m, uint32_t width) {
    return width <= m->block;
}

/* Whether there is a lane in every block for each block of the workgroup: all are whole, and there are no more of them
 * than lanes. */
static inline int vy_collective_fits_lanes(const vy_collective_lowering *m, uint32_t width) {
    return width == m->count && m->count % m->block == 0 && m->count / m->block <= m->block;
}

/* ---- trees: operands that are leaves may be used again ---- */

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
/* Before an array is written: gives it, or its twin, when nobody reads that any more. And after it has been read for
 * the last time. */
uint32_t vy_collective_open(vy_collective_lowering *m, uint32_t array);
void vy_collective_close(vy_collective_lowering *m, uint32_t array);
/* The value of another lane of the hardware's subgroup, by its number there. In uniform control. */
uint32_t vy_collective_shuffle(vy_collective_lowering *m, vyre_type type, uint32_t value, uint32_t lane);
/* A value as it lies in an array, and back: a bool as a u32. */
uint32_t vy_collective_pack(vy_collective_lowering *m, uint32_t value);
uint32_t vy_collective_unpack(vy_collective_lowering *m, vyre_type type, uint32_t element);
/* The number of this invocation in its block, a leaf. */
uint32_t vy_collective_lane(vy_collective_site *meeting);

#endif
