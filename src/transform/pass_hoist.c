/* Hoisting: what does not change in a loop is computed before it.
 *
 * Every expression has a level: the number of loops around it, from the outside, up to the innermost in which it may change. A variable changes in the
 * loops around its declaration and in those that assign it, a memory in those that may write it (vy_rules.changes). A tree whose level is below
 * the number of loops around it becomes a `let` before the outermost loop in which it does not change. Expressions have no effect and loads
 * cannot fault, so computing them in a loop that makes no trip is no harm but time; a load under an `if` of the loop stays there, because the
 * memory it would read for nothing costs more than an op.
 *
 * What must stay true, since the driver relies on it: a tree that leaves goes as far as it can, and so do its parts, so that nothing is left to do in what comes out. */
#include "base/status.h"
#include "ir/validate/check.h"
#include "transform/optimize.h"
#include "transform/optimize_rewrite.h"

typedef struct undo {
    uint8_t *place, old;
} undo;

typedef struct hoisting {
    const vyre_program *program;
    const vy_rules *rules;
    uint32_t loops[VY_LIMIT_NESTING + 1]; /* around the current statement, outermost first */
    uint8_t depth;                        /* how many */
    uint8_t unconditional;                /* loops from this one on have no `if` between them and the statement */
    VY_VECTOR(undo) log;
    uint8_t *of_variable, *of_memory, shared; /* levels */
    uint8_t *of_expr;
    uint8_t *has_load;  /* by expression */
    uint8_t *is_chosen; /* by expression: it is put before a loop */
    uint32_t next_expr;
    uint32_t *first; /* by statement: the first tree to put before it */
    uint32_t *last;  /* by statement that has one: the last so far */
    uint32_t *next;  /* by expression that is chosen: the next one there. In order */
    uint32_t *made;  /* the same: the variable of the draft, once there */
    uint32_t *block;
    size_t size;
    int leaves; /* something leaves a loop */
    int failed;
} hoisting;

/* ---- levels ---- */

static void set(hoisting *h, uint8_t *place, uint8_t level) {
    undo *entry = VY_PUSH(&h->log);
    if (!entry) {
        h->failed = 1;
        return;
    }
    *entry = (undo){place, *place};
    *place = level;
}

static void note_changes(hoisting *h, const vy_stmt *s) {
    uint8_t changes = vy_stmt_changes(h->rules, s);
    if (changes & VY_CHANGES_VARIABLE)
        set(h, &h->of_variable[s->variable], h->depth);
    if (changes & VY_CHANGES_MEMORY && s->memory != VY_NONE)
        set(h, &h->of_memory[s->memory], h->depth);
    for (uint32_t i = 0; changes & VY_CHANGES_MEMORY && i < s->arg_count; i++)
        if (h->program->args.items[s->args + i].is_memory)
            set(h, &h->of_memory[h->program->args.items[s->args + i].index], h->depth);
    if (changes & VY_CHANGES_SHARED)
        set(h, &h->shared, h->depth);
}

static uint8_t most(uint8_t a, uint8_t b) {
    return a > b ? a : b;
}

static void measure(hoisting *h, uint32_t index) {
    const vy_expr *e = &h->program->exprs.items[index];
    uint8_t level = 0, has_load = 0;
    if (e->kind == VY_EXPR_VARIABLE) {
        level = h->of_variable[e->a];
    } else if (e->kind == VY_EXPR_LOAD) {
        level = most(h->of_expr[e->b], h->of_memory[e->a]);
        if (vy_memory_is_shared(h->program, e->a))
            level = most(level, h->shared);
        has_load = 1;
    } else if (e->kind == VY_EXPR_OP) {
        const uint32_t operands[3] = {e->a, e->b, e->c};
        for (int i = 0; i < 3 && operands[i] != VY_NONE; i++) {
            level = most(level, h->of_expr[operands[i]]);
            has_load |= h->has_load[operands[i]];
        }
    }
    h->of_expr[index] = level;
    h->has_load[index] = has_load;
}

/* ---- choosing ---- */

static void put_before(hoisting *h, uint32_t loop, uint32_t expr) {
    h->leaves = h->is_chosen[expr] = 1;
    if (h->first[loop] == VY_NONE)
        h->first[loop] = expr;
    else
        h->next[h->last[loop]] = expr;
    h->last[loop] = expr;
    h->next[expr] = VY_NONE;
}

/* The largest trees of `root` that can leave loops, where it stands in `depth` of them. A tree that leaves may have parts that go further:
 * those come first. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static void choose(hoisting *h, uint32_t root, uint8_t depth) {
    const vy_expr *e = &h->program->exprs.items[root];
    if (e->kind != VY_EXPR_OP && e->kind != VY_EXPR_LOAD)
        return;
    uint8_t level = h->of_expr[root];
    if (h->has_load[root])
        level = most(level, h->unconditional);
    int leaves = level < depth;
    if (e->kind == VY_EXPR_OP)
        choose(h, e->a, leaves ? level : depth);
    if (e->b != VY_NONE)
        choose(h, e->b, leaves ? level : depth);
    if (e->kind == VY_EXPR_OP && e->c != VY_NONE)
        choose(h, e->c, leaves ? level : depth);
    if (leaves)
        put_before(h, h->loops[level], root);
}

static void visit_exprs(hoisting *h, const vy_stmt *s) {
    const vyre_program *p = h->program;
    uint32_t first = h->next_expr;
    h->next_expr = vy_stmt_exprs_end(p, s, first);
    if (!h->depth)
        return; /* all levels are 0 */
    for (uint32_t i = first; i < h->next_expr; i++)
        measure(h, i);
    const uint32_t roots[3] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            choose(h, roots[i], h->depth);
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (!p->args.items[s->args + i].is_memory)
            choose(h, p->args.items[s->args + i].index, h->depth);
}

