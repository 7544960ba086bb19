/* Plan of memory access vectorisation (vectorize_mem.h): finds adjacent accesses.
 *
 * An index is a base plus an offset: `i + 3`, also through `let`s. Accesses of a block with one base and different
 * offsets touch different elements, and an unguarded access is in bounds, so consecutive offsets are consecutive
 * elements: nothing wraps.
 *
 * A block is walked once. The set of accesses to a memory by one base stays open while later accesses may join: a load
 * moves up to the first one of its group, a store down to the last. Between them there must be no access to an element
 * that moves, no access to the memory by another base, no synchronisation, no jump out of the block (after one, more
 * may be known to be in bounds), and nothing that may not terminate. */
#include "lower/vectorize_mem.h"

#include "analysis/affine_index.h"
#include "analysis/control_flow.h"
#include "analysis/def_use.h"
#include "analysis/uniformity.h"
#include "base/status.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"

#include <limits.h>

/* The maximum of open sets. A block with more is rare, and only loses groups. */
enum { OPEN = 32, MEMBERS = 64 };

typedef struct member {
    uint32_t access; /* of vy_vectorize_mem_plan.accesses */
    uint32_t offset;
} member;

/* Accesses of one kind to one memory by one base, which may be combined. */
typedef struct set {
    uint32_t memory, base;
    uint32_t count;
    uint8_t is_store;
    uint8_t is_sorted; /* each follows the previous one (vectorize_mem_follows), as in most programs */
    member members[MEMBERS];
} set;

/* The open sets of a block; the memory of those of a block that has ended is reused. */
typedef struct sets {
    struct sets *spare;
    set items[OPEN];
} sets;

typedef struct planner {
    vy_vectorize_mem_plan *plan;
    const vyre_program *program;
    uint32_t bytes; /* of the widest access */
    int aligned_buffers;
    vy_def_use uses;    /* DECLARATIONS */
    uint8_t *factor;    /* by variable: the exponent of a power of two that is known to divide it */
    uint32_t next_load; /* the first load that was not visited */
    uint32_t seen;      /* statements visited */
    /* Computed on demand, because few accesses need the origin of a value: the first statements are scanned. */
    uint8_t *loaded; /* by variable: it depends on memory, so neighbours may differ */
    uint32_t scanned, scanned_exprs;
    vy_uniform *uniform; /* computed on demand */
    uint32_t count;
    set *open;
    sets *spare;
    int out_of_memory;
} planner;

static inline const vy_expr *vectorize_mem_expr(const planner *p, uint32_t expr) {
    return vy_expr_at(p->program, expr);
}

static inline uint32_t size_of(const planner *p, uint32_t memory) {
    return vyre_type_bits((vyre_type)vy_memory_at(p->program, memory)->type) / 8;
}

/* Whether an offset follows those of all members of a sorted set, so closely that offsets cannot wrap, whatever their
 * number. */
static inline int vectorize_mem_follows(const set *s, uint32_t offset) {
    enum { NEAR = 1 << 20 };
    return s->count == 0 || offset - s->members[s->count - 1].offset - 1 < NEAR;
}

/* ---- indices: base and offset, alignment, origin ---- */

/* The most sums and names that are followed. */
enum { DEEPEST = 32 };

/* ---- bases and offsets ---- */

static int is_literal(const planner *p, uint32_t expr) {
    return vectorize_mem_expr(p, expr)->kind == VY_EXPR_LITERAL;
}

static int is_fixed_variable(const planner *p, uint32_t expr) {
    const vy_expr *e = vectorize_mem_expr(p, expr);
    return e->kind == VY_EXPR_VARIABLE && !vy_variable_at(p->program, e->a)->is_mutable;
}

/* Moves literals from the index to the offset, through sums and `let`s; not through a `let` of a variable that may
 * change, because the `let` keeps the old value. Types other than u32 do not wrap like offsets: such an index is a
 * base as a whole. */
