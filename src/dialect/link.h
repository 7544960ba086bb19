/* Linking against the newest snapshot: dispatch and emit functions call this for a program that may call dialect
 * ops. */
#ifndef VY_DIALECT_LINK_H
#define VY_DIALECT_LINK_H

#include "vyre/dialect.h"

/* Like vyre_program_resolve. A program that calls no op is retained, and the registry is not read. */
vyre_status vy_program_resolve_newest(vyre_program *program, vyre_program **out, vyre_error *error);

#endif
