/* Dead code in a program that is nobody else's (vyre_program.is_unique): what stays closes up, and no other program is made. Internal to pass_dead*.c.
 *
 * What must stay true: the program is the one that the rewriter would make, with its names, positions and changes (tests/opt/test_rewriter_inplace.c). Names of what goes go too: passes
 * that follow may use them. */
#ifndef VY_OPT_DCE_COMPACT_H
#define VY_OPT_DCE_COMPACT_H

#include "ir/model.h"

typedef struct vy_dce_plan {
    const uint8_t *needed;         /* by statement; nothing is needed in a block that is not */
    const uint8_t *is_overwritten; /* by statement: of a `var` that is needed, its first value is not */
    const uint8_t *unused;         /* by memory: goes, if it is an array */
    const uint32_t *exprs;         /* by statement: its first expression; of the end of the program, too */
} vy_dce_plan;

/* Whether it can be done: the entry is all there is. */
static inline int vy_dce_may_compact(const vyre_program *program) {
    return program->is_unique && program->functions.count == 1 && vy_program_has_entry(program);
}
/* Counts what went. VYRE_NO_MEMORY: the program is good for nothing. */
vyre_status vy_dce_compact(vyre_program *program, const vy_dce_plan *dead, uint64_t *changes, vyre_error *error);

#endif
