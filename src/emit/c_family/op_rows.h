/* Rows of op tables that are the same in several dialects of C, and the macros with which dialects write their own.
 *
 * A dialect includes this header in the file with its table, writes a ROW_ for each op that has none here, and makes
 * the table of VY_C_ROWS: it does not compile if a row is missing. */
#ifndef VY_EMIT_C_FAMILY_OP_ROWS_H
#define VY_EMIT_C_FAMILY_OP_ROWS_H

#include "emit/c_family/c_family.h"

/* clang-format off */
#define NONE {NULL, 0, 0}
#define OPERATOR(symbol, precedence) {symbol, VY_C_##precedence, 0}
#define LIBRARY(name) {name, 0, 0}
#define BODY(text) {text, 0, 1}
#define INTEGERS(words, others) words, others, others
#define WRAPS "return ($T)"
#define FLOAT_CALL(name) {NONE, NONE, NONE, LIBRARY(name), NONE}
#define FLOAT_TEST(text) {NONE, NONE, NONE, BODY(text), NONE}

#define NEGATIONS INTEGERS(OPERATOR("-", UNARY), BODY(WRAPS "(0u - ($P)a);"))
#define ROW_NOT {OPERATOR("~", UNARY), OPERATOR("~", UNARY), BODY(WRAPS "~a;"), NONE, NONE}
#define ROW_LNOT {NONE, NONE, NONE, NONE, OPERATOR("!", UNARY)}
/* LLVM 14 and 15 must not recognise the absolute value: of `b == 0 ? -1 : 0` they make llvm.abs.i1, of which SCCP takes
 * the value for b = 0 if a load of b is conditional. */
#define ABS BODY("const $P n = ($P)a, sign = 0u - (n >> (sizeof n * 8 - 1));\n" WRAPS "(n - ((n & sign) << 1));")
#define ROW_ABS {BODY("return a;"), ABS, ABS, LIBRARY("fabs$F"), NONE}
#define REVERSE_BITS "$u n = ($U)a;\n" \
    "n = ((n & 0x5555555555555555$S) << 1) | ((n >> 1) & 0x5555555555555555$S);\n" \
    "n = ((n & 0x3333333333333333$S) << 2) | ((n >> 2) & 0x3333333333333333$S);\n" \
    "n = ((n & 0x0f0f0f0f0f0f0f0f$S) << 4) | ((n >> 4) & 0x0f0f0f0f0f0f0f0f$S);\n" WRAPS \
    "(@reverse_bytes_u64(n) >> (64 - $W));"
#define ROW_REVERSE_BITS {INTEGERS(BODY(REVERSE_BITS), BODY(REVERSE_BITS)), NONE, NONE}
#define REVERSE_BYTES "$u n = ($U)a;\n" \
    "n = ((n & 0x00ff00ff00ff00ff$S) << 8) | ((n >> 8) & 0x00ff00ff00ff00ff$S);\n" \
    "n = ((n & 0x0000ffff0000ffff$S) << 16) | ((n >> 16) & 0x0000ffff0000ffff$S);\n" \
    "n = (n << 32) | (n >> 32);\n" WRAPS "(n >> (64 - $W));"
#define ROW_REVERSE_BYTES {INTEGERS(BODY(REVERSE_BYTES), BODY(REVERSE_BYTES)), NONE, NONE}
#define ROW_SQRT FLOAT_CALL("sqrt$F")
#define ROW_IS_NAN FLOAT_TEST("return a != a;")
#define ROW_IS_INF FLOAT_TEST("return isinf(a) != 0;")
#define ROW_IS_FINITE FLOAT_TEST("return isfinite(a) != 0;")
#define ROW_SIGNBIT FLOAT_TEST("return signbit(a) != 0;")
#define WRAPPING(symbol, precedence) \
    {OPERATOR(symbol, precedence), BODY(WRAPS "(($P)a " symbol " ($P)b);"), BODY(WRAPS "(($P)a " symbol " ($P)b);"), \
     OPERATOR(symbol, precedence), NONE}
