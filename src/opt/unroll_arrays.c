/* Writing out (unroll_arrays.h), by the plan (unroll_arrays_plan.h): statements.
 *
 * What is declared in a trip or a region gets a new name: it stands in the block around. In loops whose trips become one row of statements, variables are held: an assignment
 * gives another name for what the variable is from there on, or nothing but that if it is a copy, and the variable itself is assigned once, behind the last trip. */
#include "opt/unroll_arrays.h"

#include "base/status.h"
#include "ir/build/finish.h"
#include "opt/pass_manager.h"
#include "opt/unroll_arrays_exprs.h"

/* What is written out has a name for so many nodes of the plan, about, and so long. */
enum { NODES_A_NAME = 16, NAME_LENGTH = 4 };

static uint32_t tree(const vy_unroll_writer *w, uint32_t expr) {
    return expr == VY_NONE ? VY_NONE : w->at[expr];
}

/* ---- names ---- */

static vy_symbol name_of(vy_unroll_writer *w, uint32_t variable) {
    return w->moved ? vy_unroll_writer_name(w) : w->p->variables.items[variable].name;
}

/* ---- statements ---- */

static void write_block(vy_unroll_writer *w, uint32_t first, uint32_t end);

static void write_moved(vy_unroll_writer *w, uint32_t first, uint32_t end) {
    w->moved++;
    write_block(w, first, end);
    w->moved--;
}

/* With its trees, which are written. Structured ones are left open. */
static uint32_t write_head(vy_unroll_writer *w, const vy_stmt *s, vy_stmt_kind kind) {
    vy_stmt made = *s;
    vy_arg args[VY_LIMIT_PARAMS];
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    made.kind = (uint8_t)kind;
    made.a = tree(w, s->a);
    made.b = tree(w, s->b);
    made.c = tree(w, s->c);
    made.memory = s->memory == VY_NONE ? VY_NONE : w->memories[s->memory];
    made.variable = s->variable == VY_NONE ? VY_NONE : w->variables[s->variable];
    made.result_count = kind == VY_STMT_LET ? 1 : s->result_count;
    for (uint32_t i = 0; i < made.result_count; i++) {
        names[i] = name_of(w, s->variable + i);
        types[i] = (vyre_type)w->p->variables.items[s->variable + i].type;
        w->is_replaced[s->variable + i] = 0;
    }
    for (uint32_t i = 0; i < s->arg_count; i++)
        args[i] = (vy_arg){0, tree(w, w->p->args.items[s->args + i].index)};
    if (w->draft.failed)
        return VY_NONE;
    uint32_t index = vy_irb_stmt(&w->draft, &made, args, s->arg_count, names, types);
    for (uint32_t i = 0; i < made.result_count && index != VY_NONE; i++)
        w->variables[s->variable + i] = w->draft.program->stmts.items[index].variable + i;
    return index;
}

/* `variable = …`, the first time. What is a literal, or what another name stands for already, needs no statement. */
static void write_let(vy_unroll_writer *w, const vy_stmt *s) {
    const vy_expr *value = vy_unroll_writer_expr(w, w->at[s->a]);
    int is_name = value->kind == VY_EXPR_VARIABLE && !w->draft.program->variables.items[value->a].is_mutable;
    if (value->kind != VY_EXPR_LITERAL && !is_name) {
        vyre_type type = (vyre_type)w->p->variables.items[s->variable].type;
        w->variables[s->variable] = vy_irb_let(&w->draft, name_of(w, s->variable), type, w->at[s->a]);
        w->is_replaced[s->variable] = 0;
        return;
    }
    w->is_replaced[s->variable] = !is_name;
    w->bits[s->variable] = value->bits;
    w->variables[s->variable] = value->a;
    vy_unroll_writer_truncate(w, w->at[s->a]);
}

/* From here on the variable is held. Of one that is declared here there is nothing else (VY_NONE). */
static void hold(vy_unroll_writer *w, uint32_t variable, uint32_t real) {
    if (w->is_held[variable])
        return;
    w->is_held[variable] = 1;
    w->real[variable] = real;
    w->held[w->held_count++] = variable;
}

/* Behind the last trip: all held variables are assigned. Their values are names that do not change, so the order does not matter. */
static void flush_deferred(vy_unroll_writer *w) {
    while (w->held_count && !w->draft.failed) {
        uint32_t variable = w->held[--w->held_count], real = w->real[variable];
        uint8_t type = w->p->variables.items[variable].type;
        w->is_held[variable] = 0;
        if (real == VY_NONE || !vy_unroll_writer_reserve(w, 1))
            continue;
        uint32_t value = w->is_replaced[variable] ? vy_unroll_writer_literal(w, type, w->bits[variable])
                                                  : vy_irb_variable(&w->draft, w->variables[variable]);
        vy_irb_assign(&w->draft, real, value);
        w->variables[variable] = real;
        w->is_replaced[variable] = 0;
    }
}

