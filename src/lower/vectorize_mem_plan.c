/* Finding adjacent accesses (vectorize_mem_plan.h).
 *
 * An index is a base and a number of elements behind it: `i + 3`, through `let`s too. Accesses of a block with one base and different numbers touch
 * different elements, and an unguarded one is inside, so that consecutive numbers are consecutive elements: nothing wraps.
 *
 * A block is walked once. What has been seen of a memory and a base stays open as long as later accesses may join: a load is moved up to the first one of its
 * group, a store down to the last. What lies between must not be able to tell: no access to an element that is moved, no access to the memory by another base, no
 * meeting or order, no jump out of the block (behind one, more is known to be inside), and nothing that may never end. */
#include "lower/vectorize_mem_plan.h"

#include "base/status.h"
#include "ir/walk.h"
#include "lower/vectorize_mem_internal.h"
#include "opt/pass_manager.h"

/* ---- sets ---- */

/* Forgets sets of `memory` (VY_NONE: of any), but for those by the base of `keep` (NULL: none is kept). */
static void close_sets(vy_vectorize_mem_planner *p, uint32_t memory, const vy_vectorize_mem_offset *keep) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        vy_vectorize_mem_set *s = &p->open[i];
        int is_meant =
            (memory == VY_NONE || s->memory == memory) && !(keep && vy_vectorize_mem_is_same(p, s->base, keep->base));
        if (is_meant)
            vy_vectorize_mem_close_set(p, s);
        else if (left++ != i)
            memcpy(&p->open[left - 1], s, offsetof(vy_vectorize_mem_set, members) + s->count * sizeof *s->members);
    }
    p->count = left;
}

/* Before a load: stores by other bases than `keep` (NULL: by any) may be of what it loads. The loads with their bases go with them: where the stores are forgotten,
 * nothing would stop a later load from coming before them. */
static void close_stores(vy_vectorize_mem_planner *p, uint32_t memory, const vy_vectorize_mem_offset *keep) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].memory == memory && p->open[i].is_store &&
            !(keep && vy_vectorize_mem_is_same(p, p->open[i].base, keep->base))) {
            close_sets(p, memory, keep);
            return;
        }
}

/* Stores of a memory by other bases were forgotten before this is asked. */
static vy_vectorize_mem_set *find_set(vy_vectorize_mem_planner *p, uint32_t memory, uint32_t base, int is_store) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].memory == memory && p->open[i].is_store == is_store &&
            (is_store || vy_vectorize_mem_is_same(p, p->open[i].base, base)))
            return &p->open[i];
    return NULL;
}

static int has_offset(const vy_vectorize_mem_set *s, uint32_t offset) {
    if (!s || (s->is_sorted && vy_vectorize_mem_follows(s, offset)))
        return 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->members[i].offset == offset)
            return 1;
    return 0;
}

/* The set that an access joins. */
static vy_vectorize_mem_set *open_set(vy_vectorize_mem_planner *p, uint32_t memory, uint32_t base, int is_store) {
    vy_vectorize_mem_set *s = find_set(p, memory, base, is_store);
    if (s && s->count < VY_VECTORIZE_MEM_MEMBERS)
        return s;
    if (s)
        close_sets(p, memory, NULL);
    if (p->count == VY_VECTORIZE_MEM_OPEN)
        close_sets(p, VY_NONE, NULL);
    s = &p->open[p->count++];
    s->memory = memory;
    s->base = base;
    s->is_store = (uint8_t)is_store;
    s->is_sorted = 1;
    s->count = 0;
    return s;
}

static void add_member(vy_vectorize_mem_planner *p, uint32_t memory, vy_vectorize_mem_offset at, int is_store,
                       uint32_t stmt, uint32_t expr) {
    vy_vectorize_mem_set *s = open_set(p, memory, at.base, is_store);
    vy_vectorize_mem_plan *plan = p->plan;
    if (!VY_RESERVE(&plan->accesses, 1)) {
        p->out_of_memory = 1;
        return;
    }
    s->is_sorted &= (uint8_t)vy_vectorize_mem_follows(s, at.offset);
    s->members[s->count++] = (vy_vectorize_mem_member){plan->accesses.count, at.offset};
    plan->accesses.items[plan->accesses.count++] =
        (vy_vectorize_mem_access){.stmt = stmt, .expr = expr, .is_store = (uint8_t)is_store};
}

/* ---- accesses ---- */

static int may_fuse(const vy_vectorize_mem_planner *p, uint32_t memory) {
    return p->program->memories.items[memory].space != VY_SPACE_PRIVATE &&
           vy_vectorize_mem_size_of(p, memory) * 2 <= p->bytes;
}

