/* Op tables: the lists of the language (vyre/op.h, vyre/program.h) as arrays of rows (collectives, atomics, builtins,
 * accesses), and op sets.
 *
 * Every component reads these tables; none expands the lists again for a column. Constant data, any thread. Indices
 * must be in range. */
#ifndef VY_IR_OP_TABLES_H
#define VY_IR_OP_TABLES_H

#include "vyre/op.h"
#include "vyre/program.h"

typedef struct vy_collective_row {
    const char *name;
    uint8_t operands, combines;
    uint8_t over[2]; /* whether it exists over [0] the workgroup, [1] a subgroup */
    uint8_t level;   /* vyre_level */
    const char *doc;
} vy_collective_row;
extern const vy_collective_row vy_collectives[VYRE_COLLECTIVE_COUNT];

/* The number of ops and collectives of level source. Those collectives are first in their list; the ops are in
 * vy_source_ops, in the order of their list. */
#define VY_IS_SOURCE 1
#define VY_IS_LEGAL 0
enum {
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc) +VY_IS_##level
    VY_SOURCE_OPS = 0 VYRE_OP_LIST(X),
#undef X
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) +VY_IS_##level
    VY_SOURCE_COLLECTIVES = 0 VYRE_COLLECTIVE_LIST(X)
#undef X
};

extern const uint8_t vy_source_ops[VY_SOURCE_OPS];

/* The tags of ops in the wire form, and the op of a tag, or VYRE_OP_COUNT. */
enum { VY_OP_TAGS = 128 };
extern const uint8_t vy_op_tags[VYRE_OP_COUNT];
vyre_op vy_op_of_tag(unsigned tag);

/* The ops that reduce and scan may combine with. */
#define X(ID) +1
enum { VY_COMBINE_COUNT = 0 VYRE_COMBINE_LIST(X) };
#undef X
extern const uint8_t vy_combine_ops[VY_COMBINE_COUNT];

typedef struct vy_atomic_row {
    const char *name;
    uint8_t operands; /* in addition to the element */
    uint8_t gives;    /* 1 if it has a result */
    const char *doc;
} vy_atomic_row;
extern const vy_atomic_row vy_atomics[VYRE_ATOMIC_COUNT];

typedef struct vy_builtin_row {
    const char *name;
    uint8_t has_axes, is_uniform; /* uniform over the workgroup */
    const char *doc;
} vy_builtin_row;
extern const vy_builtin_row vy_builtins[VYRE_BUILTIN_COUNT];

typedef struct vy_access_row {
    const char *name;
    uint8_t loads, stores, is_input, is_output;
} vy_access_row;
extern const vy_access_row vy_accesses[VYRE_ACCESS_COUNT];

/* ---- op sets ----
 *
 * The ops, builtins, atomics, collectives and memory accesses that a program uses, or that a backend supports, one bit
 * each. Names are those of `supported_ops` (vyre/backend.h). A name without a construct in the language is not in any
 * set. */

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
/* The ops of a program and its functions. Reads every statement and expression; any thread. */
vy_op_set vy_op_set_of_program(const vyre_program *program);
/* The same, computed once and cached in the program. */
vy_op_set vy_program_ops(vyre_program *program);
/* The name of the first member of `needed` that is not in `offered`, from a static table; NULL if all are. */
const char *vy_op_set_missing(const vy_op_set *needed, const vy_op_set *offered);
/* The name of a member below VY_OP_SET_COUNT; NULL for a collective that does not exist at that scope, and for rows of
 * level legal. */
const char *vy_op_set_name(unsigned member);

#endif
