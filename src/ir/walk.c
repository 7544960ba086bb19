/* Program traversal (walk.h). */
#include "ir/walk.h"

uint32_t vy_expr_first(const vyre_program *program, uint32_t root) {
    for (const vy_expr *exprs = program->exprs.items;;) {
        if (exprs[root].kind == VY_EXPR_OP)
            root = exprs[root].a;
        else if (exprs[root].kind == VY_EXPR_LOAD)
            root = exprs[root].b;
        else
            return root;
    }
}

/* The arms of an op are the expressions between its first operand and the op. */
int vy_expr_is_in_arm(const vyre_program *program, uint32_t expr, uint32_t end) {
    for (uint32_t i = expr + 1; i < end; i++) {
        const vy_expr *e = &program->exprs.items[i];
        if (e->kind == VY_EXPR_OP && vy_op_has_arms(e->op) && e->a < expr)
            return 1;
    }
    return 0;
}

uint32_t vy_stmt_exprs_first(const vyre_program *program, const vy_stmt *stmt) {
    uint32_t root = stmt->a != VY_NONE ? stmt->a : stmt->b != VY_NONE ? stmt->b : stmt->c;
    for (uint32_t i = 0; i < stmt->arg_count && root == VY_NONE; i++) {
        const vy_arg *arg = &program->args.items[stmt->args + i];
        root = arg->is_memory ? VY_NONE : arg->index;
    }
    return root == VY_NONE ? 0 : vy_expr_first(program, root);
}

/* The value of a size made of literals; 0 if it is not constant or invalid. The validator bounds the recursion. */
static uint64_t known_size(const vyre_program *program, uint32_t root) {
    const vy_size *size = &program->sizes.items[root];
    uint64_t a, b, value;
    if (size->kind == VY_SIZE_LITERAL)
        return size->value;
    if (size->kind != VY_SIZE_ADD && size->kind != VY_SIZE_SUB && size->kind != VY_SIZE_MUL)
        return 0;
    a = known_size(program, size->a);
    b = a ? known_size(program, size->b) : 0;
    int overflows = size->kind == VY_SIZE_ADD   ? __builtin_add_overflow(a, b, &value)
                    : size->kind == VY_SIZE_SUB ? __builtin_sub_overflow(a, b, &value)
                                                : __builtin_mul_overflow(a, b, &value);
    return b && !overflows ? value : 0;
}

uint64_t vy_memory_known_length(const vyre_program *program, uint32_t memory) {
    const vy_memory *m = &program->memories.items[memory];
    return m->size != VY_NONE ? known_size(program, m->size) : m->elements;
}

int vy_memory_has_atomics(const vyre_program *program, uint32_t memory) {
    const vy_memory *m = &program->memories.items[memory];
    vyre_type type = (vyre_type)m->type;
    if (m->space == VY_SPACE_PRIVATE || m->access != VYRE_ACCESS_READ_WRITE || vyre_type_bits(type) < 32)
        return 0;
    return (vyre_type_class(type) & VYRE_CLASS_INTEGER) || program->numerics == VYRE_NUMERICS_RELAXED;
}
