/* Plan of a grid split (grid_split.h): canonical form, liveness at the grid barriers, uniformity, the host slice,
 * and spill slots. */
#include "split/grid_split.h"

#include "analysis/uniformity.h"
#include "ir/walk.h"
#include "opt/clone.h"

#include <stdio.h>

vyre_status vy_plan_array(vy_split_plan *plan, size_t count, size_t size, void *array, vyre_error *error) {
    void *memory = vy_arena_allocate(&plan->arena, vy_array_size(count, size));
    if (!memory)
        return vy_fail_memory(error, "the plan of a split");
    memcpy(array, &memory, sizeof memory); /* memory is a T **, and no pointer type aliases all T */
    return VYRE_OK;
}

/* ---- canonical form ----
 *
 * A segment that starts inside a `for` continues with `for i in i .. end step s`. The values that `end` and `step` had
 * when the loop began must then be available: an expression with a load or a mutable variable may have another value
 * later, so it is moved into a `let` before the loop. */

typedef struct normaliser {
    vy_cloner copy;
    const uint32_t *before; /* by statement: the number of grid barriers before it */
} normaliser;

static int is_constant(const vyre_program *p, uint32_t root) {
    VY_EACH_EXPR (p, i, root) {
        const vy_expr *e = vy_expr_at(p, i);
        if (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && vy_variable_at(p, e->a)->is_mutable) ||
            (e->kind == VY_EXPR_OP && vy_is_relaxed(p, e)))
            return 0;
    }
    return 1;
}

/* The `let` with the value of a bound; VY_NONE if the bound is unchanged. */
static uint32_t hoist(normaliser *n, uint32_t loop, uint32_t bound, const char *what) {
    const vyre_program *from = n->copy.from;
    if (is_constant(from, bound))
        return VY_NONE;
    const vy_variable *v = vy_variable_at(from, vy_stmt_at(from, loop)->variable);
    char text[VY_LIMIT_NAME + 1];
    snprintf(text, sizeof text, "%.*s_%s", VY_LIMIT_NAME - 8, vy_symbol_name(from, v->name), what);
    uint32_t value = vy_cloner_expr(&n->copy, bound);
    vy_symbol name = vy_cloner_new_name(&n->copy, text);
    n->copy.draft.position = vy_stmt_position(from, loop);
    return vy_irb_let(&n->copy.draft, name, (vyre_type)v->type, value);
}

static uint32_t bound_of(normaliser *n, uint32_t bound, uint32_t hoisted) {
    return hoisted == VY_NONE ? vy_cloner_expr(&n->copy, bound) : vy_irb_variable(&n->copy.draft, hoisted);
}

static void copy_block(normaliser *n, uint32_t first, uint32_t end);

static void copy_body(normaliser *n, const vy_stmt *s, uint32_t first, uint32_t mark) {
    copy_block(n, first, s->middle);
    vy_cloner_close(&n->copy, mark);
    if (s->middle != s->end) {
        vy_irb_else(&n->copy.draft);
        copy_block(n, s->middle, s->end);
        vy_cloner_close(&n->copy, mark);
    }
    vy_irb_end_block(&n->copy.draft);
}

