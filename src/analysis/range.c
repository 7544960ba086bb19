/* Ranges (range.h): the walk over statements, and what is asked. What must stay true: expressions are visited in their order, each with what is
 * known where its statement stands. */
#include "analysis/range.h"

#include "analysis/range_conditions.h"
#include "analysis/range_symbolic.h"
#include "analysis/range_transfer.h"
#include "base/status.h"

typedef vy_interval interval;

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
    r->places++;
    vy_facts_assume(r, s->a, 1);
    visit_block(r, index + 1, s->middle);
    vy_facts_undo_to(r, mark);
    vy_facts_assume(r, s->a, !r->rules->else_is_opposite);
    visit_block(r, s->middle, s->end);
    r->places--;
    if (does_not_end(r->program, index + 1, s->middle))
        return;
    vy_facts_undo_to(r, mark);
    vy_facts_forget_assigned(r, index + 1, s->end);
}

/* a, a + c, … while below b, or above it if c is negative. */
static void enter_for(vy_ranges *r, const vy_stmt *s) {
    uint8_t type = r->program->variables.items[s->variable].type;
    interval from = vy_interval_at(r, s->a), to = vy_interval_at(r, s->b),
             step = s->c == VY_NONE ? (interval){1, 1} : vy_interval_at(r, s->c);
    interval up = {from.low, to.high - (r->rules->last_value_counts ? 1 : 2)}, down = {to.low + 1, from.high};
    interval trips = step.low >= 0 ? up : step.high <= 0 ? down : vy_interval_hull(up, down);
    vy_fact known = {vy_interval_pack(vy_interval_fit(type, trips.low, trips.high)), {0}};
    r->effort = VY_RANGE_EFFORT;
    if (step.low >= 0)
        vy_symbolic_bounds_add_less(r, &known.below, s->b, 1);
    vy_fact_learn(r, s->variable, &known);
}

static void visit_loop(vy_ranges *r, uint32_t index, const vy_stmt *s) {
    uint32_t mark = r->log.count;
    r->places++;
    if (s->kind == VY_STMT_FOR)
        enter_for(r, s); /* bounds are evaluated before the first trip */
    vy_facts_forget_in_loop(r, index + 1, s->end);
    if (s->kind == VY_STMT_WHILE) {
        vy_ranges_visit_exprs(r, s);
        vy_facts_assume(r, s->a, 1);
    }
    visit_block(r, index + 1, s->end);
    vy_facts_undo_to(r, mark);
    r->places--;
    vy_facts_forget_in_loop(r, index + 1, s->end);
}

/* What is learned here is of no value that was visited before: those have other variables, which are never assigned. */
static void give(vy_ranges *r, const vy_stmt *s) {
    vy_symbolic_bounds below = {0};
    uint32_t learned = r->learned;
    r->effort = VY_RANGE_EFFORT;
    if (r->may_bound[s->a]) /* its statement was just visited */
        below = vy_symbolic_bounds_of(r, s->a);
    if (s->kind == VY_STMT_LET) {
        r->lengths[s->variable] = vy_length_in(r, s->a);
        r->values[s->variable] = vy_expr_is_invariant(r->program, s->a) ? s->a : VY_NONE;
        r->given[s->variable] = (vy_given){learned, r->effort ? VY_RANGE_EFFORT - r->effort : VY_RANGE_EFFORT + 1u};
    }
    if (below.count)
        vy_fact_learn(r, s->variable, &(vy_fact){r->exprs[s->a], below});
    else
        vy_fact_learn_range(r, s->variable, r->exprs[s->a]);
    r->learned = learned;
}

static void visit_stmt(vy_ranges *r, uint32_t index) {
    const vy_stmt *s = &r->program->stmts.items[index];
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
    for (uint32_t i = first; i < end && !r->failed; i = r->program->stmts.items[i].end)
        visit_stmt(r, i);
}

/* ---- making ---- */

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
    memset(r->below, 0, (size_t)(r->may_bound - (uint8_t *)r->below)); /* the others are written before they are read */
    for (uint8_t i = 0; i < VYRE_TYPE_COUNT; i++)
        r->whole[i] = vy_interval_pack(vy_interval_whole(i));
    vy_facts_start(r);
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
        vy_facts_undo_to(r, 0); /* of builtins, which all functions share */
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
