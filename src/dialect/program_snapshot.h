/* A program keeps the snapshot its ops came from: code of theirs for a target is looked up there, whatever was installed since. */
#ifndef VY_DIALECT_PROGRAM_SNAPSHOT_H
#define VY_DIALECT_PROGRAM_SNAPSHOT_H

#include "vyre/dialect.h"

/* The program, which nobody else has yet, holds a guard of its own on the snapshot. NO_MEMORY is the only failure. */
vyre_status vy_program_pin_snapshot(vyre_program *program, vyre_dialects_guard guard, vyre_error *error);

#endif