static vy_affine_index offset_of(const planner *p, uint32_t expr) {
    vy_affine_index at = {expr, 0};
    if (vectorize_mem_expr(p, expr)->type != VYRE_TYPE_U32)
        return at;
    for (int depth = 0; depth < DEEPEST; depth++) {
        const vy_expr *e = vectorize_mem_expr(p, at.base);
        if (e->kind == VY_EXPR_LITERAL)
            return (vy_affine_index){VY_NONE, at.offset + (uint32_t)e->bits};
        uint32_t value = e->kind == VY_EXPR_VARIABLE ? vy_let_value(&p->uses, e->a) : VY_NONE;
        if (value != VY_NONE) {
            vy_affine_index inner = {value, at.offset};
            while (vy_affine_index_peel(p->program, &inner))
                ;
            if (!is_literal(p, inner.base) && !is_fixed_variable(p, inner.base))
                return inner.base == value || !vy_expr_is_invariant(p->program, inner.base) ? at : inner;
            at = inner;
        } else if (!vy_affine_index_peel(p->program, &at)) {
            return at;
        }
    }
    return at;
}

/* Whether two expressions of a block have the same value: equal trees of constants and immutable variables. */
static int is_same(const planner *p, uint32_t one, uint32_t other) {
    if (one == VY_NONE || other == VY_NONE)
        return one == other;
    if (vectorize_mem_expr(p, one)->kind == VY_EXPR_VARIABLE)
        return is_fixed_variable(p, one) && vectorize_mem_expr(p, other)->kind == VY_EXPR_VARIABLE &&
               vectorize_mem_expr(p, one)->a == vectorize_mem_expr(p, other)->a;
    return vy_expr_equal(p->program, one, other) && vy_expr_is_invariant(p->program, one);
}

/* The largest power of two, up to 2^8, that is known to divide an expression of u32; returns its exponent. Recursion
 * is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static unsigned factor_of(const planner *p, uint32_t expr) {
    const vy_expr *e = vectorize_mem_expr(p, expr);
    const unsigned most = 8;
    if (e->kind == VY_EXPR_LITERAL)
        return e->bits & 0xff ? (unsigned)__builtin_ctzll(e->bits) : most;
    if (e->kind == VY_EXPR_VARIABLE)
        return p->factor[e->a];
    if (e->kind != VY_EXPR_OP || e->type != VYRE_TYPE_U32)
        return 0;
    unsigned a, b;
    switch ((vyre_op)e->op) {
    case VYRE_OP_ADD:
    case VYRE_OP_SUB:
        b = factor_of(p, e->b); /* of a long sum, the shorter side */
        a = b ? factor_of(p, e->a) : 0;
        return a < b ? a : b;
    case VYRE_OP_AND:
        a = factor_of(p, e->a);
        b = factor_of(p, e->b);
        return a > b ? a : b;
    case VYRE_OP_MUL:
        a = factor_of(p, e->a) + factor_of(p, e->b);
        return a < most ? a : most;
    case VYRE_OP_SHL:
        a = is_literal(p, e->b) ? factor_of(p, e->a) + (unsigned)(vectorize_mem_expr(p, e->b)->bits & 31) : 0;
        return a < most ? a : most;
    default:
        return 0;
    }
}

/* ---- neighbours ---- */

/* Whether any of the expressions [first, end) depends on memory. */
static int has_loaded(const planner *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = vectorize_mem_expr(p, i);
        if (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && p->loaded[e->a]))
            return 1;
    }
    return 0;
}

static int is_loaded(const planner *p, uint32_t expr) {
    return has_loaded(p, vy_expr_first(p->program, expr), expr + 1);
}

/* Computes which variables depend on memory, for the statements visited so far. */
static void find_loaded_variables(planner *p) {
    for (uint32_t end; p->scanned < p->seen; p->scanned_exprs = end) {
        const vy_stmt *s = vy_stmt_at(p->program, p->scanned++);
        end = vy_stmt_exprs_end(p->program, s, p->scanned_exprs);
        if (s->kind == VY_STMT_FOR)
            p->loaded[s->variable] = (uint8_t)is_loaded(p, s->a);
        else if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN)
            p->loaded[s->variable] |= (uint8_t)has_loaded(p, p->scanned_exprs, end);
    }
}