static void copy_for(normaliser *n, uint32_t loop) {
    const vy_stmt *s = vy_stmt_at(n->copy.from, loop);
    uint32_t to = hoist(n, loop, s->b, "end"), step = hoist(n, loop, s->c, "step");
    uint32_t mark = vy_cloner_open(&n->copy);
    uint32_t a = vy_cloner_expr(&n->copy, s->a), b = bound_of(n, s->b, to), c = bound_of(n, s->c, step);
    vy_cloner_for(&n->copy, loop, a, b, c);
    copy_body(n, s, loop + 1, mark);
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void copy_block(normaliser *n, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = n->copy.from->stmts.items;
    for (uint32_t i = first; i < end && !n->copy.draft.failed; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        if (!vy_stmt_is_structured(s->kind) || n->before[s->end] == n->before[i]) {
            vy_cloner_tree(&n->copy, i);
        } else if (s->kind == VY_STMT_FOR) {
            copy_for(n, i);
        } else {
            uint32_t mark = vy_cloner_open(&n->copy);
            vy_cloner_stmt(&n->copy, i);
            copy_body(n, s, i + 1, mark);
        }
    }
}

static vyre_status copy_entry(normaliser *n, const vyre_program *from, vyre_program **out, vyre_error *error) {
    vyre_status status = vy_cloner_start(&n->copy, from, vyre_program_name(from), error);
    if (status != VYRE_OK)
        return status;
    vy_cloner_params(&n->copy);
    vy_cloner_buffers(&n->copy, 0);
    vy_cloner_grid(&n->copy);
    vy_cloner_arrays(&n->copy);
    copy_block(n, n->copy.entry->first_stmt, n->copy.entry->end_stmt);
    return vy_cloner_finish(&n->copy, out, error);
}

static vyre_status normalise(const vyre_program *from, vyre_program **out, vyre_error *error) {
    vy_arena arena = {0};
    uint32_t *before = vy_arena_allocate(&arena, vy_array_size((size_t)from->stmts.count + 1, sizeof *before));
    normaliser n = {.before = before};
    n.copy.variables = vy_arena_allocate(&arena, vy_array_size(from->variables.count, sizeof *n.copy.variables));
    n.copy.memories = vy_arena_allocate(&arena, vy_array_size(from->memories.count, sizeof *n.copy.memories));
    vyre_status status = VYRE_NO_MEMORY;
    if (before && n.copy.variables && n.copy.memories) {
        for (uint32_t i = 0; i < from->stmts.count; i++)
            before[i + 1] = before[i] + (uint32_t)vy_is_grid_barrier(vy_stmt_at(from, i));
        status = copy_entry(&n, from, out, error);
    } else {
        vy_fail_memory(error, "the normal form of a program");
    }
    vy_cloner_discard(&n.copy);
    vy_arena_free(&arena);
    return status;
}

/* The program with calls inlined, without functions, in which the end and step of each `for` around a grid barrier
 * consist of literals, lengths, sizes and immutable variables, so that they have the same values when they are
 * evaluated again. */
static vyre_status plan_canonical(const vyre_program *program, vyre_program **out, vyre_error *error) {
    vyre_program *inlined;
    *out = NULL;
    vyre_status status = vyre_program_inline(program, &inlined, error);
    if (status != VYRE_OK)
        return status;
    status = normalise(inlined, out, error);
    vyre_program_release(inlined);
    return status;
}

/* ---- liveness at the grid barriers ----
 *
 * A variable is live at a barrier if it is declared before it, in scope, and read after it. In a loop that contains
 * both and began after the declaration, every read follows the barrier, in the next iteration. Assignments that
 * overwrite the value first, and branches that exclude each other, are not considered; this can cost a slot. So a
 * variable is live at consecutive barriers, the first one being the first after its declaration, and a range describes
 * them.
 *
 * An array is live if it is written before and read after, with the same rule for loops, and always as a whole. */

typedef struct walk {
    vy_split_plan *plan;
    const vyre_program *program;
    uint32_t *read;    /* by variable, then by memory: one past the last statement that reads it; 0: none */
    uint32_t *written; /* by memory: first statement that writes it; VY_NONE */
    uint32_t *before;  /* by statement, and of the end: the number of grid barriers before it */
} walk;

/* ---- shape ---- */

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

/* Statements come in ascending order, so the last one recorded is the last that reads. */
static void note_reads(walk *w, uint32_t stmt, uint32_t root) {
    VY_EACH_EXPR (w->program, i, root) {
        const vy_expr *e = vy_expr_at(w->program, i);
        if (e->kind == VY_EXPR_VARIABLE)
            w->read[e->a] = stmt + 1;
        else if (e->kind == VY_EXPR_LOAD)
            w->read[w->program->variables.count + e->a] = stmt + 1;
    }
}

static void note_memory(walk *w, uint32_t stmt, uint32_t memory, int reads) {
    if (reads)
        w->read[w->program->variables.count + memory] = stmt + 1;
    if (w->written[memory] == VY_NONE)
        w->written[memory] = stmt;
}

static void note_stmt(walk *w, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(w->program, index);
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
    /* A segment that starts in the loop continues from the current value. */
    if (s->kind == VY_STMT_FOR && w->plan->marks[index] & VY_MARK_SPLIT)
        w->read[s->variable] = index + 1;
}

/* The outermost loop around a read or write at `stmt` that began after statement `since` (VY_NONE: any); VY_NONE if
 * there is none. The condition of a `while` is read in each iteration; a split `for` reads end and step again where a
 * segment starts in it. */
static uint32_t outermost_loop(const walk *w, uint32_t stmt, uint32_t since) {
    uint32_t found = VY_NONE;
    for (uint32_t at = stmt; at != VY_NONE && (since == VY_NONE || at > since); at = w->plan->uses.parents[at]) {
        uint8_t kind = vy_stmt_at(w->program, at)->kind;
        if (at != stmt ? vy_stmt_is_loop(kind)
                       : kind == VY_STMT_WHILE || (kind == VY_STMT_FOR && w->plan->marks[at] & VY_MARK_SPLIT))
            found = at;
    }
    return found;
}

/* ---- ranges ---- */

/* A read, and a loop around it that began after the declaration, are in scope; so is every barrier before their
 * end. */
static vy_live_range variable_range(const walk *w, uint32_t variable) {
    const vy_stmt *stmts = w->program->stmts.items;
    uint32_t declared = w->plan->uses.declarations[variable];
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
    if (vy_memory_at(w->program, memory)->space == VY_SPACE_BUFFER || read == 0 || written == VY_NONE)
        return (vy_live_range){0, 0};
    uint32_t read_loop = outermost_loop(w, read - 1, VY_NONE), write_loop = outermost_loop(w, written, VY_NONE);
    return (vy_live_range){w->before[write_loop != VY_NONE ? write_loop : written],
                           w->before[read_loop != VY_NONE ? stmts[read_loop].end : read - 1]};
}

/* ---- lists ---- */

static vyre_status list_live_variables(walk *w, vyre_error *error) {
    vy_split_plan *plan = w->plan;
    uint64_t total = 0;
    uint32_t *next = NULL;
    for (uint32_t v = w->program->param_count; v < w->program->variables.count; v++) {
        vy_live_range range = plan->variable_live[v];
        for (uint32_t b = range.first; b < range.end; b++)
            plan->live_first[b + 1]++;
        total += range.end > range.first ? range.end - range.first : 0;
        if (total > VY_LIMIT_STATEMENTS) /* each is at least one statement in some segment */
            return vy_fail(
                error, VYRE_LIMIT, "keep fewer variables alive over grid barriers, for example in arrays",
                "storing the variables that are live at %u grid barriers needs more statements than the limit (%d)",
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
        {&w->read, (size_t)variables + memories, sizeof *w->read},
        {&w->written, memories, sizeof *w->written},
        {&w->before, (size_t)stmts + 1, sizeof *w->before},
        {&plan->barriers, plan->barrier_count, sizeof *plan->barriers},
        {&plan->marks, stmts, sizeof *plan->marks},
        {&plan->variable_live, variables, sizeof *plan->variable_live},
        {&plan->memory_live, memories, sizeof *plan->memory_live},
        {&plan->live_first, (size_t)plan->barrier_count + 1, sizeof *plan->live_first},
    };
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == VYRE_OK; i++)
        status = vy_plan_array(plan, rows[i].count, rows[i].size, rows[i].array, error);
    plan->uses = (vy_def_use){.program = w->program, .arena = &plan->arena};
    if (status == VYRE_OK &&
        !vy_def_use_need(&plan->uses, VY_DEF_USE_PARENTS | VY_DEF_USE_DECLARATIONS | VY_DEF_USE_DEFINITIONS))
        status = vy_fail_memory(error, "the plan of a split");
    return status;
}

/* Computes barriers, uses, marks (except HOST), live ranges and lists. */
static vyre_status plan_liveness(vy_split_plan *plan, vyre_error *error) {
    walk w = {.plan = plan, .program = plan->program};
    for (uint32_t i = 0; i < w.program->stmts.count; i++)
        plan->barrier_count += (uint32_t)vy_is_grid_barrier(vy_stmt_at(w.program, i));
    if (plan->barrier_count > VY_MAX_GRID_BARRIERS)
        return vy_fail(error, VYRE_LIMIT, "put grid barriers into loops",
                       "`%s` has more grid barriers (%u) than the limit (%d)", vyre_program_name(w.program),
                       plan->barrier_count, VY_MAX_GRID_BARRIERS);
    vyre_status status = make_arrays(&w, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t i = 0; i < w.program->memories.count; i++)
        w.written[i] = VY_NONE;
    find_barriers(&w);
    for (uint32_t i = 0; i < w.program->stmts.count; i++)
        note_stmt(&w, i);
    for (uint32_t v = w.program->param_count; v < w.program->variables.count; v++)
        plan->variable_live[v] = variable_range(&w, v);
    for (uint32_t m = 0; m < w.program->memories.count; m++)
        plan->memory_live[m] = memory_range(&w, m);
    return list_live_variables(&w, error);
}

/* ---- uniformity within a workgroup ----
 *
 * The rules are the validator's (uniformity.h), so both agree on which values are uniform. This is required: a value
 * that a barrier or collective depends on must be reloaded in a way that the validator accepts as uniform. */

/* Computes varies_*. */
static vyre_status plan_uniform(vy_split_plan *plan, vyre_error *error) {
    uint32_t variables = plan->program->variables.count, memories = plan->program->memories.count;
    vy_uniform *uniform;
    vyre_status status = vy_uniform_make(plan->program, &uniform, error);
    if (status == VYRE_OK)
        status = vy_plan_array(plan, variables, sizeof *plan->varies_variable, &plan->varies_variable, error);
    if (status == VYRE_OK)
        status = vy_plan_array(plan, memories, sizeof *plan->varies_memory, &plan->varies_memory, error);
    for (uint32_t i = 0; i < variables && status == VYRE_OK; i++)
        plan->varies_variable[i] = vy_variable_uniformity(uniform, i) == VY_UNIFORMITY_DIVERGENT;
    for (uint32_t i = 0; i < memories && status == VYRE_OK; i++)
        plan->varies_memory[i] = vy_memory_uniformity(uniform, i) == VY_UNIFORMITY_DIVERGENT;
    vy_uniform_free(uniform);
    return status;
}

/* ---- the slice that the host interprets to find the next segment ----
 *
 * A backward slice of the program: the grid barriers; the jumps that may skip one; the blocks around these; the
 * assignments to variables that a condition or bound among these reads; and so on. A `continue`, and a jump out of a
 * loop of one iteration, counts only if a statement of the slice follows it in the loop: otherwise it may be
 * divergent. If the slice consists of params, lengths, sizes and literals, the host runs it (grid_split.c). If a value
 * in it is loaded, or results from an atomic, a collective or a call, or is a float under relaxed numerics, which the
 * device may round differently, the device writes its decisions. */

typedef struct slicer {
    vy_split_plan *plan;
    const vyre_program *program;
    uint32_t *first_skip,
        *first_break;    /* by loop: jumps that skip the rest of an iteration, jumps that end the loop; plus 1 */
    uint32_t *next_jump; /* by statement: the next one of the list, ascending; plus 1 */
    uint8_t *is_needed;  /* by variable */
    uint32_t *queue;     /* marked statements that were not visited yet */
    uint32_t queued;
    int fails; /* the host cannot run the slice */
} slicer;

static const uint8_t is_size[VYRE_BUILTIN_COUNT] = {
    [VYRE_BUILTIN_WORKGROUP_SIZE] = 1, [VYRE_BUILTIN_GROUP_COUNT] = 1, [VYRE_BUILTIN_GLOBAL_SIZE] = 1};

/* Whether a grid barrier may follow the statement. */
static int matters(const slicer *s, uint32_t stmt) {
    const vy_split_plan *plan = s->plan;
    if (plan->barrier_count && plan->barriers[plan->barrier_count - 1] >= stmt)
        return 1;
    for (uint32_t loop = vy_loop_around(&s->plan->uses, stmt); loop != VY_NONE;
         loop = vy_loop_around(&s->plan->uses, loop))
        if (plan->marks[loop] & VY_MARK_SPLIT)
            return 1;
    return 0;
}

static void mark(slicer *s, uint32_t stmt) {
    if (stmt == VY_NONE || s->plan->marks[stmt] & VY_MARK_HOST || !matters(s, stmt))
        return;
    s->plan->marks[stmt] |= VY_MARK_HOST;
    s->queue[s->queued++] = stmt;
}

static void need_variable(slicer *s, uint32_t variable) {
    if (variable < s->program->param_count || s->is_needed[variable])
        return;
    s->is_needed[variable] = 1;
    const vy_def_use *uses = &s->plan->uses;
    for (uint32_t i = uses->first_definition[variable]; i < uses->first_definition[variable + 1]; i++)
        mark(s, uses->definitions[i]);
}

static void need_expr(slicer *s, uint32_t root) {
    VY_EACH_EXPR (s->program, i, root) {
        const vy_expr *e = vy_expr_at(s->program, i);
        s->fails |= e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_BUILTIN && !is_size[e->op]) ||
                    (e->kind == VY_EXPR_OP && vy_is_relaxed(s->program, e));
        if (e->kind == VY_EXPR_VARIABLE)
            need_variable(s, e->a);
    }
}

