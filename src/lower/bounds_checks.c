/* Bounds check insertion (bounds_checks.h).
 *
 * An index that needs a test is bound to a `let` before its statement, and so is the test. Trees therefore never
 * become deeper, nested loads grow by a constant each, and accesses by one index to memories of one length share a
 * test. Most accesses are proven and have an index of type u32: only their guard mark changes. Statements with such
 * accesses only are copied in runs; at the end, all accesses that are still marked as guarded are marked as unguarded.
 *
 * Invariants: a test is used only where its `let` is visible, and shared only for an index that cannot change. Every
 * access of a statement that is copied in a run is proven. */
#include "lower/bounds_checks.h"

#include "base/status.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

#include <inttypes.h>
#include <stdio.h>

const vy_bounds_check_policy vy_bounds_check_default = {
    .below = VYRE_OP_LT, .check_sign = 1, .compare_first = 1, .trust_ranges = 1};

/* A test that was emitted: of this leaf against this length. */
typedef struct test {
    uint8_t kind, op, axis; /* of the leaf */
    uint32_t variable;      /* of the leaf */
    uint64_t length;        /* length_key() */
    uint32_t index, holds;  /* variables of the draft: the index as u32 (VY_NONE: the leaf itself) and the test */
} test;

enum { REMEMBERED = 8 };

typedef struct guarding {
    const vy_bounds_check_policy *rules;
    const vy_ranges *ranges;
    vy_bounds_check_report *guards;
    test tests[REMEMBERED]; /* the latest ones, in a ring buffer */
    uint32_t test_count;
} guarding;

/* ---- classification of indices ---- */

typedef enum place { INSIDE, OUTSIDE, TESTED } place;

static place place_of(const vy_rewrite *rw, uint32_t memory, uint32_t index, int is_inside) {
    const guarding *g = rw->user;
    if (is_inside && g->rules->trust_ranges)
        return INSIDE;
    vy_interval i = vy_interval_of(vy_expr_at(rw->from, index)->type, vy_range_of(g->ranges, index));
    uint64_t length = vy_memory_known_length(rw->from, memory);
    if (g->rules->trust_ranges == 2 && length && i.low >= 0 && i.high <= (vy_wide)length)
        return INSIDE;
    /* No memory has more than 2^32 - 1 elements. */
    return i.high < 0 || i.low >= (length ? (vy_wide)length : (vy_wide)UINT32_MAX) ? OUTSIDE : TESTED;
}

static void count(vy_rewrite *rw, place where, uint8_t kind, uint32_t memory, uint32_t index, vy_position position) {
    const guarding *g = rw->user;
    vy_bounds_check_report *all = g->guards;
    rw->changes++;
    if (!all)
        return;
    all->accesses++;
    all->proven += where == INSIDE;
    all->outside += where == OUTSIDE;
    all->guarded += where == TESTED;
    vy_residual_check *left = where == TESTED ? VY_PUSH(&all->left) : NULL;
    if (left)
        *left = (vy_residual_check){position, memory, kind, rw->from->exprs.items[index].type,
                                    vy_range_of(g->ranges, index)};
    else if (where == TESTED)
        rw->draft.failed = 1;
}

/* ---- tests ---- */

/* Memories with the same key have the same length: a constant one, or one with the same symbolic name. */
static uint64_t length_key(const vyre_program *p, uint32_t memory) {
    uint64_t known = vy_memory_known_length(p, memory);
    return known ? known << 1 : (uint64_t)vy_length_of(p, memory) << 1 | 1;
}

static uint32_t length_node(vy_rewrite *rw, uint32_t memory) {
    uint64_t known = vy_memory_known_length(rw->from, memory);
    if (known && known <= UINT32_MAX)
        return vy_rewrite_make_literal(rw, VYRE_TYPE_U32, known);
    vy_expr len = {.kind = VY_EXPR_LEN, .type = VYRE_TYPE_U32, .a = rw->memories[memory], .b = VY_NONE, .c = VY_NONE};
    return vy_rewrite_make_expr(rw, &len);
}

static uint32_t cast(vy_rewrite *rw, uint8_t type, uint32_t node) {
    return node == VY_NONE || vy_rewrite_node_at(rw, node)->type == type
               ? node
               : vy_rewrite_make_op(rw, VYRE_OP_CAST, (vyre_type)type, node, VY_NONE, VY_NONE);
}

