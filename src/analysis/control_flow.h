/* Control flow of blocks: whether control reaches the end of a block, and whether a jump leaves one.
 *
 * Each query scans the statements. A jump in an inner loop belongs to that loop. Nothing is stored, so nothing can
 * become invalid. */
#ifndef VY_ANALYSIS_CONTROL_FLOW_H
#define VY_ANALYSIS_CONTROL_FLOW_H

#include "ir/model.h"

/* Whether control may reach the end of the block [first, end): it does not if the last statement is a jump or a
 * trap. */
static inline int vy_block_falls_through(const vyre_program *program, uint32_t first, uint32_t end) {
    uint8_t last = VY_STMT_KIND_COUNT;
    for (uint32_t i = first; i < end; i = vy_stmt_at(program, i)->end)
        last = vy_stmt_at(program, i)->kind;
    return !vy_stmt_is_jump(last) && last != VY_STMT_TRAP;
}

/* Whether one of the statements [first, end) contains a `break` or `continue` of a loop around them. */
static inline int vy_block_has_loop_jump(const vyre_program *program, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = program->stmts.items;
    for (uint32_t i = first; i < end;) { /* the jumps in an inner loop belong to that loop */
        if (stmts[i].kind == VY_STMT_BREAK || stmts[i].kind == VY_STMT_CONTINUE)
            return 1;
        i = vy_stmt_is_loop(stmts[i].kind) ? stmts[i].end : i + 1;
    }
    return 0;
}

#endif
