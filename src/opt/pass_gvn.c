/* Global value numbering: common subexpression elimination, copy propagation and store-to-load forwarding
 * (gvn_table.h).
 *
 * The walk numbers the expressions in program order. A tree with the number of a literal becomes the literal. A tree
 * with the number of an immutable variable in scope becomes that variable. A tree with the number of an earlier tree
 * (its leader), which dominates it and is in an enclosing block, becomes a variable: a new `let` before the statement
 * of the leader. Only the largest such trees are replaced. At the head of a loop everything that the body changes is
 * unknown, and so is what the branches changed after an `if`.
 *
 * Invariant: a number never denotes two values that an invocation can distinguish between the definition
 * of the leader and the use, in one iteration of every loop around both. So leaders go out of scope with their block,
 * and the condition of a `while` leads nothing. The trees of a statement are numbered and selected before the changes
 * of the statement. */
#include "opt/gvn_table.h"

#include "base/status.h"
#include "ir/walk.h"
#include "opt/constant_fold.h"
#include "opt/rewriter.h"

/* ---- selection: the replacement of each tree of a statement, the largest trees first ---- A literal is preferred
 * to a variable, and a variable to a leader, so that a value that already has a name does not get another `let`.
 * Within a replaced tree no expression becomes a leader. */

static void replace(vy_gvn *n, uint32_t expr, vy_gvn_replacement becomes, uint32_t target) {
    n->becomes[expr] = (uint8_t)becomes;
    n->target[expr] = target;
    n->changes++;
}

/* Which trees may become leaders. In an arm of `?:`, `&&` or `||` a tree that loads may not: its `let` would load
 * even if the arm is not taken. */
typedef enum leads { LEADS_NOTHING, LEADS_IN_ARM, LEADS_ALL } leads;

static int choose_tree(vy_gvn *n, uint32_t root, leads may_lead);

/* Selects the replacement of a tree, from the root down. Returns whether the remaining tree loads. Recursion is
 * bounded by VY_LIMIT_EXPRESSION_DEPTH. Most trees are leaves that are kept. */
static inline int choose(vy_gvn *n, uint32_t root, leads may_lead) {
    const vy_expr *e = vy_expr_at(n->program, root);
    const vy_value *v = &n->values.items[n->of_expr[root]];
    int stays = e->kind == VY_EXPR_VARIABLE
                    ? v->key.kind != VY_EXPR_LITERAL && (v->holder == VY_NONE || v->holder == e->a)
                    : e->kind == VY_EXPR_LITERAL;
    return !stays && choose_tree(n, root, may_lead);
}

static int choose_tree(vy_gvn *n, uint32_t root, leads may_lead) {
    const vy_expr *e = vy_expr_at(n->program, root);
    uint32_t number = n->of_expr[root];
    const vy_value *v = &n->values.items[number];
    if (v->key.kind == VY_EXPR_LITERAL) {
        replace(n, root, VY_GVN_TO_LITERAL, VY_NONE);
        return 0;
    }
    if (v->holder != VY_NONE) {
        replace(n, root, VY_GVN_TO_VARIABLE, v->holder);
        return 0;
    }
    if (e->kind != VY_EXPR_OP && e->kind != VY_EXPR_LOAD)
        return 0;
    if (v->leader != VY_NONE) {
        replace(n, root, VY_GVN_TO_LEADER, v->leader);
        n->becomes[v->leader] = VY_GVN_IS_LEADER;
        n->made[v->leader] = VY_NONE;
        n->leads = 1;
        return 0;
    }
    leads in_arm = may_lead == LEADS_ALL && e->kind == VY_EXPR_OP && vy_op_has_arms(e->op) && n->rules->guards_count
                       ? LEADS_IN_ARM
                       : may_lead;
    int loads = e->kind == VY_EXPR_LOAD;
    if (e->kind == VY_EXPR_OP)
        loads |= choose(n, e->a, may_lead);
    if (e->b != VY_NONE)
        loads |= choose(n, e->b, in_arm);
    if (e->kind == VY_EXPR_OP && e->c != VY_NONE)
        loads |= choose(n, e->c, in_arm);
    if (may_lead == LEADS_ALL || (may_lead == LEADS_IN_ARM && !loads))
        vy_gvn_set(n, VY_GVN_SLOT_LEADER, number, root);
    return loads;
}

