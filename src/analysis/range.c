/* Range analysis (range.h): a forward walk over the statements that keeps facts about variables, builtins and lengths.
 *
 * Invariant: expressions are visited in order, each with the facts known at its statement. A fact about a
 * variable is dropped when the variable is assigned. No fact outlives the block in which its condition holds: every
 * change is logged and undone on leaving the block. */
#include "analysis/range.h"

#include "analysis/control_flow.h"
#include "analysis/range_transfer.h"
#include "base/status.h"
#include "ir/walk.h"

/* ---- facts ---- */

typedef vy_wide wide;
typedef vy_interval interval;

/* ---- initial facts ---- */

/* A dispatch has at most 2^32 - 1 invocations along a dimension (ir/dispatch_resolve.c). */
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

/* The facts before the first statement. Requires r->whole. */
static void facts_start(vy_ranges *r) {
    const vyre_program *p = r->program;
    for (uint32_t i = 0; i < p->variables.count; i++) {
        r->ranges[i] = r->whole[vy_variable_at(p, i)->type];
        r->lengths[i] = r->values[i] = VY_NONE;
    }
    for (uint32_t i = 0; i < VYRE_BUILTIN_COUNT * 3; i++)
        r->ranges[vy_builtin_subject(p, 0, i)] = vy_interval_pack(range_builtin(p, i / 3, i % 3));
    for (uint32_t i = 0; i < p->memories.count; i++)
        r->ranges[vy_length_subject(p, i)] = vy_interval_pack(vy_fact_of_length(p, i));
    const vy_function *entry = vy_program_entry(p);
    for (uint32_t i = 0; entry && i < p->param_count; i++)
        r->lengths[entry->first_variable + i] = p->memories.count + entry->first_variable + i;
}

/* ---- adding and dropping facts ---- */

/* A variable belongs to one function, so its facts outside of all undone scopes need not be logged. */
static void set_fact(vy_ranges *r, uint32_t subject, vy_range range, uint32_t below) {
    if (r->places || subject >= r->program->variables.count) {
        if (!VY_RESERVE(&r->log, 1)) {
            r->failed = 1;
            return;
        }
        r->log.items[r->log.count++] = (vy_fact_undo){subject, r->below[subject], r->ranges[subject]};
    }
    r->ranges[subject] = range;
    r->below[subject] = below;
    r->learned++;
}

/* Sets the interval of a subject without symbolic bounds. */
static void fact_learn_range(vy_ranges *r, uint32_t subject, vy_range range) {
    const vy_range *old = &r->ranges[subject];
    if (old->low != range.low || old->high != range.high || r->below[subject]) /* otherwise nothing changes */
        set_fact(r, subject, range, 0);
}

/* Sets the fact of a subject from here on. May set r->failed. */
static void fact_learn(vy_ranges *r, uint32_t subject, const vy_fact *known) {
    if (!known->below.count) {
        fact_learn_range(r, subject, known->range);
        return;
    }
    if (!VY_RESERVE(&r->bounds, 1)) {
        r->failed = 1;
        return;
    }
    r->bounds.items[r->bounds.count++] = known->below;
    set_fact(r, subject, known->range, r->bounds.count);
}

/* Drops all facts of a variable. */
static void fact_forget(vy_ranges *r, uint32_t variable) {
    fact_learn_range(r, variable, r->whole[vy_variable_at(r->program, variable)->type]);
}

/* Undoes all changes since the log had the length `mark`. */
static void facts_undo_to(vy_ranges *r, uint32_t mark) {
    r->learned += r->log.count > mark;
    while (r->log.count > mark) {
        const vy_fact_undo *entry = &r->log.items[--r->log.count];
        r->ranges[entry->subject] = entry->range;
        r->below[entry->subject] = entry->below;
    }
}

/* ---- assignments ---- */

/* Drops the facts of every variable assigned in [first, end). */
static void facts_forget_assigned(vy_ranges *r, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !r->failed; i++)
        if (vy_stmt_at(r->program, i)->kind == VY_STMT_ASSIGN)
            fact_forget(r, vy_stmt_at(r->program, i)->variable);
}

/* Whether an assignment cannot increase a non-negative variable, and keeps it non-negative. */
static int shrinks(const vy_ranges *r, const vy_stmt *s) {
    const vy_expr *exprs = r->program->exprs.items, *e = &exprs[s->a];
    if (e->kind != VY_EXPR_OP || !vy_is_integer(e->type) || exprs[e->a].kind != VY_EXPR_VARIABLE ||
        exprs[e->a].a != s->variable)
        return 0;
    return e->op == VYRE_OP_SHR || e->op == VYRE_OP_AND ||
           (e->op == VYRE_OP_DIV && exprs[e->b].kind == VY_EXPR_LITERAL &&
            vy_integer_of(exprs[e->b].type, exprs[e->b].bits) > 0);
}

