/* Verifier: checks that a draft is a valid program, and derives its program flags. */
#ifndef VY_IR_VALIDATE_H
#define VY_IR_VALIDATE_H

#include "base/diagnostics.h"
#include "ir/model.h"

/* Checks every rule of the language on a program whose arrays may hold anything: any index may be out of range, any
 * enum unknown, any tree malformed. Adds findings, with positions from the side table, and sets program->facts.
 * Returns OK, INVALID_PROGRAM or NO_MEMORY; error summarises the first finding. */
vyre_status vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error);

/* Sets program->facts of a program that is known to be valid and calls no local functions. Returns OK or NO_MEMORY. */
vyre_status vy_derive_program_flags(vyre_program *program, vyre_error *error);

/* Checks only the declarations of a program that is otherwise valid. Returns the same statuses as vy_validate. */
vyre_status vy_validate_declarations(vyre_program *program, vyre_error *error);

#endif
