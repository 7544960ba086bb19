/* Values of a plan (coarsen_plan.h): which are the same for all lanes, which are sums with global_id.x, what comparisons with these are in the fast
 * path.
 *
 * What must stay true: a start and its limits stand for exact arithmetic. With start + offset + factor <= limit and start >= low >= -offset the
 * index start + offset + lane does not wrap, so what is said of the sum modulo 2^32 is true of the numbers. */
#include "analysis/range.h"
#include "ir/walk.h"
#include "opt/coarsen_plan.h"
#include "opt/pass_manager.h"

enum {
    EARLY = 32,   /* nodes of a value that is computed at the start */
    NEAR = 1024,  /* offsets up to this are offsets of one start */
    FUEL = 64,    /* nodes looked at for a sum or a condition, through `let`s */
    FEW = 16,     /* a literal up to this singles out the first elements */
    SHORTEST = 64 /* shorter memories and literals limit nothing: the fast path would be for nobody */
};

static const vy_expr *at(const vy_coarsen_plan *plan, uint32_t expr) {
    return &plan->program->exprs.items[expr];
}

/* ---- the same for all lanes ---- */

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
    const uint32_t operands[3] = {e->a, e->b, e->c};
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
    uint32_t definition = e->kind == VY_EXPR_VARIABLE ? plan->definition[e->a] : VY_NONE;
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

void vy_coarsen_classify(vy_coarsen_plan *plan) {
    const vyre_program *p = plan->program;
    uint32_t expr = 0;
    for (uint32_t i = 0; i < p->variables.count; i++) {
        plan->definition[i] = VY_NONE;
        plan->var_shared[i] = i - plan->entry->first_variable < p->param_count;
    }
    for (uint32_t i = plan->entry->first_stmt; i < plan->entry->end_stmt; i++) {
        const vy_stmt *s = &p->stmts.items[i];
        for (uint32_t end = vy_stmt_exprs_end(p, s, expr); expr < end; expr++)
            classify_expr(plan, expr);
        if (s->kind == VY_STMT_LET) {
            plan->definition[s->variable] = s->a;
            plan->var_shared[s->variable] = plan->is_shared[s->a];
        } else if (s->kind == VY_STMT_FOR) {
            plan->var_shared[s->variable] =
                plan->is_shared[s->a] && plan->is_shared[s->b] && (s->c == VY_NONE || plan->is_shared[s->c]);
        }
    }
}

/* ---- sums ---- */

/* group_id.x times the size of a workgroup. */
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
    int is_line = size[1] * size[2] == 1; /* of invocations: the linear index is the local id */
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

/* Adds an expression to the sum, or subtracts it; 0 if it is no such sum, which then is spoiled. Recursion is bounded by the fuel. */
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
    else if (e->kind == VY_EXPR_VARIABLE && plan->definition[e->a] != VY_NONE)
        is_added = add(plan, sum, plan->definition[e->a], minus, fuel);
    else if (e->kind == VY_EXPR_OP && (e->op == VYRE_OP_ADD || e->op == VYRE_OP_SUB))
        is_added = add(plan, sum, e->a, minus, fuel) && add(plan, sum, e->b, minus ^ (e->op == VYRE_OP_SUB), fuel);
    else if (e->kind == VY_EXPR_OP && !minus && is_group_start(plan, e))
        is_added = (int)++sum->group;
    if (is_added)
        return 1;
    *sum = before;
    return add_term(plan, sum, expr, minus);
}

/* Whether an expression is a sum with at most one global_id.x. */
static int sum_of(const vy_coarsen_plan *plan, uint32_t expr, vy_sum *sum) {
    unsigned fuel = FUEL;
    *sum = (vy_sum){0};
    if (!add(plan, sum, expr, 0, &fuel) || sum->local > 1 || sum->local != sum->group)
        return 0;
    sum->x += sum->local;
    sum->local = sum->group = 0;
    return sum->x <= 1;
}

