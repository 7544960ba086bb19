/* Call verifier: no recursion, no unreachable function, no aliasing arguments, and a bounded program size after
 * inlining.
 *
 * Functions are ordered with callees first. One pass then summarises each function from its statements and the
 * summaries of its callees. The sizes are upper bounds on the output of src/ir/build/inline.c, whose header
 * describes the code for a call, so a program that passes can always be inlined. */
#include "ir/validate/verifier.h"

#include <stdio.h>

/* Saturation value of the sizes: far above every limit, and products of two fit in 64 bits. */
#define CAP (UINT64_C(1) << 31)

enum { NEW, OPEN, DONE };

typedef struct frame {
    uint32_t function, next_stmt;
} frame;

typedef struct graph {
    vy_verifier *verifier;
    const vyre_program *program;
    uint8_t *states;
    frame *stack;
    uint32_t depth, ordered;
} graph;

/* ---- order, recursion, reachability ---- */

/* "`f` calls `g` calls `f`" */
static void describe_cycle(const graph *g, uint32_t callee, char *text, size_t size) {
    uint32_t first = g->depth;
    while (first > 0 && g->stack[first - 1].function != callee)
        first--;
    size_t length = 0;
    for (uint32_t i = first ? first - 1 : 0; i < g->depth && length + 1 < size; i++) {
        const vy_function *f = &g->program->functions.items[g->stack[i].function];
        length += (size_t)snprintf(text + length, size - length, "`%s` calls ", vy_verifier_name(g->verifier, f->name));
    }
    if (length + 1 < size)
        snprintf(text + length, size - length, "`%s`",
                 vy_verifier_name(g->verifier, g->program->functions.items[callee].name));
}

static void visit_callee(graph *g, uint32_t stmt, uint32_t callee) {
    if (g->states[callee] == NEW) {
        g->states[callee] = OPEN;
        g->stack[g->depth++] = (frame){callee, g->program->functions.items[callee].first_stmt};
    } else if (g->states[callee] == OPEN) {
        char cycle[256];
        describe_cycle(g, callee, cycle, sizeof cycle);
        vy_verifier_error(g->verifier, VY_V095, vy_stmt_position(g->program, stmt), NULL, "recursion: %s", cycle);
    }
}

static void visit(graph *g, uint32_t root) {
    if (g->states[root] != NEW)
        return;
    visit_callee(g, 0, root);
    while (g->depth) {
        frame *top = &g->stack[g->depth - 1];
        const vy_function *f = &g->program->functions.items[top->function];
        uint32_t stmt = top->next_stmt;
        while (stmt < f->end_stmt &&
               (g->program->stmts.items[stmt].kind != VY_STMT_CALL || g->program->stmts.items[stmt].callee == VY_NONE))
            stmt++;
        if (stmt < f->end_stmt) {
            top->next_stmt = stmt + 1;
            visit_callee(g, stmt, g->program->stmts.items[stmt].callee);
        } else {
            g->states[top->function] = DONE;
            g->verifier->order[g->ordered++] = top->function;
            g->depth--;
        }
    }
}

static void order_functions(graph *g) {
    const vyre_program *p = g->program;
    uint32_t count = p->functions.count;
    int has_entry = vy_program_has_entry(p);
    if (has_entry)
        visit(g, count - 1);
    for (uint32_t i = 0; i < count; i++) {
        if (g->states[i] == NEW && has_entry)
            vy_verifier_error(g->verifier, VY_V012, p->functions.items[i].position, NULL, "unused function `%s`",
                              vy_verifier_name(g->verifier, p->functions.items[i].name));
        visit(g, i);
    }
}

/* ---- summaries ---- */

typedef struct summary {
    vy_verifier *verifier;
    const vyre_program *program;
    uint32_t *param_of;  /* per memory: 1 + position among the parameters; 0: not a parameter */
    uint32_t *seen_by;   /* per memory: 1 + the last call that it was passed to */
    uint8_t *seen_write; /* per memory: whether that call writes it */
} summary;

static uint64_t capped(uint64_t n) {
    return n < CAP ? n : CAP;
}

static int writes(const vy_callee_summary *callee, uint32_t param) {
    return (int)(callee->written[param / 64] >> param % 64 & 1);
}

static void record_write(const summary *sum, vy_callee_summary *mine, uint32_t memory) {
    uint32_t param = sum->param_of[memory];
    if (param)
        mine->written[(param - 1) / 64] |= UINT64_C(1) << (param - 1) % 64;
}