/* Whether an expression is an id that increases by one along a row, possibly through `let`s. Does not need the whole
 * program. */
static int is_id(const planner *p, uint32_t expr) {
    const vy_expr *e = vectorize_mem_expr(p, vy_see_through_lets(&p->uses, expr, UINT_MAX));
    return e->kind == VY_EXPR_BUILTIN && p->program->workgroup[0] > 1 &&
           (e->op == VYRE_BUILTIN_LOCAL_INDEX ||
            ((e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_GLOBAL_ID) && e->axis == 0));
}

/* Whether neighbours in a row are known to have the same result when they test the alignment of an index to `count`
 * elements. Where they differ, both branches are executed. */
static int is_tested_alike(planner *p, uint32_t base, uint32_t count) {
    uint64_t stride;
    if (base == VY_NONE || is_id(p, base))
        return base == VY_NONE;
    if (!p->uniform && vy_uniform_make(p->program, &p->uniform, NULL) != VYRE_OK) {
        p->out_of_memory = 1;
        return 1;
    }
    if (vy_stride_of(p->uniform, base, &stride))
        return stride % count == 0;
    find_loaded_variables(p);
    return !is_loaded(p, base);
}

/* ---- groups: runs of consecutive elements, up to the width of an access ---- */

/* The least number of bytes for which a test of the address pays off. */
enum { WORTH_A_TEST = 4 };

static vy_vectorize_mem_access *access_of(const planner *p, const member *m) {
    return &p->plan->accesses.items[m->access];
}

static int is_taken(const planner *p, const member *m) {
    return access_of(p, m)->group != 0;
}

/* An ungrouped member with that offset; `count` if there is none. */
static uint32_t find(const planner *p, const set *s, uint32_t offset) {
    uint32_t i = 0;
    while (i < s->count && (s->members[i].offset != offset || is_taken(p, &s->members[i])))
        i++;
    return i;
}

/* Adds all members with the offsets of a group, the first of which is `from`; two may have the same offset. Returns
 * their number. */
static uint32_t enter(planner *p, const set *s, uint32_t count, uint32_t number, uint32_t from) {
    uint32_t first = s->members[from].offset, end = s->is_sorted ? from + count : s->count, entered = 0;
    for (uint32_t i = s->is_sorted ? from : 0; i < end; i++) {
        vy_vectorize_mem_access *access = access_of(p, &s->members[i]);
        uint32_t element = s->members[i].offset - first;
        if (element >= count || access->group)
            continue;
        access->group = number + 1;
        access->element = (uint8_t)element;
        entered++;
    }
    return entered;
}

/* Whether a memory is known to start at a multiple of 16 bytes. */
static int starts_aligned(const planner *p, const set *s) {
    return vy_memory_at(p->program, s->memory)->space != VY_SPACE_BUFFER || p->aligned_buffers;
}

/* Whether there are members with consecutive offsets, starting from that of the member `first`; `found` receives
 * them. */
static int has_members(const planner *p, const set *s, uint32_t first, uint32_t count, const member **found) {
    uint32_t offset = s->members[first].offset;
    if (s->is_sorted && (s->count - first < count || s->members[first + count - 1].offset != offset + count - 1))
        return 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = s->is_sorted ? first + k : find(p, s, offset + k);
        if (at == s->count || is_taken(p, &s->members[at]))
            return 0;
        found[k] = &s->members[at];
    }
    return 1;
}

/* The statement where a group is emitted, and an index that is available there: of stores, the one of the first
 * element. A base that is constant is available everywhere. */
static void place_group(const planner *p, const set *s, const member *const *found, vy_vectorize_mem_group *group) {
    uint32_t behind = 0;
    group->at = s->is_store ? 0 : VY_NONE;
    for (uint32_t k = 0; k < group->count; k++) {
        const vy_vectorize_mem_access *access = access_of(p, found[k]);
        int is_new = s->is_store ? access->stmt >= group->at : access->stmt < group->at;
        if (s->is_store ? k == 0 : is_new) {
            group->index =
                s->is_store ? vy_stmt_at(p->program, access->stmt)->a : vectorize_mem_expr(p, access->expr)->b;
            behind = k;
        }
        if (is_new)
            group->at = access->stmt;
    }
    group->offset = 0u - behind;
    if (s->base == VY_NONE || is_fixed_variable(p, s->base)) {
        group->index = s->base;
        group->offset = found[0]->offset;
    }
}

