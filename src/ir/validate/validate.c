#include "ir/validate/validate.h"

/* Which facts a statement adds by being there. */
static uint32_t facts_of(const vy_stmt *stmt) {
    switch (stmt->kind) {
    case VY_STMT_BARRIER: return stmt->scope == VYRE_SCOPE_DEVICE ? VY_FACT_GRID_BARRIER : VY_FACT_BARRIER;
    case VY_STMT_COLLECTIVE: return VY_FACT_BARRIER;
    case VY_STMT_ATOMIC: return VY_FACT_ATOMIC;
    case VY_STMT_TRAP: return VY_FACT_TRAP;
    case VY_STMT_PRINT: return VY_FACT_PRINT;
    case VY_STMT_CALL: return stmt->callee == VY_NONE ? VY_FACT_OP_CALL : VY_FACT_CALL;
    default: return 0;
    }
}

vyre_status vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error) {
    (void)diagnostics;
    (void)error;
    program->facts = 0;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        program->facts |= facts_of(&program->stmts.items[i]);
    return VYRE_OK;
}