static void add_memory_args(summary *sum, vy_callee_summary *mine, uint32_t index, const vy_stmt *s) {
    const vy_callee_summary *callee = &sum->verifier->callees[s->callee];
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &sum->program->args.items[s->args + i];
        if (!arg->is_memory)
            continue;
        uint8_t written = (uint8_t)writes(callee, i);
        if (written)
            record_write(sum, mine, arg->index);
        if (sum->seen_by[arg->index] == index + 1 && (written | sum->seen_write[arg->index]))
            vy_verifier_error(sum->verifier, VY_V094, vy_stmt_position(sum->program, index), NULL,
                              "`%s` stores to `%s`, which is passed to it twice",
                              vy_verifier_name(sum->verifier, sum->program->functions.items[s->callee].name),
                              vy_verifier_name(sum->verifier, sum->program->memories.items[arg->index].name));
        written |= sum->seen_by[arg->index] == index + 1 ? sum->seen_write[arg->index] : 0;
        sum->seen_by[arg->index] = index + 1;
        sum->seen_write[arg->index] = written;
    }
}

static int is_over(const vy_callee_summary *sum) {
    return sum->depth > VY_LIMIT_CALL_DEPTH || sum->nesting > VY_LIMIT_NESTING || sum->stmts > VY_LIMIT_STATEMENTS ||
           sum->exprs > VY_LIMIT_EXPRESSIONS;
}

/* Adds the size of an inlined call: a region with the body in at most one loop, a variable for each result, a `let`
 * for each argument, and a loop that clears each array. */
static void add_call(summary *sum, vy_callee_summary *mine, uint32_t index, const vy_stmt *s, uint32_t nesting) {
    const vy_function *f = &sum->program->functions.items[s->callee];
    const vy_callee_summary *callee = &sum->verifier->callees[s->callee];
    mine->stmts =
        capped(mine->stmts + callee->stmts + 1 + f->result_count + f->param_count + 2 * (uint64_t)f->memory_count);
    mine->exprs = capped(mine->exprs + callee->exprs + f->result_count + 4 * (uint64_t)f->memory_count);
    mine->facts |= callee->facts;
    mine->orders |= callee->orders;
    mine->may_loop |= callee->may_loop;
    mine->calls_over |= (uint32_t)is_over(callee);
    if (mine->nesting < nesting + 2 + callee->nesting)
        mine->nesting = nesting + 2 + callee->nesting;
    if (mine->depth < callee->depth + 1)
        mine->depth = callee->depth + 1;
    add_memory_args(sum, mine, index, s);
}

static void summarize(summary *sum, uint32_t function) {
    const vyre_program *p = sum->program;
    const vy_function *f = &p->functions.items[function];
    vy_callee_summary *mine = &sum->verifier->callees[function];
    uint32_t open[VY_LIMIT_NESTING], depth = 0;
    uint32_t end_expr = function + 1 < p->functions.count ? sum->verifier->first_expr[function + 1] : p->exprs.count;
    mine->stmts = 3 + f->end_stmt - f->first_stmt;
    mine->exprs = 2 + end_expr - sum->verifier->first_expr[function];
    for (uint32_t i = f->first_stmt; i < f->end_stmt; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        while (depth && p->stmts.items[open[depth - 1]].end == i)
            depth--;
        mine->facts |= vy_stmt_flags(s);
        mine->orders |= (uint32_t)vy_stmt_orders(s);
        mine->may_loop |= (uint32_t)vy_stmt_may_loop(s);
        if (s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC || s->kind == VY_STMT_STORE_WIDE)
            record_write(sum, mine, s->memory);
        else if (s->kind == VY_STMT_CALL && s->callee != VY_NONE)
            add_call(sum, mine, i, s, depth);
        else if (s->kind == VY_STMT_RETURN) {
            mine->stmts = capped(mine->stmts + f->result_count + 1);
            mine->exprs = capped(mine->exprs + 1);
        } else if (vy_stmt_is_loop(s->kind)) {
            mine->stmts = capped(mine->stmts + 4); /* a flag, and an exit that tests it */
            mine->exprs = capped(mine->exprs + 3);
        }
        if (vy_stmt_is_structured(s->kind)) {
            open[depth++] = i;
            if (mine->nesting < depth)
                mine->nesting = depth;
        }
    }
}

/* ---- limits after inlining ---- */