/* Selects for the numbered trees of a statement. The trees that are kept become leaders from here on. */
static void gvn_choose(vy_gvn *n, const vy_stmt *s) {
    const vyre_program *p = n->program;
    leads may_lead = s->kind != VY_STMT_WHILE ? LEADS_ALL : LEADS_NOTHING;
    if (s->a != VY_NONE)
        choose(n, s->a, may_lead);
    if (s->b != VY_NONE)
        choose(n, s->b, may_lead);
    if (s->c != VY_NONE)
        choose(n, s->c, may_lead);
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (!p->args.items[s->args + i].is_memory)
            choose(n, p->args.items[s->args + i].index, may_lead);
}

/* ---- the walk: all functions, statement by statement, in program order ---- */

static inline void number_exprs(vy_gvn *n, const vy_stmt *s) {
    vy_gvn_number(n, s);
    if (!n->failed)
        gvn_choose(n, s);
}

static void set_holder(vy_gvn *n, uint32_t variable, uint32_t number) {
    vy_gvn_set(n, VY_GVN_SLOT_VARIABLE, variable, number);
    if (!n->failed && !n->uses.is_assigned[variable] && n->values.items[number].holder == VY_NONE)
        vy_gvn_set(n, VY_GVN_SLOT_HOLDER, number, variable);
}

static void set_fresh_holder(vy_gvn *n, const vy_stmt *s) {
    for (uint32_t i = 0; i < s->result_count && !n->failed; i++)
        set_holder(n, s->variable + i, vy_gvn_fresh(n, vy_variable_at(n->program, s->variable + i)->type));
}

/* Invalidates the variables and memories that executing the statement may change. */
static void forget_changes(vy_gvn *n, const vy_stmt *s) {
    uint8_t changes = vy_stmt_changes(n->rules, n->program, s);
    if (changes & VY_CHANGES_VARIABLE && n->of_variable[s->variable] != VY_NONE)
        vy_gvn_forget_variable(n, s->variable);
    if (changes & VY_CHANGES_MEMORY && s->memory != VY_NONE)
        vy_gvn_forget_memory(n, s->memory);
    for (uint32_t i = 0; changes & VY_CHANGES_MEMORY && i < s->arg_count; i++)
        if (n->program->args.items[s->args + i].is_memory)
            vy_gvn_forget_memory(n, n->program->args.items[s->args + i].index);
    if (changes & VY_CHANGES_SHARED)
        vy_gvn_forget_shared(n);
}

static void number_block(vy_gvn *n, uint32_t first, uint32_t end);

static void number_if(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    uint32_t mark = n->log.count;
    n->undoes++;
    number_block(n, index + 1, s->middle);
    vy_gvn_leave(n, mark);
    uint32_t middle = n->log.count;
    number_block(n, s->middle, s->end);
    vy_gvn_leave(n, middle);
    n->undoes--;
    if (n->rules->forget_at_joins)
        vy_gvn_forget(n, mark);
    else
        n->log.count = mark;
}

static void number_loop(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    uint32_t mark = n->log.count;
    n->undoes++;
    for (uint32_t i = index + 1; i < s->end && n->rules->forget_at_loops && !n->failed; i++)
        forget_changes(n, vy_stmt_at(n->program, i));
    if (s->kind == VY_STMT_WHILE)
        number_exprs(n, s);
    set_fresh_holder(n, s);
    number_block(n, index + 1, s->end);
    vy_gvn_leave(n, mark);
    n->undoes--;
    vy_gvn_forget(n, mark);
}

