/* Accesses (definite_init_access.h). */
#include "lower/definite_init_access.h"

#include "ir/walk.h"
#include "lower/definite_init_bitset.h"
#include "lower/definite_init_eval.h"

static int find_range(vy_definite_init *f, uint32_t expr, vy_interval *out) {
    if (!f->ranges && vy_ranges_make_by(f->p, &vy_range_rules_sound, 0, &f->ranges, NULL) != VYRE_OK) {
        f->failed = 1;
        return 0;
    }
    *out = vy_interval_of(f->p->exprs.items[expr].type, vy_range_of(f->ranges, expr));
    return 1;
}

void vy_definite_init_read(vy_definite_init *f, uint32_t memory, uint32_t index) {
    const vy_memory *m = &f->p->memories.items[memory];
    if (m->space == VY_SPACE_BUFFER || f->needs[memory])
        return;
    vy_interval i;
    vy_wide low, high;
    f->uses_place = 0;
    if (vy_definite_init_integer(f, index, 0, &low) && !f->uses_place) {
        high = low;
    } else if (find_range(f, index, &i)) {
        low = i.low;
        high = i.high;
    } else {
        return;
    }
    if (low < 0)
        low = 0;
    if (high >= m->elements)
        high = (vy_wide)m->elements - 1;
    if (low <= high && (!f->arrays[memory].seen || !vy_definite_init_is_seen(f, memory, (uint32_t)low, (uint32_t)high)))
        f->needs[memory] = 1;
}

void vy_definite_init_read_loads(vy_definite_init *f, uint32_t stmt) {
    const vyre_program *p = f->p;
    const vy_stmt *s = &p->stmts.items[stmt];
    uint32_t end = vy_stmt_exprs_end(p, s, f->first_expr[stmt]);
    for (uint32_t i = f->first_expr[stmt]; i < end; i++)
        if (p->exprs.items[i].kind == VY_EXPR_LOAD)
            vy_definite_init_read(f, p->exprs.items[i].a, p->exprs.items[i].b);
}

int vy_definite_init_comes_here(vy_definite_init *f, uint32_t invocation) {
    for (uint32_t i = f->base; i < f->path.count; i++) {
        uint64_t bits;
        if (!vy_definite_init_value(f, f->path.items[i].expr, invocation, &bits))
            return -1;
        if ((bits != 0) != f->path.items[i].holds)
            return 0;
    }
    return 1;
}

static void store_private(vy_definite_init *f, const vy_stmt *s) {
    vy_wide index;
    f->uses_place = 0;
    if (vy_definite_init_integer(f, s->a, 0, &index) && !f->uses_place)
        vy_definite_init_set_bit(f, s->memory, index);
}

static void store_together(vy_definite_init *f, const vy_stmt *s, vy_definite_init_lanes *lanes) {
    vy_wide index;
    f->uses_place = 0;
    for (uint32_t i = 0; i < f->size && !f->failed; i++) {
        int here = vy_definite_init_comes_here(f, i);
        if (here < 0)
            return;
        int path_uses_place = f->uses_place;
        f->uses_place = 0;
        if (!vy_definite_init_next(f, lanes, s->a, i, &index))
            return;
        if (here)
            vy_definite_init_set_bit(f, s->memory, index);
        if (!f->uses_place && (here || !path_uses_place))
            return; /* the others store there, too, or not at all */
        f->uses_place |= path_uses_place;
    }
}

void vy_definite_init_store(vy_definite_init *f, const vy_stmt *s) {
    vy_definite_init_lanes lanes = {0};
    if (f->p->memories.items[s->memory].space == VY_SPACE_BUFFER || !f->arrays[s->memory].written ||
        vy_definite_init_is_full(f, s->memory, f->arrays[s->memory].written))
        return;
    if (vy_definite_init_is_private(f, s->memory))
        store_private(f, s);
    else
        store_together(f, s, &lanes);
    vy_arena_free(&lanes.arena);
}
