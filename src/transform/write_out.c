/* Writing out (write_out.h), by the plan (write_out_plan.h).
 *
 * Expressions lie behind their operands, and trees in the order of their statements: so those of a statement are written in a row, and where one becomes a literal its
 * operands, which are the last that were written, are taken back. What is declared in a trip or a region gets a new name: it stands in the block around. */
#include "transform/write_out.h"

#include "base/status.h"
#include "ir/draft.h"
#include "ir/eval.h"
#include "transform/optimize.h"
#include "transform/write_out_plan.h"

typedef struct writer {
    const vyre_program *p;
    vy_write_out_plan plan;
    vy_draft draft;
    /* By variable: what it is in the draft, or a literal here. */
    uint32_t *variables;
    uint64_t *bits;
    uint8_t *is_literal;
    uint32_t *memories; /* by memory, of the draft */
    /* By expression: where it was written, and where its tree starts there. */
    uint32_t *at, *start;
    vy_arena arena;
    uint32_t made;     /* names */
    uint32_t moved;    /* blocks that stand in another than they did */
    uint8_t has_ended; /* the last statement of the block was a jump */
} writer;

/* ---- expressions ---- */

static vy_expr *made_at(const writer *w, uint32_t expr) {
    return &w->draft.program->exprs.items[expr];
}

/* There is room: each expression becomes one at most. */
static uint32_t push(writer *w, vy_expr expr) {
    vyre_program *made = w->draft.program;
    made->exprs.items[made->exprs.count] = expr;
    return made->exprs.count++;
}

static void take_back(writer *w, uint32_t count) {
    w->draft.program->exprs.count = count;
    if (w->draft.written_exprs > count)
        w->draft.written_exprs = count;
}

static uint32_t put_literal(writer *w, uint8_t type, uint64_t bits) {
    return push(
        w, (vy_expr){.kind = VY_EXPR_LITERAL, .type = type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = bits});
}

/* The tree at `expr`, which starts at `start`, goes to `to`, and nothing is behind it. Returns its root. */
static uint32_t move_back(writer *w, uint32_t start, uint32_t expr, uint32_t to) {
    uint32_t by = start - to;
    for (uint32_t i = start; i <= expr; i++) {
        vy_expr e = *made_at(w, i);
        if (e.kind == VY_EXPR_OP)
            e.a -= by;
        if (e.kind == VY_EXPR_OP || e.kind == VY_EXPR_LOAD) {
            e.b -= e.b == VY_NONE ? 0 : by;
            e.c -= e.c == VY_NONE ? 0 : by;
        }
        *made_at(w, i - by) = e;
    }
    take_back(w, expr - by + 1);
    return expr - by;
}

static int is_literal(const writer *w, uint32_t expr) {
    return w->draft.program->exprs.items[expr].kind == VY_EXPR_LITERAL;
}

static uint32_t put_variable(writer *w, const vy_expr *e) {
    if (w->is_literal[e->a])
        return put_literal(w, e->type, w->bits[e->a]);
    vy_expr made = *e;
    made.a = w->variables[e->a];
    return push(w, made);
}

/* An element of what became variables or literals. By the plan its index and its condition are literals. What is outside is nowhere reached. */
static uint32_t put_element(writer *w, const vy_expr *e, uint32_t start) {
    const vy_memory *m = &w->p->memories.items[e->a];
    uint64_t index = made_at(w, w->at[e->b])->bits;
    int is_loaded = (e->c == VY_NONE || made_at(w, w->at[e->c])->bits) && index < m->elements;
    uint64_t element = is_loaded ? w->plan.elements[w->plan.first_element[e->a] + index] : 0;
    take_back(w, start);
    if (!is_loaded || w->plan.array[e->a] == VY_ARRAY_LITERALS)
        return put_literal(w, e->type, element);
    return push(
        w, (vy_expr){.kind = VY_EXPR_VARIABLE, .type = e->type, .a = (uint32_t)element, .b = VY_NONE, .c = VY_NONE});
}