/* Every invocation executes a region, so its changes stay known after it. */
static void number_region(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    uint32_t mark = n->log.count;
    n->undoes++;
    number_block(n, index + 1, s->end);
    n->undoes--;
    vy_gvn_end_scope(n, mark);
}

static void number_stmt(vy_gvn *n, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(n->program, index);
    if (s->kind != VY_STMT_WHILE)
        number_exprs(n, s);
    if (n->failed)
        return;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        set_holder(n, s->variable, n->of_expr[s->a]);
        break;
    case VY_STMT_ASSIGN:
        forget_changes(n, s);
        if (vy_stmt_changes(n->rules, n->program, s))
            vy_gvn_set(n, VY_GVN_SLOT_VARIABLE, s->variable, n->of_expr[s->a]);
        break;
    case VY_STMT_IF:
        number_if(n, index, s);
        break;
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        number_loop(n, index, s);
        break;
    case VY_STMT_REGION:
        number_region(n, index, s);
        break;
    default:
        forget_changes(n, s);
        set_fresh_holder(n, s);
        if (s->kind == VY_STMT_STORE)
            vy_gvn_forward(n, index, s);
        break;
    }
}

static void number_block(vy_gvn *n, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !n->failed; i = vy_stmt_at(n->program, i)->end)
        number_stmt(n, i);
}

static void number_function(vy_gvn *n, const vy_function *f) {
    const vyre_program *p = n->program;
    uint32_t scalars = vy_is_entry(p, f) ? p->param_count : 0;
    n->undoes = p->functions.count > 1; /* the state at the end of a function is useless to the next one */
    for (uint32_t i = 0; !vy_is_entry(p, f) && i < f->param_count; i++)
        scalars += !p->params.items[f->first_param + i].is_memory;
    for (uint32_t i = 0; i < scalars && !n->failed; i++)
        set_holder(n, f->first_variable + i, vy_gvn_fresh(n, vy_variable_at(p, f->first_variable + i)->type));
    for (uint32_t i = 0; i < f->memory_count && !n->failed; i++)
        vy_gvn_forget_memory(n, f->first_memory + i);
    number_block(n, f->first_stmt, f->end_stmt);
    vy_gvn_undo_to(n, 0);
}

/* Fills the result fields of `n`, whose tables are allocated. May set n->failed. */
static void gvn_walk(vy_gvn *n) {
    for (uint32_t i = 0; i < n->program->functions.count && !n->failed; i++)
        number_function(n, &n->program->functions.items[i]);
}

/* ---- rewriting: the replacements, and the `let`s of leaders before their statements ---- The `let` of a leader
 * precedes every use of it, smaller trees first. A replacement is a leaf and is written at the first expression of
 * its tree, so writing compacts the expressions of a statement. */

/* The leaf that replaces a tree; 0 if the tree is kept. A leader becomes its variable, once that is declared. */
static int leaf_of(const vy_rewrite *rw, uint32_t expr, vy_expr *leaf) {
    const vy_gvn *n = rw->user;
    uint32_t variable = VY_NONE;
    switch ((vy_gvn_replacement)n->becomes[expr]) {
    case VY_GVN_KEEP:
        break;
    case VY_GVN_IS_LEADER:
        variable = n->made[expr];
        break;
    case VY_GVN_TO_LITERAL:
        *leaf = *vy_gvn_literal(n, n->of_expr[expr]);
        *leaf = vy_literal_expr((vyre_type)leaf->type, leaf->bits);
        return 1;
    case VY_GVN_TO_VARIABLE:
        variable = rw->variables[n->target[expr]];
        break;
    case VY_GVN_TO_LEADER:
        variable = n->made[n->target[expr]];
        break;
    }
    if (variable == VY_NONE)
        return 0;
    *leaf = vy_variable_expr((vyre_type)vy_variable_at(rw->draft.program, variable)->type, variable);
    return 1;
}

/* Replacements inside the tree of a leader. */
static uint32_t put_tree(vy_rewrite *rw, uint32_t expr) {
    vy_expr leaf;
    return leaf_of(rw, expr, &leaf) ? vy_rewrite_make_expr(rw, &leaf) : VY_NONE;
}