/* A variable gets a value: the only one, or another. */
static void write_value(vy_unroll_writer *w, const vy_stmt *s, int is_last) {
    if (!is_last && !w->holds) {
        write_head(w, s, (vy_stmt_kind)s->kind);
        return;
    }
    if (!is_last)
        hold(w, s->variable, s->kind == VY_STMT_VAR ? VY_NONE : w->variables[s->variable]);
    write_let(w, s);
}

static void write_alias(vy_unroll_writer *w, const vy_stmt *s) {
    uint32_t of = w->p->exprs.items[s->a].a;
    w->variables[s->variable] = w->variables[of];
    w->is_replaced[s->variable] = w->is_replaced[of];
    w->bits[s->variable] = w->bits[of];
}

/* The tree [first, end) of a statement that has no other. */
static void write_tree(vy_unroll_writer *w, uint32_t stmt, uint32_t first, uint32_t end) {
    if (!w->holds || !vy_unroll_writer_pattern(w, stmt, first, end))
        vy_unroll_writer_range(w, first, end);
}

/* Into what became variables. */
static void write_element(vy_unroll_writer *w, uint32_t stmt) {
    const vy_stmt *s = &w->p->stmts.items[stmt];
    uint32_t element = vy_unroll_writer_element(w, s->memory, s->a);
    if (element == VY_NONE)
        return;
    write_tree(w, stmt, s->a + 1, s->b + 1);
    vy_irb_assign(&w->draft, (uint32_t)w->plan.elements[element], w->at[s->b]);
}

static void write_if(vy_unroll_writer *w, uint32_t index) {
    const vy_stmt *s = &w->p->stmts.items[index];
    vyre_program *made = w->draft.program;
    uint32_t condition = w->at[s->a], start = vy_unroll_writer_start(w, s->a);
    if (vy_unroll_writer_is_literal(w, condition)) {
        int holds = vy_unroll_writer_expr(w, condition)->bits != 0;
        vy_unroll_writer_truncate(w, start);
        write_moved(w, holds ? index + 1 : s->middle, holds ? s->middle : s->end);
        return;
    }
    uint32_t head = write_head(w, s, VY_STMT_IF);
    write_block(w, index + 1, s->middle);
    if (s->middle != s->end) {
        vy_irb_else(&w->draft);
        write_block(w, s->middle, s->end);
    }
    vy_irb_end_block(&w->draft);
    w->has_ended = 0;
    if (w->draft.failed || made->stmts.count != head + 1)
        return;
    made->stmts.count--;
    made->stmt_positions.count -= made->stmt_positions.count != 0;
    vy_unroll_writer_truncate(w, start);
}

/* Trip by trip. What follows a jump at the end of one is not reached. */
static void write_trips(vy_unroll_writer *w, uint32_t index, unsigned trips, const uint64_t *values) {
    const vy_stmt *s = &w->p->stmts.items[index];
    vy_position position = w->draft.position;
    int holds = w->plan.holds[index];
    vy_unroll_writer_truncate(w, vy_unroll_writer_start(w, s->a));
    w->holds += (uint32_t)holds;
    for (unsigned i = 0; i < trips && !w->has_ended && !w->draft.failed; i++) {
        w->is_replaced[s->variable] = 1;
        w->bits[s->variable] = values[i];
        write_moved(w, index + 1, s->end);
    }
    w->holds -= (uint32_t)holds;
    w->draft.position = position;
    if (!w->holds)
        flush_deferred(w);
}

/* Whether a loop is written out; its bounds are written. */
static int is_counted(vy_unroll_writer *w, uint32_t index, unsigned *trips, uint64_t values[VY_TRIPS]) {
    const vy_stmt *s = &w->p->stmts.items[index];
    int is_planned = w->plan.becomes[index] == VY_UNROLL_ITERATIONS;
    if (!is_planned && !w->plan.may_be_counted[index])
        return 0;
    *trips = vy_count_trips(&vy_opt_unroll_aggressive, vy_unroll_writer_expr(w, w->at[s->a]),
                            vy_unroll_writer_expr(w, w->at[s->b]),
                            s->c == VY_NONE ? NULL : vy_unroll_writer_expr(w, w->at[s->c]), values);
    if (is_planned)
        return 1;
    uint32_t more = *trips > 1 && *trips <= VY_TRIPS ? *trips * w->plan.size[index] : 0;
    if (*trips > VY_TRIPS || !vy_unroll_arrays_pays(0, *trips, w->plan.size[index]) || more > w->plan.room)
        return 0;
    w->plan.room -= more;
    return 1;
}

