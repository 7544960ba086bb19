/* Values: common subexpressions, copies, and loads of what was just stored.
 *
 * Every expression gets the number of its value; equal numbers mean equal bits wherever both are evaluated. The number of an op follows from its
 * row and the numbers of its operands, that of a variable is that of what it was given last, that of a load from the state of the
 * memory: each state has a number of its own, and a new one begins with every statement that may change the memory (vy_rules.changes). A
 * store to an index that is certainly inside (optimize_range.h) says what a load from there gives. At the head of a loop everything its body changes is unknown,
 * and so is behind an `if` what its branches changed. Ops of literals are computed (by the evaluator), so literals travel through variables.
 *
 * Then, going through the program in order: a tree whose number is that of a literal becomes the literal; one whose number a
 * variable in scope has that is never assigned becomes that variable; one whose number an earlier tree has, which dominates it and stands in a
 * block around it, becomes a new `let` that is put before that earlier one. Only the largest trees are taken.
 *
 * What must stay true: a number is never used for two values that an invocation can tell apart between the definition of the leader and
 * the use, in one trip of every loop around both. So leaders are forgotten with their block, and conditions of `while` lead nothing. */
#include "base/status.h"
#include "ir/validate/check.h"
#include "transform/optimize.h"
#include "transform/optimize_fold.h"
#include "transform/optimize_range.h"
#include "transform/optimize_rewrite.h"

/* A value number stands for a key: what the value is made of. */
typedef struct value {
    vy_expr key;     /* operands are numbers; VY_EXPR_KIND_COUNT: like no other */
    uint32_t next;   /* in its bucket, plus 1 */
    uint32_t holder; /* a variable in scope that has it and is never assigned, or VY_NONE */
    uint32_t leader; /* an expression in scope that computes it, or VY_NONE */
    uint32_t stands; /* for this number: of a load after a store the number of what was stored; else itself */
    uint32_t store;  /* of such a load: the store, plus 1, as long as nobody has asked whether that is inside; else 0 */
} value;

/* What is to be undone at the end of a block. */
typedef enum undo_kind { UNDO_VARIABLE, UNDO_MEMORY, UNDO_SHARED, UNDO_HOLDER, UNDO_LEADER } undo_kind;
typedef struct undo {
    undo_kind kind;
    uint32_t index, old;
} undo;

/* LEADS: it is a leader somebody uses. */
typedef enum becomes { KEEPS, BECOMES_LITERAL, BECOMES_VARIABLE, BECOMES_LEADER, LEADS } becomes;

typedef struct numbering {
    const vyre_program *program;
    const vy_rules *rules;
    vy_ranges *ranges; /* made when somebody asks */
    VY_VECTOR(value) values;
    VY_VECTOR(undo) log;
    uint32_t *buckets, bucket_count; /* a power of two */
    uint32_t *of_expr;               /* by expression: its number */
    uint32_t *of_variable;           /* by variable: the number of its value here; VY_NONE: none yet */
    uint8_t *is_assigned;            /* by variable: beyond its declaration */
    uint32_t *of_memory;             /* by memory: the number of its state */
    uint32_t *last_load;             /* by memory: one past the last load from it */
    uint32_t shared;                 /* the number of the state of everything others may write */
    uint32_t next_state;
    uint32_t next_expr;
    uint32_t undoes; /* what is set here is undone: how many are going to do that */
    /* The result: */
    uint32_t *first_expr; /* by statement */
    uint8_t *becomes;     /* by expression */
    uint32_t *target;     /* by expression that goes: the variable or leader */
    uint32_t *made;       /* the same table, by leader, which does not go: the variable of the draft, once there */
    uint32_t *block;
    size_t size, bucket_size;
    uint64_t changes; /* trees that become something else */
    int leads;        /* and something is put before that */
    int failed;
} numbering;