/* Marks the jumps of a list before statement `end`, and removes them from it. */
static void mark_jumps(slicer *s, uint32_t *first, uint32_t end) {
    for (; *first && *first - 1 < end; *first = s->next_jump[*first - 1])
        mark(s, *first - 1);
}

static void visit_stmt(slicer *s, uint32_t index) {
    const vy_stmt *stmt = vy_stmt_at(s->program, index);
    mark(s, s->plan->uses.parents[index]);
    for (uint32_t loop = vy_loop_around(&s->plan->uses, index); loop != VY_NONE;
         loop = vy_loop_around(&s->plan->uses, loop))
        mark_jumps(s, &s->first_skip[loop], index);
    if (stmt->kind == VY_STMT_FOR)
        need_variable(s, stmt->variable);
    switch (stmt->kind) {
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        mark_jumps(s, &s->first_break[index], VY_NONE);
        /* fall through */
    case VY_STMT_IF:
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_ASSIGN:
        need_expr(s, stmt->a);
        need_expr(s, stmt->b);
        need_expr(s, stmt->c);
        break;
    case VY_STMT_ATOMIC:
    case VY_STMT_COLLECTIVE:
        s->fails = 1;
        break;
    case VY_STMT_CALL:
        for (uint32_t i = 0; i < stmt->arg_count && vy_lowered_op_of(s->program, stmt); i++)
            need_expr(s, s->program->args.items[stmt->args + i].index);
        s->fails |= !vy_lowered_op_of(s->program, stmt);
        break;
    default:
        break;
    }
}

