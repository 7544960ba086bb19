/* Control flow of blocks (control_flow.h). Invariant: a jump in an inner loop belongs to that loop. */
#include "analysis/control_flow.h"

int vy_block_falls_through(const vyre_program *program, uint32_t first, uint32_t end) {
    uint8_t last = VY_STMT_KIND_COUNT;
    for (uint32_t i = first; i < end; i = program->stmts.items[i].end)
        last = program->stmts.items[i].kind;
    return !vy_stmt_is_jump(last) && last != VY_STMT_TRAP;
}

int vy_block_has_loop_jump(const vyre_program *program, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = program->stmts.items;
    for (uint32_t i = first; i < end;) { /* the jumps in an inner loop belong to that loop */
        if (stmts[i].kind == VY_STMT_BREAK || stmts[i].kind == VY_STMT_CONTINUE)
            return 1;
        i = vy_stmt_is_loop(stmts[i].kind) ? stmts[i].end : i + 1;
    }
    return 0;
}
