/* The fingerprint: digest of the canonical wire form. */
#ifndef VY_IR_FINGERPRINT_H
#define VY_IR_FINGERPRINT_H

#include "ir/model.h"

/* Computes program->fingerprint of a validated program. Fails with NO_MEMORY, or LIMIT when the wire form would be over
 * VY_LIMIT_WIRE_BYTES. Small programs allocate nothing. */
vyre_status vy_fingerprint(vyre_program *program, vyre_error *error);

#endif
