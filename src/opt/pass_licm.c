/* Loop-invariant code motion: computes a tree that does not change in a loop before the loop.
 *
 * Every expression has a level: the number of loops around it, from the outside, up to the innermost in which it may
 * change. A variable changes in the loops around its declaration and in the loops that assign it, a memory in the
 * loops that may write it (vy_opt_policy.changes). A tree whose level is below the number of loops around it becomes
 * a `let` before the outermost loop in which it does not change. Ops have no effects, so computing them for a loop
 * without iterations only costs time.
 *
 * A load is executed only where the program executes it: another one could race, or be out of bounds. So a load leaves
 * only the loops whose first iteration certainly executes it: it is under no `if`, in no arm of `?:`, `&&` or `||`, and
 * after nothing that may leave the loop. If the loop may have no iterations, the hoisted tree is `enters ? tree : 0`,
 * with the condition for the first iteration.
 *
 * Invariant, on which the pass manager relies: a tree is hoisted as far as possible, and so are its parts,
 * so that a second run finds nothing, unless a condition was added. */
#include "analysis/trip_count.h"
#include "base/status.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

typedef struct undo {
    uint8_t *place, old;
} undo;

typedef struct hoisting {
    const vyre_program *program;
    const vy_opt_policy *rules;
    uint32_t loops[VY_LIMIT_NESTING + 1];       /* enclosing loops of the current statement, outermost first */
    uint8_t depth;                              /* their number */
    uint8_t unconditional;                      /* no `if` encloses the statement within the loops from this one on */
    uint8_t passed;                             /* … and no statement before it may leave them */
    uint8_t entry_levels[VY_LIMIT_NESTING + 1]; /* of those loops: see level_of_entry */
    int ends;                                   /* a statement in these loops may have ended the invocation */
    int in_condition;                           /* of the innermost loop, a `while` */
    VY_VECTOR(undo) log;
    uint8_t *of_variable, *of_memory, shared; /* levels */
    uint8_t *of_expr;
    uint8_t *loads;     /* by expression */
    uint8_t *is_chosen; /* by expression: it is hoisted */
    uint32_t next_expr;
    uint32_t *first; /* by statement: the first tree to write before it */
    uint32_t *last;  /* by statement with such trees: the last one so far; by loop that was left: the enclosing loop */
    uint32_t *next;  /* by hoisted expression: the next one before the same statement, in order */
    uint32_t *made;  /* the same array: the innermost loop whose entry condition guards it; then the variable of the
                      * draft */
    uint32_t *block;
    size_t size;
    int leaves; /* some tree is hoisted */
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
    uint8_t changes = vy_stmt_changes(h->rules, h->program, s);
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

/* Loads of a tree. HARMLESS: in bounds, in memory that no other invocation writes, so a speculative load cannot
 * race. */
enum { LOADS_NOTHING, LOADS_HARMLESS, LOADS_ANYTHING };

static int is_harmless(const vyre_program *p, const vy_expr *load) {
    const vy_expr *index = vy_expr_at(p, load->b);
    return !vy_memory_is_shared(p, load->a) && index->kind == VY_EXPR_LITERAL &&
           vy_integer_of(index->type, index->bits) >= 0 && index->bits < vy_memory_known_length(p, load->a);
}

static void measure(hoisting *h, uint32_t index) {
    const vy_expr *e = vy_expr_at(h->program, index);
    uint8_t level = 0, loads = LOADS_NOTHING;
    if (e->kind == VY_EXPR_VARIABLE) {
        level = h->of_variable[e->a];
    } else if (e->kind == VY_EXPR_LOAD) {
        level = most(h->of_expr[e->b], h->of_memory[e->a]);
        if (vy_memory_is_shared(h->program, e->a))
            level = most(level, h->shared);
        loads = is_harmless(h->program, e) ? LOADS_HARMLESS : LOADS_ANYTHING;
        loads = loads > h->loads[e->b] ? loads : h->loads[e->b];
    } else if (e->kind == VY_EXPR_OP) {
        const uint32_t *operands = VY_EXPR_OPERANDS(e);
        for (int i = 0; i < 3 && operands[i] != VY_NONE; i++) {
            level = most(level, h->of_expr[operands[i]]);
            loads = loads > h->loads[operands[i]] ? loads : h->loads[operands[i]];
        }
    }
    h->of_expr[index] = level;
    h->loads[index] = loads;
}

/* ---- entry conditions: whether a loop makes a first iteration ---- */

enum { ENTERS_ALWAYS, ENTERS_IF, ENTERS_UNKNOWN };

static vyre_op entry_op(const vyre_program *p, const vy_stmt *loop) {
    const vy_expr *step = loop->c == VY_NONE ? NULL : vy_expr_at(p, loop->c);
    return step && vy_integer_of(step->type, step->bits) < 0 ? VYRE_OP_GT : VYRE_OP_LT;
}

static int entry_of(const vyre_program *p, const vy_stmt *loop) {
    const vy_expr *a = vy_expr_at(p, loop->a);
    if (loop->kind == VY_STMT_WHILE)
        return a->kind != VY_EXPR_LITERAL ? ENTERS_IF : a->bits ? ENTERS_ALWAYS : ENTERS_UNKNOWN;
    const vy_expr *step = vy_literal_at(p, loop->c);
    vy_trips trips;
    if (loop->c != VY_NONE && (!step || step->bits == 0))
        return ENTERS_UNKNOWN;
    return !vy_trips_of(p, loop, &trips) ? ENTERS_IF : vy_trips_remain(&trips) ? ENTERS_ALWAYS : ENTERS_UNKNOWN;
}

/* The lowest level at which the entry condition of a loop inside `depth` others can be evaluated. The condition of a
 * `while` usually changes in an enclosing loop, so it is evaluated directly before the `while`. */
static uint8_t level_of_entry(const hoisting *h, const vy_stmt *loop, uint8_t depth) {
    int entry = entry_of(h->program, loop);
    if (entry == ENTERS_IF && loop->kind == VY_STMT_FOR && depth)
        return most(h->of_expr[loop->a], h->of_expr[loop->b]);
    return entry == ENTERS_UNKNOWN ? (uint8_t)(depth + 1) : entry == ENTERS_IF ? depth : 0;
}

/* The lowest level, `level` or higher, to which a tree that loads can be hoisted. */
static uint8_t level_of_load(const hoisting *h, uint8_t level) {
    level = most(level, h->passed);
    for (uint8_t k = (uint8_t)(h->depth - (h->in_condition != 0)); k > level; k--)
        level = most(level, h->entry_levels[k - 1]);
    return level;
}

/* The innermost loop around the current tree, outwards to `level`, whose entry condition guards the tree; VY_NONE if
 * the tree is always executed. */
static uint32_t deciding_loop(const hoisting *h, uint8_t level) {
    for (uint8_t k = (uint8_t)(h->depth - (h->in_condition != 0)); k > level; k--)
        if (entry_of(h->program, vy_stmt_at(h->program, h->loops[k - 1])) == ENTERS_IF)
            return h->loops[k - 1];
    return VY_NONE;
}

/* ---- selection ---- */

static void put_before(hoisting *h, uint32_t loop, uint32_t expr, uint32_t decides) {
    h->leaves = h->is_chosen[expr] = 1;
    if (h->first[loop] == VY_NONE)
        h->first[loop] = expr;
    else
        h->next[h->last[loop]] = expr;
    h->last[loop] = expr;
    h->next[expr] = VY_NONE;
    h->made[expr] = decides;
}

/* Selects the largest trees of `root`, which is inside `depth` loops, that can be hoisted. Parts of a hoisted tree
 * may be hoisted further; those are written first. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static void choose(hoisting *h, uint32_t root, uint8_t depth, int in_arm) {
    const vy_expr *e = vy_expr_at(h->program, root);
    if (e->kind != VY_EXPR_OP && e->kind != VY_EXPR_LOAD)
        return;
    uint8_t level = h->of_expr[root];
    int is_guarded = h->loads[root] == LOADS_ANYTHING && h->rules->guards_count;
    if (h->loads[root])
        level = most(level, h->unconditional);
    if (is_guarded)
        level = in_arm ? depth : level_of_load(h, level);
    int leaves = level < depth, has_arms = in_arm;
    if (e->kind == VY_EXPR_OP) {
        has_arms |= vy_op_has_arms(e->op);
        choose(h, e->a, leaves ? level : depth, in_arm);
    }
    if (e->b != VY_NONE)
        choose(h, e->b, leaves ? level : depth, has_arms);
    if (e->kind == VY_EXPR_OP && e->c != VY_NONE)
        choose(h, e->c, leaves ? level : depth, has_arms);
    if (leaves)
        put_before(h, h->loops[level], root, is_guarded ? deciding_loop(h, level) : VY_NONE);
}

static void visit_exprs(hoisting *h, const vy_stmt *s) {
    const vyre_program *p = h->program;
    uint32_t first = h->next_expr;
    h->next_expr = vy_stmt_exprs_end(p, s, first);
    if (!h->depth)
        return; /* all levels are 0 */
    for (uint32_t i = first; i < h->next_expr; i++)
        measure(h, i);
    const uint32_t *roots = VY_STMT_OPERANDS(s);
    for (int i = 0; i < 3; i++)
        if (roots[i] != VY_NONE)
            choose(h, roots[i], h->depth, 0);
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (!p->args.items[s->args + i].is_memory)
            choose(h, p->args.items[s->args + i].index, h->depth, 0);
}

