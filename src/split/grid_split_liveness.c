/* What is live at the grid barriers (vy_plan_liveness).
 *
 * A variable is live at a barrier if it is declared before it, in scope, and read after it, where a loop that has both
 * in it, and began after the declaration, comes round again: then any read in the loop comes after. That overlooks
 * assignments that overwrite the value first, and branches that exclude each other; it costs a slot where it does. So
 * the barriers at which a variable is live follow each other, the first one being the first behind its declaration,
 * and a range says it all.
 *
 * An array is live if it is written before and read after, loops considered in the same way, and always whole. */
#include "split/grid_split_plan.h"

typedef struct walk {
    vy_split_plan *plan;
    const vyre_program *program;
    uint32_t *read;    /* by variable, then by memory: one past the last statement that reads it; 0 = none */
    uint32_t *written; /* by memory: first statement that writes it; VY_NONE */
    uint32_t *before;  /* by statement, one more at the end: grid barriers before it */
} walk;

/* ---- shape ---- */

static void find_parents(walk *w) {
    const vy_stmt *stmts = w->program->stmts.items;
    uint32_t open = VY_NONE;
    for (uint32_t i = 0; i < w->program->stmts.count; i++) {
        while (open != VY_NONE && stmts[open].end == i)
            open = w->plan->parents[open];
        w->plan->parents[i] = open;
        if (vy_stmt_is_structured(stmts[i].kind) && stmts[i].end > i + 1)
            open = i;
    }
}

static void find_barriers(walk *w) {
    vy_split_plan *plan = w->plan;
    const vy_stmt *stmts = w->program->stmts.items;
    for (uint32_t i = 0; i < w->program->stmts.count; i++) {
        w->before[i + 1] = w->before[i] + (uint32_t)vy_is_grid_barrier(&stmts[i]);
        if (w->before[i + 1] != w->before[i])
            plan->barriers[w->before[i]] = i;
    }
    for (uint32_t i = 0; i < w->program->stmts.count; i++) {
        if (w->before[stmts[i].end] != w->before[i])
            plan->marks[i] |= VY_MARK_SPLIT;
        if (vy_stmt_is_loop(stmts[i].kind) && vy_loop_runs_once(w->program, i))
            plan->marks[i] |= VY_MARK_ONE_TRIP;
    }
}

/* ---- reads and writes ---- */

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. Statements come in ascending order, so the last to note is the
 * last to read. */
static void note_reads(walk *w, uint32_t stmt, uint32_t root) {
    if (root == VY_NONE)
        return;
    const vy_expr *e = &w->program->exprs.items[root];
    if (e->kind == VY_EXPR_VARIABLE) {
        w->read[e->a] = stmt + 1;
    } else if (e->kind == VY_EXPR_LOAD) {
        w->read[w->program->variables.count + e->a] = stmt + 1;
        note_reads(w, stmt, e->b);
    } else if (e->kind == VY_EXPR_OP) {
        note_reads(w, stmt, e->a);
        note_reads(w, stmt, e->b);
        note_reads(w, stmt, e->c);
    }
}

static void note_memory(walk *w, uint32_t stmt, uint32_t memory, int reads) {
    if (reads)
        w->read[w->program->variables.count + memory] = stmt + 1;
    if (w->written[memory] == VY_NONE)
        w->written[memory] = stmt;
}

static void note_stmt(walk *w, uint32_t index) {
    const vy_stmt *s = &w->program->stmts.items[index];
    note_reads(w, index, s->a);
    note_reads(w, index, s->b);
    note_reads(w, index, s->c);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        const vy_arg *arg = &w->program->args.items[s->args + i];
        if (arg->is_memory)
            note_memory(w, index, arg->index, 1);
        else
            note_reads(w, index, arg->index);
    }
    if (s->memory != VY_NONE)
        note_memory(w, index, s->memory, s->kind != VY_STMT_STORE);
    for (uint32_t i = 0; i < s->result_count; i++)
        w->plan->declarations[s->variable + i] = index;
    /* A segment that starts in the loop goes on from the current value. */
    if (s->kind == VY_STMT_FOR && w->plan->marks[index] & VY_MARK_SPLIT)
        w->read[s->variable] = index + 1;
}

/* The outermost loop around a read or write at `stmt` that began after statement `since` (VY_NONE: any); VY_NONE if
 * there is none. What a `while` reads in its condition it reads on each trip; a split `for` needs end and step again
 * where a segment starts in it. */
static uint32_t outermost_loop(const walk *w, uint32_t stmt, uint32_t since) {
    uint32_t found = VY_NONE;
    for (uint32_t at = stmt; at != VY_NONE && (since == VY_NONE || at > since); at = w->plan->parents[at]) {
        uint8_t kind = w->program->stmts.items[at].kind;
        if (at != stmt ? vy_stmt_is_loop(kind)
                       : kind == VY_STMT_WHILE || (kind == VY_STMT_FOR && w->plan->marks[at] & VY_MARK_SPLIT))
            found = at;
    }
    return found;
}

/* ---- ranges ---- */