static uint32_t put_load(writer *w, const vy_expr *e, uint32_t start) {
    vy_expr made = *e;
    if (w->plan.array[e->a] != VY_ARRAY_STAYS)
        return put_element(w, e, start);
    made.a = w->memories[e->a];
    made.b = w->at[e->b];
    made.c = e->c == VY_NONE ? VY_NONE : w->at[e->c];
    if (made.c != VY_NONE && is_literal(w, made.c)) {
        int is_loaded = made_at(w, made.c)->bits != 0;
        take_back(w, is_loaded ? made.c : start);
        if (!is_loaded)
            return put_literal(w, e->type, 0);
        made.c = VY_NONE;
    }
    return push(w, made);
}

/* `and` and `or` where one side is a literal; VY_NONE if none is. */
static uint32_t put_logic(writer *w, const vy_expr *e, uint32_t start) {
    uint32_t a = w->at[e->a], b = w->at[e->b];
    int ends = e->op == VYRE_OP_LOR; /* the value of one side that decides */
    if (is_literal(w, a) ? (made_at(w, a)->bits != 0) == ends
                         : is_literal(w, b) && (made_at(w, b)->bits != 0) == ends) {
        take_back(w, start);
        return put_literal(w, e->type, (uint64_t)ends);
    }
    if (is_literal(w, a))
        return move_back(w, w->start[e->b], b, start);
    if (!is_literal(w, b))
        return VY_NONE;
    take_back(w, b);
    return a;
}

static uint32_t put_op(writer *w, const vy_expr *e, uint32_t start) {
    const uint32_t operands[3] = {e->a, e->b, e->c};
    uint32_t at[3] = {VY_NONE, VY_NONE, VY_NONE};
    uint64_t bits[3] = {0};
    int are_literals = 1;
    for (int i = 0; i < 3 && operands[i] != VY_NONE; i++) {
        at[i] = w->at[operands[i]];
        are_literals &= is_literal(w, at[i]);
        bits[i] = made_at(w, at[i])->bits;
    }
    if (are_literals) {
        vyre_type operand = (vyre_type)w->p->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
        uint64_t value = vyre_op_evaluate((vyre_op)e->op, (vyre_type)e->type, operand, bits[0], bits[1], bits[2]);
        take_back(w, start);
        return put_literal(w, e->type, vy_value_clean((vyre_type)e->type, value));
    }
    if (e->op == VYRE_OP_SELECT && is_literal(w, at[0])) {
        return bits[0] ? move_back(w, w->start[e->b], at[1], start) : move_back(w, w->start[e->c], at[2], start);
    }
    uint32_t known = e->op == VYRE_OP_LAND || e->op == VYRE_OP_LOR ? put_logic(w, e, start) : VY_NONE;
    if (known != VY_NONE)
        return known;
    vy_expr made = *e;
    made.a = at[0];
    made.b = at[1];
    made.c = at[2];
    return push(w, made);
}

/* Where the tree of an expression starts in the draft: with its first operand. */
static uint32_t start_of(const writer *w, const vy_expr *e) {
    if (e->kind == VY_EXPR_OP)
        return w->start[e->a];
    return e->kind == VY_EXPR_LOAD ? w->start[e->b] : w->draft.program->exprs.count;
}

static uint32_t put(writer *w, const vy_expr *e, uint32_t start) {
    vy_expr made = *e;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        return put_variable(w, e);
    case VY_EXPR_LOAD:
        return put_load(w, e, start);
    case VY_EXPR_OP:
        return put_op(w, e, start);
    case VY_EXPR_LEN:
    case VY_EXPR_MISALIGNMENT:
        made.a = w->memories[e->a];
        return push(w, made);
    default:
        return push(w, made);
    }
}

/* The trees of a statement. Returns 0 if there is no room for them. */
static int put_trees(writer *w, uint32_t stmt) {
    uint32_t first = w->plan.first_expr[stmt], end = w->plan.first_expr[stmt + 1];
    vyre_program *made = w->draft.program;
    if (w->draft.failed || vy_draft_is_full(&w->draft, made->exprs.count + (end - first), VY_LIMIT_EXPRESSIONS))
        return 0;
    if (!VY_RESERVE(&made->exprs, end - first)) {
        w->draft.failed = 1;
        return 0;
    }
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = &w->p->exprs.items[i];
        w->start[i] = start_of(w, e);
        w->at[i] = put(w, e, w->start[i]);
    }
    return 1;
}

