/* Rewriting (rewriter.h): declarations, and a program from its first function to its last. What must stay true: a program in which the hooks change nothing is
 * given back itself, and where they may be asked before, nothing was written to see that. */
#include "opt/rewriter.h"

#include "base/status.h"
#include "ir/build/finish.h"
#include "opt/rewriter_dry_run.h"
#include "opt/rewriter_inplace.h"
#include "opt/rewriter_names.h"
#include "opt/rewriter_overlap.h"

/* ---- declarations ---- */

static void copy_scalar_param(vy_rewrite *rw, uint32_t variable) {
    const vy_variable *v = &rw->from->variables.items[variable];
    vy_symbol name = vy_rewrite_copy_name(rw, v->name);
    rw->draft.position = v->position;
    rw->variables[variable] = vy_irb_scalar_param(&rw->draft, name, (vyre_type)v->type);
    vy_rewrite_show_copied(rw, name);
}

static void copy_memory_param(vy_rewrite *rw, uint32_t memory) {
    const vy_memory *m = &rw->from->memories.items[memory];
    vy_symbol name = vy_rewrite_copy_name(rw, m->name);
    rw->draft.position = m->position;
    rw->memories[memory] =
        vy_irb_memory_param(&rw->draft, name, (vy_space)m->space, (vyre_type)m->type, (vyre_access)m->access, m->size);
    vy_rewrite_show_copied(rw, name);
}

static void copy_arrays(vy_rewrite *rw, uint32_t first) {
    for (uint32_t i = first; i < rw->function->memory_count; i++) {
        uint32_t memory = rw->function->first_memory + i;
        const vy_memory *m = &rw->from->memories.items[memory];
        if (rw->drop_memories && rw->drop_memories[memory]) {
            rw->changes++;
            continue;
        }
        vy_symbol name = vy_rewrite_copy_name(rw, m->name);
        rw->draft.position = m->position;
        rw->memories[memory] = vy_irb_array(&rw->draft, name, (vy_space)m->space, (vyre_type)m->type, m->elements);
        vy_rewrite_show_copied(rw, name);
    }
}

/* Functions before the entry do not exist (no calls), so what counts and grids refer to moves by what it stood behind. */
static void copy_entry(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    const vy_function *entry = rw->function;
    rw->draft.position = entry->position;
    vy_irb_clone_entry(&rw->draft, p);
    for (uint32_t i = 0; i < p->param_count; i++)
        copy_scalar_param(rw, entry->first_variable + i);
    for (uint32_t i = 0; i < p->buffer_count; i++)
        copy_memory_param(rw, entry->first_memory + i);
    copy_arrays(rw, p->buffer_count);
}

static void copy_signature(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    const vy_function *f = rw->function;
    uint32_t memories = 0;
    rw->draft.position = f->position;
    vy_irb_begin_function(&rw->draft, vy_rewrite_copy_name(rw, f->name));
    for (uint32_t i = 0; i < f->param_count; i++) {
        const vy_param *param = &p->params.items[f->first_param + i];
        if (param->is_memory)
            copy_memory_param(rw, param->index);
        else
            copy_scalar_param(rw, param->index);
        memories += param->is_memory;
    }
    for (uint32_t i = 0; i < f->result_count; i++) {
        const vy_result *result = &p->results.items[f->first_result + i];
        vy_irb_result(&rw->draft, vy_rewrite_copy_name(rw, result->name), (vyre_type)result->type);
    }
    copy_arrays(rw, memories);
}

/* ---- all of it ---- */

static void copy_functions(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    for (uint32_t i = 0; i < p->functions.count && !rw->draft.failed; i++) {
        rw->function = &p->functions.items[i];
        if (vy_is_entry(p, rw->function))
            copy_entry(rw);
        else
            copy_signature(rw);
        vy_rewrite_block(rw, rw->function->first_stmt, rw->function->end_stmt);
        vy_irb_end_function(&rw->draft);
        vy_rewrite_close(rw, 0);
    }
}

