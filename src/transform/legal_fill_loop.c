/* Loops (legal_fill_loop.h). */
#include "transform/legal_fill_loop.h"

#include "transform/legal_fill_access.h"
#include "transform/legal_fill_bits.h"
#include "transform/legal_fill_value.h"

enum { STORES = 1 << 18 }; /* of a loop that is not walked trip by trip, by all invocations */

int vy_fill_count_trips(vy_fill_proof *f, const vy_stmt *s, uint32_t invocation, vy_fill_counter *out) {
    out->step = 1;
    return vy_fill_integer(f, s->a, invocation, &out->at) && vy_fill_integer(f, s->b, invocation, &out->end) &&
           (s->c == VY_NONE || vy_fill_integer(f, s->c, invocation, &out->step));
}

int vy_fill_is_left(const vyre_program *p, uint32_t first, uint32_t end) {
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
static void store_in_trips(vy_fill_proof *f, uint32_t index, uint32_t invocation, int privately) {
    const vyre_program *p = f->p;
    const vy_stmt *loop = &p->stmts.items[index];
    vy_fill_counter c;
    if (!vy_fill_count_trips(f, loop, invocation, &c) || c.step == 0 ||
        (c.end - c.at) / c.step > STORES / (vy_wide)(privately ? 1 : f->size))
        return;
    while (vy_fill_next_trip(f, loop, &c) && f->steps <= VY_FILL_STEPS && !f->failed)
        for (uint32_t i = index + 1; i < loop->end; i = p->stmts.items[i].end) {
            const vy_stmt *s = &p->stmts.items[i];
            vy_wide element;
            f->steps++;
            if (s->kind == VY_STMT_STORE && f->arrays[s->memory].written &&
                vy_fill_is_private(f, s->memory) == privately && vy_fill_integer(f, s->a, invocation, &element))
                vy_fill_set_bit(f, s->memory, element);
        }
    f->has_trip[loop->variable] = 0;
}

/* Of private arrays only what does not depend on the place counts. */
void vy_fill_store_in_loop(vy_fill_proof *f, uint32_t index) {
    f->uses_place = 0;
    uint32_t mark = f->privately.count;
    store_in_trips(f, index, 0, 1);
    if (f->uses_place)
        vy_fill_undo_to(&f->privately, mark);
    f->uses_place = 0;
    for (uint32_t i = 0; i < f->size && vy_fill_comes_here(f, i) >= 0; i++) {
        if (vy_fill_comes_here(f, i))
            store_in_trips(f, index, i, 0);
        if (!f->uses_place)
            return;
    }
}