static uint32_t tree(const writer *w, uint32_t expr) {
    return expr == VY_NONE ? VY_NONE : w->at[expr];
}

/* ---- names ---- */

static vy_name new_name(writer *w) {
    vy_name name = 0;
    do {
        char text[16];
        size_t start = sizeof text;
        uint32_t number = ++w->made;
        do
            text[--start] = (char)('0' + number % 10);
        while (number /= 10);
        text[--start] = 'v';
        name = vy_draft_name(&w->draft, text + start, sizeof text - start);
    } while (!w->draft.failed && name < w->p->names.size); /* the original has it */
    return name;
}

static vy_name name_of(writer *w, uint32_t variable) {
    return w->moved ? new_name(w) : w->p->variables.items[variable].name;
}

/* ---- statements ---- */

static void write_block(writer *w, uint32_t first, uint32_t end);

static void write_moved(writer *w, uint32_t first, uint32_t end) {
    w->moved++;
    write_block(w, first, end);
    w->moved--;
}

/* With its trees, which are written. Structured ones are left open. */
static uint32_t write_head(writer *w, const vy_stmt *s, vy_stmt_kind kind) {
    vy_stmt made = *s;
    vy_arg args[VY_LIMIT_PARAMS];
    vy_name names[VY_LIMIT_RESULTS];
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
        w->is_literal[s->variable + i] = 0;
    }
    for (uint32_t i = 0; i < s->arg_count; i++)
        args[i] = (vy_arg){0, tree(w, w->p->args.items[s->args + i].index)};
    if (w->draft.failed)
        return VY_NONE;
    uint32_t index = vy_draft_stmt(&w->draft, &made, args, s->arg_count, names, types);
    for (uint32_t i = 0; i < made.result_count && index != VY_NONE; i++)
        w->variables[s->variable + i] = w->draft.program->stmts.items[index].variable + i;
    return index;
}

/* `variable = …`, the first time. What is a literal needs no statement. */
static void write_let(writer *w, const vy_stmt *s) {
    uint32_t value = w->at[s->a];
    if (!is_literal(w, value)) {
        write_head(w, s, VY_STMT_LET);
        return;
    }
    w->is_literal[s->variable] = 1;
    w->bits[s->variable] = made_at(w, value)->bits;
    take_back(w, w->start[s->a]);
}

static void write_alias(writer *w, const vy_stmt *s) {
    uint32_t of = w->p->exprs.items[s->a].a;
    w->variables[s->variable] = w->variables[of];
    w->is_literal[s->variable] = w->is_literal[of];
    w->bits[s->variable] = w->bits[of];
}

/* Into what became variables: the index was written before the value, and is taken back. */
static void write_element(writer *w, const vy_stmt *s) {
    uint64_t index = made_at(w, w->at[s->a])->bits;
    int is_inside = index < w->p->memories.items[s->memory].elements;
    uint32_t start = w->start[s->a];
    if (!is_inside) {
        take_back(w, start);
        return;
    }
    uint32_t value = move_back(w, w->start[s->b], w->at[s->b], start);
    vy_draft_assign(&w->draft, (uint32_t)w->plan.elements[w->plan.first_element[s->memory] + index], value);
}

static void write_if(writer *w, uint32_t index) {
    const vy_stmt *s = &w->p->stmts.items[index];
    vyre_program *made = w->draft.program;
    uint32_t condition = w->at[s->a], start = w->start[s->a];
    if (is_literal(w, condition)) {
        int holds = made_at(w, condition)->bits != 0;
        take_back(w, start);
        write_moved(w, holds ? index + 1 : s->middle, holds ? s->middle : s->end);
        return;
    }
    uint32_t head = write_head(w, s, VY_STMT_IF);
    write_block(w, index + 1, s->middle);
    if (s->middle != s->end) {
        vy_draft_else(&w->draft);
        write_block(w, s->middle, s->end);
    }
    vy_draft_end(&w->draft);
    w->has_ended = 0;
    if (w->draft.failed || made->stmts.count != head + 1)
        return;
    made->stmts.count--;
    made->stmt_positions.count -= made->stmt_positions.count != 0;
    take_back(w, start);
}

