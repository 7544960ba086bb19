/* Finding adjacent accesses (legal_fuse_plan.h).
 *
 * An index is a base and a number of elements behind it: `i + 3`, through `let`s too. Accesses of a block with one base and different numbers touch
 * different elements, and an unguarded one is inside, so that consecutive numbers are consecutive elements: nothing wraps.
 *
 * A block is walked once. What has been seen of a memory and a base stays open as long as later accesses may join: a load is moved up to the first one of its
 * group, a store down to the last. What lies between must not be able to tell: no access to an element that is moved, no access to the memory by another base, no
 * meeting or order, no jump out of the block (behind one, more is known to be inside), and nothing that may never end. */
#include "transform/legal_fuse_plan.h"

#include "base/status.h"
#include "ir/validate/check.h"
#include "transform/uniform.h"

/* A test of the address pays for an access of so many bytes. */
enum { WORTH_A_TEST = 4 };

/* Sets that are open at once; a block with more is rare, and only loses groups. */
enum { OPEN = 32, MEMBERS = 64, DEEPEST = 32 };

/* An index, as far as it can be compared with another. */
typedef struct place {
    uint32_t base;   /* expression; VY_NONE: nothing, the offset is all */
    uint32_t offset; /* modulo 2^32 */
} place;

typedef struct member {
    uint32_t stmt, expr; /* expr: of a load; VY_NONE: a store */
    uint32_t offset;
} member;

typedef struct set {
    uint32_t memory, base;
    uint32_t count;
    uint8_t is_store;
    member members[MEMBERS];
} set;

typedef struct planner {
    vy_fuse_plan *plan;
    const vyre_program *program;
    uint32_t bytes; /* of the widest access */
    int aligned_buffers;
    uint32_t *definition; /* by variable: the value of its `let`; VY_NONE */
    uint8_t *factor;      /* by variable: the power of two that divides it for certain, as an exponent */
    uint8_t *loaded;      /* by variable: it comes from memory, so that neighbours have whatever they found there */
    vy_uniform *uniform;  /* once somebody asks */
    uint32_t count;
    set *open;
    int out_of_memory;
} planner;

/* ---- indices ---- */

static const vy_expr *expr_at(const planner *p, uint32_t expr) {
    return &p->program->exprs.items[expr];
}

static int is_literal(const planner *p, uint32_t expr) {
    return expr_at(p, expr)->kind == VY_EXPR_LITERAL;
}

static int is_fixed_variable(const planner *p, uint32_t expr) {
    const vy_expr *e = expr_at(p, expr);
    return e->kind == VY_EXPR_VARIABLE && !p->program->variables.items[e->a].is_mutable;
}

/* Takes one literal off a sum. Returns 0 if it is none. */
static int take_literal(const planner *p, place *at) {
    const vy_expr *e = expr_at(p, at->base);
    if (e->kind != VY_EXPR_OP || (e->op != VYRE_OP_ADD && e->op != VYRE_OP_SUB))
        return 0;
    if (is_literal(p, e->b)) {
        uint32_t literal = (uint32_t)expr_at(p, e->b)->bits;
        *at = (place){e->a, e->op == VYRE_OP_ADD ? at->offset + literal : at->offset - literal};
        return 1;
    }
    if (e->op == VYRE_OP_ADD && is_literal(p, e->a)) {
        *at = (place){e->b, at->offset + (uint32_t)expr_at(p, e->a)->bits};
        return 1;
    }
    return 0;
}

/* Takes literals off the index, through sums and `let`s; but not to a variable that may change: the `let` does not. Other types than u32 do not wrap as
 * offsets do: they are bases as a whole. */
static place place_of(const planner *p, uint32_t expr) {
    place at = {expr, 0};
    if (expr_at(p, expr)->type != VYRE_TYPE_U32)
        return at;
    for (int depth = 0; depth < DEEPEST; depth++) {
        const vy_expr *e = expr_at(p, at.base);
        if (e->kind == VY_EXPR_LITERAL)
            return (place){VY_NONE, at.offset + (uint32_t)e->bits};
        if (e->kind == VY_EXPR_VARIABLE && p->definition[e->a] != VY_NONE) {
            place inner = {p->definition[e->a], at.offset};
            while (take_literal(p, &inner))
                ;
            if (!is_literal(p, inner.base) && !is_fixed_variable(p, inner.base))
                return inner.base == p->definition[e->a] || !vy_expr_is_fixed(p->program, inner.base) ? at : inner;
            at = inner;
        } else if (!take_literal(p, &at)) {
            return at;
        }
    }
    return at;
}

