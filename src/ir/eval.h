/* Evaluator: the only implementation of the ops' semantics.
 *
 * A row of the op table on one type is a kernel: a loop over lanes. The reference interpreter runs kernels over all
 * invocations of a workgroup, constant folding runs them with one lane (vyre_op_evaluate), so both always agree.
 *
 * A proper value of type T is a uint64_t whose bits above T's width are zero and which, if it is a NaN of a float type,
 * is the canonical NaN of T. The operands and results of kernels are proper values; vy_value_canonicalize makes any
 * bits proper. */
#ifndef VY_IR_EVAL_H
#define VY_IR_EVAL_H

#include "vyre/op.h"

#include <string.h>

/* Computes n lanes: r[i] = op(a[i], b[i], c[i]). Total, without side effects, unconditionally for every lane. Operands
 * beyond the arity are not read and may be NULL. r may be the same array as a, b or c, but must not overlap them
 * partly. For select, a holds the bools.
 *
 * The caller must be between vy_fenv_enter and vy_fenv_leave (base/thread.h), which may enclose any number of kernel
 * calls on that thread. Any thread. */
typedef void vy_kernel(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *c, size_t n);

/* The kernel of a row for the combinations of vyre_op_accepts(op, operand, result) (note the order); NULL for any other
 * and for values outside the lists. Constant time, any thread. */
vy_kernel *vy_eval_kernel(vyre_op op, vyre_type result, vyre_type operand);
/* The same without checks, for an op of a valid program. */
vy_kernel *vy_eval_kernel_unchecked(vyre_op op, vyre_type result, vyre_type operand);
/* vyre_op_evaluate without checks, for proper values. Operands beyond the arity are not read. */
uint64_t vy_eval_canonical(vyre_op op, vyre_type result, vyre_type operand, const uint64_t values[3]);

/* The bit layout of a type; one row per vyre_type. */
typedef struct vy_type_layout {
    uint64_t mask;     /* the bits a value may have */
    uint64_t infinity; /* the pattern of +infinity; all ones for other types: no pattern is above */
    uint64_t nan;      /* the canonical NaN, or 0 */
    uint8_t bits;      /* 1 for bool, else 8 to 64 */
    uint8_t size;      /* bytes in memory; 0 for bool */
    uint8_t classes;   /* one of VYRE_CLASS_* */
} vy_type_layout;
extern const vy_type_layout vy_type_layouts[VYRE_TYPE_COUNT];

/* The proper value with these bits: excess bits are dropped, a NaN becomes canonical. type must be in the list. */
static inline uint64_t vy_value_canonicalize(vyre_type type, uint64_t bits) {
    const vy_type_layout *layout = &vy_type_layouts[type];

    bits &= layout->mask;
    /* Without its sign bit, a float pattern above infinity is a NaN. */
    return (bits & layout->mask >> 1) > layout->infinity ? layout->nan : bits;
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements in memory are little-endian: vy_value_load and vy_value_store need a byte swap on this host"
#endif

/* Loads an element from memory (any alignment); a NaN becomes canonical. 0 for bool, which is never in memory. */
static inline uint64_t vy_value_load(vyre_type type, const void *element) {
    uint64_t bits = 0;

    /* Constant sizes, so that each case compiles to one load. */
    switch (vy_type_layouts[type].size) {
    case 1:
        memcpy(&bits, element, 1);
        break;
    case 2:
        memcpy(&bits, element, 2);
        break;
    case 4:
        memcpy(&bits, element, 4);
        break;
    case 8:
        memcpy(&bits, element, 8);
        break;
    }
    return vy_value_canonicalize(type, bits);
}

/* Stores a proper value as an element in memory (any alignment). No effect for bool. */
static inline void vy_value_store(vyre_type type, void *element, uint64_t bits) {
    switch (vy_type_layouts[type].size) {
    case 1:
        memcpy(element, &bits, 1);
        break;
    case 2:
        memcpy(element, &bits, 2);
        break;
    case 4:
        memcpy(element, &bits, 4);
        break;
    case 8:
        memcpy(element, &bits, 8);
        break;
    }
}

#endif