/* At the head of a loop with that body, and after the loop: drops the facts of every variable assigned there. A
 * variable that is only shifted right, masked or divided keeps its upper bound if it is non-negative. */
static void facts_forget_in_loop(vy_ranges *r, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = r->program->stmts.items;
    int any_shrinks = 0;
    for (uint32_t i = first; i < end && !r->failed; i++) {
        if (stmts[i].kind != VY_STMT_ASSIGN)
            continue;
        if (shrinks(r, &stmts[i]))
            any_shrinks = 1;
        else
            fact_forget(r, stmts[i].variable);
    }
    for (uint32_t i = first; i < end && any_shrinks && !r->failed; i++) {
        if (stmts[i].kind != VY_STMT_ASSIGN || !shrinks(r, &stmts[i]))
            continue;
        vy_fact known = vy_fact_at(r, stmts[i].variable);
        interval mine = vy_interval_of(vy_variable_at(r->program, stmts[i].variable)->type, known.range);
        if (mine.low < 0) {
            fact_forget(r, stmts[i].variable);
        } else if (mine.low > 0) {
            known.range = vy_interval_pack((interval){0, mine.high});
            fact_learn(r, stmts[i].variable, &known);
        }
    }
}

/* ---- conditions: the facts implied by a condition that is known to hold, or not to hold ---- Only consequences in
 * mathematical integers are used, so a sum or a difference that might wrap implies nothing. If a condition cannot
 * hold, the facts are unchanged, since the code is unreachable. */

/* `left op right` holds: narrows the subject on the left. */
static void assume_side(vy_ranges *r, vyre_op op, uint32_t left, uint32_t right) {
    uint32_t subject = vy_subject_of(r, vy_expr_at(r->program, left));
    if (subject == VY_NONE)
        return;
    vy_fact known = vy_fact_at(r, subject);
    interval mine = vy_interval_of(vy_expr_at(r->program, left)->type, known.range), other = vy_interval_at(r, right);
    switch (op) {
    case VYRE_OP_EQ:
        mine = (interval){vy_wide_max(mine.low, other.low), vy_wide_min(mine.high, other.high)};
        break;
    case VYRE_OP_NE: /* narrows only if `right` is an end of the interval */
        mine.low += other.low == other.high && other.low == mine.low;
        mine.high -= other.low == other.high && other.low == mine.high;
        break;
    case VYRE_OP_LT:
        mine.high = vy_wide_min(mine.high, other.high - 1);
        vy_symbolic_bounds_add_less(r, &known.below, right, 1);
        break;
    case VYRE_OP_LE:
        mine.high = vy_wide_min(mine.high, other.high);
        vy_symbolic_bounds_add_less(r, &known.below, right, !r->rules->length_is_outside);
        break;
    case VYRE_OP_GT:
        mine.low = vy_wide_max(mine.low, other.low + 1);
        break;
    case VYRE_OP_GE:
        mine.low = vy_wide_max(mine.low, other.low);
        break;
    default:
        return;
    }
    if (mine.low <= mine.high) /* otherwise unreachable */
        known.range = vy_interval_pack(mine);
    fact_learn(r, subject, &known);
}

/* `a + b op right` holds and the sum does not wrap: narrows the subject a. */
static void assume_sum(vy_ranges *r, vyre_op op, uint32_t sum, uint32_t right) {
    const vy_expr *e = vy_expr_at(r->program, vy_let_value(r, sum));
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_ADD || (op != VYRE_OP_LT && op != VYRE_OP_LE))
        return;
    const uint32_t sides[3] = {e->a, e->b, e->a};
    for (int i = 0; i < 2; i++) {
        uint32_t subject = vy_subject_of(r, vy_expr_at(r->program, sides[i]));
        if (subject == VY_NONE)
            continue;
        vy_fact known = vy_fact_at(r, subject);
        interval mine = vy_interval_of(e->type, known.range), b = vy_interval_at(r, sides[i + 1]);
        wide margin = b.low - (op == VYRE_OP_LE);
        if (mine.low < 0 || b.low < 0 || margin < 0 || mine.high + b.high > vy_interval_whole(e->type).high)
            continue;
        vy_symbolic_bounds_add(&r->known, &known.below, vy_length_in(r, right), (uint64_t)margin);
        mine.high = vy_wide_min(mine.high, vy_interval_at(r, right).high - margin - 1);
        if (mine.low <= mine.high) /* otherwise unreachable */
            known.range = vy_interval_pack(mine);
        fact_learn(r, subject, &known);
    }
}