/* Writes the `let`s of the leaders in a statement before it, smaller trees first. */
static int put_leaders(vy_rewrite *rw, uint32_t stmt) {
    vy_gvn *n = rw->user;
    for (uint32_t i = n->uses.first_expr[stmt]; i < n->uses.first_expr[stmt + 1] && !rw->draft.failed; i++)
        if (n->becomes[i] == VY_GVN_IS_LEADER)
            n->made[i] = vy_rewrite_let(rw, vy_rewrite_read_below(rw, i));
    return 0;
}

/* Sets the positions of a row after it was written. A replacement has the position of the root of its tree, which
 * comes last. */
static void place_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    vy_position *positions = rw->draft.program->expr_positions.items;
    for (uint32_t i = first; i < end; i++)
        positions[rw->row.items[i - first]] = vy_expr_position(rw->from, i);
    rw->draft.program->expr_positions.count = rw->draft.program->exprs.count;
}

/* Writes the replacement of a tree at the first leaf of the tree, or at `to` if it is a leaf. Returns its index;
 * VY_NONE if the tree is kept. */
static uint32_t put_leaf(vy_rewrite *rw, uint32_t first, uint32_t expr, uint32_t to) {
    const vyre_program *made = rw->draft.program;
    const vy_expr e = vy_rewritten_expr(rw, first, rw->from->exprs.items[expr]);
    vy_expr leaf;
    if (!leaf_of(rw, expr, &leaf))
        return VY_NONE;
    if (e.kind == VY_EXPR_OP || e.kind == VY_EXPR_LOAD)
        to = vy_expr_first(made, e.kind == VY_EXPR_OP ? e.a : e.b);
    made->exprs.items[to] = leaf;
    rw->changes++;
    return to;
}

static void put_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_gvn *n = rw->user;
    vyre_program *made = rw->draft.program;
    uint32_t to = vy_rewrite_start_exprs(rw, end - first), *row = rw->row.items;
    if (to == VY_NONE)
        return;
    for (uint32_t i = first; i < end; i++) {
        uint32_t at = n->becomes[i] ? put_leaf(rw, first, i, to) : VY_NONE;
        if (at == VY_NONE)
            made->exprs.items[at = to] = vy_rewritten_expr(rw, first, rw->from->exprs.items[i]);
        *row++ = at;
        to = at + 1;
    }
    made->exprs.count = to;
    if (vy_irb_keeps_expr_positions(&rw->draft))
        place_row(rw, first, end);
}

static uint32_t find_replaced(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_gvn *n = rw->user;
    for (uint32_t i = first; i < end; i++)
        if (n->becomes[i])
            return i;
    return end;
}

/* Writes the draft after a walk that found replacements (n->changes). *changes: how many. Without leaders only trees
 * change, so a cheaper set of hooks suffices. */
static vyre_status gvn_write(vy_gvn *n, vyre_program **out, uint64_t *changes, vyre_error *error) {
    static const vy_rewriter leading = {.stmt = put_leaders,
                                        .rewrite_exprs = put_row,
                                        .tree = put_tree,
                                        .tree_kinds = VY_ALL_BUT_LITERALS,
                                        .keeps_names = 1,
                                        .keeps_blocks = 1,
                                        .find = find_replaced};
    static const vy_rewriter alone = {
        .rewrite_exprs = put_row, .keeps_names = 1, .keeps_blocks = 1, .find = find_replaced, .only_shrinks = 1};
    vyre_status status = vy_rewrite_run(n->program, n->leads ? &leading : &alone, n, NULL, out, changes, error);
    *changes = *changes ? n->changes : 0;
    return status;
}

/* ---- the pass ---- */

