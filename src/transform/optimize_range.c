/* Ranges (optimize_range.h). What must stay true: a fact about a variable is dropped when the variable is assigned, and no fact outlives the place where
 * its condition holds. */
#include "transform/optimize_range.h"

#include "base/status.h"
#include "ir/validate/check.h"
#include "transform/optimize.h"

typedef vy_wide wide;
typedef vy_interval interval;

enum { EFFORT = 64 }; /* values of `let`s that are looked into for one question */

/* What is known of a subject: variables, behind them builtins, then lengths of memories. */
typedef struct fact {
    vy_range range;
    vy_bounds below;
} fact;

typedef struct undo {
    uint32_t subject;
    fact old;
} undo;

struct vy_ranges {
    const vyre_program *program;
    const vy_rules *rules;
    unsigned asks;
    vy_range *exprs;      /* by expression */
    uint8_t *load_inside; /* by expression */
    uint8_t *compared;    /* by expression: 1 false, 2 true, 0 unknown */
    uint8_t *may_bound;   /* by expression, from first_expr on: whether `below` may find anything */
    uint8_t *stmt_inside; /* by statement */
    fact *facts;          /* by subject: at the current statement */
    uint32_t *lengths;    /* by variable: the length it holds (see vy_length_of), or VY_NONE */
    uint32_t *values;     /* by variable: the expression of its `let`, if that cannot change, or VY_NONE */
    vy_lengths known;
    uint32_t effort; /* values looked into for the current question */
    VY_VECTOR(undo) log;
    uint32_t first_expr; /* of the current statement, as long as nothing was learned since they were visited; VY_NONE */
    uint32_t next_expr;
    vy_range whole[VYRE_TYPE_COUNT]; /* by type: all values */
    size_t size;                     /* of the block, which starts at exprs */
    int failed;
};

/* ---- subjects ---- */

static uint32_t builtin_subject(const vyre_program *p, uint32_t builtin, uint32_t axis) {
    return p->variables.count + builtin * 3 + axis;
}

/* Of the length that has this name: a memory's, or a param. */
static uint32_t length_subject(const vyre_program *p, uint32_t name) {
    return name < p->memories.count ? builtin_subject(p, VYRE_BUILTIN_COUNT, 0) + name : name - p->memories.count;
}

/* The type in which the facts of a subject are kept. */
static uint8_t subject_type(const vyre_program *p, uint32_t subject) {
    return subject < p->variables.count ? p->variables.items[subject].type : VYRE_TYPE_U32;
}

/* What facts are kept of, or VY_NONE. */
static uint32_t subject_of(const vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    if (e->kind == VY_EXPR_VARIABLE)
        return e->a;
    if (e->kind == VY_EXPR_LEN) {
        uint32_t subject = length_subject(r->program, vy_length_of(r->program, e->a));
        return subject_type(r->program, subject) == e->type ? subject : VY_NONE;
    }
    return e->kind == VY_EXPR_BUILTIN ? builtin_subject(r->program, e->op, e->axis) : VY_NONE;
}

/* The expression that a `let` stands for, a few steps back at most; the expression itself if it is none. */
static uint32_t value_of(vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    if (e->kind != VY_EXPR_VARIABLE || r->values[e->a] == VY_NONE || r->effort == 0)
        return expr;
    r->effort--;
    return r->values[e->a];
}

/* The length an expression is, or VY_NONE. */
static uint32_t length_in(const vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    if (e->kind == VY_EXPR_LEN)
        return vy_length_of(r->program, e->a);
    return e->kind == VY_EXPR_VARIABLE ? r->lengths[e->a] : VY_NONE;
}

/* ---- expressions ---- */

static interval at(const vy_ranges *r, uint32_t expr) {
    return vy_interval_of(r->program->exprs.items[expr].type, r->exprs[expr]);
}

static interval range_op(const vy_ranges *r, const vy_expr *e) {
    interval none = vy_interval_whole(e->type);
    return vy_interval_op((vyre_op)e->op, e->type, r->program->exprs.items[e->a].type, at(r, e->a),
                          e->b != VY_NONE ? at(r, e->b) : none, e->c != VY_NONE ? at(r, e->c) : none);
}