/* ---- the lists, and the roots of the slice ---- */

static void link(uint32_t *first, uint32_t *next, uint32_t key, uint32_t stmt) {
    next[stmt] = first[key];
    first[key] = stmt + 1;
}

static void list_stmts(slicer *s) {
    for (uint32_t i = s->program->stmts.count; i-- > 0;) {
        const vy_stmt *stmt = vy_stmt_at(s->program, i);
        if (stmt->kind != VY_STMT_BREAK && stmt->kind != VY_STMT_CONTINUE)
            continue;
        uint32_t loop = vy_loop_around(&s->plan->uses, i);
        int skips = stmt->kind == VY_STMT_CONTINUE || s->plan->marks[loop] & VY_MARK_ONE_TRIP;
        link(skips ? s->first_skip : s->first_break, s->next_jump, loop, i);
    }
}

static void start(slicer *s) {
    for (uint32_t i = 0; i < s->program->stmts.count; i++) {
        const vy_stmt *stmt = vy_stmt_at(s->program, i);
        if (stmt->kind == VY_STMT_RETURN || s->plan->marks[i] & VY_MARK_SPLIT)
            mark(s, i);
    }
}

/* ---- the slice ---- */

static vyre_status assign_host_slots(slicer *s, vyre_error *error) {
    vy_split_plan *plan = s->plan;
    vyre_status status =
        vy_plan_array(plan, s->program->variables.count, sizeof *plan->host_slots, &plan->host_slots, error);
    if (status != VYRE_OK)
        return status;
    for (uint32_t v = 0; v < s->program->variables.count; v++)
        plan->host_slots[v] = plan->is_host_driven && s->is_needed[v] ? plan->host_count++ : VY_NONE;
    return VYRE_OK;
}

