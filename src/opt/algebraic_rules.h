/* Algebraic identities as tables, for instcombine: op(a, b) equals something simpler, for operands of the given classes
 * of types.
 *
 * Requirements on a row. It holds for every value of every type of its classes: integers wrap, x / 0 is all ones, shift
 * amounts count modulo the width, NaN is one value unequal to itself, −0 is not +0 (docs/bits.md). The result is
 * smaller than the left side, so that applying rows terminates. instcombine first moves a literal to the right of a
 * commutative op, so such an op needs one row instead of two. A test tries every row on all values of the 8-bit and
 * 16-bit types of its classes. */
#ifndef VY_OPT_ALGEBRAIC_RULES_H
#define VY_OPT_ALGEBRAIC_RULES_H

#include "vyre/op.h"

/* Required form of an operand. */
typedef enum vy_operand_is {
    VY_IS_ANY,
    VY_IS_SAME, /* structurally equal to the first operand */
    VY_IS_ZERO, /* +0 of floats */
    VY_IS_MINUS_ZERO,
    VY_IS_ONE,
    VY_IS_MINUS_ONE, /* all bits set for integers, -1 for floats */
    VY_IS_NAN
} vy_operand_is;

/* Replacement of the op. Literals have the type of the result. */
typedef enum vy_becomes {
    VY_BECOMES_A,
    VY_BECOMES_B,
    VY_BECOMES_ZERO, /* also: false */
    VY_BECOMES_ONE,  /* also: true */
    VY_BECOMES_ALL_ONES,
    VY_BECOMES_NAN,
    VY_BECOMES_NEG_A,
    VY_BECOMES_NEG_B,
    VY_BECOMES_NOT_A,
    VY_BECOMES_LNOT_A
} vy_becomes;

typedef struct vy_identity {
    uint8_t op;
    uint8_t classes; /* VYRE_CLASS_* of the operands */
    uint8_t a, b;    /* vy_operand_is */
    uint8_t becomes; /* vy_becomes */
} vy_identity;