static vyre_status start_draft(vy_rewrite *rw, vyre_error *error) {
    const vyre_program *p = rw->from;
    vyre_status status = vy_irb_start(&rw->draft, vy_symbol_name(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    vyre_program *made = rw->draft.program;
    made->keepalive = vy_keepalive_retain(p->keepalive);
    made->kind = p->kind;
    made->level = rw->hooks->makes_legal ? VYRE_LEVEL_LEGAL : p->level;
    rw->changes = made->level != p->level;
    made->numerics = p->numerics;
    made->uncounted_nodes = p->uncounted_nodes;
    rw->draft.keep_positions = p->stmt_positions.count != 0;
    rw->draft.drop_expr_positions = p->expr_positions.count == 0;
    rw->draft.fail_at_limit = 1;
    rw->draft.skip_verify = 1;
    return VYRE_OK;
}

/* Of the tables by name of the source. */
static size_t tables_size(const vy_rewrite *rw) {
    return vy_array_size(2 * (rw->from->names.size + (size_t)1), sizeof *rw->names);
}

/* Room for all that a pass makes which knows how much that is. */
static void reserve_ahead(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    vyre_program *made = rw->draft.program;
    vy_growth_bound by = {0};
    rw->hooks->growth_bound(rw, &by);
    rw->draft.failed |= !VY_RESERVE(&made->stmts, p->stmts.count + by.stmts) ||
                        !VY_RESERVE(&made->exprs, p->exprs.count + by.exprs) ||
                        !VY_RESERVE(&made->variables, p->variables.count + by.variables) ||
                        !VY_RESERVE(&made->args, p->args.count + by.args) ||
                        (p->stmt_positions.count && !VY_RESERVE(&made->stmt_positions, p->stmts.count + by.stmts)) ||
                        (p->expr_positions.count && !VY_RESERVE(&made->expr_positions, p->exprs.count + by.exprs));
}

/* What a pass makes is about as large as what it was given. */
static void reserve(vy_rewrite *rw) {
    uint32_t names = rw->from->names.size;
    if (rw->hooks->growth_bound)
        reserve_ahead(rw);
    else
        vy_irb_reserve(&rw->draft, rw->from);
    if (rw->hooks->keeps_names) {
        vy_irb_clone_symbols(&rw->draft, rw->from);
        return;
    }
    rw->names = vy_allocate_zero(tables_size(rw));
    rw->suffixes = rw->names ? rw->names + names + 1u : NULL;
    rw->draft.failed |= !rw->names || !vy_intern_pool_reserve(&rw->draft.program->names, &rw->from->names) ||
                        !VY_RESERVE(&rw->visible, names);
}

static vyre_status edit_program(vy_rewrite *rw, vyre_program **out, vyre_error *error) {
    vy_rewrite_edit(rw);
    if (rw->draft.failed)
        return vy_fail_memory(error, "a pass");
    *out = vyre_program_retain((vyre_program *)rw->from);
    return VYRE_OK;
}

static vyre_status write_program(vy_rewrite *rw, vyre_program **out, vyre_error *error) {
    vyre_status status = start_draft(rw, error);
    if (status != VYRE_OK)
        return status;
    reserve(rw);
    copy_functions(rw);
    if (rw->hooks->finish && !rw->draft.failed)
        rw->hooks->finish(rw);
    if (rw->draft.failed || rw->changes)
        return vy_irb_finish(&rw->draft, rw->from->source, NULL, out, error);
    *out = vyre_program_retain((vyre_program *)rw->from);
    return VYRE_OK;
}

vyre_status vy_rewrite_run(const vyre_program *from, const vy_rewriter *hooks, void *user, const uint8_t *drop_memories,
                           vyre_program **out, uint64_t *changes, vyre_error *error) {
    vy_rewrite rw = {.from = from, .hooks = hooks, .user = user, .drop_memories = drop_memories};
    size_t map_size = vy_array_size((size_t)from->variables.count + from->memories.count + 2u, sizeof *rw.variables);
    vyre_status status = VYRE_OK;
    *out = NULL;
    *changes = 0;
    rw.variables = vy_allocate_zero(map_size);
    if (!rw.variables)
        return vy_fail_memory(error, "a pass");
    rw.memories = rw.variables + from->variables.count + 1u;
    /* Where the statements are known of which the hooks say something, nothing else changes. */
    rw.changes = hooks->makes_legal || hooks->finish || !(hooks->supports_dry_run || vy_rewrite_knows_touched(hooks));
    if (hooks->supports_dry_run || hooks->keeps_blocks)
        vy_rewrite_dry_run(&rw);
    if (rw.draft.failed) {
        status = vy_fail_memory(error, "a pass");
    } else if (!rw.changes) {
        *out = vyre_program_retain((vyre_program *)from);
    } else {
        status = vy_rewrite_may_edit(&rw)           ? edit_program(&rw, out, error)
                 : vy_rewrite_may_stay(from, hooks) ? vy_rewrite_in_place(&rw, out, error)
                                                    : write_program(&rw, out, error);
        *changes = rw.changes;
    }
    vy_irb_discard(&rw.draft);
    vy_release(rw.variables, map_size);
    vy_release(rw.names, tables_size(&rw));
    VY_VECTOR_FREE(&rw.pool);
    VY_VECTOR_FREE(&rw.args);
    VY_VECTOR_FREE(&rw.row);
    VY_VECTOR_FREE(&rw.touched);
    VY_VECTOR_FREE(&rw.visible);
    VY_VECTOR_FREE(&rw.declared);
    return status;
}
