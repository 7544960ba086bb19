/* Grid barriers put into a program at random: a program without races delivers the same with a barrier more, and where
 * control is not uniform enough for one, the validator says so and another place is tried. */
#ifndef VY_TESTS_SPLIT_PUT_BARRIERS_H
#define VY_TESTS_SPLIT_PUT_BARRIERS_H

#include "support/test.h"

#include "opt/clone.h"

typedef struct editor {
    vy_cloner copy;
    const uint8_t *chosen; /* by statement: a barrier before it */
} editor;

static inline void add_barrier(editor *e) {
    vy_stmt stmt = vy_irb_blank_stmt(VY_STMT_BARRIER);
    stmt.scope = VYRE_SCOPE_DEVICE;
    vy_irb_stmt(&e->copy.draft, &stmt, NULL, 0, NULL, NULL);
}

static inline void edit_block(editor *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->copy.from->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        if (e->chosen[i])
            add_barrier(e);
        if (!vy_stmt_is_structured(s->kind)) {
            vy_cloner_stmt(&e->copy, i);
            continue;
        }
        uint32_t mark = vy_cloner_open(&e->copy);
        if (s->kind == VY_STMT_FOR) {
            uint32_t a = vy_cloner_expr(&e->copy, s->a), b = vy_cloner_expr(&e->copy, s->b),
                     c = vy_cloner_expr(&e->copy, s->c);
            vy_cloner_for(&e->copy, i, a, b, c);
        } else {
            vy_cloner_stmt(&e->copy, i);
        }
        edit_block(e, i + 1, s->middle);
        vy_cloner_close(&e->copy, mark);
        if (s->middle != s->end) {
            vy_irb_else(&e->copy.draft);
            edit_block(e, s->middle, s->end);
            vy_cloner_close(&e->copy, mark);
        }
        vy_irb_end_block(&e->copy.draft);
    }
}

/* The program with a barrier before each chosen statement, or NULL if it is no program. */
static inline vyre_program *with_barriers(const vyre_program *from, const uint8_t *chosen) {
    editor e = {.chosen = chosen};
    vyre_program *made = NULL;
    vyre_error error;
    e.copy.variables = calloc(from->variables.count + 1u, sizeof(uint32_t));
    e.copy.memories = calloc(from->memories.count + 1u, sizeof(uint32_t));
    assert_int_equal(vy_cloner_start(&e.copy, from, "p", &error), VYRE_OK);
    vy_cloner_params(&e.copy);
    vy_cloner_buffers(&e.copy, 0);
    vy_cloner_grid(&e.copy);
    vy_cloner_arrays(&e.copy);
    edit_block(&e, e.copy.entry->first_stmt, e.copy.entry->end_stmt);
    vyre_status status = vy_cloner_finish(&e.copy, &made, &error);
    if (status != VYRE_OK && status != VYRE_INVALID_PROGRAM)
        fail_msg("%s", error.message);
    vy_cloner_discard(&e.copy);
    free(e.copy.variables);
    free(e.copy.memories);
    return made;
}

/* Chooses up to `count` statements, each only if the program with it is valid. */
static inline vyre_program *choose_barriers(const vyre_program *from, vy_random *random, unsigned count) {
    const vy_function *entry = vy_program_entry(from);
    uint32_t stmts = entry->end_stmt - entry->first_stmt;
    uint8_t *chosen = calloc(from->stmts.count + 1u, 1);
    vyre_program *best = NULL;
    for (unsigned tries = 0; stmts && tries < 4 * count && count; tries++) {
        uint32_t at = entry->first_stmt + (uint32_t)vy_random_below(random, stmts);
        if (chosen[at])
            continue;
        chosen[at] = 1;
        vyre_program *made = with_barriers(from, chosen);
        if (!made) {
            chosen[at] = 0;
            continue;
        }
        vyre_program_release(best);
        best = made;
        count--;
    }
    free(chosen);
    return best;
}

#endif
