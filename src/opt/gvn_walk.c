/* The walk (gvn_walk.h). */
#include "opt/gvn_walk.h"

#include "opt/gvn_select.h"
#include "opt/gvn_state.h"
#include "opt/gvn_table.h"

static inline void number_exprs(vy_gvn *n, const vy_stmt *s) {
    vy_gvn_number(n, s);
    if (!n->failed)
        vy_gvn_choose(n, s);
}

static void set_holder(vy_gvn *n, uint32_t variable, uint32_t number) {
    vy_gvn_set(n, VY_GVN_SLOT_VARIABLE, variable, number);
    if (!n->failed && !n->is_assigned[variable] && n->values.items[number].holder == VY_NONE)
        vy_gvn_set(n, VY_GVN_SLOT_HOLDER, number, variable);
}

static void set_fresh_holder(vy_gvn *n, const vy_stmt *s) {
    for (uint32_t i = 0; i < s->result_count && !n->failed; i++)
        set_holder(n, s->variable + i, vy_gvn_fresh(n, n->program->variables.items[s->variable + i].type));
}

/* Forgets what executing the statement may change. */
static void forget_changes(vy_gvn *n, const vy_stmt *s) {
    uint8_t changes = vy_stmt_changes(n->rules, s);
    if (changes & VY_CHANGES_VARIABLE && n->of_variable[s->variable] != VY_NONE)
        vy_gvn_forget_variable(n, s->variable);
    if (changes & VY_CHANGES_MEMORY && s->memory != VY_NONE)
        vy_gvn_forget_memory(n, s->memory);
    for (uint32_t i = 0; changes & VY_CHANGES_MEMORY && i < s->arg_count; i++)
        if (n->program->args.items[s->args + i].is_memory)
            vy_gvn_forget_memory(n, n->program->args.items[s->args + i].index);
    if (changes & VY_CHANGES_SHARED)
        vy_gvn_forget_shared(n);
}

static void number_block(vy_gvn *n, uint32_t first, uint32_t end);

static void number_if(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    uint32_t mark = n->log.count;
    n->undoes++;
    number_block(n, index + 1, s->middle);
    vy_gvn_leave(n, mark);
    uint32_t middle = n->log.count;
    number_block(n, s->middle, s->end);
    vy_gvn_leave(n, middle);
    n->undoes--;
    if (n->rules->forget_at_joins)
        vy_gvn_forget(n, mark);
    else
        n->log.count = mark;
}

static void number_loop(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    uint32_t mark = n->log.count;
    n->undoes++;
    for (uint32_t i = index + 1; i < s->end && n->rules->forget_at_loops && !n->failed; i++)
        forget_changes(n, &n->program->stmts.items[i]);
    if (s->kind == VY_STMT_WHILE)
        number_exprs(n, s);
    set_fresh_holder(n, s);
    number_block(n, index + 1, s->end);
    vy_gvn_leave(n, mark);
    n->undoes--;
    vy_gvn_forget(n, mark);
}

/* Everybody passes it, so what it changes stays known behind it. */
static void number_region(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    uint32_t mark = n->log.count;
    n->undoes++;
    number_block(n, index + 1, s->end);
    n->undoes--;
    vy_gvn_end_scope(n, mark);
}

static void number_stmt(vy_gvn *n, uint32_t index) {
    const vy_stmt *s = &n->program->stmts.items[index];
    n->first_expr[index] = n->next_expr;
    if (s->kind != VY_STMT_WHILE)
        number_exprs(n, s);
    if (n->failed)
        return;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        set_holder(n, s->variable, n->of_expr[s->a]);
        break;
    case VY_STMT_ASSIGN:
        forget_changes(n, s);
        if (vy_stmt_changes(n->rules, s))
            vy_gvn_set(n, VY_GVN_SLOT_VARIABLE, s->variable, n->of_expr[s->a]);
        break;
    case VY_STMT_IF:
        number_if(n, index, s);
        break;
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        number_loop(n, index, s);
        break;
    case VY_STMT_REGION:
        number_region(n, index, s);
        break;
    default:
        forget_changes(n, s);
        set_fresh_holder(n, s);
        if (s->kind == VY_STMT_STORE)
            vy_gvn_forward(n, index, s);
        break;
    }
}

static void number_block(vy_gvn *n, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !n->failed; i = n->program->stmts.items[i].end)
        number_stmt(n, i);
}

static void number_function(vy_gvn *n, const vy_function *f) {
    const vyre_program *p = n->program;
    uint32_t scalars = vy_is_entry(p, f) ? p->param_count : 0;
    n->undoes = p->functions.count > 1; /* what the next has no use for */
    for (uint32_t i = 0; !vy_is_entry(p, f) && i < f->param_count; i++)
        scalars += !p->params.items[f->first_param + i].is_memory;
    for (uint32_t i = 0; i < scalars && !n->failed; i++)
        set_holder(n, f->first_variable + i, vy_gvn_fresh(n, p->variables.items[f->first_variable + i].type));
    for (uint32_t i = 0; i < f->memory_count && !n->failed; i++)
        vy_gvn_forget_memory(n, f->first_memory + i);
    number_block(n, f->first_stmt, f->end_stmt);
    vy_gvn_undo_to(n, 0);
}

void vy_gvn_walk(vy_gvn *n) {
    for (uint32_t i = 0; i < n->program->functions.count && !n->failed; i++)
        number_function(n, &n->program->functions.items[i]);
}
