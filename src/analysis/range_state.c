/* What is known of subjects (range_state.h). */
#include "analysis/range_state.h"

#include "ir/walk.h"

typedef vy_wide wide;
typedef vy_interval interval;

/* ---- before the first statement ---- */

/* A dispatch has at most 2^32 - 1 invocations along a dimension (ir/dispatch_resolve.c). */
static interval range_builtin(const vyre_program *p, uint32_t builtin, uint32_t axis) {
    const uint32_t *size = p->workgroup;
    wide most_groups = size[axis] ? UINT32_MAX / size[axis] : UINT32_MAX;
    if (!vy_program_has_entry(p))
        return vy_interval_whole(VYRE_TYPE_U32);
    switch ((vyre_builtin)builtin) {
    case VYRE_BUILTIN_LOCAL_ID:
        return (interval){0, size[axis] - 1};
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        return (interval){size[axis], size[axis]};
    case VYRE_BUILTIN_LOCAL_INDEX:
        return (interval){0, size[0] * size[1] * size[2] - 1};
    case VYRE_BUILTIN_GLOBAL_ID:
        return (interval){0, most_groups * size[axis] - 1};
    case VYRE_BUILTIN_GROUP_ID:
        return (interval){0, most_groups - 1};
    case VYRE_BUILTIN_GROUP_COUNT:
        return (interval){1, most_groups};
    case VYRE_BUILTIN_GLOBAL_SIZE:
        return (interval){size[axis], most_groups * size[axis]};
    default:
        return vy_interval_whole(VYRE_TYPE_U32);
    }
}

vy_interval vy_fact_of_length(const vyre_program *p, uint32_t memory) {
    uint64_t length = vy_memory_known_length(p, memory);
    return length ? (interval){(wide)length, (wide)length} : vy_interval_whole(VYRE_TYPE_U32);
}

void vy_facts_start(vy_ranges *r) {
    const vyre_program *p = r->program;
    for (uint32_t i = 0; i < p->variables.count; i++) {
        r->ranges[i] = r->whole[p->variables.items[i].type];
        r->lengths[i] = r->values[i] = VY_NONE;
    }
    for (uint32_t i = 0; i < VYRE_BUILTIN_COUNT * 3; i++)
        r->ranges[vy_builtin_subject(p, 0, i)] = vy_interval_pack(range_builtin(p, i / 3, i % 3));
    for (uint32_t i = 0; i < p->memories.count; i++)
        r->ranges[vy_length_subject(p, i)] = vy_interval_pack(vy_fact_of_length(p, i));
    const vy_function *entry = vy_program_entry(p);
    for (uint32_t i = 0; entry && i < p->param_count; i++)
        r->lengths[entry->first_variable + i] = p->memories.count + entry->first_variable + i;
}

/* ---- learning and forgetting ---- */

/* A variable is of one function, so what is learned of it outside of all places need not be taken back. */
static void set_fact(vy_ranges *r, uint32_t subject, vy_range range, uint32_t below) {
    if (r->places || subject >= r->program->variables.count) {
        if (!VY_RESERVE(&r->log, 1)) {
            r->failed = 1;
            return;
        }
        r->log.items[r->log.count++] = (vy_fact_undo){subject, r->below[subject], r->ranges[subject]};
    }
    r->ranges[subject] = range;
    r->below[subject] = below;
    r->learned++;
}

void vy_fact_learn_range(vy_ranges *r, uint32_t subject, vy_range range) {
    const vy_range *old = &r->ranges[subject];
    if (old->low != range.low || old->high != range.high || r->below[subject]) /* else nothing new */
        set_fact(r, subject, range, 0);
}

void vy_fact_learn(vy_ranges *r, uint32_t subject, const vy_fact *known) {
    if (!known->below.count) {
        vy_fact_learn_range(r, subject, known->range);
        return;
    }
    if (!VY_RESERVE(&r->bounds, 1)) {
        r->failed = 1;
        return;
    }
    r->bounds.items[r->bounds.count++] = known->below;
    set_fact(r, subject, known->range, r->bounds.count);
}

void vy_fact_forget(vy_ranges *r, uint32_t variable) {
    vy_fact_learn_range(r, variable, r->whole[r->program->variables.items[variable].type]);
}

void vy_facts_undo_to(vy_ranges *r, uint32_t mark) {
    r->learned += r->log.count > mark;
    while (r->log.count > mark) {
        const vy_fact_undo *entry = &r->log.items[--r->log.count];
        r->ranges[entry->subject] = entry->range;
        r->below[entry->subject] = entry->below;
    }
}

/* ---- what is assigned ---- */

void vy_facts_forget_assigned(vy_ranges *r, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !r->failed; i++)
        if (r->program->stmts.items[i].kind == VY_STMT_ASSIGN)
            vy_fact_forget(r, r->program->stmts.items[i].variable);
}

/* Whether an assignment leaves a variable that is not below zero where it is or takes it down, not below zero. */
static int shrinks(const vy_ranges *r, const vy_stmt *s) {
    const vy_expr *exprs = r->program->exprs.items, *e = &exprs[s->a];
    if (e->kind != VY_EXPR_OP || !vy_is_integer(e->type) || exprs[e->a].kind != VY_EXPR_VARIABLE ||
        exprs[e->a].a != s->variable)
        return 0;
    return e->op == VYRE_OP_SHR || e->op == VYRE_OP_AND ||
           (e->op == VYRE_OP_DIV && exprs[e->b].kind == VY_EXPR_LITERAL &&
            vy_integer_of(exprs[e->b].type, exprs[e->b].bits) > 0);
}

void vy_facts_forget_in_loop(vy_ranges *r, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = r->program->stmts.items;
    int any_shrinks = 0;
    for (uint32_t i = first; i < end && !r->failed; i++) {
        if (stmts[i].kind != VY_STMT_ASSIGN)
            continue;
        if (shrinks(r, &stmts[i]))
            any_shrinks = 1;
        else
            vy_fact_forget(r, stmts[i].variable);
    }
    for (uint32_t i = first; i < end && any_shrinks && !r->failed; i++) {
        if (stmts[i].kind != VY_STMT_ASSIGN || !shrinks(r, &stmts[i]))
            continue;
        vy_fact known = vy_fact_at(r, stmts[i].variable);
        interval mine = vy_interval_of(r->program->variables.items[stmts[i].variable].type, known.range);
        if (mine.low < 0) {
            vy_fact_forget(r, stmts[i].variable);
        } else if (mine.low > 0) {
            known.range = vy_interval_pack((interval){0, mine.high});
            vy_fact_learn(r, stmts[i].variable, &known);
        }
    }
}
