/* The normal form of a program to be split (vy_plan_canonical).
 *
 * A segment that starts inside a `for` goes on with `for i in i .. end step s`. What `end` and `step` were when the
 * loop began must then be known: an expression with a load or a mutable variable in it may give something else later,
 * so it is moved into a `let` before the loop. */
#include "opt/clone.h"
#include "split/grid_split_plan.h"

#include <stdio.h>

typedef struct normaliser {
    vy_cloner copy;
    const uint32_t *before; /* by statement: grid barriers before it */
} normaliser;

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int is_constant(const vyre_program *p, uint32_t root) {
    if (root == VY_NONE)
        return 1;
    const vy_expr *e = &p->exprs.items[root];
    switch (e->kind) {
    case VY_EXPR_VARIABLE:
        return !p->variables.items[e->a].is_mutable;
    case VY_EXPR_LOAD:
        return 0;
    case VY_EXPR_OP:
        return !vy_is_relaxed(p, e) && is_constant(p, e->a) && is_constant(p, e->b) && is_constant(p, e->c);
    default:
        return 1;
    }
}

/* The `let` that holds a bound; VY_NONE if it can stay where it is. */
static uint32_t hoist(normaliser *n, uint32_t loop, uint32_t bound, const char *what) {
    const vyre_program *from = n->copy.from;
    if (is_constant(from, bound))
        return VY_NONE;
    const vy_variable *v = &from->variables.items[from->stmts.items[loop].variable];
    char text[VY_LIMIT_NAME + 1];
    snprintf(text, sizeof text, "%.*s_%s", VY_LIMIT_NAME - 8, vy_symbol_name(from, v->name), what);
    uint32_t value = vy_cloner_expr(&n->copy, bound);
    vy_symbol name = vy_cloner_new_name(&n->copy, text);
    n->copy.draft.position = vy_stmt_position(from, loop);
    return vy_irb_let(&n->copy.draft, name, (vyre_type)v->type, value);
}

static uint32_t bound_of(normaliser *n, uint32_t bound, uint32_t hoisted) {
    return hoisted == VY_NONE ? vy_cloner_expr(&n->copy, bound) : vy_irb_variable(&n->copy.draft, hoisted);
}

static void copy_block(normaliser *n, uint32_t first, uint32_t end);

static void copy_body(normaliser *n, const vy_stmt *s, uint32_t first, uint32_t mark) {
    copy_block(n, first, s->middle);
    vy_cloner_close(&n->copy, mark);
    if (s->middle != s->end) {
        vy_irb_else(&n->copy.draft);
        copy_block(n, s->middle, s->end);
        vy_cloner_close(&n->copy, mark);
    }
    vy_irb_end_block(&n->copy.draft);
}

static void copy_for(normaliser *n, uint32_t loop) {
    const vy_stmt *s = &n->copy.from->stmts.items[loop];
    uint32_t to = hoist(n, loop, s->b, "end"), step = hoist(n, loop, s->c, "step");
    uint32_t mark = vy_cloner_open(&n->copy);
    uint32_t a = vy_cloner_expr(&n->copy, s->a), b = bound_of(n, s->b, to), c = bound_of(n, s->c, step);
    vy_cloner_for(&n->copy, loop, a, b, c);
    copy_body(n, s, loop + 1, mark);
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void copy_block(normaliser *n, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = n->copy.from->stmts.items;
    for (uint32_t i = first; i < end && !n->copy.draft.failed; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        if (!vy_stmt_is_structured(s->kind) || n->before[s->end] == n->before[i]) {
            vy_cloner_tree(&n->copy, i);
        } else if (s->kind == VY_STMT_FOR) {
            copy_for(n, i);
        } else {
            uint32_t mark = vy_cloner_open(&n->copy);
            vy_cloner_stmt(&n->copy, i);
            copy_body(n, s, i + 1, mark);
        }
    }
}

static vyre_status copy_entry(normaliser *n, const vyre_program *from, vyre_program **out, vyre_error *error) {
    vyre_status status = vy_cloner_start(&n->copy, from, vyre_program_name(from), error);
    if (status != VYRE_OK)
        return status;
    vy_cloner_params(&n->copy);
    vy_cloner_buffers(&n->copy, 0);
    vy_cloner_grid(&n->copy);
    vy_cloner_arrays(&n->copy);
    copy_block(n, n->copy.entry->first_stmt, n->copy.entry->end_stmt);
    return vy_cloner_finish(&n->copy, out, error);
}

static vyre_status normalise(const vyre_program *from, vyre_program **out, vyre_error *error) {
    vy_arena arena = {0};
    uint32_t *before = vy_arena_allocate(&arena, vy_array_size((size_t)from->stmts.count + 1, sizeof *before));
    normaliser n = {.before = before};
    n.copy.variables = vy_arena_allocate(&arena, vy_array_size(from->variables.count, sizeof *n.copy.variables));
    n.copy.memories = vy_arena_allocate(&arena, vy_array_size(from->memories.count, sizeof *n.copy.memories));
    vyre_status status = VYRE_NO_MEMORY;
    if (before && n.copy.variables && n.copy.memories) {
        for (uint32_t i = 0; i < from->stmts.count; i++)
            before[i + 1] = before[i] + (uint32_t)vy_is_grid_barrier(&from->stmts.items[i]);
        status = copy_entry(&n, from, out, error);
    } else {
        vy_fail_memory(error, "the normal form of a program");
    }
    vy_cloner_discard(&n.copy);
    vy_arena_free(&arena);
    return status;
}

vyre_status vy_plan_canonical(const vyre_program *program, vyre_program **out, vyre_error *error) {
    vyre_program *inlined;
    *out = NULL;
    vyre_status status = vyre_program_inline(program, &inlined, error);
    if (status != VYRE_OK)
        return status;
    status = normalise(inlined, out, error);
    vyre_program_release(inlined);
    return status;
}
