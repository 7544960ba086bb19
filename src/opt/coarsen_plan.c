/* Plan of thread coarsening (coarsen.h): whether a program can be coarsened, whether it pays, and by which factor.
 *
 * Invariant: a start and its limits describe exact arithmetic. With start + offset + factor <= limit and
 * start >= low >= -offset the index start + offset + lane does not wrap, so a fact about the sum modulo 2^32 also
 * holds for the integers. */
#include "opt/coarsen.h"

#include "analysis/control_flow.h"
#include "analysis/range.h"
#include "analysis/trip_count.h"
#include "base/status.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"

/* ---- values: uniform over the lanes, affine in global_id.x, and the comparisons that follow ---- */

enum {
    EARLY = 32,   /* most nodes of a value that is computed at the start */
    NEAR = 1024,  /* offsets up to this distance share one start */
    FUEL = 64,    /* most nodes visited for a sum or a condition, through `let`s */
    FEW = 16,     /* a comparison with a literal up to this selects the first elements */
    SHORTEST = 64 /* shorter memories and literals are not limits: no invocation would reach the fast path */
};

static const vy_expr *at(const vy_coarsen_plan *plan, uint32_t expr) {
    return vy_expr_at(plan->program, expr);
}

/* ---- uniformity over the lanes ---- */

int vy_coarsen_stays_in_group(const vyre_program *program) {
    return program->workgroup[0] % VY_COARSEN_MAX == 0;
}

static int builtin_differs(const vyre_program *p, const vy_expr *e) {
    if (e->op == VYRE_BUILTIN_GROUP_ID)
        return e->axis == 0 && !vy_coarsen_stays_in_group(p);
    return e->op == VYRE_BUILTIN_LOCAL_INDEX ||
           (e->axis == 0 && (e->op == VYRE_BUILTIN_GLOBAL_ID || e->op == VYRE_BUILTIN_LOCAL_ID));
}

static void classify_op(vy_coarsen_plan *plan, uint32_t index, const vy_expr *e) {
    const uint32_t *operands = VY_EXPR_OPERANDS(e);
    unsigned size = 1;
    uint8_t is_shared = 1;
    for (int i = 0; i < 3 && operands[i] != VY_NONE; i++) {
        is_shared &= plan->is_shared[operands[i]];
        size = size && plan->early[operands[i]] ? size + plan->early[operands[i]] : 0;
    }
    plan->is_shared[index] = is_shared;
    plan->early[index] = size <= EARLY ? (uint8_t)size : 0;
}

static void classify_expr(vy_coarsen_plan *plan, uint32_t index) {
    const vy_expr *e = at(plan, index);
    uint32_t definition = e->kind == VY_EXPR_VARIABLE ? vy_let_value(&plan->uses, e->a) : VY_NONE;
    plan->is_shared[index] = plan->early[index] = 1;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        plan->is_shared[index] = plan->var_shared[e->a];
        plan->early[index] = definition != VY_NONE ? plan->early[definition]
                                                   : e->a - plan->entry->first_variable < plan->program->param_count;
        break;
    case VY_EXPR_BUILTIN:
        plan->is_shared[index] = plan->early[index] = !builtin_differs(plan->program, e);
        break;
    case VY_EXPR_LOAD:
        plan->is_shared[index] = plan->is_shared[e->b] && !vy_memory_is_shared(plan->program, e->a);
        plan->early[index] = 0;
        break;
    case VY_EXPR_OP:
        classify_op(plan, index, e);
        break;
    default:
        break;
    }
}