/* A dispatch has at most 2^32 - 1 invocations along a dimension (ir/launch.c). */
static interval range_builtin(const vyre_program *p, uint32_t builtin, uint32_t axis) {
    const uint32_t *size = p->workgroup;
    wide most_groups = size[axis] ? UINT32_MAX / size[axis] : UINT32_MAX;
    if (!vy_program_has_entry(p))
        return vy_interval_whole(VYRE_TYPE_U32);
    switch ((vyre_builtin)builtin) {
    case VYRE_BUILTIN_LOCAL_ID:
        return (interval){0, size[axis] - 1};
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        return (interval){size[axis], size[axis]};
    case VYRE_BUILTIN_LOCAL_INDEX:
        return (interval){0, size[0] * size[1] * size[2] - 1};
    case VYRE_BUILTIN_GLOBAL_ID:
        return (interval){0, most_groups * size[axis] - 1};
    case VYRE_BUILTIN_GROUP_ID:
        return (interval){0, most_groups - 1};
    case VYRE_BUILTIN_GROUP_COUNT:
        return (interval){1, most_groups};
    case VYRE_BUILTIN_GLOBAL_SIZE:
        return (interval){size[axis], most_groups * size[axis]};
    default:
        return vy_interval_whole(VYRE_TYPE_U32);
    }
}

static interval range_len(const vyre_program *p, uint32_t memory) {
    uint64_t length = vy_memory_known_length(p, memory);
    return length ? (interval){(wide)length, (wide)length} : vy_interval_whole(VYRE_TYPE_U32);
}

/* An op of something and a literal: what the something is, if that never changes, and the literal; VY_NONE if it is none. */
static uint32_t of_literal(const vy_ranges *r, uint32_t expr, vyre_op op, uint64_t *bits) {
    const vyre_program *p = r->program;
    const vy_expr *e = &p->exprs.items[expr], *literal;
    if (e->kind == VY_EXPR_VARIABLE && r->values[e->a] != VY_NONE)
        e = &p->exprs.items[r->values[e->a]];
    if (e->kind != VY_EXPR_OP || e->op != op)
        return VY_NONE;
    const vy_expr *leaf = &p->exprs.items[e->a];
    literal = &p->exprs.items[e->b];
    if (literal->kind != VY_EXPR_LITERAL || (leaf->kind == VY_EXPR_VARIABLE && p->variables.items[leaf->a].is_mutable))
        return VY_NONE;
    *bits = literal->bits;
    return subject_of(r, e->a);
}

/* (x << s) - (x & m), a zero put between bits of x, where m is all ones below: that is x * (2^s - 1) + (x & ~m), which grows with x. */
static int is_spread(const vy_ranges *r, const vy_expr *e, interval *out) {
    uint64_t by = 0, mask = 0;
    if (e->op != VYRE_OP_SUB || e->type != VYRE_TYPE_U32)
        return 0;
    uint32_t subject = of_literal(r, e->a, VYRE_OP_SHL, &by);
    if (subject == VY_NONE || subject != of_literal(r, e->b, VYRE_OP_AND, &mask) || by < 1 || by > 31 ||
        (mask & (mask + 1)))
        return 0;
    interval x = vy_interval_of(VYRE_TYPE_U32, r->facts[subject].range);
    if (x.low < 0 || x.high << by > UINT32_MAX)
        return 0;
    *out = (interval){0, x.high * (((wide)1 << by) - 1) + (x.high & ~(wide)mask)};
    return 1;
}

static vy_range range_of_op(const vy_ranges *r, const vy_expr *e) {
    interval spread;
    if (!vy_is_integer(e->type)) /* nobody asks */
        return r->whole[e->type];
    return vy_interval_pack(is_spread(r, e, &spread) ? spread : range_op(r, e));
}

static vy_range range_expr(const vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    uint32_t subject;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL: {
        uint64_t bits = vy_is_integer(e->type) ? (uint64_t)vy_integer_of(e->type, e->bits) : 0;
        return vy_is_integer(e->type) ? (vy_range){bits, bits} : r->whole[e->type];
    }
    case VY_EXPR_VARIABLE:
        return r->facts[e->a].range;
    case VY_EXPR_BUILTIN:
        return r->facts[subject_of(r, expr)].range;
    case VY_EXPR_LEN:
        subject = subject_of(r, expr);
        return subject != VY_NONE ? r->facts[subject].range : vy_interval_pack(range_len(r->program, e->a));
    case VY_EXPR_OP:
        return range_of_op(r, e);
    default:
        return r->whole[e->type];
    }
}

/* ---- bounds ---- */

static vy_bounds below(vy_ranges *r, uint32_t expr);

