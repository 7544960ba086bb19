/* Lowering of traps and polls (legalize.h).
 *
 * Where no barrier or collective can follow, a trap becomes `report` and `return`; also where all invocations of the
 * workgroup trap together. Elsewhere control must reach the next synchronisation point, where the other invocations
 * wait: a flag `ended` is set, and from there to the next synchronisation point
 *
 *  - only invocations that have not ended execute stores and atomics that others could observe;
 *  - values are still computed, so that uniform values stay uniform and all invocations reach the same synchronisation
 *    point. No invocation leaves earlier: every trap up to the next synchronisation point counts, and the smallest one
 *    is reported;
 *  - a non-uniform loop stops, since it may wait for an effect that no longer happens. A uniform loop makes the
 *    iterations that the other invocations make. But if all invocations have ended, none is left to end a `while`: then
 *    all leave.
 *
 * At the synchronisation point the invocations that ended set an element of a workgroup array; after it all invocations
 * read the element, and all leave or none does. The array has two elements, used alternately: one that is read after a
 * synchronisation point is written again only before the next but one, and all invocations synchronise in between. On a
 * target with native collectives a vote replaces the array.
 *
 * A poll that is true sets another flag, `stopped`. All invocations leave a uniform loop together: at the next
 * synchronisation point if every iteration has one, at an added one at the start of the iteration if anything in the
 * loop synchronises or returns, and otherwise after the loop. An invocation that leaves a non-uniform loop has wrong
 * values, so it has ended, too.
 *
 * The walk tracks whether an invocation may have ended since the last synchronisation point; where none can have,
 * nothing is added. */
#include "lower/legalize.h"

#include "analysis/trip_count.h"
#include "analysis/uniformity.h"
#include "base/status.h"
#include "opt/clone.h"

#include <string.h>

/* ---- the plan: where invocations end, and what follows for the rest of the program ----
 *
 * A trap counts as a statement without effect on control, as in the uniformity analysis: the flags do the rest. */

/* Properties of a statement with its body. */
enum {
    HAS_TRAP = 1,
    HAS_POLL = 2,
    HAS_SYNC = 4, /* in the program, or added by this phase */
    HAS_JUMP = 8, /* a break or continue of any loop */
    POLLS = 16,   /* the statement is a loop that polls at the start of each iteration */
    CHECKS = 32   /* a uniform loop which may have no invocation left that ends it */
};

/* The state of an invocation since the last synchronisation point. */
enum {
    ENDED = 1,  /* has no effects any more: it trapped, or left a non-uniform loop because a poll was true */
    STOPPED = 2 /* a poll was true */
};

typedef struct traps_plan {
    const vyre_program *program;
    vy_uniform *uniform;
    uint8_t *inside; /* by statement: HAS_…, POLLS, CHECKS */
    /* the last synchronisation point; VY_NONE: there is none, or workgroups have one invocation */
    uint32_t last_meeting;
    uint8_t cancellable;
    uint8_t possible; /* ENDED, STOPPED: the states that occur before a synchronisation point */
    vy_arena arena;
} traps_plan;

/* A loop without polls executes at most this many statements, as far as they can be counted. */
enum { LONGEST = 1 << 16, FOREVER = 1 << 30 };

/* ---- properties of statements ---- */

static int is_sync(const vy_stmt *s) {
    return s->kind == VY_STMT_BARRIER || s->kind == VY_STMT_COLLECTIVE;
}

static const vy_stmt *stmt_at(const traps_plan *plan, uint32_t i) {
    return vy_stmt_at(plan->program, i);
}

/* The number of iterations; FOREVER if it is unknown or larger. */
static uint64_t trips_of(const vyre_program *p, const vy_stmt *s) {
    vy_trips trips;
    uint64_t count = s->kind == VY_STMT_FOR && vy_trips_of(p, s, &trips) ? vy_trips_count(&trips) : FOREVER;
    return count < FOREVER ? count : FOREVER;
}

static uint64_t capped(uint64_t work) {
    return work < FOREVER ? work : FOREVER;
}

static int is_loop_of_many(const traps_plan *plan, uint32_t i) {
    return vy_stmt_is_loop(stmt_at(plan, i)->kind) && !vy_loop_runs_once(plan->program, i);
}

