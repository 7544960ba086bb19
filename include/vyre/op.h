/* The op table: every operation of the language, one row each. The enums, the text spelling, the wire tags, the type
 * rules, the validator, the evaluator and the reference in docs/ops.md (`vyre ops`) are derived from these lists. A new
 * op is one row here, one line in the evaluator (src/ir/eval_integer.inc, eval_float.inc) and one cell in the table of
 * each emitter; a row without these does not compile.
 *
 * Threads:    any thread, concurrently. All data is constant. */
#ifndef VYRE_OP_H
#define VYRE_OP_H

#include "vyre/type.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Type rules: the relation of operand types and result type. T is in the row's class. */
typedef enum vyre_op_rule {
    VYRE_RULE_SAME,    /* T, … → T */
    VYRE_RULE_COMPARE, /* T, T → bool */
    VYRE_RULE_TEST,    /* T → bool */
    VYRE_RULE_SELECT,  /* bool, T, T → T */
    VYRE_RULE_CAST,    /* T → U: T any, U any number */
    VYRE_RULE_BITCAST  /* T → U of the same width, neither bool */
} vyre_op_rule;

/* Levels of programs. Rows marked LEGAL exist only in programs of level `legal`, which legalisation generates for a
 * device. The validator rejects them in source, and dispatch functions reject programs of level legal. */
typedef enum vyre_level { VYRE_LEVEL_SOURCE, VYRE_LEVEL_LEGAL } vyre_level;

/* Precedence of operators, weakest first. All are left-associative except select; comparisons do not chain. */
enum {
    VYRE_PRECEDENCE_CALL = 0, /* written name(a, b) */
    VYRE_PRECEDENCE_SELECT,   /* c ? a : b, right-associative */
    VYRE_PRECEDENCE_OR,       /* || */
    VYRE_PRECEDENCE_AND,      /* && */
    VYRE_PRECEDENCE_COMPARE,  /* == != < <= > >= */
    VYRE_PRECEDENCE_BIT_OR,   /* | */
    VYRE_PRECEDENCE_BIT_XOR,  /* ^ */
    VYRE_PRECEDENCE_BIT_AND,  /* & */
    VYRE_PRECEDENCE_SHIFT,    /* << >> */
    VYRE_PRECEDENCE_ADD,      /* + - */
    VYRE_PRECEDENCE_MUL,      /* * / % */
    VYRE_PRECEDENCE_UNARY     /* - ~ ! */
};

/* Ops. X(ID, wire tag, name, symbol or NULL, precedence, arity, class, rule, level, edge rule, doc line).
 *
 * A row may be anywhere in the list. Its wire tag is the next free number below 128; a tag is never changed or reused,
 * because encoded programs contain it. */
