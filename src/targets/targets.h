/* Targets of vyre_emit (vyre/emit.h): one function for each kind of code, in the file of its emitter. The table is in
 * emit.c. */
#ifndef VY_TARGETS_TARGETS_H
#define VY_TARGETS_TARGETS_H

#include "vyre/emit.h"

/* Makes the code of a program that has an entry and whose ops are resolved. The options are complete: no text is NULL.
 * `out` is empty. */
typedef vyre_status vy_target_emit(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                                   vyre_error *error);

vy_target_emit vy_target_llvm_ir, vy_target_asm;               /* llvm.c */
vy_target_emit vy_target_ptx, vy_target_cubin, vy_target_sass; /* ptx.c */
vy_target_emit vy_target_legal;                                /* legal.c */

#endif