static void coarsen_classify(vy_coarsen_plan *plan) {
    const vyre_program *p = plan->program;
    for (uint32_t i = 0; i < p->variables.count; i++)
        plan->var_shared[i] = i - plan->entry->first_variable < p->param_count;
    for (uint32_t i = plan->entry->first_stmt; i < plan->entry->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        for (uint32_t expr = plan->uses.first_expr[i]; expr < plan->uses.first_expr[i + 1]; expr++)
            classify_expr(plan, expr);
        if (s->kind == VY_STMT_LET)
            plan->var_shared[s->variable] = plan->is_shared[s->a];
        else if (s->kind == VY_STMT_FOR)
            plan->var_shared[s->variable] =
                plan->is_shared[s->a] && plan->is_shared[s->b] && (s->c == VY_NONE || plan->is_shared[s->c]);
    }
}

/* ---- sums ---- */

/* Whether the op is group_id.x times the workgroup size. */
static int is_group_start(const vy_coarsen_plan *plan, const vy_expr *e) {
    uint32_t size = plan->program->workgroup[0];
    if (e->op != VYRE_OP_MUL && e->op != VYRE_OP_SHL)
        return 0;
    const vy_expr *group = at(plan, e->a), *by = at(plan, e->b);
    if (e->op == VYRE_OP_MUL && by->kind == VY_EXPR_BUILTIN && by->op == VYRE_BUILTIN_GROUP_ID) {
        group = by;
        by = at(plan, e->a);
    }
    if (group->kind != VY_EXPR_BUILTIN || group->op != VYRE_BUILTIN_GROUP_ID || group->axis != 0)
        return 0;
    if (by->kind == VY_EXPR_BUILTIN)
        return e->op == VYRE_OP_MUL && by->op == VYRE_BUILTIN_WORKGROUP_SIZE && by->axis == 0;
    return by->kind == VY_EXPR_LITERAL &&
           (e->op == VYRE_OP_MUL ? by->bits == size : UINT64_C(1) << by->bits % 32 == size);
}

static int add_builtin(const vy_coarsen_plan *plan, vy_sum *sum, const vy_expr *e) {
    const uint32_t *size = plan->program->workgroup;
    int is_line = size[1] * size[2] == 1; /* one-dimensional workgroup: the linear index is local_id.x */
    int is_global = e->op == VYRE_BUILTIN_GLOBAL_ID && e->axis == 0;
    int is_local = e->op == VYRE_BUILTIN_LOCAL_ID ? e->axis == 0 : e->op == VYRE_BUILTIN_LOCAL_INDEX && is_line;
    sum->x += (uint32_t)is_global;
    sum->local += (uint32_t)is_local;
    return is_global || is_local;
}

static int add_term(const vy_coarsen_plan *plan, vy_sum *sum, uint32_t expr, int minus) {
    if (!plan->early[expr] || sum->count == VY_COARSEN_TERMS)
        return 0;
    sum->terms[sum->count] = expr;
    sum->minus[sum->count++] = (uint8_t)minus;
    return 1;
}

/* Adds an expression to the sum, or subtracts it. Returns 0 if it is not affine; the sum is then invalid. Recursion
 * is bounded by the fuel. */
static int add(const vy_coarsen_plan *plan, vy_sum *sum, uint32_t expr, int minus, unsigned *fuel) {
    const vy_expr *e = at(plan, expr);
    vy_sum before = *sum;
    int is_added = 0;
    if (e->type != VYRE_TYPE_U32 || !*fuel)
        return 0;
    --*fuel;
    if (e->kind == VY_EXPR_LITERAL) {
        sum->constant += minus ? 0u - (uint32_t)e->bits : (uint32_t)e->bits;
        return 1;
    }
    if (e->kind == VY_EXPR_BUILTIN && !minus)
        is_added = add_builtin(plan, sum, e);
    else if (e->kind == VY_EXPR_VARIABLE && vy_let_value(&plan->uses, e->a) != VY_NONE)
        is_added = add(plan, sum, vy_let_value(&plan->uses, e->a), minus, fuel);
    else if (e->kind == VY_EXPR_OP && (e->op == VYRE_OP_ADD || e->op == VYRE_OP_SUB))
        is_added = add(plan, sum, e->a, minus, fuel) && add(plan, sum, e->b, minus ^ (e->op == VYRE_OP_SUB), fuel);
    else if (e->kind == VY_EXPR_OP && !minus && is_group_start(plan, e))
        is_added = (int)++sum->group;
    if (is_added)
        return 1;
    *sum = before;
    return add_term(plan, sum, expr, minus);
}

