/* What a target has, asked of a program that was legalised for it: nothing is left that its emitter would have to know,
 * or its device to do, beyond what the target says. Types and ops are judged by the oracle as a bad device
 * (oracle/adversarial_device.h), which refuses what a profile does not have. */
#ifndef VY_TESTS_LOWER_HOLDS_H
#define VY_TESTS_LOWER_HOLDS_H

#include "ir/model.h"
#include "lower/legalize.h"

/* A collective that may stay: a shuffle of 32 bits over the hardware's own width, or one that the emitter does. */
static inline const char *legal_collective_fault(const vyre_program *legal, const vy_stmt *s,
                                                 const vy_target_desc *target) {
    vyre_type type = (vyre_type)legal->exprs.items[s->a].type;
    if (s->op != VYRE_COLLECTIVE_NATIVE_SHUFFLE)
        return target->native_collectives ? NULL : "a collective is left";
    if (s->width != target->subgroup_width)
        return "a native shuffle is not of the hardware's width";
    return vyre_type_bits(type) == 32 ? NULL : "a native shuffle moves something else than 32 bits";
}

static inline const char *legal_stmt_fault(const vyre_program *legal, const vy_stmt *s, const vy_target_desc *target) {
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_STORE:
    case VY_STMT_ATOMIC:
        return s->bounds_check == VY_BOUNDS_CHECKED ? "a store or atomic has to look where its memory ends" : NULL;
    case VY_STMT_TRAP:
    case VY_STMT_PRINT:
    case VY_STMT_CALL:
        return "a trap, print or call is left";
    case VY_STMT_COLLECTIVE:
        return legal_collective_fault(legal, s, target);
    case VY_STMT_LOAD_WIDE:
    case VY_STMT_STORE_WIDE: {
        uint32_t count = s->kind == VY_STMT_LOAD_WIDE ? s->result_count : s->arg_count;
        uint32_t bytes = count * (uint32_t)vyre_type_size((vyre_type)legal->memories.items[s->memory].type);
        return bytes > target->access_bytes ? "an access is wider than the target's" : NULL;
    }
    case VY_STMT_POLL:
        return target->cancellable ? NULL : "a program that cannot be cancelled polls";
    default:
        return NULL;
    }
}

/* What the target does not have, or NULL. */
static inline const char *legal_fault(const vyre_program *legal, const vy_target_desc *target) {
    if (legal->level != VYRE_LEVEL_LEGAL)
        return "it is not of level legal";
    for (uint32_t i = 0; i < legal->exprs.count; i++) {
        const vy_expr *e = &legal->exprs.items[i];
        if (e->kind == VY_EXPR_LOAD && e->op == VY_BOUNDS_CHECKED)
            return "a load has to look where its memory ends";
        if (e->kind == VY_EXPR_ALIGN_OFFSET && (!target->access_bytes || target->aligned_buffers))
            return "it asks where a buffer starts, for nothing";
    }
    for (uint32_t i = 0; i < legal->stmts.count; i++) {
        const char *fault = legal_stmt_fault(legal, &legal->stmts.items[i], target);
        if (fault)
            return fault;
    }
    return NULL;
}

#endif
