/* Folding: what can be computed now is.
 *
 * An op of literals becomes the literal that the evaluator gives; nothing here knows what an op does. The length of an array, of a buffer with a
 * constant count and the size of a workgroup are literals; so is a `let` of a literal, wherever it is used. A load from an array or
 * such a buffer beyond its end is zero. */
#include "ir/validate/check.h"
#include "transform/optimize.h"
#include "transform/optimize_rewrite.h"

#include "base/status.h"

/* By variable of the source: the expression that is its literal, or VY_NONE. */
typedef struct folding {
    uint32_t *literals;
} folding;

static uint32_t becomes(vy_rewrite *rw, vyre_type type, uint64_t bits) {
    rw->changes++;
    return vy_pool_literal(rw, type, bits);
}

static uint32_t fold_op(vy_rewrite *rw, uint32_t node) {
    const vy_expr e = *vy_pool_get(rw, node);
    if (e.op == VYRE_OP_SELECT && vy_pool_is_literal(rw, e.a)) {
        rw->changes++;
        return vy_pool_get(rw, e.a)->bits ? e.b : e.c;
    }
    const uint32_t operands[3] = {e.a, e.b, e.c};
    uint64_t bits[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (operands[i] == VY_NONE)
            continue;
        if (!vy_pool_is_literal(rw, operands[i]))
            return node;
        bits[i] = vy_pool_get(rw, operands[i])->bits;
    }
    vyre_type operand = vy_pool_operand_type(rw, &e);
    return becomes(rw, (vyre_type)e.type,
                   vyre_op_evaluate((vyre_op)e.op, (vyre_type)e.type, operand, bits[0], bits[1], bits[2]));
}

/* Along an axis of one invocation every position is 0. Functions of a library do not know their workgroup. */
static uint32_t fold_builtin(vy_rewrite *rw, uint32_t node) {
    const vy_expr *e = vy_pool_get(rw, node);
    const uint32_t *size = rw->from->workgroup;
    if (!vy_program_has_entry(rw->from))
        return node;
    if (e->op == VYRE_BUILTIN_WORKGROUP_SIZE)
        return becomes(rw, VYRE_TYPE_U32, size[e->axis]);
    if ((e->op == VYRE_BUILTIN_LOCAL_ID && size[e->axis] == 1) ||
        (e->op == VYRE_BUILTIN_LOCAL_INDEX && size[0] * size[1] * size[2] == 1))
        return becomes(rw, VYRE_TYPE_U32, 0);
    return node;
}

/* Whether a literal index is outside `length` elements: compared as a mathematical integer, so a negative one is. */
static int is_outside(const vy_expr *index, uint64_t length) {
    vy_wide at = vy_integer_of(index->type, index->bits);
    return at < 0 || at >= (vy_wide)length;
}

static uint32_t fold_node(vy_rewrite *rw, uint32_t node) {
    const vy_expr *e = vy_pool_get(rw, node);
    uint64_t length =
        e->kind == VY_EXPR_LEN || e->kind == VY_EXPR_LOAD ? vy_memory_known_length(rw->draft.program, e->a) : 0;
    if (e->kind == VY_EXPR_OP)
        return fold_op(rw, node);
    if (e->kind == VY_EXPR_BUILTIN)
        return fold_builtin(rw, node);
    if (e->kind == VY_EXPR_LEN && length)
        return becomes(rw, VYRE_TYPE_U32, length);
    if (e->kind == VY_EXPR_LOAD && length && vy_pool_is_literal(rw, e->b) && is_outside(vy_pool_get(rw, e->b), length))
        return becomes(rw, (vyre_type)e->type, 0);
    return node;
}

static uint32_t fold_variable(vy_rewrite *rw, uint32_t expr) {
    const folding *f = rw->user;
    const vy_expr *e = &rw->from->exprs.items[expr];
    if (e->kind != VY_EXPR_VARIABLE || f->literals[e->a] == VY_NONE)
        return VY_NONE;
    const vy_expr *literal = &rw->from->exprs.items[f->literals[e->a]];
    return becomes(rw, (vyre_type)literal->type, literal->bits);
}

vyre_status vy_pass_fold(const vyre_program *from, const vy_rules *rules, vyre_program **out, uint64_t *changes,
                         vyre_error *error) {
    (void)rules;
    static const vy_rewriter hooks = {.tree = fold_variable,
                                      .node = fold_node,
                                      .tree_kinds = 1 << VY_EXPR_VARIABLE,
                                      .node_kinds = VY_ALL_BUT_LITERALS & ~(1 << VY_EXPR_VARIABLE),
                                      .keeps_names = 1,
                                      .keeps_blocks = 1,
                                      .may_look = 1};
    size_t size = vy_array_size(from->variables.count + 1u, sizeof(uint32_t));
    folding f = {.literals = vy_allocate(size)};
    *out = NULL;
    *changes = 0;
    if (!f.literals)
        return vy_fail_memory(error, "a pass");
    memset(f.literals, 0xff, size);
    for (uint32_t i = 0; i < from->stmts.count; i++) {
        const vy_stmt *s = &from->stmts.items[i];
        if (s->kind == VY_STMT_LET && from->exprs.items[s->a].kind == VY_EXPR_LITERAL)
            f.literals[s->variable] = s->a;
    }
    vyre_status status = vy_rewrite_run(from, &hooks, &f, NULL, out, changes, error);
    vy_release(f.literals, size);
    return status;
}
