/* Dead store analysis (pass_manager.h): one backward walk.
 *
 * The state is the set of slots that are dead at this point: variables, whole memories, and places (a memory with an
 * index). It is kept as time stamps: a slot is dead if it was killed after the last read that may concern it, so that
 * "all shared memory is read" is one number. Every change is logged, so both branches start from the same state and are
 * merged by what they touched.
 *
 * What must stay true: a slot is dead only if it is dead on every path from here; a read on any path makes it live. */
#include "opt/pass_manager.h"

#include "base/status.h"
#include "ir/walk.h"

typedef struct undo {
    uint64_t *at, old;
} undo;

/* Something a branch changed, and whether it is dead at its start; clocks are no slots. */
typedef struct touched {
    uint64_t *at;
    int is_dead;
} touched;
typedef VY_VECTOR(touched) touched_list;

/* How the branches of one `if` decide on a slot. */
typedef struct votes {
    uint32_t election;
    uint8_t cast, dead;
} votes;

typedef struct walk {
    const vyre_program *program;
    const vy_opt_policy *rules;
    uint8_t *is_overwritten; /* the result */
    uint64_t *killed;        /* by slot: when; 0: it is live. Variables, memories, places */
    uint64_t *read;          /* by memory: when it was read last */
    uint64_t all_read, shared_read, now;
    votes *votes;               /* by slot */
    const uint32_t *first_expr; /* by statement, and of the end */
    uint32_t *place;            /* by statement: the slot a store writes, or VY_NONE */
    uint32_t *next_place;       /* by statement: the next store in its bucket */
    uint32_t *buckets, bucket_count, stores;
    uint32_t *place_memory; /* by place */
    uint32_t *hash;         /* by expression; 0: it may change between two statements */
    uint32_t *declared;     /* by variable: the statement */
    uint8_t *is_assigned;   /* by variable: beyond its declaration */
    uint32_t slots, first_place, elections;
    uint32_t undoes; /* what is set here is undone: how many are going to do that */
    VY_VECTOR(undo) log;
    VY_VECTOR(uint32_t) siblings; /* of the blocks being walked */
    uint64_t *block;
    size_t size;
    int failed;
} walk;

/* ---- state ---- */

static void set(walk *w, uint64_t *at, uint64_t value) {
    if (w->undoes) {
        if (w->failed || !VY_RESERVE(&w->log, 1)) {
            w->failed = 1;
            return;
        }
        w->log.items[w->log.count++] = (undo){at, *at};
    }
    *at = value;
}

static void undo_to(walk *w, uint32_t mark) {
    while (w->log.count > mark) {
        const undo *entry = &w->log.items[--w->log.count];
        *entry->at = entry->old;
    }
}

static uint32_t memory_slot(const walk *w, uint32_t memory) {
    return w->program->variables.count + memory;
}

static int is_dead(const walk *w, uint32_t slot) {
    uint64_t killed = w->killed[slot];
    if (killed <= w->all_read)
        return 0;
    if (slot < w->program->variables.count)
        return 1;
    uint32_t memory =
        slot < w->first_place ? slot - w->program->variables.count : w->place_memory[slot - w->first_place];
    return killed > w->read[memory] && (killed > w->shared_read || !vy_memory_is_shared(w->program, memory));
}

static void kill_slot(walk *w, uint32_t slot) {
    set(w, &w->killed[slot], ++w->now);
}

static void read_all(walk *w) {
    set(w, &w->all_read, ++w->now);
}

static void read_memory(walk *w, uint32_t memory) {
    if (w->rules->reads_count)
        set(w, &w->read[memory], ++w->now);
}

static void read_exprs(walk *w, uint32_t stmt) {
    const vy_expr *exprs = w->program->exprs.items;
    for (uint32_t i = w->first_expr[stmt], end = w->first_expr[stmt + 1]; i < end; i++) {
        const vy_expr *e = &exprs[i];
        if (e->kind == VY_EXPR_VARIABLE && w->killed[e->a])
            set(w, &w->killed[e->a], 0);
        else if (e->kind == VY_EXPR_LOAD)
            read_memory(w, e->a);
    }
}

/* What a statement may let be read beside its expressions, by whomever. */
static void read_effects(walk *w, const vy_stmt *s) {
    if (s->kind == VY_STMT_ATOMIC)
        read_memory(w, s->memory);
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (w->program->args.items[s->args + i].is_memory)
            read_memory(w, w->program->args.items[s->args + i].index);
    if (vy_stmt_orders(s) || vy_stmt_changes(w->rules, s) & VY_CHANGES_SHARED)
        set(w, &w->shared_read, ++w->now);
}

