/* Divergent jumps: an analysis, made before code is emitted, of which jumps only some invocations take, and of which
 * code has barriers.
 *
 * A jump that all invocations take together is a branch. A divergent one is noted in a mask. In a loop with barriers,
 * the rules of the language allow only these divergent jumps: a continue (in a loop of one trip also a break or
 * return) after which no barrier follows in the trip, and a return after which no barrier follows at all. Every other
 * jump is uniform. The source shows that, but the legalised program need not: the rules of uniformity ignore the order
 * of statements. So a variable assigned after a divergent return, which a trap has become, counts as divergent before
 * it, too. */
#include "emit/llvm/emitter.h"

/* What jumps out of a block, by whom. */
enum {
    ANY_LEAVE = 1,   /* a break or continue of the loop around */
    SOME_LEAVE = 2,  /* and lanes have parted between it and the loop */
    ANY_RETURN = 4,  /* a return */
    SOME_RETURN = 8, /* and lanes have parted between it and the block */
    RETURN = ANY_RETURN | SOME_RETURN
};

/* All take what meets inside alike, whether that can be seen or not: a program that differs is not legal. */
static int statement_parts(const vy_emitter *e, uint32_t index) {
    const vy_stmt *s = &e->program->stmts.items[index];
    if (vy_llvm_is_polled(e, index) || !(s->kind == VY_STMT_IF || vy_stmt_is_loop(s->kind)) ||
        (e->has_sync && e->has_sync_inside[index]))
        return 0;
    return vy_llvm_is_divergent(e, s->a) || vy_llvm_is_divergent(e, s->b) || vy_llvm_is_divergent(e, s->c);
}

static int is_jump(const vy_stmt *s) {
    return s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE || s->kind == VY_STMT_RETURN;
}

/* All invocations come by together, even in a loop that lanes leave one by one behind it. */
static int is_taken_by_all(const vy_emitter *e, uint32_t index) {
    return e->has_sync_inside[index] || vy_control_uniformity(e->uniform, index) != VY_UNIFORMITY_DIVERGENT;
}

/* What leaves the statements, each noted in `jumps`. Lanes that leave a loop one by one make every jump in it one of
 * some. Recursion is bounded by VY_LIMIT_NESTING. */
static uint8_t find_leavers(vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint8_t all = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        uint8_t own = 0;
        if (is_jump(s) && !is_taken_by_all(e, i))
            own = s->kind == VY_STMT_RETURN ? ANY_RETURN : ANY_LEAVE;
        if (vy_stmt_is_structured(s->kind)) {
            own = find_leavers(e, i + 1, s->end);
            int parts = statement_parts(e, i);
            if (vy_stmt_is_loop(s->kind)) {
                parts |= (own & (SOME_LEAVE | SOME_RETURN)) != 0;
                own &= RETURN;
            }
            if (parts)
                own |= (uint8_t)((own & (ANY_LEAVE | ANY_RETURN)) << 1);
        }
        e->jumps[i] = own;
        all |= own;
    }
    return all;
}

/* Notes which jumps only some lanes take, and gives those that leave the block. parted: lanes have parted since the
 * innermost loop began, or since the gang did. Recursion is bounded by VY_LIMIT_NESTING. */
static uint8_t find_jumps(vy_emitter *e, uint32_t first, uint32_t end, int parted_in_loop, int parted) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint8_t all = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        uint8_t own = 0;
        int parts = statement_parts(e, i);
        if (is_jump(s) && is_taken_by_all(e, i))
            own = 0;
        else if (s->kind == VY_STMT_BREAK)
            own = parted_in_loop ? VY_JUMP_BREAK : 0;
        else if (s->kind == VY_STMT_CONTINUE)
            own = parted_in_loop ? VY_JUMP_CONTINUE : 0;
        else if (s->kind == VY_STMT_RETURN)
            own = parted ? VY_JUMP_RETURN : 0;
        else if (vy_stmt_is_loop(s->kind)) {
            uint8_t inside = 0; /* what leaves its body */
            for (uint32_t k = i + 1; k < s->end; k = stmts[k].end)
                inside |= e->jumps[k];
            parts |= (inside & (SOME_LEAVE | SOME_RETURN)) || (parted && (inside & ANY_RETURN));
            own = find_jumps(e, i + 1, s->end, parts, parted || parts) & VY_JUMP_RETURN;
        } else if (vy_stmt_is_structured(s->kind)) {
            own = find_jumps(e, i + 1, s->end, parted_in_loop || parts, parted || parts);
        }
        e->jumps[i] = own;
        all |= own;
    }
    return all;
}

/* ---- meetings ---- */

static int find_meetings(vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    int any = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        e->has_sync_inside[i] |= stmts[i].kind == VY_STMT_BARRIER || stmts[i].kind == VY_STMT_COLLECTIVE;
        if (vy_stmt_is_structured(stmts[i].kind))
            e->has_sync_inside[i] = (uint8_t)find_meetings(e, i + 1, stmts[i].end);
        any |= e->has_sync_inside[i];
    }
    return any;
}

/* Whether a statement that all come to has jumps out of it that all take, or those who are left. */
static int all_jump_out(const vy_emitter *e, uint32_t index) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t loops = 0;
    for (uint32_t i = index; i < stmts[index].end; i++) {
        if (!e->jumps[i] && is_jump(&stmts[i]) && (i >= loops || stmts[i].kind == VY_STMT_RETURN))
            return 1;
        if (vy_stmt_is_loop(stmts[i].kind) && i >= loops)
            loops = stmts[i].end;
    }
    return 0;
}