/* A load sees every store before it: none of those may come later than this. And it cannot come before a store that has been seen. */
static void see_load(vy_vectorize_mem_planner *p, uint32_t stmt, uint32_t expr, uint32_t end) {
    const vy_expr *e = vy_vectorize_mem_expr(p, expr);
    vy_vectorize_mem_offset at = vy_vectorize_mem_offset_of(p, e->b);
    close_stores(p, e->a, &at);
    if (has_offset(find_set(p, e->a, at.base, 1), at.offset))
        close_sets(p, e->a, NULL);
    /* Where others write, a load in an arm is made for those that take it only: another could race. */
    int is_for_some = vy_memory_is_shared(p->program, e->a) && vy_expr_is_in_arm(p->program, expr, end);
    if (e->op == VY_BOUNDS_UNCHECKED && e->c == VY_NONE && !is_for_some && may_fuse(p, e->a))
        add_member(p, e->a, at, 0, stmt, expr);
}

/* No load of what is stored may come before it any more, no other store of it later. */
static void see_store(vy_vectorize_mem_planner *p, uint32_t stmt, const vy_stmt *s) {
    vy_vectorize_mem_offset at = vy_vectorize_mem_offset_of(p, s->a);
    close_sets(p, s->memory, &at);
    if (has_offset(find_set(p, s->memory, at.base, 1), at.offset))
        close_sets(p, s->memory, NULL);
    if (s->bounds_check == VY_BOUNDS_UNCHECKED && may_fuse(p, s->memory))
        add_member(p, s->memory, at, 1, stmt, s->b);
}

/* The first load from `expr` on; where there is none, the end of all expressions. */
static uint32_t find_load(const vy_vectorize_mem_planner *p, uint32_t expr) {
    uint32_t count = p->program->exprs.count;
    if (expr >= count)
        return count;
    const vy_expr *exprs = p->program->exprs.items, *e = exprs + expr, *end = exprs + count;
    while (e < end && e->kind != VY_EXPR_LOAD)
        e++;
    return (uint32_t)(e - exprs);
}

/* ---- statements ---- */

/* What a structured statement may do to what stands around it. */
typedef struct effects {
    int leaves; /* a jump out of it, or it may never end */
    int orders; /* invocations meet, or memory is ordered */
} effects;

static effects effects_of(const vy_vectorize_mem_planner *p, uint32_t index) {
    const vy_stmt *stmts = p->program->stmts.items;
    effects all = {0, 0};
    uint32_t loops = 0; /* the end of the outermost loop inside: its jumps stay inside */
    for (uint32_t i = index; i < stmts[index].end; i++) {
        const vy_stmt *s = &stmts[i];
        int is_inner = i < loops;
        all.leaves |= s->kind == VY_STMT_RETURN || s->kind == VY_STMT_TRAP || s->kind == VY_STMT_WHILE ||
                      (!is_inner && (s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE));
        all.orders |= vy_stmt_orders(s) || s->kind == VY_STMT_ATOMIC || s->kind == VY_STMT_CALL;
        if (vy_stmt_is_loop(s->kind) && !is_inner)
            loops = s->end;
    }
    return all;
}

static int has_stores(const vy_vectorize_mem_planner *p) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].is_store)
            return 1;
    return 0;
}

/* Loads in the trees of a structured statement, by unknown indices. */
static void see_loads(vy_vectorize_mem_planner *p, uint32_t index) {
    uint32_t end = 0;
    for (uint32_t i = p->program->stmts.items[index].end; end == 0 && i > index; i--)
        end = vy_stmt_exprs_end(p->program, &p->program->stmts.items[i - 1], 0);
    for (uint32_t load = p->next_load; load < end; load = find_load(p, load + 1))
        close_stores(p, vy_vectorize_mem_expr(p, load)->a, NULL);
}

/* A structured statement by those that stand around it: everything inside is seen as an access by an unknown index. */
static void see_whole(vy_vectorize_mem_planner *p, uint32_t index) {
    const vy_stmt *stmts = p->program->stmts.items;
    effects what = effects_of(p, index);
    if (what.leaves || what.orders) {
        close_sets(p, VY_NONE, NULL);
        return;
    }
    if (has_stores(p))
        see_loads(p, index);
    for (uint32_t i = index + 1; i < stmts[index].end; i++)
        if (stmts[i].memory != VY_NONE)
            close_sets(p, stmts[i].memory, NULL);
}

static void plan_block(vy_vectorize_mem_planner *p, uint32_t first, uint32_t end);