/* X(op, classes of the operands, a is, b is, becomes) */
#define VY_IDENTITY_LIST(X)                                                                                            \
    X(ADD, INTEGER, ANY, ZERO, A)                                                                                      \
    X(ADD, FLOAT, ANY, MINUS_ZERO, A) /* -0 + +0 is +0, so +0 is not an identity */                                    \
    X(ADD, FLOAT, ANY, NAN, NAN)                                                                                       \
    X(SUB, NUMBER, ANY, ZERO, A)                                                                                       \
    X(SUB, INTEGER, ANY, SAME, ZERO) /* not for floats: inf - inf is NaN */                                            \
    X(SUB, INTEGER, ZERO, ANY, NEG_B)                                                                                  \
    X(SUB, FLOAT, MINUS_ZERO, ANY, NEG_B)                                                                              \
    X(SUB, FLOAT, ANY, NAN, NAN)                                                                                       \
    X(SUB, FLOAT, NAN, ANY, NAN)                                                                                       \
    X(MUL, INTEGER, ANY, ZERO, ZERO)                                                                                   \
    X(MUL, NUMBER, ANY, ONE, A)                                                                                        \
    X(MUL, NUMBER, ANY, MINUS_ONE, NEG_A)                                                                              \
    X(MUL, FLOAT, ANY, NAN, NAN)                                                                                       \
    X(MUL_HIGH, INTEGER, ANY, ZERO, ZERO)                                                                              \
    X(MUL_HIGH, UNSIGNED, ANY, ONE, ZERO)                                                                              \
    X(DIV, INTEGER, ANY, ZERO, ALL_ONES)                                                                               \
    X(DIV, NUMBER, ANY, ONE, A)                                                                                        \
    X(DIV, SIGNED, ANY, MINUS_ONE, NEG_A)                                                                              \
    X(DIV, FLOAT, ANY, MINUS_ONE, NEG_A)                                                                               \
    X(DIV, FLOAT, ANY, NAN, NAN)                                                                                       \
    X(DIV, FLOAT, NAN, ANY, NAN)                                                                                       \
    X(REM, INTEGER, ANY, ZERO, A)                                                                                      \
    X(REM, INTEGER, ANY, ONE, ZERO)                                                                                    \
    X(REM, INTEGER, ANY, SAME, ZERO)                                                                                   \
    X(REM, INTEGER, ZERO, ANY, ZERO)                                                                                   \
    X(REM, SIGNED, ANY, MINUS_ONE, ZERO)                                                                               \
    X(AND, INTEGER, ANY, ZERO, ZERO)                                                                                   \
    X(AND, INTEGER, ANY, MINUS_ONE, A)                                                                                 \
    X(AND, INTEGER, ANY, SAME, A)                                                                                      \
    X(OR, INTEGER, ANY, ZERO, A)                                                                                       \
    X(OR, INTEGER, ANY, MINUS_ONE, ALL_ONES)                                                                           \
    X(OR, INTEGER, ANY, SAME, A)                                                                                       \
    X(XOR, INTEGER, ANY, ZERO, A)                                                                                      \
    X(XOR, INTEGER, ANY, SAME, ZERO)                                                                                   \
    X(XOR, INTEGER, ANY, MINUS_ONE, NOT_A)                                                                             \
    X(LAND, BOOL, ANY, ZERO, ZERO)                                                                                     \
    X(LAND, BOOL, ANY, ONE, A)                                                                                         \
    X(LAND, BOOL, ANY, SAME, A)                                                                                        \
    X(LOR, BOOL, ANY, ZERO, A)                                                                                         \
    X(LOR, BOOL, ANY, ONE, ONE)                                                                                        \
    X(LOR, BOOL, ANY, SAME, A)                                                                                         \
    X(SHL, INTEGER, ANY, ZERO, A)                                                                                      \
    X(SHL, INTEGER, ZERO, ANY, ZERO)                                                                                   \
    X(SHR, INTEGER, ANY, ZERO, A)                                                                                      \
    X(SHR, INTEGER, ZERO, ANY, ZERO)                                                                                   \
    X(SHR, SIGNED, MINUS_ONE, ANY, ALL_ONES)                                                                           \
    X(ROTL, INTEGER, ANY, ZERO, A)                                                                                     \
    X(ROTL, INTEGER, ZERO, ANY, ZERO)                                                                                  \
    X(ROTL, INTEGER, MINUS_ONE, ANY, ALL_ONES)                                                                         \
    X(ROTR, INTEGER, ANY, ZERO, A)                                                                                     \
    X(ROTR, INTEGER, ZERO, ANY, ZERO)                                                                                  \
    X(ROTR, INTEGER, MINUS_ONE, ANY, ALL_ONES)                                                                         \
    X(MIN, NUMBER, ANY, SAME, A)                                                                                       \
    X(MIN, UNSIGNED, ANY, ZERO, ZERO)                                                                                  \
    X(MIN, UNSIGNED, ANY, MINUS_ONE, A)                                                                                \
    X(MIN, FLOAT, ANY, NAN, A)                                                                                         \
    X(MAX, NUMBER, ANY, SAME, A)                                                                                       \
    X(MAX, UNSIGNED, ANY, ZERO, A)                                                                                     \
    X(MAX, UNSIGNED, ANY, MINUS_ONE, ALL_ONES)                                                                         \
    X(MAX, FLOAT, ANY, NAN, A)                                                                                         \
    X(COPYSIGN, FLOAT, ANY, SAME, A)                                                                                   \
    X(COPYSIGN, FLOAT, NAN, ANY, NAN)                                                                                  \
    X(EQ, INTEGER, ANY, SAME, ONE) /* not for floats: NaN is unequal to itself */                                      \
    X(EQ, BOOL, ANY, SAME, ONE)                                                                                        \
    X(EQ, BOOL, ANY, ONE, A)                                                                                           \
    X(EQ, BOOL, ANY, ZERO, LNOT_A)                                                                                     \
    X(EQ, FLOAT, ANY, NAN, ZERO)                                                                                       \
    X(NE, INTEGER, ANY, SAME, ZERO)                                                                                    \
    X(NE, BOOL, ANY, SAME, ZERO)                                                                                       \
    X(NE, BOOL, ANY, ZERO, A)                                                                                          \
    X(NE, BOOL, ANY, ONE, LNOT_A)                                                                                      \
    X(NE, FLOAT, ANY, NAN, ONE)                                                                                        \
    X(LT, NUMBER, ANY, SAME, ZERO)                                                                                     \
    X(LT, UNSIGNED, ANY, ZERO, ZERO)                                                                                   \
    X(LT, UNSIGNED, MINUS_ONE, ANY, ZERO)                                                                              \
    X(LE, INTEGER, ANY, SAME, ONE)                                                                                     \
    X(LE, UNSIGNED, ANY, MINUS_ONE, ONE)                                                                               \
    X(LE, UNSIGNED, ZERO, ANY, ONE)                                                                                    \
    X(GT, NUMBER, ANY, SAME, ZERO)                                                                                     \
    X(GT, UNSIGNED, ZERO, ANY, ZERO)                                                                                   \
    X(GT, UNSIGNED, ANY, MINUS_ONE, ZERO)                                                                              \
    X(GE, INTEGER, ANY, SAME, ONE)                                                                                     \
    X(GE, UNSIGNED, ANY, ZERO, ONE)                                                                                    \
    X(GE, UNSIGNED, MINUS_ONE, ANY, ONE)

#define X(OP, CLASSES, A, B, BECOMES) +1
enum { VY_IDENTITY_COUNT = 0 VY_IDENTITY_LIST(X) };
#undef X
extern const vy_identity vy_identities[VY_IDENTITY_COUNT];

/* The bits of ZERO … NAN as a value of the type. Returns 0 if the type has no such value (and for ANY, SAME), else
 * 1. */
int vy_operand_bits(vy_operand_is is, vyre_type type, uint64_t *bits);

/* Reassociation of integer constants: (x op c) op d = x op' e for literals c, d. Returns the form of the result. */
typedef enum vy_chain { VY_CHAIN_NONE, VY_CHAIN_OP, VY_CHAIN_LITERAL } vy_chain;
/* OP: both ops become x op *bits. LITERAL: both become the literal *bits. */
vy_chain vy_chain_of(vyre_op op, vyre_type type, uint64_t c, uint64_t d, uint64_t *bits);

/* ---- pairs of unary ops, and inverted comparisons ---- */

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
    X(ABS, NEG, SIGNED, OUTER) /* abs of unsigned is the identity, so -x stays */                                      \
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

/* !(a op b) = a other b. X(op, other, classes of the operands). Ordered comparisons of floats are excluded because
 * of NaN. */
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