/* Makes one group of members with consecutive offsets. Returns the number of its members. */
static uint32_t make_group(planner *p, const set *s, uint32_t count, const member *const *found, int proven) {
    vy_vectorize_mem_plan *plan = p->plan;
    uint32_t number = plan->groups.count;
    vy_vectorize_mem_group *group = VY_PUSH(&plan->groups);
    vy_vectorize_mem_value *values = group ? vy_arena_allocate(&plan->arena, count * sizeof *values) : NULL;
    if (!values) {
        p->out_of_memory = 1;
        return 0;
    }
    *group = (vy_vectorize_mem_group){.memory = s->memory,
                                      .count = (uint8_t)count,
                                      .is_store = s->is_store,
                                      .index_is_aligned = (uint8_t)proven,
                                      .starts_aligned = (uint8_t)starts_aligned(p, s),
                                      .values = values};
    place_group(p, s, found, group);
    if (!s->is_store) {
        group->next = plan->at_stmt[group->at];
        plan->at_stmt[group->at] = number + 1;
    }
    return enter(p, s, count, number, (uint32_t)(found[0] - s->members));
}

/* Finds groups of `count` members of a set whose base is a multiple of `known`: the groups that are proven aligned, or
 * the groups that may be aligned. An index that is known to be in the middle of an aligned group is excluded. Subtracts
 * the grouped members from *left. */
static void find_groups(planner *p, const set *s, uint32_t count, uint32_t known, int proven, uint32_t *left) {
    const member *found[VY_LIMIT_WIDE];
    int starts = starts_aligned(p, s), needs_test = !proven || !starts;
    uint32_t step = proven          ? count
                    : !starts       ? 1
                    : known < count ? known
                                    : count; /* to the next possible first offset */
    if ((proven && known < count) || (needs_test && count * size_of(p, s->memory) < WORTH_A_TEST))
        return;
    for (uint32_t i = 0; i < s->count && *left >= count; i++) {
        if (s->members[i].offset % step != 0 || is_taken(p, &s->members[i]) || !has_members(p, s, i, count, found))
            continue;
        if (proven || is_tested_alike(p, s->base, count)) /* expensive, so tested last */
            *left -= make_group(p, s, count, found, proven);
    }
}

/* Makes the groups of a set that no access can join any more. The widest first; proven ones before those that need a
 * test. */
static void close_set(planner *p, const set *s) {
    uint32_t left = s->count, count = left < 2 ? 0 : p->bytes / size_of(p, s->memory);
    uint32_t known = /* known divisor of the base */
        count < 2 ? 0 : 1u << (s->base == VY_NONE ? 8 : factor_of(p, s->base));
    while (count > left)
        count /= 2;
    for (; count >= 2; count /= 2) {
        find_groups(p, s, count, known, 1, &left);
        find_groups(p, s, count, known, 0, &left);
    }
}

/* ---- the walk ---- */

/* ---- sets ---- */

/* Closes the sets of `memory` (VY_NONE: of any), except those by the base of `keep` (NULL: none is kept). */
static void close_sets(planner *p, uint32_t memory, const vy_affine_index *keep) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        set *s = &p->open[i];
        int is_meant = (memory == VY_NONE || s->memory == memory) && !(keep && is_same(p, s->base, keep->base));
        if (is_meant)
            close_set(p, s);
        else if (left++ != i)
            memcpy(&p->open[left - 1], s, offsetof(set, members) + s->count * sizeof *s->members);
    }
    p->count = left;
}

/* Before a load: stores by other bases than `keep` (NULL: any base) may access the same element. The loads with their
 * bases are closed, too: after the stores are closed, nothing would prevent a later load from moving before them. */
static void close_stores(planner *p, uint32_t memory, const vy_affine_index *keep) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].memory == memory && p->open[i].is_store && !(keep && is_same(p, p->open[i].base, keep->base))) {
            close_sets(p, memory, keep);
            return;
        }
}

