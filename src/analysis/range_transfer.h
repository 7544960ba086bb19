/* State of the range analysis (range.h) and its transfer functions for expressions. Internal to range.c and
 * range_transfer.c.
 *
 * A fact is an interval and a set of symbolic bounds of a subject: a variable, a builtin or the length of a memory.
 * range.c keeps the facts for the current statement; the transfer functions read them. */
#ifndef VY_ANALYSIS_RANGE_TRANSFER_H
#define VY_ANALYSIS_RANGE_TRANSFER_H

#include "analysis/range.h"

enum {
    VY_RANGE_EFFORT = 64, /* values of `let`s that one query follows */
    VY_RANGE_DEPTH = 256  /* operators on the path through them; deeper expressions have no bounds */
};

typedef struct vy_fact {
    vy_range range;
    vy_symbolic_bounds below;
} vy_fact;

/* A logged fact. Most subjects have no symbolic bounds, so these are stored by index. */
typedef struct vy_fact_undo {
    uint32_t subject;
    uint32_t below;
    vy_range range;
} vy_fact_undo;

/* For a `let`: its bounds are those of its value, as long as no fact was added since its definition. `effort` is the
 * cost of computing them again; more than VY_RANGE_EFFORT: the budget was exceeded. */
typedef struct vy_given {
    uint32_t learned, effort;
} vy_given;

struct vy_ranges {
    const vyre_program *program;
    const vy_range_rules *rules;
    unsigned asks;
    vy_range *exprs;      /* by expression */
    uint8_t *load_inside; /* by expression */
    uint8_t *compared;    /* by expression: 1 false, 2 true, 0 unknown */
    uint8_t *may_bound;   /* by expression, from first_expr on: whether vy_symbolic_bounds_of may find anything */
    uint8_t *stmt_inside; /* by statement */
    vy_range *ranges;     /* by subject: its range at the current statement */
    uint32_t *below;      /* by subject: index of its bounds at the current statement, plus 1; 0: none */
    VY_VECTOR(vy_symbolic_bounds) bounds; /* all bounds recorded so far */
    /* number of enclosing scopes that will undo their facts; facts about variables outside of all are permanent */
    uint32_t places;
    uint32_t *lengths; /* by variable: the length that it equals (see vy_length_of), or VY_NONE */
    uint32_t *values;  /* by variable: the expression of its `let`, if that is invariant, or VY_NONE */
    vy_given *given;   /* by variable with such a value */
    uint32_t learned;  /* number of facts added or undone that may affect such a value */
    vy_lengths known;
    uint32_t effort; /* remaining budget of the current query; the caller of a query sets it to VY_RANGE_EFFORT */
    uint32_t depth;  /* of the recursion over expressions and through the values of `let`s: at most VY_RANGE_DEPTH */
    VY_VECTOR(vy_fact_undo) log;
    uint32_t first_expr; /* the first expression of the current statement, while no fact was added since they were
                          * visited; VY_NONE */
    uint32_t next_expr;
    vy_range whole[VYRE_TYPE_COUNT]; /* by type: all values */
    size_t size;                     /* of the block, which starts at exprs */
    int failed;
};

/* ---- subjects; inline because they are queried for every expression ---- */

static inline uint32_t vy_builtin_subject(const vyre_program *p, uint32_t builtin, uint32_t axis) {
    return p->variables.count + builtin * 3 + axis;
}

static inline uint32_t vy_subject_count(const vyre_program *p) {
    return vy_builtin_subject(p, VYRE_BUILTIN_COUNT, 0) + p->memories.count;
}

/* The subject of the length with this name: a memory or a param. */
static inline uint32_t vy_length_subject(const vyre_program *p, uint32_t name) {
    return name < p->memories.count ? vy_builtin_subject(p, VYRE_BUILTIN_COUNT, 0) + name : name - p->memories.count;
}

/* The type of the facts of a subject. */
static inline uint8_t vy_subject_type(const vyre_program *p, uint32_t subject) {
    return subject < p->variables.count ? vy_variable_at(p, subject)->type : VYRE_TYPE_U32;
}

/* The subject of an expression, or VY_NONE. */
static inline uint32_t vy_subject_of(const vy_ranges *r, const vy_expr *e) {
    if (e->kind == VY_EXPR_VARIABLE)
        return e->a;
    if (e->kind == VY_EXPR_LEN) {
        uint32_t subject = vy_length_subject(r->program, vy_length_of(r->program, e->a));
        return vy_subject_type(r->program, subject) == e->type ? subject : VY_NONE;
    }
    return e->kind == VY_EXPR_BUILTIN ? vy_builtin_subject(r->program, e->op, e->axis) : VY_NONE;
}

/* ---- values of variables ---- */

/* The value of a `let`, if the budget suffices; otherwise the expression itself. */
static inline uint32_t vy_let_value(vy_ranges *r, uint32_t expr) {
    const vy_expr *e = vy_expr_at(r->program, expr);
    if (e->kind != VY_EXPR_VARIABLE || r->values[e->a] == VY_NONE || r->effort == 0)
        return expr;
    r->effort--;
    return r->values[e->a];
}

/* The length that an expression equals, or VY_NONE. */
static inline uint32_t vy_length_in(const vy_ranges *r, uint32_t expr) {
    const vy_expr *e = vy_expr_at(r->program, expr);
    if (e->kind == VY_EXPR_LEN)
        return vy_length_of(r->program, e->a);
    return e->kind == VY_EXPR_VARIABLE ? r->lengths[e->a] : VY_NONE;
}

/* The interval of a visited expression. */
static inline vy_interval vy_interval_at(const vy_ranges *r, uint32_t expr) {
    return vy_interval_of(vy_expr_at(r->program, expr)->type, r->exprs[expr]);
}

/* ---- facts ---- */

static inline vy_fact vy_fact_at(const vy_ranges *r, uint32_t subject) {
    vy_fact known = {r->ranges[subject], {0}};
    if (r->below[subject])
        known.below = r->bounds.items[r->below[subject] - 1];
    return known;
}

/* ---- transfer functions ---- */

/* The lengths that a value is certainly below: by a fact of a subject, or because the value is derived from another
 * with such bounds. Recursion is bounded by VY_RANGE_DEPTH, also through the values of `let`s. */
vy_symbolic_bounds vy_symbolic_bounds_of(vy_ranges *r, uint32_t expr);
/* Adds the bounds of a value that is less than an expression; with `less` 0, not greater than it. */
void vy_symbolic_bounds_add_less(vy_ranges *r, vy_symbolic_bounds *all, uint32_t expr, int less);
/* Visits all expressions of a statement, which follow those of the previously visited statement. */
void vy_ranges_visit_exprs(vy_ranges *r, const vy_stmt *s);
/* Whether a visited index is certainly in bounds of a memory. */
uint8_t vy_index_is_inside(vy_ranges *r, uint32_t memory, uint32_t index);
/* The interval of a length without any facts. */
vy_interval vy_fact_of_length(const vyre_program *program, uint32_t memory);

#endif