#define VYRE_OP_LIST(X)                                                                                                \
    X(NEG, 0, "neg", "-", UNARY, 1, NUMBER, SAME, SOURCE,                                                              \
      "integers wrap: -MIN = MIN; floats flip the sign, also of zero; NaN stays the canonical NaN", "negation")        \
    X(NOT, 1, "not", "~", UNARY, 1, INTEGER, SAME, SOURCE, "none", "bitwise complement")                               \
    X(LNOT, 2, "lnot", "!", UNARY, 1, BOOL, SAME, SOURCE, "none", "logical not")                                       \
    X(ABS, 3, "abs", NULL, CALL, 1, NUMBER, SAME, SOURCE, "integers wrap: abs(MIN) = MIN; abs(-0) = +0",               \
      "absolute value")                                                                                                \
    X(POPCOUNT, 4, "popcount", NULL, CALL, 1, INTEGER, SAME, SOURCE, "none", "number of one bits")                     \
    X(CLZ, 5, "clz", NULL, CALL, 1, INTEGER, SAME, SOURCE, "clz(0) = the width",                                       \
      "zero bits above the highest one bit")                                                                           \
    X(CTZ, 6, "ctz", NULL, CALL, 1, INTEGER, SAME, SOURCE, "ctz(0) = the width", "zero bits below the lowest one bit") \
    X(REVERSE_BITS, 7, "reverse_bits", NULL, CALL, 1, INTEGER, SAME, SOURCE, "none", "bit 0 becomes the top bit")      \
    X(REVERSE_BYTES, 8, "reverse_bytes", NULL, CALL, 1, INTEGER, SAME, SOURCE, "8-bit values are unchanged",           \
      "byte 0 becomes the top byte")                                                                                   \
    X(SQRT, 9, "sqrt", NULL, CALL, 1, FLOAT, SAME, SOURCE,                                                             \
      "correctly rounded; sqrt(-0) = -0; NaN for a negative operand", "square root")                                   \
    X(FLOOR, 10, "floor", NULL, CALL, 1, FLOAT, SAME, SOURCE, "exact; keeps the sign of zero",                         \
      "toward minus infinity")                                                                                         \
    X(CEIL, 11, "ceil", NULL, CALL, 1, FLOAT, SAME, SOURCE, "exact; ceil(-0.5) = -0", "toward plus infinity")          \
    X(TRUNC, 12, "trunc", NULL, CALL, 1, FLOAT, SAME, SOURCE, "exact; keeps the sign", "toward zero")                  \
    X(ROUND, 13, "round", NULL, CALL, 1, FLOAT, SAME, SOURCE, "exact; ties to even; keeps the sign",                   \
      "to the nearest integer")                                                                                        \
    X(IS_NAN, 14, "is_nan", NULL, CALL, 1, FLOAT, TEST, SOURCE, "none", "true for NaN")                                \
    X(IS_INF, 15, "is_inf", NULL, CALL, 1, FLOAT, TEST, SOURCE, "none", "true for either infinity")                    \
    X(IS_FINITE, 16, "is_finite", NULL, CALL, 1, FLOAT, TEST, SOURCE, "none", "true for neither NaN nor infinity")     \
    X(SIGNBIT, 17, "signbit", NULL, CALL, 1, FLOAT, TEST, SOURCE,                                                      \
      "true for -0; false for NaN (the canonical NaN is positive)", "true if the sign bit is set")                     \
    X(ADD, 18, "add", "+", ADD, 2, NUMBER, SAME, SOURCE,                                                               \
      "integers wrap; floats IEEE 754, nearest-even, subnormals kept", "sum")                                          \
    X(SUB, 19, "sub", "-", ADD, 2, NUMBER, SAME, SOURCE,                                                               \
      "integers wrap; floats IEEE 754, nearest-even, subnormals kept", "difference")                                   \
    X(MUL, 20, "mul", "*", MUL, 2, NUMBER, SAME, SOURCE,                                                               \
      "integers wrap; floats IEEE 754, nearest-even, subnormals kept", "product")                                      \
    X(MUL_HIGH, 21, "mul_high", NULL, CALL, 2, INTEGER, SAME, SOURCE, "signed types multiply as signed",               \
      "the high half of the double-width product")                                                                     \
    X(DIV, 22, "div", "/", MUL, 2, NUMBER, SAME, SOURCE,                                                               \
      "integers truncate; x/0 = all ones (-1 if signed); MIN/-1 = MIN; floats IEEE 754", "quotient")                   \
    X(REM, 23, "rem", "%", MUL, 2, INTEGER, SAME, SOURCE, "sign of the dividend; x%0 = x; MIN%-1 = 0",                 \
      "remainder of the truncated quotient")                                                                           \
    X(REMAINDER, 24, "remainder", NULL, CALL, 2, FLOAT, SAME, SOURCE,                                                  \
      "x - n*y with n nearest x/y, ties to even; NaN if y = 0 or x is infinite", "the IEEE remainder, exact")          \
    X(AND, 25, "and", "&", BIT_AND, 2, INTEGER, SAME, SOURCE, "none", "bitwise and")                                   \
    X(OR, 26, "or", "|", BIT_OR, 2, INTEGER, SAME, SOURCE, "none", "bitwise or")                                       \
    X(XOR, 27, "xor", "^", BIT_XOR, 2, INTEGER, SAME, SOURCE, "none", "bitwise exclusive or")                          \
    X(LAND, 28, "land", "&&", AND, 2, BOOL, SAME, SOURCE, "both operands are pure, so their order has no effect",      \
      "logical and")                                                                                                   \
    X(LOR, 29, "lor", "||", OR, 2, BOOL, SAME, SOURCE, "both operands are pure, so their order has no effect",         \
      "logical or")                                                                                                    \
    X(SHL, 30, "shl", "<<", SHIFT, 2, INTEGER, SAME, SOURCE, "amount modulo the width", "shift left")                  \
    X(SHR, 31, "shr", ">>", SHIFT, 2, INTEGER, SAME, SOURCE, "amount modulo the width; arithmetic if signed",          \
      "shift right")                                                                                                   \
    X(ROTL, 32, "rotl", NULL, CALL, 2, INTEGER, SAME, SOURCE, "amount modulo the width", "rotate left")                \
    X(ROTR, 33, "rotr", NULL, CALL, 2, INTEGER, SAME, SOURCE, "amount modulo the width", "rotate right")               \
    X(MIN, 34, "min", NULL, CALL, 2, NUMBER, SAME, SOURCE, "floats: minimumNumber, a number beats NaN; -0 < +0",       \
      "the smaller")                                                                                                   \
    X(MAX, 35, "max", NULL, CALL, 2, NUMBER, SAME, SOURCE, "floats: maximumNumber, a number beats NaN; -0 < +0",       \
      "the larger")                                                                                                    \
    X(COPYSIGN, 36, "copysign", NULL, CALL, 2, FLOAT, SAME, SOURCE,                                                    \
      "NaN if the first operand is NaN; a NaN second operand counts as positive",                                      \
      "the first operand with the sign of the second")                                                                 \
    X(EQ, 37, "eq", "==", COMPARE, 2, ANY, COMPARE, SOURCE, "NaN equals nothing; -0 == +0", "equal")                   \
    X(NE, 38, "ne", "!=", COMPARE, 2, ANY, COMPARE, SOURCE, "NaN differs from everything; -0 == +0", "not equal")      \
    X(LT, 39, "lt", "<", COMPARE, 2, NUMBER, COMPARE, SOURCE, "false if either is NaN", "less")                        \
    X(LE, 40, "le", "<=", COMPARE, 2, NUMBER, COMPARE, SOURCE, "false if either is NaN", "less or equal")              \
    X(GT, 41, "gt", ">", COMPARE, 2, NUMBER, COMPARE, SOURCE, "false if either is NaN", "greater")                     \
    X(GE, 42, "ge", ">=", COMPARE, 2, NUMBER, COMPARE, SOURCE, "false if either is NaN", "greater or equal")           \
    X(SELECT, 43, "select", "?:", SELECT, 3, ANY, SELECT, SOURCE, "both arms are pure",                                \
      "the second operand if the first is true, else the third")                                                       \
    X(FMA, 44, "fma", NULL, CALL, 3, FLOAT, SAME, SOURCE, "one rounding", "a*b + c")                                   \
    X(CAST, 45, "cast", NULL, CALL, 1, ANY, CAST, SOURCE,                                                              \
      "integer to integer wraps; to float rounds to nearest-even; float to integer truncates, saturates, NaN becomes " \
      "0; bool becomes 0 or 1",                                                                                        \
      "conversion of the value, written T(x)")                                                                         \
    X(BITCAST, 46, "bitcast", NULL, CALL, 1, NUMBER, BITCAST, SOURCE,                                                  \
      "a NaN pattern becomes the canonical NaN of the float type",                                                     \
      "reinterpretation of the bits, written bitcast<T>(x)")                                                           \
    X(APPROX_DIV, 47, "approx_div", NULL, CALL, 2, FLOAT, SAME, LEGAL,                                                 \
      "within 2.5 ulp for normal operands and results; else unspecified",                                              \
      "a quotient as the device computes it; the evaluator computes the exact one")                                    \
    X(APPROX_SQRT, 48, "approx_sqrt", NULL, CALL, 1, FLOAT, SAME, LEGAL,                                               \
      "within 2.5 ulp for normal operands and results; else unspecified",                                              \
      "a square root as the device computes it; the evaluator computes the exact one")

