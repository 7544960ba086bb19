/* State of the range analysis (range.h) and its transfer functions for expressions. Internal to range.c and
 * range_transfer.c.
 *
 * A fact is an interval and a set of symbolic bounds of a subject: a variable, a builtin or the length of a memory.
 * range.c keeps the facts for the current statement; the transfer functions read them. */
#ifndef VY_ANALYSIS_RANGE_TRANSFER_H
#define VY_ANALYSIS_RANGE_TRANSFER_H

#include "analysis/range.h"

enum {
    VY_RANGE_EFFORT = 64, /* values of `let`s that are looked into for one question */
    VY_RANGE_DEPTH = 256  /* operators on the path through them: what lies deeper says nothing */
};

typedef struct vy_fact {
    vy_range range;
    vy_symbolic_bounds below;
} vy_fact;

/* As it is kept: of most subjects no bounds are known. */
typedef struct vy_fact_undo {
    uint32_t subject;
    uint32_t below;
    vy_range range;
} vy_fact_undo;

/* Of a `let`: its bounds are those of its value, as long as nothing is learned that was not known where it stands. To
 * find them again would take so much effort; more than VY_RANGE_EFFORT: it was not enough. */
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
    vy_range *ranges;     /* by subject: at the current statement */
    uint32_t *below;      /* by subject: its bounds there, plus 1; 0: none */
    VY_VECTOR(vy_symbolic_bounds) bounds; /* that were ever known */
    /* that the walk is in and will leave: outside of all nothing that is learned of a variable is taken back */
    uint32_t places;
    uint32_t *lengths; /* by variable: the length it holds (see vy_length_of), or VY_NONE */
    uint32_t *values;  /* by variable: the expression of its `let`, if that cannot change, or VY_NONE */
    vy_given *given;   /* by variable, if it has such a value */
    uint32_t learned;  /* how often something was, or was taken back, of what may stand in a value */
    vy_lengths known;
    uint32_t effort; /* left for the current question: whoever asks one sets it to VY_RANGE_EFFORT */
    uint32_t depth;  /* of the recursion over expressions and through the values of `let`s: at most VY_RANGE_DEPTH */
    VY_VECTOR(vy_fact_undo) log;
    uint32_t first_expr; /* of the current statement, as long as nothing was learned since they were visited; VY_NONE */
    uint32_t next_expr;
    vy_range whole[VYRE_TYPE_COUNT]; /* by type: all values */
    size_t size;                     /* of the block, which starts at exprs */
    int failed;
};

/* ---- subjects; inline, since every expression is asked for its own ---- */

static inline uint32_t vy_builtin_subject(const vyre_program *p, uint32_t builtin, uint32_t axis) {
    return p->variables.count + builtin * 3 + axis;
}

static inline uint32_t vy_subject_count(const vyre_program *p) {
    return vy_builtin_subject(p, VYRE_BUILTIN_COUNT, 0) + p->memories.count;
}

/* Of the length that has this name: a memory's, or a param. */
static inline uint32_t vy_length_subject(const vyre_program *p, uint32_t name) {
    return name < p->memories.count ? vy_builtin_subject(p, VYRE_BUILTIN_COUNT, 0) + name : name - p->memories.count;
}

/* The type in which the facts of a subject are kept. */
static inline uint8_t vy_subject_type(const vyre_program *p, uint32_t subject) {
    return subject < p->variables.count ? p->variables.items[subject].type : VYRE_TYPE_U32;
}

/* What facts are kept of, or VY_NONE. */
static inline uint32_t vy_subject_of(const vy_ranges *r, const vy_expr *e) {
    if (e->kind == VY_EXPR_VARIABLE)
        return e->a;
    if (e->kind == VY_EXPR_LEN) {
        uint32_t subject = vy_length_subject(r->program, vy_length_of(r->program, e->a));
        return vy_subject_type(r->program, subject) == e->type ? subject : VY_NONE;
    }
    return e->kind == VY_EXPR_BUILTIN ? vy_builtin_subject(r->program, e->op, e->axis) : VY_NONE;
}

/* ---- what expressions stand for ---- */

/* The expression that a `let` stands for, a few steps back at most; the expression itself if it is none. */
static inline uint32_t vy_let_value(vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    if (e->kind != VY_EXPR_VARIABLE || r->values[e->a] == VY_NONE || r->effort == 0)
        return expr;
    r->effort--;
    return r->values[e->a];
}

/* The length an expression is, or VY_NONE. */
static inline uint32_t vy_length_in(const vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    if (e->kind == VY_EXPR_LEN)
        return vy_length_of(r->program, e->a);
    return e->kind == VY_EXPR_VARIABLE ? r->lengths[e->a] : VY_NONE;
}

/* Of an expression that was visited. */
static inline vy_interval vy_interval_at(const vy_ranges *r, uint32_t expr) {
    return vy_interval_of(r->program->exprs.items[expr].type, r->exprs[expr]);
}

/* ---- facts ---- */

static inline vy_fact vy_fact_at(const vy_ranges *r, uint32_t subject) {
    vy_fact known = {r->ranges[subject], {0}};
    if (r->below[subject])
        known.below = r->bounds.items[r->below[subject] - 1];
    return known;
}

/* ---- transfer functions ---- */

/* The lengths a value is below for certain: those of a subject, or of something that is not above one or not far above.
 * Recursion is bounded by VY_RANGE_DEPTH, also through the values of `let`s. */
vy_symbolic_bounds vy_symbolic_bounds_of(vy_ranges *r, uint32_t expr);
/* The lengths that something less than an expression is below; `less` 0: something that is not more. */
void vy_symbolic_bounds_add_less(vy_ranges *r, vy_symbolic_bounds *all, uint32_t expr, int less);
/* All expressions of a statement, which follow those of the statement visited before. */
void vy_ranges_visit_exprs(vy_ranges *r, const vy_stmt *s);
/* Whether an index that was visited is inside a memory for certain. */
uint8_t vy_index_is_inside(vy_ranges *r, uint32_t memory, uint32_t index);
/* What a length lies between before anybody compares it. */
vy_interval vy_fact_of_length(const vyre_program *program, uint32_t memory);

#endif
