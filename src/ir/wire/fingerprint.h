/* The fingerprint: digest of the canonical wire form. */
#ifndef VY_IR_FINGERPRINT_H
#define VY_IR_FINGERPRINT_H

#include "ir/model.h"

/* Computes program->fingerprint of a validated program; NO_MEMORY is the only failure. */
vyre_status vy_fingerprint(vyre_program *program, vyre_error *error);

#endif