static vy_bounds below_product(vy_ranges *r, uint32_t left, uint32_t right) {
    interval by = at(r, right);
    vy_bounds all = {0};
    if (by.low != by.high || by.low < 1 || by.low > UINT32_MAX)
        return all;
    all = below(r, left);
    return vy_bounds_times(&r->known, &all, (uint64_t)by.low);
}

/* row * width + column. */
static vy_bounds below_place(vy_ranges *r, uint32_t start, uint32_t column) {
    const vy_expr *e = &r->program->exprs.items[value_of(r, start)];
    vy_bounds made = {0};
    if (!r->known.products.count || e->kind != VY_EXPR_OP || e->op != VYRE_OP_MUL || at(r, e->a).low < 0 ||
        at(r, e->b).low < 0 || at(r, column).low < 0)
        return made;
    const uint32_t sides[3] = {e->a, e->b, e->a};
    for (int i = 0; i < 2; i++) {
        uint32_t width = length_in(r, sides[i + 1]);
        if (width == VY_NONE)
            continue;
        vy_bounds row = below(r, sides[i]), columns = below(r, column);
        vy_bounds more = vy_bounds_place(&r->known, &row, width, &columns);
        made = vy_bounds_both(made, &more);
    }
    return made;
}

static vy_bounds below_sum(vy_ranges *r, const vy_expr *e, interval a, interval b) {
    vy_bounds left = below(r, e->a), right = below(r, e->b);
    if (left.count)
        left = vy_bounds_raise(&left, (uint64_t)b.high);
    if (right.count) {
        right = vy_bounds_raise(&right, (uint64_t)a.high);
        left = vy_bounds_both(left, &right);
    }
    right = below_place(r, e->a, e->b);
    left = vy_bounds_both(left, &right);
    right = below_place(r, e->b, e->a);
    return vy_bounds_both(left, &right);
}

static vy_bounds below_op(vy_ranges *r, const vy_expr *e) {
    vy_bounds none = {0}, left, right;
    if (!vy_is_integer(e->type) || !vy_is_integer(r->program->exprs.items[e->a].type))
        return none;
    interval a = at(r, e->a), b = e->b != VY_NONE ? at(r, e->b) : a;
    if (a.low < 0)
        return none;
    switch ((vyre_op)e->op) {
    case VYRE_OP_CAST:
        return vy_interval_fit(e->type, a.low, a.high).high == a.high ? below(r, e->a) : none;
    case VYRE_OP_SHR:
        return below(r, e->a);
    case VYRE_OP_REM: /* x % 0 is x */
        left = below(r, e->a);
        if (b.low > 0)
            vy_bounds_add(&r->known, &left, length_in(r, e->b), 0);
        return left;
    case VYRE_OP_DIV:
        return b.low > 0 ? below(r, e->a) : none;
    case VYRE_OP_ADD:
        return b.low < 0 ? none : below_sum(r, e, a, b);
    case VYRE_OP_SUB:
        if (b.low < 0 || b.high > a.low)
            return none;
        left = vy_bounds_lower(below(r, e->a), (uint64_t)b.low);
        if (b.low > 0)
            vy_bounds_add(&r->known, &left, length_in(r, e->a), (uint64_t)b.low - 1);
        return left;
    case VYRE_OP_MUL:
        if (b.low < 0 || !r->known.products.count)
            return none;
        left = below_product(r, e->a, e->b);
        right = below_product(r, e->b, e->a);
        return vy_bounds_both(left, &right);
    case VYRE_OP_SHL:
        if (b.low != b.high || b.low < 0 || b.low >= 32 || !r->known.products.count)
            return none;
        left = below(r, e->a);
        return vy_bounds_times(&r->known, &left, UINT64_C(1) << (unsigned)b.low);
    case VYRE_OP_AND:
    case VYRE_OP_MIN:
        left = below(r, e->a);
        right = b.low >= 0 ? below(r, e->b) : none;
        return vy_bounds_both(left, &right);
    default:
        return none;
    }
}

/* The lengths a value is below for certain: those of a subject, or of something that is not above one or not far above. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH, and through the values of `let`s by effort. */
static vy_bounds below(vy_ranges *r, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[expr];
    if (expr >= r->first_expr && !r->may_bound[expr])
        return (vy_bounds){0};
    uint32_t subject = subject_of(r, expr), value = value_of(r, expr);
    if (subject == VY_NONE)
        return e->kind == VY_EXPR_OP ? below_op(r, e) : (vy_bounds){0};
    vy_bounds known = r->facts[subject].below;
    if (value == expr)
        return known;
    vy_bounds more = below(r, value);
    return vy_bounds_both(known, &more);
}

