/* The walk of the proof (definite_init.h), and what it starts with. */
#include "lower/definite_init.h"

#include "base/status.h"
#include "base/thread.h"
#include "ir/walk.h"
#include "lower/definite_init_access.h"
#include "lower/definite_init_bitset.h"
#include "lower/definite_init_loop.h"
#include "lower/zero_init.h"

enum {
    ELEMENTS = 1 << 16, /* of an array that is looked at */
    TRIPS = 1 << 16     /* statements in all trips of a loop that is walked trip by trip, and of the loops around it */
};

/* ---- the walk ---- */

static void walk(vy_definite_init *f, uint32_t first, uint32_t end);

/* How many trips a loop makes, the same for all invocations; -1: not known, or too many to walk, or it may be left. */
static int trips_to_walk(vy_definite_init *f, uint32_t index) {
    const vy_stmt *s = &f->p->stmts.items[index];
    uint64_t most = TRIPS / ((uint64_t)f->times * (s->end - index)), trips = 0;
    vy_definite_init_counter c;
    f->uses_place = 0;
    if (s->kind != VY_STMT_FOR || vy_definite_init_is_left(f->p, index + 1, s->end) ||
        !vy_definite_init_count_trips(f, s, 0, &c) || f->uses_place)
        return -1;
    while (trips <= most && vy_definite_init_next_trip(f, s, &c))
        trips++;
    f->has_trip[s->variable] = 0;
    return trips <= most ? (int)trips : -1;
}

static int has_barrier(const vy_definite_init *f, uint32_t first, uint32_t end) {
    return f->barriers[end] != f->barriers[first];
}

/* A block; if a barrier stands in it, all come there together. */
static void walk_block(vy_definite_init *f, uint32_t first, uint32_t end) {
    uint32_t base = f->base;
    if (has_barrier(f, first, end))
        f->base = f->path.count;
    walk(f, first, end);
    f->base = base;
}

static void walk_loop(vy_definite_init *f, uint32_t index) {
    const vy_stmt *s = &f->p->stmts.items[index];
    uint32_t mark = f->privately.count, mark_together = f->together.count;
    vy_definite_init_counter c;
    if (vy_definite_init_is_decided(f))
        return;
    int trips = trips_to_walk(f, index);
    vy_definite_init_read_operands(f, index);
    if (trips >= 0 && vy_definite_init_count_trips(f, s, 0, &c)) {
        uint32_t times = f->times;
        f->times *= trips ? (uint32_t)trips : 1;
        while (vy_definite_init_next_trip(f, s, &c) && !f->failed && f->steps <= VY_DEFINITE_INIT_STEPS)
            walk_block(f, index + 1, s->end);
        f->times = times;
        f->has_trip[s->variable] = 0;
        return;
    }
    walk_block(f, index + 1, s->end);
    vy_definite_init_undo_to(&f->privately, mark);
    vy_definite_init_undo_to(&f->together, mark_together);
    if (s->kind == VY_STMT_FOR && !vy_definite_init_is_left(f->p, index + 1, s->end))
        vy_definite_init_store_in_loop(f, index);
}

static int comes_back(const vyre_program *p, uint32_t first, uint32_t end) {
    uint8_t last = VY_STMT_KIND_COUNT;
    for (uint32_t i = first; i < end; i = p->stmts.items[i].end)
        last = p->stmts.items[i].kind;
    return last != VY_STMT_BREAK && last != VY_STMT_CONTINUE && last != VY_STMT_RETURN && last != VY_STMT_TRAP;
}

static void walk_branch(vy_definite_init *f, uint32_t expr, int holds, uint32_t first, uint32_t end) {
    vy_definite_init_condition *c = VY_PUSH(&f->path);
    if (!c) {
        f->failed = 1;
        return;
    }
    *c = (vy_definite_init_condition){expr, holds};
    walk_block(f, first, end);
    f->path.count--;
}

static void walk_if(vy_definite_init *f, uint32_t index) {
    const vy_stmt *s = &f->p->stmts.items[index];
    uint32_t mark = f->privately.count, mark_together = f->together.count;
    vy_definite_init_read_operands(f, index);
    walk_branch(f, s->a, 1, index + 1, s->middle);
    vy_definite_init_undo_to(&f->privately, mark);
    if (has_barrier(f, index, s->end))
        vy_definite_init_undo_to(&f->together, mark_together);
    walk_branch(f, s->a, 0, s->middle, s->end);
    if (comes_back(f->p, index + 1, s->middle))
        vy_definite_init_undo_to(&f->privately, mark);
    if (has_barrier(f, index, s->end))
        vy_definite_init_undo_to(&f->together, mark_together);
}