/* Trip by trip. What follows a jump at the end of one is not reached. */
static void write_trips(writer *w, uint32_t index, unsigned trips, const uint64_t *values) {
    const vy_stmt *s = &w->p->stmts.items[index];
    take_back(w, w->start[s->a]);
    for (unsigned i = 0; i < trips && !w->has_ended && !w->draft.failed; i++) {
        w->is_literal[s->variable] = 1;
        w->bits[s->variable] = values[i];
        write_moved(w, index + 1, s->end);
    }
}

/* Whether a loop is written out; its bounds are written. */
static int is_counted(const writer *w, uint32_t index, unsigned *trips, uint64_t values[VY_TRIPS]) {
    const vy_stmt *s = &w->p->stmts.items[index];
    int is_planned = w->plan.becomes[index] == VY_WRITE_TRIPS;
    if (!is_planned && !w->plan.may_be_counted[index])
        return 0;
    *trips = vy_count_trips(&vy_rules_far, made_at(w, w->at[s->a]), made_at(w, w->at[s->b]),
                            s->c == VY_NONE ? NULL : made_at(w, w->at[s->c]), values);
    return is_planned || (*trips <= VY_TRIPS && vy_write_out_pays(0, *trips, w->plan.size[index]));
}

static void write_loop(writer *w, uint32_t index) {
    const vy_stmt *s = &w->p->stmts.items[index];
    uint64_t values[VY_TRIPS];
    unsigned trips;
    if (is_counted(w, index, &trips, values)) {
        write_trips(w, index, trips, values);
        return;
    }
    write_head(w, s, (vy_stmt_kind)s->kind);
    write_block(w, index + 1, s->end);
    vy_draft_end(&w->draft);
    w->has_ended = 0;
}

static void write_stmt(writer *w, uint32_t index) {
    const vy_stmt *s = &w->p->stmts.items[index];
    uint8_t becomes = w->plan.becomes[index];
    if (becomes == VY_WRITE_NOTHING)
        return;
    if (becomes == VY_WRITE_ALIAS) {
        write_alias(w, s);
        return;
    }
    if (!put_trees(w, index))
        return;
    w->draft.position = vy_stmt_position(w->p, index);
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
    case VY_STMT_LET:
        write_let(w, s);
        return;
    case VY_STMT_ASSIGN:
        if (becomes == VY_WRITE_LET)
            write_let(w, s);
        else
            write_head(w, s, VY_STMT_ASSIGN);
        return;
    case VY_STMT_STORE:
        if (w->plan.array[s->memory] != VY_ARRAY_STAYS) {
            write_element(w, s);
            return;
        }
        break;
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

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void write_block(writer *w, uint32_t first, uint32_t end) {
    w->has_ended = 0;
    for (uint32_t i = first; i < end && !w->has_ended && !w->draft.failed; i = w->p->stmts.items[i].end)
        write_stmt(w, i);
}

/* ---- declarations ---- */

static void declare(writer *w) {
    const vyre_program *p = w->p;
    const vy_function *entry = vy_program_entry(p);
    vy_draft *d = &w->draft;
    d->position = entry->position;
    vy_draft_copy_entry(d, p);
    for (uint32_t i = 0; i < p->param_count; i++) {
        const vy_variable *v = &p->variables.items[i];
        d->position = v->position;
        w->variables[i] = vy_draft_scalar_param(d, v->name, (vyre_type)v->type);
    }
    for (uint32_t i = 0; i < p->memories.count; i++) {
        const vy_memory *m = &p->memories.items[i];
        d->position = m->position;
        if (i < p->buffer_count)
            w->memories[i] = vy_draft_memory_param(d, m->name, (vy_space)m->space, (vyre_type)m->type,
                                                   (vyre_access)m->access, m->size);
        else if (w->plan.array[i] == VY_ARRAY_STAYS)
            w->memories[i] = vy_draft_array(d, m->name, (vy_space)m->space, (vyre_type)m->type, m->elements);
    }
}

/* Variables of elements start as arrays do: as zeros. */
static void declare_elements(writer *w) {
    const vyre_program *p = w->p;
    vy_draft *d = &w->draft;
    d->position = vy_program_entry(p)->position;
    for (uint32_t i = 0; i < p->memories.count; i++) {
        vyre_type type = (vyre_type)p->memories.items[i].type;
        if (w->plan.array[i] != VY_ARRAY_VARIABLES)
            continue;
        for (uint32_t k = 0; k < p->memories.items[i].elements && !d->failed; k++) {
            int has_room = VY_RESERVE(&d->program->exprs, 1);
            d->failed |= !has_room;
            if (has_room)
                w->plan.elements[w->plan.first_element[i] + k] =
                    vy_draft_var(d, new_name(w), type, put_literal(w, (uint8_t)type, 0));
        }
    }
}

/* ---- all of it ---- */

static int prepare(writer *w) {
    const vyre_program *p = w->p;
    w->variables = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->variables));
    w->bits = vy_arena_allocate(&w->arena, vy_array_size(p->variables.count + 1u, sizeof *w->bits));
    w->is_literal = vy_arena_allocate(&w->arena, p->variables.count + 1u);
    w->memories = vy_arena_allocate(&w->arena, vy_array_size(p->memories.count + 1u, sizeof *w->memories));
    w->at = vy_arena_allocate(&w->arena, vy_array_size(p->exprs.count + 1u, sizeof *w->at));
    w->start = vy_arena_allocate(&w->arena, vy_array_size(p->exprs.count + 1u, sizeof *w->start));
    return w->variables && w->bits && w->is_literal && w->memories && w->at && w->start;
}

