/* If-conversion: an `if` with few cheap ops and accesses (vy_predication of the target) becomes predicated
 * straight-line code. Invariant: an effect or a load executes only if its branch would.
 *
 * Pure ops run unconditionally; assignments, stores and loads carry the predicate. This lets the loads of several
 * branches overlap, which jumps prevent. */
#include "emit/branch_cost.h"
#include "emit/ptx/emitter.h"
#include "ir/eval.h"

#include <inttypes.h>

/* ---- predicates ---- */

vy_ptx_value vy_ptx_both(vy_ptx *e, vy_ptx_value a, vy_ptx_value b) {
    if (a.is_literal)
        return a.bits ? b : a;
    if (b.is_literal)
        return b.bits ? a : b;
    vy_ptx_value both = vy_ptx_new(e, VYRE_TYPE_BOOL);
    VY_PTX_INSTRUCT(e, "and", "pred", both, a, b);
    return both;
}

static vy_ptx_value opposite(vy_ptx *e, vy_ptx_value a) {
    if (a.is_literal)
        return vy_ptx_literal(VYRE_TYPE_BOOL, !a.bits);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_BOOL);
    VY_PTX_INSTRUCT(e, "not", "pred", d, a);
    return d;
}

/* Emits statements under the condition and the current guard. */
static void write_guarded(vy_ptx *e, vy_ptx_value condition, uint32_t first, uint32_t end) {
    vy_ptx_value before = e->guard;
    e->guard = vy_ptx_both(e, before, condition);
    if (!e->guard.is_literal || e->guard.bits)
        vy_ptx_statements(e, first, end);
    e->guard = before;
}

/* ---- fewer guards ----
 *
 * There are seven predicates. One that must be kept until a load completes is not available for the next. */

/* Whether an integer is zero if the guard is false: a guarded load is, and so are many ops on it. Recursion is bounded
 * by VY_LIMIT_EXPRESSION_DEPTH. */
static int is_zero_outside(const vyre_program *p, uint32_t expr) {
    const vy_expr *x = vy_expr_at(p, expr);
    if (!(vy_type_layouts[x->type].classes & VYRE_CLASS_INTEGER))
        return 0;
    if (x->kind == VY_EXPR_LOAD)
        return 1;
    if (x->kind != VY_EXPR_OP)
        return x->kind == VY_EXPR_LITERAL && x->bits == 0;
    switch ((vyre_op)x->op) {
    case VYRE_OP_CAST:
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
        return is_zero_outside(p, x->a);
    case VYRE_OP_AND:
    case VYRE_OP_MUL:
        return is_zero_outside(p, x->a) || is_zero_outside(p, x->b);
    case VYRE_OP_OR:
    case VYRE_OP_XOR:
    case VYRE_OP_ADD:
        return is_zero_outside(p, x->a) && is_zero_outside(p, x->b);
    default:
        return 0;
    }
}

/* `v = v | data[i]` and the like: if the guard is false, the value is v. */
int vy_ptx_assigns_itself_outside(const vy_ptx *e, const vy_stmt *s) {
    const vyre_program *p = e->program;
    const vy_expr *x = vy_expr_at(p, s->a);
    int is_sum = x->op == VYRE_OP_OR || x->op == VYRE_OP_XOR || x->op == VYRE_OP_ADD;
    if (x->kind != VY_EXPR_OP || (!is_sum && x->op != VYRE_OP_SUB) ||
        !(vy_type_layouts[x->type].classes & VYRE_CLASS_INTEGER))
        return 0;
    const vy_expr *a = vy_expr_at(p, x->a), *b = vy_expr_at(p, x->b);
    if (a->kind == VY_EXPR_VARIABLE && a->a == s->variable)
        return is_zero_outside(p, x->b);
    return is_sum && b->kind == VY_EXPR_VARIABLE && b->a == s->variable && is_zero_outside(p, x->a);
}

static int is_order(const vy_expr *x) {
    return x->kind == VY_EXPR_OP && (x->op == VYRE_OP_LT || x->op == VYRE_OP_GT);
}

static int is_equality(const vy_expr *x) {
    return x->kind == VY_EXPR_OP && x->op == VYRE_OP_EQ;
}

/* Whether the `else` branch is an `if` whose condition implies that the first is false: `a < b`, else `a == b`. The
 * first then need not be tested. */