/* Stores of a memory by other bases were closed before. */
static set *find_set(planner *p, uint32_t memory, uint32_t base, int is_store) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].memory == memory && p->open[i].is_store == is_store &&
            (is_store || is_same(p, p->open[i].base, base)))
            return &p->open[i];
    return NULL;
}

static int has_offset(const set *s, uint32_t offset) {
    if (!s || (s->is_sorted && vectorize_mem_follows(s, offset)))
        return 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->members[i].offset == offset)
            return 1;
    return 0;
}

/* The open set that an access joins; it is created if needed. */
static set *open_set(planner *p, uint32_t memory, uint32_t base, int is_store) {
    set *s = find_set(p, memory, base, is_store);
    if (s && s->count < MEMBERS)
        return s;
    if (s)
        close_sets(p, memory, NULL);
    if (p->count == OPEN)
        close_sets(p, VY_NONE, NULL);
    s = &p->open[p->count++];
    s->memory = memory;
    s->base = base;
    s->is_store = (uint8_t)is_store;
    s->is_sorted = 1;
    s->count = 0;
    return s;
}

static void add_member(planner *p, uint32_t memory, vy_affine_index at, int is_store, uint32_t stmt, uint32_t expr) {
    set *s = open_set(p, memory, at.base, is_store);
    vy_vectorize_mem_plan *plan = p->plan;
    if (!VY_RESERVE(&plan->accesses, 1)) {
        p->out_of_memory = 1;
        return;
    }
    s->is_sorted &= (uint8_t)vectorize_mem_follows(s, at.offset);
    s->members[s->count++] = (member){plan->accesses.count, at.offset};
    plan->accesses.items[plan->accesses.count++] =
        (vy_vectorize_mem_access){.stmt = stmt, .expr = expr, .is_store = (uint8_t)is_store};
}

/* ---- accesses ---- */

static int may_fuse(const planner *p, uint32_t memory) {
    return vy_memory_at(p->program, memory)->space != VY_SPACE_PRIVATE && size_of(p, memory) * 2 <= p->bytes;
}

/* A load reads the value of every store before it, so none of these may move after it. And it must not move before a
 * store that was visited. */
static void see_load(planner *p, uint32_t stmt, uint32_t expr, uint32_t end) {
    const vy_expr *e = vectorize_mem_expr(p, expr);
    vy_affine_index at = offset_of(p, e->b);
    close_stores(p, e->a, &at);
    if (has_offset(find_set(p, e->a, at.base, 1), at.offset))
        close_sets(p, e->a, NULL);
    /* In shared memory, a load in an arm is executed only by invocations that select the arm: any other might race. */
    int is_for_some = vy_memory_is_shared(p->program, e->a) && vy_expr_is_in_arm(p->program, expr, end);
    if (e->op == VY_BOUNDS_UNCHECKED && e->c == VY_NONE && !is_for_some && may_fuse(p, e->a))
        add_member(p, e->a, at, 0, stmt, expr);
}

/* No later load of the stored element may move before the store, and no earlier store of it may move after it. */
static void see_store(planner *p, uint32_t stmt, const vy_stmt *s) {
    vy_affine_index at = offset_of(p, s->a);
    close_sets(p, s->memory, &at);
    if (has_offset(find_set(p, s->memory, at.base, 1), at.offset))
        close_sets(p, s->memory, NULL);
    if (s->bounds_check == VY_BOUNDS_UNCHECKED && may_fuse(p, s->memory))
        add_member(p, s->memory, at, 1, stmt, s->b);
}

/* The first load at or after `expr`; the end of all expressions if there is none. */
static uint32_t find_load(const planner *p, uint32_t expr) {
    uint32_t count = p->program->exprs.count;
    if (expr >= count)
        return count;
    const vy_expr *exprs = p->program->exprs.items, *e = exprs + expr, *end = exprs + count;
    while (e < end && e->kind != VY_EXPR_LOAD)
        e++;
    return (uint32_t)(e - exprs);
}

/* ---- statements ---- */

