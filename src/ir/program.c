/* Programs: reference counting, accessors of vyre/program.h, and structural queries on expressions and loops. */
#include "ir/model.h"

vyre_program *vyre_program_retain(vyre_program *program) {
    if (program)
        atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    return program;
}

vy_keepalive *vy_keepalive_retain(vy_keepalive *pin) {
    if (pin)
        atomic_fetch_add_explicit(&pin->references, 1, memory_order_relaxed);
    return pin;
}

void vy_keepalive_release(vy_keepalive *pin) {
    if (pin && atomic_fetch_sub_explicit(&pin->references, 1, memory_order_acq_rel) == 1)
        pin->release(pin);
}

void vyre_program_release(vyre_program *program) {
    if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_intern_pool_free(&program->names);
    VY_VECTOR_FREE(&program->functions);
    VY_VECTOR_FREE(&program->params);
    VY_VECTOR_FREE(&program->results);
    VY_VECTOR_FREE(&program->variables);
    VY_VECTOR_FREE(&program->memories);
    VY_VECTOR_FREE(&program->sizes);
    VY_VECTOR_FREE(&program->stmts);
    VY_VECTOR_FREE(&program->exprs);
    VY_VECTOR_FREE(&program->args);
    VY_VECTOR_FREE(&program->stmt_positions);
    VY_VECTOR_FREE(&program->expr_positions);
    vy_source_release(program->source);
    vy_keepalive_release(program->keepalive);
    vy_release(program, sizeof *program);
}

const char *vyre_program_name(const vyre_program *program) {
    return program ? vy_symbol_name(program, program->name) : NULL;
}

vyre_program_kind vyre_program_get_kind(const vyre_program *program) {
    return program ? (vyre_program_kind)program->kind : VYRE_PROGRAM_ENTRY;
}

vyre_level vyre_program_level(const vyre_program *program) {
    return program ? (vyre_level)program->level : VYRE_LEVEL_SOURCE;
}

vyre_numerics vyre_program_numerics(const vyre_program *program) {
    return program ? (vyre_numerics)program->numerics : VYRE_NUMERICS_STRICT;
}

void vyre_program_fingerprint(const vyre_program *program, vyre_digest *out) {
    if (out)
        *out = program ? program->fingerprint : (vyre_digest){{0}};
}

int vyre_program_equal(const vyre_program *a, const vyre_program *b) {
    return a && b && (a == b || memcmp(&a->fingerprint, &b->fingerprint, sizeof a->fingerprint) == 0);
}

void vyre_program_workgroup(const vyre_program *program, uint32_t size[3]) {
    for (int d = 0; size && d < 3; d++)
        size[d] = program ? program->workgroup[d] : 0;
}

vyre_grid_kind vyre_program_grid(const vyre_program *program) {
    return program ? (vyre_grid_kind)program->grid.kind : VYRE_GRID_DISPATCH;
}

int vyre_program_schedule_dependent(const vyre_program *program) {
    return program && (program->facts & VY_PROGRAM_IS_SCHEDULE_DEPENDENT) != 0;
}

size_t vyre_program_param_count(const vyre_program *program) {
    return program ? program->param_count : 0;
}

int vyre_program_param(const vyre_program *program, size_t index, vyre_param_info *out) {
    const vy_function *entry = program && out ? vy_program_entry(program) : NULL;
    if (!entry || index >= program->param_count)
        return 0;
    const vy_variable *variable = &program->variables.items[entry->first_variable + index];
    *out = (vyre_param_info){vy_symbol_name(program, variable->name), (vyre_type)variable->type};
    return 1;
}

size_t vyre_program_buffer_count(const vyre_program *program) {
    return program ? program->buffer_count : 0;
}

int vyre_program_buffer(const vyre_program *program, size_t index, vyre_buffer_info *out) {
    const vy_function *entry = program && out ? vy_program_entry(program) : NULL;
    if (!entry || index >= program->buffer_count)
        return 0;
    const vy_memory *memory = &program->memories.items[entry->first_memory + index];
    *out = (vyre_buffer_info){.name = vy_symbol_name(program, memory->name),
                              .type = (vyre_type)memory->type,
                              .access = (vyre_access)memory->access,
                              .has_count = memory->size != VY_NONE};
    if (out->has_count && program->sizes.items[memory->size].kind == VY_SIZE_LITERAL) {
        out->is_static = 1;
        out->count = program->sizes.items[memory->size].value;
    }
    return 1;
}

size_t vyre_program_function_count(const vyre_program *program) {
    return program ? program->functions.count - (vy_program_entry(program) != NULL) : 0;
}

const char *vyre_program_function_name(const vyre_program *program, size_t index) {
    return index < vyre_program_function_count(program) ? vy_symbol_name(program, program->functions.items[index].name)
                                                        : NULL;
}

void vyre_program_get_stats(const vyre_program *program, vyre_program_stats *out) {
    if (out)
        *out = program ? (vyre_program_stats){(uint32_t)vyre_program_function_count(program), program->stmts.count,
                                              program->exprs.count, program->variables.count}
                       : (vyre_program_stats){0};
}

int vy_loop_runs_once(const vyre_program *program, uint32_t loop) {
    const vy_stmt *stmts = program->stmts.items;
    uint32_t last = VY_NONE;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i = stmts[i].end)
        last = i;
    if (last == VY_NONE || (stmts[last].kind != VY_STMT_BREAK && stmts[last].kind != VY_STMT_RETURN))
        return 0;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        if (stmts[i].kind == VY_STMT_CONTINUE)
            return 0;
        i = vy_stmt_is_loop(stmts[i].kind) ? stmts[i].end : i + 1;
    }
    return 1;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, here and below. */
int vy_expr_equal(const vyre_program *program, uint32_t one, uint32_t other) {
    if (one == VY_NONE || other == VY_NONE)
        return one == other;
    const vy_expr *a = &program->exprs.items[one], *b = &program->exprs.items[other];
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->axis != b->axis)
        return 0;
    switch ((vy_expr_kind)a->kind) {
    case VY_EXPR_LITERAL:
        return a->bits == b->bits;
    case VY_EXPR_VARIABLE:
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        return a->a == b->a;
    case VY_EXPR_BUILTIN:
        return 1;
    case VY_EXPR_OP:
        return vy_expr_equal(program, a->a, b->a) && vy_expr_equal(program, a->b, b->b) &&
               vy_expr_equal(program, a->c, b->c);
    default:
        return 0;
    }
}

int vy_expr_is_invariant(const vyre_program *program, uint32_t expr) {
    if (expr == VY_NONE)
        return 1;
    const vy_expr *e = &program->exprs.items[expr];
    if (e->kind == VY_EXPR_OP)
        return vy_expr_is_invariant(program, e->a) && vy_expr_is_invariant(program, e->b) &&
               vy_expr_is_invariant(program, e->c);
    return e->kind != VY_EXPR_LOAD && (e->kind != VY_EXPR_VARIABLE || !program->variables.items[e->a].is_mutable);
}