/* What is less than an expression that is a length, or the least of several things, is below those. Recursion is bounded as that of `below`. */
static void add_lengths(vy_ranges *r, vy_bounds *all, uint32_t expr) {
    const vy_expr *e = &r->program->exprs.items[value_of(r, expr)];
    vy_bounds_add(&r->known, all, length_in(r, expr), 0);
    if (e->kind == VY_EXPR_OP && e->op == VYRE_OP_MIN && vy_is_integer(e->type)) {
        add_lengths(r, all, e->a);
        add_lengths(r, all, e->b);
    }
}

/* The lengths that something less than an expression is below; `less` 0: something that is not more. */
static void add_less(vy_ranges *r, vy_bounds *all, uint32_t expr, int less) {
    if (less)
        add_lengths(r, all, expr);
    vy_bounds more = vy_bounds_lower(below(r, expr), (uint64_t)less);
    *all = vy_bounds_both(*all, &more);
}

/* Whether an expression is less than a length for certain. */
static int is_below_length(vy_ranges *r, uint32_t expr, uint32_t length) {
    r->effort = EFFORT;
    vy_bounds known = length != VY_NONE ? below(r, expr) : (vy_bounds){0};
    return vy_bounds_has(&known, length);
}

/* The least a length can be here. */
static wide shortest(const vy_ranges *r, uint32_t length) {
    uint32_t subject = length_subject(r->program, length);
    return vy_interval_of(subject_type(r->program, subject), r->facts[subject].range).low;
}

static uint8_t is_inside(vy_ranges *r, uint32_t memory, uint32_t index) {
    interval i = at(r, index);
    uint32_t length = vy_length_of(r->program, memory);
    return i.low >= 0 && (i.high < shortest(r, length) || is_below_length(r, index, length));
}

/* The comparison that holds when `op` does not, for integers. */
static vyre_op opposite(vyre_op op) {
    switch (op) {
    case VYRE_OP_EQ:
        return VYRE_OP_NE;
    case VYRE_OP_NE:
        return VYRE_OP_EQ;
    case VYRE_OP_LT:
        return VYRE_OP_GE;
    case VYRE_OP_LE:
        return VYRE_OP_GT;
    case VYRE_OP_GT:
        return VYRE_OP_LE;
    case VYRE_OP_GE:
        return VYRE_OP_LT;
    default:
        return VYRE_OP_COUNT;
    }
}

/* `a op b` for the comparisons that the others are opposites or mirrors of. */
static int is_certain(vy_ranges *r, vyre_op op, uint32_t left, uint32_t right) {
    interval a = at(r, left), b = at(r, right);
    switch (op) {
    case VYRE_OP_LT:
        return a.high < b.low || (a.low >= 0 && is_below_length(r, left, length_in(r, right)));
    case VYRE_OP_LE:
        return a.high <= b.low;
    case VYRE_OP_EQ:
        return a.low == a.high && b.low == b.high && a.low == b.low;
    case VYRE_OP_NE:
        return a.high < b.low || b.high < a.low;
    case VYRE_OP_GT:
        return is_certain(r, VYRE_OP_LT, right, left);
    case VYRE_OP_GE:
        return is_certain(r, VYRE_OP_LE, right, left);
    default:
        return 0;
    }
}

/* Of an op that gives a bool. */
static uint8_t compare(vy_ranges *r, const vy_expr *e) {
    if (opposite((vyre_op)e->op) == VYRE_OP_COUNT || !vy_is_integer(r->program->exprs.items[e->a].type))
        return 0;
    return is_certain(r, (vyre_op)e->op, e->a, e->b) ? 2 : is_certain(r, opposite((vyre_op)e->op), e->a, e->b) ? 1 : 0;
}

/* What starts bounds are facts, and differences and remainders of lengths; other ops pass them on at most. */
static uint8_t may_bound(const vy_ranges *r, const vy_expr *e) {
    if (e->kind == VY_EXPR_VARIABLE)
        return r->facts[e->a].below.count || r->values[e->a] != VY_NONE;
    if (e->kind != VY_EXPR_OP)
        return e->kind != VY_EXPR_LITERAL && e->kind != VY_EXPR_LOAD;
    return e->op == VYRE_OP_SUB || e->op == VYRE_OP_REM || r->may_bound[e->a] ||
           (e->b != VY_NONE && r->may_bound[e->b]) || (e->c != VY_NONE && r->may_bound[e->c]);
}

