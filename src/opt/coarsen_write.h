/* Writing the body of a program for several lanes at once. Inside of src/opt/coarsen*.c only. */
#ifndef VY_OPT_COARSEN_WRITE_H
#define VY_OPT_COARSEN_WRITE_H

#include "opt/clone.h"
#include "opt/coarsen_plan.h"

typedef struct vy_coarsen_writer {
    vy_cloner copy;
    vy_coarsen_plan *plan;
    uint32_t *lanes[VY_COARSEN_MAX]; /* by lane: from variables of the program to those of the draft */
    uint32_t *hoisted; /* by load and remainder of the current statement: the variable of lane 0, or VY_NONE */
    uint32_t groups, size, base; /* variables of the draft: groups_x and invocations of the original, where lane 0 is */
    uint32_t element;            /* slow path: the variable that is global_id.x; VY_NONE in the fast path */
    uint32_t starts[VY_COARSEN_STARTS]; /* variables of the draft */
    uint32_t row, row_first; /* a remainder whose lanes stand in a row, or VY_NONE, and the variable of lane 0 */
    uint8_t is_early;        /* at the start of the program: a `let` is not there yet, its value is */
    uint8_t ended;           /* the last statement of the block was a jump */
} vy_coarsen_writer;

/* The body for so many lanes, from lane 0, in the current block. */
void vy_coarsen_write_body(vy_coarsen_writer *writer, uint32_t lanes);
/* An early expression, for a statement that follows directly. */
uint32_t vy_coarsen_write_early(vy_coarsen_writer *writer, uint32_t expr);

#endif
