/* Branches: an `if` with a literal condition is the branch it takes, blocks that do nothing go, loops that make no trip go, and so does
 * what stands behind a jump or trap.
 *
 * A branch that is spliced into the block around it may end in a jump: the rewriter then leaves out the rest of that block, which nobody
 * can reach. Names that meet there get suffixes. Conditions and bounds have no effect, so dropping them is free. A `while` is only
 * dropped if its condition is false: one that runs for ever keeps doing so. */
#include "transform/optimize.h"
#include "transform/optimize_rewrite.h"

static const vy_expr *literal_of(const vyre_program *p, uint32_t expr) {
    return expr != VY_NONE && p->exprs.items[expr].kind == VY_EXPR_LITERAL ? &p->exprs.items[expr] : NULL;
}

/* Whether a `for` makes no trip for certain. */
static int makes_no_trip(const vyre_program *p, const vy_stmt *s) {
    const vy_expr *from = literal_of(p, s->a), *to = literal_of(p, s->b), *step = literal_of(p, s->c);
    if (step && step->bits == 0)
        return 1;
    if (!from || !to || (s->c != VY_NONE && !step))
        return 0;
    vyre_type type = (vyre_type)from->type;
    int goes_down = step && vyre_op_evaluate(VYRE_OP_LT, VYRE_TYPE_BOOL, type, step->bits, 0, 0);
    return !vyre_op_evaluate(goes_down ? VYRE_OP_GT : VYRE_OP_LT, VYRE_TYPE_BOOL, type, from->bits, to->bits, 0);
}

static int simplify_if(vy_rewrite *rw, uint32_t index, const vy_stmt *s) {
    const vy_expr *condition = literal_of(rw->from, s->a);
    if (condition && condition->bits)
        vy_rewrite_block(rw, index + 1, s->middle);
    else if (condition)
        vy_rewrite_block(rw, s->middle, s->end);
    return condition != NULL || s->end == index + 1;
}

static int simplify_stmt(vy_rewrite *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    const vy_expr *condition = literal_of(rw->from, s->a);
    int goes = 0;
    switch (s->kind) {
    case VY_STMT_IF:
        goes = simplify_if(rw, index, s);
        break;
    case VY_STMT_FOR:
        goes = s->end == index + 1 || makes_no_trip(rw->from, s);
        break;
    case VY_STMT_WHILE:
        goes = condition && !condition->bits;
        break;
    case VY_STMT_REGION:
        goes = s->end == index + 1;
        break;
    default:
        break;
    }
    rw->changes += (uint64_t)goes;
    return goes;
}

vyre_status vy_pass_branch(const vyre_program *from, const vy_rules *rules, vyre_program **out, uint64_t *changes,
                           vyre_error *error) {
    (void)rules;
    static const vy_rewriter hooks = {.stmt = simplify_stmt, .trap_ends = 1, .may_look = 1};
    return vy_rewrite_run(from, &hooks, NULL, NULL, out, changes, error);
}
