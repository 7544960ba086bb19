/* Kernel macros of the evaluator and of the adversarial device: a loop over lanes, and tables of kernels by op.
 *
 * The tables are filled from VYRE_OP_LIST, so a row without a kernel for a type that it accepts does not compile. */
#ifndef VY_IR_EVAL_KERNEL_H
#define VY_IR_EVAL_KERNEL_H

#include "ir/eval.h"

/* The loop over lanes. Lanes are independent, and r is either one of the operands or disjoint from them, so no store
 * affects a load of a later lane. The pragma states this to gcc; without it, r == a would run the slow path of its
 * run-time alias check. */
#if defined(__GNUC__) && !defined(__clang__)
#define VY_LANES(i, n) _Pragma("GCC ivdep") for (size_t i = 0; i < (n); i++)
#else
#define VY_LANES(i, n) for (size_t i = 0; i < (n); i++)
#endif

/* One kernel, a static function `name`: r[i] = (expression in the lane's operand bits a, b, c). `declarations` precede
 * the expression, each ended by a semicolon. */
#define VY_KERNEL_1(name, declarations, expression)                                                                    \
    static void name(uint64_t *r, const uint64_t *va, const uint64_t *vb, const uint64_t *vc, size_t n) {              \
        (void)vb, (void)vc;                                                                                            \
        VY_LANES(i, n) {                                                                                               \
            const uint64_t a = va[i];                                                                                  \
            declarations r[i] = (expression);                                                                          \
        }                                                                                                              \
    }
#define VY_KERNEL_2(name, declarations, expression)                                                                    \
    static void name(uint64_t *r, const uint64_t *va, const uint64_t *vb, const uint64_t *vc, size_t n) {              \
        (void)vc;                                                                                                      \
        VY_LANES(i, n) {                                                                                               \
            const uint64_t a = va[i], b = vb[i];                                                                       \
            declarations r[i] = (expression);                                                                          \
        }                                                                                                              \
    }
#define VY_KERNEL_3(name, declarations, expression)                                                                    \
    static void name(uint64_t *r, const uint64_t *va, const uint64_t *vb, const uint64_t *vc, size_t n) {              \
        VY_LANES(i, n) {                                                                                               \
            const uint64_t a = va[i], b = vb[i], c = vc[i];                                                            \
            declarations r[i] = (expression);                                                                          \
        }                                                                                                              \
    }

/* yes if truth is 1, no if it is 0. Avoids a test of 64-bit lanes, for which baseline x86-64 has no single
 * instruction. */
#define VY_CHOOSE(truth, yes, no) ((no) ^ (((yes) ^ (no)) & (0 - (truth))))

#define VY_JOIN(a, b) VY_JOIN_(a, b)
#define VY_JOIN_(a, b) a##b

/* The table entry of a row for a type whose class it accepts; casts and bitcasts have their own tables. The file that
 * fills a table defines VY_CLASS (BOOL, INTEGER or FLOAT) and VY_NAME(ID), the name of the kernel. */
#define VY_ENTRY(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc) VY_ENTRY_##rule(cls, ID)
#define VY_ENTRY_SAME(cls, ID) VY_ENTRY_IF(cls, ID)
#define VY_ENTRY_COMPARE(cls, ID) VY_ENTRY_IF(cls, ID)
#define VY_ENTRY_TEST(cls, ID) VY_ENTRY_IF(cls, ID)
#define VY_ENTRY_SELECT(cls, ID) VY_ENTRY_IF(cls, ID)
#define VY_ENTRY_CAST(cls, ID)
#define VY_ENTRY_BITCAST(cls, ID)
#define VY_ENTRY_IF(cls, ID) VY_JOIN(VY_JOIN(VY_CLASS, _IN_), cls)(ID)
#define VY_ENTRY_YES(ID) [VYRE_OP_##ID] = VY_NAME(ID),
#define VY_ENTRY_NO(ID)

#define BOOL_IN_BOOL VY_ENTRY_YES
#define BOOL_IN_INTEGER VY_ENTRY_NO
#define BOOL_IN_FLOAT VY_ENTRY_NO
#define BOOL_IN_NUMBER VY_ENTRY_NO
#define BOOL_IN_ANY VY_ENTRY_YES
#define INTEGER_IN_BOOL VY_ENTRY_NO
#define INTEGER_IN_INTEGER VY_ENTRY_YES
#define INTEGER_IN_FLOAT VY_ENTRY_NO
#define INTEGER_IN_NUMBER VY_ENTRY_YES
#define INTEGER_IN_ANY VY_ENTRY_YES
#define FLOAT_IN_BOOL VY_ENTRY_NO
#define FLOAT_IN_INTEGER VY_ENTRY_NO
#define FLOAT_IN_FLOAT VY_ENTRY_YES
#define FLOAT_IN_NUMBER VY_ENTRY_YES
#define FLOAT_IN_ANY VY_ENTRY_YES

#endif