/* Whether a leaf of the pool cannot change while it is visible. */
static int is_constant(const vy_rewrite *rw, const vy_expr *leaf) {
    return leaf->kind == VY_EXPR_BUILTIN ||
           (leaf->kind == VY_EXPR_VARIABLE && !vy_variable_at(rw->draft.program, leaf->a)->is_mutable);
}

/* Names of new `let`s are used once in a program, so a visible name is that `let`. */
static const test *find_test(const vy_rewrite *rw, const vy_expr *leaf, uint64_t length) {
    const guarding *g = rw->user;
    for (uint32_t i = 0; i < REMEMBERED && i < g->test_count && is_constant(rw, leaf); i++) {
        const test *t = &g->tests[i];
        if (t->kind == leaf->kind && t->op == leaf->op && t->axis == leaf->axis && t->variable == leaf->a &&
            t->length == length && rw->visible.items[vy_variable_at(rw->draft.program, t->holds)->name])
            return t;
    }
    return NULL;
}

/* The type in which an index is compared with a length. Negative numbers are large in an unsigned one. */
static uint8_t compared_type(const guarding *g, uint8_t type, vy_interval i) {
    int is_wide = vy_type_layouts[type].bits == 64 && (i.low < 0 || i.high > UINT32_MAX) && g->rules->compare_first;
    if (vy_is_signed(type) && !g->rules->check_sign)
        return is_wide ? VYRE_TYPE_I64 : VYRE_TYPE_I32;
    return is_wide ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
}

/* Emits the test of a leaf of the pool; returns it with the leaf as a u32, both as variables. A negative i32 is at
 * least 2^31 as u32, but a length may exceed that. */
static test write_test(vy_rewrite *rw, uint32_t leaf, uint32_t memory, vy_interval i) {
    guarding *g = rw->user;
    vy_expr e = *vy_rewrite_node_at(rw, leaf);
    test made = {e.kind, e.op, e.axis, e.a, length_key(rw->from, memory), VY_NONE, VY_NONE};
    uint8_t compared = compared_type(g, e.type, i);
    uint64_t known = vy_memory_known_length(rw->from, memory);
    if (e.type != VYRE_TYPE_U32)
        made.index = vy_rewrite_let(rw, cast(rw, VYRE_TYPE_U32, leaf));
    uint32_t value = e.type != VYRE_TYPE_U32 && compared == VYRE_TYPE_U32 ? vy_rewrite_make_variable(rw, made.index)
                                                                          : cast(rw, compared, leaf);
    uint32_t length = cast(rw, compared, length_node(rw, memory));
    uint32_t holds = vy_rewrite_make_op(rw, g->rules->below, VYRE_TYPE_BOOL, value, length, VY_NONE);
    if (g->rules->check_sign && i.low < 0 && compared == VYRE_TYPE_U32 && !(known && known <= UINT32_C(1) << 31)) {
        uint32_t zero = vy_rewrite_make_literal(rw, (vyre_type)e.type, 0);
        uint32_t sign = vy_rewrite_make_op(rw, VYRE_OP_GE, VYRE_TYPE_BOOL, leaf, zero, VY_NONE);
        holds = vy_rewrite_make_op(rw, VYRE_OP_LAND, VYRE_TYPE_BOOL, sign, holds, VY_NONE);
    }
    made.holds = vy_rewrite_let(rw, holds);
    if (!rw->draft.failed && is_constant(rw, &e))
        g->tests[g->test_count++ % REMEMBERED] = made;
    return made;
}

/* Returns the index as an expression of type u32, and the variable that is true if it is in bounds. */
static void test_index(vy_rewrite *rw, uint32_t memory, uint32_t source, uint32_t *index, uint32_t *holds) {
    const guarding *g = rw->user;
    vy_interval i = vy_interval_of(vy_expr_at(rw->from, source)->type, vy_range_of(g->ranges, source));
    uint32_t leaf = vy_rewrite_make_leaf(rw, *index);
    *index = *holds = VY_NONE;
    if (leaf == VY_NONE) {
        rw->draft.failed = 1;
        return;
    }
    const test *known = find_test(rw, vy_rewrite_node_at(rw, leaf), length_key(rw->from, memory));
    test t = known ? *known : write_test(rw, leaf, memory, i);
    *index = t.index == VY_NONE ? leaf : vy_rewrite_make_variable(rw, t.index);
    *holds = t.holds;
}

/* An index in bounds as a u32. The cast is bound to a `let`, so that no tree becomes deeper. */
static uint32_t cut_index(vy_rewrite *rw, uint32_t index) {
    if (index == VY_NONE || vy_rewrite_node_at(rw, index)->type == VYRE_TYPE_U32)
        return index;
    return vy_rewrite_make_leaf(rw, cast(rw, VYRE_TYPE_U32, index));
}