/* Records the properties of each statement of the block, and returns how many statements it may execute without a
 * poll. Recursion is bounded by VY_LIMIT_NESTING. */
static uint64_t scan_block(traps_plan *plan, uint32_t first, uint32_t end, uint8_t *all) {
    uint64_t work = 0;
    int is_alone = vy_workgroup_invocations(plan->program) == 1; /* no other invocation waits */
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        uint8_t *inside = &plan->inside[i];
        uint64_t own = 1;
        if (vy_stmt_is_structured(s->kind))
            own += scan_block(plan, i + 1, s->end, inside);
        if (is_loop_of_many(plan, i)) {
            uint64_t trips = capped(trips_of(plan->program, s) * own);
            int is_polled = plan->cancellable && trips > LONGEST;
            *inside |= is_polled ? HAS_POLL | POLLS : 0;
            own = is_polled ? own : trips;
        }
        if (is_sync(s) && !is_alone) {
            *inside |= HAS_SYNC;
            plan->last_meeting = i;
        }
        *inside |= s->kind == VY_STMT_TRAP ? HAS_TRAP : 0;
        *inside |= s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE ? HAS_JUMP : 0;
        *all |= *inside & (HAS_TRAP | HAS_POLL | HAS_SYNC | HAS_JUMP);
        work = capped(work + own);
    }
    return work;
}

/* Whether a synchronisation point may follow statement i. */
static int syncs_later(const traps_plan *plan, uint32_t i, int in_meeting_loop) {
    return in_meeting_loop || (plan->last_meeting != VY_NONE && i < plan->last_meeting);
}

static int is_same_in_group(const traps_plan *plan, uint32_t expr) {
    return expr == VY_NONE || vy_expr_uniformity(plan->uniform, expr) != VY_UNIFORMITY_DIVERGENT;
}

/* Whether the invocations of a workgroup may execute different numbers of iterations. */
static int traps_is_varied(const traps_plan *plan, uint32_t loop) {
    const vy_stmt *s = stmt_at(plan, loop);
    if (loop + 1 < s->end)
        return vy_control_uniformity(plan->uniform, loop + 1) == VY_UNIFORMITY_DIVERGENT;
    return vy_control_uniformity(plan->uniform, loop) == VY_UNIFORMITY_DIVERGENT || !is_same_in_group(plan, s->a) ||
           !is_same_in_group(plan, s->b) || !is_same_in_group(plan, s->c);
}

/* Whether every complete iteration synchronises: the body itself contains a barrier or collective, and no jump skips
 * it. */
static int syncs_every_iteration(const traps_plan *plan, uint32_t loop) {
    const vy_stmt *s = stmt_at(plan, loop);
    for (uint32_t i = loop + 1; i < s->end; i = stmt_at(plan, i)->end) {
        if (is_sync(stmt_at(plan, i)))
            return 1;
        for (uint32_t k = i; k < stmt_at(plan, i)->end; k++)
            if (stmt_at(plan, k)->kind == VY_STMT_CONTINUE)
                return 0;
    }
    return 0;
}

/* ---- states before a synchronisation point ---- */

/* The state of the invocations that loop i stops. */
static uint8_t stops(const traps_plan *plan, uint32_t i) {
    return !(plan->inside[i] & HAS_SYNC) && traps_is_varied(plan, i) ? ENDED | STOPPED : STOPPED;
}

static uint8_t possible_in(const traps_plan *plan, uint32_t first, uint32_t end, int in_meeting_loop) {
    uint8_t found = 0;
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        int within = in_meeting_loop || (vy_stmt_is_loop(s->kind) && (plan->inside[i] & HAS_SYNC));
        int later = syncs_later(plan, i, within);
        if (s->kind == VY_STMT_TRAP && later && vy_control_uniformity(plan->uniform, i) == VY_UNIFORMITY_DIVERGENT)
            found |= ENDED;
        if ((plan->inside[i] & POLLS) && later)
            found |= stops(plan, i);
        if (vy_stmt_is_structured(s->kind))
            found |= possible_in(plan, i + 1, s->end, within);
    }
    return found;
}

/* ---- states ---- */