/* Whether an expression is affine with at most one global_id.x. */
static int sum_of(const vy_coarsen_plan *plan, uint32_t expr, vy_sum *sum) {
    unsigned fuel = FUEL;
    *sum = (vy_sum){0};
    if (!add(plan, sum, expr, 0, &fuel) || sum->local > 1 || sum->local != sum->group)
        return 0;
    sum->x += sum->local;
    sum->local = sum->group = 0;
    return sum->x <= 1;
}

/* Whether two early expressions are structurally equal. Recursion is bounded by EARLY. */
static int is_same(const vy_coarsen_plan *plan, uint32_t one, uint32_t other) {
    const vy_expr *a = at(plan, one = vy_see_through_lets(&plan->uses, one, FUEL)),
                  *b = at(plan, other = vy_see_through_lets(&plan->uses, other, FUEL));
    if (one == other)
        return 1;
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->axis != b->axis || a->bits != b->bits)
        return 0;
    if (a->kind != VY_EXPR_OP)
        return a->a == b->a;
    return is_same(plan, a->a, b->a) && (a->b == VY_NONE || is_same(plan, a->b, b->b)) &&
           (a->c == VY_NONE || is_same(plan, a->c, b->c));
}

static int is_same_sum(const vy_coarsen_plan *plan, const vy_sum *a, const vy_sum *b) {
    unsigned taken = 0;
    if (a->x != b->x || a->constant != b->constant || a->count != b->count)
        return 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t j = 0;
        while (j < b->count &&
               (taken & 1u << j || a->minus[i] != b->minus[j] || !is_same(plan, a->terms[i], b->terms[j])))
            j++;
        if (j == b->count)
            return 0;
        taken |= 1u << j;
    }
    return 1;
}

/* ---- starts and limits ---- */

/* The start of a sum with global_id.x, and the offset of the sum from it; VY_NONE if the table of starts is full. */
static uint32_t start_of(vy_coarsen_plan *plan, const vy_sum *sum, int32_t *offset) {
    vy_sum wanted = *sum;
    *offset = 0;
    if (wanted.constant <= NEAR || 0u - wanted.constant <= NEAR) {
        *offset = (int32_t)wanted.constant;
        wanted.constant = 0;
    }
    for (uint32_t i = 0; i < plan->start_count; i++)
        if (is_same_sum(plan, &plan->starts[i].sum, &wanted))
            return i;
    if (plan->is_closed || plan->start_count == VY_COARSEN_STARTS)
        return VY_NONE;
    plan->starts[plan->start_count] = (vy_coarsen_start){.sum = wanted};
    return plan->start_count++;
}

/* Requires start >= low. */
static int needs_low(vy_coarsen_plan *plan, uint32_t start, int64_t low) {
    if (low <= (int64_t)plan->starts[start].low)
        return 1;
    if (plan->is_closed)
        return 0;
    plan->starts[start].low = (uint32_t)low;
    return 1;
}

static int is_same_limit(const vy_coarsen_plan *plan, const vy_coarsen_limit *a, const vy_coarsen_limit *b) {
    if (a->start != b->start || a->value != b->value || a->length != b->length)
        return 0;
    return a->value || a->length != VY_NONE || is_same(plan, a->expr, b->expr);
}

/* Requires 0 <= start + lane + offset < limit for every lane. */
static int needs_limit(vy_coarsen_plan *plan, const vy_coarsen_limit *wanted) {
    uint32_t i = 0;
    while (i < plan->limit_count && !is_same_limit(plan, &plan->limits[i], wanted))
        i++;
    if (i == VY_COARSEN_LIMITS ||
        (plan->is_closed && (i == plan->limit_count || plan->limits[i].offset < wanted->offset)))
        return 0;
    if (!needs_low(plan, wanted->start, -(int64_t)wanted->offset))
        return 0;
    if (i == plan->limit_count)
        plan->limits[plan->limit_count++] = *wanted;
    else if (plan->limits[i].offset < wanted->offset)
        plan->limits[i].offset = wanted->offset;
    return 1;
}

