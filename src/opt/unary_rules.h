/* Two unary ops in a row, and comparisons that are each other's opposite: rows for the simplifier. Each holds for every value of every
 * type of its classes; a test tries them all on the 8-bit and 16-bit ones. */
#ifndef VY_OPT_UNARY_RULES_H
#define VY_OPT_UNARY_RULES_H

#include "vyre/op.h"

typedef enum vy_pair_becomes {
    VY_PAIR_OPERAND, /* outer(inner(x)) = x */
    VY_PAIR_INNER,   /* = inner(x) */
    VY_PAIR_OUTER    /* = outer(x) */
} vy_pair_becomes;

/* X(outer, inner, classes of x, becomes) */
#define VY_UNARY_PAIR_LIST(X)                                                                                          \
    X(NEG, NEG, NUMBER, OPERAND)                                                                                       \
    X(NOT, NOT, INTEGER, OPERAND)                                                                                      \
    X(LNOT, LNOT, BOOL, OPERAND)                                                                                       \
    X(REVERSE_BITS, REVERSE_BITS, INTEGER, OPERAND)                                                                    \
    X(REVERSE_BYTES, REVERSE_BYTES, INTEGER, OPERAND)                                                                  \
    X(ABS, ABS, NUMBER, INNER)                                                                                         \
    X(ABS, NEG, SIGNED, OUTER) /* abs of unsigned is nothing, so -x stays */                                           \
    X(ABS, NEG, FLOAT, OUTER)                                                                                          \
    X(POPCOUNT, REVERSE_BITS, INTEGER, OUTER)                                                                          \
    X(POPCOUNT, REVERSE_BYTES, INTEGER, OUTER)                                                                         \
    X(FLOOR, FLOOR, FLOAT, INNER)                                                                                      \
    X(FLOOR, CEIL, FLOAT, INNER)                                                                                       \
    X(FLOOR, TRUNC, FLOAT, INNER)                                                                                      \
    X(FLOOR, ROUND, FLOAT, INNER)                                                                                      \
    X(CEIL, FLOOR, FLOAT, INNER)                                                                                       \
    X(CEIL, CEIL, FLOAT, INNER)                                                                                        \
    X(CEIL, TRUNC, FLOAT, INNER)                                                                                       \
    X(CEIL, ROUND, FLOAT, INNER)                                                                                       \
    X(TRUNC, FLOOR, FLOAT, INNER)                                                                                      \
    X(TRUNC, CEIL, FLOAT, INNER)                                                                                       \
    X(TRUNC, TRUNC, FLOAT, INNER)                                                                                      \
    X(TRUNC, ROUND, FLOAT, INNER)                                                                                      \
    X(ROUND, FLOOR, FLOAT, INNER)                                                                                      \
    X(ROUND, CEIL, FLOAT, INNER)                                                                                       \
    X(ROUND, TRUNC, FLOAT, INNER)                                                                                      \
    X(ROUND, ROUND, FLOAT, INNER)                                                                                      \
    X(IS_NAN, NEG, FLOAT, OUTER)                                                                                       \
    X(IS_NAN, ABS, FLOAT, OUTER)                                                                                       \
    X(IS_INF, NEG, FLOAT, OUTER)                                                                                       \
    X(IS_INF, ABS, FLOAT, OUTER)                                                                                       \
    X(IS_FINITE, NEG, FLOAT, OUTER)                                                                                    \
    X(IS_FINITE, ABS, FLOAT, OUTER)

typedef struct vy_unary_pair {
    uint8_t outer, inner, classes, becomes;
} vy_unary_pair;

#define X(OUTER, INNER, CLASSES, BECOMES) +1
enum { VY_UNARY_PAIR_COUNT = 0 VY_UNARY_PAIR_LIST(X) };
#undef X
extern const vy_unary_pair vy_unary_pairs[VY_UNARY_PAIR_COUNT];

/* !(a op b) = a other b. X(op, other, classes of the operands): of floats only what NaN does not spoil */
#define VY_INVERSE_LIST(X)                                                                                             \
    X(EQ, NE, ANY)                                                                                                     \
    X(NE, EQ, ANY)                                                                                                     \
    X(LT, GE, INTEGER)                                                                                                 \
    X(LE, GT, INTEGER)                                                                                                 \
    X(GT, LE, INTEGER)                                                                                                 \
    X(GE, LT, INTEGER)

typedef struct vy_inverse {
    uint8_t op, other, classes;
} vy_inverse;

#define X(OP, OTHER, CLASSES) +1
enum { VY_INVERSE_COUNT = 0 VY_INVERSE_LIST(X) };
#undef X
extern const vy_inverse vy_inverses[VY_INVERSE_COUNT];

#endif