/* The block [first, middle) and the one that follows it have sets of their own. */
static void plan_blocks(vy_vectorize_mem_planner *p, uint32_t first, uint32_t middle, uint32_t end) {
    vy_vectorize_mem_set *around = p->open;
    uint32_t count = p->count;
    vy_vectorize_mem_sets *mine = p->spare ? p->spare : vy_allocate(sizeof *mine);
    if (!mine) {
        p->out_of_memory = 1;
        return;
    }
    p->spare = p->spare ? p->spare->spare : NULL;
    p->open = mine->items;
    p->count = 0;
    plan_block(p, first, middle);
    plan_block(p, middle, end);
    mine->spare = p->spare;
    p->spare = mine;
    p->open = around;
    p->count = count;
}

static void plan_structured(vy_vectorize_mem_planner *p, uint32_t index) {
    const vy_stmt *s = &p->program->stmts.items[index];
    p->seen = index + 1;
    if (p->count)
        see_whole(p, index);
    for (uint32_t head = vy_stmt_exprs_end(p->program, s, 0); p->next_load < head;)
        p->next_load = find_load(p, p->next_load + 1);
    plan_blocks(p, index + 1, s->middle, s->end);
}

static void note_let(vy_vectorize_mem_planner *p, const vy_stmt *s) {
    p->definition[s->variable] = s->a;
    p->factor[s->variable] = (uint8_t)vy_vectorize_mem_factor_of(p, s->a);
}

static void plan_simple(vy_vectorize_mem_planner *p, uint32_t index) {
    const vy_stmt *s = &p->program->stmts.items[index];
    uint32_t end = vy_stmt_exprs_end(p->program, s, 0);
    p->seen = index;
    for (; p->next_load < end; p->next_load = find_load(p, p->next_load + 1))
        see_load(p, index, p->next_load, end);
    p->seen = index + 1;
    if (s->kind == VY_STMT_LET)
        note_let(p, s);
    else if (s->kind == VY_STMT_STORE)
        see_store(p, index, s);
    else if (vy_stmt_orders(s) || s->kind == VY_STMT_ATOMIC || s->kind == VY_STMT_CALL)
        close_sets(p, VY_NONE, NULL);
    else if (s->memory != VY_NONE)
        close_sets(p, s->memory, NULL);
}

/* Recursion is bounded by VY_LIMIT_NESTING. Most statements give a value to a variable, and load nothing. */
static void plan_block(vy_vectorize_mem_planner *p, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = p->program->stmts.items;
    for (uint32_t i = first; i < end && !p->out_of_memory; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        int is_value = s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN;
        if (!is_value && vy_stmt_is_structured(s->kind))
            plan_structured(p, i);
        else if (!is_value || p->next_load <= s->a)
            plan_simple(p, i);
        else if (s->kind == VY_STMT_LET)
            note_let(p, s);
    }
    p->seen = end;
    close_sets(p, VY_NONE, NULL);
}

/* ---- the plan ---- */

static void *array(vy_vectorize_mem_plan *plan, uint32_t count, size_t size) {
    return vy_arena_allocate(&plan->arena, vy_array_size(count + 1u, size));
}

vyre_status vy_vectorize_mem_plan_make(vy_vectorize_mem_plan *plan, const vyre_program *program,
                                       const vy_target_desc *target, vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    *plan = (vy_vectorize_mem_plan){.program = program};
    plan->at_stmt = array(plan, program->stmts.count, sizeof *plan->at_stmt);
    vy_vectorize_mem_planner p = {.plan = plan,
                                  .program = program,
                                  .bytes = target->access_bytes,
                                  .aligned_buffers = target->aligned_buffers,
                                  .definition = array(plan, program->variables.count, sizeof *p.definition),
                                  .factor = array(plan, program->variables.count, 1),
                                  .loaded = array(plan, program->variables.count, 1)};
    p.out_of_memory = !plan->at_stmt || !p.definition || !p.factor || !p.loaded;
    if (!p.out_of_memory) {
        memset(p.definition, 0xff, program->variables.count * sizeof *p.definition);
        p.next_load = find_load(&p, 0);
        plan_blocks(&p, entry->first_stmt, entry->end_stmt, entry->end_stmt);
    }
    for (vy_vectorize_mem_sets *next; p.spare; p.spare = next) {
        next = p.spare->spare;
        vy_release(p.spare, sizeof *p.spare);
    }
    vy_uniform_free(p.uniform);
    return p.out_of_memory ? vy_fail_memory(error, "wide accesses") : VYRE_OK;
}

void vy_vectorize_mem_plan_free(vy_vectorize_mem_plan *plan) {
    VY_VECTOR_FREE(&plan->groups);
    VY_VECTOR_FREE(&plan->accesses);
    vy_arena_free(&plan->arena);
}
