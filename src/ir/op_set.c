/* Op sets (op_set.h). */
#include "ir/op_set.h"

#include "ir/model.h"

#define SOURCE_NAME(name) name
#define LEGAL_NAME(name) NULL
#define WORKGROUP_1(name) "workgroup_" name
#define WORKGROUP_0(name) NULL
#define SUBGROUP_SOURCE(name) "subgroup_" name
#define SUBGROUP_LEGAL(name) NULL

static const char *const names[VY_OP_SET_COUNT] = {
#define X(ID, name, symbol, precedence, arity, cls, rule, level, edge, doc) [VYRE_OP_##ID] = level##_NAME(name),
    VYRE_OP_LIST(X)
#undef X
#define X(ID, name, axes, uniform, doc) [VY_OP_SET_BUILTIN + VYRE_BUILTIN_##ID] = name,
        VYRE_BUILTIN_LIST(X)
#undef X
#define X(ID, name, operands, value, doc) [VY_OP_SET_ATOMIC + VYRE_ATOMIC_##ID] = name,
            VYRE_ATOMIC_LIST(X)
#undef X
#define X(ID, name, operands, combines, workgroup, subgroup, level, doc)                                               \
    [VY_OP_SET_WORKGROUP + VYRE_COLLECTIVE_##ID] = WORKGROUP_##workgroup(name),                                        \
                           [VY_OP_SET_SUBGROUP + VYRE_COLLECTIVE_##ID] = SUBGROUP_##level(name),
                VYRE_COLLECTIVE_LIST(X)
#undef X
                    [VY_OP_SET_LOAD] = "load",
    [VY_OP_SET_STORE] = "store",
    [VY_OP_SET_BARRIER] = "barrier",
    [VY_OP_SET_GRID_BARRIER] = "grid_barrier",
};

const char *vy_op_set_name(unsigned member) {
    return names[member];
}

vy_op_set vy_op_set_of_names(const char *const *list, size_t count) {
    vy_op_set set = {{0}};
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; list[i] && k < VY_OP_SET_COUNT; k++)
            if (names[k] && strcmp(names[k], list[i]) == 0)
                vy_op_set_add(&set, k);
    return set;
}

static void add_stmt(vy_op_set *set, const vy_stmt *stmt) {
    switch (stmt->kind) {
    case VY_STMT_STORE:
    case VY_STMT_STORE_WIDE:
        vy_op_set_add(set, VY_OP_SET_STORE);
        break;
    case VY_STMT_LOAD_WIDE:
        vy_op_set_add(set, VY_OP_SET_LOAD);
        break;
    case VY_STMT_ATOMIC:
        vy_op_set_add(set, VY_OP_SET_ATOMIC + stmt->op);
        break;
    case VY_STMT_COLLECTIVE:
        vy_op_set_add(set, (stmt->width ? VY_OP_SET_SUBGROUP : VY_OP_SET_WORKGROUP) + stmt->op);
        break;
    case VY_STMT_BARRIER:
        vy_op_set_add(set, stmt->scope == VYRE_SCOPE_DEVICE ? VY_OP_SET_GRID_BARRIER : VY_OP_SET_BARRIER);
        break;
    default:
        break;
    }
}

vy_op_set vy_op_set_of_program(const vyre_program *program) {
    vy_op_set set = {{0}};
    for (uint32_t i = 0; i < program->stmts.count; i++)
        add_stmt(&set, &program->stmts.items[i]);
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *expr = &program->exprs.items[i];
        if (expr->kind == VY_EXPR_OP)
            vy_op_set_add(&set, expr->op);
        else if (expr->kind == VY_EXPR_BUILTIN)
            vy_op_set_add(&set, VY_OP_SET_BUILTIN + expr->op);
        else if (expr->kind == VY_EXPR_LOAD)
            vy_op_set_add(&set, VY_OP_SET_LOAD);
    }
    return set;
}

vy_op_set vy_program_ops(vyre_program *program) {
    vy_op_set set;
    if (atomic_load_explicit(&program->has_ops, memory_order_acquire)) {
        for (unsigned w = 0; w < VY_OP_SET_WORDS; w++)
            set.words[w] = atomic_load_explicit(&program->ops[w], memory_order_relaxed);
        return set;
    }
    set = vy_op_set_of_program(program); /* several threads store the same words */
    for (unsigned w = 0; w < VY_OP_SET_WORDS; w++)
        atomic_store_explicit(&program->ops[w], set.words[w], memory_order_relaxed);
    atomic_store_explicit(&program->has_ops, 1, memory_order_release);
    return set;
}

const char *vy_op_set_missing(const vy_op_set *needed, const vy_op_set *offered) {
    for (unsigned w = 0; w < VY_OP_SET_WORDS; w++) {
        uint64_t lacking = needed->words[w] & ~offered->words[w];
        if (lacking)
            return names[64 * w + (unsigned)__builtin_ctzll(lacking)];
    }
    return NULL;
}
