/* Ends of invocations (legal_end.h).
 *
 * Where no barrier or collective can follow, an end is `report` and `return`. Where one can, control has to come there, for the others wait: a flag `ended` is
 * set, and from there to the next meeting
 *   - stores and atomics that others could see are made only by those that have not ended;
 *   - what computes values goes on, so that whatever is uniform stays so and all come to the same meeting;
 *   - a loop that is not uniform stops: it may wait for an effect that does not happen any more. A uniform one makes the trips the others make.
 * At the meeting those that ended say so in an array of the workgroup, and after it all read that and leave, or none does. The array has two cells, used in
 * turn: one that is read after a meeting is written again only before the next but one, and between them all meet. A target with collectives of its own
 * asks with one of them instead.
 *
 * Whether somebody may have ended since the last meeting is followed through the program; where nobody can have, nothing is added. Effects of an
 * invocation that a poll has stopped do no harm: nothing is delivered any more. But it, too, has to come to the next meeting. */
#include "transform/legal_end.h"

#include "base/status.h"
#include "transform/grid_split_copy.h"
#include "transform/uniform.h"

/* A loop without polls does no more than so many statements, as far as they can be counted. */
enum { LONGEST = 1 << 16, FOREVER = 1 << 30 };

/* What a statement has inside. */
enum { TRAPS = 1, POLLS = 2, MEETS = 4, OWN_POLL = 8 /* the statement is a loop that polls */ };

typedef struct ender {
    vy_copy copy;
    const vyre_program *from;
    int cancellable;
    int asks;        /* whether anybody has ended is a collective */
    uint8_t *inside; /* by statement */
    vy_uniform *uniform;
    uint32_t last_meeting;       /* the last statement where invocations meet; VY_NONE */
    uint32_t open_meeting;       /* loops around, with a meeting in them */
    int has_flag;                /* somebody ends before a meeting */
    int ended_by;                /* TRAPS, POLLS: how somebody may have ended since the last meeting */
    uint32_t ended, phase, gone; /* two variables and the array; of the draft */
} ender;

/* ---- what is where ---- */