#define ROW_ADD WRAPPING("+", ADD)
#define ROW_SUB WRAPPING("-", ADD)
#define ROW_MUL WRAPPING("*", MUL)
#define DIVIDED BODY("return b == 0 ? ($T)-1 : ($T)(a / b);")
#define DIVIDED_SIGNED BODY("return b == 0 ? ($T)-1 : b == ($T)-1 ? ($T)(0u - ($P)a) : ($T)(a / b);")
#define DIVIDES DIVIDED, DIVIDED_SIGNED, \
        BODY("return b == 0 ? ($T)-1 : b == ($T)-1 && ($T)-1 < 0 ? ($T)(0u - ($P)a) : ($T)(a / b);")
#define REMAINS BODY("return b == 0 ? a : a % b;"), BODY("return b == 0 ? a : b == ($T)-1 ? 0 : a % b;"), \
        BODY("return b == 0 ? a : ($T)(a % b);")
#define ROW_DIV {DIVIDES, OPERATOR("/", MUL), NONE}
#define ROW_REM {REMAINS, NONE, NONE}
#define ROW_REMAINDER {NONE, NONE, NONE, NONE, NONE} /* legalisation writes it out */
#define BITWISE(symbol, precedence) {INTEGERS(OPERATOR(symbol, precedence), OPERATOR(symbol, precedence)), NONE, NONE}
#define ROW_AND BITWISE("&", AND)
#define ROW_OR BITWISE("|", OR)
#define ROW_XOR BITWISE("^", XOR)
#define ROW_LAND {NONE, NONE, NONE, NONE, OPERATOR("&&", LAND)}
#define ROW_LOR {NONE, NONE, NONE, NONE, OPERATOR("||", LOR)}
#define ROW_SHL {INTEGERS(OPERATOR("<<", SHIFT), BODY(WRAPS "(($P)a << (b & ($W - 1)));")), NONE, NONE}
#define ROW_SHR BITWISE(">>", SHIFT)
#define ROTATES(one, other) \
    "unsigned n = b & ($W - 1);\n" WRAPS "((($P)($U)a " one " n) | (($P)($U)a " other " ($W - n) % $W));"
#define ROW_ROTL {INTEGERS(BODY(ROTATES("<<", ">>")), BODY(ROTATES("<<", ">>"))), NONE, NONE}
#define ROW_ROTR {INTEGERS(BODY(ROTATES(">>", "<<")), BODY(ROTATES(">>", "<<"))), NONE, NONE}
/* The order of zeros is decided by bits (`zeros`): clang 14 at -O1 compiles comparisons with a constant -0.0 to maxsd,
 * which does not distinguish zeros. */
/* The test for equality comes first: LLVM 14 and 15 merge two comparisons that leave only equal numbers, and return the
 * wrong zero. */
#define EXTREME(symbol, zeros) \
    {INTEGERS(BODY("return a " symbol " b ? a : b;"), BODY("return a " symbol " b ? a : b;")), \
     BODY("if (a != b)\n    return a " symbol " b || b != b ? a : b;\n" zeros), NONE}
#define ROW_COPYSIGN FLOAT_CALL("copysign$F")
#define COMPARES(symbol, level) \
    {INTEGERS(OPERATOR(symbol, level), OPERATOR(symbol, level)), OPERATOR(symbol, level), OPERATOR(symbol, level)}
#define ROW_EQ COMPARES("==", EQUAL)
#define ROW_NE COMPARES("!=", EQUAL)
#define ROW_LT COMPARES("<", LESS)
#define ROW_LE COMPARES("<=", LESS)
#define ROW_GT COMPARES(">", LESS)
#define ROW_GE COMPARES(">=", LESS)
#define ROW_SELECT {NONE, NONE, NONE, NONE, NONE} /* op() */
#define ROW_FMA FLOAT_CALL("fma$F")
#define ROW_CAST {NONE, NONE, NONE, NONE, NONE}    /* cast() */
#define ROW_BITCAST {NONE, NONE, NONE, NONE, NONE} /* cast() */
#define ROW_APPROX_DIV {NONE, NONE, NONE, OPERATOR("/", MUL), NONE}
#define ROW_APPROX_SQRT FLOAT_CALL("sqrt$F")
/* clang-format on */

#define VY_C_ROW_OF(ID, ...) [VYRE_OP_##ID] = ROW_##ID,
#define VY_C_ROWS                                                                                                      \
    { VYRE_OP_LIST(VY_C_ROW_OF) }

#endif
