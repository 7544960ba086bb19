/* Running the parts of the validator in order (verifier.h says what each does and relies on). */
#include "ir/validate/validate.h"

#include "ir/validate/verifier.h"

#include <stdio.h>

static void run_parts(vy_verifier *verifier) {
    vy_verify_layout(verifier);
    if (!vy_verifier_is_clean(verifier))
        return;
    /* These two are independent, so one run shows what both find. */
    vy_verify_declarations(verifier);
    if (!verifier->out_of_memory)
        vy_verify_bodies(verifier);
    /* The rest speaks about programs that mean something. */
    void (*const parts[])(vy_verifier *) = {vy_verify_calls, vy_verifier_derive_flags, vy_verify_uniformity,
                                            vy_verify_races, vy_verify_unused};
    /* Legalisation gives values to others through memory, which no rule proves uniform; a run in the oracle tells. */
    size_t count = verifier->program->level == VYRE_LEVEL_LEGAL ? 2 : sizeof parts / sizeof *parts;
    for (size_t i = 0; i < count && vy_verifier_is_clean(verifier); i++)
        parts[i](verifier);
}

vyre_status vy_derive_program_flags(vyre_program *program, vyre_error *error) {
    vy_verifier verifier = {.program = program, .error = error};
    vy_verifier_derive_flags(&verifier);
    vy_arena_free(&verifier.scratch);
    return verifier.out_of_memory ? vy_fail_memory(error, "the facts of a program") : VYRE_OK;
}

/* What a run has come to. */
static vyre_status conclude(vy_verifier *verifier) {
    vyre_error *error = verifier->error;
    vy_arena_free(&verifier->scratch);
    if (verifier->errors == 0)
        return verifier->out_of_memory ? vy_fail_memory(error, "the validation of a program") : VYRE_OK;
    if (error && verifier->errors > 1) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, " (and %zu more error%s)",
                 verifier->errors - 1, verifier->errors == 2 ? "" : "s");
    }
    return VYRE_INVALID_PROGRAM;
}

vyre_status vy_validate_declarations(vyre_program *program, vyre_error *error) {
    vy_verifier verifier = {.program = program, .error = error};
    vy_verify_declarations(&verifier);
    return conclude(&verifier);
}

vyre_status vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error) {
    vy_verifier verifier = {.program = program, .diagnostics = diagnostics, .error = error};
    program->facts = 0;
    run_parts(&verifier);
    return conclude(&verifier);
}