static int prepare(vy_gvn *n) {
    const vyre_program *p = n->program;
    size_t exprs = p->exprs.count, stmts = p->stmts.count, variables = p->variables.count + 1u,
           memories = p->memories.count + 1u;
    n->size = vy_array_size(2 * exprs + variables + 2 * memories + exprs / 4 + 1, sizeof *n->block);
    n->block = vy_allocate(n->size);
    for (n->bucket_count = 64; n->bucket_count < exprs; n->bucket_count *= 2) {
    }
    n->bucket_size = vy_array_size(n->bucket_count, sizeof *n->buckets);
    n->buckets = vy_allocate_zero(n->bucket_size);
    if (!n->block || !n->buckets)
        return 0;
    if (!VY_RESERVE(&n->values, exprs / 2 + stmts + variables) || !VY_RESERVE(&n->log, stmts + variables))
        return 0;
    n->of_expr = n->block;
    n->target = n->of_expr + exprs;
    n->made = n->target;
    n->of_variable = n->target + exprs;
    n->of_memory = n->of_variable + variables;
    n->last_load = n->of_memory + memories;
    n->becomes = (uint8_t *)(n->last_load + memories);
    memset(n->of_variable, 0xff, (variables + memories) * sizeof *n->of_variable); /* also of_memory */
    memset(n->becomes, 0, exprs);
    memset(n->last_load, 0, memories * sizeof *n->last_load);
    for (uint32_t i = 0; i < p->exprs.count; i++)
        if (vy_expr_at(p, i)->kind == VY_EXPR_LOAD)
            n->last_load[vy_expr_at(p, i)->a] = i + 1;
    return vy_def_use_need(&n->uses, VY_DEF_USE_EXPRS | VY_DEF_USE_ASSIGNED);
}

vyre_status vy_pass_gvn(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                        vyre_error *error) {
    vy_arena arena = {0};
    vy_gvn n = {.program = from, .rules = rules, .uses = {.program = from, .arena = &arena}};
    *out = NULL;
    *changes = 0;
    n.failed = !prepare(&n);
    if (!n.failed)
        gvn_walk(&n);
    vyre_status status = n.failed    ? vy_fail_memory(error, "a pass")
                         : n.changes ? gvn_write(&n, out, changes, error)
                                     : VYRE_OK;
    if (!n.failed && !n.changes)
        vy_program_unchanged(from, out);
    vy_ranges_free(n.ranges);
    vy_arena_free(&arena);
    vy_release(n.block, n.size);
    vy_release(n.buckets, n.bucket_size);
    VY_VECTOR_FREE(&n.values);
    VY_VECTOR_FREE(&n.log);
    return status;
}

/* Hash table of value numbers, and the undo log of the numbering state (gvn_table.h). */
/* ---- the table ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The members are mixed sequentially: `bits` and `c` of a load both count stores and barriers, and would cancel each
 * other under XOR. */
static uint32_t bucket_of(const vy_gvn *n, const vy_expr *key) {
    uint32_t what; /* kind, type, op, axis */
    memcpy(&what, key, sizeof what);
    uint64_t hash = mix(mix(mix(0, key->bits), (uint64_t)what << 32 | key->c), (uint64_t)key->a << 32 | key->b);
    return (uint32_t)(hash >> 32) & (n->bucket_count - 1);
}

static int is_equal(const vy_expr *x, const vy_expr *y) {
    _Static_assert(sizeof *x == 4 + 3 * 4 + 8, "there is nothing between the members");
    return memcmp(x, y, sizeof *x) == 0;
}

static uint32_t add_value(vy_gvn *n, const vy_expr *key) {
    if (!VY_RESERVE(&n->values, 1)) {
        n->failed = 1;
        return 0;
    }
    uint32_t made = n->values.count++;
    n->values.items[made] = (vy_value){.key = *key, .holder = VY_NONE, .leader = VY_NONE, .stands = made};
    return made;
}

uint32_t vy_gvn_fresh(vy_gvn *n, uint8_t type) {
    return add_value(n, &(vy_expr){.kind = VY_EXPR_KIND_COUNT, .type = type});
}

/* ---- store-to-load forwarding ---- */