/* The states that an invocation may have in the loop if a jump skips the synchronisation points there. */
static uint8_t jump_state(const traps_plan *plan, uint32_t loop) {
    uint8_t has = plan->inside[loop];
    if (!(has & HAS_JUMP))
        return 0;
    return (uint8_t)((has & HAS_TRAP ? ENDED : 0) | (has & HAS_POLL ? ENDED | STOPPED : 0));
}

static uint8_t state_behind(const traps_plan *plan, uint32_t loop, uint8_t state);

/* Recursion is bounded by VY_LIMIT_NESTING. */
static uint8_t state_behind_block(const traps_plan *plan, uint32_t first, uint32_t end, uint8_t state) {
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        if (s->kind == VY_STMT_TRAP)
            state |= ENDED;
        else if (is_sync(s))
            state = 0;
        else if (s->kind == VY_STMT_IF)
            state =
                state_behind_block(plan, i + 1, s->middle, state) | state_behind_block(plan, s->middle, s->end, state);
        else if (s->kind == VY_STMT_REGION)
            state = state_behind_block(plan, i + 1, s->end, state);
        else if (vy_stmt_is_loop(s->kind))
            state = state_behind(plan, i, state);
    }
    return state;
}

/* The states at the head of a loop, in any iteration, and after it, if invocations enter it in `state`. The change by
 * an iteration does not depend on the state before it, so one round suffices. */
static uint8_t state_at_head(const traps_plan *plan, uint32_t loop, uint8_t state) {
    uint8_t polled = plan->inside[loop] & POLLS ? STOPPED : 0;
    uint8_t trip = state_behind_block(plan, loop + 1, stmt_at(plan, loop)->end, state | polled);
    return (uint8_t)((state | trip | jump_state(plan, loop)) & plan->possible);
}

static uint8_t state_behind(const traps_plan *plan, uint32_t loop, uint8_t state) {
    uint8_t left = plan->inside[loop] & POLLS ? stops(plan, loop) : 0;
    return (uint8_t)((state_at_head(plan, loop, state) | left) & plan->possible);
}

/* ---- synchronisation points that this phase adds ---- */

/* Whether all invocations may leave the program in the loop: then none can wait for them after it. */
static int has_exit(const traps_plan *plan, uint32_t loop) {
    for (uint32_t i = loop + 1; i < stmt_at(plan, loop)->end; i++)
        if (stmt_at(plan, i)->kind == VY_STMT_RETURN ||
            (stmt_at(plan, i)->kind == VY_STMT_TRAP &&
             vy_control_uniformity(plan->uniform, i) != VY_UNIFORMITY_DIVERGENT))
            return 1;
    return 0;
}

static int add_syncs(traps_plan *plan, uint32_t first, uint32_t end, int in_meeting_loop, uint8_t state);

/* Adds the synchronisation points of the loop itself. A `while` that every invocation reaches after it has ended would
 * not terminate. */
static int add_to_loop(traps_plan *plan, uint32_t i, int within, uint8_t head) {
    int syncs = 0;
    if (!is_loop_of_many(plan, i) || !syncs_later(plan, i, within) || traps_is_varied(plan, i))
        return 0;
    if (stmt_at(plan, i)->kind == VY_STMT_WHILE && (head & ENDED) && !syncs_every_iteration(plan, i)) {
        plan->inside[i] |= CHECKS | HAS_SYNC;
        syncs = 1;
    }
    if (plan->inside[i] & POLLS) {
        plan->inside[i] |= has_exit(plan, i) ? HAS_SYNC : 0;
        syncs = 1;
    }
    return syncs;
}

static int add_inside(traps_plan *plan, uint32_t i, int within, uint8_t state) {
    const vy_stmt *s = stmt_at(plan, i);
    int syncs = add_syncs(plan, i + 1, s->middle, within, state);
    return add_syncs(plan, s->middle, s->end, within, state) || syncs;
}

/* Adds a synchronisation point to loops in which invocations may end. The loops around them then synchronise, too, and
 * no invocation may leave one of them alone. Only needed where a synchronisation point follows anyway. Returns whether
 * there is one. Recursion is bounded by VY_LIMIT_NESTING. */
