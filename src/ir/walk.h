/* Program traversal: the expressions of a statement, the tree of an expression, and properties of statements and
 * memories. */
#ifndef VY_IR_WALK_H
#define VY_IR_WALK_H

#include "ir/model.h"

/* The first expression of the tree rooted at `root`: the tree is the range from there to `root`. */
uint32_t vy_expr_first(const vyre_program *program, uint32_t root);

/* Loops over the expressions of a tree, operands before their operators. The root may be VY_NONE: no expression. */
#define VY_EACH_EXPR(program, i, root)                                                                                 \
    for (uint32_t i = (root) == VY_NONE ? 0 : vy_expr_first(program, root), i##_end = (root) + 1; i < i##_end; i++)

/* Whether an expression is in an arm (vy_op_has_arms) of its statement, whose expressions end at `end`. */
int vy_expr_is_in_arm(const vyre_program *program, uint32_t expr, uint32_t end);

/* The first expression of a statement; 0 if it has none. */
uint32_t vy_stmt_exprs_first(const vyre_program *program, const vy_stmt *stmt);

/* One past the last expression of a statement whose first one is `first`. */
static inline uint32_t vy_stmt_exprs_end(const vyre_program *program, const vy_stmt *stmt, uint32_t first) {
    for (uint32_t i = stmt->arg_count; i > 0; i--) {
        const vy_arg *arg = &program->args.items[stmt->args + i - 1];
        if (!arg->is_memory)
            return arg->index + 1;
    }
    uint32_t last = stmt->c != VY_NONE ? stmt->c : stmt->b != VY_NONE ? stmt->b : stmt->a;
    return last == VY_NONE ? first : last + 1;
}

/* Whether a statement orders the memory accesses of different invocations before and after it: a barrier, a collective,
 * an atomic that is not relaxed. */
static inline int vy_stmt_orders(const vy_stmt *stmt) {
    return stmt->kind == VY_STMT_BARRIER || stmt->kind == VY_STMT_COLLECTIVE ||
           (stmt->kind == VY_STMT_ATOMIC && stmt->order != VYRE_ORDER_RELAXED);
}

/* The number of elements of a memory if it is a constant; else 0. */
uint64_t vy_memory_known_length(const vyre_program *program, uint32_t memory);
/* Whether `atomic_add` and `atomic_exchange` are valid on the memory (V071 to V073). */
int vy_memory_has_atomics(const vyre_program *program, uint32_t memory);

#endif