/* The limit that the length of a memory sets. */
static vy_coarsen_limit limit_of_memory(const vy_coarsen_plan *plan, uint32_t memory) {
    uint64_t value = vy_memory_known_length(plan->program, memory);
    uint32_t length = value ? VY_NONE : vy_length_of(plan->program, memory);
    return (vy_coarsen_limit){.value = value, .length = length, .memory = memory, .expr = VY_NONE};
}

int vy_coarsen_index(vy_coarsen_plan *plan, uint32_t memory, uint32_t index, uint32_t *start, int32_t *offset) {
    vy_sum sum;
    vy_coarsen_limit limit = limit_of_memory(plan, memory);
    if ((limit.value && limit.value < SHORTEST) || !sum_of(plan, index, &sum) || sum.x != 1 ||
        (*start = start_of(plan, &sum, offset)) == VY_NONE)
        return 0;
    limit.start = *start;
    limit.offset = *offset;
    return needs_limit(plan, &limit);
}

/* A remainder by a literal is reduced by pass_strength_reduce.c instead. */
int vy_coarsen_remainder(vy_coarsen_plan *plan, uint32_t expr, uint32_t *start, int32_t *offset) {
    const vy_expr *e = at(plan, expr);
    vy_sum sum;
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_REM || e->type != VYRE_TYPE_U32 || !plan->early[e->b] ||
        at(plan, vy_see_through_lets(&plan->uses, e->b, FUEL))->kind == VY_EXPR_LITERAL || !sum_of(plan, e->a, &sum) ||
        sum.x != 1 || (*start = start_of(plan, &sum, offset)) == VY_NONE ||
        (int64_t)plan->starts[*start].low < -(int64_t)*offset)
        return 0;
    for (uint32_t i = 0; i < plan->limit_count; i++)
        if (plan->limits[i].start == *start && plan->limits[i].offset >= *offset)
            return 1;
    return 0;
}

/* ---- conditions ---- */

/* Whether a literal equals the length of a memory or the width of the grid. */
static int is_some_length(const vyre_program *p, uint64_t value) {
    uint32_t width = p->grid.kind == VYRE_GRID_ELEMENTS ? p->grid.sizes[0] : VY_NONE;
    if (value < SHORTEST)
        return 0;
    for (uint32_t i = 0; i < p->memories.count; i++)
        if (vy_memory_known_length(p, i) == value)
            return 1;
    return width != VY_NONE && p->sizes.items[width].kind == VY_SIZE_LITERAL && p->sizes.items[width].value == value;
}

/* The limit that an expression of the program describes. */
static vy_coarsen_limit limit_of(const vy_coarsen_plan *plan, uint32_t expr) {
    const vyre_program *p = plan->program;
    vy_coarsen_limit limit = {
        .length = VY_NONE, .memory = VY_NONE, .expr = vy_see_through_lets(&plan->uses, expr, FUEL)};
    const vy_expr *e = at(plan, limit.expr);
    if (e->kind == VY_EXPR_LEN)
        return limit_of_memory(plan, e->a);
    if (e->kind == VY_EXPR_VARIABLE)
        limit.length = p->memories.count + e->a;
    else if (e->kind == VY_EXPR_LITERAL)
        limit.value = e->bits;
    return limit;
}