/* ---- statements, backwards ---- */

/* Memory parameters of library functions may be the same memory: they are left alone. */
static int is_trackable(const vyre_program *p, uint32_t memory) {
    return p->memories.items[memory].elements || vy_program_has_entry(p);
}

/* Whether the value that the statement writes is never read. If it is, what stands there before is not. */
static int is_for_nothing(walk *w, uint32_t index, const vy_stmt *s) {
    if (s->kind == VY_STMT_VAR)
        return is_dead(w, s->variable);
    uint32_t slot = s->kind == VY_STMT_ASSIGN ? s->variable : w->place[index];
    int whole =
        s->kind == VY_STMT_STORE && is_trackable(w->program, s->memory) && is_dead(w, memory_slot(w, s->memory));
    if (whole || (slot != VY_NONE && is_dead(w, slot)))
        return 1;
    if (slot != VY_NONE)
        kill_slot(w, slot);
    return 0;
}

static void visit_simple(walk *w, uint32_t index, const vy_stmt *s) {
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_VAR:
    case VY_STMT_ASSIGN:
    case VY_STMT_STORE:
        w->is_overwritten[index] = (uint8_t)is_for_nothing(w, index, s);
        if (w->is_overwritten[index])
            return; /* nor is what it reads read */
        break;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
    case VY_STMT_RETURN:
    case VY_STMT_TRAP:
        if (w->rules->jumps_count)
            read_all(w);
        break;
    default:
        read_effects(w, s);
        break;
    }
    read_exprs(w, index);
}

static void visit_block(walk *w, uint32_t first, uint32_t end);

/* What was touched since mark, once each; then back to how it was. */
static void collect(walk *w, uint32_t mark, touched_list *list) {
    uint32_t election = ++w->elections;
    for (uint32_t i = mark; i < w->log.count && !w->failed; i++) {
        uint64_t *at = w->log.items[i].at;
        uint32_t slot = at >= w->killed && at < w->killed + w->slots ? (uint32_t)(at - w->killed) : VY_NONE;
        if (slot != VY_NONE && w->votes[slot].election == election)
            continue;
        if (!VY_RESERVE(list, 1)) {
            w->failed = 1;
            return;
        }
        list->items[list->count++] = (touched){at, slot != VY_NONE && is_dead(w, slot)};
        if (slot != VY_NONE)
            w->votes[slot].election = election;
    }
    undo_to(w, mark);
}

static int is_slot(const walk *w, const touched *t) {
    return t->at >= w->killed && t->at < w->killed + w->slots;
}

/* Before an `if` is dead what is dead at the start of both branches. A branch that did not touch a slot leaves it as it
 * is behind. */
static void merge(walk *w, const touched_list lists[2]) {
    uint32_t election = ++w->elections;
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l].count; i++) {
            const touched *t = &lists[l].items[i];
            if (!is_slot(w, t)) {
                set(w, t->at, ++w->now);
                continue;
            }
            votes *v = &w->votes[t->at - w->killed];
            if (v->election != election)
                *v = (votes){election, 0, 0};
            v->cast++;
            v->dead += (uint8_t)t->is_dead;
        }
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l].count && !w->failed; i++) {
            const touched *t = &lists[l].items[i];
            if (!is_slot(w, t))
                continue;
            uint32_t slot = (uint32_t)(t->at - w->killed);
            const votes *v = &w->votes[slot];
            int dead = v->dead == v->cast && (v->cast == 2 || is_dead(w, slot));
            if (dead || (!w->rules->forget_at_joins && v->dead))
                kill_slot(w, slot);
            else
                set(w, &w->killed[slot], 0);
        }
}

static void visit_if(walk *w, uint32_t index, const vy_stmt *s) {
    touched_list lists[2] = {{0}};
    uint32_t mark = w->log.count;
    w->undoes++;
    visit_block(w, s->middle, s->end);
    collect(w, mark, &lists[0]);
    visit_block(w, index + 1, s->middle);
    collect(w, mark, &lists[1]);
    w->undoes--;
    merge(w, lists);
    VY_VECTOR_FREE(&lists[0]);
    VY_VECTOR_FREE(&lists[1]);
    read_exprs(w, index);
}

