/* The plan (coarsen_plan.h): whether a program can be widened, whether it pays, and by how much.
 *
 * A walk along the fast path: where a condition is known there, only the branch that is taken counts. */
#include "opt/coarsen_plan.h"

#include "base/status.h"
#include "ir/walk.h"

enum {
    MOST_NODES = 4096,    /* of the fast path: statements and expressions */
    WORK_PER_ACCESS = 64, /* nodes for each consecutive access: with more it is not memory that takes the time */
    MOST_TRIPS = 1024,
    MOST_RETURNS = 16 /* each takes a level of nesting */
};

/* ---- whether it can be ---- */

/* Facts that keep lanes apart. */
static const struct {
    uint32_t fact;
    const char *reason;
} apart[] = {
    {VY_PROGRAM_HAS_OP_CALL, "it calls ops that are not resolved"},
    {VY_PROGRAM_HAS_GRID_BARRIER, "it has grid barriers: split it first"},
    {VY_PROGRAM_HAS_BARRIER, "its workgroups meet at barriers or collectives"},
    {VY_PROGRAM_HAS_TRAP, "it may trap, and the invocation that does is named"},
    {VY_PROGRAM_HAS_PRINT, "it prints, and prints name their invocation"},
    {VY_PROGRAM_IS_SCHEDULE_DEPENDENT, "what it delivers depends on the schedule"},
};

static const char *reason_of_facts(const vyre_program *p) {
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (p->facts & apart[i].fact)
            return apart[i].reason;
    if (p->numerics != VYRE_NUMERICS_STRICT)
        return "its numerics are relaxed";
    if (p->level != VYRE_LEVEL_SOURCE)
        return "it is legalised already";
    if (p->param_count > VY_LIMIT_PARAMS - VY_COARSEN_PARAMS)
        return "it has no room for another param";
    return NULL;
}

static const char *reason_of_memories(const vyre_program *p) {
    if (p->memories.count == p->buffer_count)
        return NULL;
    for (uint32_t i = p->buffer_count; i < p->memories.count; i++)
        if (p->memories.items[i].space == VY_SPACE_WORKGROUP)
            return "its workgroups share arrays";
    return "it has private arrays";
}

static const char *reason_of_atomics(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind == VY_STMT_ATOMIC && (s->result_count || s->order != VYRE_ORDER_RELAXED))
            return "it has atomics that give a value or order memory";
    }
    return NULL;
}

/* ---- returns ---- */

int vy_coarsen_returns(const vyre_program *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        if (p->stmts.items[i].kind == VY_STMT_RETURN)
            return 1;
    return 0;
}

/* Whether control may come out at the end of a block. Recursion is bounded by VY_LIMIT_NESTING. */
static int comes_out(const vyre_program *p, uint32_t first, uint32_t end) {
    uint32_t last = VY_NONE;
    for (uint32_t i = first; i < end; i = p->stmts.items[i].end)
        last = i;
    if (last == VY_NONE)
        return 1;
    const vy_stmt *s = &p->stmts.items[last];
    switch (s->kind) {
    case VY_STMT_RETURN:
        return 0;
    case VY_STMT_IF:
        return comes_out(p, last + 1, s->middle) || comes_out(p, s->middle, s->end);
    case VY_STMT_REGION:
        return comes_out(p, last + 1, s->end);
    default:
        return 1;
    }
}

/* A return can be left out where what follows the `if` it stands in can go into the other branch. Recursion is bounded by VY_LIMIT_NESTING. */
static const char *reason_of_returns(const vyre_program *p, uint32_t first, uint32_t end, uint32_t *count) {
    for (uint32_t i = first; i < end; i = p->stmts.items[i].end) {
        const vy_stmt *s = &p->stmts.items[i];
        const char *reason = NULL;
        if (!vy_stmt_is_structured(s->kind) || !vy_coarsen_returns(p, i, s->end))
            continue;
        if (vy_stmt_is_loop(s->kind))
            return "it returns from inside a loop";
        if (++*count > MOST_RETURNS)
            return "it returns from too many places";
        if (s->kind == VY_STMT_IF && comes_out(p, i + 1, s->middle) && comes_out(p, s->middle, s->end))
            return "it returns from the middle of a branch";
        reason = reason_of_returns(p, i + 1, s->middle, count);
        if (!reason && s->kind == VY_STMT_IF)
            reason = reason_of_returns(p, s->middle, s->end, count);
        if (reason)
            return reason;
    }
    return NULL;
}