typedef enum vyre_op {
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc) VYRE_OP_##ID,
    VYRE_OP_LIST(X)
#undef X
        VYRE_OP_COUNT
} vyre_op;

/* A row of the op table. */
typedef struct vyre_op_info {
    const char *name;   /* lower case, as in `vyre ops` */
    const char *symbol; /* infix or prefix symbol, or NULL if written as a call */
    uint8_t precedence; /* VYRE_PRECEDENCE_* */
    uint8_t arity;      /* 1 to 3 */
    uint8_t classes;    /* VYRE_CLASS_* bits of T */
    uint8_t rule;       /* vyre_op_rule */
    uint8_t level;      /* vyre_level */
    const char *edge;   /* behaviour at the edges */
    const char *doc;
} vyre_op_info;

/* The row of an op; NULL outside the list. */
VYRE_API const vyre_op_info *vyre_op_get(vyre_op op);
/* The op with this name; VYRE_OP_COUNT if unknown. */
VYRE_API vyre_op vyre_op_find(const char *name, size_t length);

/* 1 if `op` accepts operands of type `operand` with a result of type `result`. For select, `operand` is the type of the
 * arms. */
VYRE_API int vyre_op_accepts(vyre_op op, vyre_type operand, vyre_type result);

/* Evaluates an op. Total: any bits yield a result.
 *
 * op, result, operand  Must satisfy vyre_op_accepts(op, operand, result). result is bool for compare and test rows;
 *                      operand is the type of the arms for select.
 * a, b, c              Operand bits. Operands beyond the arity and excess bits are ignored; NaNs are canonicalised.
 *
 * Returns the bits of the result; 0 if the table does not accept the combination. Does not depend on the caller's
 * floating-point environment. */