/* Whatever is read somewhere in the loop may be read after the end of a trip; and everything, if the next trip may end
 * the invocation. */
static void read_loop(walk *w, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = w->program;
    uint32_t first = w->first_expr[index], end = w->first_expr[s->end];
    for (uint32_t i = first; i < end && !w->failed; i++) {
        const vy_expr *e = &p->exprs.items[i];
        if (e->kind == VY_EXPR_VARIABLE && w->killed[e->a] && w->declared[e->a] < index)
            set(w, &w->killed[e->a], 0);
        else if (e->kind == VY_EXPR_LOAD)
            read_memory(w, e->a);
    }
    for (uint32_t i = index + 1; i < s->end && !w->failed; i++) {
        uint8_t kind = p->stmts.items[i].kind;
        if ((kind == VY_STMT_RETURN || kind == VY_STMT_TRAP) && w->rules->jumps_count)
            read_all(w);
        read_effects(w, &p->stmts.items[i]);
    }
}

/* It may make no trip, so nothing that a trip overwrites is dead before. */
static void visit_loop(walk *w, uint32_t index, const vy_stmt *s) {
    if (w->rules->forget_at_loops)
        read_loop(w, index, s);
    uint32_t mark = w->log.count;
    uint64_t all_read = w->all_read;
    w->undoes++;
    visit_block(w, index + 1, s->end);
    w->undoes--;
    int jumps = w->all_read != all_read;
    undo_to(w, mark);
    if (jumps)
        read_all(w);
    read_exprs(w, index);
}

static void visit_stmt(walk *w, uint32_t index) {
    const vy_stmt *s = &w->program->stmts.items[index];
    if (s->kind == VY_STMT_IF)
        visit_if(w, index, s);
    else if (vy_stmt_is_loop(s->kind))
        visit_loop(w, index, s);
    else if (s->kind == VY_STMT_REGION)
        visit_block(w, index + 1, s->end);
    else
        visit_simple(w, index, s);
}

/* The last first. Recursion is bounded by VY_LIMIT_NESTING. */
static void visit_block(walk *w, uint32_t first, uint32_t end) {
    uint32_t mark = w->siblings.count;
    for (uint32_t i = first; i < end && !w->failed; i = w->program->stmts.items[i].end) {
        if (VY_RESERVE(&w->siblings, 1))
            w->siblings.items[w->siblings.count++] = i;
        else
            w->failed = 1;
    }
    while (w->siblings.count > mark && !w->failed)
        visit_stmt(w, w->siblings.items[--w->siblings.count]);
}

/* At the end of a function nobody reads its variables and arrays any more: what others read of a workgroup's array they
 * read behind a barrier. Variables that are never assigned are left live, since nobody asks for them. */
static void visit_function(walk *w, const vy_function *f) {
    w->now++;
    for (uint32_t i = 0; i < f->variable_count; i++)
        if (w->program->variables.items[f->first_variable + i].is_mutable)
            w->killed[f->first_variable + i] = w->now;
    for (uint32_t i = 0; i < f->memory_count; i++)
        if (w->program->memories.items[f->first_memory + i].elements)
            w->killed[memory_slot(w, f->first_memory + i)] = w->now;
    visit_block(w, f->first_stmt, f->end_stmt);
}

/* ---- places ---- */

static uint32_t mix(uint32_t hash, uint32_t word) {
    hash = (hash ^ word) * UINT32_C(0x9e3779b1);
    return hash ^ hash >> 15;
}

/* Operands come before operators. */
static uint32_t hash_of(const walk *w, const vy_expr *e) {
    uint32_t hash =
        mix((uint32_t)e->kind << 24 | (uint32_t)e->type << 16 | (uint32_t)e->op << 8 | e->axis, (uint32_t)e->bits);
    hash = mix(hash, (uint32_t)(e->bits >> 32));
    if (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && w->is_assigned[e->a]))
        return 0;
    if (e->kind != VY_EXPR_OP)
        return mix(hash, e->a) | 1;
    const uint32_t operands[3] = {e->a, e->b, e->c};
    for (int i = 0; i < 3 && operands[i] != VY_NONE; i++) {
        if (!w->hash[operands[i]])
            return 0;
        hash = mix(hash, w->hash[operands[i]]);
    }
    return hash | 1;
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int is_same(const vyre_program *p, uint32_t x, uint32_t y) {
    if (x == VY_NONE || y == VY_NONE)
        return x == y;
    const vy_expr *a = &p->exprs.items[x], *b = &p->exprs.items[y];
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->axis != b->axis || a->bits != b->bits)
        return 0;
    if (a->kind != VY_EXPR_OP)
        return a->a == b->a;
    return is_same(p, a->a, b->a) && is_same(p, a->b, b->b) && is_same(p, a->c, b->c);
}

