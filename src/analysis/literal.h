/* Literal folding of one expression: whether it is a literal, and the value of an op for known operands. The semantics
 * is the evaluator's (ir/eval.h).
 *
 * Nothing is stored, so nothing can become invalid. */
#ifndef VY_ANALYSIS_LITERAL_H
#define VY_ANALYSIS_LITERAL_H

#include "ir/eval.h"
#include "ir/model.h"

/* The literal at an expression; NULL if it is not a literal. `expr` may be VY_NONE. */
static inline const vy_expr *vy_literal_at(const vyre_program *p, uint32_t expr) {
    return expr != VY_NONE && vy_expr_at(p, expr)->kind == VY_EXPR_LITERAL ? vy_expr_at(p, expr) : NULL;
}

/* The type of the operands of an op; of a select, the type of its arms. */
static inline vyre_type vy_operand_type(const vyre_program *p, const vy_expr *e) {
    return (vyre_type)vy_expr_at(p, e->op == VYRE_OP_SELECT ? e->b : e->a)->type;
}

/* The value of an op for valid values of its operands. Values beyond the arity are not read. */
static inline uint64_t vy_op_value(const vyre_program *p, const vy_expr *e, const uint64_t values[3]) {
    return vy_eval_canonical((vyre_op)e->op, (vyre_type)e->type, vy_operand_type(p, e), values);
}

#endif
