/* Values (definite_init_eval.h). */
#include "lower/definite_init_eval.h"

#include "ir/eval.h"
#include "ir/walk.h"

enum { LANES = 1 << 16 }; /* nodes that are computed for all invocations together */

static int compute_builtin(vy_definite_init *f, const vy_expr *e, uint32_t invocation, uint64_t *out) {
    const uint32_t *size = f->p->workgroup;
    const uint32_t ids[3] = {invocation % size[0], invocation / size[0] % size[1], invocation / size[0] / size[1]};
    switch ((vyre_builtin)e->op) {
    case VYRE_BUILTIN_LOCAL_ID:
        f->uses_place = 1;
        *out = ids[e->axis];
        return 1;
    case VYRE_BUILTIN_LOCAL_INDEX:
        f->uses_place = 1;
        *out = invocation;
        return 1;
    case VYRE_BUILTIN_WORKGROUP_SIZE:
        *out = size[e->axis];
        return 1;
    default:
        return 0;
    }
}

/* Whether an expression is a literal, or counts the trip that is looked at: most operands are, and are not worth a call. */
static inline int is_leaf(const vy_definite_init *f, const vy_expr *e, uint64_t *out) {
    if (e->kind == VY_EXPR_LITERAL) {
        *out = e->bits;
        return 1;
    }
    if (e->kind != VY_EXPR_VARIABLE || !f->has_trip[e->a])
        return 0;
    *out = f->trips[e->a];
    return 1;
}

static int compute(vy_definite_init *f, uint32_t expr, uint32_t invocation, unsigned depth, uint64_t *out);

static int compute_op(vy_definite_init *f, const vy_expr *e, uint32_t invocation, unsigned depth, uint64_t *out) {
    const vy_expr *exprs = f->p->exprs.items;
    const uint32_t operands[3] = {e->a, e->b, e->c};
    uint64_t v[3] = {0, 0, 0};
    for (int i = 0; i < 3 && operands[i] != VY_NONE; i++)
        if (is_leaf(f, &exprs[operands[i]], &v[i]))
            f->steps++;
        else if (!compute(f, operands[i], invocation, depth + 1, &v[i]))
            return 0;
    vyre_type operand = (vyre_type)exprs[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
    vy_eval_kernel_unchecked((vyre_op)e->op, (vyre_type)e->type, operand)(out, &v[0], &v[1], &v[2], 1);
    return 1;
}

/* The value of an expression for an invocation of the workgroup; 0 if it is not known. Whether it is known does not depend on the invocation.
 * Recursion through the values of variables is bounded by `depth`. */
static int compute(vy_definite_init *f, uint32_t expr, uint32_t invocation, unsigned depth, uint64_t *out) {
    const vy_expr *e = &f->p->exprs.items[expr];
    if (depth > VY_LIMIT_EXPRESSION_DEPTH || ++f->steps > VY_DEFINITE_INIT_STEPS)
        return 0;
    if (is_leaf(f, e, out))
        return 1;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        return f->values[e->a] != VY_NONE && compute(f, f->values[e->a], invocation, depth + 1, out);
    case VY_EXPR_LEN:
        *out = vy_memory_known_length(f->p, e->a);
        return *out != 0 && *out <= UINT32_MAX;
    case VY_EXPR_BUILTIN:
        return compute_builtin(f, e, invocation, out);
    case VY_EXPR_OP:
        return compute_op(f, e, invocation, depth, out);
    default:
        return 0;
    }
}

int vy_definite_init_value(vy_definite_init *f, uint32_t expr, uint32_t invocation, uint64_t *out) {
    return compute(f, expr, invocation, 0, out);
}

int vy_definite_init_integer(vy_definite_init *f, uint32_t expr, uint32_t invocation, vy_wide *out) {
    uint64_t bits;
    if (!compute(f, expr, invocation, 0, &bits))
        return 0;
    *out = vy_integer_of(f->p->exprs.items[expr].type, bits);
    return 1;
}

/* ---- all invocations together ---- */

/* The values of all invocations, of an expression that compute() knows. NULL: memory is out. Recursion is bounded by what compute() has found. */
static uint64_t *compute_all(vy_definite_init *f, vy_arena *arena, uint32_t expr) {
    const vy_expr *e = &f->p->exprs.items[expr];
    if (e->kind == VY_EXPR_VARIABLE && !f->has_trip[e->a])
        return compute_all(f, arena, f->values[e->a]);
    if (e->kind == VY_EXPR_OP) {
        const uint32_t operands[3] = {e->a, e->b, e->c};
        uint64_t *v[3] = {NULL, NULL, NULL};
        for (int i = 0; i < 3; i++)
            if (operands[i] != VY_NONE && !(v[i] = compute_all(f, arena, operands[i])))
                return NULL;
        vyre_type operand = (vyre_type)f->p->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
        vy_eval_kernel_unchecked((vyre_op)e->op, (vyre_type)e->type, operand)(v[0], v[0], v[1], v[2], f->size);
        return v[0];
    }
    uint64_t *out = vy_arena_allocate(arena, f->size * sizeof *out);
    uint64_t same = 0;
    compute(f, expr, 0, 0, &same);
    for (uint32_t i = 0; out && i < f->size; i++)
        out[i] = same;
    for (uint32_t i = 0; out && e->kind == VY_EXPR_BUILTIN && i < f->size; i++)
        compute_builtin(f, e, i, &out[i]);
    return out;
}

static void fill_lanes(vy_definite_init *f, vy_definite_init_lanes *lanes, uint32_t expr) {
    uint32_t steps = f->steps;
    f->steps = 0; /* LANES of them at most, which are counted as they are used */
    lanes->values = compute_all(f, &lanes->arena, expr);
    f->steps = steps;
    f->failed |= !lanes->values;
}

int vy_definite_init_first(vy_definite_init *f, vy_definite_init_lanes *lanes, uint32_t expr, uint32_t invocation,
                           vy_wide *out) {
    uint32_t before = f->steps;
    if (!vy_definite_init_integer(f, expr, invocation, out))
        return 0;
    lanes->cost = f->steps - before;
    if (f->uses_place && (uint64_t)lanes->cost * f->size <= LANES)
        fill_lanes(f, lanes, expr);
    return 1;
}
