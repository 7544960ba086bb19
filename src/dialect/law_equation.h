/* Equations of laws and their test inputs, for the law checker (law_check.h). */
#ifndef VY_DIALECT_LAW_EQUATION_H
#define VY_DIALECT_LAW_EQUATION_H

#include "base/string.h"
#include "dialect/law_check.h"

/* ---- equations and their programs ---- */

typedef enum vy_law_relation {
    VY_LAW_EQUAL,   /* equal bits: NaN equals NaN, -0 does not equal +0 */
    VY_LAW_AT_MOST, /* the order of the type; -0 < +0, and NaN is unordered */
    VY_LAW_AT_LEAST,
    VY_LAW_NOT_ZERO /* of the left side; -0 counts as zero */
} vy_law_relation;

/* Condition on the operands of an equation. */
typedef enum vy_law_premise {
    VY_LAW_ALWAYS,
    VY_LAW_ORDERED, /* a <= b */
    VY_LAW_NONZERO  /* neither a nor b is zero */
} vy_law_premise;

/* One equation of a law. f denotes the op, g and n the ops that the law names, and e, z, low and high its values. f(*)
 * has one operand per input; f(=a) has the same operand for all inputs. */
typedef struct vy_law_equation {
    vyre_law_kind law;
    int inputs; /* number of inputs of the op: 0 any, 2 at least two */
    vy_law_premise premise;
    const char *left; /* a call */
    vy_law_relation relation;
    const char *right; /* NULL if the equation has only a left side */
} vy_law_equation;

/* Returns the equation of the law for this op that follows `last` (NULL: the first), or NULL at the end. */
const vy_law_equation *vy_law_next_equation(const vyre_op_definition *op, vyre_law_kind law,
                                            const vy_law_equation *last);

typedef struct vy_law_operand {
    const char *name; /* as messages show it: `length` bytes of the equation or of the op */
    size_t length;
    vyre_type type;
} vy_law_operand;

/* An equation applied to one op. */
typedef struct vy_law_instance {
    const vyre_op_definition *op, *others[2]; /* others: the ops that the law names, in order */
    const vyre_law *law;
    const vy_law_equation *equation;
    vy_law_operand operands[VY_LAW_LIMIT_OPERANDS];
    uint32_t operand_count;
    vyre_type type; /* of both sides */
} vy_law_instance;

/* Sets operands and type, and prints a program that searches for a tuple that violates the equation. Its params are:
 *   first, count   the range of tuple numbers to test
 *   show           the tuple whose two sides are stored
 *   n0, s0, …      operand k of tuple i is element i / sk % nk of buffer xk
 * Its inputs are the buffers x0, … and `broken` (u32), whose element becomes the smallest number of a violating tuple.
 * Its outputs are `broken`, `left` and `right`. A bool is stored as u8. */
vyre_status vy_law_program(vy_law_instance *instance, vy_string *text, vyre_error *error);
/* Fails with the name of the law, the op, the operands and both sides. */
vyre_status vy_law_fail_equation(const vy_law_instance *instance, const uint64_t *tuple, uint64_t left, uint64_t right,
                                 vyre_error *error);
/* The same for an op that does not return normally. `what` is a clause about the op, such as "the op traps". */
vyre_status vy_law_fail_tuple(const vy_law_instance *instance, const uint64_t *tuple, const char *what,
                              vyre_error *error);
vyre_status vy_law_fail_check(const vy_law_instance *instance, const char *why, const char *fix, vyre_error *error);

/* ---- test inputs ---- */

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

/* Fills at most two sets. `program` is the resolved program, whose literals are tried, too. */
enum { VY_LAW_SETS = 2 };
vyre_status vy_law_choose_inputs(const vy_law_instance *instance, const vyre_program *program,
                                 vy_law_tuples sets[VY_LAW_SETS], uint32_t *set_count, vyre_error *error);
void vy_law_tuples_free(vy_law_tuples *tuples);
static inline uint64_t vy_law_tuples_at(const vy_law_tuples *tuples, uint32_t column, uint64_t tuple) {
    const vy_law_column *c = &tuples->columns[column];
    return c->values[tuple / c->stride % c->count];
}

#endif
