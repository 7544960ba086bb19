/* Patterns: trees that are written in every trip, put together once.
 *
 * What a tree becomes is the same every time but for the variables it reads: values stand where they are used already, elements and what was loaded before are leaves, and operands are counted
 * from the start of it. So it is copied and moved. What must stay true: where it would become something else, by a literal in the place of a variable, it is written expression by expression
 * (unroll_arrays_exprs.c), and nothing that is known before is folded by it. */
#include "opt/unroll_arrays_exprs.h"

/* ---- making ---- */

static vy_expr *entry(const vy_unroll_writer *w, const vy_pattern *pattern, uint32_t at) {
    return &w->patterns.items[pattern->first + at];
}

/* Appends a leaf or an op; w->at of the original says where, from the start of the pattern. */
static int add(vy_unroll_writer *w, vy_pattern *pattern, uint32_t expr, vy_expr made) {
    vy_expr *slot = VY_PUSH(&w->patterns);
    if (!slot) {
        w->draft.failed = 1;
        return 0;
    }
    *slot = made;
    w->at[expr] = pattern->count++;
    return 1;
}

/* What was loaded before the statement: its index goes. */
static int add_loaded(vy_unroll_writer *w, vy_pattern *pattern, uint32_t load) {
    vy_expr made = w->p->exprs.items[load];
    uint32_t start = w->at[made.b];
    if (!w->loaded[load] || made.c != VY_NONE)
        return 0;
    while (entry(w, pattern, start)->kind == VY_EXPR_OP)
        start = entry(w, pattern, start)->a;
    w->patterns.count = pattern->first + start;
    pattern->count = start;
    made.bits = load;
    return add(w, pattern, load, made);
}

/* Whether an op of this may be folded. */
static int is_literal(const vy_unroll_writer *w, const vy_expr *e) {
    return e->kind == VY_EXPR_LITERAL || (e->kind == VY_EXPR_LOAD && w->plan.array[e->a] == VY_ARRAY_LITERALS);
}

static int add_op(vy_unroll_writer *w, vy_pattern *pattern, uint32_t expr) {
    vy_expr made = w->p->exprs.items[expr];
    made.a = w->at[made.a];
    made.b = made.b == VY_NONE ? VY_NONE : w->at[made.b];
    made.c = made.c == VY_NONE ? VY_NONE : w->at[made.c];
    if (made.op == VYRE_OP_LAND || made.op == VYRE_OP_LOR || is_literal(w, entry(w, pattern, made.a)))
        return 0;
    return add(w, pattern, expr, made);
}

/* The expressions [first, end). Recursion is bounded by what a tree may become by it (unroll_arrays_plan.c). */
static int add_range(vy_unroll_writer *w, vy_pattern *pattern, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        vy_expr made = w->p->exprs.items[i];
        uint32_t known = w->plan.known_from[i], there = made.kind == VY_EXPR_VARIABLE ? w->plan.there[made.a] : VY_NONE;
        int is_added;
        if (known != VY_NONE) {
            made = w->p->exprs.items[known];
            made.bits = i = known;
            is_added = made.kind == VY_EXPR_LOAD && add(w, pattern, known, made);
        } else if (there != VY_NONE) {
            is_added = add_range(w, pattern, w->plan.first_expr[there], w->plan.first_expr[there + 1]);
            w->at[i] = pattern->count - 1;
        } else if (made.kind == VY_EXPR_LOAD) {
            is_added = add_loaded(w, pattern, i);
        } else if (made.kind == VY_EXPR_OP) {
            is_added = add_op(w, pattern, i);
        } else {
            made.a = made.kind == VY_EXPR_LEN || made.kind == VY_EXPR_ALIGN_OFFSET ? w->memories[made.a] : made.a;
            is_added = add(w, pattern, i, made);
        }
        if (!is_added)
            return 0;
    }
    return 1;
}

static void make(vy_unroll_writer *w, vy_pattern *pattern, uint32_t first, uint32_t end) {
    *pattern = (vy_pattern){.first = w->patterns.count, .is_made = 1};
    if (!add_range(w, pattern, first, end)) {
        w->patterns.count = pattern->first;
        pattern->count = 0;
    }
}

/* ---- writing ---- */

/* What a load became: 0 if it is nothing that the pattern knows. */
static int write_load(const vy_unroll_writer *w, const vy_expr *e, vy_expr *to) {
    uint32_t load = (uint32_t)e->bits;
    uint64_t value = 0;
    if (w->plan.array[e->a] != VY_ARRAY_STAYS) {
        uint32_t element = e->c == VY_NONE ? vy_unroll_writer_element(w, e->a, e->b) : VY_NONE;
        if (element == VY_NONE)
            return 0;
        value = w->plan.elements[element];
    }
    if (w->plan.array[e->a] == VY_ARRAY_LITERALS) {
        *to = (vy_expr){.type = e->type, .a = VY_NONE, .b = VY_NONE, .c = VY_NONE, .bits = value};
        return 1;
    }
    *to = (vy_expr){.kind = VY_EXPR_VARIABLE,
                    .type = e->type,
                    .a = w->plan.array[e->a] == VY_ARRAY_STAYS ? w->loaded[load] - 1 : (uint32_t)value,
                    .b = VY_NONE,
                    .c = VY_NONE};
    return 1;
}

int vy_unroll_writer_pattern(vy_unroll_writer *w, uint32_t stmt, uint32_t first, uint32_t end) {
    vy_pattern *pattern = &w->pattern_of[stmt];
    vyre_program *program = w->draft.program;
    uint32_t base = program->exprs.count;
    vy_expr *to = program->exprs.items + base;
    if (!pattern->is_made)
        make(w, pattern, first, end);
    if (!pattern->count)
        return 0;
    for (const vy_expr *e = w->patterns.items + pattern->first, *last = e + pattern->count; e < last; e++, to++) {
        *to = *e;
        if (e->kind == VY_EXPR_OP) {
            to->a = e->a + base;
            if (e->b != VY_NONE)
                to->b = e->b + base;
            if (e->c != VY_NONE)
                to->c = e->c + base;
        } else if (e->kind == VY_EXPR_VARIABLE) {
            if (w->is_replaced[e->a])
                return 0;
            to->a = w->variables[e->a];
        } else if (e->kind == VY_EXPR_LOAD && !write_load(w, e, to)) {
            return 0;
        }
    }
    program->exprs.count = base + pattern->count;
    w->at[end - 1] = program->exprs.count - 1;
    return 1;
}
