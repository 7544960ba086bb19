/* Arrays to variables (scalars.h). The variables are declared at the start of the entry, as zeros, which is what an array starts with; a store is an assignment, and a
 * load the variable. */
#include "transform/scalars.h"

#include "base/status.h"
#include "transform/optimize_rewrite.h"

typedef struct scalars {
    uint8_t *is_scalar; /* by memory */
    uint32_t *first;    /* by memory: its first element in `variables` */
    uint32_t *variables;
    uint32_t count;
    size_t size;
} scalars;

/* ---- which ---- */

static void refuse(scalars *s, const vyre_program *p, uint32_t memory) {
    if (memory < p->memories.count)
        s->is_scalar[memory] = 0;
}

/* An access by a literal that is inside is one of an element; any other keeps the array. */
static void look_at_index(scalars *s, const vyre_program *p, uint32_t memory, uint32_t index) {
    const vy_expr *i = &p->exprs.items[index];
    if (i->kind != VY_EXPR_LITERAL || i->bits >= p->memories.items[memory].elements)
        refuse(s, p, memory);
}

static void look_at_stmt(scalars *s, const vyre_program *p, const vy_stmt *stmt) {
    if (stmt->kind == VY_STMT_STORE) {
        look_at_index(s, p, stmt->memory, stmt->a);
    } else if (stmt->kind == VY_STMT_CALL) {
        for (uint32_t i = 0; i < p->memories.count; i++)
            s->is_scalar[i] = 0;
    } else if (stmt->kind == VY_STMT_ATOMIC || stmt->kind == VY_STMT_LOAD || stmt->kind == VY_STMT_STORE_WIDE) {
        refuse(s, p, stmt->memory);
    }
}

static void choose(scalars *s, const vyre_program *p) {
    const vy_function *entry = vy_program_entry(p);
    for (uint32_t i = 0; i < p->memories.count; i++)
        s->is_scalar[i] = entry && i >= entry->first_memory && i - entry->first_memory < entry->memory_count &&
                          p->memories.items[i].space == VY_SPACE_PRIVATE;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        look_at_stmt(s, p, &p->stmts.items[i]);
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *e = &p->exprs.items[i];
        if (e->kind == VY_EXPR_LOAD)
            look_at_index(s, p, e->a, e->b);
        else if (e->kind == VY_EXPR_LEN || e->kind == VY_EXPR_MISALIGNMENT)
            refuse(s, p, e->a);
    }
    for (uint32_t i = 0; i < p->memories.count; i++) {
        uint32_t elements = p->memories.items[i].elements;
        if (s->is_scalar[i] && elements > VY_SCALARS_MOST - s->count)
            s->is_scalar[i] = 0;
        s->first[i] = s->count;
        s->count += s->is_scalar[i] ? elements : 0;
    }
}

/* ---- rewriting ---- */

static void declare(vy_rewrite *rw, const scalars *s) {
    const vyre_program *p = rw->from;
    for (uint32_t i = 0; i < p->memories.count; i++) {
        vyre_type type = (vyre_type)p->memories.items[i].type;
        for (uint32_t k = 0; s->is_scalar[i] && k < p->memories.items[i].elements; k++) {
            vy_name name = vy_rewrite_new_name(rw);
            s->variables[s->first[i] + k] = vy_draft_var(&rw->draft, name, type, vy_draft_literal(&rw->draft, type, 0));
        }
    }
}

static uint32_t variable_of(const scalars *s, const vyre_program *p, uint32_t memory, uint32_t index) {
    return s->variables[s->first[memory] + (uint32_t)p->exprs.items[index].bits];
}

static int write_stmt(vy_rewrite *rw, uint32_t index) {
    const scalars *s = rw->user;
    const vyre_program *p = rw->from;
    const vy_stmt *stmt = &p->stmts.items[index];
    if (index == vy_program_entry(p)->first_stmt)
        declare(rw, s);
    if (stmt->kind != VY_STMT_STORE || !s->is_scalar[stmt->memory])
        return 0;
    uint32_t value = vy_rewrite_write(rw, vy_rewrite_read(rw, stmt->b));
    vy_draft_assign(&rw->draft, variable_of(s, p, stmt->memory, stmt->a), value);
    rw->changes++;
    return 1;
}

static int touches(const vy_rewrite *rw, uint32_t index) {
    const scalars *s = rw->user;
    const vy_stmt *stmt = &rw->from->stmts.items[index];
    return index == vy_program_entry(rw->from)->first_stmt ||
           (stmt->kind == VY_STMT_STORE && s->is_scalar[stmt->memory]);
}

static uint32_t write_load(vy_rewrite *rw, uint32_t expr) {
    const scalars *s = rw->user;
    const vy_expr *e = &rw->from->exprs.items[expr];
    if (e->kind != VY_EXPR_LOAD || !s->is_scalar[e->a])
        return VY_NONE;
    rw->changes++;
    return vy_pool_variable(rw, variable_of(s, rw->from, e->a, e->b));
}

vyre_status vy_scalars(const vyre_program *program, vyre_program **out, vyre_error *error) {
    static const vy_rewriter hooks = {
        .stmt = write_stmt, .touches = touches, .keeps_blocks = 1, .tree = write_load, .tree_kinds = 1 << VY_EXPR_LOAD};
    size_t memories = program->memories.count + 1u;
    scalars s = {.size = vy_array_size(memories * 5 + VY_SCALARS_MOST * sizeof(uint32_t), 1)};
    uint64_t changes;
    *out = NULL;
    s.first = vy_allocate_zero(s.size);
    if (!s.first)
        return vy_fail_memory(error, "variables for an array");
    s.variables = s.first + memories;
    s.is_scalar = (uint8_t *)(s.variables + VY_SCALARS_MOST);
    choose(&s, program);
    vyre_status status = VYRE_OK;
    if (s.count)
        status = vy_rewrite_run(program, &hooks, &s, s.is_scalar, out, &changes, error);
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) /* a limit of the language: it stays as it is */
        status = VYRE_OK;
    if (status == VYRE_OK && !*out)
        *out = vyre_program_retain((vyre_program *)program);
    vy_release(s.first, s.size);
    return status;
}