static void write_loop(vy_unroll_writer *w, uint32_t index) {
    const vy_stmt *s = &w->p->stmts.items[index];
    uint64_t values[VY_TRIPS];
    unsigned trips;
    if (is_counted(w, index, &trips, values)) {
        write_trips(w, index, trips, values);
        return;
    }
    write_head(w, s, (vy_stmt_kind)s->kind);
    write_block(w, index + 1, s->end);
    vy_irb_end_block(&w->draft);
    w->has_ended = 0;
}

static void write_stmt(vy_unroll_writer *w, uint32_t index, const vy_stmt *s) {
    w->draft.position = vy_stmt_position(w->p, index);
    if (w->holds && w->plan.loads[index])
        vy_unroll_writer_loads(w, index);
    if (!vy_unroll_writer_reserve(w, w->plan.exprs[index]))
        return;
    uint32_t first = w->plan.first_expr[index], end = w->plan.first_expr[index + 1];
    if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN) {
        write_tree(w, index, first, end);
        write_value(w, s, s->kind == VY_STMT_LET || w->plan.becomes[index] == VY_UNROLL_LET);
        return;
    }
    if (s->kind == VY_STMT_STORE && w->plan.array[s->memory] != VY_ARRAY_STAYS) {
        write_element(w, index);
        return;
    }
    if (s->kind == VY_STMT_IF && w->plan.is_known[s->a]) {
        int holds = vy_unroll_writer_value(w, s->a) != 0;
        write_moved(w, holds ? index + 1 : s->middle, holds ? s->middle : s->end);
        return;
    }
    vy_unroll_writer_range(w, first, end);
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_IF:
        write_if(w, index);
        return;
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        write_loop(w, index);
        return;
    case VY_STMT_REGION:
        write_moved(w, index + 1, s->end);
        return;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
    case VY_STMT_RETURN:
        w->has_ended = 1;
        break;
    default:
        break;
    }
    write_head(w, s, (vy_stmt_kind)s->kind);
}

/* Recursion is bounded by VY_LIMIT_NESTING. A region in a block that was moved is nothing but what is in it. */
static void write_block(vy_unroll_writer *w, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = w->p->stmts.items;
    const uint8_t *becomes = w->plan.becomes;
    w->has_ended = 0;
    for (uint32_t i = first, next; i < end && !w->has_ended && !w->draft.failed; i = next) {
        const vy_stmt *s = &stmts[i];
        next = s->end;
        if (becomes[i] == VY_UNROLL_NOTHING || becomes[i] == VY_UNROLL_INLINE)
            continue;
        if (becomes[i] == VY_UNROLL_ALIAS)
            write_alias(w, s);
        else if (w->moved && s->kind == VY_STMT_REGION)
            next = i + 1;
        else
            write_stmt(w, i, s);
    }
}

/* ---- declarations ---- */

static void declare(vy_unroll_writer *w) {
    const vyre_program *p = w->p;
    const vy_function *entry = vy_program_entry(p);
    vy_irb *d = &w->draft;
    d->position = entry->position;
    vy_irb_clone_entry(d, p);
    for (uint32_t i = 0; i < p->param_count; i++) {
        const vy_variable *v = &p->variables.items[i];
        d->position = v->position;
        w->variables[i] = vy_irb_scalar_param(d, v->name, (vyre_type)v->type);
    }
    for (uint32_t i = 0; i < p->memories.count; i++) {
        const vy_memory *m = &p->memories.items[i];
        d->position = m->position;
        if (i < p->buffer_count)
            w->memories[i] = vy_irb_memory_param(d, m->name, (vy_space)m->space, (vyre_type)m->type,
                                                 (vyre_access)m->access, m->size);
        else if (w->plan.array[i] == VY_ARRAY_STAYS)
            w->memories[i] = vy_irb_array(d, m->name, (vy_space)m->space, (vyre_type)m->type, m->elements);
    }
}

