/* Dead store analysis (pass_manager.h): one backward walk.
 *
 * The state is the set of slots that are dead at this point: variables, whole memories, and elements (a memory with an
 * index). It is kept as time stamps: a slot is dead if it was killed after the last read that may concern it, so "all
 * shared memory is read" is a single number. Every change is logged, so that both branches start from the same state
 * and are merged by the slots that they changed.
 *
 * Invariant: a slot is dead only if it is dead on every path from here; a read on any path makes it live. */
#include "opt/pass_manager.h"

#include "base/status.h"
#include "ir/walk.h"

typedef struct undo {
    uint64_t *at, old;
} undo;

/* A slot that a branch changed, and whether it is dead at its start. */
typedef struct touched {
    uint64_t *at;
    int is_dead;
} touched;
typedef VY_VECTOR(touched) touched_list;

/* The results of the branches of one `if` for a slot. */
typedef struct votes {
    uint32_t election;
    uint8_t cast, dead;
} votes;

typedef struct walk {
    const vyre_program *program;
    const vy_opt_policy *rules;
    uint8_t *is_overwritten; /* result */
    uint64_t *killed;        /* by slot: the time when it was killed; 0: it is live. Variables, memories, elements */
    uint64_t *read;          /* by memory: the time of the last read */
    uint64_t all_read, shared_read, now;
    votes *votes; /* by slot */
    const vy_def_use *uses;
    uint32_t *place;      /* by statement: the slot that a store writes, or VY_NONE */
    uint32_t *next_place; /* by statement: the next store in the hash bucket */
    uint32_t *buckets, bucket_count, stores;
    uint32_t *place_memory; /* by element slot */
    uint32_t *hash;         /* by expression; 0: its value may differ between two statements */
    uint32_t slots, first_place, elections;
    uint32_t undoes; /* the number of enclosing blocks whose changes are undone */
    VY_VECTOR(undo) log;
    VY_VECTOR(uint32_t) siblings; /* of the enclosing blocks */
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
    for (uint32_t i = w->uses->first_expr[stmt], end = w->uses->first_expr[stmt + 1]; i < end; i++) {
        const vy_expr *e = &exprs[i];
        if (e->kind == VY_EXPR_VARIABLE && w->killed[e->a])
            set(w, &w->killed[e->a], 0);
        else if (e->kind == VY_EXPR_LOAD)
            read_memory(w, e->a);
    }
}

/* The memories that a statement may cause to be read, by any invocation, in addition to its expressions. */
static void read_effects(walk *w, const vy_stmt *s) {
    if (s->kind == VY_STMT_ATOMIC)
        read_memory(w, s->memory);
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (w->program->args.items[s->args + i].is_memory)
            read_memory(w, w->program->args.items[s->args + i].index);
    if (vy_stmt_orders(s) || vy_stmt_changes(w->rules, w->program, s) & VY_CHANGES_SHARED)
        set(w, &w->shared_read, ++w->now);
}

/* ---- statements, in reverse ---- */

/* Memory parameters of functions may be the same memory, so they are not analysed. */
static int is_trackable(const vyre_program *p, uint32_t memory) {
    return vy_memory_at(p, memory)->elements || vy_program_has_entry(p);
}

/* Whether the value that the statement writes is never read. If it is read, earlier values of the slot are not. */
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
            return; /* its operands are not read either */
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

/* Collects the slots changed since mark, once each, and restores their state. */
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

/* A slot is dead before an `if` if it is dead at the start of both branches. A branch that did not change a slot has
 * the state after the `if`. */
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

/* A read anywhere in the loop may follow the end of an iteration; every slot may be read if the next iteration may end
 * the invocation. */
static void read_loop(walk *w, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = w->program;
    uint32_t first = w->uses->first_expr[index], end = w->uses->first_expr[s->end];
    for (uint32_t i = first; i < end && !w->failed; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        if (e->kind == VY_EXPR_VARIABLE && w->killed[e->a] && w->uses->declarations[e->a] < index)
            set(w, &w->killed[e->a], 0);
        else if (e->kind == VY_EXPR_LOAD)
            read_memory(w, e->a);
    }
    for (uint32_t i = index + 1; i < s->end && !w->failed; i++) {
        uint8_t kind = vy_stmt_at(p, i)->kind;
        if ((kind == VY_STMT_RETURN || kind == VY_STMT_TRAP) && w->rules->jumps_count)
            read_all(w);
        read_effects(w, vy_stmt_at(p, i));
    }
}

/* The loop may have no iteration, so a slot that an iteration overwrites is not dead before it. */
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
    const vy_stmt *s = vy_stmt_at(w->program, index);
    if (s->kind == VY_STMT_IF)
        visit_if(w, index, s);
    else if (vy_stmt_is_loop(s->kind))
        visit_loop(w, index, s);
    else if (s->kind == VY_STMT_REGION)
        visit_block(w, index + 1, s->end);
    else
        visit_simple(w, index, s);
}

/* In reverse order. Recursion is bounded by VY_LIMIT_NESTING. */
static void visit_block(walk *w, uint32_t first, uint32_t end) {
    uint32_t mark = w->siblings.count;
    for (uint32_t i = first; i < end && !w->failed; i = vy_stmt_at(w->program, i)->end) {
        if (VY_RESERVE(&w->siblings, 1))
            w->siblings.items[w->siblings.count++] = i;
        else
            w->failed = 1;
    }
    while (w->siblings.count > mark && !w->failed)
        visit_stmt(w, w->siblings.items[--w->siblings.count]);
}