static void visit_block(hoisting *h, uint32_t first, uint32_t end);

static void visit_loop(hoisting *h, uint32_t index, const vy_stmt *s) {
    uint32_t mark = h->log.count;
    uint8_t passed = h->passed;
    h->entry_levels[h->depth] = level_of_entry(h, s, h->depth);
    h->loops[h->depth++] = index;
    for (uint32_t i = index + 1; i < s->end && h->rules->forget_at_loops && !h->failed; i++)
        note_changes(h, vy_stmt_at(h->program, i));
    if (s->kind == VY_STMT_WHILE) {
        h->in_condition = 1;
        visit_exprs(h, s);
        h->in_condition = 0;
    } else {
        set(h, &h->of_variable[s->variable], h->depth);
    }
    visit_block(h, index + 1, s->end);
    h->depth--;
    h->last[index] = h->depth ? h->loops[h->depth - 1] : VY_NONE;
    h->ends &= h->depth > 0;
    h->passed = h->ends ? h->depth : passed;
    while (h->log.count > mark) {
        const undo *entry = &h->log.items[--h->log.count];
        *entry->place = entry->old;
    }
}

/* Records statements that may end the invocation before the statements that follow: jumps, traps, and
 * synchronisation, where the workgroup of a trapped invocation ends. */
