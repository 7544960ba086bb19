/* What the parts of the law checker share. */
#ifndef VY_DIALECT_LAW_INTERNAL_H
#define VY_DIALECT_LAW_INTERNAL_H

#include "base/string.h"
#include "dialect/law_check.h"

/* ---- law_equation.c: what a law says, as a program ---- */

typedef enum vy_law_relation {
    VY_LAW_EQUAL,   /* the same bits: NaN equals NaN, -0 is not +0 */
    VY_LAW_AT_MOST, /* the order of the type; -0 < +0, NaN is neither above nor below anything */
    VY_LAW_AT_LEAST,
    VY_LAW_NOT_ZERO /* of the left side alone; -0 is zero too */
} vy_law_relation;

/* Of which operands an equation speaks. */
typedef enum vy_law_premise {
    VY_LAW_ALWAYS,
    VY_LAW_ORDERED, /* a <= b */
    VY_LAW_NONZERO  /* neither a nor b is zero */
} vy_law_premise;

/* One equation of a law, written with f for the op, g and n for the ops that the law names, and e, z, low and high for its values. f(*) has an operand
 * for each input, f(=a) the same for all. */
typedef struct vy_law_equation {
    vyre_law_kind law;
    int inputs; /* that the op has: 0 any number, 2 more than one */
    vy_law_premise premise;
    const char *left; /* a call */
    vy_law_relation relation;
    const char *right; /* NULL: there is none */
} vy_law_equation;

/* The next equation of the law for this op, behind `last` (NULL: the first); NULL if there is none. */
const vy_law_equation *vy_law_next_equation(const vyre_op_definition *op, vyre_law_kind law,
                                            const vy_law_equation *last);

typedef struct vy_law_operand {
    const char *name; /* as messages call it: `length` bytes of the equation, or of the op */
    size_t length;
    vyre_type type;
} vy_law_operand;

/* An equation for one op. */
typedef struct vy_law_instance {
    const vyre_op_definition *op, *others[2]; /* others: what the law's letters `o` stand for */
    const vyre_law *law;
    const vy_law_equation *equation;
    vy_law_operand operands[VY_LAW_LIMIT_OPERANDS];
    uint32_t operand_count;
    vyre_type type; /* of both sides */
} vy_law_instance;

/* Fills operands and type, and gives the text of a program that looks for a tuple for which the equation does not hold. Its params are
 *   first, count   the tuples it looks at, by number
 *   show           the tuple whose sides it gives
 *   n0, s0, …      operand k of tuple i is element i / sk % nk of buffer xk
 * Its inputs are the buffers x0, …, and `broken` (u32), whose element becomes the smallest number of a tuple that breaks the law; its outputs are
 * `broken`, `left` and `right`. A bool is a u8 in a buffer. */
vyre_status vy_law_program(vy_law_instance *instance, vy_string *text, vyre_error *error);
/* What is wrong: the law's name, the op's, and how the equation fails. */
vyre_status vy_law_fail_equation(const vy_law_instance *instance, const uint64_t *tuple, uint64_t left, uint64_t right,
                                 vyre_error *error);
/* The same for an op that does not come to an end in the normal way: `what` is a sentence about the ops, "the op traps". */
vyre_status vy_law_fail_tuple(const vy_law_instance *instance, const uint64_t *tuple, const char *what,
                              vyre_error *error);
vyre_status vy_law_fail_check(const vy_law_instance *instance, const char *why, const char *fix, vyre_error *error);

/* ---- law_inputs.c: which operands are tried ---- */

/* Operand k of tuple i is values[i / stride % count] of column k. */
typedef struct vy_law_column {
    uint64_t *values;
    uint32_t count, stride;
} vy_law_column;

/* Tuples: all combinations of the columns, or (strides 1, equal counts) one tuple per row. */
typedef struct vy_law_tuples {
    vy_law_column columns[VY_LAW_LIMIT_OPERANDS];
    uint32_t column_count;
    uint64_t count;
} vy_law_tuples;

/* Fills at most two sets. `program` is the resolved one: its literals are tried too. */
enum { VY_LAW_SETS = 2 };
vyre_status vy_law_choose_inputs(const vy_law_instance *instance, const vyre_program *program,
                                 vy_law_tuples sets[VY_LAW_SETS], uint32_t *set_count, vyre_error *error);
void vy_law_tuples_free(vy_law_tuples *tuples);
static inline uint64_t vy_law_tuples_at(const vy_law_tuples *tuples, uint32_t column, uint64_t tuple) {
    const vy_law_column *c = &tuples->columns[column];
    return c->values[tuple / c->stride % c->count];
}

/* ---- law_cache.c: what was seen to hold ---- */

int vy_law_cache_contains(const vyre_digest *digest);
void vy_law_cache_insert(const vyre_digest *digest);

#endif
