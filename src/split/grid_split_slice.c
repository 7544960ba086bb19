/* What the host has to follow to know which segment comes next (vy_plan_slice).
 *
 * A slice of the program, found backwards: the grid barriers; the jumps that may pass one by; the blocks around these;
 * whatever assigns a variable that a condition or bound among these reads; and so on. A `continue`, and a jump out of
 * a loop that makes one trip, counts only if something of the slice stands behind it in the loop: one that does not
 * may be divergent. If the slice is made of params, lengths, sizes and literals, the host runs it
 * (grid_split_host_interp.c). If anything in it is loaded, or comes from an atomic, a collective or a call, or is a float
 * under relaxed numerics, which the device may round in its own way, the host is told the decisions. */
#include "split/grid_split_plan.h"

typedef struct slicer {
    vy_split_plan *plan;
    const vyre_program *program;
    uint32_t *first_definition, *next_definition; /* by variable, by statement: lists of assignments; plus 1, 0 ends */
    uint32_t *first_skip, *first_break; /* by loop: jumps that skip the rest of the trip, jumps that end it; plus 1 */
    uint32_t *next_jump;                /* by statement: the next one of the list, ascending; plus 1 */
    uint8_t *is_needed;                 /* by variable */
    uint32_t *queue;                    /* marked statements not looked at yet */
    uint32_t queued;
    int fails; /* the host cannot do it */
} slicer;

static const uint8_t is_size[VYRE_BUILTIN_COUNT] = {
    [VYRE_BUILTIN_WORKGROUP_SIZE] = 1, [VYRE_BUILTIN_GROUP_COUNT] = 1, [VYRE_BUILTIN_GLOBAL_SIZE] = 1};

static uint32_t loop_around(const slicer *s, uint32_t stmt) {
    do
        stmt = s->plan->parents[stmt];
    while (stmt != VY_NONE && !vy_stmt_is_loop(s->program->stmts.items[stmt].kind));
    return stmt;
}

/* Whether a grid barrier may come after the statement. */
static int matters(const slicer *s, uint32_t stmt) {
    const vy_split_plan *plan = s->plan;
    if (plan->barrier_count && plan->barriers[plan->barrier_count - 1] >= stmt)
        return 1;
    for (uint32_t loop = loop_around(s, stmt); loop != VY_NONE; loop = loop_around(s, loop))
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
    for (uint32_t at = s->first_definition[variable]; at; at = s->next_definition[at - 1])
        mark(s, at - 1);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static void need_expr(slicer *s, uint32_t root) {
    if (root == VY_NONE)
        return;
    const vy_expr *e = &s->program->exprs.items[root];
    switch (e->kind) {
    case VY_EXPR_VARIABLE:
        need_variable(s, e->a);
        break;
    case VY_EXPR_LOAD:
        s->fails = 1;
        break;
    case VY_EXPR_BUILTIN:
        s->fails |= !is_size[e->op];
        break;
    case VY_EXPR_OP:
        s->fails |= vy_is_relaxed(s->program, e);
        need_expr(s, e->a);
        need_expr(s, e->b);
        need_expr(s, e->c);
        break;
    default:
        break;
    }
}

/* Marks the jumps of a list that stand before statement `end`, and forgets them. */
static void mark_jumps(slicer *s, uint32_t *first, uint32_t end) {
    for (; *first && *first - 1 < end; *first = s->next_jump[*first - 1])
        mark(s, *first - 1);
}

static void visit_stmt(slicer *s, uint32_t index) {
    const vy_stmt *stmt = &s->program->stmts.items[index];
    mark(s, s->plan->parents[index]);
    for (uint32_t loop = loop_around(s, index); loop != VY_NONE; loop = loop_around(s, loop))
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
    case VY_STMT_CALL:
        s->fails = 1;
        break;
    default:
        break;
    }
}

/* ---- the lists, and where to start ---- */

static void link(uint32_t *first, uint32_t *next, uint32_t key, uint32_t stmt) {
    next[stmt] = first[key];
    first[key] = stmt + 1;
}

static void make_lists(slicer *s) {
    for (uint32_t i = s->program->stmts.count; i-- > 0;) {
        const vy_stmt *stmt = &s->program->stmts.items[i];
        if (stmt->kind == VY_STMT_ASSIGN || stmt->result_count == 1)
            link(s->first_definition, s->next_definition, stmt->variable, i);
        else
            for (uint32_t k = 0; k < stmt->result_count; k++) /* a call; one of its results tells that it is one */
                s->first_definition[stmt->variable + k] = i + 1;
        if (stmt->kind != VY_STMT_BREAK && stmt->kind != VY_STMT_CONTINUE)
            continue;
        uint32_t loop = loop_around(s, i);
        int skips = stmt->kind == VY_STMT_CONTINUE || s->plan->marks[loop] & VY_MARK_ONE_TRIP;
        link(skips ? s->first_skip : s->first_break, s->next_jump, loop, i);
    }
}

static void start(slicer *s) {
    for (uint32_t i = 0; i < s->program->stmts.count; i++) {
        const vy_stmt *stmt = &s->program->stmts.items[i];
        if (stmt->kind == VY_STMT_RETURN || s->plan->marks[i] & VY_MARK_SPLIT)
            mark(s, i);
    }
}

/* ---- the part ---- */

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

vyre_status vy_plan_slice(vy_split_plan *plan, vyre_error *error) {
    slicer s = {.plan = plan, .program = plan->program};
    uint32_t variables = s.program->variables.count, stmts = s.program->stmts.count;
    const struct {
        void *array;
        uint32_t count;
    } rows[] = {{&s.first_definition, variables}, {&s.next_definition, stmts}, {&s.first_skip, stmts},
                {&s.first_break, stmts},          {&s.next_jump, stmts},       {&s.queue, stmts}};
    vyre_status status = vy_plan_array(plan, variables, sizeof *s.is_needed, &s.is_needed, error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == VYRE_OK; i++)
        status = vy_plan_array(plan, rows[i].count, sizeof(uint32_t), rows[i].array, error);
    if (status != VYRE_OK)
        return status;
    make_lists(&s);
    start(&s);
    while (s.queued && !s.fails)
        visit_stmt(&s, s.queue[--s.queued]);
    plan->is_host_driven = !s.fails;
    return assign_host_slots(&s, error);
}