/* Whether two expressions of a block have one value: same trees over what cannot change. */
static int is_same(const planner *p, uint32_t one, uint32_t other) {
    return vy_expr_is_alike(p->program, one, other) && vy_expr_is_fixed(p->program, one);
}

/* The largest power of two, up to 2^8, that divides an expression of u32 for certain; as its exponent. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static unsigned factor_of(const planner *p, uint32_t expr) {
    const vy_expr *e = expr_at(p, expr);
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
        a = factor_of(p, e->a);
        b = factor_of(p, e->b);
        return a < b ? a : b;
    case VYRE_OP_AND:
        a = factor_of(p, e->a);
        b = factor_of(p, e->b);
        return a > b ? a : b;
    case VYRE_OP_MUL:
        a = factor_of(p, e->a) + factor_of(p, e->b);
        return a < most ? a : most;
    case VYRE_OP_SHL:
        a = is_literal(p, e->b) ? factor_of(p, e->a) + (unsigned)(expr_at(p, e->b)->bits & 31) : 0;
        return a < most ? a : most;
    default:
        return 0;
    }
}

/* ---- groups ---- */

static uint32_t size_of(const planner *p, uint32_t memory) {
    return vyre_type_bits((vyre_type)p->program->memories.items[memory].type) / 8;
}

static int is_taken(const planner *p, const set *s, const member *m) {
    return (s->is_store ? p->plan->of_stmt[m->stmt] : p->plan->of_expr[m->expr]) != 0;
}

/* A member with that offset that is in no group yet; count if there is none. */
static uint32_t find(const planner *p, const set *s, uint32_t offset) {
    uint32_t i = 0;
    while (i < s->count && (s->members[i].offset != offset || is_taken(p, s, &s->members[i])))
        i++;
    return i;
}

static void enter(planner *p, const set *s, const vy_fuse_group *group, uint32_t number, uint32_t first) {
    vy_fuse_plan *plan = p->plan;
    for (uint32_t i = 0; i < s->count; i++) {
        const member *m = &s->members[i];
        uint32_t element = m->offset - first;
        if (element >= group->count)
            continue;
        uint32_t *of = s->is_store ? &plan->of_stmt[m->stmt] : &plan->of_expr[m->expr];
        if (*of)
            continue;
        *of = number + 1;
        plan->has_loads[m->stmt] |= !s->is_store;
        *(s->is_store ? &plan->element_of_stmt[m->stmt] : &plan->element_of_expr[m->expr]) = (uint8_t)element;
    }
}

/* Whether a memory starts at a multiple of 16 bytes for certain. */
static int starts_aligned(const planner *p, const set *s) {
    return p->program->memories.items[s->memory].space != VY_SPACE_BUFFER || p->aligned_buffers;
}

static int has_members(const planner *p, const set *s, uint32_t first, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        if (find(p, s, first + k) == s->count)
            return 0;
    return 1;
}

/* The members with offsets [first, first + count), which are there: one group. */
static void make_group(planner *p, const set *s, uint32_t first, uint32_t count, int proven) {
    vy_fuse_plan *plan = p->plan;
    vy_fuse_group group = {.memory = s->memory,
                           .count = (uint8_t)count,
                           .is_store = s->is_store,
                           .index_is_aligned = (uint8_t)proven,
                           .starts_aligned = (uint8_t)starts_aligned(p, s),
                           .at = s->is_store ? 0 : VY_NONE};
    uint32_t behind = 0;
    for (uint32_t k = 0; k < count; k++) {
        const member *m = &s->members[find(p, s, first + k)];
        uint32_t index = s->is_store ? p->program->stmts.items[m->stmt].a : expr_at(p, m->expr)->b;
        int is_new = s->is_store ? m->stmt >= group.at : m->stmt < group.at;
        /* An index that is known there: of stores any, so that of the first element. A fixed base is known wherever it is used. */
        if (s->is_store ? k == 0 : is_new) {
            group.index = index;
            behind = k;
        }
        if (is_new)
            group.at = m->stmt;
    }
    group.offset = 0u - behind;
    if (s->base == VY_NONE || is_fixed_variable(p, s->base)) {
        group.index = s->base;
        group.offset = first;
    }
    vy_fuse_group *slot = VY_PUSH(&plan->groups);
    if (!slot) {
        p->out_of_memory = 1;
        return;
    }
    uint32_t number = plan->groups.count - 1;
    if (!s->is_store) {
        group.next = plan->at_stmt[group.at];
        plan->at_stmt[group.at] = number + 1;
    }
    *slot = group;
    enter(p, s, &group, number, first);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int is_loaded(const planner *p, uint32_t expr) {
    const vy_expr *e = expr == VY_NONE ? NULL : expr_at(p, expr);
    if (e && e->kind == VY_EXPR_OP)
        return is_loaded(p, e->a) || is_loaded(p, e->b) || is_loaded(p, e->c);
    return e && (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_VARIABLE && p->loaded[e->a]));
}