/* ---- loads ---- */

static uint32_t guard_load(vy_rewrite *rw, uint32_t expr) {
    const guarding *g = rw->user;
    const vy_expr *e = vy_expr_at(rw->from, expr);
    if (e->kind != VY_EXPR_LOAD || e->op != VY_BOUNDS_CHECKED)
        return VY_NONE;
    place where = place_of(rw, e->a, e->b, vy_load_is_inside(g->ranges, expr));
    count(rw, where, VY_STMT_LOAD_WIDE, e->a, e->b, vy_expr_position(rw->from, expr));
    if (where == OUTSIDE)
        return vy_rewrite_make_literal(rw, (vyre_type)e->type, 0);
    uint32_t index = vy_rewrite_read(rw, e->b), holds = VY_NONE;
    if (where == TESTED)
        test_index(rw, e->a, e->b, &index, &holds);
    else
        index = cut_index(rw, index);
    vy_expr load = *e;
    load.a = rw->memories[e->a];
    load.op = VY_BOUNDS_UNCHECKED;
    load.b = index;
    load.c = vy_rewrite_make_variable(rw, holds);
    return rw->draft.failed ? VY_NONE : vy_rewrite_make_expr(rw, &load);
}

/* Whether a tree cannot be written without statements before it. */
static int needs_statements(const vy_rewrite *rw, uint32_t root) {
    const guarding *g = rw->user;
    if (root == VY_NONE)
        return 0;
    const vy_expr *e = vy_expr_at(rw->from, root);
    if (e->kind == VY_EXPR_LOAD && e->op == VY_BOUNDS_CHECKED) {
        place where = place_of(rw, e->a, e->b, vy_load_is_inside(g->ranges, root));
        int is_plain = vy_expr_at(rw->from, e->b)->type == VYRE_TYPE_U32;
        return where == TESTED || (where == INSIDE && (!is_plain || needs_statements(rw, e->b)));
    }
    if (e->kind == VY_EXPR_LOAD)
        return needs_statements(rw, e->b) || needs_statements(rw, e->c);
    return e->kind == VY_EXPR_OP &&
           (needs_statements(rw, e->a) || needs_statements(rw, e->b) || needs_statements(rw, e->c));
}

/* ---- statements ---- */

/* `while c { … }` becomes `while true { … if !c { break } … }`, so that the statements that c needs are executed at
 * every evaluation of c. */
static int guard_while(vy_rewrite *rw, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    vy_irb *d = &rw->draft;
    if (!needs_statements(rw, s->a))
        return 0;
    d->position = vy_stmt_position(rw->from, index);
    vy_irb_while(d, vy_irb_literal(d, VYRE_TYPE_BOOL, 1));
    uint32_t mark = vy_rewrite_open(rw);
    rw->may_bind = 1;
    uint32_t goes_on = vy_rewrite_make_leaf(rw, vy_rewrite_read(rw, s->a));
    d->position = vy_stmt_position(rw->from, index);
    vy_irb_if(d, vy_rewrite_write(rw, vy_rewrite_make_op(rw, VYRE_OP_LNOT, VYRE_TYPE_BOOL, goes_on, VY_NONE, VY_NONE)));
    vy_irb_simple(d, VY_STMT_BREAK);
    vy_irb_end_block(d);
    vy_rewrite_block(rw, index + 1, s->end);
    vy_rewrite_close(rw, mark);
    vy_irb_end_block(d);
    rw->ended = 0;
    rw->changes++;
    return 1;
}

/* Emits the unguarded store or atomic, with operands of the pool. Returns the variable of its result, whose name is
 * `name`. */
static uint32_t write_access(vy_rewrite *rw, const vy_stmt *s, const uint32_t *nodes, vy_symbol name) {
    vy_stmt stmt = *s;
    vyre_type type = VYRE_TYPE_U32;
    if (s->result_count)
        type = (vyre_type)vy_variable_at(rw->from, s->variable)->type;
    stmt.a = vy_rewrite_write(rw, nodes[0]);
    stmt.b = vy_rewrite_write(rw, nodes[1]);
    stmt.c = vy_rewrite_write(rw, nodes[2]);
    stmt.memory = rw->memories[s->memory];
    stmt.bounds_check = VY_BOUNDS_UNCHECKED;
    stmt.name = 0;
    if (rw->draft.failed)
        return VY_NONE;
    uint32_t made = vy_irb_stmt(&rw->draft, &stmt, NULL, 0, &name, &type);
    return made == VY_NONE ? VY_NONE : vy_stmt_at(rw->draft.program, made)->variable;
}