/* The effects of a structured statement on the statements around it. */
typedef struct effects {
    int leaves; /* it contains a jump out of it, or may not terminate */
    int orders; /* invocations synchronise, or memory is ordered */
} effects;

static effects effects_of(const planner *p, uint32_t index) {
    const vy_stmt *stmts = p->program->stmts.items;
    effects all = {vy_block_has_loop_jump(p->program, index, stmts[index].end), 0};
    for (uint32_t i = index; i < stmts[index].end; i++) {
        const vy_stmt *s = &stmts[i];
        all.leaves |= s->kind == VY_STMT_RETURN || s->kind == VY_STMT_TRAP || s->kind == VY_STMT_WHILE;
        all.orders |= vy_stmt_orders(s) || s->kind == VY_STMT_ATOMIC;
    }
    return all;
}

static int has_stores(const planner *p) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].is_store)
            return 1;
    return 0;
}

/* Visits the loads in the trees of a structured statement, as if their index were unknown. */
static void see_loads(planner *p, uint32_t index) {
    uint32_t end = 0;
    for (uint32_t i = vy_stmt_at(p->program, index)->end; end == 0 && i > index; i--)
        end = vy_stmt_exprs_end(p->program, vy_stmt_at(p->program, i - 1), 0);
    for (uint32_t load = p->next_load; load < end; load = find_load(p, load + 1))
        close_stores(p, vectorize_mem_expr(p, load)->a, NULL);
}

/* Visits a structured statement for the sets of the block around it: every access inside is treated as an access by an
 * unknown index. */
static void see_whole(planner *p, uint32_t index) {
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

static void plan_block(planner *p, uint32_t first, uint32_t end);

/* The block [first, middle) and the one that follows it have separate sets. */
static void plan_blocks(planner *p, uint32_t first, uint32_t middle, uint32_t end) {
    set *around = p->open;
    uint32_t count = p->count;
    sets *mine = p->spare ? p->spare : vy_allocate(sizeof *mine);
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

static void plan_structured(planner *p, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(p->program, index);
    p->seen = index + 1;
    if (p->count)
        see_whole(p, index);
    for (uint32_t head = vy_stmt_exprs_end(p->program, s, 0); p->next_load < head;)
        p->next_load = find_load(p, p->next_load + 1);
    plan_blocks(p, index + 1, s->middle, s->end);
}

static void note_let(planner *p, const vy_stmt *s) {
    p->factor[s->variable] = (uint8_t)factor_of(p, s->a);
}

static void plan_simple(planner *p, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(p->program, index);
    uint32_t end = vy_stmt_exprs_end(p->program, s, 0);
    p->seen = index;
    for (; p->next_load < end; p->next_load = find_load(p, p->next_load + 1))
        see_load(p, index, p->next_load, end);
    p->seen = index + 1;
    if (s->kind == VY_STMT_LET)
        note_let(p, s);
    else if (s->kind == VY_STMT_STORE)
        see_store(p, index, s);
    else if (vy_stmt_orders(s) || s->kind == VY_STMT_ATOMIC)
        close_sets(p, VY_NONE, NULL);
    else if (s->memory != VY_NONE)
        close_sets(p, s->memory, NULL);
}

/* Recursion is bounded by VY_LIMIT_NESTING. Most statements define a variable and do not load. */
static void plan_block(planner *p, uint32_t first, uint32_t end) {
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
    planner p = {.plan = plan,
                 .program = program,
                 .bytes = target->access_bytes,
                 .aligned_buffers = target->aligned_buffers,
                 .uses = {.program = program, .arena = &plan->arena},
                 .factor = array(plan, program->variables.count, 1),
                 .loaded = array(plan, program->variables.count, 1)};
    p.out_of_memory = !plan->at_stmt || !p.factor || !p.loaded || !vy_def_use_need(&p.uses, VY_DEF_USE_DECLARATIONS);
    if (!p.out_of_memory) {
        p.next_load = find_load(&p, 0);
        plan_blocks(&p, entry->first_stmt, entry->end_stmt, entry->end_stmt);
    }
    for (sets *next; p.spare; p.spare = next) {
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