/* Whether an expression is an id that grows by one along a row, by whatever name: so much is known without looking at the whole program. */
static int is_id(const planner *p, uint32_t expr) {
    const vy_expr *e = expr_at(p, expr);
    while (e->kind == VY_EXPR_VARIABLE && p->definition[e->a] != VY_NONE)
        e = expr_at(p, p->definition[e->a]);
    return e->kind == VY_EXPR_BUILTIN && p->program->workgroup[0] > 1 &&
           (e->op == VYRE_BUILTIN_LOCAL_INDEX ||
            ((e->op == VYRE_BUILTIN_LOCAL_ID || e->op == VYRE_BUILTIN_GLOBAL_ID) && e->axis == 0));
}

/* Whether neighbours in a row find the same when they test the alignment of an index to `count` elements, as far as one knows: where they do not, both ways are gone. */
static int is_tested_alike(planner *p, const set *s, uint32_t count) {
    uint64_t stride;
    if (s->base == VY_NONE || is_id(p, s->base))
        return s->base == VY_NONE;
    if (!p->uniform && vy_uniform_make(p->program, &p->uniform, NULL) != VYRE_OK) {
        p->out_of_memory = 1;
        return 1;
    }
    return vy_stride_of(p->uniform, s->base, &stride) ? stride % count == 0 : !is_loaded(p, s->base);
}

/* Groups of a set, the widest first; those that are aligned for certain before those that may be. An index that is known to be in the middle is not. */
static void close_set(planner *p, set *s) {
    uint32_t size = size_of(p, s->memory), most = p->bytes / size;
    uint32_t known = 1u << (s->base == VY_NONE ? 8 : factor_of(p, s->base)); /* what divides the base */
    for (uint32_t count = most; count >= 2 && s->count >= 2; count /= 2)
        for (int proven = 1; proven >= 0; proven--)
            for (uint32_t i = 0; i < s->count; i++) {
                uint32_t first = s->members[i].offset;
                int is_aligned = known >= count && first % count == 0;
                int may_be = !starts_aligned(p, s) || first % (known < count ? known : count) == 0;
                int needs_test = !proven || !starts_aligned(p, s);
                if (!(proven ? is_aligned : may_be) || (needs_test && count * size < WORTH_A_TEST) ||
                    is_taken(p, s, &s->members[i]) || !has_members(p, s, first, count))
                    continue;
                if (proven || is_tested_alike(p, s, count)) /* that takes long to find out */
                    make_group(p, s, first, count, proven);
            }
    s->count = 0;
}

/* Forgets sets of `memory` (VY_NONE: of any), but for those by the base of `keep` (NULL: none is kept). */
static void close_sets(planner *p, uint32_t memory, const place *keep) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        set *s = &p->open[i];
        int is_meant = (memory == VY_NONE || s->memory == memory) && !(keep && is_same(p, s->base, keep->base));
        if (is_meant)
            close_set(p, s);
        else if (left++ != i)
            p->open[left - 1] = *s;
    }
    p->count = left;
}

/* Before a load: stores by other bases than `keep` (NULL: by any) may be of what it loads. The loads with their bases go with them: where the stores are forgotten,
 * nothing would stop a later load from coming before them. */
static void close_stores(planner *p, uint32_t memory, const place *keep) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].memory == memory && p->open[i].is_store && !(keep && is_same(p, p->open[i].base, keep->base))) {
            close_sets(p, memory, keep);
            return;
        }
}

static set *find_set(planner *p, uint32_t memory, uint32_t base, int is_store) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].memory == memory && p->open[i].is_store == is_store && is_same(p, p->open[i].base, base))
            return &p->open[i];
    return NULL;
}

static int has_offset(const set *s, uint32_t offset) {
    for (uint32_t i = 0; s && i < s->count; i++)
        if (s->members[i].offset == offset)
            return 1;
    return 0;
}

