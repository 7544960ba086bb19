/* Loops: the trips of a `for`, and what it writes in all of them. Internal to legal_fill_*.c.
 *
 * What must stay true: the variable of a loop has a value (f->has_trip) only while a trip of it is looked at; and stores count for all trips only if nothing leaves one. */
#ifndef VY_LOWER_DEFINITE_INIT_LOOP_H
#define VY_LOWER_DEFINITE_INIT_LOOP_H

#include "lower/definite_init.h"
#include "opt/pass_manager.h"

/* The values of the variable of a `for`, for an invocation. */
typedef struct vy_definite_init_counter {
    vy_wide at, end, step;
} vy_definite_init_counter;

/* Before the first trip of an invocation; 0 if its bounds are not known. */
int vy_definite_init_count_trips(vy_definite_init *f, const vy_stmt *s, uint32_t invocation,
                                 vy_definite_init_counter *out);
/* Takes the next trip; 0 at the end. */
static inline int vy_definite_init_next_trip(vy_definite_init *f, const vy_stmt *s, vy_definite_init_counter *c) {
    int goes_on = c->step > 0 ? c->at < c->end : c->step < 0 && c->at > c->end;
    f->has_trip[s->variable] = (uint8_t)goes_on;
    f->trips[s->variable] = (uint64_t)c->at & vy_type_layouts[f->p->variables.items[s->variable].type].mask;
    c->at += c->step;
    return goes_on;
}

/* Whether something in the body leaves a trip, or the loop. */
int vy_definite_init_is_left(const vyre_program *p, uint32_t first, uint32_t end);
/* A `for` that was passed, and that nothing leaves: what is stored in every trip. May fail: f->failed. */
void vy_definite_init_store_in_loop(vy_definite_init *f, uint32_t index);

#endif