static int add_syncs(traps_plan *plan, uint32_t first, uint32_t end, int in_meeting_loop, uint8_t state) {
    int any = 0;
    for (uint32_t i = first; i < end; i = stmt_at(plan, i)->end) {
        const vy_stmt *s = stmt_at(plan, i);
        int is_loop = vy_stmt_is_loop(s->kind), syncs = 0;
        int within = in_meeting_loop || (is_loop && (plan->inside[i] & HAS_SYNC));
        uint8_t head = is_loop ? state_at_head(plan, i, state) : state;
        if (vy_stmt_is_structured(s->kind) && add_inside(plan, i, within, head)) {
            plan->inside[i] |= HAS_SYNC;
            syncs = 1;
        }
        any |= (is_loop && add_to_loop(plan, i, within, head)) || syncs;
        state = state_behind_block(plan, i, s->end, state) & plan->possible;
    }
    return any;
}

/* ---- the plan ---- */

/* Must be freed after a failure, too. */
static vyre_status plan_make(traps_plan *plan, const vyre_program *program, const vy_target_desc *target,
                             vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    uint8_t all = 0;
    *plan = (traps_plan){.program = program, .last_meeting = VY_NONE, .cancellable = target->cancellable};
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

static void plan_free(traps_plan *plan) {
    vy_uniform_free(plan->uniform);
    vy_arena_free(&plan->arena);
}

/* ---- writing ---- */

typedef struct ender {
    vy_cloner copy;
    traps_plan plan;
    const vyre_program *from;
    int asks;                             /* whether an invocation has ended is determined by a collective */
    uint32_t open_meeting;                /* enclosing loops with a synchronisation point */
    uint8_t state;                        /* ENDED, STOPPED: what an invocation may be since the last synchronisation */
    uint32_t ended, stopped, phase, gone; /* three variables and an array of the draft */
} ender;

static int meets_later(const ender *e, uint32_t i) {
    return syncs_later(&e->plan, i, e->open_meeting != 0);
}

static uint8_t inside(const ender *e, uint32_t i) {
    return e->plan.inside[i];
}

/* ---- code fragments ---- */

static vy_irb *draft_of(ender *e) {
    return &e->copy.draft;
}

static uint32_t number(ender *e, uint32_t value) {
    return vy_irb_literal(draft_of(e), VYRE_TYPE_U32, value);
}

static uint32_t has_not_ended(ender *e) {
    uint32_t ended = vy_irb_variable(draft_of(e), e->ended);
    return vy_irb_op(draft_of(e), VYRE_OP_LNOT, VYRE_TYPE_BOOL, ended, VY_NONE, VY_NONE);
}

static void add_barrier(ender *e) {
    vy_stmt barrier = vy_irb_blank_stmt(VY_STMT_BARRIER);
    barrier.scope = VYRE_SCOPE_WORKGROUP;
    vy_irb_stmt(draft_of(e), &barrier, NULL, 0, NULL, NULL);
}

static void add_return(ender *e) {
    vy_stmt leave = vy_irb_blank_stmt(VY_STMT_RETURN);
    vy_irb_stmt(draft_of(e), &leave, NULL, 0, NULL, NULL);
}

static uint32_t add_poll(ender *e) {
    vy_stmt poll = vy_irb_blank_stmt(VY_STMT_POLL);
    vy_symbol name = vy_cloner_new_name(&e->copy, "stop");
    uint32_t made = vy_irb_stmt(draft_of(e), &poll, NULL, 0, &name, (vyre_type[]){VYRE_TYPE_BOOL});
    return made == VY_NONE ? VY_NONE : draft_of(e)->program->stmts.items[made].variable;
}

static void set_flag(ender *e, uint32_t flag) {
    vy_irb_assign(draft_of(e), flag, vy_irb_literal(draft_of(e), VYRE_TYPE_BOOL, 1));
}

/* Whether this invocation is in one of the states, of which there is at least one. */
static uint32_t is_in(ender *e, uint8_t states) {
    vy_irb *draft = draft_of(e);
    uint32_t ended = states & ENDED ? vy_irb_variable(draft, e->ended) : VY_NONE;
    uint32_t stopped = states & STOPPED ? vy_irb_variable(draft, e->stopped) : VY_NONE;
    if (ended == VY_NONE || stopped == VY_NONE)
        return ended == VY_NONE ? stopped : ended;
    return vy_irb_op(draft, VYRE_OP_LOR, VYRE_TYPE_BOOL, ended, stopped, VY_NONE);
}

static void leave_if(ender *e, uint32_t condition) {
    vy_irb_if(draft_of(e), condition);
    add_return(e);
    vy_irb_end_block(draft_of(e));
}

static void set_gone(ender *e, uint32_t cell, uint32_t value) {
    vy_stmt store = vy_irb_blank_stmt(VY_STMT_STORE);
    store.memory = e->gone;
    store.bounds_check = VY_BOUNDS_UNCHECKED;
    store.a = cell;
    store.b = value;
    vy_irb_stmt(draft_of(e), &store, NULL, 0, NULL, NULL);
}

/* All invocations leave if the element of the array with index `cell` is set. */
static void leave_if_gone(ender *e, uint32_t cell) {
    uint32_t gone = vy_irb_load_unchecked(draft_of(e), e->gone, cell, VY_NONE);
    leave_if(e, vy_irb_op(draft_of(e), VYRE_OP_NE, VYRE_TYPE_BOOL, gone, number(e, 0), VY_NONE));
}

/* All invocations leave if `value`, of the draft, is true for any or for all of them. */
static void leave_together(ender *e, vyre_collective whom, const char *name, uint32_t value) {
    vy_irb *draft = draft_of(e);
    vy_stmt ask = vy_irb_blank_stmt(VY_STMT_COLLECTIVE);
    vy_symbol result = vy_cloner_new_name(&e->copy, name);
    ask.op = (uint8_t)whom;
    ask.a = value;
    ask.result_count = 1;
    uint32_t made = vy_irb_stmt(draft, &ask, NULL, 0, &result, (vyre_type[]){VYRE_TYPE_BOOL});
    if (made != VY_NONE)
        leave_if(e, vy_irb_variable(draft, vy_stmt_at(draft->program, made)->variable));
}

/* A synchronisation point: all invocations continue, or all leave because one is in one of the states. */
static void meet(ender *e, uint8_t states) {
    vy_irb *draft = draft_of(e);
    e->state &= (uint8_t)~states;
    if (e->asks) {
        leave_together(e, VYRE_COLLECTIVE_ANY, "gone", is_in(e, states));
        return;
    }
    vy_stmt tell = vy_irb_blank_stmt(VY_STMT_ATOMIC);
    vy_irb_if(draft, is_in(e, states));
    tell.op = VYRE_ATOMIC_OR;
    tell.memory = e->gone;
    tell.bounds_check = VY_BOUNDS_UNCHECKED;
    tell.a = vy_irb_variable(draft, e->phase);
    tell.b = number(e, 1);
    vy_irb_stmt(draft, &tell, NULL, 0, NULL, NULL);
    vy_irb_end_block(draft);
    add_barrier(e);
    leave_if_gone(e, vy_irb_variable(draft, e->phase));
    uint32_t phase = vy_irb_variable(draft, e->phase);
    uint32_t other = vy_irb_op(draft, VYRE_OP_XOR, VYRE_TYPE_U32, phase, number(e, 1), VY_NONE);
    vy_irb_assign(draft, e->phase, other);
}

/* ---- the start ---- */

/* Declares the flags. The first invocation clears the elements, and polls for all of them whether to begin. */
static void begin_together(ender *e) {
    vy_irb *draft = draft_of(e);
    uint32_t stop = VY_NONE;
    uint8_t possible = e->plan.possible;
    if (possible & ENDED)
        e->ended = vy_irb_var(draft, vy_cloner_new_name(&e->copy, "ended"), VYRE_TYPE_BOOL,
                              vy_irb_literal(draft, VYRE_TYPE_BOOL, 0));
    if (possible & STOPPED)
        e->stopped = vy_irb_var(draft, vy_cloner_new_name(&e->copy, "stopped"), VYRE_TYPE_BOOL,
                                vy_irb_literal(draft, VYRE_TYPE_BOOL, 0));
    if (possible && !e->asks)
        e->phase = vy_irb_var(draft, vy_cloner_new_name(&e->copy, "phase"), VYRE_TYPE_U32, number(e, 1));
    if (e->asks) {
        if (e->plan.cancellable) {
            stop = add_poll(e);
            leave_together(e, VYRE_COLLECTIVE_ANY, "gone", vy_irb_variable(draft, stop));
        }
        return;
    }
    uint32_t index = vy_irb_builtin(draft, VYRE_BUILTIN_LOCAL_INDEX, 0);
    vy_irb_if(draft, vy_irb_op(draft, VYRE_OP_EQ, VYRE_TYPE_BOOL, index, number(e, 0), VY_NONE));
    if (e->plan.cancellable)
        stop = add_poll(e);
    uint32_t cell = number(e, 0);
    set_gone(e, cell,
             stop == VY_NONE
                 ? number(e, 0)
                 : vy_irb_op(draft, VYRE_OP_CAST, VYRE_TYPE_U32, vy_irb_variable(draft, stop), VY_NONE, VY_NONE));
    cell = number(e, 1);
    set_gone(e, cell, number(e, 0));
    vy_irb_end_block(draft);
    add_barrier(e);
    if (e->plan.cancellable)
        leave_if_gone(e, number(e, 0));
}

static void leave_on_poll(ender *e) {
    uint32_t stop = add_poll(e);
    leave_if(e, vy_irb_variable(draft_of(e), stop));
}

/* ---- statements ---- */

static void block(ender *e, uint32_t first, uint32_t end);

/* Returns whether no statement follows: there is no later synchronisation point, or all invocations trap here. */
static int trap(ender *e, uint32_t index, const vy_stmt *s) {
    vy_stmt report = vy_irb_blank_stmt(VY_STMT_RECORD_TRAP);
    int is_last = !meets_later(e, index) || vy_control_uniformity(e->plan.uniform, index) != VY_UNIFORMITY_DIVERGENT;
    int is_guarded = (e->state & ENDED) != 0;
    if (is_guarded)
        vy_irb_if(draft_of(e), has_not_ended(e));
    report.a = vy_cloner_expr(&e->copy, s->a);
    draft_of(e)->position =
        vy_stmt_position(e->from, index); /* this position identifies the trap, not that of its code */
    vy_irb_stmt(draft_of(e), &report, NULL, 0, NULL, NULL);
    if (!is_last)
        set_flag(e, e->ended);
    if (is_guarded)
        vy_irb_end_block(draft_of(e));
    if (is_last)
        add_return(e);
    else
        e->state |= ENDED;
    return is_last;
}

static int is_seen(const ender *e, const vy_stmt *s) {
    return (s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC) &&
           vy_memory_at(e->from, s->memory)->space != VY_SPACE_PRIVATE;
}

/* The result of an atomic is zero for invocations that have ended. */
static void effect(ender *e, uint32_t index, const vy_stmt *s) {
    vy_irb *draft = draft_of(e);
    uint32_t result = VY_NONE, mark;
    if (s->result_count) {
        const vy_variable *v = vy_variable_at(e->from, s->variable);
        uint32_t zero = vy_irb_literal(draft, (vyre_type)v->type, 0);
        result =
            vy_irb_var(draft, vy_cloner_name(&e->copy, vy_symbol_name(e->from, v->name)), (vyre_type)v->type, zero);
    }
    vy_irb_if(draft, has_not_ended(e));
    mark = vy_cloner_open(&e->copy);
    vy_cloner_stmt(&e->copy, index);
    if (result != VY_NONE && !draft->failed) {
        vy_irb_assign(draft, result, vy_irb_variable(draft, e->copy.variables[s->variable]));
        e->copy.variables[s->variable] = result;
    }
    vy_cloner_close(&e->copy, mark);
    vy_irb_end_block(draft);
}

static void conditional(ender *e, uint32_t index, const vy_stmt *s) {
    uint32_t mark = vy_cloner_open(&e->copy);
    uint8_t before = e->state, after;
    vy_cloner_stmt(&e->copy, index);
    block(e, index + 1, s->middle);
    vy_cloner_close(&e->copy, mark);
    after = e->state;
    e->state = before;
    if (s->middle != s->end) {
        vy_irb_else(draft_of(e));
        block(e, s->middle, s->end);
        vy_cloner_close(&e->copy, mark);
    }
    e->state |= after;
    vy_irb_end_block(draft_of(e));
}

static void region(ender *e, uint32_t index, const vy_stmt *s) {
    uint32_t mark = vy_cloner_open(&e->copy);
    vy_cloner_stmt(&e->copy, index);
    block(e, index + 1, s->end);
    vy_cloner_close(&e->copy, mark);
    vy_irb_end_block(draft_of(e));
}

/* ---- loops ---- */

/* Polls at the start of an iteration. */
static void poll_trip(ender *e, uint32_t loop, int is_varied) {
    vy_irb *draft = draft_of(e);
    uint32_t stop = add_poll(e);
    if (!meets_later(e, loop)) {
        leave_if(e, vy_irb_variable(draft, stop));
        return;
    }
    int has_meeting = inside(e, loop) & HAS_SYNC;
    vy_irb_if(draft, vy_irb_variable(draft, stop));
    set_flag(e, e->stopped);
    if (is_varied)
        set_flag(e, e->ended);
    if (!has_meeting)
        vy_irb_simple(draft, VY_STMT_BREAK);
    vy_irb_end_block(draft);
    if (has_meeting)
        e->state |= STOPPED;
    if (has_meeting && !syncs_every_iteration(&e->plan, loop))
        meet(e, STOPPED);
}

static void open_loop(ender *e, uint32_t index, const vy_stmt *s, int stops) {
    vy_irb *draft = draft_of(e);
    if (s->kind == VY_STMT_FOR) {
        uint32_t a = vy_cloner_expr(&e->copy, s->a), b = vy_cloner_expr(&e->copy, s->b),
                 c = vy_cloner_expr(&e->copy, s->c);
        vy_cloner_for(&e->copy, index, a, b, c);
        if (stops) {
            vy_irb_if(draft, vy_irb_variable(draft, e->ended));
            vy_irb_simple(draft, VY_STMT_BREAK);
            vy_irb_end_block(draft);
        }
        return;
    }
    uint32_t goes_on = stops ? has_not_ended(e) : VY_NONE;
    uint32_t condition = vy_cloner_expr(&e->copy, s->a);
    if (stops)
        condition = vy_irb_op(draft, VYRE_OP_LAND, VYRE_TYPE_BOOL, goes_on, condition, VY_NONE);
    draft->position = vy_stmt_position(e->from, index);
    vy_irb_while(draft, condition);
}

static void loop(ender *e, uint32_t index, const vy_stmt *s) {
    int later = meets_later(e, index), is_varied = traps_is_varied(&e->plan, index);
    uint8_t has = inside(e, index), behind = e->state;
    uint32_t mark = vy_cloner_open(&e->copy);
    if (later || (has & HAS_SYNC)) {
        behind = state_behind(&e->plan, index, e->state);
        e->state = state_at_head(&e->plan, index, e->state);
    }
    open_loop(e, index, s, (e->state & ENDED) && is_varied);
    e->open_meeting += (has & HAS_SYNC) != 0;
    if (has & POLLS)
        poll_trip(e, index, is_varied);
    if ((has & CHECKS) && (e->state & ENDED))
        leave_together(e, VYRE_COLLECTIVE_ALL, "all_ended", vy_irb_variable(draft_of(e), e->ended));
    block(e, index + 1, s->end);
    e->open_meeting -= (has & HAS_SYNC) != 0;
    vy_cloner_close(&e->copy, mark);
    vy_irb_end_block(draft_of(e));
    e->state = behind;
    /* An invocation that left a uniform loop before the others has other values, so it has ended. */
    if ((has & POLLS) && later && !(has & HAS_SYNC) && !is_varied)
        meet(e, STOPPED);
}

/* After the last synchronisation point, invocations that have ended leave; only before statements for which it
 * matters. */
static void leave_at_last(ender *e, uint32_t index, const vy_stmt *s) {
    if (!e->state || meets_later(e, index))
        return;
    if (!vy_stmt_is_structured(s->kind) && s->kind != VY_STMT_TRAP && !is_seen(e, s))
        return;
    leave_if(e, is_in(e, e->state));
    e->state = 0;
}

/* A synchronisation point of the program that ended invocations may reach. A collective does not order memory
 * accesses, so a barrier remains in addition to a vote. Only whole workgroups reach a grid barrier: a workgroup of
 * which an invocation has ended leaves before it. */
static void meet_as(ender *e, uint32_t index, const vy_stmt *s) {
    int is_grid = s->kind == VY_STMT_BARRIER && s->scope == VYRE_SCOPE_DEVICE;
    if (s->kind == VY_STMT_BARRIER && e->asks && !is_grid)
        vy_cloner_stmt(&e->copy, index);
    meet(e, e->state);
    if (s->kind == VY_STMT_COLLECTIVE || is_grid)
        vy_cloner_stmt(&e->copy, index);
}

/* Returns whether no statement of the block follows. */
static int statement(ender *e, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(e->from, index);
    draft_of(e)->position = vy_stmt_position(e->from, index);
    leave_at_last(e, index, s);
    if (s->kind == VY_STMT_TRAP)
        return trap(e, index, s);
    if (s->kind == VY_STMT_IF)
        conditional(e, index, s);
    else if (s->kind == VY_STMT_REGION)
        region(e, index, s);
    else if (vy_stmt_is_loop(s->kind))
        loop(e, index, s);
    else if (is_sync(s) && e->state) {
        meet_as(e, index, s);
    } else if ((e->state & ENDED) && is_seen(e, s))
        effect(e, index, s);
    else
        vy_cloner_stmt(&e->copy, index);
    return 0;
}

/* Statements after a trap in its block are never executed by invocations that have not ended, but the other
 * invocations may need their jumps. */
static void block(ender *e, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !draft_of(e)->failed; i = vy_stmt_at(e->from, i)->end)
        if (statement(e, i))
            return;
}

