/* Declarations shared by the files of the C emitter.
 *
 *   op_table.c   types, op table and reserved words of the dialect
 *   statement.c  atomics, traps and polls
 *   lowered_op.c ops with code of their dialect
 *   module.c     declarations, the function that runs the grid */
#ifndef VY_EMIT_C_EMITTER_H
#define VY_EMIT_C_EMITTER_H

#include "emit/c/c.h"
#include "emit/c_family/c_family.h"

extern const vy_c_dialect vy_c_plain;
extern vy_c_writer *const vy_c_writers[VY_STMT_KIND_COUNT];

/* A call of an op whose code for C replaces its body. */
vy_c_writer vy_c_lowered_op;

#endif
