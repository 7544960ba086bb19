/* Declarations shared by the files of the C emitter.
 *
 *   op_table.c   types, op table and reserved words of the dialect
 *   barriers.c   barriers, and the variables that are live across one
 *   lowered_op.c ops with code of their dialect
 *   module.c     declarations, the function that runs the grid */
#ifndef VY_EMIT_C_EMITTER_H
#define VY_EMIT_C_EMITTER_H

#include "emit/c/c.h"
#include "emit/c_family/c_family.h"

extern const vy_c_dialect vy_c_plain;
extern vy_c_writer *const vy_c_writers[VY_STMT_KIND_COUNT];

/* Finds the variables that are live across a barrier, and the features of the program (reports, polls, barriers). */
void vy_c_scan(vy_c *c);
/* A call of an op whose code for C replaces its body. */
vy_c_writer vy_c_lowered_op;
/* The body of the function of an invocation. */
void vy_c_function(vy_c *c);

#endif