/* A jump of all, or an `if` that all come to and take alike and that has one: `if gone { return }`. */
static int is_group_control(const vy_emitter *e, uint32_t index) {
    const vy_stmt *s = &e->program->stmts.items[index];
    if (!is_taken_by_all(e, index))
        return 0;
    if (is_jump(s))
        return 1;
    return (s->kind == VY_STMT_REGION || (s->kind == VY_STMT_IF && !vy_llvm_is_divergent(e, s->a))) &&
           all_jump_out(e, index);
}

int vy_llvm_ends_region(const vy_emitter *e, uint32_t index) {
    return e->has_sync_inside[index] || is_group_control(e, index);
}

/* ---- who is gone when others meet ---- */

/* What can still meet behind a statement. */
typedef struct ahead {
    int ever;    /* until the end */
    int in_trip; /* in the same trip of the loop around */
    int repeats; /* that loop makes more than one trip */
} ahead;

/* The last statement of the block that meets, or 0. */
static uint32_t last_to_meet(const vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t last = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end)
        last = e->has_sync_inside[i] ? i : last;
    return last;
}

static ahead ahead_of(uint32_t index, uint32_t last, ahead outside) {
    return (ahead){outside.ever || index < last, outside.in_trip || index < last, outside.repeats};
}

/* In the trips of a loop. */
static ahead ahead_in_loop(const vy_emitter *e, uint32_t loop, ahead behind) {
    int repeats = e->has_sync_inside[loop] && !vy_loop_runs_once(e->program, loop);
    return (ahead){behind.ever || repeats, 0, repeats};
}

static int is_before_meeting(uint8_t jumps, ahead then) {
    return (jumps & VY_JUMP_RETURN && then.ever) || (jumps & VY_JUMP_CONTINUE && then.in_trip) ||
           (jumps & VY_JUMP_BREAK && (then.in_trip || then.repeats));
}

/* Those who have left stay away from later regions, and must be remembered where such can follow: behind what is for
 * the workgroup, and what some left in the midst of. Recursion is bounded by VY_LIMIT_NESTING. */
static int keeps_returned(const vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end)
        if (vy_stmt_is_structured(stmts[i].kind) && vy_llvm_ends_region(e, i) &&
            (e->jumps[i] & VY_JUMP_RETURN || keeps_returned(e, i + 1, stmts[i].end)))
            return 1;
    return 0;
}

/* Makes meetings of jumps that all take, though nobody has seen that they do: one before others meet, since the rules
 * of the language let nobody leave there alone; and one out of a loop of the workgroup at which lanes have not parted.
 * Gives whether there are new ones. Recursion is bounded by VY_LIMIT_NESTING. */
static int meet_at_jumps(vy_emitter *e, uint32_t first, uint32_t end, ahead outside, int in_group_loop) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t last = last_to_meet(e, first, end);
    int found = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        ahead then = ahead_of(i, last, outside);
        int is_loop = vy_stmt_is_loop(stmts[i].kind), within = is_loop ? e->has_sync_inside[i] : in_group_loop;
        if (is_loop)
            then = ahead_in_loop(e, i, then);
        if (vy_stmt_is_structured(stmts[i].kind)) {
            found |= meet_at_jumps(e, i + 1, stmts[i].middle, then, within);
            found |= meet_at_jumps(e, stmts[i].middle, stmts[i].end, then, within);
        } else if (is_jump(&stmts[i]) && !is_taken_by_all(e, i) &&
                   (is_before_meeting(e->jumps[i], then) ||
                    (within && !e->jumps[i] && stmts[i].kind != VY_STMT_RETURN))) {
            e->has_sync_inside[i] = found = 1;
        }
    }
    return found;
}

/* ---- the plan ---- */

/* A meeting more makes control that of the workgroup which was not before, and jumps those of all: it is looked at
 * again until none is new. */
int vy_llvm_plan_jumps(vy_emitter *e) {
    uint32_t first = e->body->first_stmt, end = e->body->end_stmt;
    uint8_t jumps;
    do {
        e->has_sync = e->group_size > 1 && find_meetings(e, first, end); /* who is alone meets nobody */
        (void)find_leavers(e, first, end);
        jumps = find_jumps(e, first, end, 0, 0);
    } while (e->has_sync && meet_at_jumps(e, first, end, (ahead){0, 0, 0}, 0));
    e->keeps_returned = e->has_sync && keeps_returned(e, first, end);
    return (jumps & VY_JUMP_RETURN) != 0;
}

int vy_llvm_has_divergent_exit(const vy_emitter *e, uint32_t loop) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint8_t jumps = 0;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i = stmts[i].end)
        jumps |= e->jumps[i];
    return (jumps & (VY_JUMP_BREAK | VY_JUMP_CONTINUE)) != 0;
}

int vy_llvm_keeps_left(const vy_emitter *e, uint32_t loop) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        int is_loop = vy_stmt_is_loop(stmts[i].kind);
        if (vy_stmt_is_structured(stmts[i].kind) && !is_loop && vy_llvm_ends_region(e, i) &&
            e->jumps[i] & (VY_JUMP_BREAK | VY_JUMP_CONTINUE))
            return 1;
        i = is_loop ? stmts[i].end : i + 1;
    }
    return 0;
}
