/* Traps put into a program at random: behind an `if` about the place of the invocation, about a variable, or about
 * nothing that differs. Behind some stands what only those would do that have trapped: a store that races, or a loop
 * without end. And meetings are put where some uniform variable says so. */
#ifndef VY_TESTS_LOWER_PUT_TRAPS_H
#define VY_TESTS_LOWER_PUT_TRAPS_H

#include "support/test.h"

#include "analysis/uniformity.h"
#include "opt/clone.h"

enum { VISIBLE = 4096 };

typedef struct trapper {
    vy_cloner copy;
    vy_random *random;
    unsigned one_in;           /* a trap before one statement in so many */
    uint32_t visible[VISIBLE]; /* variables of the source that are in scope, of 32-bit integers */
    uint32_t count, traps;
    uint32_t harm; /* an array of one element */
    vy_uniform *uniform;
} trapper;

static inline uint32_t put_number(trapper *t, uint64_t bound) {
    return vy_irb_literal(&t->copy.draft, VYRE_TYPE_U32, vy_random_below(t->random, bound));
}

static inline uint32_t put_u32(trapper *t, vyre_op op, uint32_t a, uint32_t b) {
    return vy_irb_op(&t->copy.draft, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

/* Something to compare: of the invocation, of its group, or a variable that is in scope. */
static inline uint32_t put_value(trapper *t) {
    vy_irb *draft = &t->copy.draft;
    uint64_t kind = vy_random_below(t->random, 8);
    if (kind < 4 && t->count) {
        uint32_t v = t->visible[t->count - 1 - vy_random_below(t->random, t->count < 6 ? t->count : 6)];
        uint32_t value = vy_irb_variable(draft, t->copy.variables[v]);
        if (t->copy.from->variables.items[v].type == VYRE_TYPE_I32)
            value = vy_irb_op(draft, VYRE_OP_CAST, VYRE_TYPE_U32, value, VY_NONE, VY_NONE);
        return value;
    }
    return vy_irb_builtin(draft, kind == 7 ? VYRE_BUILTIN_GROUP_ID : VYRE_BUILTIN_LOCAL_INDEX, 0);
}

/* The same for the same choice: it can be written twice. */
static inline uint32_t put_condition(trapper *t, uint64_t choice) {
    static const vyre_op compare[] = {VYRE_OP_EQ, VYRE_OP_LT, VYRE_OP_GT, VYRE_OP_NE};
    vy_random chosen = {choice}, *random = t->random;
    t->random = &chosen;
    vyre_op op = compare[vy_random_below(t->random, 8) ? 0 : vy_random_below(t->random, 4)];
    uint32_t value = put_value(t);
    if (vy_random_below(t->random, 2))
        value = put_u32(t, VYRE_OP_AND, value, put_number(t, 64));
    uint32_t limit = put_number(t, vy_random_below(t->random, 2) ? 5 : 64);
    t->random = random;
    return vy_irb_op(&t->copy.draft, op, VYRE_TYPE_BOOL, value, limit, VY_NONE);
}

/* True for all, which nobody can know. */
static inline uint32_t put_always(trapper *t) {
    uint32_t index = vy_irb_builtin(&t->copy.draft, VYRE_BUILTIN_LOCAL_INDEX, 0);
    uint32_t many = vy_irb_literal(&t->copy.draft, VYRE_TYPE_U32, 4096);
    return vy_irb_op(&t->copy.draft, VYRE_OP_LT, VYRE_TYPE_BOOL, index, many, VY_NONE);
}

static inline void put_harm(trapper *t, uint64_t choice) {
    vy_irb *draft = &t->copy.draft;
    if (vy_random_below(t->random, 2)) {
        vy_irb_while(draft, put_condition(t, choice));
        vy_irb_end_block(draft);
        return;
    }
    vy_irb_if(draft, put_condition(t, choice));
    uint32_t index = vy_irb_literal(draft, VYRE_TYPE_U32, 0);
    vy_irb_store(draft, t->harm, index, vy_irb_builtin(draft, VYRE_BUILTIN_LOCAL_INDEX, 0));
    vy_irb_end_block(draft);
}

static inline void put_trap(trapper *t) {
    vy_irb *draft = &t->copy.draft;
    vy_stmt trap = vy_irb_blank_stmt(VY_STMT_TRAP);
    uint64_t choice = vy_random_next(t->random);
    int is_always = vy_random_below(t->random, 16) == 0;
    vy_irb_if(draft, is_always ? put_always(t) : put_condition(t, choice));
    uint32_t index = vy_irb_builtin(draft, VYRE_BUILTIN_LOCAL_INDEX, 0);
    uint32_t scaled = put_u32(t, VYRE_OP_MUL, index, vy_irb_literal(draft, VYRE_TYPE_U32, 1000));
    trap.a = put_u32(t, VYRE_OP_ADD, scaled, vy_irb_literal(draft, VYRE_TYPE_U32, t->traps++));
    vy_irb_stmt(draft, &trap, NULL, 0, NULL, NULL);
    vy_irb_end_block(draft);
    if (is_always) {
        vy_irb_while(draft, vy_irb_literal(draft, VYRE_TYPE_BOOL, 1));
        vy_irb_end_block(draft);
    } else if (vy_random_below(t->random, 2)) {
        put_harm(t, choice);
    }
}

/* A barrier that a variable decides about, before statement i of the source. */
static inline void put_meeting(trapper *t, uint32_t i) {
    vy_irb *draft = &t->copy.draft;
    vy_stmt barrier = vy_irb_blank_stmt(VY_STMT_BARRIER);
    if (!t->count || vy_control_uniformity(t->uniform, i) == VY_UNIFORMITY_DIVERGENT)
        return;
    uint32_t v = t->visible[t->count - 1 - vy_random_below(t->random, t->count < 4 ? t->count : 4)];
    if (vy_variable_uniformity(t->uniform, v) == VY_UNIFORMITY_DIVERGENT)
        return;
    uint32_t value = vy_irb_variable(draft, t->copy.variables[v]);
    uint32_t limit =
        vy_irb_literal(draft, (vyre_type)t->copy.from->variables.items[v].type, vy_random_below(t->random, 6));
    vy_irb_if(draft, vy_irb_op(draft, VYRE_OP_LT, VYRE_TYPE_BOOL, value, limit, VY_NONE));
    barrier.scope = VYRE_SCOPE_WORKGROUP;
    vy_irb_stmt(draft, &barrier, NULL, 0, NULL, NULL);
    vy_irb_end_block(draft);
}

static inline void put_barrier_if(trapper *t, uint32_t variable, uint32_t is) {
    vy_irb *draft = &t->copy.draft;
    vy_stmt barrier = vy_irb_blank_stmt(VY_STMT_BARRIER);
    uint32_t value = vy_irb_variable(draft, variable);
    vy_irb_if(draft,
              vy_irb_op(draft, VYRE_OP_EQ, VYRE_TYPE_BOOL, value, vy_irb_literal(draft, VYRE_TYPE_U32, is), VY_NONE));
    barrier.scope = VYRE_SCOPE_WORKGROUP;
    vy_irb_stmt(draft, &barrier, NULL, 0, NULL, NULL);
    vy_irb_end_block(draft);
}

/* A loop of a few trips, which nobody can know, and a barrier that hangs on what it counted. Stands in uniform control.
 * */
static inline void put_loop(trapper *t, int depth) {
    vy_irb *draft = &t->copy.draft;
    uint32_t trips = 1 + (uint32_t)vy_random_below(t->random, 4), from;
    uint32_t limit = vy_irb_literal(draft, VYRE_TYPE_U32, trips);
    limit = vy_irb_let(draft, vy_cloner_new_name(&t->copy, "limit"), VYRE_TYPE_U32, limit);
    from = vy_irb_literal(draft, VYRE_TYPE_U32, 0);
    uint32_t count = vy_irb_var(draft, vy_cloner_new_name(&t->copy, "count"), VYRE_TYPE_U32, from);
    if (vy_random_below(t->random, 2)) {
        uint32_t value = vy_irb_variable(draft, count), end = vy_irb_variable(draft, limit);
        vy_irb_while(draft, vy_irb_op(draft, VYRE_OP_LT, VYRE_TYPE_BOOL, value, end, VY_NONE));
    } else {
        from = vy_irb_literal(draft, VYRE_TYPE_U32, 0);
        uint32_t end = vy_irb_variable(draft, limit);
        vy_irb_for(draft, vy_cloner_new_name(&t->copy, "trip"), VYRE_TYPE_U32, from, end, VY_NONE);
    }
    uint32_t value = vy_irb_variable(draft, count), one = vy_irb_literal(draft, VYRE_TYPE_U32, 1);
    vy_irb_assign(draft, count, put_u32(t, VYRE_OP_ADD, value, one));
    if (!vy_random_below(t->random, 3))
        put_trap(t);
    if (!vy_random_below(t->random, 3))
        put_barrier_if(t, count, (uint32_t)vy_random_below(t->random, 5));
    if (depth < 2 && !vy_random_below(t->random, 3))
        put_loop(t, depth + 1);
    vy_irb_end_block(draft);
    put_barrier_if(t, count, vy_random_below(t->random, 2) ? trips : trips - 1);
}

static inline void put_visible(trapper *t, const vy_stmt *s) {
    for (uint32_t i = 0; i < s->result_count && s->kind != VY_STMT_ASSIGN && t->count < VISIBLE; i++) {
        uint8_t type = t->copy.from->variables.items[s->variable + i].type;
        if (type == VYRE_TYPE_U32 || type == VYRE_TYPE_I32)
            t->visible[t->count++] = s->variable + i;
    }
}

static inline void put_in_block(trapper *t, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = t->copy.from->stmts.items;
    uint32_t around = t->count;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        if (!vy_random_below(t->random, t->one_in))
            put_trap(t);
        if (!vy_random_below(t->random, t->one_in))
            put_meeting(t, i);
        if (!vy_random_below(t->random, 2 * t->one_in) &&
            vy_control_uniformity(t->uniform, i) != VY_UNIFORMITY_DIVERGENT)
            put_loop(t, 0);
        if (!vy_stmt_is_structured(s->kind)) {
            vy_cloner_stmt(&t->copy, i);
            put_visible(t, s);
            continue;
        }
        uint32_t mark = vy_cloner_open(&t->copy), outside = t->count;
        if (s->kind == VY_STMT_FOR) {
            uint32_t a = vy_cloner_expr(&t->copy, s->a), b = vy_cloner_expr(&t->copy, s->b),
                     c = vy_cloner_expr(&t->copy, s->c);
            vy_cloner_for(&t->copy, i, a, b, c);
            put_visible(t, s);
        } else {
            vy_cloner_stmt(&t->copy, i);
        }
        put_in_block(t, i + 1, s->middle);
        t->count = outside;
        vy_cloner_close(&t->copy, mark);
        if (s->middle != s->end) {
            vy_irb_else(&t->copy.draft);
            put_in_block(t, s->middle, s->end);
            vy_cloner_close(&t->copy, mark);
        }
        vy_irb_end_block(&t->copy.draft);
    }
    t->count = around;
}

/* The program, which must be inlined, with traps; NULL if it is no program then. */
static inline vyre_program *with_traps(const vyre_program *from, vy_random *random, unsigned one_in) {
    static trapper t;
    vyre_program *made = NULL;
    vyre_error error;
    t = (trapper){.random = random, .one_in = one_in};
    t.copy.variables = calloc(from->variables.count + 1u, sizeof(uint32_t));
    t.copy.memories = calloc(from->memories.count + 1u, sizeof(uint32_t));
    assert_int_equal(vy_uniform_make(from, &t.uniform, &error), VYRE_OK);
    assert_int_equal(vy_cloner_start(&t.copy, from, "p", &error), VYRE_OK);
    vy_cloner_params(&t.copy);
    vy_cloner_buffers(&t.copy, 0);
    vy_cloner_arrays(&t.copy);
    t.harm = vy_irb_array(&t.copy.draft, vy_cloner_new_name(&t.copy, "harm"), VY_SPACE_WORKGROUP, VYRE_TYPE_U32, 1);
    vy_cloner_grid(&t.copy);
    put_in_block(&t, t.copy.entry->first_stmt, t.copy.entry->end_stmt);
    vyre_status status = vy_cloner_finish(&t.copy, &made, &error);
    if (status != VYRE_OK && status != VYRE_INVALID_PROGRAM)
        fail_msg("%s", error.message);
    vy_cloner_discard(&t.copy);
    vy_uniform_free(t.uniform);
    free(t.copy.variables);
    free(t.copy.memories);
    return made;
}

#endif