static void note_end(hoisting *h, const vy_stmt *s) {
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_RETURN:
    case VY_STMT_TRAP:
    case VY_STMT_BARRIER:
    case VY_STMT_COLLECTIVE:
        h->ends = h->depth > 0;
        h->passed = h->depth;
        break;
    case VY_STMT_CALL: /* which may do any of this, unless a target has its code */
        if (!vy_lowered_op_of(h->program, s)) {
            h->ends = h->depth > 0;
            h->passed = h->depth;
        }
        break;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
        h->passed = h->depth;
        break;
    default:
        break;
    }
}

static void visit_stmt(hoisting *h, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(h->program, index);
    uint8_t unconditional = h->unconditional;
    if (s->kind != VY_STMT_WHILE)
        visit_exprs(h, s);
    if (vy_stmt_is_loop(s->kind)) {
        visit_loop(h, index, s);
        return;
    }
    note_end(h, s);
    if (s->kind == VY_STMT_IF)
        h->unconditional = h->depth;
    for (uint32_t i = 0; h->depth && s->kind != VY_STMT_ASSIGN && i < s->result_count; i++)
        set(h, &h->of_variable[s->variable + i], h->depth);
    if (vy_stmt_is_structured(s->kind))
        visit_block(h, index + 1, s->end);
    h->unconditional = unconditional;
}

/* Both branches of an `if` are visited in sequence. */
static void visit_block(hoisting *h, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !h->failed; i = vy_stmt_at(h->program, i)->end)
        visit_stmt(h, i);
}

/* ---- writing ---- */

/* Writes the condition that the loops from `stmt` to the innermost guarding loop all make a first iteration, outer
 * loops first. */