/* ---- numbers ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint32_t bucket_of(const numbering *n, const vy_expr *key) {
    uint32_t what; /* kind, type, op, axis */
    memcpy(&what, key, sizeof what);
    uint64_t hash = mix(mix(key->bits, (uint64_t)what << 32 | key->c), (uint64_t)key->a << 32 | key->b);
    return (uint32_t)(hash >> 32) & (n->bucket_count - 1);
}

static int is_equal(const vy_expr *x, const vy_expr *y) {
    _Static_assert(sizeof *x == 4 + 3 * 4 + 8, "there is nothing between the members");
    return memcmp(x, y, sizeof *x) == 0;
}

static uint32_t add_value(numbering *n, const vy_expr *key) {
    if (!VY_RESERVE(&n->values, 1)) {
        n->failed = 1;
        return 0;
    }
    uint32_t made = n->values.count++;
    n->values.items[made] = (value){.key = *key, .holder = VY_NONE, .leader = VY_NONE, .stands = made};
    return made;
}

/* A value like no other. */
static uint32_t fresh_value(numbering *n, uint8_t type) {
    return add_value(n, &(vy_expr){.kind = VY_EXPR_KIND_COUNT, .type = type});
}

static int is_inside(numbering *n, uint32_t stmt);

/* What a value stands for. Most loads that a store is for never come: so only now it matters whether it was inside. */
static uint32_t settle(numbering *n, uint32_t number) {
    value *v = &n->values.items[number];
    if (v->store && is_inside(n, v->store - 1))
        v->stands = n->of_expr[n->program->stmts.items[v->store - 1].b];
    v->store = 0;
    return v->stands;
}

static uint32_t number_of(numbering *n, const vy_expr *key) {
    uint32_t *bucket = &n->buckets[bucket_of(n, key)];
    for (uint32_t i = *bucket; i; i = n->values.items[i - 1].next)
        if (is_equal(&n->values.items[i - 1].key, key))
            return settle(n, i - 1);
    uint32_t made = add_value(n, key);
    if (n->failed)
        return 0;
    n->values.items[made].next = *bucket;
    *bucket = made + 1;
    return made;
}

static uint32_t literal_number(numbering *n, uint8_t type, uint64_t bits) {
    return number_of(n, &(vy_expr){.kind = VY_EXPR_LITERAL, .type = type, .bits = bits});
}

static const vy_expr *literal_of(const numbering *n, uint32_t number) {
    const vy_expr *key = &n->values.items[number].key;
    return key->kind == VY_EXPR_LITERAL ? key : NULL;
}

/* ---- state, with undo ---- */

static inline uint32_t *place_of(numbering *n, undo_kind kind, uint32_t index) {
    switch (kind) {
    case UNDO_VARIABLE:
        return &n->of_variable[index];
    case UNDO_MEMORY:
        return &n->of_memory[index];
    case UNDO_SHARED:
        return &n->shared;
    case UNDO_HOLDER:
        return &n->values.items[index].holder;
    case UNDO_LEADER:
        break;
    }
    return &n->values.items[index].leader;
}

static inline void set(numbering *n, undo_kind kind, uint32_t index, uint32_t to) {
    if (n->failed)
        return;
    uint32_t *place = place_of(n, kind, index);
    if (n->undoes) {
        if (!VY_RESERVE(&n->log, 1)) {
            n->failed = 1;
            return;
        }
        n->log.items[n->log.count++] = (undo){kind, index, *place};
    }
    *place = to;
}

static void forget_variable(numbering *n, uint32_t variable) {
    set(n, UNDO_VARIABLE, variable, fresh_value(n, n->program->variables.items[variable].type));
}

static void forget_memory(numbering *n, uint32_t memory) {
    set(n, UNDO_MEMORY, memory, n->next_state++);
}

static void forget_shared(numbering *n) {
    set(n, UNDO_SHARED, 0, n->next_state++);
}

/* Back to how it was at `mark`. */
static void undo_to(numbering *n, uint32_t mark) {
    while (n->log.count > mark) {
        const undo *entry = &n->log.items[--n->log.count];
        *place_of(n, entry->kind, entry->index) = entry->old;
    }
}