static uint32_t find_place(walk *w, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = w->program;
    if (!w->hash[s->a] || !is_trackable(p, s->memory))
        return VY_NONE;
    uint32_t *bucket = &w->buckets[mix(w->hash[s->a], s->memory) & (w->bucket_count - 1)];
    for (uint32_t i = *bucket; i != VY_NONE; i = w->next_place[i]) {
        const vy_stmt *other = &p->stmts.items[i];
        if (other->memory == s->memory && w->hash[other->a] == w->hash[s->a] &&
            (!w->rules->index_counts || is_same(p, other->a, s->a)))
            return w->place[i];
    }
    w->next_place[index] = *bucket;
    *bucket = index;
    w->place_memory[w->slots - w->first_place] = s->memory;
    return w->slots++;
}

static void number_places(walk *w) {
    const vyre_program *p = w->program;
    for (uint32_t i = 0; i < p->stmts.count && w->stores; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind != VY_STMT_STORE)
            continue;
        for (uint32_t k = w->first_expr[i]; k <= s->a; k++) /* the tree of the index comes first */
            w->hash[k] = w->rules->index_counts ? hash_of(w, &p->exprs.items[k]) : 1;
        w->place[i] = find_place(w, i, s);
    }
}

/* ---- all of it ---- */

static void note_variables(walk *w) {
    const vyre_program *p = w->program;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        if (s->kind == VY_STMT_ASSIGN)
            w->is_assigned[s->variable] = 1;
        for (uint32_t v = 0; v < s->result_count; v++)
            w->declared[s->variable + v] = i;
    }
}

static int prepare(walk *w) {
    const vyre_program *p = w->program;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        w->stores += p->stmts.items[i].kind == VY_STMT_STORE;
    for (w->bucket_count = 16; w->bucket_count < w->stores; w->bucket_count *= 2) {
    }
    size_t stmts = p->stmts.count + 1u, exprs = p->exprs.count + 1u, variables = p->variables.count + 1u,
           memories = p->memories.count + 1u, slots = variables + memories + w->stores;
    /* Zeros first: words, halves, bytes. What is behind them is written before it is read. */
    size_t words = slots + memories + slots, zero_halves = variables + variables / 4 + 1;
    size_t halves = zero_halves + w->bucket_count + 2 * stmts + w->stores + exprs;
    w->size = vy_array_size(words + halves / 2 + 1, sizeof *w->block);
    w->block = vy_allocate(w->size);
    if (!w->block)
        return 0;
    memset(w->block, 0, words * sizeof *w->block + zero_halves * sizeof *w->declared);
    w->killed = w->block;
    w->read = w->killed + slots;
    w->votes = (votes *)(w->read + memories);
    w->declared = (uint32_t *)(w->votes + slots);
    w->is_assigned = (uint8_t *)(w->declared + variables);
    w->buckets = w->declared + zero_halves;
    w->place = w->buckets + w->bucket_count;
    w->next_place = w->place + stmts;
    w->place_memory = w->next_place + stmts;
    w->hash = w->place_memory + w->stores;
    memset(w->buckets, 0xff, w->bucket_count * sizeof *w->buckets);
    w->slots = w->first_place = p->variables.count + p->memories.count;
    return 1;
}

vyre_status vy_dead_stores_find(const vyre_program *program, const vy_opt_policy *rules, const uint32_t *first_expr,
                                uint8_t *is_overwritten, vyre_error *error) {
    walk w = {.program = program, .rules = rules, .first_expr = first_expr, .is_overwritten = is_overwritten};
    w.failed = !prepare(&w);
    if (!w.failed) {
        note_variables(&w);
        number_places(&w);
    }
    for (uint32_t i = 0; i < program->functions.count && !w.failed; i++)
        visit_function(&w, &program->functions.items[i]);
    vy_release(w.block, w.size);
    VY_VECTOR_FREE(&w.log);
    VY_VECTOR_FREE(&w.siblings);
    return w.failed ? vy_fail_memory(error, "a pass") : VYRE_OK;
}