/* An atomic whose result is zero if it is out of bounds. `holds`: the variable that is true in bounds; VY_NONE: it
 * never is. */
static void guard_result(vy_rewrite *rw, const vy_stmt *s, const uint32_t *nodes, uint32_t holds) {
    vy_irb *d = &rw->draft;
    vyre_type type = (vyre_type)vy_variable_at(rw->from, s->variable)->type;
    uint32_t zero = vy_irb_literal(d, type, 0);
    vy_symbol name = vy_rewrite_declare(rw, s->variable);
    if (holds == VY_NONE) {
        rw->variables[s->variable] = vy_irb_let(d, name, type, zero);
        return;
    }
    uint32_t result = vy_irb_var(d, name, type, zero);
    rw->variables[s->variable] = result;
    vy_irb_if(d, vy_irb_variable(d, holds));
    uint32_t old = write_access(rw, s, nodes, vy_rewrite_new_name(rw));
    if (!d->failed)
        vy_irb_assign(d, result, vy_irb_variable(d, old));
    vy_irb_end_block(d);
}

/* A store or atomic. */
static int guard_access(vy_rewrite *rw, uint32_t index) {
    const guarding *g = rw->user;
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    vy_position position = vy_stmt_position(rw->from, index);
    uint32_t holds = VY_NONE;
    if (s->bounds_check != VY_BOUNDS_CHECKED)
        return 0;
    place where = place_of(rw, s->memory, s->a, vy_stmt_is_inside(g->ranges, index));
    count(rw, where, s->kind, s->memory, s->a, position);
    uint32_t nodes[3] = {VY_NONE, VY_NONE, VY_NONE};
    if (where != OUTSIDE) {
        nodes[0] = vy_rewrite_read(rw, s->a);
        nodes[1] = vy_rewrite_read(rw, s->b);
        nodes[2] = vy_rewrite_read(rw, s->c);
    }
    if (where == TESTED)
        test_index(rw, s->memory, s->a, &nodes[0], &holds);
    else
        nodes[0] = cut_index(rw, nodes[0]);
    rw->draft.position = position;
    if (rw->draft.failed)
        return 1;
    if (where == INSIDE) {
        uint32_t made = write_access(rw, s, nodes, s->result_count ? vy_rewrite_declare(rw, s->variable) : 0);
        if (s->result_count)
            rw->variables[s->variable] = made;
    } else if (s->result_count) {
        guard_result(rw, s, nodes, holds);
    } else if (where == TESTED) {
        vy_irb_if(&rw->draft, vy_irb_variable(&rw->draft, holds));
        write_access(rw, s, nodes, 0);
        vy_irb_end_block(&rw->draft);
    }
    return 1;
}

static int guard_stmt(vy_rewrite *rw, uint32_t index) {
    uint8_t kind = vy_stmt_at(rw->from, index)->kind;
    if (kind == VY_STMT_STORE || kind == VY_STMT_ATOMIC)
        return guard_access(rw, index);
    return kind == VY_STMT_WHILE && guard_while(rw, index);
}

/* Whether only the guard mark of an access changes. */
static int is_plain(const vy_rewrite *rw, uint32_t memory, uint32_t index, int is_inside) {
    return vy_expr_at(rw->from, index)->type == VYRE_TYPE_U32 && place_of(rw, memory, index, is_inside) == INSIDE;
}

/* Whether a statement has any other access. */
static int has_others(vy_rewrite *rw, uint32_t index, uint32_t first, uint32_t end) {
    const guarding *g = rw->user;
    const vy_stmt *s = vy_stmt_at(rw->from, index);
    if ((s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC) && s->bounds_check == VY_BOUNDS_CHECKED &&
        !is_plain(rw, s->memory, s->a, vy_stmt_is_inside(g->ranges, index)))
        return 1;
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = vy_expr_at(rw->from, i);
        if (e->kind == VY_EXPR_LOAD && e->op == VY_BOUNDS_CHECKED &&
            !is_plain(rw, e->a, e->b, vy_load_is_inside(g->ranges, i)))
            return 1;
    }
    return 0;
}