/* At the end of a function its variables and arrays are dead: other invocations read workgroup arrays after a barrier.
 * Variables that are never assigned are left live, because their state is not used. */
static void visit_function(walk *w, const vy_function *f) {
    w->now++;
    for (uint32_t i = 0; i < f->variable_count; i++)
        if (vy_variable_at(w->program, f->first_variable + i)->is_mutable)
            w->killed[f->first_variable + i] = w->now;
    for (uint32_t i = 0; i < f->memory_count; i++)
        if (vy_memory_at(w->program, f->first_memory + i)->elements)
            w->killed[memory_slot(w, f->first_memory + i)] = w->now;
    visit_block(w, f->first_stmt, f->end_stmt);
}

/* ---- elements ---- */

static uint32_t mix(uint32_t hash, uint32_t word) {
    hash = (hash ^ word) * UINT32_C(0x9e3779b1);
    return hash ^ hash >> 15;
}

/* Operands precede operators. */
static uint32_t hash_of(const walk *w, const vy_expr *e) {
    uint32_t hash =
        mix((uint32_t)e->kind << 24 | (uint32_t)e->type << 16 | (uint32_t)e->op << 8 | e->axis, (uint32_t)e->bits);
    hash = mix(hash, (uint32_t)(e->bits >> 32));
    if (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && w->uses->is_assigned[e->a]))
        return 0;
    if (e->kind != VY_EXPR_OP)
        return mix(hash, e->a) | 1;
    const uint32_t *operands = VY_EXPR_OPERANDS(e);
    for (int i = 0; i < 3 && operands[i] != VY_NONE; i++) {
        if (!w->hash[operands[i]])
            return 0;
        hash = mix(hash, w->hash[operands[i]]);
    }
    return hash | 1;
}

static uint32_t find_place(walk *w, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = w->program;
    if (!w->hash[s->a] || !is_trackable(p, s->memory))
        return VY_NONE;
    uint32_t *bucket = &w->buckets[mix(w->hash[s->a], s->memory) & (w->bucket_count - 1)];
    for (uint32_t i = *bucket; i != VY_NONE; i = w->next_place[i]) {
        const vy_stmt *other = vy_stmt_at(p, i);
        if (other->memory == s->memory && w->hash[other->a] == w->hash[s->a] &&
            (!w->rules->index_counts || vy_expr_equal(p, other->a, s->a)))
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
        const vy_stmt *s = vy_stmt_at(p, i);
        if (s->kind != VY_STMT_STORE)
            continue;
        for (uint32_t k = w->uses->first_expr[i]; k <= s->a; k++) /* the expressions of the index come first */
            w->hash[k] = w->rules->index_counts ? hash_of(w, vy_expr_at(p, k)) : 1;
        w->place[i] = find_place(w, i, s);
    }
}

/* ---- entry points ---- */

static int prepare(walk *w) {
    const vyre_program *p = w->program;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        w->stores += vy_stmt_at(p, i)->kind == VY_STMT_STORE;
    for (w->bucket_count = 16; w->bucket_count < w->stores; w->bucket_count *= 2) {
    }
    size_t stmts = p->stmts.count + 1u, exprs = p->exprs.count + 1u, variables = p->variables.count + 1u,
           memories = p->memories.count + 1u, slots = variables + memories + w->stores;
    /* The words are initialised to zero; the 32-bit arrays are written before they are read. */
    size_t words = slots + memories + slots, halves = w->bucket_count + 2 * stmts + w->stores + exprs;
    w->size = vy_array_size(words + halves / 2 + 1, sizeof *w->block);
    w->block = vy_allocate(w->size);
    if (!w->block)
        return 0;
    memset(w->block, 0, words * sizeof *w->block);
    w->killed = w->block;
    w->read = w->killed + slots;
    w->votes = (votes *)(w->read + memories);
    w->buckets = (uint32_t *)(w->votes + slots);
    w->place = w->buckets + w->bucket_count;
    w->next_place = w->place + stmts;
    w->place_memory = w->next_place + stmts;
    w->hash = w->place_memory + w->stores;
    memset(w->buckets, 0xff, w->bucket_count * sizeof *w->buckets);
    w->slots = w->first_place = p->variables.count + p->memories.count;
    return 1;
}

vyre_status vy_dead_stores_find(const vy_def_use *uses, const vy_opt_policy *rules, uint8_t *is_overwritten,
                                vyre_error *error) {
    const vyre_program *program = uses->program;
    walk w = {.program = program, .rules = rules, .uses = uses, .is_overwritten = is_overwritten};
    w.failed = !prepare(&w);
    if (!w.failed)
        number_places(&w);
    for (uint32_t i = 0; i < program->functions.count && !w.failed; i++)
        visit_function(&w, &program->functions.items[i]);
    vy_release(w.block, w.size);
    VY_VECTOR_FREE(&w.log);
    VY_VECTOR_FREE(&w.siblings);
    return w.failed ? vy_fail_memory(error, "a pass") : VYRE_OK;
}
