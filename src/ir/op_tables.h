/* The lists of the language (vyre/op.h, vyre/program.h) as rows that code can index: collectives, atomics, builtins, accesses. Every room asks
 * here; nobody expands the lists again for a column. Constant data, any thread. Indices must be in range. */
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

/* How many ops and collectives have level source: they come first in their lists. */
#define VY_IS_SOURCE 1
#define VY_IS_LEGAL 0
enum {
#define X(ID, name, symbol, precedence, arity, cls, rule, level, edge, doc) +VY_IS_##level
    VY_SOURCE_OPS = 0 VYRE_OP_LIST(X),
#undef X
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) +VY_IS_##level
    VY_SOURCE_COLLECTIVES = 0 VYRE_COLLECTIVE_LIST(X)
#undef X
};

/* The ops that reduce and scan may combine with. */
#define X(ID) +1
enum { VY_COMBINE_COUNT = 0 VYRE_COMBINE_LIST(X) };
#undef X
extern const uint8_t vy_combine_ops[VY_COMBINE_COUNT];

typedef struct vy_atomic_row {
    const char *name;
    uint8_t operands; /* beside the element */
    uint8_t gives;    /* 1 if it has a value */
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

#endif