/* Compares base + lane + offset with a literal that selects the first elements. No offset makes the sum wrap. */
static int compare_with_few(vy_coarsen_plan *plan, vyre_op op, uint32_t start, int32_t offset, uint64_t literal) {
    static const int truths[VYRE_OP_COUNT] = {[VYRE_OP_GT] = 1, [VYRE_OP_GE] = 1, [VYRE_OP_NE] = 1};
    int is_over = op == VYRE_OP_GE || op == VYRE_OP_LT; /* the fast path needs >= the literal, else > the literal */
    const vy_sum *sum = &plan->starts[start].sum;
    if (sum->count || sum->constant || offset > 0)
        return -1;
    return needs_low(plan, start, (int64_t)literal + !is_over - offset) ? truths[op] : -1;
}

static int compare(vy_coarsen_plan *plan, const vy_expr *e) {
    vyre_op op = (vyre_op)e->op;
    uint32_t right = e->b;
    int32_t offset;
    vy_sum a, b;
    if (!sum_of(plan, e->a, &a) || !sum_of(plan, e->b, &b) || a.x == b.x)
        return -1;
    if (b.x) {
        op = vy_op_mirrored(op);
        right = e->a;
        a = b;
    }
    const vy_expr *limit = at(plan, vy_see_through_lets(&plan->uses, right, FUEL));
    int is_literal = limit->kind == VY_EXPR_LITERAL, is_order = op != VYRE_OP_EQ && op != VYRE_OP_NE;
    if (!plan->early[right] || (is_literal && limit->bits > FEW && !is_some_length(plan->program, limit->bits)) ||
        (!is_order && !(is_literal && limit->bits <= FEW)))
        return -1;
    uint32_t start = start_of(plan, &a, &offset);
    if (start == VY_NONE)
        return -1;
    if (is_literal && limit->bits <= FEW)
        return compare_with_few(plan, op, start, offset, limit->bits);
    vy_coarsen_limit wanted = limit_of(plan, right);
    wanted.start = start;
    wanted.offset = offset;
    return needs_limit(plan, &wanted) ? op == VYRE_OP_LT || op == VYRE_OP_LE : -1;
}

/* Recursion is bounded by the fuel. */
static int truth(vy_coarsen_plan *plan, uint32_t expr, unsigned *fuel) {
    const vy_expr *e = at(plan, expr);
    if (!*fuel)
        return -1;
    --*fuel;
    if (e->kind == VY_EXPR_VARIABLE && vy_let_value(&plan->uses, e->a) != VY_NONE)
        return truth(plan, vy_let_value(&plan->uses, e->a), fuel);
    if (e->kind != VY_EXPR_OP)
        return -1;
    int a, b, wins = e->op == VYRE_OP_LOR;
    switch ((vyre_op)e->op) {
    case VYRE_OP_LNOT:
        a = truth(plan, e->a, fuel);
        return a < 0 ? a : !a;
    case VYRE_OP_LAND:
    case VYRE_OP_LOR:
        a = truth(plan, e->a, fuel);
        b = truth(plan, e->b, fuel);
        return a == wins || b == wins ? wins : a == b ? a : -1;
    case VYRE_OP_EQ:
    case VYRE_OP_NE:
    case VYRE_OP_LT:
    case VYRE_OP_LE:
    case VYRE_OP_GT:
    case VYRE_OP_GE:
        return at(plan, e->a)->type == VYRE_TYPE_U32 ? compare(plan, e) : -1;
    default:
        return -1;
    }
}

int vy_coarsen_truth(vy_coarsen_plan *plan, uint32_t condition) {
    unsigned fuel = FUEL;
    return truth(plan, condition, &fuel);
}

/* Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
int vy_coarsen_agrees(vy_coarsen_plan *plan, uint32_t condition) {
    const vy_expr *e = at(plan, condition);
    if (plan->is_shared[condition] || vy_coarsen_truth(plan, condition) >= 0)
        return 1;
    if (e->kind != VY_EXPR_OP || (e->op != VYRE_OP_LAND && e->op != VYRE_OP_LOR))
        return 0;
    return vy_coarsen_agrees(plan, e->a) && vy_coarsen_agrees(plan, e->b);
}

/* ---- the walk along the fast path: of an `if` with a known condition only the taken branch counts ---- */