/* ---- the phase ---- */

static vyre_status write_program(ender *e, vyre_program **out, vyre_error *error) {
    const vy_function *entry = vy_program_entry(e->from);
    vyre_status status = vy_cloner_start(&e->copy, e->from, vyre_program_name(e->from), error);
    if (status != VYRE_OK)
        return status;
    draft_of(e)->program->level = VYRE_LEVEL_LEGAL;
    draft_of(e)->skip_verify = 1;
    vy_cloner_params(&e->copy);
    vy_cloner_buffers(&e->copy, 0);
    vy_cloner_arrays(&e->copy);
    int begins_together = e->plan.last_meeting != VY_NONE && (e->plan.possible || e->plan.cancellable);
    if (begins_together && !e->asks)
        e->gone = vy_irb_array(draft_of(e), vy_cloner_new_name(&e->copy, "gone"), VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 2);
    vy_cloner_grid(&e->copy);
    if (begins_together)
        begin_together(e);
    else if (e->plan.cancellable)
        leave_on_poll(e);
    block(e, entry->first_stmt, entry->end_stmt);
    return vy_cloner_finish(&e->copy, out, error);
}

static vyre_status refuse(vyre_error *error) {
    return vy_fail(error, VYRE_UNSUPPORTED, "split the program at its grid barriers first",
                   "an invocation may end before a grid barrier, where the other workgroups would wait for it");
}

vyre_status vy_legalize_traps(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                              vyre_error *error) {
    ender e = {.from = program, .asks = target->native_collectives};
    *out = NULL;
    if ((program->facts & VY_PROGRAM_HAS_GRID_BARRIER) &&
        ((program->facts & VY_PROGRAM_HAS_TRAP) || target->cancellable) && !target->ends_at_grid_barriers)
        return refuse(error);
    vyre_status status = plan_make(&e.plan, program, target, error);
    vy_arena *arena = &e.plan.arena;
    e.copy.variables = vy_arena_allocate(arena, vy_array_size(program->variables.count + 1u, sizeof(uint32_t)));
    e.copy.memories = vy_arena_allocate(arena, vy_array_size(program->memories.count + 1u, sizeof(uint32_t)));
    if (status == VYRE_OK && (!e.copy.variables || !e.copy.memories))
        status = vy_fail_memory(error, "the ends of a program");
    if (status == VYRE_OK)
        status = write_program(&e, out, error);
    vy_cloner_discard(&e.copy);
    plan_free(&e.plan);
    return status;
}
