/* Facts: what the statements of a program say about it as a whole (VY_PROGRAM_HAS_*). */
#include "ir/validate/verifier.h"

uint32_t vy_stmt_flags(const vy_stmt *stmt) {
    switch (stmt->kind) {
    case VY_STMT_BARRIER:
        return stmt->scope == VYRE_SCOPE_DEVICE ? VY_PROGRAM_HAS_GRID_BARRIER : VY_PROGRAM_HAS_BARRIER;
    case VY_STMT_COLLECTIVE:
        return VY_PROGRAM_HAS_BARRIER;
    case VY_STMT_ATOMIC:
        return VY_PROGRAM_HAS_ATOMIC;
    case VY_STMT_TRAP:
    case VY_STMT_RECORD_TRAP:
        return VY_PROGRAM_HAS_TRAP;
    case VY_STMT_PRINT:
        return VY_PROGRAM_HAS_PRINT;
    case VY_STMT_CALL:
        return stmt->callee == VY_NONE ? VY_PROGRAM_HAS_OP_CALL : VY_PROGRAM_HAS_CALL;
    default:
        return 0;
    }
}

/* An atomic that shows the schedule by itself: its value is taken, or what it leaves behind depends on who came last, or on the order of
 * roundings. */
static int shows_schedule(const vyre_program *p, const vy_stmt *s) {
    return s->result_count || s->op == VYRE_ATOMIC_STORE || s->op == VYRE_ATOMIC_EXCHANGE ||
           s->op == VYRE_ATOMIC_COMPARE_EXCHANGE ||
           vyre_type_class((vyre_type)p->memories.items[s->memory].type) == VYRE_CLASS_FLOAT;
}

/* Adds the kinds of atomics each memory meets in a function; callees have been added. Returns whether the schedule shows. */
static int add_kinds(const vyre_program *p, const vy_function *f, uint16_t *kinds) {
    int shows = 0;
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind == VY_STMT_ATOMIC) {
            kinds[s->memory] |= (uint16_t)(1u << s->op);
            shows |= shows_schedule(p, s);
        } else if (s->kind == VY_STMT_CALL && s->callee != VY_NONE) {
            const vy_function *callee = &p->functions.items[s->callee];
            for (uint32_t k = 0; k < s->arg_count; k++)
                if (p->args.items[s->args + k].is_memory)
                    kinds[p->args.items[s->args + k].index] |= kinds[p->params.items[callee->first_param + k].index];
        }
    }
    for (uint32_t i = f->first_memory; i < f->first_memory + f->memory_count; i++)
        shows |= (kinds[i] & (kinds[i] - 1)) != 0; /* more than one kind */
    return shows;
}

static int depends_on_schedule(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    uint16_t *kinds = vy_verifier_scratch(verifier, p->memories.count, sizeof *kinds);
    int shows = 0;
    for (uint32_t i = 0; kinds && i < p->functions.count; i++)
        shows |= add_kinds(p, &p->functions.items[verifier->order ? verifier->order[i] : i], kinds);
    return shows;
}

void vy_verifier_derive_flags(vy_verifier *verifier) {
    vyre_program *p = verifier->program;
    uint32_t facts = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        facts |= vy_stmt_flags(&p->stmts.items[i]);
    if ((facts & VY_PROGRAM_HAS_ATOMIC) && depends_on_schedule(verifier))
        facts |= VY_PROGRAM_IS_SCHEDULE_DEPENDENT;
    p->facts = facts;
}