/* Whether a store is certainly in bounds. The range analysis runs on the first query that needs it. */
static int is_inside(vy_gvn *n, uint32_t stmt) {
    const vy_stmt *s = vy_stmt_at(n->program, stmt);
    const vy_expr *index = vy_expr_at(n->program, s->a);
    if (!n->rules->check_bounds)
        return 1;
    if (index->kind == VY_EXPR_LITERAL && vy_integer_of(index->type, index->bits) >= 0 &&
        index->bits < vy_memory_known_length(n->program, s->memory))
        return 1;
    if (!n->ranges && vy_ranges_make_by(n->program, &n->rules->ranges, VY_ASKS_STORES, &n->ranges, NULL) != VYRE_OK)
        n->failed = 1;
    return !n->failed && vy_stmt_is_inside(n->ranges, stmt);
}

/* The canonical number of a value. The bounds of the store are checked only now, because most stores are not
 * followed by a load of the same element. */
static uint32_t resolve_value(vy_gvn *n, uint32_t number) {
    vy_value *v = &n->values.items[number];
    if (v->store && is_inside(n, v->store - 1))
        v->stands = n->of_expr[vy_stmt_at(n->program, v->store - 1)->b];
    v->store = 0;
    return v->stands;
}

/* ---- keys ---- */

static uint32_t number_of(vy_gvn *n, const vy_expr *key) {
    uint32_t *bucket = &n->buckets[bucket_of(n, key)];
    for (uint32_t i = *bucket; i; i = n->values.items[i - 1].next)
        if (is_equal(&n->values.items[i - 1].key, key))
            return resolve_value(n, i - 1);
    uint32_t made = add_value(n, key);
    if (n->failed)
        return 0;
    n->values.items[made].next = *bucket;
    *bucket = made + 1;
    return made;
}

static uint32_t literal_number(vy_gvn *n, uint8_t type, uint64_t bits) {
    return number_of(n, &(vy_expr){.kind = VY_EXPR_LITERAL, .type = type, .bits = bits});
}

static uint32_t number_load(vy_gvn *n, const vy_expr *e) {
    const vy_expr *index = vy_gvn_literal(n, n->of_expr[e->b]);
    uint64_t bits;
    if (index && vy_fold_constant_element(n->program, e, index->type, index->bits, &bits))
        return literal_number(n, e->type, bits);
    vy_expr key = {.kind = VY_EXPR_LOAD, .type = e->type, .a = e->a, .b = n->of_expr[e->b], .c = n->of_memory[e->a]};
    key.bits = vy_memory_is_shared(n->program, e->a) ? n->shared : 0;
    return number_of(n, &key);
}

void vy_gvn_forward(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    vy_expr load = {.kind = VY_EXPR_LOAD, .type = vy_memory_at(n->program, s->memory)->type, .a = s->memory, .b = s->a};
    if (n->failed || n->last_load[s->memory] <= n->uses.first_expr[index + 1])
        return;
    uint32_t made = number_load(n, &load);
    if (!n->failed)
        n->values.items[made].store = index + 1;
}

/* ---- expressions ---- */

/* Whether all operands of an op, given by their numbers, are literals; *bits is then the result. */
static int compute(const vy_gvn *n, const vy_expr *e, const uint32_t numbers[3], uint64_t *bits) {
    uint64_t args[3] = {0};
    for (int i = 0; i < 3 && numbers[i] != VY_NONE; i++) {
        const vy_expr *literal = vy_gvn_literal(n, numbers[i]);
        if (!literal)
            return 0;
        args[i] = literal->bits;
    }
    *bits = vy_op_value(n->program, e, args);
    return 1;
}