/* The position of an expression as the pool computes it: a guarded load has the position of its index. */
static vy_position position_of(const vyre_program *made, uint32_t expr) {
    const vy_expr *exprs = made->exprs.items;
    while (exprs[expr].kind == VY_EXPR_LOAD && exprs[expr].op == VY_BOUNDS_CHECKED)
        expr = exprs[expr].b;
    return vy_expr_position(made, expr);
}

/* Marks the copied stores and atomics. Like emitted ones, they have the position of their last operand. */
static uint32_t mark_stmts(vyre_program *made) {
    uint32_t marked = 0;
    for (uint32_t i = 0; i < made->stmts.count; i++) {
        vy_stmt *s = &made->stmts.items[i];
        if ((s->kind != VY_STMT_STORE && s->kind != VY_STMT_ATOMIC) || s->bounds_check != VY_BOUNDS_CHECKED)
            continue;
        s->bounds_check = VY_BOUNDS_UNCHECKED;
        marked++;
        if (!made->stmt_positions.count)
            continue;
        vy_position position = position_of(made, s->c != VY_NONE ? s->c : s->b != VY_NONE ? s->b : s->a);
        made->stmt_positions.items[i] = position;
        if (s->result_count)
            made->variables.items[s->variable].position = position;
    }
    return marked;
}

/* Sets the position of every expression to that of its statement, so that vectorize_mem.h treats lowered and copied
 * statements alike. */
static void place_exprs(vyre_program *made) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < made->stmts.count && made->expr_positions.count; i++)
        for (uint32_t end = vy_stmt_exprs_end(made, vy_stmt_at(made, i), at); at < end; at++)
            made->expr_positions.items[at] = made->stmt_positions.items[i];
}

/* Marks the copied accesses as unguarded. */
static void mark(vy_rewrite *rw) {
    const guarding *g = rw->user;
    vyre_program *made = rw->draft.program;
    uint32_t marked = mark_stmts(made);
    for (uint32_t i = 0; i < made->exprs.count; i++) {
        vy_expr *e = &made->exprs.items[i];
        if (e->kind == VY_EXPR_LOAD && e->op == VY_BOUNDS_CHECKED) {
            e->op = VY_BOUNDS_UNCHECKED;
            marked++;
        }
    }
    rw->changes += marked;
    if (g->guards) {
        g->guards->accesses += marked;
        g->guards->proven += marked;
    }
    place_exprs(made);
}

/* ---- entry points ---- */

vyre_status vy_legalize_bounds_checks(const vyre_program *program, const vy_bounds_check_policy *rules,
                                      vy_bounds_check_report *guards, vyre_program **out, vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = guard_stmt,
                                      .changes_stmt_hook = has_others,
                                      .keeps_names = 1,
                                      .keeps_blocks = 1,
                                      .tree = guard_load,
                                      .tree_kinds = 1 << VY_EXPR_LOAD,
                                      .makes_legal = 1,
                                      .finish = mark};
    vy_ranges *ranges;
    uint64_t changes;
    *out = NULL;
    vyre_status status =
        vy_ranges_make_by(program, &vy_range_rules_sound, VY_ASKS_LOADS | VY_ASKS_STORES, &ranges, error);
    guarding g = {.rules = rules, .ranges = ranges, .guards = guards};
    if (status == VYRE_OK)
        status = vy_rewrite_run(program, &hooks, &g, NULL, out, &changes, error);
    vy_ranges_free(ranges);
    return status;
}

void vy_bounds_check_report_free(vy_bounds_check_report *guards) {
    VY_VECTOR_FREE(&guards->left);
    *guards = (vy_bounds_check_report){0};
}

void vy_residual_check_text(const vyre_program *program, const vy_residual_check *left, char *text, size_t size) {
    const char *name = vy_symbol_name(program, vy_memory_at(program, left->memory)->name);
    uint64_t length = vy_memory_known_length(program, left->memory);
    int n = vy_is_signed(left->type)
                ? snprintf(text, size, "index %s %" PRId64 " … %" PRId64 ", ", vyre_type_name((vyre_type)left->type),
                           (int64_t)left->range.low, (int64_t)left->range.high)
                : snprintf(text, size, "index %s %" PRIu64 " … %" PRIu64 ", ", vyre_type_name((vyre_type)left->type),
                           left->range.low, left->range.high);
    if (n < 0 || (size_t)n >= size)
        return;
    if (length)
        snprintf(text + n, size - (size_t)n, "length of %s %" PRIu64, name, length);
    else
        snprintf(text + n, size - (size_t)n, "length of %s known at dispatch", name);
}