/* `n - v op least` holds: narrows the variable v if v <= n is known. Then v + least <= n as well. */
static void assume_distance(vy_ranges *r, vyre_op op, uint32_t distance, uint32_t shortest) {
    const vy_expr *e = vy_expr_at(r->program, distance);
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_SUB || (op != VYRE_OP_GE && op != VYRE_OP_GT))
        return;
    uint32_t subject = vy_subject_of(r, vy_expr_at(r->program, e->b)), length = vy_length_in(r, e->a);
    if (subject == VY_NONE)
        return;
    vy_fact known = vy_fact_at(r, subject);
    interval mine = vy_interval_of(e->type, known.range), n = vy_interval_at(r, e->a);
    wide least_distance = vy_interval_at(r, shortest).low + (op == VYRE_OP_GT);
    if (mine.low < 0 || least_distance < 1 || (mine.high > n.low && !vy_symbolic_bounds_has(&known.below, length)))
        return;
    vy_symbolic_bounds_add(&r->known, &known.below, length, (uint64_t)vy_wide_min(least_distance - 1, UINT32_MAX));
    mine.high = vy_wide_min(mine.high, n.high - least_distance);
    if (mine.low <= mine.high) /* otherwise unreachable */
        known.range = vy_interval_pack(mine);
    fact_learn(r, subject, &known);
}

static void assume_value(vy_ranges *r, uint32_t expr, int holds);

/* Each operand of a logical op equals `holds`. Recursion is bounded by VY_RANGE_DEPTH. */
static void assume_operands(vy_ranges *r, const vy_expr *e, int holds) {
    if (r->depth == VY_RANGE_DEPTH)
        return;
    r->depth++;
    assume_value(r, e->a, holds);
    if (e->b != VY_NONE)
        assume_value(r, e->b, holds);
    r->depth--;
}

/* The condition at `expr` equals `holds`. */
static void assume_value(vy_ranges *r, uint32_t expr, int holds) {
    uint32_t value = expr, next;
    while ((next = vy_let_value(r, value)) != value)
        value = next;
    const vy_expr *e = vy_expr_at(r->program, value);
    if (e->kind != VY_EXPR_OP || r->failed)
        return;
    vyre_op op = (vyre_op)e->op;
    if (op == VYRE_OP_LNOT) {
        assume_operands(r, e, !holds);
    } else if (op == (holds ? VYRE_OP_LAND : VYRE_OP_LOR)) {
        assume_operands(r, e, holds);
    } else if (vy_op_opposite(op) != VYRE_OP_COUNT && vy_is_integer(vy_expr_at(r->program, e->a)->type)) {
        op = holds ? op : vy_op_opposite(op);
        assume_side(r, op, e->a, e->b);
        assume_side(r, vy_op_mirrored(op), e->b, e->a);
        assume_sum(r, op, e->a, e->b);
        assume_sum(r, vy_op_mirrored(op), e->b, e->a);
        assume_distance(r, op, e->a, e->b);
        assume_distance(r, vy_op_mirrored(op), e->b, e->a);
    }
}

/* Assumes that the visited condition at `expr` equals `holds`, until that is undone. */
static void facts_assume(vy_ranges *r, uint32_t expr, int holds) {
    r->effort = VY_RANGE_EFFORT;
    r->first_expr = VY_NONE; /* the facts of one part of a condition may bound another part */
    assume_value(r, expr, holds);
}

/* ---- statements ---- */

static void visit_block(vy_ranges *r, uint32_t first, uint32_t end);

/* If the first branch does not fall through, the facts at the end of the second branch hold after the `if`. */
static void visit_if(vy_ranges *r, uint32_t index, const vy_stmt *s) {
    uint32_t mark = r->log.count;
    r->places++;
    facts_assume(r, s->a, 1);
    visit_block(r, index + 1, s->middle);
    facts_undo_to(r, mark);
    facts_assume(r, s->a, !r->rules->else_is_opposite);
    visit_block(r, s->middle, s->end);
    r->places--;
    if (!vy_block_falls_through(r->program, index + 1, s->middle))
        return;
    facts_undo_to(r, mark);
    facts_forget_assigned(r, index + 1, s->end);
}

/* The values a, a + c, … below b, or above b if c is negative. */
static void enter_for(vy_ranges *r, const vy_stmt *s) {
    uint8_t type = vy_variable_at(r->program, s->variable)->type;
    interval from = vy_interval_at(r, s->a), to = vy_interval_at(r, s->b),
             step = s->c == VY_NONE ? (interval){1, 1} : vy_interval_at(r, s->c);
    interval up = {from.low, to.high - (r->rules->last_value_counts ? 1 : 2)}, down = {to.low + 1, from.high};
    interval trips = step.low >= 0 ? up : step.high <= 0 ? down : vy_interval_hull(up, down);
    vy_fact known = {vy_interval_pack(vy_interval_fit(type, trips.low, trips.high)), {0}};
    r->effort = VY_RANGE_EFFORT;
    if (step.low >= 0)
        vy_symbolic_bounds_add_less(r, &known.below, s->b, 1);
    fact_learn(r, s->variable, &known);
}