/* ---- what the fast path does ---- */

typedef struct walk {
    vy_coarsen_plan *plan;
    const uint32_t *first_expr; /* by statement */
    const char *slow;           /* why it does not pay */
} walk;

static void count_access(walk *w, uint32_t memory, uint32_t index, uint64_t weight) {
    vy_coarsen_plan *plan = w->plan;
    uint32_t start, bytes = vyre_type_size((vyre_type)plan->program->memories.items[memory].type);
    int32_t offset;
    if (vy_coarsen_index(plan, memory, index, &start, &offset)) {
        plan->consecutive += weight;
        plan->element_bytes = bytes > plan->element_bytes ? bytes : plan->element_bytes;
    } else if (!plan->is_shared[index]) {
        plan->scattered += weight;
    }
}

static void count_stmt(walk *w, uint32_t index, uint64_t weight) {
    const vyre_program *p = w->plan->program;
    const vy_stmt *s = &p->stmts.items[index];
    uint32_t first = w->first_expr[index], end = vy_stmt_exprs_end(p, s, first);
    w->plan->work += (end - first + 1) * weight;
    for (uint32_t i = first; i < end; i++)
        if (p->exprs.items[i].kind == VY_EXPR_LOAD)
            count_access(w, p->exprs.items[i].a, p->exprs.items[i].b, weight);
    if (s->kind == VY_STMT_STORE)
        count_access(w, s->memory, s->a, weight);
    else if (s->kind == VY_STMT_ATOMIC && !w->plan->is_shared[s->a])
        w->plan->scattered += weight;
}

/* Trips of a `for` between literals; else 0. */
static uint64_t trips_of(const vyre_program *p, const vy_stmt *s) {
    const vy_expr *from = &p->exprs.items[s->a], *to = &p->exprs.items[s->b];
    const vy_expr *step = s->c == VY_NONE ? NULL : &p->exprs.items[s->c];
    if (from->kind != VY_EXPR_LITERAL || to->kind != VY_EXPR_LITERAL || (step && step->kind != VY_EXPR_LITERAL))
        return 0;
    uint64_t by = step && step->bits ? step->bits : 1, distance = to->bits > from->bits ? to->bits - from->bits : 1;
    return distance / by + (distance % by != 0);
}

static void walk_block(walk *w, uint32_t first, uint32_t end, uint64_t weight);

static void walk_if(walk *w, uint32_t index, uint64_t weight) {
    const vy_stmt *s = &w->plan->program->stmts.items[index];
    int truth = vy_coarsen_truth(w->plan, s->a);
    if (truth < 0)
        count_stmt(w, index, weight);
    if (truth != 0)
        walk_block(w, index + 1, s->middle, weight);
    if (truth != 1)
        walk_block(w, s->middle, s->end, weight);
}

static void walk_loop(walk *w, uint32_t index, uint64_t weight) {
    const vyre_program *p = w->plan->program;
    const vy_stmt *s = &p->stmts.items[index];
    uint64_t trips = s->kind == VY_STMT_FOR ? trips_of(p, s) : 0;
    if (vy_loop_runs_once(p, index))
        trips = 1;
    if (trips == 0 || trips > MOST_TRIPS)
        w->slow = "it loops as often as only the data or the dispatch knows, or very often";
    weight *= trips && trips <= MOST_TRIPS ? trips : MOST_TRIPS;
    count_stmt(w, index, weight);
    walk_block(w, index + 1, s->end, weight < UINT32_MAX ? weight : UINT32_MAX);
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void walk_block(walk *w, uint32_t first, uint32_t end, uint64_t weight) {
    const vy_stmt *stmts = w->plan->program->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        if (stmts[i].kind == VY_STMT_IF)
            walk_if(w, i, weight);
        else if (vy_stmt_is_loop(stmts[i].kind))
            walk_loop(w, i, weight);
        else
            count_stmt(w, i, weight);
        if (stmts[i].kind == VY_STMT_REGION)
            walk_block(w, i + 1, stmts[i].end, weight);
    }
}

