/* Making and freeing oracles (vyre/oracle.h). */
#include "base/status.h"
#include "oracle/adversarial_device.h"
#include "oracle/bytecode.h"

static vyre_status refuse_op_calls(const vyre_program *program, vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    for (uint32_t s = entry->first_stmt; s < entry->end_stmt; s++) {
        const vy_stmt *stmt = &program->stmts.items[s];
        if (stmt->kind != VY_STMT_CALL)
            continue;
        vy_position at = vy_stmt_position(program, s);
        vy_fail(error, VYRE_NOT_FOUND,
                "resolve the program first (vyre_program_resolve), or define the function in the file",
                "the program calls op `%s`, which is not resolved", vy_symbol_name(program, stmt->name));
        if (error && at.line)
            vy_fail_where(error, "%s:%u:%u", vy_source_name(program->source), at.line, at.column);
        return VYRE_NOT_FOUND;
    }
    return VYRE_OK;
}

static vyre_status make(vyre_program *program, const uint64_t *exact, vyre_oracle **out, vyre_error *error) {
    *out = NULL;
    if (!vy_program_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                       "a library has no entry to run");
    vyre_oracle *oracle = vy_allocate_zero(sizeof *oracle);
    if (!oracle)
        return vy_fail_memory(error, "an oracle");
    oracle->is_device = exact != NULL;
    oracle->exact = exact ? *exact : 0;
    vyre_status status = VYRE_OK;
    if (program->facts & VY_PROGRAM_HAS_CALL)
        status = vyre_program_inline(program, &oracle->program, error);
    else
        oracle->program = vyre_program_retain(program);
    if (status == VYRE_OK)
        status = refuse_op_calls(oracle->program, error);
    if (status == VYRE_OK)
        status = vy_oracle_compile(oracle, error);
    if (status != VYRE_OK) {
        vyre_oracle_free(oracle);
        return status;
    }
    *out = oracle;
    return VYRE_OK;
}

vyre_status vyre_oracle_new(vyre_program *program, vyre_oracle **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, program);
    return make(program, NULL, out, error);
}

vyre_status vy_oracle_new_on(vyre_program *program, uint64_t exact, vyre_oracle **out, vyre_error *error) {
    return make(program, &exact, out, error);
}

void vyre_oracle_free(vyre_oracle *oracle) {
    if (!oracle)
        return;
    vyre_program_release(oracle->program);
    VY_VECTOR_FREE(&oracle->code);
    VY_VECTOR_FREE(&oracle->shared);
    VY_VECTOR_FREE(&oracle->ids);
    VY_VECTOR_FREE(&oracle->memories);
    VY_VECTOR_FREE(&oracle->lists);
    vy_release(oracle, sizeof *oracle);
}
