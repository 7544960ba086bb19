/* Running the parts of the validator in order (check.h says what each does and relies on). */
#include "ir/validate/validate.h"

#include "ir/validate/check.h"

#include <stdio.h>

static void run_parts(vy_check *check) {
    vy_check_layout(check);
    if (!vy_check_clean(check))
        return;
    /* These two are independent, so one run shows what both find. */
    vy_check_declarations(check);
    if (!check->out_of_memory)
        vy_check_bodies(check);
    /* The rest speaks about programs that mean something. */
    void (*const parts[])(vy_check *) = {vy_check_calls, vy_check_facts, vy_check_uniform, vy_check_races,
                                         vy_check_unused};
    /* Legalisation gives values to others through memory, which no rule proves uniform; a run in the oracle tells. */
    size_t count = check->program->level == VYRE_LEVEL_LEGAL ? 2 : sizeof parts / sizeof *parts;
    for (size_t i = 0; i < count && vy_check_clean(check); i++)
        parts[i](check);
}

vyre_status vy_derive_facts(vyre_program *program, vyre_error *error) {
    vy_check check = {.program = program, .error = error};
    vy_check_facts(&check);
    vy_arena_free(&check.scratch);
    return check.out_of_memory ? vy_fail_memory(error, "the facts of a program") : VYRE_OK;
}

/* What a run has come to. */
static vyre_status conclude(vy_check *check) {
    vyre_error *error = check->error;
    vy_arena_free(&check->scratch);
    if (check->errors == 0)
        return check->out_of_memory ? vy_fail_memory(error, "the validation of a program") : VYRE_OK;
    if (error && check->errors > 1) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, " (and %zu more error%s)", check->errors - 1,
                 check->errors == 2 ? "" : "s");
    }
    return VYRE_INVALID_PROGRAM;
}

vyre_status vy_validate_declarations(vyre_program *program, vyre_error *error) {
    vy_check check = {.program = program, .error = error};
    vy_check_declarations(&check);
    return conclude(&check);
}

vyre_status vy_validate(vyre_program *program, vyre_diagnostics *diagnostics, vyre_error *error) {
    vy_check check = {.program = program, .diagnostics = diagnostics, .error = error};
    program->facts = 0;
    run_parts(&check);
    return conclude(&check);
}