/* Ends a block: back to `mark`, except that what was changed since is unknown. `touched` holds what was changed. */
typedef VY_VECTOR(undo) touched_list;

static void collect(numbering *n, uint32_t mark, touched_list *touched) {
    for (uint32_t i = mark; i < n->log.count && !n->failed; i++) {
        const undo *entry = &n->log.items[i];
        if (entry->kind == UNDO_HOLDER || entry->kind == UNDO_LEADER ||
            (entry->kind == UNDO_VARIABLE && entry->old == VY_NONE)) /* it is declared in the block */
            continue;
        if (VY_RESERVE(touched, 1))
            touched->items[touched->count++] = *entry;
        else
            n->failed = 1;
    }
    undo_to(n, mark);
}

static void forget_touched(numbering *n, touched_list *touched) {
    for (uint32_t i = 0; i < touched->count && !n->failed; i++) {
        const undo *entry = &touched->items[i];
        if (entry->kind == UNDO_VARIABLE && n->of_variable[entry->index] != VY_NONE)
            forget_variable(n, entry->index);
        else if (entry->kind == UNDO_MEMORY)
            forget_memory(n, entry->index);
        else if (entry->kind == UNDO_SHARED)
            forget_shared(n);
    }
    VY_VECTOR_FREE(touched);
}

/* ---- expressions ---- */

static uint32_t number_load(numbering *n, const vy_expr *e) {
    vy_expr key = {.kind = VY_EXPR_LOAD, .type = e->type, .a = e->a, .b = n->of_expr[e->b], .c = n->of_memory[e->a]};
    key.bits = vy_memory_is_shared(n->program, e->a) ? n->shared : 0;
    return number_of(n, &key);
}

/* Whether all operands of an op, of which these are the numbers, are literals; then *bits is what it gives. */
static int compute(const numbering *n, const vy_expr *e, const uint32_t numbers[3], uint64_t *bits) {
    uint64_t args[3] = {0};
    for (int i = 0; i < 3 && numbers[i] != VY_NONE; i++) {
        const vy_expr *literal = literal_of(n, numbers[i]);
        if (!literal)
            return 0;
        args[i] = literal->bits;
    }
    uint8_t operand = n->program->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
    *bits = vyre_op_evaluate((vyre_op)e->op, (vyre_type)e->type, (vyre_type)operand, args[0], args[1], args[2]);
    return 1;
}

static uint32_t number_op(numbering *n, const vy_expr *e) {
    uint32_t a = n->of_expr[e->a], b = e->b == VY_NONE ? VY_NONE : n->of_expr[e->b],
             c = e->c == VY_NONE ? VY_NONE : n->of_expr[e->c];
    uint64_t bits;
    if (literal_of(n, a) && compute(n, e, (const uint32_t[3]){a, b, c}, &bits)) /* few have one on the left */
        return literal_number(n, e->type, bits);
    int swaps = a > b && vy_op_commutes((vyre_op)e->op);
    return number_of(
        n,
        &(vy_expr){.kind = VY_EXPR_OP, .type = e->type, .op = e->op, .a = swaps ? b : a, .b = swaps ? a : b, .c = c});
}

