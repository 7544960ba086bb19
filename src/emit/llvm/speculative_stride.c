/* Strides that are found out at run time: the remainder of what counts on counts on as long as it does not start anew within a row, and the quotient is the same then.
 * So does whatever is a sum of such values. A value that may have a stride has a scalar for each row, as one that has (affine_values.c), and a condition under
 * which they are right; where it is not met, lanes are. */
#include "emit/llvm/emitter.h"

static int is_division(const vyre_program *p, const vy_expr *x) {
    return x->kind == VY_EXPR_OP && (x->op == VYRE_OP_DIV || x->op == VYRE_OP_REM) && x->type == VYRE_TYPE_U32 &&
           p->exprs.items[x->b].kind != VY_EXPR_LITERAL;
}

/* The stride of an op, of those of its operands. */
static int stride_of_op(const vy_expr *x, const uint64_t *strides, uint64_t *stride) {
    *stride = 0;
    if (!strides[0] && !strides[1] && !strides[2])
        return 1;
    if (x->type != VYRE_TYPE_U32)
        return 0;
    if (x->op == VYRE_OP_ADD)
        *stride = (uint32_t)(strides[0] + strides[1]);
    else if (x->op == VYRE_OP_SUB)
        *stride = (uint32_t)(strides[0] - strides[1]);
    else if (x->op == VYRE_OP_SELECT && !strides[0] && strides[1] == strides[2])
        *stride = strides[1];
    return *stride != 0;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
int vy_llvm_guarded_stride(const vy_emitter *e, uint32_t expr, uint64_t *stride) {
    const vy_expr *x = &e->program->exprs.items[expr];
    if (!e->row)
        return 0;
    if (vy_stride_of(e->uniform, expr, stride))
        return 1;
    if (x->kind == VY_EXPR_VARIABLE) {
        *stride = e->slots[x->a].guarded_stride;
        return e->slots[x->a].stride_guard != NULL;
    }
    if (x->kind != VY_EXPR_OP)
        return 0;
    const uint32_t from[3] = {x->a, x->b, x->c};
    uint64_t strides[3] = {0, 0, 0};
    for (unsigned i = 0; i < vyre_op_get((vyre_op)x->op)->arity; i++)
        if (!vy_llvm_guarded_stride(e, from[i], &strides[i]))
            return 0;
    if (is_division(e->program, x) && strides[0] == 1 && !strides[1]) {
        *stride = x->op == VYRE_OP_REM;
        return 1;
    }
    return stride_of_op(x, strides, stride);
}

/* Neither does the row reach the next multiple of the divisor nor the end of all numbers. */
static LLVMValueRef is_within(vy_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    LLVMValueRef rest = LLVMBuildURem(e->builder, a, b, ""), lanes = vy_llvm_number(e, 64, e->row);
    LLVMValueRef end = LLVMBuildAdd(e->builder, LLVMBuildZExt(e->builder, rest, i64, ""), lanes, "");
    LLVMValueRef within = LLVMBuildICmp(e->builder, LLVMIntULE, end, LLVMBuildZExt(e->builder, b, i64, ""), "");
    LLVMValueRef last = vy_llvm_number(e, 32, UINT32_MAX - e->row);
    return LLVMBuildAnd(e->builder, within, LLVMBuildICmp(e->builder, LLVMIntULE, a, last, ""), "");
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
LLVMValueRef vy_llvm_guarded_row_base(vy_emitter *e, uint32_t expr, uint32_t k, LLVMValueRef *stride_guard) {
    const vy_expr *x = &e->program->exprs.items[expr];
    uint64_t stride;
    if (vy_stride_of(e->uniform, expr, &stride))
        return vy_llvm_row_base(e, expr, k);
    if (x->kind == VY_EXPR_VARIABLE) {
        *stride_guard = vy_llvm_both(e, *stride_guard, e->slots[x->a].stride_guard);
        return e->slots[x->a].rows[k];
    }
    const uint32_t from[3] = {x->a, x->b, x->c};
    LLVMValueRef values[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < vyre_op_get((vyre_op)x->op)->arity; i++)
        values[i] = vy_llvm_guarded_row_base(e, from[i], k, stride_guard);
    if (is_division(e->program, x)) {
        values[1] = vy_llvm_safe_divisor(e, values[1], k);
        *stride_guard = vy_llvm_both(e, *stride_guard, is_within(e, values[0], values[1]));
    }
    vyre_type type = (vyre_type)e->program->exprs.items[x->op == VYRE_OP_SELECT ? x->b : x->a].type;
    return vy_llvm_op(e, x, type, values[0], values[1], values[2]);
}