static void add_member(planner *p, uint32_t memory, place at, int is_store, member m) {
    set *s = find_set(p, memory, at.base, is_store);
    if (s && s->count == MEMBERS) {
        close_sets(p, memory, NULL);
        s = NULL;
    }
    if (!s) {
        if (p->count == OPEN)
            close_sets(p, VY_NONE, NULL);
        s = &p->open[p->count++];
        s->memory = memory;
        s->base = at.base;
        s->is_store = (uint8_t)is_store;
        s->count = 0;
    }
    m.offset = at.offset;
    s->members[s->count++] = m;
}

/* ---- accesses ---- */

static int may_fuse(const planner *p, uint32_t memory) {
    return p->program->memories.items[memory].space != VY_SPACE_PRIVATE && size_of(p, memory) * 2 <= p->bytes;
}

/* A load sees every store before it: none of those may come later than this. And it cannot come before a store that has been seen. */
static void see_load(planner *p, uint32_t stmt, uint32_t expr) {
    const vy_expr *e = expr_at(p, expr);
    place at = place_of(p, e->b);
    close_stores(p, e->a, &at);
    if (has_offset(find_set(p, e->a, at.base, 1), at.offset))
        close_sets(p, e->a, NULL);
    if (e->op == VY_UNGUARDED && e->c == VY_NONE && may_fuse(p, e->a))
        add_member(p, e->a, at, 0, (member){stmt, expr, 0});
}

/* No load of what is stored may come before it any more, no other store of it later. */
static void see_store(planner *p, uint32_t stmt, const vy_stmt *s) {
    place at = place_of(p, s->a);
    close_sets(p, s->memory, &at);
    if (has_offset(find_set(p, s->memory, at.base, 1), at.offset))
        close_sets(p, s->memory, NULL);
    if (s->guard == VY_UNGUARDED && may_fuse(p, s->memory))
        add_member(p, s->memory, at, 1, (member){stmt, VY_NONE, 0});
}

/* Returns whether anything of it comes from memory. */
static int see_exprs(planner *p, uint32_t stmt, uint32_t first, uint32_t end) {
    int is_loaded = 0;
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = expr_at(p, i);
        if (e->kind == VY_EXPR_VARIABLE)
            is_loaded |= p->loaded[e->a];
        if (e->kind != VY_EXPR_LOAD)
            continue;
        is_loaded = 1;
        see_load(p, stmt, i);
    }
    return is_loaded;
}

/* ---- statements ---- */

/* What a structured statement may do to what stands around it. */
typedef struct effects {
    int leaves; /* a jump out of it, or it may never end */
    int orders; /* invocations meet, or memory is ordered */
} effects;

static effects effects_of(const planner *p, uint32_t index) {
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

static int has_stores(const planner *p) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->open[i].is_store)
            return 1;
    return 0;
}

/* Loads in the trees of statements, by unknown indices. */
static void see_loads(planner *p, uint32_t first, uint32_t end, uint32_t expr) {
    for (uint32_t i = first; i < end; i++)
        for (uint32_t last = vy_stmt_exprs_end(p->program, &p->program->stmts.items[i], expr); expr < last; expr++)
            if (expr_at(p, expr)->kind == VY_EXPR_LOAD)
                close_stores(p, expr_at(p, expr)->a, NULL);
}

/* A structured statement, whose trees start at `expr`, by those that stand around it: everything inside is seen as an access by an unknown index. */
static void see_whole(planner *p, uint32_t index, uint32_t expr) {
    const vy_stmt *stmts = p->program->stmts.items;
    effects what = effects_of(p, index);
    if (what.leaves || what.orders) {
        close_sets(p, VY_NONE, NULL);
        return;
    }
    if (has_stores(p))
        see_loads(p, index, stmts[index].end, expr);
    for (uint32_t i = index + 1; i < stmts[index].end; i++)
        if (stmts[i].memory != VY_NONE)
            close_sets(p, stmts[i].memory, NULL);
}

static uint32_t plan_block(planner *p, uint32_t first, uint32_t end, uint32_t expr);

/* The blocks inside have sets of their own, so those around are put away meanwhile: `open` goes on behind them. */
static uint32_t plan_inside(planner *p, uint32_t index, uint32_t expr) {
    const vy_stmt *s = &p->program->stmts.items[index];
    set *around = p->open;
    uint32_t count = p->count;
    p->open = vy_allocate(OPEN * sizeof *p->open);
    p->count = 0;
    if (p->open) {
        expr = plan_block(p, index + 1, s->middle, expr);
        expr = plan_block(p, s->middle, s->end, expr);
        vy_release(p->open, OPEN * sizeof *p->open);
    } else {
        p->out_of_memory = 1;
    }
    p->open = around;
    p->count = count;
    return expr;
}

