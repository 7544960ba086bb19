/* Resolving against the newest snapshot: what entry points do with a program that calls ops of dialects. */
#ifndef VY_DIALECT_LINK_H
#define VY_DIALECT_LINK_H

#include "vyre/dialect.h"

/* As vyre_program_resolve. A program that calls no op is retained; the registry is not read for it. */
vyre_status vy_program_resolve_newest(vyre_program *program, vyre_program **out, vyre_error *error);

#endif