VYRE_API uint64_t vyre_op_evaluate(vyre_op op, vyre_type result, vyre_type operand, uint64_t a, uint64_t b, uint64_t c);

/* Built-in values of an invocation, of type u32. X(ID, name, has axes, uniform over the workgroup, doc) */
#define VYRE_BUILTIN_LIST(X)                                                                                           \
    X(GLOBAL_ID, "global_id", 1, 0, "group_id * workgroup_size + local_id")                                            \
    X(LOCAL_ID, "local_id", 1, 0, "position in the workgroup")                                                         \
    X(GROUP_ID, "group_id", 1, 1, "position of the workgroup in the grid")                                             \
    X(WORKGROUP_SIZE, "workgroup_size", 1, 1, "invocations per workgroup")                                             \
    X(GROUP_COUNT, "group_count", 1, 1, "workgroups in the grid")                                                      \
    X(GLOBAL_SIZE, "global_size", 1, 1, "group_count * workgroup_size")                                                \
    X(LOCAL_INDEX, "local_index", 0, 0, "linear position in the workgroup: x + sx*(y + sy*z)")

typedef enum vyre_builtin {
#define X(ID, name, axes, uniform, doc) VYRE_BUILTIN_##ID,
    VYRE_BUILTIN_LIST(X)
#undef X
        VYRE_BUILTIN_COUNT
} vyre_builtin;

/* Atomic operations on one element. X(ID, name, operands in addition to the element, returns a value, doc). In strict
 * numerics the element is a 32- or 64-bit integer. In relaxed numerics load, store, add, min, max and exchange also
 * accept f32 and f64. */
#define VYRE_ATOMIC_LIST(X)                                                                                            \
    X(LOAD, "atomic_load", 0, 1, "reads the element")                                                                  \
    X(STORE, "atomic_store", 1, 0, "writes the element")                                                               \
    X(ADD, "atomic_add", 1, 1, "adds, wrapping; returns the old value")                                                \
    X(AND, "atomic_and", 1, 1, "bitwise and; returns the old value")                                                   \
    X(OR, "atomic_or", 1, 1, "bitwise or; returns the old value")                                                      \
    X(XOR, "atomic_xor", 1, 1, "bitwise exclusive or; returns the old value")                                          \
    X(MIN, "atomic_min", 1, 1, "keeps the smaller; returns the old value")                                             \
    X(MAX, "atomic_max", 1, 1, "keeps the larger; returns the old value")                                              \
    X(EXCHANGE, "atomic_exchange", 1, 1, "writes the operand; returns the old value")                                  \
    X(COMPARE_EXCHANGE, "atomic_compare_exchange", 2, 1,                                                               \
      "writes the second operand if the element equals the first; returns the old value")

typedef enum vyre_atomic {
#define X(ID, name, operands, value, doc) VYRE_ATOMIC_##ID,
    VYRE_ATOMIC_LIST(X)
#undef X
        VYRE_ATOMIC_COUNT
} vyre_atomic;