static void visit_exprs(vy_ranges *r, const vy_stmt *s) {
    const vyre_program *p = r->program;
    uint32_t end = vy_stmt_exprs_end(p, s, r->next_expr);
    r->first_expr = r->next_expr;
    for (; r->next_expr < end; r->next_expr++) {
        const vy_expr *e = &p->exprs.items[r->next_expr];
        r->may_bound[r->next_expr] = may_bound(r, e);
        r->exprs[r->next_expr] = range_expr(r, r->next_expr);
        if (e->kind == VY_EXPR_LOAD && r->asks & VY_ASKS_LOADS)
            r->load_inside[r->next_expr] = is_inside(r, e->a, e->b);
        else if (e->kind == VY_EXPR_OP && e->type == VYRE_TYPE_BOOL && r->asks & VY_ASKS_COMPARISONS)
            r->compared[r->next_expr] = compare(r, e);
    }
}

/* ---- facts ---- */

static void learn(vy_ranges *r, uint32_t subject, fact known) {
    const fact *old = &r->facts[subject];
    if (old->range.low == known.range.low && old->range.high == known.range.high && !old->below.count &&
        !known.below.count)
        return; /* nothing new */
    undo *entry = VY_PUSH(&r->log);
    if (!entry) {
        r->failed = 1;
        return;
    }
    *entry = (undo){subject, r->facts[subject]};
    r->facts[subject] = known;
}

static void forget(vy_ranges *r, uint32_t variable) {
    learn(r, variable, (fact){r->whole[r->program->variables.items[variable].type], {0}});
}

static void undo_to(vy_ranges *r, uint32_t mark) {
    while (r->log.count > mark) {
        const undo *entry = &r->log.items[--r->log.count];
        r->facts[entry->subject] = entry->old;
    }
}

/* Every variable assigned in [first, end) may be anything. */
static void forget_assigned(vy_ranges *r, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !r->failed; i++)
        if (r->program->stmts.items[i].kind == VY_STMT_ASSIGN)
            forget(r, r->program->stmts.items[i].variable);
}

/* Whether an assignment leaves a variable that is not below zero where it is or takes it down, not below zero. */
static int shrinks(const vy_ranges *r, const vy_stmt *s) {
    const vy_expr *exprs = r->program->exprs.items, *e = &exprs[s->a];
    if (e->kind != VY_EXPR_OP || !vy_is_integer(e->type) || exprs[e->a].kind != VY_EXPR_VARIABLE ||
        exprs[e->a].a != s->variable)
        return 0;
    return e->op == VYRE_OP_SHR || e->op == VYRE_OP_AND ||
           (e->op == VYRE_OP_DIV && exprs[e->b].kind == VY_EXPR_LITERAL &&
            vy_integer_of(exprs[e->b].type, exprs[e->b].bits) > 0);
}

/* At the head of a loop, and behind it: every variable assigned in its body may be anything, or, where it is only ever halved and the like, anything
 * from zero to what it was. */
static void forget_in_loop(vy_ranges *r, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = r->program->stmts.items;
    for (uint32_t i = first; i < end && !r->failed; i++)
        if (stmts[i].kind == VY_STMT_ASSIGN && !shrinks(r, &stmts[i]))
            forget(r, stmts[i].variable);
    for (uint32_t i = first; i < end && !r->failed; i++) {
        if (stmts[i].kind != VY_STMT_ASSIGN || !shrinks(r, &stmts[i]))
            continue;
        fact known = r->facts[stmts[i].variable];
        interval mine = vy_interval_of(r->program->variables.items[stmts[i].variable].type, known.range);
        if (mine.low < 0) {
            forget(r, stmts[i].variable);
        } else if (mine.low > 0) {
            known.range = vy_interval_pack((interval){0, mine.high});
            learn(r, stmts[i].variable, known);
        }
    }
}

/* ---- conditions ---- */