/* A read, and a loop around it that began after the declaration, are in scope; so is every barrier up to there. */
static vy_live_range variable_range(const walk *w, uint32_t variable) {
    const vy_stmt *stmts = w->program->stmts.items;
    uint32_t declared = w->plan->declarations[variable];
    if (w->read[variable] == 0)
        return (vy_live_range){0, 0};
    uint32_t read = w->read[variable] - 1, loop = outermost_loop(w, read, declared);
    uint32_t until = loop != VY_NONE ? stmts[loop].end : read;
    if (stmts[declared].kind == VY_STMT_FOR && w->plan->marks[declared] & VY_MARK_SPLIT)
        until = stmts[declared].end;
    return (vy_live_range){w->before[declared], until > declared ? w->before[until] : 0};
}

static vy_live_range memory_range(const walk *w, uint32_t memory) {
    const vy_stmt *stmts = w->program->stmts.items;
    uint32_t read = w->read[w->program->variables.count + memory], written = w->written[memory];
    if (w->program->memories.items[memory].space == VY_SPACE_BUFFER || read == 0 || written == VY_NONE)
        return (vy_live_range){0, 0};
    uint32_t read_loop = outermost_loop(w, read - 1, VY_NONE), write_loop = outermost_loop(w, written, VY_NONE);
    return (vy_live_range){w->before[write_loop != VY_NONE ? write_loop : written],
                           w->before[read_loop != VY_NONE ? stmts[read_loop].end : read - 1]};
}

/* ---- lists ---- */

static vyre_status make_lists(walk *w, vyre_error *error) {
    vy_split_plan *plan = w->plan;
    uint64_t total = 0;
    uint32_t *next;
    for (uint32_t v = w->program->param_count; v < w->program->variables.count; v++) {
        vy_live_range range = plan->variable_live[v];
        for (uint32_t b = range.first; b < range.end; b++)
            plan->live_first[b + 1]++;
        total += range.end > range.first ? range.end - range.first : 0;
        if (total > VY_LIMIT_STATEMENTS) /* each is at least a statement in some segment */
            return vy_fail(
                error, VYRE_LIMIT, "keep fewer variables alive over grid barriers, for example in arrays",
                "storing the variables that are live at %u grid barriers takes more statements than the limit (%d)",
                plan->barrier_count, VY_LIMIT_STATEMENTS);
    }
    vyre_status status = vy_plan_array(plan, total, sizeof *plan->live_variables, &plan->live_variables, error);
    if (status == VYRE_OK)
        status = vy_plan_array(plan, plan->barrier_count, sizeof *next, &next, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t b = 0; b < plan->barrier_count; b++)
        plan->live_first[b + 1] += next[b] = plan->live_first[b];
    for (uint32_t v = w->program->param_count; v < w->program->variables.count; v++)
        for (uint32_t b = plan->variable_live[v].first; b < plan->variable_live[v].end; b++)
            plan->live_variables[next[b]++] = v;
    return VYRE_OK;
}

static vyre_status make_arrays(walk *w, vyre_error *error) {
    vy_split_plan *plan = w->plan;
    uint32_t variables = w->program->variables.count, memories = w->program->memories.count,
             stmts = w->program->stmts.count;
    const struct {
        void *array;
        size_t count, size;
    } rows[] = {
        {&plan->declarations, variables, sizeof *plan->declarations},
        {&w->read, (size_t)variables + memories, sizeof *w->read},
        {&w->written, memories, sizeof *w->written},
        {&w->before, (size_t)stmts + 1, sizeof *w->before},
        {&plan->barriers, plan->barrier_count, sizeof *plan->barriers},
        {&plan->parents, stmts, sizeof *plan->parents},
        {&plan->marks, stmts, sizeof *plan->marks},
        {&plan->variable_live, variables, sizeof *plan->variable_live},
        {&plan->memory_live, memories, sizeof *plan->memory_live},
        {&plan->live_first, (size_t)plan->barrier_count + 1, sizeof *plan->live_first},
    };
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == VYRE_OK; i++)
        status = vy_plan_array(plan, rows[i].count, rows[i].size, rows[i].array, error);
    return status;
}

vyre_status vy_plan_liveness(vy_split_plan *plan, vyre_error *error) {
    walk w = {.plan = plan, .program = plan->program};
    for (uint32_t i = 0; i < w.program->stmts.count; i++)
        plan->barrier_count += (uint32_t)vy_is_grid_barrier(&w.program->stmts.items[i]);
    if (plan->barrier_count > VY_MAX_GRID_BARRIERS)
        return vy_fail(error, VYRE_LIMIT, "put grid barriers into loops",
                       "`%s` has more grid barriers (%u) than the limit (%d)", vyre_program_name(w.program),
                       plan->barrier_count, VY_MAX_GRID_BARRIERS);
    vyre_status status = make_arrays(&w, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t i = 0; i < w.program->memories.count; i++)
        w.written[i] = VY_NONE;
    find_parents(&w);
    find_barriers(&w);
    for (uint32_t i = 0; i < w.program->stmts.count; i++)
        note_stmt(&w, i);
    for (uint32_t v = w.program->param_count; v < w.program->variables.count; v++)
        plan->variable_live[v] = variable_range(&w, v);
    for (uint32_t m = 0; m < w.program->memories.count; m++)
        plan->memory_live[m] = memory_range(&w, m);
    return make_lists(&w, error);
}