static uint32_t number_expr(numbering *n, const vy_expr *e) {
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL:
        return literal_number(n, e->type, e->bits);
    case VY_EXPR_VARIABLE:
        return n->of_variable[e->a];
    case VY_EXPR_LOAD:
        return number_load(n, e);
    case VY_EXPR_LEN:
    case VY_EXPR_MISALIGNMENT:
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

static void replace(numbering *n, uint32_t expr, becomes becomes, uint32_t target) {
    n->becomes[expr] = (uint8_t)becomes;
    n->target[expr] = target;
    n->changes++;
}

static void choose_tree(numbering *n, uint32_t root, int may_lead);

/* Decides what a tree becomes, from the root down. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. Most trees are leaves that stay. */
static inline void choose(numbering *n, uint32_t root, int may_lead) {
    const vy_expr *e = &n->program->exprs.items[root];
    const value *v = &n->values.items[n->of_expr[root]];
    int stays = e->kind == VY_EXPR_VARIABLE
                    ? v->key.kind != VY_EXPR_LITERAL && (v->holder == VY_NONE || v->holder == e->a)
                    : e->kind == VY_EXPR_LITERAL;
    if (!stays)
        choose_tree(n, root, may_lead);
}

static void choose_tree(numbering *n, uint32_t root, int may_lead) {
    const vy_expr *e = &n->program->exprs.items[root];
    uint32_t number = n->of_expr[root];
    const value *v = &n->values.items[number];
    if (v->key.kind == VY_EXPR_LITERAL) {
        replace(n, root, BECOMES_LITERAL, VY_NONE);
        return;
    }
    if (v->holder != VY_NONE) {
        replace(n, root, BECOMES_VARIABLE, v->holder);
        return;
    }
    if (e->kind != VY_EXPR_OP && e->kind != VY_EXPR_LOAD)
        return;
    if (v->leader != VY_NONE) {
        replace(n, root, BECOMES_LEADER, v->leader);
        n->becomes[v->leader] = LEADS;
        n->made[v->leader] = VY_NONE;
        n->leads = 1;
        return;
    }
    if (may_lead)
        set(n, UNDO_LEADER, number, root);
    if (e->kind == VY_EXPR_OP)
        choose(n, e->a, may_lead);
    if (e->b != VY_NONE)
        choose(n, e->b, may_lead);
    if (e->kind == VY_EXPR_OP && e->c != VY_NONE)
        choose(n, e->c, may_lead);
}

static void number_exprs(numbering *n, const vy_stmt *s) {
    const vyre_program *p = n->program;
    uint32_t end = vy_stmt_exprs_end(p, s, n->next_expr);
    for (uint32_t i = n->next_expr; i < end && !n->failed; i++)
        n->of_expr[i] = number_expr(n, &p->exprs.items[i]);
    n->next_expr = end;
    if (n->failed)
        return;
    int may_lead = s->kind != VY_STMT_WHILE;
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

/* ---- statements ---- */

static void hold(numbering *n, uint32_t variable, uint32_t number) {
    set(n, UNDO_VARIABLE, variable, number);
    if (!n->failed && !n->is_assigned[variable] && n->values.items[number].holder == VY_NONE)
        set(n, UNDO_HOLDER, number, variable);
}

static void hold_fresh(numbering *n, const vy_stmt *s) {
    for (uint32_t i = 0; i < s->result_count && !n->failed; i++)
        hold(n, s->variable + i, fresh_value(n, n->program->variables.items[s->variable + i].type));
}

/* Forgets what executing the statement may change. */
static void forget_changes(numbering *n, const vy_stmt *s) {
    uint8_t changes = vy_stmt_changes(n->rules, s);
    if (changes & VY_CHANGES_VARIABLE && n->of_variable[s->variable] != VY_NONE)
        forget_variable(n, s->variable);
    if (changes & VY_CHANGES_MEMORY && s->memory != VY_NONE)
        forget_memory(n, s->memory);
    for (uint32_t i = 0; changes & VY_CHANGES_MEMORY && i < s->arg_count; i++)
        if (n->program->args.items[s->args + i].is_memory)
            forget_memory(n, n->program->args.items[s->args + i].index);
    if (changes & VY_CHANGES_SHARED)
        forget_shared(n);
}

/* Whether a store is inside for certain. Ranges are made for the first question that needs them. */
static int is_inside(numbering *n, uint32_t stmt) {
    const vy_stmt *s = &n->program->stmts.items[stmt];
    const vy_expr *index = &n->program->exprs.items[s->a];
    if (!n->rules->check_bounds)
        return 1;
    if (index->kind == VY_EXPR_LITERAL && vy_integer_of(index->type, index->bits) >= 0 &&
        index->bits < vy_memory_known_length(n->program, s->memory))
        return 1;
    if (!n->ranges && vy_ranges_make_by(n->program, n->rules, VY_ASKS_STORES, &n->ranges, NULL) != VYRE_OK)
        n->failed = 1;
    return !n->failed && vy_stmt_is_inside(n->ranges, stmt);
}

/* After a store, a load from there gives what was stored: its key stands for that number. Nobody asks if no load follows. */
static void forward_store(numbering *n, uint32_t index, const vy_stmt *s) {
    vy_expr load = {
        .kind = VY_EXPR_LOAD, .type = n->program->memories.items[s->memory].type, .a = s->memory, .b = s->a};
    if (n->failed || n->last_load[s->memory] <= n->next_expr)
        return;
    uint32_t made = number_load(n, &load);
    if (!n->failed)
        n->values.items[made].store = index + 1;
}

static void number_block(numbering *n, uint32_t first, uint32_t end);

static void number_if(numbering *n, uint32_t index, const vy_stmt *s) {
    touched_list touched = {0};
    uint32_t mark = n->log.count;
    n->undoes++;
    number_block(n, index + 1, s->middle);
    collect(n, mark, &touched);
    number_block(n, s->middle, s->end);
    collect(n, mark, &touched);
    n->undoes--;
    if (!n->rules->forget_at_joins)
        touched.count = 0;
    forget_touched(n, &touched);
}

static void number_loop(numbering *n, uint32_t index, const vy_stmt *s) {
    touched_list touched = {0};
    uint32_t mark = n->log.count;
    n->undoes++;
    for (uint32_t i = index + 1; i < s->end && n->rules->forget_at_loops && !n->failed; i++)
        forget_changes(n, &n->program->stmts.items[i]);
    if (s->kind == VY_STMT_WHILE)
        number_exprs(n, s);
    hold_fresh(n, s);
    number_block(n, index + 1, s->end);
    collect(n, mark, &touched);
    n->undoes--;
    forget_touched(n, &touched);
}

/* What a region changes stays known behind it; what it declares is out of scope. */
static void number_region(numbering *n, uint32_t index, const vy_stmt *s) {
    uint32_t mark = n->log.count;
    n->undoes++;
    number_block(n, index + 1, s->end);
    n->undoes--;
    for (uint32_t i = mark; i < n->log.count && !n->failed; i++) {
        undo *entry = &n->log.items[i];
        if (entry->kind == UNDO_HOLDER || entry->kind == UNDO_LEADER)
            *place_of(n, entry->kind, entry->index) = entry->old;
    }
    n->log.count = n->undoes ? n->log.count : mark;
}

static void number_stmt(numbering *n, uint32_t index) {
    const vy_stmt *s = &n->program->stmts.items[index];
    n->first_expr[index] = n->next_expr;
    if (s->kind != VY_STMT_WHILE)
        number_exprs(n, s);
    if (n->failed)
        return;
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        hold(n, s->variable, n->of_expr[s->a]);
        break;
    case VY_STMT_ASSIGN:
        forget_changes(n, s);
        if (vy_stmt_changes(n->rules, s))
            set(n, UNDO_VARIABLE, s->variable, n->of_expr[s->a]);
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
        hold_fresh(n, s);
        if (s->kind == VY_STMT_STORE)
            forward_store(n, index, s);
        break;
    }
}

static void number_block(numbering *n, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !n->failed; i = n->program->stmts.items[i].end)
        number_stmt(n, i);
}

