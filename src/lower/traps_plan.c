/* Looking at ends (traps_plan.h). A trap is taken for a statement without effect on control, as uniformity takes it: the flags do the rest. */
#include "lower/traps_plan.h"

#include "base/status.h"

#include <string.h>

/* A loop without polls does no more than so many statements, as far as they can be counted. */
enum { LONGEST = 1 << 16, FOREVER = 1 << 30 };

/* ---- what is where ---- */

int vy_traps_is_sync(const vy_stmt *s) {
    return s->kind == VY_STMT_BARRIER || s->kind == VY_STMT_COLLECTIVE;
}

static const vy_stmt *stmt_at(const vy_traps_plan *plan, uint32_t i) {
    return &plan->program->stmts.items[i];
}

/* Literal bounds and step: the number of trips; FOREVER if it is not known or larger. */
static uint64_t trips_of(const vyre_program *p, const vy_stmt *s) {
    if (s->kind != VY_STMT_FOR || p->exprs.items[s->a].kind != VY_EXPR_LITERAL ||
        p->exprs.items[s->b].kind != VY_EXPR_LITERAL ||
        (s->c != VY_NONE && p->exprs.items[s->c].kind != VY_EXPR_LITERAL))
        return FOREVER;
    uint64_t from = p->exprs.items[s->a].bits, to = p->exprs.items[s->b].bits;
    uint64_t step = s->c == VY_NONE ? 1 : p->exprs.items[s->c].bits;
    /* Other sequences end as well, but they are rare: negative steps, and bounds that wrap. */
    if (to >= FOREVER || from >= FOREVER || step == 0 || step >= FOREVER)
        return step == 0 ? 0 : FOREVER;
    return from >= to ? 0 : (to - from + step - 1) / step;
}

static uint64_t capped(uint64_t work) {
    return work < FOREVER ? work : FOREVER;
}

static int is_loop_of_many(const vy_traps_plan *plan, uint32_t i) {
    return vy_stmt_is_loop(stmt_at(plan, i)->kind) && !vy_loop_runs_once(plan->program, i);
}

/* Notes what is inside each statement of the block, and returns how many statements it may execute without a poll. Recursion is bounded by
 * VY_LIMIT_NESTING. */
static uint64_t scan_block(vy_traps_plan *plan, uint32_t first, uint32_t end, uint8_t *all) {
    uint64_t work = 0;
    const uint32_t *size = plan->program->workgroup;
    int is_alone = (uint64_t)size[0] * size[1] * size[2] == 1; /* nobody waits for it */
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        uint8_t *inside = &plan->inside[i];
        uint64_t own = 1;
        if (vy_stmt_is_structured(s->kind))
            own += scan_block(plan, i + 1, s->end, inside);
        if (is_loop_of_many(plan, i)) {
            uint64_t trips = capped(trips_of(plan->program, s) * own);
            int is_polled = plan->cancellable && trips > LONGEST;
            *inside |= is_polled ? VY_HAS_POLL | VY_POLLS : 0;
            own = is_polled ? own : trips;
        }
        if (vy_traps_is_sync(s) && !is_alone) {
            *inside |= VY_HAS_SYNC;
            plan->last_meeting = i;
        }
        *inside |= s->kind == VY_STMT_TRAP ? VY_HAS_TRAP : 0;
        *inside |= s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE ? VY_HAS_JUMP : 0;
        *all |= *inside & (VY_HAS_TRAP | VY_HAS_POLL | VY_HAS_SYNC | VY_HAS_JUMP);
        work = capped(work + own);
    }
    return work;
}

int vy_traps_syncs_later(const vy_traps_plan *plan, uint32_t i, int in_meeting_loop) {
    return in_meeting_loop || (plan->last_meeting != VY_NONE && i < plan->last_meeting);
}

static int is_same_in_group(const vy_traps_plan *plan, uint32_t expr) {
    return expr == VY_NONE || vy_expr_uniformity(plan->uniform, expr) != VY_UNIFORMITY_DIVERGENT;
}