static int meets(const vy_stmt *s) {
    return s->kind == VY_STMT_BARRIER || s->kind == VY_STMT_COLLECTIVE;
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

/* Notes what is inside each statement of the block, and returns how many statements it may execute without a poll. Recursion is bounded by
 * VY_LIMIT_NESTING. */
static uint64_t look_at(ender *e, uint32_t first, uint32_t end, uint8_t *inside) {
    uint64_t work = 0;
    for (uint32_t i = first; i < end; i = e->from->stmts.items[i].end) {
        const vy_stmt *s = &e->from->stmts.items[i];
        uint64_t own = 1;
        if (vy_stmt_is_structured(s->kind))
            own += look_at(e, i + 1, s->end, &e->inside[i]);
        if (vy_stmt_is_loop(s->kind) && !vy_loop_makes_one_trip(e->from, i)) {
            uint64_t all = capped(trips_of(e->from, s) * own);
            int is_polled = e->cancellable && all > LONGEST;
            e->inside[i] |= is_polled ? POLLS | OWN_POLL : 0;
            own = is_polled ? own : all;
        }
        if (meets(s)) {
            e->inside[i] |= MEETS;
            e->last_meeting = i;
        }
        e->inside[i] |= s->kind == VY_STMT_TRAP ? TRAPS : 0;
        *inside |= e->inside[i] & (TRAPS | POLLS | MEETS);
        work = capped(work + own);
    }
    return work;
}

/* Whether a meeting may come after statement i has been executed. */
static int meets_later(const ender *e, uint32_t i) {
    return e->open_meeting || (e->last_meeting != VY_NONE && i < e->last_meeting);
}

/* Whether some end has a meeting after it, so that the flag is needed. */
static int needs_flag(const ender *e, uint32_t first, uint32_t end, int in_meeting_loop) {
    for (uint32_t i = first; i < end; i = e->from->stmts.items[i].end) {
        const vy_stmt *s = &e->from->stmts.items[i];
        int is_loop = vy_stmt_is_loop(s->kind), later = in_meeting_loop || i < e->last_meeting;
        if (e->last_meeting == VY_NONE)
            return 0;
        if (s->kind == VY_STMT_TRAP && later)
            return 1;
        if ((e->inside[i] & OWN_POLL) && (later || (e->inside[i] & MEETS)))
            return 1;
        if (vy_stmt_is_structured(s->kind) &&
            needs_flag(e, i + 1, s->end, in_meeting_loop || (is_loop && (e->inside[i] & MEETS))))
            return 1;
    }
    return 0;
}

/* ---- who may have ended ---- */

static int flow_block(const ender *e, uint32_t first, uint32_t end, int state);

/* The state at the head of a loop, in any trip. What a trip adds or takes away does not depend on where it starts, so one round is enough. */
static int flow_head(const ender *e, uint32_t loop, int state) {
    const vy_stmt *s = &e->from->stmts.items[loop];
    int polled = (e->inside[loop] & OWN_POLL) && (e->inside[loop] & MEETS) ? POLLS : 0;
    return state | flow_block(e, loop + 1, s->end, state | polled);
}

/* The state behind it: of those that left by the head, by a break, or by its poll. */
static int flow_loop(const ender *e, uint32_t loop, int state) {
    const vy_stmt *s = &e->from->stmts.items[loop];
    int after = flow_head(e, loop, state);
    for (uint32_t i = loop + 1; i < s->end; i++)
        if (e->from->stmts.items[i].kind == VY_STMT_BREAK || e->from->stmts.items[i].kind == VY_STMT_CONTINUE)
            after |= e->inside[loop] & (TRAPS | POLLS);
    return after | ((e->inside[loop] & OWN_POLL) ? POLLS : 0);
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static int flow_block(const ender *e, uint32_t first, uint32_t end, int state) {
    for (uint32_t i = first; i < end; i = e->from->stmts.items[i].end) {
        const vy_stmt *s = &e->from->stmts.items[i];
        if (s->kind == VY_STMT_TRAP)
            state |= TRAPS;
        else if (meets(s))
            state = 0;
        else if (s->kind == VY_STMT_IF)
            state = flow_block(e, i + 1, s->middle, state) | flow_block(e, s->middle, s->end, state);
        else if (s->kind == VY_STMT_REGION)
            state = flow_block(e, i + 1, s->end, state);
        else if (vy_stmt_is_loop(s->kind))
            state = flow_loop(e, i, state);
    }
    return state;
}

/* ---- pieces of code ---- */

static vy_draft *draft_of(ender *e) {
    return &e->copy.draft;
}

static uint32_t number(ender *e, uint32_t value) {
    return vy_draft_literal(draft_of(e), VYRE_TYPE_U32, value);
}

static uint32_t has_not_ended(ender *e) {
    uint32_t ended = vy_draft_variable(draft_of(e), e->ended);
    return vy_draft_op(draft_of(e), VYRE_OP_LNOT, VYRE_TYPE_BOOL, ended, VY_NONE, VY_NONE);
}

static void add_barrier(ender *e) {
    vy_stmt barrier = vy_draft_blank(VY_STMT_BARRIER);
    barrier.scope = VYRE_SCOPE_WORKGROUP;
    vy_draft_stmt(draft_of(e), &barrier, NULL, 0, NULL, NULL);
}

static void add_return(ender *e) {
    vy_stmt leave = vy_draft_blank(VY_STMT_RETURN);
    vy_draft_stmt(draft_of(e), &leave, NULL, 0, NULL, NULL);
}

static uint32_t add_poll(ender *e) {
    vy_stmt poll = vy_draft_blank(VY_STMT_POLL);
    vy_name name = vy_copy_new_name(&e->copy, "stop");
    uint32_t made = vy_draft_stmt(draft_of(e), &poll, NULL, 0, &name, (vyre_type[]){VYRE_TYPE_BOOL});
    return made == VY_NONE ? VY_NONE : draft_of(e)->program->stmts.items[made].variable;
}

static void set_ended(ender *e, int how) {
    vy_draft_assign(draft_of(e), e->ended, vy_draft_literal(draft_of(e), VYRE_TYPE_BOOL, 1));
    e->ended_by |= how;
}

static void set_gone(ender *e, uint32_t cell, uint32_t value) {
    vy_stmt store = vy_draft_blank(VY_STMT_STORE);
    store.memory = e->gone;
    store.guard = VY_UNGUARDED;
    store.a = cell;
    store.b = value;
    vy_draft_stmt(draft_of(e), &store, NULL, 0, NULL, NULL);
}

/* All leave if the cell that `cell` names says so. */
static void leave_if_gone(ender *e, uint32_t cell) {
    uint32_t gone = vy_draft_load_unguarded(draft_of(e), e->gone, cell, VY_NONE);
    uint32_t is_gone = vy_draft_op(draft_of(e), VYRE_OP_NE, VYRE_TYPE_BOOL, gone, number(e, 0), VY_NONE);
    vy_draft_if(draft_of(e), is_gone);
    add_return(e);
    vy_draft_end(draft_of(e));
}

/* All leave if `value`, of the draft, is true for any. */
static void leave_if_any(ender *e, uint32_t value) {
    vy_stmt any = vy_draft_blank(VY_STMT_COLLECTIVE);
    vy_name name = vy_copy_new_name(&e->copy, "gone");
    any.op = VYRE_COLLECTIVE_ANY;
    any.result_count = 1;
    any.a = value;
    uint32_t made = vy_draft_stmt(draft_of(e), &any, NULL, 0, &name, (vyre_type[]){VYRE_TYPE_BOOL});
    if (made == VY_NONE)
        return;
    vy_draft_if(draft_of(e), vy_draft_variable(draft_of(e), draft_of(e)->program->stmts.items[made].variable));
    add_return(e);
    vy_draft_end(draft_of(e));
}

/* A barrier after which all go on, or none. */
static void meet(ender *e) {
    vy_draft *draft = draft_of(e);
    if (e->asks) {
        leave_if_any(e, vy_draft_variable(draft, e->ended));
        e->ended_by = 0;
        return;
    }
    vy_stmt tell = vy_draft_blank(VY_STMT_ATOMIC);
    vy_draft_if(draft, vy_draft_variable(draft, e->ended));
    tell.op = VYRE_ATOMIC_OR;
    tell.memory = e->gone;
    tell.guard = VY_UNGUARDED;
    tell.a = vy_draft_variable(draft, e->phase);
    tell.b = number(e, 1);
    vy_draft_stmt(draft, &tell, NULL, 0, NULL, NULL);
    vy_draft_end(draft);
    add_barrier(e);
    leave_if_gone(e, vy_draft_variable(draft, e->phase));
    uint32_t phase = vy_draft_variable(draft, e->phase);
    uint32_t other = vy_draft_op(draft, VYRE_OP_XOR, VYRE_TYPE_U32, phase, number(e, 1), VY_NONE);
    vy_draft_assign(draft, e->phase, other);
    e->ended_by = 0;
}

/* ---- the start ---- */

/* The flags; the first invocation clears the cells, and asks for all of them whether to begin. */
static void begin_together(ender *e) {
    vy_draft *draft = draft_of(e);
    uint32_t stop = VY_NONE;
    if (e->has_flag) {
        uint32_t no = vy_draft_literal(draft, VYRE_TYPE_BOOL, 0);
        e->ended = vy_draft_var(draft, vy_copy_new_name(&e->copy, "ended"), VYRE_TYPE_BOOL, no);
        if (!e->asks)
            e->phase = vy_draft_var(draft, vy_copy_new_name(&e->copy, "phase"), VYRE_TYPE_U32, number(e, 1));
    }
    if (e->asks) {
        if (e->cancellable) {
            stop = add_poll(e);
            leave_if_any(e, vy_draft_variable(draft, stop));
        }
        return;
    }
    uint32_t index = vy_draft_builtin(draft, VYRE_BUILTIN_LOCAL_INDEX, 0);
    vy_draft_if(draft, vy_draft_op(draft, VYRE_OP_EQ, VYRE_TYPE_BOOL, index, number(e, 0), VY_NONE));
    if (e->cancellable)
        stop = add_poll(e);
    uint32_t cell = number(e, 0);
    set_gone(e, cell,
             stop == VY_NONE
                 ? number(e, 0)
                 : vy_draft_op(draft, VYRE_OP_CAST, VYRE_TYPE_U32, vy_draft_variable(draft, stop), VY_NONE, VY_NONE));
    cell = number(e, 1);
    set_gone(e, cell, number(e, 0));
    vy_draft_end(draft);
    add_barrier(e);
    if (e->cancellable)
        leave_if_gone(e, number(e, 0));
}

static void leave_on_poll(ender *e) {
    uint32_t stop = add_poll(e);
    vy_draft_if(draft_of(e), vy_draft_variable(draft_of(e), stop));
    add_return(e);
    vy_draft_end(draft_of(e));
}

/* ---- statements ---- */

static void block(ender *e, uint32_t first, uint32_t end);

static void trap(ender *e, uint32_t index, const vy_stmt *s) {
    vy_stmt report = vy_draft_blank(VY_STMT_REPORT);
    int guarded = (e->ended_by & TRAPS) != 0;
    if (guarded)
        vy_draft_if(draft_of(e), has_not_ended(e));
    report.a = vy_copy_expr(&e->copy, s->a);
    vy_draft_stmt(draft_of(e), &report, NULL, 0, NULL, NULL);
    if (meets_later(e, index))
        set_ended(e, TRAPS);
    else
        add_return(e);
    if (guarded)
        vy_draft_end(draft_of(e));
}

static int is_seen(const ender *e, const vy_stmt *s) {
    return (s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC) &&
           e->from->memories.items[s->memory].space != VY_SPACE_PRIVATE;
}

/* An atomic's result is zero for those that have ended. */
static void effect(ender *e, uint32_t index, const vy_stmt *s) {
    vy_draft *draft = draft_of(e);
    uint32_t result = VY_NONE, mark;
    if (s->result_count) {
        const vy_variable *v = &e->from->variables.items[s->variable];
        uint32_t zero = vy_draft_literal(draft, (vyre_type)v->type, 0);
        result = vy_draft_var(draft, vy_copy_name(&e->copy, vy_name_text(e->from, v->name)), (vyre_type)v->type, zero);
    }
    vy_draft_if(draft, has_not_ended(e));
    mark = vy_copy_open(&e->copy);
    vy_copy_stmt(&e->copy, index);
    if (result != VY_NONE && !draft->failed) {
        vy_draft_assign(draft, result, vy_draft_variable(draft, e->copy.variables[s->variable]));
        e->copy.variables[s->variable] = result;
    }
    vy_copy_close(&e->copy, mark);
    vy_draft_end(draft);
}

static void conditional(ender *e, uint32_t index, const vy_stmt *s) {
    uint32_t mark = vy_copy_open(&e->copy);
    int before = e->ended_by, after;
    vy_copy_stmt(&e->copy, index);
    block(e, index + 1, s->middle);
    vy_copy_close(&e->copy, mark);
    after = e->ended_by;
    e->ended_by = before;
    if (s->middle != s->end) {
        vy_draft_else(draft_of(e));
        block(e, s->middle, s->end);
        vy_copy_close(&e->copy, mark);
    }
    e->ended_by |= after;
    vy_draft_end(draft_of(e));
}

static void region(ender *e, uint32_t index, const vy_stmt *s) {
    uint32_t mark = vy_copy_open(&e->copy);
    vy_copy_stmt(&e->copy, index);
    block(e, index + 1, s->end);
    vy_copy_close(&e->copy, mark);
    vy_draft_end(draft_of(e));
}

/* ---- loops ---- */

/* Whether every trip that gets to its end meets: a barrier or collective stands in the body itself, and nothing jumps over it. */
static int meets_every_trip(const ender *e, uint32_t loop) {
    const vy_stmt *s = &e->from->stmts.items[loop];
    for (uint32_t i = loop + 1; i < s->end; i = e->from->stmts.items[i].end) {
        if (meets(&e->from->stmts.items[i]))
            return 1;
        for (uint32_t k = i; k < e->from->stmts.items[i].end; k++)
            if (e->from->stmts.items[k].kind == VY_STMT_CONTINUE)
                return 0;
    }
    return 0;
}

/* Asks at the start of a trip. */
static void poll_trip(ender *e, uint32_t loop) {
    vy_draft *draft = draft_of(e);
    uint32_t stop = add_poll(e);
    vy_draft_if(draft, vy_draft_variable(draft, stop));
    if (!meets_later(e, loop)) {
        add_return(e);
        vy_draft_end(draft);
        return;
    }
    int before = e->ended_by;
    set_ended(e, POLLS);
    if (!(e->inside[loop] & MEETS)) {
        vy_draft_simple(draft, VY_STMT_BREAK);
        e->ended_by = before; /* of those that go on */
    }
    vy_draft_end(draft);
    if ((e->inside[loop] & MEETS) && !meets_every_trip(e, loop))
        meet(e);
}

/* Whether invocations of a workgroup may make different trips. */
static int is_varied(const ender *e, uint32_t loop) {
    const vy_stmt *s = &e->from->stmts.items[loop];
    if (loop + 1 < s->end)
        return vy_control_sameness(e->uniform, loop + 1) == VY_SAME_NOWHERE;
    return s->kind == VY_STMT_WHILE && vy_expr_sameness(e->uniform, s->a) == VY_SAME_NOWHERE;
}

static void open_loop(ender *e, uint32_t index, const vy_stmt *s, int stops) {
    vy_draft *draft = draft_of(e);
    if (s->kind == VY_STMT_FOR) {
        uint32_t a = vy_copy_expr(&e->copy, s->a), b = vy_copy_expr(&e->copy, s->b), c = vy_copy_expr(&e->copy, s->c);
        vy_copy_for(&e->copy, index, a, b, c);
        if (stops) {
            vy_draft_if(draft, vy_draft_variable(draft, e->ended));
            vy_draft_simple(draft, VY_STMT_BREAK);
            vy_draft_end(draft);
        }
        return;
    }
    uint32_t goes_on = stops ? has_not_ended(e) : VY_NONE;
    uint32_t condition = vy_copy_expr(&e->copy, s->a);
    if (stops)
        condition = vy_draft_op(draft, VYRE_OP_LAND, VYRE_TYPE_BOOL, goes_on, condition, VY_NONE);
    draft->position = vy_stmt_position(e->from, index);
    vy_draft_while(draft, condition);
}

static void loop(ender *e, uint32_t index, const vy_stmt *s) {
    int later = meets_later(e, index), has_meeting = (e->inside[index] & MEETS) != 0, varied = is_varied(e, index);
    uint32_t mark = vy_copy_open(&e->copy);
    int head = e->ended_by, after = e->ended_by;
    if (later || has_meeting) {
        head = flow_head(e, index, e->ended_by);
        after = flow_loop(e, index, e->ended_by);
    }
    e->ended_by = head;
    open_loop(e, index, s, head && varied);
    e->open_meeting += (uint32_t)has_meeting;
    if (e->inside[index] & OWN_POLL)
        poll_trip(e, index);
    block(e, index + 1, s->end);
    e->open_meeting -= (uint32_t)has_meeting;
    vy_copy_close(&e->copy, mark);
    vy_draft_end(draft_of(e));
    e->ended_by = after;
    /* Whoever left a uniform loop before the others knows less than they do: nobody goes on from there. */
    if ((e->inside[index] & OWN_POLL) && later && !has_meeting && !varied)
        meet(e);
}

static void statement(ender *e, uint32_t index) {
    const vy_stmt *s = &e->from->stmts.items[index];
    draft_of(e)->position = vy_stmt_position(e->from, index);
    if (s->kind == VY_STMT_TRAP)
        trap(e, index, s);
    else if (s->kind == VY_STMT_IF)
        conditional(e, index, s);
    else if (s->kind == VY_STMT_REGION)
        region(e, index, s);
    else if (vy_stmt_is_loop(s->kind))
        loop(e, index, s);
    else if (meets(s) && e->ended_by) {
        meet(e);
        if (s->kind == VY_STMT_COLLECTIVE)
            vy_copy_stmt(&e->copy, index);
    } else if ((e->ended_by & TRAPS) && is_seen(e, s))
        effect(e, index, s);
    else
        vy_copy_stmt(&e->copy, index);
}

/* What stands behind a trap in its block is never executed. */
static void block(ender *e, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !draft_of(e)->failed; i = e->from->stmts.items[i].end) {
        statement(e, i);
        if (e->from->stmts.items[i].kind == VY_STMT_TRAP)
            return;
    }
}

/* ---- the phase ---- */

static vyre_status write_program(ender *e, vyre_program **out, vyre_error *error) {
    const vy_function *entry = vy_program_entry(e->from);
    vyre_status status = vy_copy_start(&e->copy, e->from, vyre_program_name(e->from), error);
    if (status != VYRE_OK)
        return status;
    draft_of(e)->program->level = VYRE_LEVEL_LEGAL;
    vy_copy_params(&e->copy);
    vy_copy_buffers(&e->copy, 0);
    vy_copy_arrays(&e->copy);
    int begins_together = e->last_meeting != VY_NONE && (e->has_flag || e->cancellable);
    if (begins_together && !e->asks)
        e->gone = vy_draft_array(draft_of(e), vy_copy_new_name(&e->copy, "gone"), VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 2);
    vy_copy_grid(&e->copy);
    if (begins_together)
        begin_together(e);
    else if (e->cancellable)
        leave_on_poll(e);
    block(e, entry->first_stmt, entry->end_stmt);
    return vy_copy_finish(&e->copy, out, error);
}

static vyre_status refuse(vyre_error *error) {
    return vy_fail(error, VYRE_UNSUPPORTED, "split the program at its grid barriers first",
                   "an invocation may end before a grid barrier, where the other workgroups would wait for it");
}

vyre_status vy_legal_end(const vyre_program *program, const vy_legal_target *target, vyre_program **out,
                         vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    vy_arena arena = {0};
    uint8_t all = 0;
    ender e = {.from = program,
               .cancellable = target->cancellable,
               .asks = target->native_collectives,
               .last_meeting = VY_NONE};
    *out = NULL;
    if ((program->facts & VY_FACT_GRID_BARRIER) && ((program->facts & VY_FACT_TRAP) || e.cancellable))
        return refuse(error);
    vyre_status status = vy_uniform_make(program, &e.uniform, error);
    e.inside = vy_arena_allocate(&arena, program->stmts.count + 1u);
    e.copy.variables = vy_arena_allocate(&arena, vy_array_size(program->variables.count + 1u, sizeof(uint32_t)));
    e.copy.memories = vy_arena_allocate(&arena, vy_array_size(program->memories.count + 1u, sizeof(uint32_t)));
    if (status == VYRE_OK && (!e.inside || !e.copy.variables || !e.copy.memories))
        status = vy_fail_memory(error, "the ends of a program");
    if (status == VYRE_OK) {
        memset(e.inside, 0, program->stmts.count);
        look_at(&e, entry->first_stmt, entry->end_stmt, &all);
        e.has_flag = needs_flag(&e, entry->first_stmt, entry->end_stmt, 0);
        status = write_program(&e, out, error);
    }
    vy_copy_discard(&e.copy);
    vy_uniform_free(e.uniform);
    vy_arena_free(&arena);
    return status;
}