static uint32_t number_op(vy_gvn *n, const vy_expr *e) {
    uint32_t a = n->of_expr[e->a], b = e->b == VY_NONE ? VY_NONE : n->of_expr[e->b],
             c = e->c == VY_NONE ? VY_NONE : n->of_expr[e->c];
    uint64_t bits;
    if (vy_gvn_literal(n, a) && compute(n, e, (const uint32_t[3]){a, b, c}, &bits)) /* a literal left operand is rare */
        return literal_number(n, e->type, bits);
    int swaps = a > b && vy_op_commutes((vyre_op)e->op);
    return number_of(
        n,
        &(vy_expr){.kind = VY_EXPR_OP, .type = e->type, .op = e->op, .a = swaps ? b : a, .b = swaps ? a : b, .c = c});
}

static uint32_t number_expr(vy_gvn *n, const vy_expr *e) {
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL:
        return literal_number(n, e->type, e->bits);
    case VY_EXPR_VARIABLE:
        return n->of_variable[e->a];
    case VY_EXPR_LOAD:
        return number_load(n, e);
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
        return number_of(n, &(vy_expr){.kind = e->kind, .type = e->type, .a = e->a});
    case VY_EXPR_BUILTIN:
        return number_of(n, &(vy_expr){.kind = e->kind, .type = e->type, .op = e->op, .axis = e->axis});
    case VY_EXPR_OP:
        return number_op(n, e);
    case VY_EXPR_KIND_COUNT:
        break;
    }
    return 0;
}

void vy_gvn_number(vy_gvn *n, const vy_stmt *s) {
    const vy_expr *exprs = n->program->exprs.items;
    const uint32_t *first = &n->uses.first_expr[s - n->program->stmts.items];
    for (uint32_t i = first[0]; i < first[1] && !n->failed; i++)
        n->of_expr[i] = number_expr(n, &exprs[i]);
}

/* ---- state ---- */

void vy_gvn_forget_variable(vy_gvn *n, uint32_t variable) {
    vy_gvn_set(n, VY_GVN_SLOT_VARIABLE, variable, vy_gvn_fresh(n, vy_variable_at(n->program, variable)->type));
}

void vy_gvn_leave(vy_gvn *n, uint32_t mark) {
    for (uint32_t i = n->log.count; i > mark; i--) {
        const vy_gvn_undo *entry = &n->log.items[i - 1];
        *vy_gvn_slot_at(n, entry->place, entry->index) = entry->old;
    }
}

void vy_gvn_undo_to(vy_gvn *n, uint32_t mark) {
    vy_gvn_leave(n, mark);
    n->log.count = mark;
}

/* A slot that was already given a fresh number keeps it. A variable declared in the blocks is out of scope. */
static void forget_entry(vy_gvn *n, const vy_gvn_undo *entry, uint32_t first_value, uint32_t first_state) {
    if (entry->place == VY_GVN_SLOT_VARIABLE && n->of_variable[entry->index] < first_value)
        vy_gvn_forget_variable(n, entry->index);
    else if (entry->place == VY_GVN_SLOT_MEMORY && n->of_memory[entry->index] < first_state)
        vy_gvn_forget_memory(n, entry->index);
    else if (entry->place == VY_GVN_SLOT_SHARED && n->shared < first_state)
        vy_gvn_forget_shared(n);
}

void vy_gvn_forget(vy_gvn *n, uint32_t mark) {
    uint32_t end = n->log.count, first_value = n->values.count, first_state = n->next_state;
    for (uint32_t i = mark; i < end && !n->failed; i++) {
        const vy_gvn_undo entry = n->log.items[i]; /* the log may move */
        forget_entry(n, &entry, first_value, first_state);
    }
    memmove(n->log.items + mark, n->log.items + end, (n->log.count - end) * sizeof *n->log.items);
    n->log.count -= end - mark;
}

void vy_gvn_end_scope(vy_gvn *n, uint32_t mark) {
    const vy_gvn_undo *entries = n->log.items;
    for (uint32_t i = mark, end = n->log.count; i < end; i++)
        if (entries[i].place == VY_GVN_SLOT_HOLDER || entries[i].place == VY_GVN_SLOT_LEADER)
            *vy_gvn_slot_at(n, entries[i].place, entries[i].index) = entries[i].old;
    n->log.count = n->undoes ? n->log.count : mark;
}