int vy_traps_is_varied(const vy_traps_plan *plan, uint32_t loop) {
    const vy_stmt *s = stmt_at(plan, loop);
    if (loop + 1 < s->end)
        return vy_control_uniformity(plan->uniform, loop + 1) == VY_UNIFORMITY_DIVERGENT;
    return vy_control_uniformity(plan->uniform, loop) == VY_UNIFORMITY_DIVERGENT || !is_same_in_group(plan, s->a) ||
           !is_same_in_group(plan, s->b) || !is_same_in_group(plan, s->c);
}

int vy_traps_syncs_every_iteration(const vy_traps_plan *plan, uint32_t loop) {
    const vy_stmt *s = stmt_at(plan, loop);
    for (uint32_t i = loop + 1; i < s->end; i = stmt_at(plan, i)->end) {
        if (vy_traps_is_sync(stmt_at(plan, i)))
            return 1;
        for (uint32_t k = i; k < stmt_at(plan, i)->end; k++)
            if (stmt_at(plan, k)->kind == VY_STMT_CONTINUE)
                return 0;
    }
    return 0;
}

/* ---- what occurs before a meeting ---- */

/* What loop i does to those it stops. */
static uint8_t stops(const vy_traps_plan *plan, uint32_t i) {
    return !(plan->inside[i] & VY_HAS_SYNC) && vy_traps_is_varied(plan, i) ? VY_ENDED | VY_STOPPED : VY_STOPPED;
}

static uint8_t possible_in(const vy_traps_plan *plan, uint32_t first, uint32_t end, int in_meeting_loop) {
    uint8_t found = 0;
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        int within = in_meeting_loop || (vy_stmt_is_loop(s->kind) && (plan->inside[i] & VY_HAS_SYNC));
        int later = vy_traps_syncs_later(plan, i, within);
        if (s->kind == VY_STMT_TRAP && later && vy_control_uniformity(plan->uniform, i) == VY_UNIFORMITY_DIVERGENT)
            found |= VY_ENDED;
        if ((plan->inside[i] & VY_POLLS) && later)
            found |= stops(plan, i);
        if (vy_stmt_is_structured(s->kind))
            found |= possible_in(plan, i + 1, s->end, within);
    }
    return found;
}

/* ---- states ---- */

/* Whatever may be made of an invocation in the loop, if a jump takes it past the meetings there. */
static uint8_t jump_state(const vy_traps_plan *plan, uint32_t loop) {
    uint8_t has = plan->inside[loop];
    if (!(has & VY_HAS_JUMP))
        return 0;
    return (uint8_t)((has & VY_HAS_TRAP ? VY_ENDED : 0) | (has & VY_HAS_POLL ? VY_ENDED | VY_STOPPED : 0));
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static uint8_t state_behind_block(const vy_traps_plan *plan, uint32_t first, uint32_t end, uint8_t state) {
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        if (s->kind == VY_STMT_TRAP)
            state |= VY_ENDED;
        else if (vy_traps_is_sync(s))
            state = 0;
        else if (s->kind == VY_STMT_IF)
            state =
                state_behind_block(plan, i + 1, s->middle, state) | state_behind_block(plan, s->middle, s->end, state);
        else if (s->kind == VY_STMT_REGION)
            state = state_behind_block(plan, i + 1, s->end, state);
        else if (vy_stmt_is_loop(s->kind))
            state = vy_traps_state_behind(plan, i, state);
    }
    return state;
}

/* What a trip adds or takes away does not depend on where it starts, so one round is enough. */
uint8_t vy_traps_state_at_head(const vy_traps_plan *plan, uint32_t loop, uint8_t state) {
    uint8_t polled = plan->inside[loop] & VY_POLLS ? VY_STOPPED : 0;
    uint8_t trip = state_behind_block(plan, loop + 1, stmt_at(plan, loop)->end, state | polled);
    return (uint8_t)((state | trip | jump_state(plan, loop)) & plan->possible);
}

uint8_t vy_traps_state_behind(const vy_traps_plan *plan, uint32_t loop, uint8_t state) {
    uint8_t left = plan->inside[loop] & VY_POLLS ? stops(plan, loop) : 0;
    return (uint8_t)((vy_traps_state_at_head(plan, loop, state) | left) & plan->possible);
}