enum {
    MOST_NODES = 4096,     /* of the fast path: statements and expressions */
    WORK_PER_ACCESS = 256, /* nodes per consecutive access; above this, wide accesses gain little */
    MOST_TRIPS = 1024,
    MOST_RETURNS = 16 /* each one costs a level of nesting */
};

/* ---- legality ---- */

/* Facts that prevent several invocations from running as lanes of one. */
static const struct {
    uint32_t fact;
    const char *reason;
} apart[] = {
    {VY_PROGRAM_HAS_OP_CALL, "it calls ops that are not resolved"},
    {VY_PROGRAM_HAS_GRID_BARRIER, "it has grid barriers: split it first"},
    {VY_PROGRAM_HAS_BARRIER, "it has barriers or collectives"},
    {VY_PROGRAM_HAS_TRAP, "it may trap, and the invocation that does is named"},
    {VY_PROGRAM_HAS_PRINT, "it prints, and prints name their invocation"},
    {VY_PROGRAM_IS_SCHEDULE_DEPENDENT, "what it delivers depends on the schedule"},
};

static const char *reason_of_facts(const vyre_program *p) {
    if (vy_program_is_lowered(p))
        return "it calls ops that have code for the target";
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (p->facts & apart[i].fact)
            return apart[i].reason;
    if (p->numerics != VYRE_NUMERICS_STRICT)
        return "its numerics are relaxed";
    if (p->level != VYRE_LEVEL_SOURCE)
        return "it is legalised already";
    if (p->param_count > VY_LIMIT_PARAMS - VY_COARSEN_PARAMS)
        return "it has no room for another param";
    return NULL;
}

static const char *reason_of_memories(const vyre_program *p) {
    const char *reason = NULL;
    for (uint32_t i = p->buffer_count; i < p->memories.count; i++) {
        if (vy_memory_at(p, i)->space == VY_SPACE_WORKGROUP)
            return "its workgroups share arrays";
        if (vy_memory_at(p, i)->space == VY_SPACE_PRIVATE)
            reason = "it has private arrays";
    }
    return reason;
}

static const char *reason_of_atomics(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(p, i);
        if (s->kind == VY_STMT_ATOMIC && (s->result_count || s->order != VYRE_ORDER_RELAXED))
            return "it has atomics that return a value or order memory";
    }
    return NULL;
}

/* ---- returns ---- */

int vy_coarsen_returns(const vyre_program *p, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        if (vy_stmt_at(p, i)->kind == VY_STMT_RETURN)
            return 1;
    return 0;
}

/* Whether control may reach the end of a block. Recursion is bounded by VY_LIMIT_NESTING. */
static int comes_out(const vyre_program *p, uint32_t first, uint32_t end) {
    uint32_t last = VY_NONE;
    for (uint32_t i = first; i < end; i = vy_stmt_at(p, i)->end)
        last = i;
    if (last == VY_NONE)
        return 1;
    const vy_stmt *s = vy_stmt_at(p, last);
    switch (s->kind) {
    case VY_STMT_RETURN:
        return 0;
    case VY_STMT_IF:
        return comes_out(p, last + 1, s->middle) || comes_out(p, s->middle, s->end);
    case VY_STMT_REGION:
        return comes_out(p, last + 1, s->end);
    default:
        return 1;
    }
}

/* A return can be removed if the statements after its `if` can move to the other branch. Recursion is bounded by
 * VY_LIMIT_NESTING. */
