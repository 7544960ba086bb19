/* Links a program with the standard library, as the reference interpreter and the emitters require. */
#ifndef VY_TESTS_RESOLVE_H
#define VY_TESTS_RESOLVE_H

#include "support/test.h"

#include "vyre/dialect.h"

/* A new reference. */
static inline vyre_program *vy_test_resolve(vyre_program *program) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    vyre_program *resolved = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_program_resolve(program, guard, NULL, &resolved, &error) != VYRE_OK)
        fail_msg("%s (%s)", error.message, error.where);
    vyre_dialects_release(&guard);
    return resolved;
}

#endif
