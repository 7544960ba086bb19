/* Loops (definite_init_loop.h). */
#include "lower/definite_init_loop.h"

#include "lower/definite_init_access.h"
#include "lower/definite_init_bitset.h"
#include "lower/definite_init_eval.h"

enum { STORES = 1 << 18 }; /* of a loop that is not walked trip by trip, by all invocations */

int vy_definite_init_count_trips(vy_definite_init *f, const vy_stmt *s, uint32_t invocation,
                                 vy_definite_init_counter *out) {
    out->step = 1;
    return vy_definite_init_integer(f, s->a, invocation, &out->at) &&
           vy_definite_init_integer(f, s->b, invocation, &out->end) &&
           (s->c == VY_NONE || vy_definite_init_integer(f, s->c, invocation, &out->step));
}

int vy_definite_init_is_left(const vyre_program *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        uint8_t kind = p->stmts.items[i].kind;
        if (kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE)
            return 1;
        if (vy_stmt_is_loop(kind))
            i = p->stmts.items[i].end - 1; /* what jumps there stays there */
    }
    return 0;
}

/* Stores that every trip makes, of one invocation. */
static void store_in_trips(vy_definite_init *f, uint32_t index, uint32_t invocation, int privately) {
    const vyre_program *p = f->p;
    const vy_stmt *loop = &p->stmts.items[index];
    vy_definite_init_counter c;
    if (!vy_definite_init_count_trips(f, loop, invocation, &c) || c.step == 0 ||
        (c.end - c.at) / c.step > STORES / (vy_wide)(privately ? 1 : f->size))
        return;
    while (vy_definite_init_next_trip(f, loop, &c) && f->steps <= VY_DEFINITE_INIT_STEPS && !f->failed)
        for (uint32_t i = index + 1; i < loop->end; i = p->stmts.items[i].end) {
            const vy_stmt *s = &p->stmts.items[i];
            vy_wide element;
            f->steps++;
            if (s->kind == VY_STMT_STORE && f->arrays[s->memory].written &&
                vy_definite_init_is_private(f, s->memory) == privately &&
                vy_definite_init_integer(f, s->a, invocation, &element))
                vy_definite_init_set_bit(f, s->memory, element);
        }
    f->has_trip[loop->variable] = 0;
}

/* Of private arrays only what does not depend on the place counts. */
void vy_definite_init_store_in_loop(vy_definite_init *f, uint32_t index) {
    f->uses_place = 0;
    uint32_t mark = f->privately.count;
    store_in_trips(f, index, 0, 1);
    if (f->uses_place)
        vy_definite_init_undo_to(&f->privately, mark);
    f->uses_place = 0;
    for (uint32_t i = 0; i < f->size && vy_definite_init_comes_here(f, i) >= 0; i++) {
        if (vy_definite_init_comes_here(f, i))
            store_in_trips(f, index, i, 0);
        if (!f->uses_place)
            return;
    }
}