static const char *reason_of_returns(const vyre_program *p, uint32_t first, uint32_t end, uint32_t *count) {
    for (uint32_t i = first; i < end; i = vy_stmt_at(p, i)->end) {
        const vy_stmt *s = vy_stmt_at(p, i);
        const char *reason = NULL;
        if (!vy_stmt_is_structured(s->kind) || !vy_coarsen_returns(p, i, s->end))
            continue;
        if (vy_stmt_is_loop(s->kind))
            return "it returns from inside a loop";
        if (++*count > MOST_RETURNS)
            return "it returns from too many places";
        if (s->kind == VY_STMT_IF && comes_out(p, i + 1, s->middle) && comes_out(p, s->middle, s->end))
            return "it returns from the middle of a branch";
        reason = reason_of_returns(p, i + 1, s->middle, count);
        if (!reason && s->kind == VY_STMT_IF)
            reason = reason_of_returns(p, s->middle, s->end, count);
        if (reason)
            return reason;
    }
    return NULL;
}

/* ---- cost of the fast path ---- */

typedef struct walk {
    vy_coarsen_plan *plan;
    const char *slow; /* why coarsening does not pay */
} walk;

static void count_access(walk *w, uint32_t memory, uint32_t index, uint64_t weight) {
    vy_coarsen_plan *plan = w->plan;
    uint32_t start, bytes = vyre_type_size((vyre_type)vy_memory_at(plan->program, memory)->type);
    int32_t offset;
    if (vy_memory_at(plan->program, memory)->space == VY_SPACE_CONSTANT)
        return; /* constant memory is cached, so a load costs about as much as an op */
    if (vy_coarsen_index(plan, memory, index, &start, &offset)) {
        plan->consecutive += weight;
        plan->element_bytes = bytes > plan->element_bytes ? bytes : plan->element_bytes;
    } else if (!plan->is_shared[index]) {
        plan->scattered += weight;
    }
}

static void count_stmt(walk *w, uint32_t index, uint64_t weight) {
    const vyre_program *p = w->plan->program;
    const vy_stmt *s = vy_stmt_at(p, index);
    uint32_t first = w->plan->uses.first_expr[index], end = w->plan->uses.first_expr[index + 1];
    w->plan->work += (end - first + 1) * weight;
    for (uint32_t i = first; i < end; i++)
        if (vy_expr_at(p, i)->kind == VY_EXPR_LOAD)
            count_access(w, vy_expr_at(p, i)->a, vy_expr_at(p, i)->b, weight);
    if (s->kind == VY_STMT_STORE)
        count_access(w, s->memory, s->a, weight);
    else if (s->kind == VY_STMT_ATOMIC && !w->plan->is_shared[s->a])
        w->plan->scattered += weight;
}

/* Trip count of a `for` with literal bounds, at least 1; else 0. */
static uint64_t trips_of(const vyre_program *p, const vy_stmt *s) {
    vy_trips t;
    if (!vy_trips_of(p, s, &t))
        return 0;
    return vy_trips_remain(&t) ? vy_trips_count(&t) : 1;
}

static void walk_block(walk *w, uint32_t first, uint32_t end, uint64_t weight);

static void walk_if(walk *w, uint32_t index, uint64_t weight) {
    const vy_stmt *s = vy_stmt_at(w->plan->program, index);
    int truth = vy_coarsen_truth(w->plan, s->a);
    if (truth < 0)
        count_stmt(w, index, weight);
    if (truth != 0)
        walk_block(w, index + 1, s->middle, weight);
    if (truth != 1)
        walk_block(w, s->middle, s->end, weight);
}

static void walk_loop(walk *w, uint32_t index, uint64_t weight) {
    const vyre_program *p = w->plan->program;
    const vy_stmt *s = vy_stmt_at(p, index);
    uint64_t trips = s->kind == VY_STMT_FOR ? trips_of(p, s) : 0;
    if (vy_loop_runs_once(p, index))
        trips = 1;
    if (trips == 0 || trips > MOST_TRIPS)
        w->slow = "it has loops with a large or unknown trip count";
    weight *= trips && trips <= MOST_TRIPS ? trips : MOST_TRIPS;
    count_stmt(w, index, weight);
    walk_block(w, index + 1, s->end, weight < UINT32_MAX ? weight : UINT32_MAX);
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void walk_block(walk *w, uint32_t first, uint32_t end, uint64_t weight) {
    const vy_stmt *stmts = w->plan->program->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        if (stmts[i].kind == VY_STMT_IF)
            walk_if(w, i, weight);
        else if (vy_stmt_is_loop(stmts[i].kind))
            walk_loop(w, i, weight);
        else
            count_stmt(w, i, weight);
        if (stmts[i].kind == VY_STMT_REGION)
            walk_block(w, i + 1, stmts[i].end, weight);
    }
}