static void visit_loop(vy_ranges *r, uint32_t index, const vy_stmt *s) {
    uint32_t mark = r->log.count;
    r->places++;
    if (s->kind == VY_STMT_FOR)
        enter_for(r, s); /* the bounds are evaluated before the first iteration */
    facts_forget_in_loop(r, index + 1, s->end);
    if (s->kind == VY_STMT_WHILE) {
        vy_ranges_visit_exprs(r, s);
        facts_assume(r, s->a, 1);
    }
    visit_block(r, index + 1, s->end);
    facts_undo_to(r, mark);
    r->places--;
    facts_forget_in_loop(r, index + 1, s->end);
}

/* Records the value of a variable. The new facts do not affect visited expressions: those read other variables,
 * which are immutable. */
static void give(vy_ranges *r, const vy_stmt *s) {
    vy_symbolic_bounds below = {0};
    uint32_t learned = r->learned;
    r->effort = VY_RANGE_EFFORT;
    if (r->may_bound[s->a]) /* valid because its statement was visited last */
        below = vy_symbolic_bounds_of(r, s->a);
    if (s->kind == VY_STMT_LET) {
        r->lengths[s->variable] = vy_length_in(r, s->a);
        r->values[s->variable] = vy_expr_is_invariant(r->program, s->a) ? s->a : VY_NONE;
        r->given[s->variable] = (vy_given){learned, r->effort ? VY_RANGE_EFFORT - r->effort : VY_RANGE_EFFORT + 1u};
    }
    if (below.count)
        fact_learn(r, s->variable, &(vy_fact){r->exprs[s->a], below});
    else
        fact_learn_range(r, s->variable, r->exprs[s->a]);
    r->learned = learned;
}

static void visit_stmt(vy_ranges *r, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(r->program, index);
    if (s->kind != VY_STMT_WHILE)
        vy_ranges_visit_exprs(r, s);
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
    case VY_STMT_ASSIGN:
        give(r, s);
        break;
    case VY_STMT_STORE:
    case VY_STMT_ATOMIC:
        if (r->asks & VY_ASKS_STORES)
            r->stmt_inside[index] = vy_index_is_inside(r, s->memory, s->a);
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
    for (uint32_t i = first; i < end && !r->failed; i = vy_stmt_at(r->program, i)->end)
        visit_stmt(r, i);
}

/* ---- the analysis ---- */

static int prepare(vy_ranges *r) {
    const vyre_program *p = r->program;
    size_t exprs = p->exprs.count + 1u, stmts = p->stmts.count + 1u, variables = p->variables.count + 1u,
           subjects = vy_subject_count(p);
    r->size = vy_array_size(exprs * (sizeof *r->exprs + 3) + subjects * (sizeof *r->ranges + sizeof *r->below) +
                                variables * (sizeof *r->given + sizeof *r->lengths + sizeof *r->values) + stmts,
                            1);
    r->exprs = vy_allocate(r->size);
    if (!r->exprs || !vy_lengths_make(&r->known, p))
        return 0;
    r->ranges = r->exprs + exprs;
    r->given = (vy_given *)(r->ranges + subjects);
    r->lengths = (uint32_t *)(r->given + variables);
    r->values = r->lengths + variables;
    r->below = r->values + variables;
    r->load_inside = (uint8_t *)(r->below + subjects);
    r->compared = r->load_inside + exprs;
    r->stmt_inside = r->compared + exprs;
    r->may_bound = r->stmt_inside + stmts;
    /* the other arrays are written before they are read */
    memset(r->below, 0, (size_t)(r->may_bound - (uint8_t *)r->below));
    for (uint8_t i = 0; i < VYRE_TYPE_COUNT; i++)
        r->whole[i] = vy_interval_pack(vy_interval_whole(i));
    facts_start(r);
    return 1;
}

const vy_range_rules vy_range_rules_sound = {.last_value_counts = 1, .else_is_opposite = 1, .length_is_outside = 1};

vyre_status vy_ranges_make(const vyre_program *program, vy_ranges **out, vyre_error *error) {
    return vy_ranges_make_by(program, &vy_range_rules_sound, VY_ASKS_ALL, out, error);
}

vyre_status vy_ranges_make_by(const vyre_program *program, const vy_range_rules *rules, unsigned asks, vy_ranges **out,
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
        facts_undo_to(r, 0); /* facts about builtins, which all functions share */
    }
    VY_VECTOR_FREE(&r->log);
    VY_VECTOR_FREE(&r->bounds);
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