static int excludes(const vyre_program *p, const vy_stmt *s) {
    const vy_stmt *inner = vy_stmt_at(p, s->middle);
    if (inner->kind != VY_STMT_IF || inner->end != s->end || inner->middle != inner->end)
        return 0;
    const vy_expr *first = vy_expr_at(p, s->a), *second = vy_expr_at(p, inner->a);
    if (!(is_order(first) && is_equality(second)) && !(is_equality(first) && is_order(second)))
        return 0;
    int is_about_the_same = (vy_expr_equal(p, first->a, second->a) && vy_expr_equal(p, first->b, second->b)) ||
                            (vy_expr_equal(p, first->a, second->b) && vy_expr_equal(p, first->b, second->a));
    return is_about_the_same && vy_expr_is_invariant(p, s->a); /* the first branch does not change its operands */
}

int vy_ptx_if_convert(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    const vy_predication *most = &e->target.predication;
    vy_branch_cost cost = {.most_ops = most->ops, .most_accesses = most->accesses};
    vy_branch_cost_add(e->program, index + 1, s->end, &cost);
    if (!most->ops || vy_branch_cost_is_high(&cost))
        return 0;
    vy_ptx_value condition = vy_ptx_expr_kept(e, s->a);
    write_guarded(e, condition, index + 1, s->middle);
    if (s->middle == s->end)
        return 1;
    if (excludes(e->program, s))
        vy_ptx_statements(e, s->middle, s->end);
    else
        write_guarded(e, opposite(e, condition), s->middle, s->end);
    return 1;
}

/* ---- loops of one or two iterations ----
 *
 * `for cell in local_index .. 324 step 256`: a workgroup of 256 loads a tile and its border, each invocation one
 * element or two. The second iteration is emitted after the first, guarded, so that the loads of both overlap. ptxas
 * would unroll a loop by four, two, and one, and test which of them to run. */

/* The number of values of a local id, also through a `let`; 0 for any other expression. */
static uint64_t local_values(vy_ptx *e, uint32_t expr) {
    const vyre_program *p = e->program;
    const vy_expr *x = vy_expr_at(p, expr);
    uint32_t declared = x->kind == VY_EXPR_VARIABLE ? vy_ptx_next_def(e, x->a, 0) : VY_NONE;
    if (declared != VY_NONE && vy_stmt_at(p, declared)->kind == VY_STMT_LET)
        x = vy_expr_at(p, vy_stmt_at(p, declared)->a);
    if (x->kind != VY_EXPR_BUILTIN)
        return 0;
    return x->op == VYRE_BUILTIN_LOCAL_INDEX ? vy_workgroup_invocations(p)
           : x->op == VYRE_BUILTIN_LOCAL_ID  ? p->workgroup[x->axis]
                                             : 0;
}

/* A literal far below the wrap-around, else 0. */
static uint64_t small_literal(const vyre_program *p, uint32_t expr) {
    const vy_expr *x = expr == VY_NONE ? NULL : vy_expr_at(p, expr);
    return x && x->kind == VY_EXPR_LITERAL && x->type == VYRE_TYPE_U32 && x->bits < UINT64_C(1) << 30 ? x->bits : 0;
}

int vy_ptx_for_convert(vy_ptx *e, uint32_t index, const vy_stmt *s) {
    const vyre_program *p = e->program;
    uint64_t to = small_literal(p, s->b), step = small_literal(p, s->c);
    const vy_predication *most = &e->target.predication;
    vy_branch_cost cost = {.most_ops = most->ops_of_trip, .most_accesses = most->accesses, .is_trip = 1};
    if (!most->ops_of_trip || !to || to <= step || to > 2 * step)
        return 0;
    uint64_t values = local_values(e, s->a);
    if (!values || values > to)
        return 0;
    vy_branch_cost_add(p, index + 1, s->end, &cost);
    if (vy_branch_cost_is_high(&cost))
        return 0;
    vy_ptx_value first = vy_ptx_expr(e, s->a), second = vy_ptx_new(e, VYRE_TYPE_U32), again;
    e->variables[s->variable] = first;
    vy_ptx_statements(e, index + 1, s->end);
    vy_ptx_write(e, "add.u32 %s, %s, %" PRIu32, vy_ptx_name(e, second), vy_ptx_register(e, first), (uint32_t)step);
    again = vy_ptx_new(e, VYRE_TYPE_BOOL);
    vy_ptx_write(e, "setp.lt.u32 %s, %s, %" PRIu32, vy_ptx_name(e, again), vy_ptx_name(e, second), (uint32_t)to);
    e->variables[s->variable] = second;
    write_guarded(e, again, index + 1, s->end);
    return 1;
}
