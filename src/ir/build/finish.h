/* Finishing: validates a program under construction and computes its fingerprint. */
#ifndef VY_IR_BUILD_FINISH_H
#define VY_IR_BUILD_FINISH_H

#include "ir/irbuilder.h"

/* Validates (src/ir/validate), derives the feature flags, computes the fingerprint and returns the program with one
 * reference. On failure the draft is freed, the diagnostics are in `diagnostics` (optional), and error summarises them.
 * source (optional) is retained. */
vyre_status vy_irb_finish(vy_irb *draft, vy_source *source, vyre_diagnostics *diagnostics, vyre_program **out,
                          vyre_error *error);

/* Validates a finished program that was not validated (skip_verify), after the last of several steps. Fails as
 * vy_validate does; the program stays. */
vyre_status vy_program_verify(vyre_program *program, vyre_error *error);

/* The same for a program of level legal that is only compiled: checks the declarations, which lowering adds until they
 * exceed a limit, and relies on the steps for the rest. Size and depth were checked when each program was finished.
 * Before other uses, the program must be verified in full. */
vyre_status vy_program_verify_for_codegen(vyre_program *program, vyre_error *error);

/* As vy_program_verify, and computes the fingerprint if it is missing. Required before the program leaves the
 * transform. Fails as vy_validate and vy_fingerprint do. */
vyre_status vy_program_finalize(vyre_program *program, vyre_error *error);

#endif
