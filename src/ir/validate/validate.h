/* The validator: decides whether a draft is a program, and derives its facts. */
#ifndef VY_IR_VALIDATE_H
#define VY_IR_VALIDATE_H

#include "base/diagnostics.h"
#include "ir/model.h"

/* Checks every rule of the language on a program in the layout of model.h but otherwise arbitrary: any index may be out of range, any enum
 * unknown, any tree malformed. Adds findings (positions from the side table) and sets program->facts. Returns OK, INVALID_PROGRAM or
 * NO_MEMORY; error sums up the first finding. */
vyre_status vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error);

/* Sets the facts of a program that is known to be valid and calls no functions of its own. Returns OK or NO_MEMORY. */
vyre_status vy_derive_program_flags(vyre_program *program, vyre_error *error);

/* Checks what is declared in a program that is valid but for that, which has limits of its own. As vy_validate. */
vyre_status vy_validate_declarations(vyre_program *program, vyre_error *error);

#endif