static void number_function(numbering *n, const vy_function *f) {
    const vyre_program *p = n->program;
    uint32_t scalars = vy_is_entry(p, f) ? p->param_count : 0;
    n->undoes = p->functions.count > 1; /* what the next has no use for */
    for (uint32_t i = 0; !vy_is_entry(p, f) && i < f->param_count; i++)
        scalars += !p->params.items[f->first_param + i].is_memory;
    for (uint32_t i = 0; i < scalars && !n->failed; i++)
        hold(n, f->first_variable + i, fresh_value(n, p->variables.items[f->first_variable + i].type));
    for (uint32_t i = 0; i < f->memory_count && !n->failed; i++)
        forget_memory(n, f->first_memory + i);
    number_block(n, f->first_stmt, f->end_stmt);
    undo_to(n, 0);
}

/* ---- writing ---- */

/* What takes the place of a tree, a leaf; 0 if nothing does. A leader is its own variable, once that is there. */
static int leaf_of(const vy_rewrite *rw, uint32_t expr, vy_expr *leaf) {
    const numbering *n = rw->user;
    uint32_t variable = VY_NONE;
    switch ((becomes)n->becomes[expr]) {
    case KEEPS:
        break;
    case LEADS:
        variable = n->made[expr];
        break;
    case BECOMES_LITERAL:
        *leaf = *literal_of(n, n->of_expr[expr]);
        *leaf = vy_literal_expr((vyre_type)leaf->type, leaf->bits);
        return 1;
    case BECOMES_VARIABLE:
        variable = rw->variables[n->target[expr]];
        break;
    case BECOMES_LEADER:
        variable = n->made[n->target[expr]];
        break;
    }
    if (variable == VY_NONE)
        return 0;
    *leaf = (vy_expr){.kind = VY_EXPR_VARIABLE,
                      .type = rw->draft.program->variables.items[variable].type,
                      .a = variable,
                      .b = VY_NONE,
                      .c = VY_NONE};
    return 1;
}

