/* Op sets: which ops, builtins, atomics, collectives and memory accesses a program uses, or a backend runs, one bit each.
 *
 * Names are those of `supported_ops` (vyre/backend.h). A name that no construct of the language has belongs to no set. */
#ifndef VY_IR_OP_SET_H
#define VY_IR_OP_SET_H

#include "vyre/op.h"
#include "vyre/program.h"

enum {
    VY_OP_SET_BUILTIN = VYRE_OP_COUNT,
    VY_OP_SET_ATOMIC = VY_OP_SET_BUILTIN + VYRE_BUILTIN_COUNT,
    VY_OP_SET_WORKGROUP = VY_OP_SET_ATOMIC + VYRE_ATOMIC_COUNT,
    VY_OP_SET_SUBGROUP = VY_OP_SET_WORKGROUP + VYRE_COLLECTIVE_COUNT,
    VY_OP_SET_LOAD = VY_OP_SET_SUBGROUP + VYRE_COLLECTIVE_COUNT,
    VY_OP_SET_STORE,
    VY_OP_SET_BARRIER,
    VY_OP_SET_GRID_BARRIER,
    VY_OP_SET_COUNT,
    VY_OP_SET_WORDS = (VY_OP_SET_COUNT + 63) / 64
};

typedef struct vy_op_set {
    uint64_t words[VY_OP_SET_WORDS];
} vy_op_set;

static inline void vy_op_set_add(vy_op_set *set, unsigned member) {
    set->words[member / 64] |= UINT64_C(1) << member % 64;
}

/* The members of a list of names; NULL entries are skipped. */
vy_op_set vy_op_set_of_names(const char *const *names, size_t count);
/* The ops of a program and of the functions it carries. Reads every statement and expression; any thread. */
vy_op_set vy_op_set_of_program(const vyre_program *program);
/* The same, computed once and kept in the program. */
vy_op_set vy_program_ops(vyre_program *program);
/* The first member of `needed` that is not in `offered`, by its name in a static table; NULL if there is none. */
const char *vy_op_set_missing(const vy_op_set *needed, const vy_op_set *offered);
/* The name of a member below VY_OP_SET_COUNT; NULL for a collective that the scope does not have, and for rows of level legal. */
const char *vy_op_set_name(unsigned member);

#endif