/* `left op right` holds: what follows for a subject on the left. */
static void assume_side(vy_ranges *r, vyre_op op, uint32_t left, uint32_t right) {
    uint32_t subject = subject_of(r, left);
    if (subject == VY_NONE)
        return;
    fact known = r->facts[subject];
    interval mine = vy_interval_of(r->program->exprs.items[left].type, known.range), other = at(r, right);
    switch (op) {
    case VYRE_OP_EQ:
        mine = (interval){vy_most(mine.low, other.low), vy_least(mine.high, other.high)};
        break;
    case VYRE_OP_NE: /* an end of it */
        mine.low += other.low == other.high && other.low == mine.low;
        mine.high -= other.low == other.high && other.low == mine.high;
        break;
    case VYRE_OP_LT:
        mine.high = vy_least(mine.high, other.high - 1);
        add_less(r, &known.below, right, 1);
        break;
    case VYRE_OP_LE:
        mine.high = vy_least(mine.high, other.high);
        add_less(r, &known.below, right, !r->rules->length_is_outside);
        break;
    case VYRE_OP_GT:
        mine.low = vy_most(mine.low, other.low + 1);
        break;
    case VYRE_OP_GE:
        mine.low = vy_most(mine.low, other.low);
        break;
    default:
        return;
    }
    if (mine.low <= mine.high) /* else nobody comes here */
        known.range = vy_interval_pack(mine);
    learn(r, subject, known);
}

/* `a + b op right` holds, and the sum does not wrap: what follows for a subject a. */
static void assume_sum(vy_ranges *r, vyre_op op, uint32_t sum, uint32_t right) {
    const vy_expr *e = &r->program->exprs.items[value_of(r, sum)];
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_ADD || (op != VYRE_OP_LT && op != VYRE_OP_LE))
        return;
    const uint32_t sides[3] = {e->a, e->b, e->a};
    for (int i = 0; i < 2; i++) {
        uint32_t subject = subject_of(r, sides[i]);
        if (subject == VY_NONE)
            continue;
        fact known = r->facts[subject];
        interval mine = vy_interval_of(e->type, known.range), b = at(r, sides[i + 1]);
        wide margin = b.low - (op == VYRE_OP_LE);
        if (mine.low < 0 || b.low < 0 || margin < 0 || mine.high + b.high > vy_interval_whole(e->type).high)
            continue;
        vy_bounds_add(&r->known, &known.below, length_in(r, right), (uint64_t)margin);
        mine.high = vy_least(mine.high, at(r, right).high - margin - 1);
        if (mine.low <= mine.high) /* else nobody comes here */
            known.range = vy_interval_pack(mine);
        learn(r, subject, known);
    }
}

/* `n - v op least` holds: what follows for the variable v, if it is known not to be above n. Then v + least is not above it either. */
static void assume_distance(vy_ranges *r, vyre_op op, uint32_t distance, uint32_t shortest) {
    const vy_expr *e = &r->program->exprs.items[distance];
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_SUB || (op != VYRE_OP_GE && op != VYRE_OP_GT))
        return;
    uint32_t subject = subject_of(r, e->b), length = length_in(r, e->a);
    if (subject == VY_NONE)
        return;
    fact known = r->facts[subject];
    interval mine = vy_interval_of(e->type, known.range), n = at(r, e->a);
    wide least_distance = at(r, shortest).low + (op == VYRE_OP_GT);
    if (mine.low < 0 || least_distance < 1 || (mine.high > n.low && !vy_bounds_has(&known.below, length)))
        return;
    vy_bounds_add(&r->known, &known.below, length, (uint64_t)vy_least(least_distance - 1, UINT32_MAX));
    mine.high = vy_least(mine.high, n.high - least_distance);
    if (mine.low <= mine.high) /* else nobody comes here */
        known.range = vy_interval_pack(mine);
    learn(r, subject, known);
}

/* The condition at `expr` is `holds`. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH, and through the values of `let`s by effort. */
static void assume_value(vy_ranges *r, uint32_t expr, int holds) {
    uint32_t value = value_of(r, expr);
    const vy_expr *e = &r->program->exprs.items[value];
    if (value != expr) {
        assume_value(r, value, holds);
        return;
    }
    if (e->kind != VY_EXPR_OP || r->failed)
        return;
    vyre_op op = (vyre_op)e->op;
    if (op == VYRE_OP_LNOT) {
        assume_value(r, e->a, !holds);
    } else if (op == (holds ? VYRE_OP_LAND : VYRE_OP_LOR)) {
        assume_value(r, e->a, holds);
        assume_value(r, e->b, holds);
    } else if (opposite(op) != VYRE_OP_COUNT && vy_is_integer(r->program->exprs.items[e->a].type)) {
        op = holds ? op : opposite(op);
        assume_side(r, op, e->a, e->b);
        assume_side(r, vy_op_mirrored(op), e->b, e->a);
        assume_sum(r, op, e->a, e->b);
        assume_sum(r, vy_op_mirrored(op), e->b, e->a);
        assume_distance(r, op, e->a, e->b);
        assume_distance(r, vy_op_mirrored(op), e->b, e->a);
    }
}