static uint32_t put_entry(vy_rewrite *rw, uint32_t stmt, uint32_t loop) {
    const hoisting *h = rw->user;
    uint32_t node = VY_NONE;
    for (;; loop = h->last[loop]) {
        const vy_stmt *s = vy_stmt_at(rw->from, loop);
        if (entry_of(rw->from, s) == ENTERS_IF) {
            uint32_t a = vy_rewrite_read(rw, s->a);
            if (s->kind == VY_STMT_FOR)
                a = vy_rewrite_make_op(rw, entry_op(rw->from, s), VYRE_TYPE_BOOL, a, vy_rewrite_read(rw, s->b),
                                       VY_NONE);
            node = node == VY_NONE ? a : vy_rewrite_make_op(rw, VYRE_OP_LAND, VYRE_TYPE_BOOL, a, node, VY_NONE);
        }
        if (loop == stmt)
            return node;
    }
}

/* Trees with the same guard are adjacent and share a `let` of it. */
static int put_trees(vy_rewrite *rw, uint32_t stmt) {
    hoisting *h = rw->user;
    uint32_t decided = VY_NONE, shared = VY_NONE;
    for (uint32_t i = h->first[stmt]; i != VY_NONE && !rw->draft.failed; i = h->next[i]) {
        vyre_type type = (vyre_type)vy_expr_at(rw->from, i)->type;
        uint32_t decides = h->made[i], next = h->next[i], entry = VY_NONE;
        if (decides != VY_NONE && (decides != decided || shared == VY_NONE)) {
            entry = put_entry(rw, stmt, decides);
            decided = decides;
            shared = next != VY_NONE && h->made[next] == decides ? vy_rewrite_let(rw, entry) : VY_NONE;
        }
        if (decides != VY_NONE && shared != VY_NONE)
            entry = vy_rewrite_make_variable(rw, shared);
        uint32_t tree = vy_rewrite_read_below(rw, i);
        if (entry != VY_NONE)
            tree = vy_rewrite_make_op(rw, VYRE_OP_SELECT, type, entry, tree, vy_rewrite_make_literal(rw, type, 0));
        h->made[i] = vy_rewrite_let(rw, tree);
        rw->changes++;
    }
    return 0;
}

static uint32_t put_tree(vy_rewrite *rw, uint32_t expr) {
    const hoisting *h = rw->user;
    return h->is_chosen[expr] ? vy_rewrite_make_variable(rw, h->made[expr]) : VY_NONE;
}

static int is_changed(vy_rewrite *rw, uint32_t stmt, uint32_t first, uint32_t end) {
    const hoisting *h = rw->user;
    return h->first[stmt] != VY_NONE || (first < end && memchr(h->is_chosen + first, 1, end - first));
}

/* ---- the pass ---- */

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
    h->loads = h->of_expr + exprs;
    memset(h->first, 0xff, stmts * sizeof *h->first);
    memset(h->is_chosen, 0, zeros); /* the other arrays are written before they are read */
    return 1;
}

static int has_loops(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_is_loop(vy_stmt_at(p, i)->kind))
            return 1;
    return 0;
}

vyre_status vy_pass_licm(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                         vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = put_trees,
                                      .tree = put_tree,
                                      .tree_kinds = 1 << VY_EXPR_OP | 1 << VY_EXPR_LOAD,
                                      .keeps_names = 1,
                                      .keeps_blocks = 1,
                                      .changes_stmt_hook = is_changed};
    hoisting h = {.program = from, .rules = rules};
    *out = NULL;
    *changes = 0;
    if (!has_loops(from)) {
        return vy_program_unchanged(from, out);
    }
    h.failed = !prepare(&h);
    for (uint32_t i = 0; i < from->functions.count && !h.failed; i++)
        visit_block(&h, from->functions.items[i].first_stmt, from->functions.items[i].end_stmt);
    vyre_status status = h.failed   ? vy_fail_memory(error, "a pass")
                         : h.leaves ? vy_rewrite_run(from, &hooks, &h, NULL, out, changes, error)
                                    : VYRE_OK;
    if (!h.failed && !h.leaves)
        vy_program_unchanged(from, out);
    vy_release(h.block, h.size);
    VY_VECTOR_FREE(&h.log);
    return status;
}