/* A caller of a function that exceeds a limit exceeds it, too; only the innermost function is reported. */
static void check_inlined(vy_verifier *verifier, uint32_t function) {
    const vy_function *f = &verifier->program->functions.items[function];
    const vy_callee_summary *sum = &verifier->callees[function];
    const char *name = vy_verifier_name(verifier, f->name);
    if (sum->calls_over)
        return;
    if (sum->depth > VY_LIMIT_CALL_DEPTH)
        vy_verifier_error(verifier, VY_V034, f->position, NULL, "calls in `%s` nested too deeply (%u, limit %d)", name,
                          sum->depth, VY_LIMIT_CALL_DEPTH);
    else if (sum->nesting > VY_LIMIT_NESTING)
        vy_verifier_error(verifier, VY_V033, f->position, NULL,
                          "blocks of `%s` and the functions it calls nested too deeply (%u, limit %d)", name,
                          sum->nesting, VY_LIMIT_NESTING);
    else if (sum->stmts > VY_LIMIT_STATEMENTS || sum->exprs > VY_LIMIT_EXPRESSIONS)
        vy_verifier_error(verifier, VY_V044, f->position, NULL,
                          "`%s` has too many statements (about %llu%s, limit %d) or expressions after inlining", name,
                          (unsigned long long)sum->stmts, sum->stmts == CAP ? " or more" : "", VY_LIMIT_STATEMENTS);
}

/* After inlining, the arrays of all functions belong to the program. */
static void check_arrays(vy_verifier *verifier, const vy_function *entry) {
    const vyre_program *p = verifier->program;
    uint64_t count = 0, bytes = 0;
    /* By table: the types of its arrays, which the inliner shares. */
    uint32_t *types = vy_verifier_scratch(verifier, p->tables.count + 1u, sizeof *types);
    if (!types)
        return;
    for (uint32_t i = 0; i < p->memories.count; i++) {
        const vy_memory *m = &p->memories.items[i];
        int is_known = m->space == VY_SPACE_CONSTANT && (types[m->table] >> m->type & 1);
        if (m->space == VY_SPACE_CONSTANT)
            types[m->table] |= 1u << m->type;
        count += m->elements != 0 && !is_known;
        bytes += m->space == VY_SPACE_PRIVATE ? (uint64_t)m->elements * vyre_type_size((vyre_type)m->type) : 0;
    }
    if (count > VY_LIMIT_ARRAYS)
        vy_verifier_error(verifier, VY_V037, entry->position, NULL,
                          "too many arrays in the program and the functions it calls (%llu, limit %d)",
                          (unsigned long long)count, VY_LIMIT_ARRAYS);
    if (bytes > VY_LIMIT_PRIVATE_BYTES)
        vy_verifier_error(verifier, VY_V043, entry->position, NULL,
                          "private arrays of the program and the functions it calls too large (%llu bytes, limit %d)",
                          (unsigned long long)bytes, VY_LIMIT_PRIVATE_BYTES);
}

static void number_params(const vyre_program *p, uint32_t *param_of) {
    for (uint32_t i = 0; i < p->functions.count; i++) {
        const vy_function *f = &p->functions.items[i];
        for (uint32_t k = 0; k < f->param_count; k++)
            if (p->params.items[f->first_param + k].is_memory)
                param_of[p->params.items[f->first_param + k].index] = k + 1;
    }
}

void vy_verify_calls(vy_verifier *verifier) {
    const vyre_program *p = verifier->program;
    uint32_t count = p->functions.count;
    if (vyre_program_function_count(p) == 0)
        return;
    graph g = {.verifier = verifier, .program = p};
    summary sum = {.verifier = verifier, .program = p};
    g.states = vy_verifier_scratch(verifier, count, sizeof *g.states);
    g.stack = vy_verifier_scratch(verifier, count, sizeof *g.stack);
    verifier->order = vy_verifier_scratch(verifier, count, sizeof *verifier->order);
    verifier->callees = vy_verifier_scratch(verifier, count, sizeof *verifier->callees);
    sum.param_of = vy_verifier_scratch(verifier, p->memories.count, sizeof *sum.param_of);
    sum.seen_by = vy_verifier_scratch(verifier, p->memories.count, sizeof *sum.seen_by);
    sum.seen_write = vy_verifier_scratch(verifier, p->memories.count, sizeof *sum.seen_write);
    if (verifier->out_of_memory)
        return;
    order_functions(&g);
    if (verifier->errors)
        return;
    number_params(p, sum.param_of);
    for (uint32_t i = 0; i < count; i++)
        summarize(&sum, verifier->order[i]);
    const vy_function *entry = vy_program_entry(p);
    for (uint32_t i = 0; i < count; i++)
        check_inlined(verifier, i);
    if (entry)
        check_arrays(verifier, entry);
}