static void assume(vy_ranges *r, uint32_t expr, int holds) {
    r->effort = EFFORT;
    r->first_expr = VY_NONE; /* what one part of a condition says may bound another */
    assume_value(r, expr, holds);
}

/* ---- statements ---- */

static void visit_block(vy_ranges *r, uint32_t first, uint32_t end);

/* Whether a block ends in a jump or trap, so that nobody comes out at its end. */
static int does_not_end(const vyre_program *p, uint32_t first, uint32_t end) {
    uint8_t last = VY_STMT_KIND_COUNT;
    for (uint32_t i = first; i < end; i = p->stmts.items[i].end)
        last = p->stmts.items[i].kind;
    return last == VY_STMT_BREAK || last == VY_STMT_CONTINUE || last == VY_STMT_RETURN || last == VY_STMT_TRAP;
}

/* Where the first branch does not come back, what holds at the end of the second holds behind. */
static void visit_if(vy_ranges *r, uint32_t index, const vy_stmt *s) {
    uint32_t mark = r->log.count;
    assume(r, s->a, 1);
    visit_block(r, index + 1, s->middle);
    undo_to(r, mark);
    assume(r, s->a, !r->rules->else_is_opposite);
    visit_block(r, s->middle, s->end);
    if (does_not_end(r->program, index + 1, s->middle))
        return;
    undo_to(r, mark);
    forget_assigned(r, index + 1, s->end);
}

/* a, a + c, … while below b, or above it if c is negative. */
static void enter_for(vy_ranges *r, const vy_stmt *s) {
    uint8_t type = r->program->variables.items[s->variable].type;
    interval from = at(r, s->a), to = at(r, s->b), step = s->c == VY_NONE ? (interval){1, 1} : at(r, s->c);
    interval up = {from.low, to.high - (r->rules->last_value_counts ? 1 : 2)}, down = {to.low + 1, from.high};
    interval trips = step.low >= 0 ? up : step.high <= 0 ? down : vy_interval_hull(up, down);
    fact known = {vy_interval_pack(vy_interval_fit(type, trips.low, trips.high)), {0}};
    r->effort = EFFORT;
    if (step.low >= 0)
        add_less(r, &known.below, s->b, 1);
    learn(r, s->variable, known);
}

static void visit_loop(vy_ranges *r, uint32_t index, const vy_stmt *s) {
    uint32_t mark = r->log.count;
    if (s->kind == VY_STMT_FOR)
        enter_for(r, s); /* bounds are evaluated before the first trip */
    forget_in_loop(r, index + 1, s->end);
    if (s->kind == VY_STMT_WHILE) {
        visit_exprs(r, s);
        assume(r, s->a, 1);
    }
    visit_block(r, index + 1, s->end);
    undo_to(r, mark);
    forget_in_loop(r, index + 1, s->end);
}

/* Whether an expression gives the same wherever it could be computed again. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static int is_fixed(const vyre_program *p, uint32_t expr) {
    if (expr == VY_NONE)
        return 1;
    const vy_expr *e = &p->exprs.items[expr];
    if (e->kind == VY_EXPR_VARIABLE)
        return !p->variables.items[e->a].is_mutable;
    if (e->kind == VY_EXPR_OP)
        return is_fixed(p, e->a) && is_fixed(p, e->b) && is_fixed(p, e->c);
    return e->kind != VY_EXPR_LOAD;
}

static void give(vy_ranges *r, const vy_stmt *s) {
    r->effort = EFFORT;
    fact known = {r->exprs[s->a], below(r, s->a)};
    if (s->kind == VY_STMT_LET) {
        r->lengths[s->variable] = length_in(r, s->a);
        r->values[s->variable] = is_fixed(r->program, s->a) ? s->a : VY_NONE;
    }
    learn(r, s->variable, known);
}

static void visit_stmt(vy_ranges *r, uint32_t index) {
    const vy_stmt *s = &r->program->stmts.items[index];
    if (s->kind != VY_STMT_WHILE)
        visit_exprs(r, s);
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_ASSIGN:
        give(r, s);
        break;
    case VY_STMT_STORE:
    case VY_STMT_ATOMIC:
        if (r->asks & VY_ASKS_STORES)
            r->stmt_inside[index] = is_inside(r, s->memory, s->a);
        break;
    case VY_STMT_IF:
        visit_if(r, index, s);
        break;
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        visit_loop(r, index, s);
        break;
    case VY_STMT_REGION:
        visit_block(r, index + 1, s->end);
        break;
    default:
        break;
    }
}

static void visit_block(vy_ranges *r, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !r->failed; i = r->program->stmts.items[i].end)
        visit_stmt(r, i);
}

/* ---- making ---- */

