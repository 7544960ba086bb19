/* Warnings about declarations that nothing uses.
 *
 * Only declarations with a position are reported, that is, those of a text: programs that are built by calls are made by generators, which leave
 * such declarations behind. Not reported are names that begin with `_`, loop variables, parameters of functions, buffers that the dispatch returns, and
 * the results of a statement if one of them is used. */
#include "ir/validate/verifier.h"

enum { READ = 1, WRITTEN = 2 };

typedef struct uses {
    unsigned char *variables, *memories; /* READ, WRITTEN */
} uses;

static void use_expressions(const vyre_program *program, const uses *u) {
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *expr = &program->exprs.items[i];
        if (expr->kind == VY_EXPR_VARIABLE)
            u->variables[expr->a] |= READ;
        else if (expr->kind == VY_EXPR_LOAD || expr->kind == VY_EXPR_LEN || expr->kind == VY_EXPR_ALIGN_OFFSET)
            u->memories[expr->a] |= READ;
    }
}

static void use_sizes(const vyre_program *program, const uses *u) {
    for (uint32_t i = 0; i < program->sizes.count; i++) {
        const vy_size *size = &program->sizes.items[i];
        if (size->kind == VY_SIZE_PARAM)
            u->variables[size->a] |= READ;
        else if (size->kind == VY_SIZE_LEN)
            u->memories[size->a] |= READ;
    }
    if (program->grid.kind == VYRE_GRID_OVER || program->grid.kind == VYRE_GRID_INDIRECT)
        u->memories[program->grid.memory] |= READ;
}

/* All results of a statement count as read if one is. */
static void use_results(const vy_stmt *stmt, const uses *u) {
    unsigned char any = stmt->kind == VY_STMT_FOR ? READ : 0;
    for (uint32_t i = 0; i < stmt->result_count; i++)
        any |= u->variables[stmt->variable + i];
    for (uint32_t i = 0; i < stmt->result_count; i++)
        u->variables[stmt->variable + i] |= any;
}

static void use_statements(const vyre_program *program, const uses *u) {
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        const vy_stmt *stmt = &program->stmts.items[i];
        if (stmt->kind == VY_STMT_ASSIGN)
            u->variables[stmt->variable] |= WRITTEN;
        else if (stmt->result_count)
            use_results(stmt, u);
        if (stmt->memory != VY_NONE)
            u->memories[stmt->memory] |= stmt->result_count ? READ : WRITTEN;
        for (uint32_t k = 0; k < stmt->arg_count; k++) {
            const vy_arg *arg = &program->args.items[stmt->args + k];
            if (arg->is_memory)
                u->memories[arg->index] |= READ;
        }
    }
}

static int is_reported(const vy_verifier *verifier, vy_symbol name, vy_position at) {
    const char *text = vy_verifier_name(verifier, name);
    return at.line != 0 && *text && *text != '_';
}

static void report_variable(vy_verifier *verifier, uint32_t index, int is_param, unsigned use) {
    const vy_variable *variable = &verifier->program->variables.items[index];
    const char *name = vy_verifier_name(verifier, variable->name);
    if ((use & READ) || !is_reported(verifier, variable->name, variable->position))
        return;
    if (is_param)
        vy_verifier_warning(verifier, VY_V105, variable->position, NULL, "param `%s` is not used", name);
    else
        vy_verifier_warning(verifier, VY_V106, variable->position, NULL, "`%s` is %s", name,
                            use & WRITTEN ? "assigned, but its value is not used" : "not used");
}

static void report_memory(vy_verifier *verifier, uint32_t index, unsigned use) {
    const vy_memory *memory = &verifier->program->memories.items[index];
    const char *name = vy_verifier_name(verifier, memory->name);
    if ((use & READ) || !is_reported(verifier, memory->name, memory->position))
        return;
    if (memory->space != VY_SPACE_BUFFER)
        vy_verifier_warning(verifier, VY_V107, memory->position, NULL, "array `%s` is %s", name,
                            use & WRITTEN ? "stored to, but not read" : "not used");
    else if (!vy_access_stores(memory->access))
        vy_verifier_warning(verifier, VY_V105, memory->position, NULL, "buffer `%s` is not used", name);
}

/* The parameters of a function come first in its ranges. They are not reported: callers, or the signature of an op, fix them. */
static void report_function(vy_verifier *verifier, const vy_function *function, const uses *u) {
    const vyre_program *program = verifier->program;
    int is_entry = vy_is_entry(program, function);
    uint32_t scalars = 0, memories = 0;
    for (uint32_t i = 0; !is_entry && i < function->param_count; i++) {
        int is_memory = program->params.items[function->first_param + i].is_memory != 0;
        memories += (uint32_t)is_memory;
        scalars += (uint32_t)!is_memory;
    }
    for (uint32_t i = scalars; i < function->variable_count; i++)
        report_variable(verifier, function->first_variable + i, is_entry && i < program->param_count,
                        u->variables[function->first_variable + i]);
    for (uint32_t i = memories; i < function->memory_count; i++)
        report_memory(verifier, function->first_memory + i, u->memories[function->first_memory + i]);
}

void vy_verify_unused(vy_verifier *verifier) {
    const vyre_program *program = verifier->program;
    if (!verifier->diagnostics || program->level != VYRE_LEVEL_SOURCE)
        return;
    uses u = {vy_verifier_scratch(verifier, program->variables.count + 1, 1),
              vy_verifier_scratch(verifier, program->memories.count + 1, 1)};
    if (verifier->out_of_memory)
        return;
    use_expressions(program, &u);
    use_sizes(program, &u);
    use_statements(program, &u);
    for (uint32_t i = 0; i < program->functions.count; i++)
        report_function(verifier, &program->functions.items[i], &u);
}