/* Computes is_host_driven, host_slots and the marks HOST. */
static vyre_status plan_slice(vy_split_plan *plan, vyre_error *error) {
    slicer s = {.plan = plan, .program = plan->program};
    uint32_t variables = s.program->variables.count, stmts = s.program->stmts.count;
    const struct {
        void *array;
        uint32_t count;
    } rows[] = {{&s.first_skip, stmts}, {&s.first_break, stmts}, {&s.next_jump, stmts}, {&s.queue, stmts}};
    vyre_status status = vy_plan_array(plan, variables, sizeof *s.is_needed, &s.is_needed, error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == VYRE_OK; i++)
        status = vy_plan_array(plan, rows[i].count, sizeof(uint32_t), rows[i].array, error);
    if (status != VYRE_OK)
        return status;
    list_stmts(&s);
    start(&s);
    while (s.queued && !s.fails)
        visit_stmt(&s, s.queue[--s.queued]);
    plan->is_host_driven = !s.fails;
    return assign_host_slots(&s, error);
}

/* ---- spill slots: the storage of values between launches ----
 *
 * An immutable variable of a few ops on ids, sizes, params and literals is not stored but recomputed: `let i =
 * global_id.x`. (A load never is, because the memory may have changed.) A value that the host computes is passed as
 * a hidden param. A value that is uniform over a workgroup is stored once per workgroup, any other once per invocation.
 * Elements are unsigned integers of the value's width, whatever its type: only the bit pattern matters. Variables that
 * are live at different barriers share slots; arrays have separate slots, because they are live almost everywhere. */