/* Variables of elements start as arrays do: as zeros. */
static void declare_elements(vy_unroll_writer *w) {
    const vyre_program *p = w->p;
    vy_irb *d = &w->draft;
    d->position = vy_program_entry(p)->position;
    for (uint32_t i = 0; i < p->memories.count; i++) {
        vyre_type type = (vyre_type)p->memories.items[i].type;
        if (w->plan.array[i] != VY_ARRAY_VARIABLES)
            continue;
        for (uint32_t k = 0; k < p->memories.items[i].elements && !d->failed; k++) {
            if (vy_unroll_writer_reserve(w, 1))
                w->plan.elements[w->plan.first_element[i] + k] =
                    vy_irb_var(d, vy_unroll_writer_name(w), type, vy_unroll_writer_literal(w, (uint8_t)type, 0));
        }
    }
}

/* ---- all of it ---- */

static int prepare(vy_unroll_writer *w) {
    const vyre_program *p = w->p;
    w->variables = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->variables));
    w->bits = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->bits));
    w->is_replaced = vy_arena_allocate(&w->arena, p->variables.count + 1u);
    w->real = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->real));
    w->held = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->held));
    w->is_held = vy_arena_allocate(&w->arena, p->variables.count + 1u);
    w->memories = vy_arena_allocate(&w->arena, vy_array_size(p->memories.count + 1u, sizeof *w->memories));
    w->at = vy_arena_allocate(&w->arena, vy_array_size(p->exprs.count + 1u, sizeof *w->at));
    w->loaded = vy_arena_allocate(&w->arena, vy_array_size(p->exprs.count + 1u, sizeof *w->loaded));
    w->pattern_of = vy_arena_allocate(&w->arena, vy_array_size(p->stmts.count + 1u, sizeof *w->pattern_of));
    if (!w->pattern_of || !w->loaded || !w->variables || !w->bits || !w->is_replaced || !w->real || !w->held ||
        !w->is_held || !w->memories || !w->at)
        return 0;
    for (uint32_t i = 0; i < p->variables.count; i++)
        w->is_replaced[i] = w->plan.there[i] != VY_NONE;
    return 1;
}

static vyre_status start(vy_unroll_writer *w, vyre_error *error) {
    const vyre_program *p = w->p;
    vyre_status status = vy_irb_start(&w->draft, vy_symbol_name(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    vyre_program *made = w->draft.program;
    made->keepalive = vy_keepalive_retain(p->keepalive);
    made->kind = p->kind;
    made->level = p->level;
    made->numerics = p->numerics;
    w->draft.keep_positions = p->stmt_positions.count != 0;
    w->draft.drop_expr_positions = 1; /* the program is legal */
    w->draft.fail_at_limit = 1;
    w->draft.skip_verify = 1;
    vy_irb_clone_symbols(&w->draft, p);
    uint32_t stmts = w->plan.nodes / 4, names = w->plan.nodes / NODES_A_NAME;
    w->draft.failed |= !VY_RESERVE(&made->exprs, w->plan.nodes) || !VY_RESERVE(&made->stmts, stmts) ||
                       (w->draft.keep_positions && !VY_RESERVE(&made->stmt_positions, stmts)) ||
                       !VY_RESERVE(&made->variables, p->variables.count + names) ||
                       !vy_intern_pool_reserve_more(&made->names, names, NAME_LENGTH);
    return VYRE_OK;
}

static vyre_status write_program(vy_unroll_writer *w, vyre_program **out, vyre_error *error) {
    const vy_function *entry = vy_program_entry(w->p);
    vyre_status status = start(w, error);
    if (status != VYRE_OK)
        return status;
    declare(w);
    declare_elements(w);
    write_block(w, entry->first_stmt, entry->end_stmt);
    vy_irb_end_function(&w->draft);
    status = vy_irb_finish(&w->draft, w->p->source, NULL, out, error);
    vy_irb_discard(&w->draft);
    if (status == VYRE_OK)
        (*out)->is_unique = 1;
    return status;
}

vyre_status vy_unroll_arrays(const vyre_program *program, vyre_program **out, vyre_error *error) {
    vy_unroll_writer w = {.p = program};
    *out = NULL;
    if (program->level != VYRE_LEVEL_LEGAL || !vy_unroll_arrays_takes(program)) {
        *out = vyre_program_retain((vyre_program *)program);
        return VYRE_OK;
    }
    vyre_status status = vy_unroll_arrays_plan_make(&w.plan, program, error);
    if (status == VYRE_OK && !prepare(&w))
        status = vy_fail_memory(error, "what is written out");
    if (status == VYRE_OK)
        status = write_program(&w, out, error);
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) { /* a limit of the language: it stays as it is */
        *out = vyre_program_retain((vyre_program *)program);
        status = VYRE_OK;
    }
    vy_unroll_arrays_plan_free(&w.plan);
    VY_VECTOR_FREE(&w.patterns);
    vy_arena_free(&w.arena);
    return status;
}
