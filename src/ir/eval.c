/* Finding the kernel of a row, and evaluating one value. The rows themselves: eval_integer.inc, eval_float.inc, eval_cast.c. */
#include "ir/eval.h"

#include "base/thread.h"
#include "ir/eval_kernel.h"

static vy_kernel *const *const rows[VYRE_TYPE_COUNT] = {
#define X(ID, name, bits, cls, nan) vy_kernels_##ID,
    VYRE_TYPE_LIST(X)
#undef X
};

vy_kernel *vy_eval_kernel_unchecked(vyre_op op, vyre_type result, vyre_type operand) {
    switch (op) {
    case VYRE_OP_CAST:
        return vy_casts[result][operand];
    case VYRE_OP_BITCAST:
        return vy_bitcasts[result];
    default:
        return rows[operand][op];
    }
}

vy_kernel *vy_eval_kernel(vyre_op op, vyre_type result, vyre_type operand) {
    return vyre_op_accepts(op, operand, result) ? vy_eval_kernel_unchecked(op, result, operand) : NULL;
}

uint64_t vy_eval_canonical(vyre_op op, vyre_type result, vyre_type operand, const uint64_t values[3]) {
    vy_kernel *kernel = vy_eval_kernel_unchecked(op, result, operand);
    vy_fenv saved;
    uint64_t out;
    int is_float = (vy_type_layouts[operand].classes | vy_type_layouts[result].classes) & VYRE_CLASS_FLOAT;
    if (is_float)
        vy_fenv_enter(&saved);
    kernel(&out, &values[0], &values[1], &values[2], 1);
    if (is_float)
        vy_fenv_leave(&saved);
    return out;
}

uint64_t vyre_op_evaluate(vyre_op op, vyre_type result, vyre_type operand, uint64_t a, uint64_t b, uint64_t c) {
    vy_kernel *kernel = vy_eval_kernel(op, result, operand);
    vy_fenv saved;
    int is_float = (vyre_type_class(operand) | vyre_type_class(result)) & VYRE_CLASS_FLOAT;

    if (!kernel)
        return 0;
    a = vy_value_canonicalize(op == VYRE_OP_SELECT ? VYRE_TYPE_BOOL : operand, a);
    b = vy_value_canonicalize(operand, b);
    c = vy_value_canonicalize(operand, c);
    if (is_float)
        vy_fenv_enter(&saved);
    kernel(&a, &a, &b, &c, 1);
    if (is_float)
        vy_fenv_leave(&saved);
    return a;
}