/* What an early expression is behind `let`s. */
static uint32_t resolve(const vy_coarsen_plan *plan, uint32_t expr) {
    for (unsigned i = 0; i < FUEL && at(plan, expr)->kind == VY_EXPR_VARIABLE; i++) {
        if (plan->definition[at(plan, expr)->a] == VY_NONE)
            break;
        expr = plan->definition[at(plan, expr)->a];
    }
    return expr;
}

/* Whether two early expressions are written alike. Recursion is bounded by EARLY. */
static int is_same(const vy_coarsen_plan *plan, uint32_t one, uint32_t other) {
    const vy_expr *a = at(plan, one = resolve(plan, one)), *b = at(plan, other = resolve(plan, other));
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

/* The start of a sum with global_id.x, and how far from it the sum is; VY_NONE if it has none. */
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

/* The start is at least `low`. */
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

/* Every lane's start + lane + offset is below the limit, and not below zero. */
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

/* That of a memory. */
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

/* Literals have better ways (pass_strength_reduce.c). */
int vy_coarsen_remainder(vy_coarsen_plan *plan, uint32_t expr, uint32_t *start, int32_t *offset) {
    const vy_expr *e = at(plan, expr);
    vy_sum sum;
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_REM || e->type != VYRE_TYPE_U32 || !plan->early[e->b] ||
        at(plan, resolve(plan, e->b))->kind == VY_EXPR_LITERAL || !sum_of(plan, e->a, &sum) || sum.x != 1 ||
        (*start = start_of(plan, &sum, offset)) == VY_NONE || (int64_t)plan->starts[*start].low < -(int64_t)*offset)
        return 0;
    for (uint32_t i = 0; i < plan->limit_count; i++)
        if (plan->limits[i].start == *start && plan->limits[i].offset >= *offset)
            return 1;
    return 0;
}

/* ---- conditions ---- */

/* Whether a literal is the length of something. */
static int is_some_length(const vyre_program *p, uint64_t value) {
    uint32_t width = p->grid.kind == VYRE_GRID_ELEMENTS ? p->grid.sizes[0] : VY_NONE;
    if (value < SHORTEST)
        return 0;
    for (uint32_t i = 0; i < p->memories.count; i++)
        if (vy_memory_known_length(p, i) == value)
            return 1;
    return width != VY_NONE && p->sizes.items[width].kind == VY_SIZE_LITERAL && p->sizes.items[width].value == value;
}

/* What a limit written in the program is. */
static vy_coarsen_limit limit_of(const vy_coarsen_plan *plan, uint32_t expr) {
    const vyre_program *p = plan->program;
    vy_coarsen_limit limit = {.length = VY_NONE, .memory = VY_NONE, .expr = resolve(plan, expr)};
    const vy_expr *e = at(plan, limit.expr);
    if (e->kind == VY_EXPR_LEN)
        return limit_of_memory(plan, e->a);
    if (e->kind == VY_EXPR_VARIABLE)
        limit.length = p->memories.count + e->a;
    else if (e->kind == VY_EXPR_LITERAL)
        limit.value = e->bits;
    return limit;
}

/* base + lane + offset against the first few elements. No offset takes it over the top. */
static int compare_with_few(vy_coarsen_plan *plan, vyre_op op, uint32_t start, int32_t offset, uint64_t literal) {
    static const int truths[VYRE_OP_COUNT] = {[VYRE_OP_GT] = 1, [VYRE_OP_GE] = 1, [VYRE_OP_NE] = 1};
    int is_over = op == VYRE_OP_GE || op == VYRE_OP_LT; /* else it is above the literal */
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
    const vy_expr *limit = at(plan, resolve(plan, right));
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
    if (e->kind == VY_EXPR_VARIABLE && plan->definition[e->a] != VY_NONE)
        return truth(plan, plan->definition[e->a], fuel);
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