enum {
    POOLS = 2 * VY_WIDTHS,
    MOST_NODES = 16 /* of a recomputed expression, with those that it depends on: about the cost of a load */
};

typedef struct allocator {
    vy_split_plan *plan;
    uint32_t *first_ending,
        *next_ending; /* by barrier, by variable: the variables that are live there for the last time; plus 1 */
    uint32_t first_free[POOLS], *next_free; /* by pool, by variable: those whose slot is free again; plus 1 */
    uint32_t settled;                       /* the slots of variables that end at earlier barriers were freed */
    uint8_t *weights;                       /* by variable: nodes of its expression, if it can be recomputed; else 0 */
} allocator;

static uint8_t width_of(uint8_t type) {
    unsigned bits = vyre_type_bits((vyre_type)type);
    return bits <= 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3; /* a bool is stored as a byte */
}

/* ---- recomputed values ---- */

/* Nodes of an expression of constant values; more than MOST_NODES if it contains any other value or is too large. */
static uint32_t weigh(const allocator *a, uint32_t root) {
    const vyre_program *p = a->plan->program;
    if (root == VY_NONE)
        return 0;
    const vy_expr *e = vy_expr_at(p, root);
    if (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_OP && vy_is_relaxed(p, e)))
        return MOST_NODES + 1;
    if (e->kind == VY_EXPR_VARIABLE && e->a >= p->param_count)
        return a->weights[e->a] ? a->weights[e->a] : MOST_NODES + 1;
    if (e->kind != VY_EXPR_OP)
        return 1;
    uint32_t weight = 1;
    const uint32_t *operands = VY_EXPR_OPERANDS(e);
    for (int i = 0; i < 3 && weight <= MOST_NODES; i++)
        weight += weigh(a, operands[i]);
    return weight;
}

/* Declarations precede uses, so the operands of an expression were weighed before. */
static void weigh_variables(allocator *a) {
    for (uint32_t v = a->plan->program->param_count; v < a->plan->program->variables.count; v++) {
        const vy_stmt *s = vy_stmt_at(a->plan->program, a->plan->uses.declarations[v]);
        uint32_t weight = s->kind == VY_STMT_LET ? weigh(a, s->a) : MOST_NODES + 1;
        a->weights[v] = weight <= MOST_NODES ? (uint8_t)weight : 0;
    }
}

/* ---- slots ---- */

static uint32_t pool_of(vy_spill_slot spill) {
    return (spill.kind == VY_SPILL_GROUP) * VY_WIDTHS + spill.width;
}

static uint32_t *count_of(vy_split_plan *plan, vy_spill_slot spill) {
    return spill.kind == VY_SPILL_GROUP ? &plan->per_group[spill.width] : &plan->per_invocation[spill.width];
}

static void release_expired(allocator *a, uint32_t before) {
    for (; a->settled < before; a->settled++)
        for (uint32_t at = a->first_ending[a->settled]; at; at = a->next_ending[at - 1]) {
            uint32_t pool = pool_of(a->plan->variable_slots[at - 1]);
            a->next_free[at - 1] = a->first_free[pool];
            a->first_free[pool] = at;
        }
}

