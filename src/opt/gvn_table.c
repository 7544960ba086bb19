/* Hash table of value numbers, and the undo log of the numbering state (gvn_table.h). */
#include "opt/gvn_table.h"

#include "ir/walk.h"

/* ---- the table ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Members are mixed one after the other: `bits` and `c` of a load both count stores and barriers, and would cancel each
 * other. */
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

/* ---- loads of what was stored ---- */

/* Whether a store is inside for certain. Ranges are made for the first question that needs them. */
static int is_inside(vy_gvn *n, uint32_t stmt) {
    const vy_stmt *s = &n->program->stmts.items[stmt];
    const vy_expr *index = &n->program->exprs.items[s->a];
    if (!n->rules->check_bounds)
        return 1;
    if (index->kind == VY_EXPR_LITERAL && vy_integer_of(index->type, index->bits) >= 0 &&
        index->bits < vy_memory_known_length(n->program, s->memory))
        return 1;
    if (!n->ranges && vy_ranges_make_by(n->program, &n->rules->ranges, VY_ASKS_STORES, &n->ranges, NULL) != VYRE_OK)
        n->failed = 1;
    return !n->failed && vy_stmt_is_inside(n->ranges, stmt);
}

/* What a value stands for. Most loads that a store is for never come: so only now it matters whether it was inside. */
static uint32_t resolve_value(vy_gvn *n, uint32_t number) {
    vy_value *v = &n->values.items[number];
    if (v->store && is_inside(n, v->store - 1))
        v->stands = n->of_expr[n->program->stmts.items[v->store - 1].b];
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
    vy_expr key = {.kind = VY_EXPR_LOAD, .type = e->type, .a = e->a, .b = n->of_expr[e->b], .c = n->of_memory[e->a]};
    key.bits = vy_memory_is_shared(n->program, e->a) ? n->shared : 0;
    return number_of(n, &key);
}

void vy_gvn_forward(vy_gvn *n, uint32_t index, const vy_stmt *s) {
    vy_expr load = {
        .kind = VY_EXPR_LOAD, .type = n->program->memories.items[s->memory].type, .a = s->memory, .b = s->a};
    if (n->failed || n->last_load[s->memory] <= n->next_expr)
        return;
    uint32_t made = number_load(n, &load);
    if (!n->failed)
        n->values.items[made].store = index + 1;
}

/* ---- expressions ---- */

/* Whether all operands of an op, of which these are the numbers, are literals; then *bits is what it gives. */
static int compute(const vy_gvn *n, const vy_expr *e, const uint32_t numbers[3], uint64_t *bits) {
    uint64_t args[3] = {0};
    for (int i = 0; i < 3 && numbers[i] != VY_NONE; i++) {
        const vy_expr *literal = vy_gvn_literal(n, numbers[i]);
        if (!literal)
            return 0;
        args[i] = literal->bits;
    }
    uint8_t operand = n->program->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
    *bits = vy_eval_canonical((vyre_op)e->op, (vyre_type)e->type, (vyre_type)operand, args);
    return 1;
}

static uint32_t number_op(vy_gvn *n, const vy_expr *e) {
    uint32_t a = n->of_expr[e->a], b = e->b == VY_NONE ? VY_NONE : n->of_expr[e->b],
             c = e->c == VY_NONE ? VY_NONE : n->of_expr[e->c];
    uint64_t bits;
    if (vy_gvn_literal(n, a) && compute(n, e, (const uint32_t[3]){a, b, c}, &bits)) /* few have one on the left */
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
    uint32_t *numbers = n->of_expr, end = vy_stmt_exprs_end(n->program, s, n->next_expr);
    for (uint32_t i = n->next_expr; i < end && !n->failed; i++)
        numbers[i] = number_expr(n, &exprs[i]);
    n->next_expr = end;
}

/* ---- state ---- */

void vy_gvn_forget_variable(vy_gvn *n, uint32_t variable) {
    vy_gvn_set(n, VY_GVN_SLOT_VARIABLE, variable, vy_gvn_fresh(n, n->program->variables.items[variable].type));
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

/* What is forgotten once has a number of its own. What was declared in the blocks has none. */
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