/* ---- meetings that come with ends ---- */

/* Whether all may leave the program in the loop: then nobody can wait for them behind it. */
static int has_exit(const vy_traps_plan *plan, uint32_t loop) {
    for (uint32_t i = loop + 1; i < stmt_at(plan, loop)->end; i++)
        if (stmt_at(plan, i)->kind == VY_STMT_RETURN ||
            (stmt_at(plan, i)->kind == VY_STMT_TRAP &&
             vy_control_uniformity(plan->uniform, i) != VY_UNIFORMITY_DIVERGENT))
            return 1;
    return 0;
}

static int add_syncs(vy_traps_plan *plan, uint32_t first, uint32_t end, int in_meeting_loop, uint8_t state);

/* Those of the loop itself. A `while` that all have come to after they ended has nobody to end it. */
static int add_to_loop(vy_traps_plan *plan, uint32_t i, int within, uint8_t head) {
    int syncs = 0;
    if (!is_loop_of_many(plan, i) || !vy_traps_syncs_later(plan, i, within) || vy_traps_is_varied(plan, i))
        return 0;
    if (stmt_at(plan, i)->kind == VY_STMT_WHILE && (head & VY_ENDED) && !vy_traps_syncs_every_iteration(plan, i)) {
        plan->inside[i] |= VY_CHECKS | VY_HAS_SYNC;
        syncs = 1;
    }
    if (plan->inside[i] & VY_POLLS) {
        plan->inside[i] |= has_exit(plan, i) ? VY_HAS_SYNC : 0;
        syncs = 1;
    }
    return syncs;
}

static int add_inside(vy_traps_plan *plan, uint32_t i, int within, uint8_t state) {
    const vy_stmt *s = stmt_at(plan, i);
    int syncs = add_syncs(plan, i + 1, s->middle, within, state);
    return add_syncs(plan, s->middle, s->end, within, state) || syncs;
}

/* Loops that meet because of ends: the loops around them have a meeting then, and must not be left by one invocation alone. Only where a meeting comes later
 * anyway. Returns whether there is one. Recursion is bounded by VY_LIMIT_NESTING. */
static int add_syncs(vy_traps_plan *plan, uint32_t first, uint32_t end, int in_meeting_loop, uint8_t state) {
    int any = 0;
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        int is_loop = vy_stmt_is_loop(s->kind), syncs = 0;
        int within = in_meeting_loop || (is_loop && (plan->inside[i] & VY_HAS_SYNC));
        uint8_t head = is_loop ? vy_traps_state_at_head(plan, i, state) : state;
        if (vy_stmt_is_structured(s->kind) && add_inside(plan, i, within, head)) {
            plan->inside[i] |= VY_HAS_SYNC;
            syncs = 1;
        }
        any |= (is_loop && add_to_loop(plan, i, within, head)) || syncs;
        state = state_behind_block(plan, i, s->end, state) & plan->possible;
    }
    return any;
}

/* ---- the plan ---- */

vyre_status vy_traps_plan_make(vy_traps_plan *plan, const vyre_program *program, const vy_target_desc *target,
                               vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    uint8_t all = 0;
    *plan = (vy_traps_plan){.program = program, .last_meeting = VY_NONE, .cancellable = target->cancellable};
    vyre_status status = vy_uniform_make(program, &plan->uniform, error);
    if (status != VYRE_OK)
        return status;
    plan->inside = vy_arena_allocate(&plan->arena, program->stmts.count + 1u);
    if (!plan->inside)
        return vy_fail_memory(error, "the ends of a program");
    memset(plan->inside, 0, program->stmts.count + 1u);
    scan_block(plan, entry->first_stmt, entry->end_stmt, &all);
    if (plan->last_meeting != VY_NONE) {
        plan->possible = possible_in(plan, entry->first_stmt, entry->end_stmt, 0);
        add_syncs(plan, entry->first_stmt, entry->end_stmt, 0, 0);
    }
    return VYRE_OK;
}

void vy_traps_plan_free(vy_traps_plan *plan) {
    vy_uniform_free(plan->uniform);
    vy_arena_free(&plan->arena);
}