/* Variables are visited in the order of their declarations, hence of the first barriers at which they are live. */
static void place_variable(allocator *a, uint32_t variable) {
    vy_split_plan *plan = a->plan;
    vy_spill_slot *spill = &plan->variable_slots[variable];
    vy_live_range live = plan->variable_live[variable];
    *spill = (vy_spill_slot){.kind = plan->varies_variable[variable] ? VY_SPILL_INVOCATION : VY_SPILL_GROUP,
                             .width = width_of(vy_variable_at(plan->program, variable)->type)};
    release_expired(a, live.first);
    uint32_t pool = pool_of(*spill), free = a->first_free[pool];
    if (free) {
        a->first_free[pool] = a->next_free[free - 1];
        spill->slot = plan->variable_slots[free - 1].slot;
    } else {
        spill->slot = (*count_of(plan, *spill))++;
    }
    a->next_ending[variable] = a->first_ending[live.end - 1];
    a->first_ending[live.end - 1] = variable + 1;
}

static void place_array(vy_split_plan *plan, uint32_t memory) {
    const vy_memory *m = vy_memory_at(plan->program, memory);
    vy_spill_slot *spill = &plan->memory_slots[memory];
    int varies = m->space == VY_SPACE_PRIVATE && plan->varies_memory[memory];
    *spill = (vy_spill_slot){.kind = varies ? VY_SPILL_INVOCATION : VY_SPILL_GROUP, .width = width_of(m->type)};
    uint32_t *count = count_of(plan, *spill);
    spill->slot = *count;
    *count += m->elements;
}

static int is_live(vy_live_range range) {
    return range.first < range.end;
}

static void assign_slot(allocator *a, uint32_t variable) {
    vy_split_plan *plan = a->plan;
    if (a->weights[variable]) {
        plan->variable_slots[variable] = (vy_spill_slot){.kind = VY_SPILL_REMAT};
    } else if (plan->host_slots[variable] != VY_NONE &&
               plan->host_param_count < VY_LIMIT_PARAMS - plan->program->param_count) {
        plan->variable_slots[variable] = (vy_spill_slot){.kind = VY_SPILL_PARAM, .slot = plan->host_param_count};
        plan->host_params[plan->host_param_count++] = variable;
    } else {
        place_variable(a, variable);
    }
}

/* Assigns spill slots, counts and hidden params. */
static vyre_status assign_spill_slots(vy_split_plan *plan, vyre_error *error) {
    allocator a = {.plan = plan};
    uint32_t variables = plan->program->variables.count, memories = plan->program->memories.count;
    const struct {
        void *array;
        size_t count, size;
    } rows[] = {
        {&plan->variable_slots, variables, sizeof *plan->variable_slots},
        {&plan->memory_slots, memories, sizeof *plan->memory_slots},
        {&plan->host_params, VY_LIMIT_PARAMS, sizeof *plan->host_params},
        {&a.first_ending, plan->barrier_count, sizeof *a.first_ending},
        {&a.next_ending, variables, sizeof *a.next_ending},
        {&a.next_free, variables, sizeof *a.next_free},
        {&a.weights, variables, sizeof *a.weights},
    };
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == VYRE_OK; i++)
        status = vy_plan_array(plan, rows[i].count, rows[i].size, rows[i].array, error);
    if (status != VYRE_OK)
        return status;
    weigh_variables(&a);
    for (uint32_t v = plan->program->param_count; v < variables; v++)
        if (is_live(plan->variable_live[v]))
            assign_slot(&a, v);
    for (uint32_t m = plan->program->buffer_count; m < memories; m++)
        if (is_live(plan->memory_live[m]))
            place_array(plan, m);
    return VYRE_OK;
}

/* ---- the plan ---- */

vyre_status vy_split_plan_make(vy_split_plan *plan, const vyre_program *program, vyre_error *error) {
    vyre_status status = plan_canonical(program, &plan->program, error);
    vyre_status (*const parts[])(vy_split_plan *, vyre_error *) = {plan_liveness, plan_uniform, plan_slice,
                                                                   assign_spill_slots};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == VYRE_OK; i++)
        status = parts[i](plan, error);
    return status;
}
