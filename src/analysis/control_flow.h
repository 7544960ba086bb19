/* Control flow of blocks: whether control reaches the end of a block, and whether a jump leaves one.
 *
 * Each query scans the statements. Nothing is stored, so nothing can become invalid. */
#ifndef VY_ANALYSIS_CONTROL_FLOW_H
#define VY_ANALYSIS_CONTROL_FLOW_H

#include "ir/model.h"

/* Whether control may reach the end of the block [first, end): it does not if the last statement is a jump or a
 * trap. */
int vy_block_falls_through(const vyre_program *program, uint32_t first, uint32_t end);

/* Whether one of the statements [first, end) contains a `break` or `continue` of a loop around them. */
int vy_block_has_loop_jump(const vyre_program *program, uint32_t first, uint32_t end);

#endif