/* Memory orders of atomics. X(ID, name) */
#define VYRE_ORDER_LIST(X) X(RELAXED, "relaxed") X(ACQUIRE, "acquire") X(RELEASE, "release") X(ACQ_REL, "acq_rel")
typedef enum vyre_order {
#define X(ID, name) VYRE_ORDER_##ID,
    VYRE_ORDER_LIST(X)
#undef X
        VYRE_ORDER_COUNT
} vyre_order;

/* Scopes of atomics and barriers: the workgroup, or the device (for a barrier: the whole grid). */
typedef enum vyre_scope { VYRE_SCOPE_WORKGROUP, VYRE_SCOPE_DEVICE, VYRE_SCOPE_COUNT } vyre_scope;

/* Collectives: synchronising operations that exchange values between invocations. X(ID, name, operands, combines, over
 * workgroup, over subgroup, level, doc). Written workgroup_NAME(v) or subgroup_NAME<W>(v); if `combines` is 1, an op
 * name from VYRE_COMBINE_LIST follows: workgroup_reduce_add(v). The order of combination is in docs/bits.md. */
#define VYRE_COLLECTIVE_LIST(X)                                                                                        \
    X(REDUCE, "reduce", 1, 1, 1, 1, SOURCE, "all values combined, given to every invocation")                          \
    X(SCAN_INCLUSIVE, "scan_inclusive", 1, 1, 1, 1, SOURCE,                                                            \
      "the values up to and including this invocation's, combined")                                                    \
    X(SCAN_EXCLUSIVE, "scan_exclusive", 1, 1, 1, 1, SOURCE,                                                            \
      "the values before this invocation's, combined; the identity at the first")                                      \
    X(ANY, "any", 1, 0, 1, 1, SOURCE, "true if any value is")                                                          \
    X(ALL, "all", 1, 0, 1, 1, SOURCE, "true if every value is")                                                        \
    X(BROADCAST, "broadcast", 2, 0, 1, 1, SOURCE,                                                                      \
      "the value of the invocation with that linear index (u32, uniform); 0 if there is none")                         \
    X(BALLOT, "ballot", 1, 0, 0, 1, SOURCE, "u64 with bit l set if lane l's value is true")                            \
    X(SHUFFLE, "shuffle", 2, 0, 0, 1, SOURCE, "the value of lane `index` (u32); 0 if there is none")                   \
    X(SHUFFLE_XOR, "shuffle_xor", 2, 0, 0, 1, SOURCE, "the value of lane l ^ mask; 0 if there is none")                \
    X(SHUFFLE_UP, "shuffle_up", 2, 0, 0, 1, SOURCE, "the value of lane l - delta; 0 if there is none")                 \
    X(SHUFFLE_DOWN, "shuffle_down", 2, 0, 0, 1, SOURCE, "the value of lane l + delta; 0 if there is none")             \
    X(NATIVE_SHUFFLE, "native_shuffle", 2, 0, 0, 1, LEGAL,                                                             \
      "of 32 bits: the value of a lane that exists in the hardware's subgroup of that width")

typedef enum vyre_collective {
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc) VYRE_COLLECTIVE_##ID,
    VYRE_COLLECTIVE_LIST(X)
#undef X
        VYRE_COLLECTIVE_COUNT
} vyre_collective;

/* Ops for reduce and scan: rows of the op table. X(op ID) */
#define VYRE_COMBINE_LIST(X) X(ADD) X(MUL) X(MIN) X(MAX) X(AND) X(OR) X(XOR)

/* The identity of a combining op, which an exclusive scan returns to the first invocation: add +0, mul 1, min the
 * largest value (+inf), max the smallest (-inf), and all ones, or and xor 0. */
VYRE_API uint64_t vyre_combine_identity(vyre_op op, vyre_type type);

/* Names of rows; "?" outside the list. */
VYRE_API const char *vyre_builtin_name(vyre_builtin builtin);
VYRE_API const char *vyre_atomic_name(vyre_atomic atomic);
VYRE_API const char *vyre_order_name(vyre_order order);
VYRE_API const char *vyre_collective_name(vyre_collective collective);

#ifdef __cplusplus
}
#endif
#endif