static void walk(vy_definite_init *f, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !f->failed && f->steps <= VY_DEFINITE_INIT_STEPS;
         i = f->p->stmts.items[i].end) {
        const vy_stmt *s = &f->p->stmts.items[i];
        f->steps++;
        if (f->touches[s->end] == f->touches[i])
            continue;
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_IF:
            walk_if(f, i);
            continue;
        case VY_STMT_FOR:
        case VY_STMT_WHILE:
            walk_loop(f, i);
            continue;
        case VY_STMT_REGION:
            walk(f, i + 1, s->end);
            continue;
        default:
            break;
        }
        vy_definite_init_read_operands(f, i);
        if (s->kind == VY_STMT_STORE)
            vy_definite_init_store(f, s);
        else if (s->kind == VY_STMT_ATOMIC)
            vy_definite_init_read(f, s->memory, s->a);
        else if (s->kind == VY_STMT_BARRIER)
            vy_definite_init_barrier(f);
        if (s->kind == VY_STMT_BARRIER && vy_definite_init_is_decided(f))
            return;
    }
}

/* ---- all of it ---- */

static int is_array(const vyre_program *p, uint32_t memory) {
    return memory != VY_NONE && p->memories.items[memory].space != VY_SPACE_BUFFER;
}

static void note_statements(vy_definite_init *f) {
    const vyre_program *p = f->p;
    uint32_t expr = 0, barriers = 0, touches = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        f->first_expr[i] = expr;
        f->barriers[i] = barriers;
        f->touches[i] = touches;
        for (uint32_t end = vy_stmt_exprs_end(p, s, expr); expr < end; expr++) {
            const vy_expr *e = &p->exprs.items[expr];
            f->loads[i] |= e->kind == VY_EXPR_LOAD && is_array(p, e->a);
        }
        barriers += s->kind == VY_STMT_BARRIER;
        touches += s->kind == VY_STMT_BARRIER || f->loads[i] || is_array(p, s->memory);
        if (s->kind == VY_STMT_LET)
            f->values[s->variable] = s->a;
    }
    f->barriers[p->stmts.count] = barriers;
    f->touches[p->stmts.count] = touches;
}

static int prepare(vy_definite_init *f, vy_arena *arena) {
    const vyre_program *p = f->p;
    size_t stmts = p->stmts.count + 1u, variables = p->variables.count + 1u;
    f->arrays = vy_arena_allocate(arena, vy_array_size(p->memories.count + 1u, sizeof *f->arrays));
    f->first_expr = vy_arena_allocate(arena, vy_array_size(stmts, sizeof *f->first_expr));
    f->barriers = vy_arena_allocate(arena, vy_array_size(stmts, sizeof *f->barriers));
    f->touches = vy_arena_allocate(arena, vy_array_size(stmts, sizeof *f->touches));
    f->loads = vy_arena_allocate(arena, stmts);
    f->values = vy_arena_allocate(arena, vy_array_size(variables, sizeof *f->values));
    f->trips = vy_arena_allocate(arena, vy_array_size(variables, sizeof *f->trips));
    f->has_trip = vy_arena_allocate(arena, variables);
    if (!f->arrays || !f->first_expr || !f->barriers || !f->touches || !f->loads || !f->values || !f->trips ||
        !f->has_trip)
        return 0;
    memset(f->values, 0xff, variables * sizeof *f->values);
    for (uint32_t m = p->buffer_count; m < p->memories.count; m++) {
        vy_definite_init_array *a = &f->arrays[m];
        if (p->memories.items[m].elements > ELEMENTS)
            continue;
        size_t size = vy_definite_init_words(p, m) * sizeof *a->seen;
        a->seen = vy_arena_allocate(arena, size);
        a->written = vy_definite_init_is_private(f, m) ? a->seen : vy_arena_allocate(arena, size);
        if (!a->seen || !a->written)
            return 0;
    }
    note_statements(f);
    return 1;
}

static vyre_status prove(vy_definite_init *f, vyre_error *error) {
    const vy_function *entry = vy_program_entry(f->p);
    vy_arena arena = {0};
    vy_fenv saved;
    f->failed = !prepare(f, &arena);
    vy_fenv_enter(&saved); /* for all values */
    if (!f->failed)
        walk(f, entry->first_stmt, entry->end_stmt);
    vy_fenv_leave(&saved);
    VY_VECTOR_FREE(&f->privately);
    VY_VECTOR_FREE(&f->together);
    VY_VECTOR_FREE(&f->path);
    vy_arena_free(&arena);
    if (f->failed)
        return vy_fail_memory(error, "the proof that arrays are written");
    if (f->steps > VY_DEFINITE_INIT_STEPS)
        memset(f->needs + f->p->buffer_count, 1, f->p->memories.count - f->p->buffer_count);
    return VYRE_OK;
}

vyre_status vy_zero_init_needs(const vyre_program *program, uint8_t *needs, vyre_error *error) {
    const uint32_t *size = program->workgroup;
    vy_definite_init f = {.p = program, .needs = needs, .size = size[0] * size[1] * size[2], .times = 1};
    memset(needs, 0, program->memories.count);
    vyre_status status = prove(&f, error);
    vy_ranges_free(f.ranges);
    return status;
}