static vyre_status start(writer *w, vyre_error *error) {
    const vyre_program *p = w->p;
    vyre_status status = vy_draft_start(&w->draft, vy_name_text(p, p->name), error);
    if (status != VYRE_OK)
        return status;
    vyre_program *made = w->draft.program;
    made->pin = vy_pin_retain(p->pin);
    made->kind = p->kind;
    made->level = p->level;
    made->numerics = p->numerics;
    w->draft.keep_positions = p->stmt_positions.count != 0;
    w->draft.stops_at_limit = 1;
    w->draft.is_step = 1;
    vy_draft_copy_names(&w->draft, p);
    w->draft.failed |= !VY_RESERVE(&made->exprs, w->plan.nodes) || !VY_RESERVE(&made->stmts, w->plan.nodes / 4);
    return VYRE_OK;
}

/* Nobody asks where an expression of a legal program came from. */
static void forget_positions(vyre_program *made) {
    uint32_t missing = made->exprs.count - made->expr_positions.count;
    memset(made->expr_positions.items + made->expr_positions.count, 0, missing * sizeof *made->expr_positions.items);
    made->expr_positions.count = made->exprs.count;
}

static vyre_status write_program(writer *w, vyre_program **out, vyre_error *error) {
    const vy_function *entry = vy_program_entry(w->p);
    vyre_status status = start(w, error);
    if (status != VYRE_OK)
        return status;
    vyre_program *made = w->draft.program;
    declare(w);
    declare_elements(w);
    write_block(w, entry->first_stmt, entry->end_stmt);
    vy_draft_end_function(&w->draft);
    if (w->draft.keep_positions && !w->draft.failed) {
        if (VY_RESERVE(&made->expr_positions, made->exprs.count))
            forget_positions(made);
        else
            w->draft.failed = 1;
    }
    status = vy_draft_finish(&w->draft, w->p->source, NULL, out, error);
    vy_draft_discard(&w->draft);
    return status;
}

vyre_status vy_write_out(const vyre_program *program, vyre_program **out, vyre_error *error) {
    writer w = {.p = program};
    *out = NULL;
    if (program->level != VYRE_LEVEL_LEGAL || !vy_write_out_takes(program)) {
        *out = vyre_program_retain((vyre_program *)program);
        return VYRE_OK;
    }
    vyre_status status = vy_write_out_plan_make(&w.plan, program, error);
    if (status == VYRE_OK && !prepare(&w))
        status = vy_fail_memory(error, "what is written out");
    if (status == VYRE_OK)
        status = write_program(&w, out, error);
    if (status == VYRE_INVALID_PROGRAM || status == VYRE_LIMIT) { /* a limit of the language: it stays as it is */
        *out = vyre_program_retain((vyre_program *)program);
        status = VYRE_OK;
    }
    vy_write_out_plan_free(&w.plan);
    vy_arena_free(&w.arena);
    return status;
}