/* In the tree of a leader. */
static uint32_t put_tree(vy_rewrite *rw, uint32_t expr) {
    vy_expr leaf;
    return leaf_of(rw, expr, &leaf) ? vy_pool_expr(rw, &leaf) : VY_NONE;
}

/* Puts the `let`s of the leaders in a statement before it, smaller trees first. */
static int put_leaders(vy_rewrite *rw, uint32_t stmt) {
    numbering *n = rw->user;
    uint32_t end = vy_stmt_exprs_end(rw->from, &rw->from->stmts.items[stmt], n->first_expr[stmt]);
    for (uint32_t i = n->first_expr[stmt]; i < end && !rw->draft.failed; i++)
        if (n->becomes[i] == LEADS)
            n->made[i] = vy_rewrite_let(rw, vy_rewrite_read_below(rw, i));
    return 0;
}

/* A row was written: what went where keeps its position. What takes the place of a tree has that of its root, which comes last. */
static void place_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    vy_position *positions = rw->draft.program->expr_positions.items;
    for (uint32_t i = first; i < end; i++)
        positions[rw->row.items[i - first]] = vy_expr_position(rw->from, i);
    rw->draft.program->expr_positions.count = rw->draft.program->exprs.count;
}

/* Writes what takes the place of a tree where that begins: at its first leaf, or at `to` if it is one. Returns where that is; VY_NONE if nothing does. */
static uint32_t put_leaf(vy_rewrite *rw, uint32_t first, uint32_t expr, uint32_t to) {
    const vyre_program *made = rw->draft.program;
    const vy_expr e = vy_row_expr(rw, first, rw->from->exprs.items[expr]);
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
    const numbering *n = rw->user;
    vyre_program *made = rw->draft.program;
    uint32_t to = vy_rewrite_start_row(rw, end - first), *row = rw->row.items;
    if (to == VY_NONE)
        return;
    for (uint32_t i = first; i < end; i++) {
        uint32_t at = n->becomes[i] ? put_leaf(rw, first, i, to) : VY_NONE;
        if (at == VY_NONE)
            made->exprs.items[at = to] = vy_row_expr(rw, first, rw->from->exprs.items[i]);
        *row++ = at;
        to = at + 1;
    }
    made->exprs.count = to;
    if (vy_draft_places_exprs(&rw->draft))
        place_row(rw, first, end);
}

