/* The state of writing out, and its expressions. Internal to write_out*.c.
 *
 * Expressions lie behind their operands, and trees in the order of their statements: so those of a statement are written in a row, and where one becomes a literal its
 * operands, which are the last that were written, are taken back. */
#ifndef VY_OPT_UNROLL_ARRAYS_EXPRS_H
#define VY_OPT_UNROLL_ARRAYS_EXPRS_H

#include "ir/irbuilder.h"
#include "opt/unroll_arrays_plan.h"

/* A tree as it is written (unroll_arrays_template.c). */
typedef struct vy_pattern {
    uint32_t first, count; /* of vy_unroll_writer.patterns; none: it has no pattern */
    uint32_t is_made;
} vy_pattern;

typedef struct vy_unroll_writer {
    const vyre_program *p;
    vy_unroll_arrays_plan plan;
    vy_irb draft;
    /* By variable: what it is in the draft, or a literal here, or a tree (plan.there). */
    uint32_t *variables;
    uint64_t *bits;
    uint8_t *is_replaced; /* by one of the latter */
    /* By variable that is held: its value is known by another name, and not assigned yet. */
    uint32_t *real; /* the variable of the draft; VY_NONE: there is none */
    uint8_t *is_held;
    uint32_t *held; /* all of them */
    uint32_t held_count;
    uint32_t *memories; /* by memory, of the draft */
    uint32_t *at;       /* by expression: where it was written */
    uint32_t *loaded;   /* by expression: 1 + the variable of the draft that holds what it loads; 0: none */
    VY_VECTOR(vy_expr) patterns;
    vy_pattern *pattern_of; /* by statement of one tree, in a loop whose variables are held */
    vy_arena arena;
    uint32_t made;     /* names */
    uint32_t moved;    /* blocks that stand in another than they did */
    uint32_t holds;    /* loops around whose variables are held */
    uint8_t has_ended; /* the last statement of the block was a jump */
} vy_unroll_writer;

/* Writes the expressions [first, end), whole trees. There must be room. */
void vy_unroll_writer_range(vy_unroll_writer *w, uint32_t first, uint32_t end);
/* Writes the tree [first, end) of a statement by its pattern; 0 if it has none that holds here, and nothing was written. There must be room. */
int vy_unroll_writer_pattern(vy_unroll_writer *w, uint32_t stmt, uint32_t first, uint32_t end);
/* The value of a tree of the original that is a literal here. */
uint64_t vy_unroll_writer_value(const vy_unroll_writer *w, uint32_t expr);
/* The element of what became variables or literals at that index, a tree of the original which is a literal here; VY_NONE: outside. */
uint32_t vy_unroll_writer_element(const vy_unroll_writer *w, uint32_t memory, uint32_t index);
/* Writes the loads of a statement from what stays an array as `let`s before it, so that fusing has little to write: a `let` of a load that is fused goes, and the statement
 * stays as it is. */
void vy_unroll_writer_loads(vy_unroll_writer *w, uint32_t stmt);
/* Takes all expressions from `count` on back. */
void vy_unroll_writer_truncate(vy_unroll_writer *w, uint32_t count);
/* The tree at `expr` of the draft, which starts at `start`, goes to `to`, and nothing is behind it. Returns its root. */
uint32_t vy_unroll_writer_move_back(vy_unroll_writer *w, uint32_t start, uint32_t expr, uint32_t to);
/* There must be room. */
uint32_t vy_unroll_writer_literal(vy_unroll_writer *w, uint8_t type, uint64_t bits);
/* A name that the original does not have. */
vy_symbol vy_unroll_writer_name(vy_unroll_writer *w);
/* Where the tree of an expression starts, which was written last. */
uint32_t vy_unroll_writer_start(const vy_unroll_writer *w, uint32_t expr);
/* Room for so many expressions more; 0 if there is none. Asked for every statement, and most find it. */
int vy_unroll_writer_make_room(vy_unroll_writer *w, uint32_t count);
static inline int vy_unroll_writer_reserve(vy_unroll_writer *w, uint32_t count) {
    const vyre_program *made = w->draft.program;
    uint32_t end = made->exprs.count + count;
    return (!w->draft.failed && end < VY_LIMIT_EXPRESSIONS && end <= made->exprs.capacity) ||
           vy_unroll_writer_make_room(w, count);
}

static inline vy_expr *vy_unroll_writer_expr(const vy_unroll_writer *w, uint32_t expr) {
    return &w->draft.program->exprs.items[expr];
}
static inline int vy_unroll_writer_is_literal(const vy_unroll_writer *w, uint32_t expr) {
    return vy_unroll_writer_expr(w, expr)->kind == VY_EXPR_LITERAL;
}

#endif