int vy_coarsen_loop_agrees(const vy_coarsen_plan *plan, uint32_t loop) {
    const vy_stmt *stmts = plan->program->stmts.items, *s = &stmts[loop];
    if (s->kind != VY_STMT_FOR || !plan->var_shared[s->variable])
        return 0;
    for (uint32_t i = loop + 1; i < s->end;) { /* jumps of loops inside stay there */
        if (stmts[i].kind == VY_STMT_BREAK || stmts[i].kind == VY_STMT_CONTINUE)
            return 0;
        i = vy_stmt_is_loop(stmts[i].kind) ? stmts[i].end : i + 1;
    }
    return 1;
}

/* ---- making ---- */

static const char *reason_of_cost(const walk *w) {
    const vy_coarsen_plan *plan = w->plan;
    if (plan->consecutive == 0)
        return "no buffer is accessed at consecutive elements by consecutive invocations";
    if (w->slow)
        return w->slow;
    if (plan->scattered > plan->consecutive)
        return "more of its accesses are scattered than consecutive";
    if (plan->work / WORK_PER_ACCESS > plan->consecutive)
        return "it computes much for each element, so that memory is not what takes the time";
    return NULL;
}

static void choose_factor(vy_coarsen_plan *plan, uint32_t access_bytes) {
    uint32_t nodes = plan->program->stmts.count + plan->program->exprs.count;
    uint32_t bytes = plan->element_bytes ? plan->element_bytes : 4;
    plan->factor = 1;
    while (plan->factor < VY_COARSEN_MAX && 2 * plan->factor * bytes <= access_bytes &&
           2 * plan->factor * (uint64_t)nodes <= MOST_NODES)
        plan->factor *= 2;
    if (plan->factor == 1 && !plan->reason)
        plan->reason = 2 * bytes > access_bytes ? "the target has no access wider than its elements"
                                                : "it is too large to be written several times";
}

static int allocate(vy_coarsen_plan *plan, vy_arena *arena, uint32_t **first_expr) {
    const vyre_program *p = plan->program;
    plan->is_shared = vy_arena_allocate(arena, p->exprs.count + 1u);
    plan->early = vy_arena_allocate(arena, p->exprs.count + 1u);
    plan->var_shared = vy_arena_allocate(arena, p->variables.count + 1u);
    plan->definition = vy_arena_allocate(arena, vy_array_size(p->variables.count + 1u, sizeof *plan->definition));
    *first_expr = vy_arena_allocate(arena, vy_array_size(p->stmts.count + 1u, sizeof **first_expr));
    return plan->is_shared && plan->early && plan->var_shared && plan->definition && *first_expr;
}

vyre_status vy_coarsen_make_plan(vy_coarsen_plan *plan, const vyre_program *program, const vy_coarsen_options *options,
                                 vy_arena *arena, vyre_error *error) {
    uint32_t returns = 0, expr = 0, *first_expr;
    *plan = (vy_coarsen_plan){.program = program, .entry = vy_program_entry(program), .factor = 1};
    plan->reason = !plan->entry ? "a library has no entry to launch" : reason_of_facts(program);
    plan->reason = plan->reason ? plan->reason : reason_of_memories(program);
    plan->reason = plan->reason ? plan->reason : reason_of_atomics(program);
    if (!plan->reason)
        plan->reason = reason_of_returns(program, plan->entry->first_stmt, plan->entry->end_stmt, &returns);
    if (plan->reason)
        return VYRE_OK;
    if (!allocate(plan, arena, &first_expr))
        return vy_fail_memory(error, "a plan to widen a program");
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        first_expr[i] = expr;
        expr = vy_stmt_exprs_end(program, &program->stmts.items[i], expr);
    }
    walk w = {.plan = plan, .first_expr = first_expr};
    vy_coarsen_classify(plan);
    walk_block(&w, plan->entry->first_stmt, plan->entry->end_stmt, 1);
    plan->is_closed = 1;
    plan->reason = options->even_if_slow ? NULL : reason_of_cost(&w);
    choose_factor(plan, options->access_bytes);
    return VYRE_OK;
}