int vy_coarsen_loop_agrees(const vy_coarsen_plan *plan, uint32_t loop) {
    const vy_stmt *s = vy_stmt_at(plan->program, loop);
    return s->kind == VY_STMT_FOR && plan->var_shared[s->variable] &&
           !vy_block_has_loop_jump(plan->program, loop + 1, s->end);
}

/* ---- building the plan ---- */

static const char *reason_of_cost(const walk *w) {
    const vy_coarsen_plan *plan = w->plan;
    if (plan->consecutive == 0)
        return "no buffer is accessed at consecutive elements by consecutive invocations";
    if (w->slow)
        return w->slow;
    if (plan->scattered > plan->consecutive)
        return "more of its accesses are scattered than consecutive";
    if (plan->work / WORK_PER_ACCESS > plan->consecutive)
        return "it computes much for each element, so it is not bound by memory";
    return NULL;
}

static void choose_factor(vy_coarsen_plan *plan, uint32_t access_bytes) {
    uint32_t nodes = plan->program->stmts.count + plan->program->exprs.count;
    uint32_t bytes = plan->element_bytes ? plan->element_bytes : 4;
    plan->factor = 1;
    while (plan->factor < VY_COARSEN_MAX && 2 * plan->factor * bytes <= access_bytes &&
           2 * plan->factor * (uint64_t)nodes <= MOST_NODES)
        plan->factor *= 2;
    if (plan->factor == 1 && !plan->reason)
        plan->reason = 2 * bytes > access_bytes ? "the target has no access wider than its elements"
                                                : "it is too large to be written several times";
}

static int allocate(vy_coarsen_plan *plan, vy_arena *arena) {
    const vyre_program *p = plan->program;
    plan->is_shared = vy_arena_allocate(arena, p->exprs.count + 1u);
    plan->early = vy_arena_allocate(arena, p->exprs.count + 1u);
    plan->var_shared = vy_arena_allocate(arena, p->variables.count + 1u);
    plan->uses = (vy_def_use){.program = p, .arena = arena};
    return plan->is_shared && plan->early && plan->var_shared &&
           vy_def_use_need(&plan->uses, VY_DEF_USE_EXPRS | VY_DEF_USE_DECLARATIONS);
}

vyre_status vy_coarsen_make_plan(vy_coarsen_plan *plan, const vyre_program *program, const vy_target_desc *target,
                                 vy_arena *arena, vyre_error *error) {
    uint32_t returns = 0;
    *plan = (vy_coarsen_plan){.program = program, .entry = vy_program_entry(program), .factor = 1};
    plan->reason = !plan->entry ? "a library has no entry to launch" : reason_of_facts(program);
    plan->reason = plan->reason ? plan->reason : reason_of_memories(program);
    plan->reason = plan->reason ? plan->reason : reason_of_atomics(program);
    if (!plan->reason)
        plan->reason = reason_of_returns(program, plan->entry->first_stmt, plan->entry->end_stmt, &returns);
    if (plan->reason)
        return VYRE_OK;
    if (!allocate(plan, arena))
        return vy_fail_memory(error, "a plan to coarsen a program");
    walk w = {.plan = plan};
    coarsen_classify(plan);
    walk_block(&w, plan->entry->first_stmt, plan->entry->end_stmt, 1);
    plan->is_closed = 1;
    plan->reason = target->coarsen == VY_COARSEN_IF_POSSIBLE ? NULL : reason_of_cost(&w);
    choose_factor(plan, target->access_bytes);
    return VYRE_OK;
}