static uint32_t plan_structured(planner *p, uint32_t index, uint32_t expr) {
    const vy_stmt *s = &p->program->stmts.items[index];
    uint32_t head = vy_stmt_exprs_end(p->program, s, expr);
    if (s->kind == VY_STMT_FOR)
        p->loaded[s->variable] = (uint8_t)is_loaded(p, s->a);
    if (p->count)
        see_whole(p, index, expr);
    return plan_inside(p, index, head);
}

static uint32_t plan_simple(planner *p, uint32_t index, uint32_t expr) {
    const vy_stmt *s = &p->program->stmts.items[index];
    uint32_t end = vy_stmt_exprs_end(p->program, s, expr);
    int is_loaded = see_exprs(p, index, expr, end);
    if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR || s->kind == VY_STMT_ASSIGN)
        p->loaded[s->variable] |= (uint8_t)is_loaded;
    if (s->kind == VY_STMT_LET) {
        p->definition[s->variable] = s->a;
        p->factor[s->variable] = (uint8_t)factor_of(p, s->a);
    } else if (s->kind == VY_STMT_STORE)
        see_store(p, index, s);
    else if (vy_stmt_orders(s) || s->kind == VY_STMT_ATOMIC || s->kind == VY_STMT_CALL)
        close_sets(p, VY_NONE, NULL);
    else if (s->memory != VY_NONE)
        close_sets(p, s->memory, NULL);
    return end;
}

/* Returns the first expression behind the block. Recursion is bounded by VY_LIMIT_NESTING. */
static uint32_t plan_block(planner *p, uint32_t first, uint32_t end, uint32_t expr) {
    for (uint32_t i = first; i < end && !p->out_of_memory; i = p->program->stmts.items[i].end)
        expr = vy_stmt_is_structured(p->program->stmts.items[i].kind) ? plan_structured(p, i, expr)
                                                                      : plan_simple(p, i, expr);
    close_sets(p, VY_NONE, NULL);
    return expr;
}

/* ---- the plan ---- */

static void *array(vy_fuse_plan *plan, uint32_t count, size_t size) {
    return vy_arena_allocate(&plan->arena, vy_array_size(count + 1u, size));
}

vyre_status vy_fuse_plan_make(vy_fuse_plan *plan, const vyre_program *program, const vy_legal_target *target,
                              vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    *plan = (vy_fuse_plan){.program = program};
    plan->of_expr = array(plan, program->exprs.count, sizeof *plan->of_expr);
    plan->of_stmt = array(plan, program->stmts.count, sizeof *plan->of_stmt);
    plan->at_stmt = array(plan, program->stmts.count, sizeof *plan->at_stmt);
    plan->element_of_expr = array(plan, program->exprs.count, 1);
    plan->element_of_stmt = array(plan, program->stmts.count, 1);
    plan->has_loads = array(plan, program->stmts.count, 1);
    planner p = {.plan = plan,
                 .program = program,
                 .bytes = target->access_bytes,
                 .aligned_buffers = target->aligned_buffers,
                 .definition = array(plan, program->variables.count, sizeof *p.definition),
                 .factor = array(plan, program->variables.count, 1),
                 .loaded = array(plan, program->variables.count, 1),
                 .open = vy_allocate(OPEN * sizeof *p.open)};
    p.out_of_memory = !plan->of_expr || !plan->of_stmt || !plan->at_stmt || !plan->element_of_expr ||
                      !plan->element_of_stmt || !plan->has_loads || !p.definition || !p.factor || !p.loaded || !p.open;
    if (!p.out_of_memory) {
        memset(p.definition, 0xff, program->variables.count * sizeof *p.definition);
        plan_block(&p, entry->first_stmt, entry->end_stmt, 0);
    }
    if (p.open)
        vy_release(p.open, OPEN * sizeof *p.open);
    vy_uniform_free(p.uniform);
    return p.out_of_memory ? vy_fail_memory(error, "wide accesses") : VYRE_OK;
}

void vy_fuse_plan_free(vy_fuse_plan *plan) {
    VY_VECTOR_FREE(&plan->groups);
    vy_arena_free(&plan->arena);
}