static void visit_block(hoisting *h, uint32_t first, uint32_t end);

static void visit_loop(hoisting *h, uint32_t index, const vy_stmt *s) {
    uint32_t mark = h->log.count;
    h->loops[h->depth++] = index;
    for (uint32_t i = index + 1; i < s->end && h->rules->forget_at_loops && !h->failed; i++)
        note_changes(h, &h->program->stmts.items[i]);
    if (s->kind == VY_STMT_WHILE)
        visit_exprs(h, s);
    else
        set(h, &h->of_variable[s->variable], h->depth);
    visit_block(h, index + 1, s->end);
    h->depth--;
    while (h->log.count > mark) {
        const undo *entry = &h->log.items[--h->log.count];
        *entry->place = entry->old;
    }
}

static void visit_stmt(hoisting *h, uint32_t index) {
    const vy_stmt *s = &h->program->stmts.items[index];
    uint8_t unconditional = h->unconditional;
    if (s->kind != VY_STMT_WHILE)
        visit_exprs(h, s);
    if (vy_stmt_is_loop(s->kind)) {
        visit_loop(h, index, s);
        return;
    }
    if (s->kind == VY_STMT_IF)
        h->unconditional = h->depth;
    for (uint32_t i = 0; h->depth && s->kind != VY_STMT_ASSIGN && i < s->result_count; i++)
        set(h, &h->of_variable[s->variable + i], h->depth);
    if (vy_stmt_is_structured(s->kind))
        visit_block(h, index + 1, s->end);
    h->unconditional = unconditional;
}

/* Both branches of an `if` are one after the other. */
static void visit_block(hoisting *h, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !h->failed; i = h->program->stmts.items[i].end)
        visit_stmt(h, i);
}

/* ---- writing ---- */

static int put_trees(vy_rewrite *rw, uint32_t stmt) {
    hoisting *h = rw->user;
    for (uint32_t i = h->first[stmt]; i != VY_NONE && !rw->draft.failed; i = h->next[i]) {
        h->made[i] = vy_rewrite_let(rw, vy_rewrite_read_below(rw, i));
        rw->changes++;
    }
    return 0;
}

static uint32_t put_tree(vy_rewrite *rw, uint32_t expr) {
    const hoisting *h = rw->user;
    return h->is_chosen[expr] ? vy_pool_variable(rw, h->made[expr]) : VY_NONE;
}

static int is_changed(vy_rewrite *rw, uint32_t stmt, uint32_t first, uint32_t end) {
    const hoisting *h = rw->user;
    return h->first[stmt] != VY_NONE || (first < end && memchr(h->is_chosen + first, 1, end - first));
}

/* ---- all of it ---- */

static int prepare(hoisting *h) {
    const vyre_program *p = h->program;
    size_t exprs = p->exprs.count, stmts = p->stmts.count, variables = p->variables.count + 1u,
           memories = p->memories.count + 1u;
    size_t words = 2 * stmts + 2 * exprs, zeros = exprs + variables + memories, bytes = zeros + 2 * exprs;
    h->size = vy_array_size(words + bytes / 4 + 1, sizeof *h->block);
    h->block = vy_allocate(h->size);
    if (!h->block)
        return 0;
    h->first = h->block;
    h->last = h->first + stmts;
    h->next = h->last + stmts;
    h->made = h->next + exprs;
    h->is_chosen = (uint8_t *)(h->made + exprs);
    h->of_variable = h->is_chosen + exprs;
    h->of_memory = h->of_variable + variables;
    h->of_expr = h->of_memory + memories;
    h->has_load = h->of_expr + exprs;
    memset(h->first, 0xff, stmts * sizeof *h->first);
    memset(h->is_chosen, 0, zeros); /* the others are written before they are read */
    return 1;
}

static int has_loops(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_is_loop(p->stmts.items[i].kind))
            return 1;
    return 0;
}

vyre_status vy_pass_hoist(const vyre_program *from, const vy_rules *rules, vyre_program **out, uint64_t *changes,
                          vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = put_trees,
                                      .tree = put_tree,
                                      .tree_kinds = 1 << VY_EXPR_OP | 1 << VY_EXPR_LOAD,
                                      .keeps_names = 1,
                                      .keeps_blocks = 1,
                                      .touches = is_changed};
    hoisting h = {.program = from, .rules = rules};
    *out = NULL;
    *changes = 0;
    if (!has_loops(from)) {
        *out = vyre_program_retain((vyre_program *)from);
        return VYRE_OK;
    }
    h.failed = !prepare(&h);
    for (uint32_t i = 0; i < from->functions.count && !h.failed; i++)
        visit_block(&h, from->functions.items[i].first_stmt, from->functions.items[i].end_stmt);
    vyre_status status = h.failed   ? vy_fail_memory(error, "a pass")
                         : h.leaves ? vy_rewrite_run(from, &hooks, &h, NULL, out, changes, error)
                                    : VYRE_OK;
    if (!h.failed && !h.leaves)
        *out = vyre_program_retain((vyre_program *)from);
    vy_release(h.block, h.size);
    VY_VECTOR_FREE(&h.log);
    return status;
}
