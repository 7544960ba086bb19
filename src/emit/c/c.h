/* The C emitter: from a legal program to one C17 file that computes the same bits.
 *
 * The file needs only the C standard library. It declares a struct with the params, the buffers and the grid, and
 * defines one function that runs the whole grid on the calling thread (docs/c.md). The program is legalised but not
 * optimised, so that the text remains close to the source; the C compiler optimises it. Invocations run sequentially.
 * A program with barriers becomes a function that is called for each invocation until all have ended: it returns at a
 * barrier and continues there at the next call (emit/c_family/barriers.c). */
#ifndef VY_EMIT_C_C_H
#define VY_EMIT_C_C_H

#include "ir/model.h"
#include "vyre/base.h"

/* Writes the file. `program` is the result of the compile pipeline for vy_c_target; `out` is empty. Any thread. The
 * text depends on the program and its positions alone.
 *
 * VYRE_UNSUPPORTED       the program contains a construct that this emitter does not support; the error names it
 * VYRE_NO_MEMORY */
vyre_status vy_c_emit(const vyre_program *program, vyre_bytes *out, vyre_error *error);

#endif