static uint32_t find_replaced(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const numbering *n = rw->user;
    for (uint32_t i = first; i < end; i++)
        if (n->becomes[i])
            return i;
    return end;
}

/* ---- all of it ---- */

static int prepare(numbering *n) {
    const vyre_program *p = n->program;
    size_t exprs = p->exprs.count, stmts = p->stmts.count, variables = p->variables.count + 1u,
           memories = p->memories.count + 1u;
    n->size =
        vy_array_size(2 * exprs + stmts + variables + 2 * memories + (exprs + variables) / 4 + 1, sizeof *n->block);
    n->block = vy_allocate(n->size);
    for (n->bucket_count = 64; n->bucket_count < exprs; n->bucket_count *= 2) {
    }
    n->bucket_size = vy_array_size(n->bucket_count, sizeof *n->buckets);
    n->buckets = vy_allocate_zero(n->bucket_size);
    if (!n->block || !n->buckets)
        return 0;
    if (!VY_RESERVE(&n->values, exprs / 2 + variables) || !VY_RESERVE(&n->log, stmts + variables))
        return 0;
    n->of_expr = n->block;
    n->target = n->of_expr + exprs;
    n->made = n->target;
    n->first_expr = n->target + exprs;
    n->of_variable = n->first_expr + stmts;
    n->of_memory = n->of_variable + variables;
    n->last_load = n->of_memory + memories;
    n->becomes = (uint8_t *)(n->last_load + memories);
    n->is_assigned = n->becomes + exprs;
    memset(n->of_variable, 0xff, (variables + memories) * sizeof *n->of_variable); /* and of_memory */
    memset(n->becomes, 0, exprs + variables);                                      /* and is_assigned */
    memset(n->last_load, 0, memories * sizeof *n->last_load);
    for (uint32_t i = 0; i < p->exprs.count; i++)
        if (p->exprs.items[i].kind == VY_EXPR_LOAD)
            n->last_load[p->exprs.items[i].a] = i + 1;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (p->stmts.items[i].kind == VY_STMT_ASSIGN)
            n->is_assigned[p->stmts.items[i].variable] = 1;
    return 1;
}

/* By the hooks that fit: without leaders nothing but trees changes. */
static vyre_status write_values(const vyre_program *from, numbering *n, vyre_program **out, uint64_t *changes,
                                vyre_error *error) {
    static const vy_rewriter leading = {.stmt = put_leaders,
                                        .row = put_row,
                                        .tree = put_tree,
                                        .tree_kinds = VY_ALL_BUT_LITERALS,
                                        .keeps_names = 1,
                                        .keeps_blocks = 1,
                                        .find = find_replaced};
    static const vy_rewriter alone = {
        .row = put_row, .keeps_names = 1, .keeps_blocks = 1, .find = find_replaced, .shrinks = 1};
    vyre_status status = vy_rewrite_run(from, n->leads ? &leading : &alone, n, NULL, out, changes, error);
    *changes = *changes ? n->changes : 0;
    return status;
}

vyre_status vy_pass_values(const vyre_program *from, const vy_rules *rules, vyre_program **out, uint64_t *changes,
                           vyre_error *error) {
    numbering n = {.program = from, .rules = rules};
    *out = NULL;
    *changes = 0;
    n.failed = !prepare(&n);
    for (uint32_t i = 0; i < from->functions.count && !n.failed; i++)
        number_function(&n, &from->functions.items[i]);
    vyre_status status = n.failed    ? vy_fail_memory(error, "a pass")
                         : n.changes ? write_values(from, &n, out, changes, error)
                                     : VYRE_OK;
    if (!n.failed && !n.changes)
        *out = vyre_program_retain((vyre_program *)from);
    vy_ranges_free(n.ranges);
    vy_release(n.block, n.size);
    vy_release(n.buckets, n.bucket_size);
    VY_VECTOR_FREE(&n.values);
    VY_VECTOR_FREE(&n.log);
    return status;
}