static int prepare(vy_ranges *r) {
    const vyre_program *p = r->program;
    size_t exprs = p->exprs.count + 1u, stmts = p->stmts.count + 1u, variables = p->variables.count + 1u,
           subjects = builtin_subject(p, VYRE_BUILTIN_COUNT, 0) + p->memories.count;
    r->size = vy_array_size(exprs * (sizeof *r->exprs + 3) + subjects * sizeof *r->facts +
                                variables * (sizeof *r->lengths + sizeof *r->values) + stmts,
                            1);
    r->exprs = vy_allocate(r->size);
    if (!r->exprs || !vy_lengths_make(&r->known, p))
        return 0;
    r->facts = (fact *)(r->exprs + exprs);
    memset(r->facts, 0, r->size - exprs * sizeof *r->exprs);
    r->lengths = (uint32_t *)(r->facts + subjects);
    r->values = r->lengths + variables;
    r->load_inside = (uint8_t *)(r->values + variables);
    r->compared = r->load_inside + exprs;
    r->may_bound = r->compared + exprs;
    r->stmt_inside = r->may_bound + exprs;
    for (uint8_t i = 0; i < VYRE_TYPE_COUNT; i++)
        r->whole[i] = vy_interval_pack(vy_interval_whole(i));
    for (uint32_t i = 0; i < p->variables.count; i++) {
        r->facts[i].range = r->whole[p->variables.items[i].type];
        r->lengths[i] = r->values[i] = VY_NONE;
    }
    for (uint32_t i = 0; i < VYRE_BUILTIN_COUNT * 3; i++)
        r->facts[builtin_subject(p, 0, i)] = (fact){vy_interval_pack(range_builtin(p, i / 3, i % 3)), {0}};
    for (uint32_t i = 0; i < p->memories.count; i++)
        r->facts[length_subject(p, i)] = (fact){vy_interval_pack(range_len(p, i)), {0}};
    const vy_function *entry = vy_program_entry(p);
    for (uint32_t i = 0; entry && i < p->param_count; i++)
        r->lengths[entry->first_variable + i] = p->memories.count + entry->first_variable + i;
    for (uint32_t i = 0; i < p->exprs.count; i++)
        r->exprs[i] = r->whole[p->exprs.items[i].type];
    return 1;
}

vyre_status vy_ranges_make(const vyre_program *program, vy_ranges **out, vyre_error *error) {
    return vy_ranges_make_by(program, &vy_rules_sound, VY_ASKS_ALL, out, error);
}

vyre_status vy_ranges_make_by(const vyre_program *program, const vy_rules *rules, unsigned asks, vy_ranges **out,
                              vyre_error *error) {
    vy_ranges *r = vy_allocate_zero(sizeof *r);
    *out = NULL;
    if (!r)
        return vy_fail_memory(error, "ranges");
    r->program = program;
    r->rules = rules;
    r->asks = asks;
    r->failed = !prepare(r);
    for (uint32_t i = 0; i < program->functions.count && !r->failed; i++) {
        visit_block(r, program->functions.items[i].first_stmt, program->functions.items[i].end_stmt);
        undo_to(r, 0); /* of builtins, which all functions share */
    }
    VY_VECTOR_FREE(&r->log);
    vy_lengths_free(&r->known);
    if (r->failed) {
        vy_ranges_free(r);
        return vy_fail_memory(error, "ranges");
    }
    *out = r;
    return VYRE_OK;
}

void vy_ranges_free(vy_ranges *r) {
    if (!r)
        return;
    vy_release(r->exprs, r->size);
    vy_release(r, sizeof *r);
}

vy_range vy_range_of(const vy_ranges *r, uint32_t expr) {
    return r->exprs[expr];
}

int vy_comparison_is(const vy_ranges *r, uint32_t expr) {
    return (int)r->compared[expr] - 1;
}

int vy_load_is_inside(const vy_ranges *r, uint32_t expr) {
    return r->load_inside[expr];
}

int vy_stmt_is_inside(const vy_ranges *r, uint32_t stmt) {
    return r->stmt_inside[stmt];
}
