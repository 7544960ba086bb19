/* The inliner for compiler passes; vyre_program_inline is its public form. */
#ifndef VY_IR_BUILD_INLINE_H
#define VY_IR_BUILD_INLINE_H

#include "vyre/program.h"

/* As vyre_program_inline, without verification: for an intermediate step of a transform (skip_verify). */
vyre_status vy_program_inline_unverified(const vyre_program *program, vyre_program **out, vyre_error *error);

#endif
