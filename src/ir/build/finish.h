/* Finishing: how a program under construction becomes a valid one with its fingerprint, or is refused. */
#ifndef VY_IR_BUILD_FINISH_H
#define VY_IR_BUILD_FINISH_H

#include "ir/irbuilder.h"

/* Validates (src/ir/validate), derives the facts, computes the fingerprint and hands the program over with one
 * reference. On failure the draft is discarded and the findings are in `diagnostics` (optional); error sums them up.
 * source (optional) is retained. */
vyre_status vy_irb_finish(vy_irb *draft, vy_source *source, vyre_diagnostics *diagnostics, vyre_program **out,
                          vyre_error *error);

/* Validates a finished program that was not (skip_verify): after the last of several steps. Fails as vy_validate; the
 * program stays. */
vyre_status vy_program_verify(vyre_program *program, vyre_error *error);

/* The same for one of level legal that is only made code of: steps are trusted with all but what is declared, of which
 * they make more until it is over a limit. How large and deep a program is was looked at when each was made. Whoever
 * else is to see it checks it. */
vyre_status vy_program_verify_for_codegen(vyre_program *program, vyre_error *error);

/* As vy_program_verify, and gives it its fingerprint if it has none: before anybody else sees it. Fails as vy_validate
 * and vy_fingerprint. */
vyre_status vy_program_finalize(vyre_program *program, vyre_error *error);

#endif
